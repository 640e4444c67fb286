"""What requests show of the items of a timeline: by decisions, summaries, and messages that were taken back."""

from dataclasses import replace
from typing import Any

from palimpsest.review.timeline.item_decisions import ItemDecisions
from palimpsest.review.timeline.message_items import ItemList, part_of
from palimpsest.review.timeline.request_list import RequestList
from palimpsest.transcript.context_values.decisions import UNDO, Decision, is_of_own_policy
from palimpsest.transcript.parts import CompactionPart
from palimpsest.transcript.timeline import ItemState, TimelineEvent, Transition

_STATES: dict[str, ItemState] = {"truncate": "truncated", "clear": "cleared", "drop": "out"}


class ItemStates:
    """Makes transitions and events of what happens to items.

    Responsibilities: keep decisions until their items exist, and find what all of them together show of each.
    """

    def __init__(self, items: ItemList, requests: RequestList) -> None:
        self._made = items
        self._requests = requests
        self.transitions: list[Transition] = []
        self.events: list[TimelineEvent] = []
        self.decisions: list[Decision] = []
        """Those whose items were not looked at yet."""
        self.removed: list[str] = []
        """Messages that were removed since the request before."""
        self._decided = ItemDecisions()
        self._reduced: dict[int, Decision | None] = {}
        """The reduction under which each item is shown."""

    def replace_by_summary(
        self, covered: tuple[int, ...], summary: str, marker: CompactionPart | None
    ) -> None:
        """Let the summary of a message stand in the place of the items that it covers."""
        for one in covered:
            self.show(one, "summarised", 0, "compact")
        numbers = {"covers": len(covered), "summary": summary}
        cause = "automatic" if marker is None or marker.auto else "by hand"
        self.events.append(TimelineEvent(len(self._requests), "compact", cause, numbers))

    def take_decisions(self) -> None:
        """Make transitions of what was decided since the request before."""
        left: list[Decision] = []
        touched: dict[int, Decision] = {}
        for decision in self.decisions:
            if decision.rule == UNDO:
                self._undo_summary(decision.message_id or "")
                continue
            items = self._made.items_of(decision)
            if not items:
                left.append(decision)
                continue
            self._decided.add(decision)
            touched |= dict.fromkeys(items, decision)
        for item, newest in touched.items():
            self._settle(item, newest)
        self.decisions = [one for one in left if one.part_id is not None]

    def _settle(self, item: int, newest: Decision) -> None:
        """Show an item as all decisions about it say, if that is not how it is shown already."""
        known = self._made.items[item]
        reduction, pinned = self._decided.effect(part_of(known), known.message)
        self._made.pin(item, pinned=pinned)
        before = self._reduced.get(item)
        if reduction == before:
            return
        self._reduced[item] = reduction
        if reduction is None:
            self.show(item, "whole", None, newest.rule)
            return
        shown = reduction.numbers.get("text" if is_of_own_policy(reduction) else "shown")
        told = reduction.numbers.get("state") if is_of_own_policy(reduction) else None
        self.show(
            item,
            told if told in ("masked", "offloaded") else _STATES[reduction.action],
            reduction.tokens_after if reduction.action != "drop" else 0,
            str(reduction.numbers.get("rule") or reduction.rule),
            shown=shown if isinstance(shown, str) else None,
            numbers=reduction.numbers,
        )

    def _undo_summary(self, message_id: str) -> None:
        """Show again what a summary replaced, since the user undid it."""
        for summary in self._made.items_of_message(message_id):
            self.show(summary, "out", 0, UNDO)
            for one in self._made.items[summary].covers:
                self._show_as_before(one)
            numbers = {"summary": message_id}
            self.events.append(TimelineEvent(len(self._requests), "undo", "by hand", numbers))

    def _show_as_before(self, item: int) -> None:
        """Show an item as it was before a summary replaced it."""
        own = (one for one in reversed(self.transitions) if one.item == item)
        last = next((one for one in own if one.state != "summarised"), None)
        if last is None:
            self.show(item, "whole", None, UNDO)
        else:
            self.transitions.append(replace(last, request=len(self._requests)))

    def show(
        self,
        item: int,
        state: ItemState,
        tokens: int | None,
        rule: str,
        *,
        shown: str | None = None,
        numbers: Any = None,
    ) -> None:
        """Show an item in another state from the coming request on."""
        known = self._made.items[item]
        chars = len(shown) if shown is not None else (tokens or 0) * 4
        self.transitions.append(
            Transition(
                item=item,
                request=len(self._requests),
                state=state,
                tokens=tokens,
                chars=known.chars if state == "whole" else chars,
                rule=rule,
                numbers=numbers or {},
                shown=shown,
            )
        )

    def take_removed(self) -> None:
        """Take the items of messages out that were removed since the request before."""
        gone = frozenset(self.removed)
        self.removed = []
        items = [one.index for one in self._made.items if one.message in gone] if gone else []
        for index in items:
            self.show(index, "reverted", 0, "undo")
        if items:
            self.events.append(
                TimelineEvent(len(self._requests), "undo", "by hand", {"items": len(items)})
            )
