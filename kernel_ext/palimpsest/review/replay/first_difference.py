"""The first request of a replay that shows something otherwise than the recorded one."""

from collections.abc import Mapping, Sequence
from typing import Any

from palimpsest.transcript.timeline import GONE_STATES, Timeline, Transition


def first_difference(timeline: Timeline, simulated: Sequence[Transition]) -> int | None:
    """Return the first request that shows an item otherwise than it was recorded; None where none does."""
    recorded: dict[int, object] = {}
    otherwise: dict[int, object] = {}
    by_request: dict[int, list[tuple[dict[int, object], Transition]]] = {}
    for side, those in ((recorded, timeline.transitions), (otherwise, simulated)):
        for one in those:
            by_request.setdefault(one.request, []).append((side, one))
    for request in sorted(by_request):
        touched = set()
        for side, one in by_request[request]:
            side[one.item] = _shown(one)
            touched.add(one.item)
        if any(recorded.get(one) != otherwise.get(one) for one in touched):
            return request
    return None


def _shown(one: Transition) -> object:
    """Return what tells two ways to show an item apart; None where it is whole."""
    if one.state == "whole":
        return None
    if one.state in GONE_STATES:
        return one.tokens or "gone"
    numbers: Mapping[str, Any] = one.numbers
    if "head_chars" in numbers:
        return (numbers["head_chars"], numbers.get("tail_chars"))
    text = one.shown or numbers.get("text")
    return text if text is not None else (one.state, one.chars)
