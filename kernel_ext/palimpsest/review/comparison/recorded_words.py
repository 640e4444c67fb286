"""What a recording tells of its session as a whole, in a sentence: totals that its agent counted, facts.

They stand beside the sum over the requests, and are no part of it: a recording may tell the one, the other or both.
"""

from collections.abc import Iterator

from palimpsest.render.content.phrases import some
from palimpsest.review.replay.ruler import money_words
from palimpsest.transcript.timeline import RecordedTotals


def recorded_words(told: RecordedTotals) -> str:
    """Return the sentence; empty where the recording tells nothing of the whole."""
    parts = list(_parts(told))
    return f"The recording tells of the whole session: {', '.join(parts)}." if parts else ""


def _parts(told: RecordedTotals) -> Iterator[str]:
    if told.cost is not None:
        yield f"{money_words(told.cost, 'USD')} spent"
    if told.input is not None:
        yield f"{told.input:,} tokens sent"
    if told.cached is not None:
        yield f"{told.cached:,} of them from the cache"
    if told.output is not None:
        yield f"{told.output:,} tokens received"
    if told.requests is not None:
        yield some(told.requests, "request")
