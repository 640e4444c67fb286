"""The view of one policy in a pipeline: the items as earlier policies left them, counted by its own estimator."""

from collections.abc import Mapping, Sequence
from functools import cached_property

from palimpsest.context_policies.interface.policy import Change, LaterItems, PolicyView
from palimpsest.transcript.timeline import CHARS4, GONE_STATES, ItemState


class StageView:
    """A view with a layer of changes on top; see ``PolicyView``."""

    def __init__(
        self, base: PolicyView, layer: Mapping[int, Change], estimator: str, base_estimator: str
    ) -> None:
        self._base = base
        self._layer = layer
        self._has_same_estimator = estimator == base_estimator
        self.timeline = timeline = base.timeline
        self.request, self.turn, self.gap_seconds = base.request, base.turn, base.gap_seconds
        self.count, self.outputs = base.count, base.outputs
        self.item, self.read = base.item, base.read
        self.changes = None
        """None, since the policies before may decide differently at every request."""
        self._weights = timeline.weights(estimator)
        self._count_tokens = (
            timeline.count(estimator) if timeline.count and estimator != CHARS4 else None
        )

    @property
    def _changed_items(self) -> list[int]:
        return [index for index in self._layer if index < self.count]

    @cached_property
    def shown_outputs(self) -> int:
        base = self._base
        return base.shown_outputs + sum(
            self.shows(index) - base.shows(index)
            for index in self._changed_items
            if base.item(index).kind == "output"
        )

    @cached_property
    def shown_items(self) -> Sequence[int]:
        base = self._base
        switched_items = {
            index for index in self._changed_items if self.shows(index) != base.shows(index)
        }
        if not switched_items:
            return base.shown_items
        # What was shown and is switched is hidden now, and the other way round.
        return sorted(switched_items.symmetric_difference(base.shown_items))

    def weight(self, index: int) -> int:
        return self._weights[index]

    def tokens(self, index: int) -> int:
        change = self._layer.get(index)
        if change is None:
            return self._tokens_before(index)
        return change.tokens_of(self._weights[index], self._count_tokens)

    def _tokens_before(self, index: int) -> int:
        """Return the tokens of an item without this layer's changes, by this view's estimator."""
        tokens = self._base.tokens(index)
        is_whole = self._base.state(index) == "whole" and tokens
        return self._weights[index] if is_whole and not self._has_same_estimator else tokens

    def chars(self, index: int) -> int:
        change = self._layer.get(index)
        if change is None:
            return self._base.chars(index)
        return self._base.item(index).chars if change.state == "whole" else change.length

    def state(self, index: int) -> ItemState:
        change = self._layer.get(index)
        return self._base.state(index) if change is None else change.state

    def shows(self, index: int) -> bool:
        change = self._layer.get(index)
        return self._base.shows(index) if change is None else change.state not in GONE_STATES

    @cached_property
    def total(self) -> int:
        if self._has_same_estimator:
            changed_items = self._changed_items
            added_tokens = sum(map(self.tokens, changed_items))
            return self._base.total + added_tokens - sum(map(self._base.tokens, changed_items))
        return self._unseen_tokens + sum(self.tokens(index) for index in range(self.count))

    @cached_property
    def raw_total(self) -> int:
        if self._has_same_estimator:
            return self._base.raw_total
        items = range(self.count)
        state, tokens = self._base.state, self._base.tokens
        # Recorded summaries are not shown, though their texts are whole.
        counted_items = (index for index in items if state(index) != "whole" or tokens(index) > 0)
        return self._unseen_tokens + sum(self._weights[index] for index in counted_items)

    def reported(self, *, answer: bool, later_items: LaterItems) -> int | None:
        """Return the tokens of the request by the provider's count, less what the policies before removed from it."""
        reported_tokens = self._base.reported(answer=answer, later_items=later_items)
        if reported_tokens is None or not self._layer:
            return reported_tokens
        removed_tokens = sum(
            self._tokens_before(index) - self.tokens(index) for index in self._changed_items
        )
        total_before = self.total + removed_tokens
        return (
            round(reported_tokens * self.total / total_before)
            if total_before > 0
            else reported_tokens
        )

    @cached_property
    def _unseen_tokens(self) -> int:
        """Tokens of the base's total that belong to no item."""
        return self._base.total - sum(self._base.tokens(index) for index in range(self.count))
