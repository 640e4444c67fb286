"""Totals that the recorded agent itself counted for its session, as a sentence.

They are shown beside the sum over the requests and are not added to it: a recording may contain either or both.
"""

from collections.abc import Iterator

from palimpsest.context_policies.prompt_cache.ruler import amount_with_unit
from palimpsest.render.content.phrases import counted_noun
from palimpsest.transcript.timeline import RecordedTotals


def recorded_words(totals: RecordedTotals) -> str:
    """Return the sentence; empty where the recording has no totals."""
    parts = list(_parts(totals))
    return f"The recording tells of the whole session: {', '.join(parts)}." if parts else ""


def _parts(totals: RecordedTotals) -> Iterator[str]:
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
