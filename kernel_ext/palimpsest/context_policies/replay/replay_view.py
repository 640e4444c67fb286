"""The items at a request of a replay: their tokens by an estimator, and the view that a policy receives."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any

from palimpsest.context_policies.interface.policy import Change, LaterItems
from palimpsest.transcript.timeline import (
    CHARS4,
    GONE_STATES,
    ItemState,
    Timeline,
    TimelineItem,
    TimelineRequest,
)


class TokenScale:
    """Tokens of the items in their current state, by one estimator."""

    def __init__(self, timeline: Timeline, estimator: str, unseen_tokens: float) -> None:
        self.estimator = estimator
        self.weights = timeline.weights(estimator)
        self.shown_tokens = list(self.weights)
        self.unseen_tokens = unseen_tokens
        """Tokens of every request besides its items."""
        self.count = 0
        self.item_tokens = 0
        """Tokens of the items that exist, as they are shown."""
        self.whole_tokens = 0
        """Tokens of the items that exist, if every item were whole."""
        self._count_tokens = (
            timeline.count(estimator) if timeline.count and estimator != CHARS4 else None
        )

    def copy_from(self, other: "TokenScale") -> None:
        """Copy the tokens from the scale of another timeline that begins with the same items."""
        self.shown_tokens[: other.count] = other.shown_tokens[: other.count]
        self.count = other.count
        self.item_tokens, self.whole_tokens = other.item_tokens, other.whole_tokens

    def add(self, end: int) -> None:
        """Add the items before the index ``end`` to the request."""
        added_tokens = sum(self.shown_tokens[self.count : end])
        self.whole_tokens += added_tokens
        self.item_tokens += added_tokens
        self.count = end

    def change(self, change: Change) -> None:
        """Change how an item is shown, and its tokens."""
        tokens = change.tokens_of(self.weights[change.item], self._count_tokens)
        self.item_tokens += tokens - self.shown_tokens[change.item]
        self.shown_tokens[change.item] = tokens

    def set_empty(self, items: Sequence[int]) -> None:
        """Count items as empty: recorded summaries that another policy would not have made."""
        for item in items:
            self.shown_tokens[item] = 0


class ReplayView:
    """The view that a replay gives to a policy; see ``PolicyView``."""

    def __init__(self, timeline: Timeline, scale: TokenScale) -> None:
        self.timeline = timeline
        self.outputs: list[int] = []
        self.shown_outputs = 0
        self.shown_items: list[int] = []
        self.switched_items: list[int] = []
        """The items that were hidden or shown again after they had been added, in the order of these changes."""
        self.cached_values: dict[str, Any] = {}
        """What functions over the shown items keep from one step to the next."""
        self.count = 0
        self.turn = 0
        self.request: TimelineRequest = timeline.requests[0]
        self.gap_seconds: float | None = None
        self.changes: int | None = 0
        self.count_reported: Callable[..., int | None] | None = None
        """Returns the tokens of the request by the provider's count, given this view (``ReportedTokens.reported_total``)."""
        self._items = timeline.items
        self._states: list[ItemState] = ["whole"] * len(timeline.items)
        self._shown_chars = [item.chars for item in timeline.items]
        self._removed_flags = bytearray(len(timeline.items))
        """1 for items whose state keeps them out of the request."""
        self._scale = scale

    def copy_from(self, other: "ReplayView") -> None:
        """Copy the states from the view of another timeline that begins with the same items."""
        count = self.count = other.count
        self.turn, self.changes, self.outputs = other.turn, other.changes, [*other.outputs]
        self.shown_outputs, self.shown_items = other.shown_outputs, [*other.shown_items]
        states, shown_chars, removed_flags = other.columns
        self._states[:count] = states[:count]
        self._shown_chars[:count] = shown_chars[:count]
        self._removed_flags[:count] = removed_flags[:count]

    @property
    def columns(self) -> tuple[list[ItemState], list[int], bytearray]:
        """For each item: its state, the characters shown, and 1 where it is not in the request."""
        return self._states, self._shown_chars, self._removed_flags

    def item(self, index: int) -> TimelineItem:
        """Return an item."""
        return self._items[index]

    def weight(self, index: int) -> int:
        """Return the tokens of an item if it were whole."""
        return self._scale.weights[index]

    def tokens(self, index: int) -> int:
        """Return the tokens of an item as it is shown now."""
        return self._scale.shown_tokens[index]

    def chars(self, index: int) -> int:
        """Return the characters of an item as it is shown now."""
        return self._shown_chars[index]

    def state(self, index: int) -> ItemState:
        """Return the current state of an item."""
        return self._states[index]

    def shows(self, index: int) -> bool:
        """Return whether an item is in the request, whole or in part."""
        return not self._removed_flags[index]

    def show(self, index: int, state: ItemState, chars: int) -> None:
        """Set an item's state, and the number of characters that are shown of it."""
        self.changes = (self.changes or 0) + 1
        self._states[index] = state
        self._shown_chars[index] = chars
        is_removed = state in GONE_STATES
        if index < self.count and is_removed != self._removed_flags[index]:
            self.shown_outputs += (1 - 2 * is_removed) * (self._items[index].kind == "output")
            position = bisect_left(self.shown_items, index)
            self.shown_items[position : position + is_removed] = () if is_removed else (index,)
            self.switched_items.append(index)
        self._removed_flags[index] = is_removed

    @property
    def total(self) -> int:
        """Tokens of the request with all current changes."""
        return round(self._scale.unseen_tokens + self._scale.item_tokens)

    @property
    def raw_total(self) -> int:
        """Tokens of the request if every item were whole."""
        return round(self._scale.unseen_tokens + self._scale.whole_tokens)

    def reported(self, *, answer: bool, later_items: LaterItems) -> int | None:
        """Return the tokens of the request by the provider's count; None while nothing was reported."""
        count = self.count_reported
        return None if count is None else count(self, answer=answer, later_items=later_items)

    def read(self, index: int) -> str:
        """Return the whole text of an item; raises IndexError for an item of a later request."""
        if index >= self.count:
            raise IndexError("A policy sees no item of the future.")
        return self.timeline.read(index)

    def add(self, end: int) -> None:
        """Add the items before the index ``end`` to the request."""
        items = self._items
        for index in range(self.count, end):
            is_shown = not self._removed_flags[index]
            if is_shown:
                self.shown_items.append(index)
            if items[index].kind == "output":
                self.outputs.append(index)
                self.shown_outputs += is_shown
        self.count = end
