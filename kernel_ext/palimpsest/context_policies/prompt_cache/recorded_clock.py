"""Detect where a recording's clock went back, so that no wrong duration is reported."""

from palimpsest.transcript.timeline import Timeline

JITTER = 1_000
"""Milliseconds that a clock may go back without being reported: computers set their clocks, and programs round
times."""


def clock_sentence(timeline: Timeline) -> str:
    """Return a sentence that the recording's clock went back, and where first; empty where it did not."""
    before = 0
    for request in timeline.requests:
        if request.started is None:
            continue
        went_back = before - request.started
        words = "before"
        if went_back <= JITTER and request.ended is not None:
            went_back, words = request.started - request.ended, "during"
        if went_back > JITTER:
            return (
                f"The clock of the recording went back by {went_back / 1000:,.0f} s {words} request "
                f"{request.index + 1:,}, so how long the session took is not known."
            )
        before = max(before, request.started)
    return ""


def behind_the_clock(timeline: Timeline) -> frozenset[int]:
    """Return the requests that seem to be sent before an earlier one; no pause after them is computed."""
    return timeline.derived("behind the clock", _late_requests)


def _late_requests(timeline: Timeline) -> frozenset[int]:
    before, late = 0, []
    for request in timeline.requests:
        if request.started is None:
            continue
        if (
            request.started < before - JITTER
            or (request.ended or request.started) < request.started - JITTER
        ):
            late.append(request.index)
        before = max(before, request.started)
    return frozenset(late)
