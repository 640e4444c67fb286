"""What requests show of the items of a timeline: by decisions, summaries, and messages that were taken back."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from palimpsest.context.reduction.picture_limits import is_whole_text
from palimpsest.review.timeline.item_decisions import ItemDecisions
from palimpsest.review.timeline.message_items import ItemList, part_of, with_own_containers
from palimpsest.review.timeline.request_list import RequestList
from palimpsest.transcript.context_values.decisions import (
    LEFT_OUT,
    REDO,
    UNDO,
    Decision,
    is_of_own_policy,
    pictures_of,
)
from palimpsest.transcript.context_values.request_items import STATES, ItemState
from palimpsest.transcript.messages import AssistantMessage
from palimpsest.transcript.parts import CompactionPart
from palimpsest.transcript.timeline import EventKind, TimelineEvent, Transition

_HIDDEN_BY: dict[ItemState, str] = {"summarised": "compact", "reverted": "undo", "out": UNDO}


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
        self._covered: Counter[int] = Counter()
        """How many summaries that stand cover each item."""
        self._cut: frozenset[str] | None = None
        """The messages that the coming request leaves out, where not good summaries alone say it."""
        self._out: dict[int, ItemState] = {}
        """Items of messages that were taken back, and those that an undone compaction had added."""
        self._undone: list[str] = []
        self._hidden: dict[int, ItemState] = {}
        """Those of all these that are shown as gone."""
        self._touched: dict[int, str] = {}
        """Items that may be shown otherwise from the coming request on, and the rule of what happened to them."""

    def copied(self, items: ItemList) -> "ItemStates":
        """Return a copy over a copy of the items that may go on alone."""
        made = with_own_containers(self)
        decided = self._decided.copied() if self.decisions else self._decided
        vars(made).update(_made=items, _decided=decided)
        return made

    def take_summary(
        self,
        info: AssistantMessage,
        covered: tuple[int, ...],
        marker: CompactionPart | None,
        asked: Mapping[str, Any],
    ) -> None:
        """Let the summary of a message stand in the place of the items that it covers; one that failed replaces none.

        ``asked`` tells how its policy had it written.
        """
        kind: EventKind = "compact"
        numbers = {"covers": len(covered), "summary": info.id, **asked}
        if info.error is None:
            self._covered.update(covered)
            self._touched |= dict.fromkeys(covered, "compact")
        else:
            kind = "compact failed"
            numbers |= {"error": info.error.type, "last": covered[-1] if covered else -1}
        cause = "automatic" if marker is None or marker.auto else "by hand"
        self.events.append(TimelineEvent(len(self._requests), kind, cause, numbers))

    @property
    def undone(self) -> tuple[str, ...]:
        """The summaries that a person undid so far, also since the request before."""
        found = dict.fromkeys(self._undone)
        for one in self.decisions:
            if one.rule == UNDO:
                found[one.message_id or ""] = None
            elif one.rule == REDO:
                found.pop(one.message_id or "", None)
        return tuple(found)

    def take_changes(self, cut: frozenset[str] | None) -> None:
        """Make transitions of what was decided, summarised, undone and removed since the request before.

        ``cut`` are the messages that the coming request leaves out, where not good summaries alone say it.
        """
        if cut != self._cut:
            self._cut = cut
            self._touched |= {one.index: "compact" for one in self._made.items if one.message}
        left: list[Decision] = []
        for decision in self.decisions:
            if decision.rule in (UNDO, REDO):
                self._take_back(decision.message_id or "", again=decision.rule == REDO)
                continue
            items = self._made.items_of(decision)
            if not items:
                left.append(decision)
                continue
            self._decided.add(decision)
            self._touched |= dict.fromkeys(items, decision.rule)
        self.decisions = [one for one in left if one.part_id is not None]
        self._take_removed()
        for item, rule in self._touched.items():
            self._settle(item, rule)
        self._touched = {}

    def _settle(self, item: int, rule: str) -> None:
        """Show an item as all that happened to it says, if that is not how it is shown already.

        A decision about an item that is gone is a transition, too: it holds where no summary was written.
        """
        known = self._made.items[item]
        effect = self._decided.effect(part_of(known), known.message)
        pinned = item in self._made.marked if effect.pinned is None else effect.pinned
        self._made.pin(item, pinned=pinned)
        hidden = self._out.get(item)
        covered = self._covered[item] > 0 if self._cut is None else known.message in self._cut
        if hidden is None and covered:
            # What is pinned is quoted after the summary; of a pinned message that is all but its thoughts.
            kept = pinned and (known.kind != "reasoning" or effect.by_itself)
            hidden = None if kept else "summarised"
        appears = hidden is None and item in self._hidden
        if appears or effect.reduction != self._reduced.get(item):
            self._reduced[item] = effect.reduction
            self._hidden.pop(item, None)
            self._show_reduced(item, effect.reduction, rule)
        if hidden is not None and hidden != self._hidden.get(item):
            self._hidden[item] = hidden
            self.show(item, hidden, 0, _HIDDEN_BY[hidden])

    def _show_reduced(self, item: int, reduction: Decision | None, rule: str) -> None:
        if reduction is None:
            self.show(item, "whole", None, rule)
            return
        pictures = pictures_of(reduction)
        if pictures and self._made.items[item].group:
            self._show_pictures(item, reduction, pictures, rule)
            return
        shown = reduction.numbers.get("text" if is_of_own_policy(reduction) else "shown")
        told = reduction.numbers.get("state") if is_of_own_policy(reduction) else None
        self.show(
            item,
            told if told in ("masked", "offloaded") else STATES[reduction.action],
            reduction.tokens_after if reduction.action != "drop" else 0,
            str(reduction.numbers.get("rule") or reduction.rule),
            shown=shown if isinstance(shown, str) else None,
            numbers=reduction.numbers,
        )

    def _show_pictures(
        self, item: int, reduction: Decision, pictures: Mapping[str, Any], rule: str
    ) -> None:
        """Show a result whose provider takes its pictures smaller, or not all of them: its text, or one of the pictures."""
        known = self._made.items[item]
        if known.kind != "media":
            if is_whole_text(reduction):
                self.show(item, "whole", None, rule)
            else:
                # Its text was cut before; what is kept of it is told with the pictures, its tokens were told then.
                kept = [reduction.numbers.get(one) for one in ("head_chars", "tail_chars")]
                chars = sum(one for one in kept if isinstance(one, int))
                tokens = -(-min(chars, known.chars) // 4)
                self.show(item, "truncated", tokens, rule, numbers=reduction.numbers)
            return
        told = pictures.get(known.id.rsplit("/", 1)[-1])
        if isinstance(told, Mapping):
            state: ItemState = "out" if LEFT_OUT in told else "whole"
            self.show(item, state, 0 if state == "out" else None, rule, numbers=reduction.numbers)

    def _take_back(self, message_id: str, *, again: bool) -> None:
        """Show again what a summary replaced, and nothing that it had added, since the user undid it.

        With ``again`` the user took that back, so that the summary stands once more in the place of what it covers.
        """
        self._undone = [one for one in self._undone if one != message_id]
        if not again:
            self._undone.append(message_id)
        for summary in self._made.items_of_message(message_id):
            if self._out.get(summary) != ("out" if again else None):
                continue
            covered = self._made.items[summary].covers
            added = (summary, *self._made.continuing(summary))
            numbers: dict[str, Any] = {"summary": message_id}
            if again:
                numbers["back"] = True
                self._covered.update(covered)
                self._out = {one: how for one, how in self._out.items() if one not in added}
            else:
                self._covered.subtract(covered)
                self._out |= dict.fromkeys(added, "out")
            # The rule is that of the compaction, so that a replay under another policy has no summary of it.
            rule = "compact" if again else UNDO
            self._touched |= dict.fromkeys((*added, *covered), rule)
            self.events.append(TimelineEvent(len(self._requests), "undo", "by hand", numbers))

    def _take_removed(self) -> None:
        """Take the items of messages out that were removed since the request before."""
        gone = frozenset(self.removed)
        self.removed = []
        items = [one.index for one in self._made.items if one.message in gone] if gone else []
        self._out |= dict.fromkeys(items, "reverted")
        self._touched |= dict.fromkeys(items, "undo")
        if items:
            self.events.append(
                TimelineEvent(len(self._requests), "undo", "by hand", {"items": len(items)})
            )

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
