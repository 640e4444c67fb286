"""Which requests of a replay show something otherwise than the recorded ones, and the first of them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from palimpsest.transcript.timeline import GONE_STATES, Timeline, Transition


def first_difference(timeline: Timeline, simulated: Sequence[Transition]) -> int | None:
    """Return the first request that shows an item otherwise than it was recorded; None where none does."""
    return next(different_requests(timeline, simulated), None)


def different_requests(timeline: Timeline, simulated: Sequence[Transition]) -> Iterator[int]:
    """Yield the requests that show an item otherwise than they were recorded, in order."""
    sides: tuple[dict[int, object], dict[int, object]] = ({}, {})
    by_request: dict[int, list[tuple[int, Transition]]] = {}
    for side, those in enumerate((timeline.transitions, simulated)):
        for one in those:
            by_request.setdefault(one.request, []).append((side, one))
    differ: set[int] = set()
    for request in timeline.requests:
        for side, one in by_request.get(request.index, ()):
            sides[side][one.item] = _shown(one)
        for _, one in by_request.get(request.index, ()):
            same = sides[0].get(one.item) == sides[1].get(one.item)
            (differ.discard if same else differ.add)(one.item)
        if any(one < request.items for one in differ):
            yield request.index


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
