"""What a replay keeps of the items at a request: their tokens by an estimator, and what a policy sees of them."""

from bisect import bisect_left
from collections.abc import Callable, Sequence

from palimpsest.review.policies.policy import Change, Since
from palimpsest.transcript.timeline import (
    CHARS4,
    GONE_STATES,
    ItemState,
    Timeline,
    TimelineItem,
    TimelineRequest,
)


class TokenScale:
    """Tokens of the items by one estimator, as they are shown now."""

    def __init__(self, timeline: Timeline, estimator: str, unseen: float) -> None:
        self.estimator = estimator
        self.weights = timeline.weights(estimator)
        self.shown = list(self.weights)
        self.unseen = unseen
        """Tokens of every request besides those of the items."""
        self.count = 0
        self.total = 0
        """Tokens of the items that exist, as they are shown."""
        self.raw = 0
        """The same, with every item whole."""
        self._count = timeline.count(estimator) if timeline.count and estimator != CHARS4 else None

    def go_on_from(self, other: "TokenScale") -> None:
        """Show what exists as another scale does, of a timeline that begins alike."""
        self.shown[: other.count] = other.shown[: other.count]
        self.count, self.total, self.raw = other.count, other.total, other.raw

    def add(self, until: int) -> None:
        """Let the items up to this one exist."""
        more = sum(self.shown[self.count : until])
        self.raw += more
        self.total += more
        self.count = until

    def change(self, change: Change) -> None:
        """Show an item otherwise."""
        tokens = change.tokens_of(self.weights[change.item], self._count)
        self.total += tokens - self.shown[change.item]
        self.shown[change.item] = tokens

    def leave_out(self, items: Sequence[int]) -> None:
        """Let items never exist: summaries that another policy would not have had."""
        for one in items:
            self.shown[one] = 0


class ReplayView:
    """What a policy sees; see ``PolicyView``."""

    def __init__(self, timeline: Timeline, scale: TokenScale) -> None:
        self.timeline = timeline
        self.outputs: list[int] = []
        self.shown_outputs = 0
        self.shown_items: list[int] = []
        self.count = 0
        self.turn = 0
        self.request: TimelineRequest = timeline.requests[0]
        self.gap_seconds: float | None = None
        self.changes: int | None = 0
        self.count_reported: Callable[..., int | None] | None = None
        """Returns the tokens of the request by the provider's count, given this view (``ReportedTokens.total``)."""
        self._items = timeline.items
        self._states: list[ItemState] = ["whole"] * len(timeline.items)
        self._lengths = [item.chars for item in timeline.items]
        self._gone = bytearray(len(timeline.items))
        """1 for items in a state in which they are not in the request."""
        self._scale = scale

    def go_on_from(self, other: "ReplayView") -> None:
        """Show what exists as another view does, of a timeline that begins alike."""
        count = self.count = other.count
        self.turn, self.changes, self.outputs = other.turn, other.changes, [*other.outputs]
        self.shown_outputs, self.shown_items = other.shown_outputs, [*other.shown_items]
        states, lengths, gone = other.columns
        self._states[:count] = states[:count]
        self._lengths[:count] = lengths[:count]
        self._gone[:count] = gone[:count]

    @property
    def columns(self) -> tuple[list[ItemState], list[int], bytearray]:
        """What is shown of each item: its state, its characters, and 1 where it is not in the request."""
        return self._states, self._lengths, self._gone

    def item(self, index: int) -> TimelineItem:
        """Return an item."""
        return self._items[index]

    def weight(self, index: int) -> int:
        """Return an item's tokens, whole."""
        return self._scale.weights[index]

    def tokens(self, index: int) -> int:
        """Return the tokens of what is shown of an item now."""
        return self._scale.shown[index]

    def chars(self, index: int) -> int:
        """Return the characters of what is shown of an item now."""
        return self._lengths[index]

    def state(self, index: int) -> ItemState:
        """Return what is shown of an item now."""
        return self._states[index]

    def shows(self, index: int) -> bool:
        """Return whether an item is in the request, whole or in part."""
        return not self._gone[index]

    def show(self, index: int, state: ItemState, chars: int) -> None:
        """Show so many characters of an item, in another state."""
        self.changes = (self.changes or 0) + 1
        self._states[index] = state
        self._lengths[index] = chars
        gone = state in GONE_STATES
        if index < self.count and gone != self._gone[index]:
            self.shown_outputs += (1 - 2 * gone) * (self._items[index].kind == "output")
            place = bisect_left(self.shown_items, index)
            self.shown_items[place : place + gone] = () if gone else (index,)
        self._gone[index] = gone

    @property
    def total(self) -> int:
        """Tokens of the request as it stands."""
        return round(self._scale.unseen + self._scale.total)

    @property
    def raw_total(self) -> int:
        """The same, with every item whole."""
        return round(self._scale.unseen + self._scale.raw)

    def reported(self, *, answer: bool, since: Since) -> int | None:
        """Return the tokens of the request by the provider's count; None while nothing was reported."""
        count = self.count_reported
        return None if count is None else count(self, answer=answer, since=since)

    def read(self, index: int) -> str:
        """Return the whole text of an item; raises IndexError for one of the future."""
        if index >= self.count:
            raise IndexError("A policy sees no item of the future.")
        return self.timeline.read(index)

    def add(self, until: int) -> None:
        """Let the items up to this one exist."""
        items = self._items
        for index in range(self.count, until):
            shown = not self._gone[index]
            if shown:
                self.shown_items.append(index)
            if items[index].kind == "output":
                self.outputs.append(index)
                self.shown_outputs += shown
        self.count = until
