"""Detect where a recording's clock went back, so that no wrong duration is reported."""

from palimpsest.transcript.timeline import Timeline

MAX_JITTER_MS = 1_000
"""Milliseconds by which a clock may go back without a report: computers adjust their clocks, and programs round times."""


def clock_sentence(timeline: Timeline) -> str:
    """Return a sentence on where the recording's clock first went back; empty where it did not."""
    latest_ms = 0
    for request in timeline.requests:
        if request.started is None:
            continue
        milliseconds_back = latest_ms - request.started
        position = "before"
        if milliseconds_back <= MAX_JITTER_MS and request.ended is not None:
            milliseconds_back, position = request.started - request.ended, "during"
        if milliseconds_back > MAX_JITTER_MS:
            return (
                f"The clock of the recording went back by {milliseconds_back / 1000:,.0f} s {position} request "
                f"{request.index + 1:,}, so how long the session took is not known."
            )
        latest_ms = max(latest_ms, request.started)
    return ""


def behind_the_clock(timeline: Timeline) -> frozenset[int]:
    """Return the indexes of requests whose recorded time is before an earlier one's; no pause after them is computed."""
    return timeline.derived_value("behind the clock", _find_requests_behind)


def _find_requests_behind(timeline: Timeline) -> frozenset[int]:
    latest_ms, requests_behind = 0, []
    for request in timeline.requests:
        if request.started is None:
            continue
        if (
            request.started < latest_ms - MAX_JITTER_MS
            or (request.ended or request.started) < request.started - MAX_JITTER_MS
        ):
            requests_behind.append(request.index)
        latest_ms = max(latest_ms, request.started)
    return frozenset(requests_behind)
