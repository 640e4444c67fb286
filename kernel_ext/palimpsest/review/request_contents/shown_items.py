"""The items that a request of a replay shows, in their order in the request."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from palimpsest.context_policies.replay.simulation import Simulation
from palimpsest.store.bounded_json import json_value
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.timeline import (
    GONE_STATES,
    ItemState,
    Timeline,
    TimelineItem,
    Transition,
)

NEVER_WRITTEN_TEXT = "[A summary of {tokens:,} tokens that was never written.]"
NOT_KEPT_TEXT = "[{tokens:,} tokens are shown of it; which ones is not in the recording.]"
FIRST_CHARS_TEXT = "[The policy shows {chars:,} characters of it; which ones it does not say.]"


@dataclass(frozen=True, slots=True)
class ShownItem:
    """An item in a request."""

    item: TimelineItem
    transition: Transition | None
    """The transition in effect for the item at the request; None while the item is whole."""
    tokens: float
    """Tokens of the item as it is shown, scaled by the ruler."""

    @property
    def state(self) -> ItemState:
        """The item's state."""
        return "whole" if self.transition is None else self.transition.state

    @property
    def key(self) -> tuple[int, str, str | int]:
        """A value that is equal where two requests show the item in the same way; an unknown text differs by transition."""
        index, transition = self.item.index, self.transition
        if transition is None:
            return index, "whole", ""
        shown_as = transition.request if transition.shown is None else transition.shown
        return index, transition.state, shown_as


def checked_request(timeline: Timeline, request: int) -> int:
    """Return the given number of a request, from 0; raises UserError where the session has no such request."""
    if not 0 <= request < len(timeline.requests):
        raise UserError(
            f"The session has no request {request + 1}; its requests are numbered from 1 to {len(timeline.requests)}."
            if timeline.requests
            else "The session has no request yet."
        )
    return request


def shown_items(simulation: Simulation, request: int) -> tuple[ShownItem, ...]:
    """Return the items of a request, from 0, in their order, without removed items of no tokens."""
    return items_at(simulation, checked_request(simulation.timeline, request))


def items_at(simulation: Simulation, request: int) -> tuple[ShownItem, ...]:
    """Return the items of a request in their order; it may also be the request that would follow the last one."""
    timeline, requests = simulation.timeline, simulation.timeline.requests
    item_count = requests[request].items if request < len(requests) else len(timeline.items)
    ordered_indexes = sorted(range(item_count), key=timeline.ranks.__getitem__)
    rows = [
        row
        for row in items_with_tokens(simulation, ordered_indexes, request)
        if row[2] or row[1] is None or row[1].state not in GONE_STATES
    ]
    scale = simulation.ruler.scale
    if request < len(simulation.sizes):
        # The items add up to the request's total.
        total_tokens = simulation.sizes[request].total
        scale = scale.fitted_to(total_tokens, sum(tokens for _, _, tokens in rows))
    return tuple(
        ShownItem(item, transition, tokens * scale.factor) for item, transition, tokens in rows
    )


def items_with_tokens(
    simulation: Simulation, items: Iterable[int], request: int
) -> Iterator[tuple[TimelineItem, Transition | None, int]]:
    """Yield items with the transition in effect at a request, and their estimated shown tokens."""
    timeline = simulation.timeline
    weights = timeline.weights(simulation.ruler.estimator)
    for index in items:
        transition = timeline.transition_at(index, request)
        tokens = weights[index] if transition is None else transition.tokens or 0
        yield timeline.items[index], transition, tokens


def shown_text(timeline: Timeline, shown_item: ShownItem, *, is_recorded: bool) -> str:
    """Return the text that a request shows for an item; a description in brackets where the text is not known.

    ``is_recorded`` is set where the recording, not a policy, determined the shown text.
    """
    transition, item = shown_item.transition, shown_item.item
    if transition is None:
        text = timeline.read(item.index)
        if item.kind == "system":
            return _system_text(text)
        return text or f"[{item.label or item.kind}]"
    if transition.shown is not None:
        return transition.shown
    tokens = transition.tokens or 0
    if transition.state == "summarised":
        return NEVER_WRITTEN_TEXT.format(tokens=tokens)
    if is_recorded:
        return NOT_KEPT_TEXT.format(tokens=tokens)
    return FIRST_CHARS_TEXT.format(chars=transition.chars)


def _system_text(text: str) -> str:
    """Return a system prompt as text; that of a Palimpsest session is stored as a JSON list of its parts."""
    try:
        parts = json_value(text)
    except ValueError:
        return text
    is_list = isinstance(parts, list) and all(isinstance(part, str) for part in parts)
    return "\n\n".join(parts) if is_list else text


def shows_name(timeline: Timeline, item: int, request: int, name: str) -> bool:
    """Return whether a request showed a name that an item contains: the whole item, or the name in its replacement."""
    transition = timeline.transition_at(item, request)
    if transition is None:
        return True
    return transition.shown is not None and name in transition.shown
