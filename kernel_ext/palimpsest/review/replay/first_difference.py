"""Which requests of a replay show something otherwise than the recorded ones, and the first of them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from palimpsest.transcript.timeline import GONE_STATES, Timeline, Transition


def different_requests(timeline: Timeline, simulated: Sequence[Transition]) -> Iterator[int]:
    """Yield the requests that show an item otherwise than they were recorded, in order.

    Both kinds of transitions are in the order of requests.
    """
    items = DifferingItems(timeline)
    place = 0
    for request in timeline.requests:
        until = place
        while until < len(simulated) and simulated[until].request <= request.index:
            until += 1
        if items.differ(request.index, simulated[place:until]):
            yield request.index
        place = until


class DifferingItems:
    """The items that a replay shows otherwise than they were recorded, request by request."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._place = 0
        """How many of the recorded transitions were taken."""
        self._recorded: dict[int, object] = {}
        self._simulated: dict[int, object] = {}
        self._items: set[int] = set()

    def differ(self, request: int, simulated: Sequence[Transition]) -> bool:
        """Return whether a request shows an item otherwise; ``simulated`` is what the replay changed since the one before."""
        touched: list[int] = []
        recorded = self._timeline.transitions
        while self._place < len(recorded) and recorded[self._place].request <= request:
            one = recorded[self._place]
            self._place += 1
            self._recorded[one.item] = _shown(one)
            touched.append(one.item)
        for one in simulated:
            self._simulated[one.item] = _shown(one)
            touched.append(one.item)
        for item in touched:
            same = self._recorded.get(item) == self._simulated.get(item)
            (self._items.discard if same else self._items.add)(item)
        until = self._timeline.requests[request].items
        return bool(self._items) and any(one < until for one in self._items)


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
