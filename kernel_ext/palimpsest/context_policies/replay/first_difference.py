"""Find the requests of a replay whose items differ from the recorded ones."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

from palimpsest.transcript.timeline import GONE_STATES, Timeline, Transition


def different_requests(
    timeline: Timeline, simulated_transitions: Sequence[Transition]
) -> Iterator[int]:
    """Yield the requests whose items differ from the recorded ones, in order."""
    items = DifferingItems(timeline)
    start = 0
    for request in timeline.requests:
        end = bisect_right(simulated_transitions, request.index, start, key=attrgetter("request"))
        if items.advance(request.index, simulated_transitions[start:end]):
            yield request.index
        start = end


class DifferingItems:
    """The items whose state in a replay differs from the recorded one, request by request."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._read_count = 0
        """Number of recorded transitions that were read."""
        self._recorded_states: dict[int, object] = {}
        self._simulated_states: dict[int, object] = {}
        self._differing_items: set[int] = set()

    def advance(self, request: int, simulated_transitions: Sequence[Transition]) -> bool:
        """Advance to a request, given the replay's new transitions, and return whether one of its items differs."""
        changed_items: list[int] = []
        recorded_transitions = self._timeline.transitions
        while (
            self._read_count < len(recorded_transitions)
            and recorded_transitions[self._read_count].request <= request
        ):
            transition = recorded_transitions[self._read_count]
            self._read_count += 1
            self._recorded_states[transition.item] = _identity_of(transition)
            changed_items.append(transition.item)
        for transition in simulated_transitions:
            self._simulated_states[transition.item] = _identity_of(transition)
            changed_items.append(transition.item)
        for index in changed_items:
            is_same = self._recorded_states.get(index) == self._simulated_states.get(index)
            (self._differing_items.discard if is_same else self._differing_items.add)(index)
        item_count = self._timeline.requests[request].items
        return bool(self._differing_items) and any(
            index < item_count for index in self._differing_items
        )


def _identity_of(transition: Transition) -> object:
    """Return a value that is equal for transitions that show an item in the same way; None where it is whole."""
    if transition.state == "whole":
        return None
    if transition.state in GONE_STATES:
        return transition.tokens or "gone"
    numbers: Mapping[str, Any] = transition.numbers
    if "head_chars" in numbers:
        return (numbers["head_chars"], numbers.get("tail_chars"))
    text = transition.shown or numbers.get("text")
    return text if text is not None else (transition.state, transition.chars)
