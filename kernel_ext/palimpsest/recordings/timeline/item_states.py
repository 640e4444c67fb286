"""The states of a timeline's items in its requests, from decisions, summaries and reverted messages."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from palimpsest.context.reduction.picture_limits import is_whole_text
from palimpsest.recordings.timeline.message_items import ItemList, part_id_of, with_own_containers
from palimpsest.recordings.timeline.request_list import RequestList
from palimpsest.transcript.context_values.decisions import (
    LEFT_OUT,
    PIN,
    REDO,
    UNDO,
    Decision,
    EffectiveDecisions,
    is_of_own_policy,
    pictures_of,
)
from palimpsest.transcript.context_values.request_items import STATE_OF_ACTION, ItemState
from palimpsest.transcript.messages import AssistantMessage
from palimpsest.transcript.parts import CompactionPart
from palimpsest.transcript.timeline import EventKind, TimelineEvent, Transition
from palimpsest.transcript.values import CHARS_PER_TOKEN

_RULE_OF_HIDDEN_STATE: dict[ItemState, str] = {
    "summarised": "compact",
    "reverted": "undo",
    "out": UNDO,
}


class _ItemEffect(NamedTuple):
    """The effect of all decisions on an item."""

    reduction: Decision | None
    """The decision that reduces the item, if there is one."""
    is_pinned: bool | None
    """Whether the user pinned the item; None where the user neither pinned nor excluded it or its message."""
    is_pinned_itself: bool
    """Whether the item itself was pinned, and not only its message."""


class _ItemDecisions:
    """Stores decisions by the id of their part or message; the time for an effect does not grow with the session."""

    def __init__(self) -> None:
        self._numbered_by_id: dict[str, list[tuple[int, Decision]]] = {}
        self._decision_count = 0

    def add(self, decision: Decision) -> None:
        """Add the newest decision."""
        edited_id = decision.part_id or decision.message_id
        if edited_id is not None:
            self._decision_count += 1
            self._numbered_by_id.setdefault(edited_id, []).append((self._decision_count, decision))

    def copy(self) -> "_ItemDecisions":
        """Return a copy that continues independently."""
        duplicate = _ItemDecisions()
        duplicate._numbered_by_id = {
            edited_id: [*decisions] for edited_id, decisions in self._numbered_by_id.items()
        }
        duplicate._decision_count = self._decision_count
        return duplicate

    def effect(self, part_id: str, message_id: str) -> _ItemEffect:
        """Return the effect of all decisions about a part and its message."""
        part_decisions = self._numbered_by_id.get(part_id, ())
        decisions = [*part_decisions, *self._numbered_by_id.get(message_id, ())]
        decisions.sort(key=lambda numbered: numbered[0])
        effective = EffectiveDecisions(tuple(decision for _, decision in decisions))
        return _ItemEffect(
            effective.reduction(part_id, message_id),
            effective.is_pinned(part_id, message_id) if effective.edited_ids else None,
            any(
                decision.rule == PIN and decision.part_id == part_id
                for _, decision in part_decisions
            ),
        )


class ItemStates:
    """Builds transitions and events from decisions, summaries, undos and removals, once their items exist."""

    def __init__(self, items: ItemList, requests: RequestList) -> None:
        self._item_list = items
        self._requests = requests
        self.transitions: list[Transition] = []
        self.events: list[TimelineEvent] = []
        self.pending_decisions: list[Decision] = []
        """Decisions that were not yet applied to their items."""
        self.removed_ids: list[str] = []
        """Ids of the messages that were removed since the previous request."""
        self._item_decisions = _ItemDecisions()
        self._reduction_by_index: dict[int, Decision | None] = {}
        """The decision that reduces each item, by the item's index; None where no decision does."""
        self._cover_counts: Counter[int] = Counter()
        """Number of valid summaries that cover each item, by the item's index."""
        self._left_out_ids: frozenset[str] | None = None
        """Ids of the messages that the next request leaves out; None where only successful summaries cut the history."""
        self._removed_state_by_index: dict[int, ItemState] = {}
        """The state of items of reverted messages, and of those that an undone compaction had added, by index."""
        self._undone_ids: list[str] = []
        self._hidden_state_by_index: dict[int, ItemState] = {}
        """The current state of each hidden item, by its index."""
        self._rule_by_changed_index: dict[int, str] = {}
        """The rule of the cause, by the index of each item whose state may change at the next request."""

    def copy(self, items: ItemList) -> "ItemStates":
        """Return a copy that continues independently, over a copy of the items."""
        duplicate = with_own_containers(self)
        decisions = self._item_decisions.copy() if self.pending_decisions else self._item_decisions
        vars(duplicate).update(_item_list=items, _item_decisions=decisions)
        return duplicate

    def add_summary(
        self,
        info: AssistantMessage,
        covered_indexes: tuple[int, ...],
        marker: CompactionPart | None,
        settings: Mapping[str, Any],
    ) -> None:
        """Replace the covered items by a summary, unless the summary failed; ``settings`` are those of its request."""
        event_kind: EventKind = "compact"
        numbers = {"covers": len(covered_indexes), "summary": info.id, **settings}
        if info.error is None:
            self._cover_counts.update(covered_indexes)
            self._rule_by_changed_index |= dict.fromkeys(covered_indexes, "compact")
        else:
            event_kind = "compact failed"
            last_index = covered_indexes[-1] if covered_indexes else -1
            numbers |= {"error": info.error.type, "last": last_index}
        cause = "automatic" if marker is None or marker.auto else "by hand"
        self.events.append(TimelineEvent(len(self._requests), event_kind, cause, numbers))

    def _add_conversation_size(self, decision: Decision) -> None:
        """Add the tokens of the conversation before and after a compaction to its event."""
        token_counts = {"before": decision.tokens_before, "after": decision.tokens_after}
        for index, event in enumerate(self.events):
            if event.kind == "compact" and event.numbers.get("summary") == decision.message_id:
                numbers = {**event.numbers, **token_counts, "kept": decision.numbers.get("kept")}
                self.events[index] = replace(event, numbers=numbers)

    @property
    def undone_summary_ids(self) -> tuple[str, ...]:
        """Ids of the summaries that the user undid so far, including those since the previous request."""
        undone_ids = dict.fromkeys(self._undone_ids)
        for decision in self.pending_decisions:
            if decision.rule == UNDO:
                undone_ids[decision.message_id or ""] = None
            elif decision.rule == REDO:
                undone_ids.pop(decision.message_id or "", None)
        return tuple(undone_ids)

    def apply_changes(self, left_out_ids: frozenset[str] | None) -> None:
        """Add the transitions of all decisions, summaries, undos and removals since the previous request.

        ``left_out_ids`` are the ids of messages that the next request leaves out; None where only successful summaries cut it.
        """
        if left_out_ids != self._left_out_ids:
            self._left_out_ids = left_out_ids
            indexes_with_message = [item.index for item in self._item_list.items if item.message]
            self._rule_by_changed_index |= dict.fromkeys(indexes_with_message, "compact")
        decisions_without_item: list[Decision] = []
        for decision in self.pending_decisions:
            if decision.rule in (UNDO, REDO):
                self._switch_summary(decision.message_id or "", is_redone=decision.rule == REDO)
                continue
            if decision.action == "summarise":
                self._add_conversation_size(decision)
            indexes = self._item_list.indexes_of_decision(decision)
            if not indexes:
                decisions_without_item.append(decision)
                continue
            self._item_decisions.add(decision)
            self._rule_by_changed_index |= dict.fromkeys(indexes, decision.rule)
        self.pending_decisions = [d for d in decisions_without_item if d.part_id is not None]
        self._apply_removed()
        for index, rule in self._rule_by_changed_index.items():
            self._set_state(index, rule)
        self._rule_by_changed_index = {}

    def _set_state(self, index: int, rule: str) -> None:
        """Set the state of an item to the effect of all changes to it.

        A decision about a hidden item is a transition, too: it takes effect in a replay without the summary.
        """
        item = self._item_list.items[index]
        effect = self._item_decisions.effect(part_id_of(item), item.message)
        is_pinned = (
            index in self._item_list.pinned_indexes
            if effect.is_pinned is None
            else effect.is_pinned
        )
        self._item_list.set_pinned(index, pinned=is_pinned)
        hidden_state = self._removed_state_by_index.get(index)
        left_out_ids = self._left_out_ids
        is_covered = (
            self._cover_counts[index] > 0 if left_out_ids is None else item.message in left_out_ids
        )
        if hidden_state is None and is_covered:
            # Pinned items are quoted after the summary; of a pinned message all items except its reasoning.
            is_quoted = is_pinned and (item.kind != "reasoning" or effect.is_pinned_itself)
            hidden_state = None if is_quoted else "summarised"
        is_shown_again = hidden_state is None and index in self._hidden_state_by_index
        if is_shown_again or effect.reduction != self._reduction_by_index.get(index):
            self._reduction_by_index[index] = effect.reduction
            self._hidden_state_by_index.pop(index, None)
            self._apply_reduction(index, effect.reduction, rule)
        if hidden_state is not None and hidden_state != self._hidden_state_by_index.get(index):
            self._hidden_state_by_index[index] = hidden_state
            self.add_transition(index, hidden_state, 0, _RULE_OF_HIDDEN_STATE[hidden_state])

    def _apply_reduction(self, index: int, reduction: Decision | None, rule: str) -> None:
        if reduction is None:
            self.add_transition(index, "whole", None, rule)
            return
        shown_pictures = pictures_of(reduction)
        if shown_pictures and self._item_list.items[index].group:
            self._apply_picture_limits(index, reduction, shown_pictures, rule)
            return
        is_by_own_policy = is_of_own_policy(reduction)
        shown_text = reduction.numbers.get("text" if is_by_own_policy else "shown")
        state = reduction.numbers.get("state") if is_by_own_policy else None
        self.add_transition(
            index,
            state if state in ("masked", "offloaded") else STATE_OF_ACTION[reduction.action],
            reduction.tokens_after if reduction.action != "drop" else 0,
            str(reduction.numbers.get("rule") or reduction.rule),
            shown_text=shown_text if isinstance(shown_text, str) else None,
            numbers=reduction.numbers,
        )

    def _apply_picture_limits(
        self, index: int, reduction: Decision, shown_pictures: Mapping[str, Any], rule: str
    ) -> None:
        """Show the text or a picture of a result whose pictures were shrunk or left out for the provider."""
        item = self._item_list.items[index]
        if item.kind != "media":
            if is_whole_text(reduction):
                self.add_transition(index, "whole", None, rule)
            else:
                # The text was cut before; its remaining length is recorded with the pictures.
                char_counts = [reduction.numbers.get(key) for key in ("head_chars", "tail_chars")]
                chars = sum(count for count in char_counts if isinstance(count, int))
                tokens = -(-min(chars, item.chars) // CHARS_PER_TOKEN)
                self.add_transition(index, "truncated", tokens, rule, numbers=reduction.numbers)
            return
        shown_picture = shown_pictures.get(item.id.rsplit("/", 1)[-1])
        if isinstance(shown_picture, Mapping):
            state: ItemState = "out" if LEFT_OUT in shown_picture else "whole"
            self.add_transition(
                index, state, 0 if state == "out" else None, rule, numbers=reduction.numbers
            )

    def _switch_summary(self, message_id: str, *, is_redone: bool) -> None:
        """Undo a summary: show the items that it covers, and hide its own; the reverse where it ``is_redone``."""
        self._undone_ids = [s for s in self._undone_ids if s != message_id]
        if not is_redone:
            self._undone_ids.append(message_id)
        for summary_index in self._item_list.indexes_of_message(message_id):
            if self._removed_state_by_index.get(summary_index) != ("out" if is_redone else None):
                continue
            covered_indexes = self._item_list.items[summary_index].covers
            summary_indexes = (summary_index, *self._item_list.continuation_indexes(summary_index))
            numbers: dict[str, Any] = {"summary": message_id}
            if is_redone:
                numbers["back"] = True
                self._cover_counts.update(covered_indexes)
                for index in summary_indexes:
                    self._removed_state_by_index.pop(index, None)
            else:
                self._cover_counts.subtract(covered_indexes)
                self._removed_state_by_index |= dict.fromkeys(summary_indexes, "out")
            # A redo has the rule of a compaction, so that replays under other policies ignore it.
            rule = "compact" if is_redone else UNDO
            self._rule_by_changed_index |= dict.fromkeys((*summary_indexes, *covered_indexes), rule)
            self.events.append(TimelineEvent(len(self._requests), "undo", "by hand", numbers))

    def _apply_removed(self) -> None:
        """Hide the items of messages that were removed since the previous request."""
        if not self.removed_ids:
            return
        removed_ids = frozenset(self.removed_ids)
        self.removed_ids = []
        indexes = [item.index for item in self._item_list.items if item.message in removed_ids]
        self._removed_state_by_index |= dict.fromkeys(indexes, "reverted")
        self._rule_by_changed_index |= dict.fromkeys(indexes, "undo")
        if indexes:
            numbers = {"items": len(indexes)}
            self.events.append(TimelineEvent(len(self._requests), "undo", "by hand", numbers))

    def add_transition(
        self,
        index: int,
        state: ItemState,
        tokens: int | None,
        rule: str,
        *,
        shown_text: str | None = None,
        numbers: Any = None,
    ) -> None:
        """Add the transition of an item to another state, which begins with the next request."""
        item = self._item_list.items[index]
        chars = len(shown_text) if shown_text is not None else (tokens or 0) * CHARS_PER_TOKEN
        self.transitions.append(
            Transition(
                item=index,
                request=len(self._requests),
                state=state,
                tokens=tokens,
                chars=item.chars if state == "whole" else chars,
                rule=rule,
                numbers=numbers or {},
                shown=shown_text,
            )
        )
