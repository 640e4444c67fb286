"""What a person's own policy sees: the items up to this request, and nothing that comes later."""

from collections.abc import Sequence

from palimpsest.review.policies.policy import PolicyView, Since
from palimpsest.transcript.timeline import ItemState, TimelineItem, TimelineRequest


class PastView:
    """The session at one request, with its items so far as they are shown now."""

    def __init__(self, view: PolicyView) -> None:
        self._view = view
        self._outputs: tuple[int, ...] | None = None

    @property
    def request(self) -> TimelineRequest:
        """The request that is about to be sent; what it was answered is left out."""
        known = self._view.request
        return TimelineRequest(
            index=known.index,
            id=known.id,
            turn=known.turn,
            items=self._view.count,
            started=known.started,
            model=known.model,
            effort=known.effort,
            window=known.window,
            reserve=known.reserve,
            price=known.price,
        )

    @property
    def count(self) -> int:
        """Items so far."""
        return self._view.count

    @property
    def outputs(self) -> Sequence[int]:
        """The results of calls, oldest first."""
        if self._outputs is None:
            self._outputs = tuple(self._view.outputs)
        return self._outputs

    @property
    def shown_outputs(self) -> int:
        """How many of these are in the request, whole or in part."""
        return self._view.shown_outputs

    @property
    def shown_items(self) -> Sequence[int]:
        """The items so far that are in the request, oldest first."""
        return tuple(self._view.shown_items)

    @property
    def turn(self) -> int:
        """The turn to which this moment belongs, from 1."""
        return self._view.turn

    @property
    def gap_seconds(self) -> float | None:
        """Seconds since the request before; None where that is not known."""
        return self._view.gap_seconds

    @property
    def total(self) -> int:
        """Tokens of the request as it stands."""
        return self._view.total

    @property
    def raw_total(self) -> int:
        """The same, with every item whole."""
        return self._view.raw_total

    @property
    def changes(self) -> int | None:
        """How often items were shown otherwise so far; None where that is not known."""
        return self._view.changes

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
        return self._view.raw_after(self._past(index))

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
