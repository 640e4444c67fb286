"""The view that a user's own policy receives: the items up to this request, and no later items."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from palimpsest.context_policies.interface.laws import FutureItem
from palimpsest.context_policies.interface.policy import LaterItems, PolicyView
from palimpsest.context_policies.items.tool_calls import input_of, named_path, path_of
from palimpsest.transcript.timeline import ItemState, TimelineItem, TimelineRequest

KNOWN_FIELDS = ("index", "id", "turn", "started", "model", "effort", "window", "reserve", "price")
"""Fields of a request that are known before it is sent."""


class PastView:
    """The session at one request, with its items in their current states."""

    def __init__(self, view: PolicyView) -> None:
        self._view = view
        self.count = view.count
        """Number of items so far."""
        self.turn = view.turn
        """The current turn, from 1."""
        self.gap_seconds = view.gap_seconds
        """Seconds since the request before; None where that is not known."""
        self.changes = view.changes
        """Number of changes of items so far; None where that is not known."""

    @property
    def request(self) -> TimelineRequest:
        """The request that is about to be sent, without its answer."""
        request = self._view.request
        known_fields: dict[str, Any] = {name: getattr(request, name) for name in KNOWN_FIELDS}
        return TimelineRequest(items=self.count, **known_fields)

    @cached_property
    def outputs(self) -> Sequence[int]:
        """The results of calls, oldest first."""
        return tuple(self._view.outputs)

    @property
    def shown_outputs(self) -> int:
        """Number of results that are in the request, whole or in part."""
        return self._view.shown_outputs

    @property
    def shown_items(self) -> Sequence[int]:
        """The items so far that are in the request, oldest first."""
        return tuple(self._view.shown_items)

    @property
    def total(self) -> int:
        """Tokens of the request with the changes so far."""
        return self._view.total

    @property
    def raw_total(self) -> int:
        """Tokens of the request if every item were whole."""
        return self._view.raw_total

    def item(self, index: int) -> TimelineItem:
        """Return an item; raises IndexError for one that does not exist yet."""
        return self._view.item(self._checked_index(index))

    def path(self, index: int) -> str:
        """Return the file that a call, or the call of a result, names in its input; empty where it names none."""
        if self.item(index).kind == "call":
            return named_path(input_of(self._view, index))
        return path_of(self._view, index)

    def weight(self, index: int) -> int:
        """Return an item's tokens, whole."""
        return self._view.weight(self._checked_index(index))

    def tokens(self, index: int) -> int:
        """Return the tokens of an item as it is shown now."""
        return self._view.tokens(self._checked_index(index))

    def chars(self, index: int) -> int:
        """Return the number of characters of an item that are shown now."""
        return self._view.chars(self._checked_index(index))

    def state(self, index: int) -> ItemState:
        """Return the current state of an item."""
        return self._view.state(self._checked_index(index))

    def shows(self, index: int) -> bool:
        """Return whether an item is in the request, whole or in part."""
        return self._view.shows(self._checked_index(index))

    def raw_after(self, index: int) -> int:
        """Return the tokens of an item and all later ones, whole."""
        return sum(map(self._view.weight, range(self._checked_index(index), self.count)))

    def reported(self, *, answer: bool = True, later_items: LaterItems = "estimated") -> int | None:
        """Return the tokens of the request by the provider's count, as known before it is sent.

        The count is the last reported prompt, with its ``answer`` and the ``later_items``: ``estimated``, ``counted`` or
        ``nothing``; None while nothing was reported.
        """
        return self._view.reported(answer=answer, later_items=later_items)

    def read(self, index: int) -> str:
        """Return the whole text of an item."""
        return self._view.read(self._checked_index(index))

    def _checked_index(self, index: int) -> int:
        range_text = f"items are numbered from 0 to below view.count = {self._view.count}"
        if index < 0:
            raise IndexError(f"There is no item {index!r}: {range_text}.")
        if index >= self._view.count:
            raise FutureItem(f"There is no item {index!r} yet: {range_text}.")
        return index
