"""What one policy of a pipeline sees: the items as the policies before it leave them, by its own estimator."""

from collections.abc import Mapping, Sequence
from functools import cached_property

from palimpsest.review.policies.policy import Change, PolicyView, Since
from palimpsest.transcript.timeline import CHARS4, GONE_STATES, ItemState


class StageView:
    """A view with changes laid over it; see ``PolicyView``."""

    def __init__(
        self, base: PolicyView, over: Mapping[int, Change], estimator: str, of_base: str
    ) -> None:
        self._base = base
        self._over = over
        self._same = estimator == of_base
        self.timeline = timeline = base.timeline
        self.request, self.turn, self.gap_seconds = base.request, base.turn, base.gap_seconds
        self.count, self.outputs = base.count, base.outputs
        self.item, self.read = base.item, base.read
        self.changes = None
        """Not known: the policies before may decide otherwise at every request."""
        self._weights = timeline.weights(estimator)
        self._count = timeline.count(estimator) if timeline.count and estimator != CHARS4 else None

    @cached_property
    def shown_outputs(self) -> int:
        base = self._base
        return base.shown_outputs + sum(
            self.shows(index) - base.shows(index)
            for index in self._over
            if index < base.count and base.item(index).kind == "output"
        )

    @cached_property
    def shown_items(self) -> Sequence[int]:
        base = self._base
        moved = {
            index
            for index in self._over
            if index < base.count and self.shows(index) != base.shows(index)
        }
        if not moved:
            return base.shown_items
        stay = [index for index in base.shown_items if index not in moved]
        return sorted(stay + [index for index in moved if self.shows(index)])

    def weight(self, index: int) -> int:
        return self._weights[index]

    def tokens(self, index: int) -> int:
        change = self._over.get(index)
        if change is None:
            return self._shown_before(index)
        return change.tokens_of(self._weights[index], self._count)

    def _shown_before(self, index: int) -> int:
        """Return the tokens of an item as it was shown before the policies of the pipeline."""
        known = self._base.tokens(index)
        is_whole = self._base.state(index) == "whole" and known
        return self._weights[index] if is_whole and not self._same else known

    def chars(self, index: int) -> int:
        change = self._over.get(index)
        if change is None:
            return self._base.chars(index)
        return self._base.item(index).chars if change.state == "whole" else change.length

    def state(self, index: int) -> ItemState:
        change = self._over.get(index)
        return self._base.state(index) if change is None else change.state

    def shows(self, index: int) -> bool:
        change = self._over.get(index)
        return self._base.shows(index) if change is None else change.state not in GONE_STATES

    @cached_property
    def total(self) -> int:
        if self._same:
            more = sum(
                self.tokens(index) - self._base.tokens(index)
                for index in self._over
                if index < self.count
            )
            return self._base.total + more
        return self._unseen + sum(self.tokens(index) for index in range(self.count))

    @cached_property
    def raw_total(self) -> int:
        if self._same:
            return self._base.raw_total
        whole = range(self.count)
        state, tokens = self._base.state, self._base.tokens
        # Recorded summaries, whose texts are whole, are not there.
        there = (one for one in whole if state(one) != "whole" or tokens(one) > 0)
        return self._unseen + sum(self._weights[one] for one in there)

    def reported(self, *, answer: bool, since: Since) -> int | None:
        """Return the tokens of the request by the provider's count, less what the policies before took from it."""
        found = self._base.reported(answer=answer, since=since)
        if found is None or not self._over:
            return found
        taken = sum(
            self._shown_before(index) - self.tokens(index)
            for index in self._over
            if index < self.count
        )
        before = self.total + taken
        return round(found * self.total / before) if before > 0 else found

    @cached_property
    def _unseen(self) -> int:
        """Tokens that no item has: the base's total without its items."""
        return self._base.total - sum(self._base.tokens(index) for index in range(self.count))
