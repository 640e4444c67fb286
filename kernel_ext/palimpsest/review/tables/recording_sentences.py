"""Sentences on a recording as a whole: the totals that its agent counted, and the places that could not be read.

The totals are shown beside the sum over the requests and are not added to it: a recording may contain either or both.
The command line lists every unreadable place; a view lists the first few and counts the others.
"""

from collections.abc import Iterator, Sequence

from palimpsest.context_policies.prompt_cache.ruler import amount_with_unit
from palimpsest.render.content.phrases import counted_noun
from palimpsest.store.interface import Problem
from palimpsest.transcript.timeline import RecordedTotals

MAX_LISTED_PROBLEMS = 10
"""Maximum unreadable places that a view lists."""


def totals_sentence(totals: RecordedTotals) -> str:
    """Return a sentence with what the recorded agent counted for its session; empty where it counted nothing."""
    phrases = list(_total_phrases(totals))
    return f"The recording tells of the whole session: {', '.join(phrases)}." if phrases else ""


def _total_phrases(totals: RecordedTotals) -> Iterator[str]:
    if totals.cost is not None:
        yield f"{amount_with_unit(totals.cost, 'USD')} spent"
    if totals.input is not None:
        yield f"{totals.input:,} tokens sent"
    if totals.cached is not None:
        yield f"{totals.cached:,} of them from the cache"
    if totals.output is not None:
        yield f"{totals.output:,} tokens received"
    if totals.requests is not None:
        yield counted_noun(totals.requests, "request")


def problem_sentences(problems: Sequence[Problem]) -> tuple[str, ...]:
    """Return a sentence for each of the first unreadable places, and one with the number of the others."""
    sentences = tuple(problem.sentence for problem in problems[:MAX_LISTED_PROBLEMS])
    unlisted_count = len(problems) - len(sentences)
    if not unlisted_count:
        return sentences
    return (*sentences, f"{counted_noun(unlisted_count, 'more place')} could not be read.")
