"""Determine the live window of a session: the messages that the next request may need.

These are the messages from the last completed compaction on, with the tail it kept, and pinned messages.
The live window of a session that was never compacted, or whose compactions the user has undone, begins at its
first message, since the model still sees all of it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from palimpsest.store.session_state.message_facts import MessageFacts, message_index
from palimpsest.store.session_state.message_index import MIN_INDEXED_MESSAGES
from palimpsest.store.session_state.message_list import RESTORED_SEQ, MessageSlot
from palimpsest.store.session_state.state import State
from palimpsest.transcript.context_values.decisions import undone_compactions
from palimpsest.transcript.messages import AssistantMessage, Message
from palimpsest.transcript.parts import CompactionPart
from palimpsest.transcript.session_record.events import Checkpoint

MAX_EARLIER_MESSAGES = 300
"""Maximum messages before the window that a running session keeps in memory, for pages and the user.
Without a limit a session of 1,000 turns grew by 26 kB a turn."""


@dataclass(frozen=True, slots=True)
class LiveWindow:
    """The beginning of the live window, and the values to keep from the messages before it."""

    seq: int
    message_count: int
    """Number of messages in the window."""
    checkpoint_fields: dict[str, Any]
    """Fields for the checkpoint's state: see ``WindowFields``."""


def live_window(state: State, first_message_id: str | None = None) -> LiveWindow:
    """Choose the live window: from the given message on, else from the last completed compaction on.

    Decisions about messages before it are not included, like these messages.
    """
    slots = state.message_slots()
    loaded_slots = [slot for slot in slots if slot.first_seq != RESTORED_SEQ]
    start = _start_index(state, loaded_slots, first_message_id)
    older_slots, window_slots = loaded_slots[:start], loaded_slots[start:]
    seq = window_slots[0].first_seq if window_slots else state.seq + 1
    index = state.index
    extra_fields: dict[str, Any] = {}
    if index is not None and index.seqs[0] == seq:  # still of the same bytes
        extra_fields["index"] = index.model_dump(mode="json", exclude_none=True)
    if not older_slots and not state.is_partial:
        return LiveWindow(seq, len(window_slots), {"messages": len(slots), **extra_fields})
    created_times = [message.info.time.created for message in state.read_slots(older_slots)]
    pins = [decision for decision in state.decisions if decision.action == "pin"]
    pinned_ids = {
        pinned_id for pin in pins for pinned_id in (pin.part_id, pin.message_id) if pinned_id
    }
    kept_slots = [slot for slot in slots if slot.first_seq == RESTORED_SEQ] + older_slots
    pinned_slots = (slot for slot in kept_slots if _may_be_pinned(slot, pinned_ids))
    older_count = state.older_count + len(older_slots)
    window_fields: dict[str, Any] = {
        "ids": [slot.id for slot in window_slots],
        "older": older_count,
        "older_created": max([*created_times, state.older_created or 0]),
        "kept": [
            message.model_dump(mode="json", exclude_none=True)
            for message in state.read_slots(pinned_slots)
            if _is_pinned(message, pinned_ids)
        ],
    }
    message_ids = {
        None,
        *window_fields["ids"],
        *(message["info"]["id"] for message in window_fields["kept"]),
    }
    decisions = [
        decision.model_dump(mode="json", exclude_none=True)
        for decision in state.decisions
        if decision.message_id in message_ids
    ]
    message_count = older_count + len(window_slots)
    checkpoint_fields = {"decisions": decisions, "window": window_fields, "messages": message_count}
    return LiveWindow(seq, len(window_slots), {**checkpoint_fields, **extra_fields})


def window_checkpoint(
    state: State,
    window: LiveWindow,
    window_begin: tuple[str, int],
    written_lines: Callable[[str, int], Iterable[bytes]],
    facts: MessageFacts | None = None,
) -> Checkpoint:
    """Return the checkpoint of a state whose window begins at a place: a segment, and a byte offset in it.

    ``written_lines`` returns the segment's lines from an offset on. The index with which the session was opened is kept
    while few messages were added since. With ``facts`` of the window's messages, the state need not have these.
    """
    segment, offset = window_begin
    fields = state.summary() | window.checkpoint_fields
    indexed_count = len(window.checkpoint_fields.get("index", {}).get("ids", ()))
    if window.message_count - indexed_count >= MIN_INDEXED_MESSAGES:
        lines = written_lines(segment, offset)
        index = (
            message_index(lines, window.seq, state.messages())
            if facts is None
            else facts.completed_index(lines, window.seq)
        )
        if index is not None and len(index.ids) > indexed_count:
            fields["index"] = index.model_dump(mode="json", exclude_none=True)
    seq = window.seq
    return Checkpoint(state=fields, window_seq=seq, window_segment=segment, window_offset=offset)


