"""What a person's own policy sees: the items up to this request, and nothing that comes later."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from palimpsest.review.policies.policy import PolicyView, Since
from palimpsest.transcript.timeline import ItemState, TimelineItem, TimelineRequest

KNOWN_BEFORE = ("index", "id", "turn", "started", "model", "effort", "window", "reserve", "price")
"""What is known of a request before it is sent."""


class PastView:
    """The session at one request, with its items so far as they are shown now."""

    def __init__(self, view: PolicyView) -> None:
        self._view = view
        self.count = view.count
        """Items so far."""
        self.turn = view.turn
        """The turn to which this moment belongs, from 1."""
        self.gap_seconds = view.gap_seconds
        """Seconds since the request before; None where that is not known."""
        self.changes = view.changes
        """How often items were shown otherwise so far; None where that is not known."""

    @property
    def request(self) -> TimelineRequest:
        """The request that is about to be sent; what it was answered is left out."""
        known = self._view.request
        told: dict[str, Any] = {name: getattr(known, name) for name in KNOWN_BEFORE}
        return TimelineRequest(items=self.count, **told)

    @cached_property
    def outputs(self) -> Sequence[int]:
        """The results of calls, oldest first."""
        return tuple(self._view.outputs)

    @property
    def shown_outputs(self) -> int:
        """How many of these are in the request, whole or in part."""
        return self._view.shown_outputs

    @property
    def shown_items(self) -> Sequence[int]:
        """The items so far that are in the request, oldest first."""
        return tuple(self._view.shown_items)

    @property
    def total(self) -> int:
        """Tokens of the request as it stands."""
        return self._view.total

    @property
    def raw_total(self) -> int:
        """The same, with every item whole."""
        return self._view.raw_total

    def item(self, index: int) -> TimelineItem:
        """Return an item; raises IndexError for one that is not there yet."""
        return self._view.item(self._past(index))

    def weight(self, index: int) -> int:
        """Return an item's tokens, whole."""
        return self._view.weight(self._past(index))

    def tokens(self, index: int) -> int:
        """Return the tokens of what is shown of an item now."""
        return self._view.tokens(self._past(index))

    def chars(self, index: int) -> int:
        """Return the characters of what is shown of an item now."""
        return self._view.chars(self._past(index))

    def state(self, index: int) -> ItemState:
        """Return what is shown of an item now."""
        return self._view.state(self._past(index))

    def shows(self, index: int) -> bool:
        """Return whether an item is in the request, whole or in part."""
        return self._view.shows(self._past(index))

    def raw_after(self, index: int) -> int:
        """Return the tokens of the items from this one on, whole."""
        return sum(map(self._view.weight, range(self._past(index), self.count)))

    def reported(self, *, answer: bool = True, since: Since = "estimated") -> int | None:
        """Return the tokens of the request by the provider's count, as far as that is known before it is sent.

        The prompt that was reported last, with its ``answer`` and what came ``since``: ``estimated``, ``counted`` or
        ``nothing``; None while nothing was reported.
        """
        return self._view.reported(answer=answer, since=since)

    def read(self, index: int) -> str:
        """Return the whole text of an item."""
        return self._view.read(self._past(index))

    def _past(self, index: int) -> int:
        if not 0 <= index < self._view.count:
            raise IndexError(
                f"There is no item {index!r} yet: items are numbered from 0 to below view.count = {self._view.count}."
            )
        return index
