"""Turn the places of a recording or log that could not be read into sentences.

Border: pure. The command line lists every place; a view lists the first few and counts the others.
"""

from collections.abc import Sequence

from palimpsest.render.content.phrases import counted_noun
from palimpsest.store.interface import Problem

MAX_NAMED = 10
"""Maximum unreadable places that a view lists."""


def problem_sentences(problems: Sequence[Problem]) -> tuple[str, ...]:
    """Return a sentence for each of the first places, and one that counts the others."""
    named = tuple(problem.sentence for problem in problems[:MAX_NAMED])
    more = len(problems) - len(named)
    if more == 0:
        return named
    return (*named, f"{counted_noun(more, 'more place')} could not be read.")