def is_wide(state: State) -> bool:
    """Return whether more messages before the window are in memory than a running session keeps there."""
    session = state.session
    if session is not None and session.revert is not None:
        return False
    slots = [slot for slot in state.message_slots() if slot.first_seq != RESTORED_SEQ]
    return _start_index(state, slots, None) > MAX_EARLIER_MESSAGES


def narrow_to_window(state: State, window: LiveWindow) -> None:
    """Drop the oldest messages before a window from memory, as if the session had been opened there.

    Nothing is dropped while a revert is in effect, since it may be undone.
    """
    window_fields, session = window.checkpoint_fields.get("window"), state.session
    if window_fields is None or (session is not None and session.revert is not None):
        return
    window_ids = set(window_fields["ids"])
    earlier_slots = [
        slot
        for slot in state.message_slots()
        if slot.id not in window_ids and slot.first_seq != RESTORED_SEQ
    ]
    dropped_slots = earlier_slots[: max(0, len(earlier_slots) - MAX_EARLIER_MESSAGES)]
    kept_ids = {message["info"]["id"] for message in window_fields["kept"]}
    created_times = [message.info.time.created for message in state.read_slots(dropped_slots)]
    for slot in dropped_slots:
        if slot.id in kept_ids:
            slot.first_seq = RESTORED_SEQ
    if dropped_slots:
        state.drop_messages(
            {slot.id for slot in dropped_slots} - kept_ids,
            len(dropped_slots),
            max(created_times, default=0),
        )


def _start_index(state: State, slots: Sequence[MessageSlot], first_message_id: str | None) -> int:
    if first_message_id is not None:
        return next((index for index, slot in enumerate(slots) if slot.id == first_message_id), 0)
    return _window_start(state, slots) or 0


def is_too_short(state: State) -> bool:
    """Return whether a live window lacks messages of the next request, since its compaction is gone."""
    if not state.is_partial:
        return False
    session = state.session
    revert = None if session is None else session.revert
    if revert is not None and state.message(str(revert.get("message_id"))) is None:
        return True
    compacted_id = state.last_compacted_id
    was_removed = compacted_id is not None and state.message(compacted_id) is None
    is_undone = was_removed or bool(undone_compactions(state.decisions))
    return is_undone and _window_start(state, state.message_slots()) is None


def _window_start(state: State, slots: Sequence[MessageSlot]) -> int | None:
    """Return the index at which the window of the newest completed, not undone compaction begins."""
    marker_slots = state.slots_with_type("compaction")
    if not marker_slots:
        return None
    index_by_id = {slot.id: index for index, slot in enumerate(slots)}
    undone_ids = undone_compactions(state.decisions)
    for index in sorted(
        (index_by_id[slot.id] for slot in marker_slots if slot.id in index_by_id), reverse=True
    ):
        message = state.message(slots[index].id)
        parts = () if message is None else message.parts
        marker = next((part for part in parts if isinstance(part, CompactionPart)), None)
        if marker is not None and _is_completed(state, slots, index, undone_ids):
            return min(index, index_by_id.get(marker.tail_start_id or "", index))
    return None


def _is_completed(
    state: State, slots: Sequence[MessageSlot], marker_index: int, undone_ids: frozenset[str]
) -> bool:
    for slot in slots[marker_index + 1 :]:
        message = state.message(slot.id)
        info = None if message is None else message.info
        if isinstance(info, AssistantMessage) and info.parent_id == slots[marker_index].id:
            is_done = info.summary and info.error is None and info.time.completed is not None
            return is_done and info.id not in undone_ids
    return False


def _may_be_pinned(slot: MessageSlot, pinned_ids: set[str]) -> bool:
    if slot.id in pinned_ids or not pinned_ids.isdisjoint(slot.parts):
        return True
    return any(part.may_hold(b'"pinned":true') for part in slot.parts.values())


def _is_pinned(message: Message, pinned_ids: set[str]) -> bool:
    if message.id in pinned_ids:
        return True
    return any(part.id in pinned_ids or getattr(part, "pinned", False) for part in message.parts)
