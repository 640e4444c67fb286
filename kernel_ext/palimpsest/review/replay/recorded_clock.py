"""Where the clock of a recording went back, so that no duration is told that nobody can know."""

from palimpsest.transcript.timeline import Timeline

JITTER = 1_000
"""Milliseconds that a clock may go back: computers set their clocks, and programs round times."""


def clock_sentence(timeline: Timeline) -> str:
    """Return that the recording's clock went back, and where first; empty where it did not."""
    before = 0
    for one in timeline.requests:
        if one.started is None:
            continue
        back = before - one.started
        words = "before"
        if back <= JITTER and one.ended is not None:
            back, words = one.started - one.ended, "during"
        if back > JITTER:
            return (
                f"The clock of the recording went back by {back / 1000:,.0f} s {words} request "
                f"{one.index + 1:,}, so how long the session took is not known."
            )
        before = max(before, one.started)
    return ""


def behind_the_clock(timeline: Timeline) -> frozenset[int]:
    """Return the requests that seem to be sent before an earlier one: no pause after them can be told."""
    return timeline.derived("behind the clock", _behind)


def _behind(timeline: Timeline) -> frozenset[int]:
    before, found = 0, []
    for one in timeline.requests:
        if one.started is None:
            continue
        if one.started < before - JITTER or (one.ended or one.started) < one.started - JITTER:
            found.append(one.index)
        before = max(before, one.started)
    return frozenset(found)
