"""The states of a timeline's items in its requests, from decisions, summaries and reverted messages."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from palimpsest.context.reduction.picture_limits import is_whole_text
from palimpsest.recordings.timeline.message_items import ItemList, part_of, with_own_containers
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

_HIDDEN_BY: dict[ItemState, str] = {"summarised": "compact", "reverted": "undo", "out": UNDO}


class _ItemEffect(NamedTuple):
    """The effect of all decisions on an item."""

    reduction: Decision | None
    """The decision that reduces the item, if there is one."""
    pinned: bool | None
    """Whether the user pinned the item; None where the user neither pinned nor excluded it or its message."""
    is_pinned_itself: bool
    """Whether the item itself was pinned, and not only its message."""


class _ItemDecisions:
    """Stores decisions by their part or message; the time for an effect does not grow with the session."""

    def __init__(self) -> None:
        self._by_id: dict[str, list[tuple[int, Decision]]] = {}
        self._count = 0

    def add(self, decision: Decision) -> None:
        """Add the newest decision."""
        name = decision.part_id or decision.message_id
        if name is not None:
            self._count += 1
            self._by_id.setdefault(name, []).append((self._count, decision))

    def copy(self) -> "_ItemDecisions":
        """Return a copy that continues independently."""
        duplicate = _ItemDecisions()
        duplicate._by_id = {name: [*decisions] for name, decisions in self._by_id.items()}
        duplicate._count = self._count
        return duplicate

    def effect(self, part_id: str, message_id: str) -> _ItemEffect:
        """Return the effect of all decisions about a part and its message."""
        part_decisions = self._by_id.get(part_id, ())
        decisions = [*part_decisions, *self._by_id.get(message_id, ())]
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
        self.decisions: list[Decision] = []
        """Decisions that were not yet applied to their items."""
        self.removed_messages: list[str] = []
        """Ids of the messages that were removed since the previous request."""
        self._item_decisions = _ItemDecisions()
        self._reductions: dict[int, Decision | None] = {}
        """The reduction that applies to each item."""
        self._cover_counts: Counter[int] = Counter()
        """Number of valid summaries that cover each item."""
        self._cut_messages: frozenset[str] | None = None
        """The messages that the next request leaves out; None where only successful summaries cut the history."""
        self._removed_items: dict[int, ItemState] = {}
        """Items of reverted messages, and items that an undone compaction had added."""
        self._undone_summaries: list[str] = []
        self._hidden_states: dict[int, ItemState] = {}
        """The current state of each hidden item."""
        self._changed_items: dict[int, str] = {}
        """Items whose state may change at the next request, each with the rule of the cause."""

    def copy(self, items: ItemList) -> "ItemStates":
        """Return a copy that continues independently, over a copy of the items."""
        duplicate = with_own_containers(self)
        decisions = self._item_decisions.copy() if self.decisions else self._item_decisions
        vars(duplicate).update(_item_list=items, _item_decisions=decisions)
        return duplicate

    def add_summary(
        self,
        info: AssistantMessage,
        covered_items: tuple[int, ...],
        marker: CompactionPart | None,
        settings: Mapping[str, Any],
    ) -> None:
        """Replace the covered items by a summary, unless it failed; ``settings`` are those of its request."""
        event_kind: EventKind = "compact"
        numbers = {"covers": len(covered_items), "summary": info.id, **settings}
        if info.error is None:
            self._cover_counts.update(covered_items)
            self._changed_items |= dict.fromkeys(covered_items, "compact")
        else:
            event_kind = "compact failed"
            last_item = covered_items[-1] if covered_items else -1
            numbers |= {"error": info.error.type, "last": last_item}
        cause = "automatic" if marker is None or marker.auto else "by hand"
        self.events.append(TimelineEvent(len(self._requests), event_kind, cause, numbers))

    def _add_conversation_size(self, decision: Decision) -> None:
        """Add the tokens of the conversation before and after a compaction to its event."""
        sizes = {"before": decision.tokens_before, "after": decision.tokens_after}
        for index, event in enumerate(self.events):
            if event.kind == "compact" and event.numbers.get("summary") == decision.message_id:
                numbers = {**event.numbers, **sizes, "kept": decision.numbers.get("kept")}
                self.events[index] = replace(event, numbers=numbers)

    @property
    def undone_compactions(self) -> tuple[str, ...]:
        """The summaries that the user undid so far, including those since the previous request."""
        undone_ids = dict.fromkeys(self._undone_summaries)
        for decision in self.decisions:
            if decision.rule == UNDO:
                undone_ids[decision.message_id or ""] = None
            elif decision.rule == REDO:
                undone_ids.pop(decision.message_id or "", None)
        return tuple(undone_ids)

    def apply_changes(self, cut_messages: frozenset[str] | None) -> None:
        """Add the transitions of all decisions, summaries, undos and removals since the previous request.

        ``cut_messages`` are the messages that the next request leaves out; None where only successful summaries cut the history.
        """
        if cut_messages != self._cut_messages:
            self._cut_messages = cut_messages
            with_message = [item.index for item in self._item_list.items if item.message]
            self._changed_items |= dict.fromkeys(with_message, "compact")
        without_item: list[Decision] = []
        for decision in self.decisions:
            if decision.rule in (UNDO, REDO):
                self._undo_summary(decision.message_id or "", is_redone=decision.rule == REDO)
                continue
            if decision.action == "summarise":
                self._add_conversation_size(decision)
            items = self._item_list.items_of(decision)
            if not items:
                without_item.append(decision)
                continue
            self._item_decisions.add(decision)
            self._changed_items |= dict.fromkeys(items, decision.rule)
        self.decisions = [decision for decision in without_item if decision.part_id is not None]
        self._apply_removed()
        for item, rule in self._changed_items.items():
            self._set_state(item, rule)
        self._changed_items = {}

    def _set_state(self, item: int, rule: str) -> None:
        """Set the state of an item to the effect of all changes to it.

        A decision about a hidden item is a transition, too: it takes effect in a replay without the summary.
        """
        known_item = self._item_list.items[item]
        effect = self._item_decisions.effect(part_of(known_item), known_item.message)
        pinned = item in self._item_list.pinned_items if effect.pinned is None else effect.pinned
        self._item_list.pin(item, pinned=pinned)
        removed_state = self._removed_items.get(item)
        cut = self._cut_messages
        covered = self._cover_counts[item] > 0 if cut is None else known_item.message in cut
        if removed_state is None and covered:
            # Pinned items are quoted after the summary; of a pinned message all items except its reasoning.
            is_quoted = pinned and (known_item.kind != "reasoning" or effect.is_pinned_itself)
            removed_state = None if is_quoted else "summarised"
        is_shown_again = removed_state is None and item in self._hidden_states
        if is_shown_again or effect.reduction != self._reductions.get(item):
            self._reductions[item] = effect.reduction
            self._hidden_states.pop(item, None)
            self._show_reduced(item, effect.reduction, rule)
        if removed_state is not None and removed_state != self._hidden_states.get(item):
            self._hidden_states[item] = removed_state
            self.show(item, removed_state, 0, _HIDDEN_BY[removed_state])

    def _show_reduced(self, item: int, reduction: Decision | None, rule: str) -> None:
        if reduction is None:
            self.show(item, "whole", None, rule)
            return
        pictures = pictures_of(reduction)
        if pictures and self._item_list.items[item].group:
            self._show_pictures(item, reduction, pictures, rule)
            return
        is_own = is_of_own_policy(reduction)
        shown_text = reduction.numbers.get("text" if is_own else "shown")
        state = reduction.numbers.get("state") if is_own else None
        self.show(
            item,
            state if state in ("masked", "offloaded") else STATE_OF_ACTION[reduction.action],
            reduction.tokens_after if reduction.action != "drop" else 0,
            str(reduction.numbers.get("rule") or reduction.rule),
            shown_text=shown_text if isinstance(shown_text, str) else None,
            numbers=reduction.numbers,
        )

    def _show_pictures(
        self, item: int, reduction: Decision, pictures: Mapping[str, Any], rule: str
    ) -> None:
        """Show an item of a result whose pictures were shrunk or left out for the provider: its text or a picture."""
        known_item = self._item_list.items[item]
        if known_item.kind != "media":
            if is_whole_text(reduction):
                self.show(item, "whole", None, rule)
            else:
                # The text was cut before; its remaining length is recorded with the pictures.
                char_counts = [reduction.numbers.get(key) for key in ("head_chars", "tail_chars")]
                chars = sum(count for count in char_counts if isinstance(count, int))
                tokens = -(-min(chars, known_item.chars) // 4)
                self.show(item, "truncated", tokens, rule, numbers=reduction.numbers)
            return
        version = pictures.get(known_item.id.rsplit("/", 1)[-1])
        if isinstance(version, Mapping):
            state: ItemState = "out" if LEFT_OUT in version else "whole"
            self.show(item, state, 0 if state == "out" else None, rule, numbers=reduction.numbers)

    def _undo_summary(self, message_id: str, *, is_redone: bool) -> None:
        """Show the items of a summary that the user undid, and hide the summary; the reverse for a redo (``is_redone``)."""
        self._undone_summaries = [name for name in self._undone_summaries if name != message_id]
        if not is_redone:
            self._undone_summaries.append(message_id)
        for summary in self._item_list.items_of_message(message_id):
            if self._removed_items.get(summary) != ("out" if is_redone else None):
                continue
            covered_items = self._item_list.items[summary].covers
            summary_items = (summary, *self._item_list.continuation_of(summary))
            numbers: dict[str, Any] = {"summary": message_id}
            if is_redone:
                numbers["back"] = True
                self._cover_counts.update(covered_items)
                for item in summary_items:
                    self._removed_items.pop(item, None)
            else:
                self._cover_counts.subtract(covered_items)
                self._removed_items |= dict.fromkeys(summary_items, "out")
            # A redo has the rule of a compaction, so that replays under other policies ignore it.
            rule = "compact" if is_redone else UNDO
            self._changed_items |= dict.fromkeys((*summary_items, *covered_items), rule)
            self.events.append(TimelineEvent(len(self._requests), "undo", "by hand", numbers))

    def _apply_removed(self) -> None:
        """Hide the items of messages that were removed since the previous request."""
        if not self.removed_messages:
            return
        removed_messages = frozenset(self.removed_messages)
        self.removed_messages = []
        items = [item.index for item in self._item_list.items if item.message in removed_messages]
        self._removed_items |= dict.fromkeys(items, "reverted")
        self._changed_items |= dict.fromkeys(items, "undo")
        if items:
            numbers = {"items": len(items)}
            self.events.append(TimelineEvent(len(self._requests), "undo", "by hand", numbers))

    def show(
        self,
        item: int,
        state: ItemState,
        tokens: int | None,
        rule: str,
        *,
        shown_text: str | None = None,
        numbers: Any = None,
    ) -> None:
        """Show an item in another state, beginning with the next request."""
        known_item = self._item_list.items[item]
        chars = len(shown_text) if shown_text is not None else (tokens or 0) * 4
        self.transitions.append(
            Transition(
                item=item,
                request=len(self._requests),
                state=state,
                tokens=tokens,
                chars=known_item.chars if state == "whole" else chars,
                rule=rule,
                numbers=numbers or {},
                shown=shown_text,
            )
        )
