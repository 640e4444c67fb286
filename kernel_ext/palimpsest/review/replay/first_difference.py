"""Which requests of a replay show something otherwise than the recorded ones, and the first of them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from palimpsest.transcript.timeline import GONE_STATES, Timeline, Transition


def first_difference(timeline: Timeline, simulated: Sequence[Transition]) -> int | None:
    """Return the first request that shows an item otherwise than it was recorded; None where none does."""
    return next(different_requests(timeline, simulated), None)


def different_requests(timeline: Timeline, simulated: Sequence[Transition]) -> Iterator[int]:
    """Yield the requests that show an item otherwise than they were recorded, in order.

    Both kinds of transitions are in the order of requests.
    """
    sides: tuple[dict[int, object], dict[int, object]] = ({}, {})
    both = (timeline.transitions, simulated)
    places = [0, 0]
    differ: set[int] = set()
    for request in timeline.requests:
        touched: list[int] = []
        for side, those in enumerate(both):
            while places[side] < len(those) and those[places[side]].request <= request.index:
                one = those[places[side]]
                places[side] += 1
                sides[side][one.item] = _shown(one)
                touched.append(one.item)
        for item in touched:
            same = sides[0].get(item) == sides[1].get(item)
            (differ.discard if same else differ.add)(item)
        if differ and any(one < request.items for one in differ):
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
