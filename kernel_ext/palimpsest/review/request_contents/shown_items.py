"""The items that a request of a replay shows, in the order in which it holds them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from palimpsest.review.replay.simulation import Simulation
from palimpsest.store.bounded_json import json_value
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.timeline import (
    GONE_STATES,
    ItemState,
    Timeline,
    TimelineItem,
    Transition,
)

NEVER_WRITTEN = "[A summary of {tokens:,} tokens that was never written.]"
NOT_KEPT = "[{tokens:,} tokens are shown of it; which ones is not in the recording.]"
FIRST_CHARS = "[The policy shows {chars:,} characters of it; which ones it does not say.]"


@dataclass(frozen=True, slots=True)
class ShownItem:
    """An item in a request."""

    item: TimelineItem
    transition: Transition | None
    """What holds for it at the request; None while it is whole."""
    tokens: float
    """Tokens of what is shown, scaled by the ruler."""

    @property
    def state(self) -> ItemState:
        """How it is shown."""
        return "whole" if self.transition is None else self.transition.state

    @property
    def key(self) -> tuple[int, str, str | int]:
        """What is equal for two requests that show the item alike.

        A text that is not known is another one from each transition on.
        """
        found = self.transition
        if found is None:
            return self.item.index, "whole", ""
        return self.item.index, found.state, found.request if found.shown is None else found.shown


def checked_request(timeline: Timeline, request: int) -> int:
    """Return the number of a request, from 0; raises UserError where the session has none of that number."""
    if not 0 <= request < len(timeline.requests):
        raise UserError(
            f"The session has no request {request + 1}; its requests are numbered from 1 to {len(timeline.requests)}."
            if timeline.requests
            else "The session has no request yet."
        )
    return request


def shown_items(simulation: Simulation, request: int) -> tuple[ShownItem, ...]:
    """Return the items of a request, from 0, in their order; those that take nothing are not among them."""
    return items_at(simulation, checked_request(simulation.timeline, request))


def items_at(simulation: Simulation, request: int) -> tuple[ShownItem, ...]:
    """Return the items of a request in their order, also of the one that would come after the last."""
    timeline, requests = simulation.timeline, simulation.timeline.requests
    count = requests[request].items if request < len(requests) else len(timeline.items)
    ordered = sorted(range(count), key=timeline.ranks.__getitem__)
    found = [
        one
        for one in weighed(simulation, ordered, request)
        if one[2] or one[1] is None or one[1].state not in GONE_STATES
    ]
    scale = simulation.ruler.scale
    if request < len(simulation.sizes):
        # The items add up to the request's total.
        total = simulation.sizes[request].total
        scale = scale.at(total, sum(tokens for _, _, tokens in found))
    return tuple(ShownItem(item, how, tokens * scale.factor) for item, how, tokens in found)


def weighed(
    simulation: Simulation, items: Iterable[int], request: int
) -> Iterator[tuple[TimelineItem, Transition | None, int]]:
    """Yield items with what holds for them at a request, and the tokens of what it shows by the estimator."""
    timeline = simulation.timeline
    weights = timeline.weights(simulation.ruler.estimator)
    for index in items:
        how = timeline.at(index, request)
        yield timeline.items[index], how, weights[index] if how is None else how.tokens or 0


def shown_text(timeline: Timeline, shown: ShownItem, *, recorded: bool) -> str:
    """Return what stands for an item in a request; in brackets what is known of it where no text is.

    ``recorded`` says that the recording, and not a policy, decided what is shown.
    """
    found, item = shown.transition, shown.item
    if found is None:
        text = timeline.read(item.index)
        return (
            _system_text(text) if item.kind == "system" else text or f"[{item.label or item.kind}]"
        )
    if found.shown is not None:
        return found.shown
    tokens = found.tokens or 0
    if found.state == "summarised":
        return NEVER_WRITTEN.format(tokens=tokens)
    if recorded:
        return NOT_KEPT.format(tokens=tokens)
    return FIRST_CHARS.format(chars=found.chars)


def _system_text(text: str) -> str:
    """Return a system prompt as text: our own is kept as a JSON list of its parts."""
    try:
        parts = json_value(text)
    except ValueError:
        return text
    is_list = isinstance(parts, list) and all(isinstance(one, str) for one in parts)
    return "\n\n".join(parts) if is_list else text


def shows_name(timeline: Timeline, item: int, request: int, name: str) -> bool:
    """Return whether a request showed a name in an item that holds it: whole, or in what stood in its place."""
    found = timeline.at(item, request)
    if found is None:
        return True
    return found.shown is not None and name in found.shown
