"""Apply the records of a session to its changing values and to the ordered list of its messages.

This is the part of the state that grows with the session: messages in the order in which they first
appeared, each rebuilt only when it changed. A message is included once its info is known. Values come typed from a
running engine, or as raw lines from the log; lines are parsed when the value is read. Deltas are stored as
lists and joined on reading, so that the cost of a long answer is linear, not quadratic. An unreadable line counts as
not written: the version before it is used.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, Generic, TypeVar, cast

from pydantic import BaseModel

from palimpsest.paused_collection import collection_paused
from palimpsest.store.log_lines import (
    DELTA,
    INFO,
    PART,
    Head,
    RecordNumbering,
    UnreadableLine,
    event_in,
    seq_of,
)
from palimpsest.store.session_state.message_index import INDEXED_PART_TYPES, LineBlock, MessageIndex
from palimpsest.transcript.messages import Message, MessageInfo, Messages
from palimpsest.transcript.parts import Part
from palimpsest.transcript.session_record.events import (
    ContextEvent,
    Event,
    MessageRemoved,
    MessageUpdated,
    PartDelta,
    PartRemoved,
    PartUpdated,
    Record,
    SessionEvent,
    WaitingEvent,
)
from palimpsest.transcript.session_record.sessions import Spent

Report = Callable[[bytes, str], None]
T = TypeVar("T")

RESTORED_SEQ = 0
"""``first_seq`` of a message before the window that was restored from a checkpoint."""


def event_of(line: bytes, report: Report) -> Event | None:
    """Parse a line's event; None when it is unknown or unreadable, which is reported."""
    try:
        return event_in(line)
    except UnreadableLine as problem:
        report(line, str(problem))
        return None


class LatestValue(Generic[T]):
    """Holds the newest version of a value."""

    __slots__ = ("_pick_value", "lines", "value")

    def __init__(self, value: T, pick_value: Callable[[Event], T | None]) -> None:
        self.value = value
        self._pick_value = pick_value
        self.lines: list[bytes] | None = None
        """Lines of newer versions that were not parsed yet; None while ``value`` is the newest version."""

    def put(self, value: T) -> None:
        """Replace the value."""
        self.value = value
        self.lines = None

    def put_line(self, line: bytes) -> None:
        """Replace the value by a line that is parsed later."""
        if self.lines is None:
            self.lines = [line]
        else:
            self.lines.append(line)

    @property
    def is_empty(self) -> bool:
        """Whether no value is known, parsed or not."""
        return self.value is None and self.lines is None

    def newest_value(self, report: Report) -> T:
        """Return the newest readable version."""
        if self.lines is not None:
            lines, self.lines = self.lines, None
            for line in reversed(lines):
                event = event_of(line, report)
                value = None if event is None else self._pick_value(event)
                if value is not None:
                    self.value = value
                    break
        return self.value


class PartSlot:
    """Holds one part: its last whole version, and the deltas that arrived since."""

    __slots__ = ("_base_part", "_deltas", "_lines", "kind")

    def __init__(self) -> None:
        self.kind = ""
        """The type of the newest version, known without parsing it."""
        self._base_part: Part | None = None
        # Created when needed: a long session has tens of thousands of parts.
        self._lines: list[bytes] | None = None
        self._deltas: dict[str, list[str]] | None = None

    def put(self, part: Part) -> None:
        """Replace the part and drop earlier deltas, which the new version includes."""
        self.kind = part.type
        self._base_part = part
        self._lines = self._deltas = None

    def put_line(self, kind: str, line: bytes) -> None:
        """Replace the part by a line that is parsed later."""
        self.kind = kind
        if self._lines is None:
            self._lines = [line]
        else:
            self._lines.append(line)

    def add(self, field: str, text: str, report: Report) -> None:
        """Append text to a field."""
        if self._lines is not None:
            self._parse_lines(self._lines, report)
        self._add(field, text)

    def add_line(self, line: bytes) -> None:
        """Append a delta's line that is parsed later."""
        if self._lines is None:
            self._lines = []
        self._lines.append(line)

    def may_hold(self, needle: bytes) -> bool:
        """Return whether the part may contain the bytes; exact only for unparsed lines."""
        return self._lines is None or any(needle in line for line in self._lines)

    def current_part(self, report: Report) -> Part | None:
        """Return the part as it is now; None when no readable version is known."""
        if self._lines is not None:
            self._parse_lines(self._lines, report)
        if self._base_part is not None and self._deltas is not None:
            for field, texts in self._deltas.items():
                part = _append_text(self._base_part, field.split("."), "".join(texts))
                self._base_part = cast("Part", part)
            self._deltas = None
        return self._base_part

    def _add(self, field: str, text: str) -> None:
        if self._deltas is None:
            self._deltas = {}
        self._deltas.setdefault(field, []).append(text)

    def _parse_lines(self, lines: list[bytes], report: Report) -> None:
        """Use the newest readable version, then the deltas that came after it."""
        self._lines = None
        deltas: list[PartDelta] = []
        for line in reversed(lines):
            event = event_of(line, report)
            if isinstance(event, PartUpdated):
                self.put(event.part)
                break
            if isinstance(event, PartDelta):
                deltas.append(event)
        for delta in reversed(deltas):
            self._add(delta.field, delta.delta)


def _append_text(value: Any, path: list[str], text: str) -> Any:
    """Return a part, or an object in it, with text appended to the string at the path.

    Every step but the last must lead to an object, and the last to a string or to None;
    otherwise the same value is returned.
    """
    name, inner_path = path[0], path[1:]
    inner_value = value.get(name) if isinstance(value, dict) else getattr(value, name, None)
    if inner_path:
        if not isinstance(inner_value, BaseModel | dict):
            return value
        changed_value = _append_text(inner_value, inner_path, text)
        if changed_value is inner_value:
            return value
    elif inner_value is None or isinstance(inner_value, str):
        changed_value = (inner_value or "") + text
    else:
        return value
    if isinstance(value, BaseModel):
        return value.model_copy(update={name: changed_value})
    return {**value, name: changed_value}


def _pick_info(event: Event) -> MessageInfo | None:
    return event.info if isinstance(event, MessageUpdated) else None


class MessageSlot:
    """Holds one message: its info, and its parts in the order in which they first appeared."""

    __slots__ = ("_info", "_parts", "block", "built_message", "first_seq", "id", "order")

    def __init__(self, identifier: str, first_seq: int, order: int) -> None:
        self.id = identifier
        self.first_seq = first_seq
        """The sequence number of the record in which the message first appeared."""
        self.order = order
        """Rises with each message that appears."""
        self.block: LineBlock | None = None
        """Its lines, until they are assigned to its info and parts."""
        self.built_message: Message | None = None
        """The message as it was last read; None after a change."""
        self._info: LatestValue[MessageInfo | None] | None = None
        self._parts: dict[str, PartSlot] | None = None
        # Both are created when needed: of a long session that is opened few messages are read.

    @property
    def info(self) -> LatestValue[MessageInfo | None]:
        """The holder of its info."""
        if self.block is not None:
            self.block.assign_lines()
        if self._info is None:
            self._info = LatestValue(None, _pick_info)
        return self._info

    @property
    def parts(self) -> dict[str, PartSlot]:
        """The holders of its parts, by id."""
        if self.block is not None:
            self.block.assign_lines()
        if self._parts is None:
            self._parts = {}
        return self._parts

    @property
    def has_info(self) -> bool:
        """Whether its info is known, parsed or not."""
        return self.block is not None or not (self._info is None or self._info.is_empty)

    def assign_line(self, line: bytes, head_match: Head) -> None:
        """Assign one of its lines to its info or to a part."""
        if head_match.lastindex == INFO:
            self.info.put_line(line)
            return
        parts = self.parts
        part_id = head_match[2 if head_match.lastindex == PART else 6].decode()
        part = parts.get(part_id)
        if head_match.lastindex == DELTA:
            if part is not None:
                part.add_line(line)
            return
        if part is None:
            part = parts[part_id] = PartSlot()
        part.put_line(head_match[4].decode(), line)

    def current_message(self, report: Report) -> Message | None:
        """Return the message as it is now; None while it has no info."""
        if self.built_message is None:
            info = self.info.newest_value(report)
            if info is None:
                return None
            if info.id != self.id:  # its line has two ids, and the first chose the slot
                info = info.model_copy(update={"id": self.id})
            parts = ((name, slot.current_part(report)) for name, slot in self.parts.items())
            self.built_message = Message(
                info=info, parts=tuple(part for name, part in parts if part and part.id == name)
            )
        return self.built_message


class MessageList(RecordNumbering):
    """Holds the messages of a session while records are applied."""

    def __init__(self) -> None:
        super().__init__()
        self.unreadable_records: list[tuple[int | None, str]] = []
        """Records that were skipped: sequence number, if known, and the problem."""
        self.older_created: int | None = None
        """The newest creation time, in milliseconds since 1970, among the messages not loaded from the log; None when all are loaded."""
        self.older_count = 0
        """Number of messages before the live window."""
        self._slots_by_id: dict[str, MessageSlot] = {}
        self._changed_ids: set[str] = set()
        self._new_ids: list[str] = []
        """Messages that are not in the list yet, in the order in which they appeared."""
        self._is_reordered = True
        self._message_list: list[Message] = []
        self._index_by_id: dict[str, int] = {}
        self._built_messages: Messages | None = None
        self._ids_by_part_type: dict[str, set[str]] = {kind: set() for kind in INDEXED_PART_TYPES}
        """Messages that held a part of an indexed type, and may still hold it."""
        self._appeared_count = 0
        self._opened_index: MessageIndex | None = None
        self._settled_ids: set[str] = set()
        """Messages of the index without unfinished work, which no record changed since."""
        self._spending: Spent | None = None
        """Spending reported by the answers of the index; None once a record changed one of them."""

    # Reading

    @property
    def is_partial(self) -> bool:
        """Whether only a live window is loaded, so that earlier messages are in the log alone."""
        return self.older_created is not None

    def messages(self) -> Messages:
        """Return the messages in the order in which they first appeared.

        Cheap to call often: only messages that changed since the last call are rebuilt.
        """
        if self._built_messages is None:
            self._append_new()
            if self._is_reordered or not self._changed_ids <= self._index_by_id.keys():
                self._rebuild()
            else:
                for message_id in self._changed_ids:
                    message = self._slots_by_id[message_id].current_message(self._report)
                    if message is not None:
                        self._message_list[self._index_by_id[message_id]] = message
            self._changed_ids.clear()
            self._built_messages = tuple(self._message_list)
        return self._built_messages

    def _append_new(self) -> None:
        """Append the new messages to the list; a message without info is inserted later by a rebuild."""
        if not self._is_reordered:
            for message_id in self._new_ids:
                message = self._slots_by_id[message_id].current_message(self._report)
                if message is not None:
                    self._index_by_id[message_id] = len(self._message_list)
                    self._message_list.append(message)
        self._new_ids.clear()

    @collection_paused()
    def _rebuild(self) -> None:
        self._message_list = list(self.read_slots(self._slots_by_id.values()))
        self._index_by_id = {message.id: index for index, message in enumerate(self._message_list)}
        self._is_reordered = False

    def message(self, message_id: str) -> Message | None:
        """Return one message, or None."""
        slot = self._slots_by_id.get(message_id)
        return None if slot is None else slot.current_message(self._report)

    def part(self, message_id: str, part_id: str) -> Part | None:
        """Return one part, or None; also while its message has no info yet."""
        part = self._part(message_id, part_id)[1]
        return None if part is None else part.current_part(self._report)

    def message_slots(self) -> tuple[MessageSlot, ...]:
        """Return the slots of the messages in order, without parsing them."""
        return tuple(slot for slot in self._slots_by_id.values() if slot.has_info)

    def read_slots(self, slots: Iterable[MessageSlot]) -> Iterator[Message]:
        """Yield the messages of slots; one without info is left out."""
        messages = (slot.current_message(self._report) for slot in slots)
        return (message for message in messages if message is not None)

    def newest_message(self) -> Message | None:
        """Return the newest message, or None; no other is read."""
        return next(self.read_slots(reversed(self._slots_by_id.values())), None)

    def page(self, count: int, before_id: str = "") -> Messages | None:
        """Return ``count`` messages before ``before_id``, or the newest, in order, without reading others.

        Messages from before the live window do not count, since some between them are missing. None where messages
        are needed that only the log has.
        """
        message_ids = reversed(self._slots_by_id)
        if before_id:
            if self.message(before_id) is None:
                return None if self.is_partial else ()
            next(message_id for message_id in message_ids if message_id == before_id)
        newest_first: list[Message] = []
        for message_id in message_ids:
            slot = self._slots_by_id[message_id]
            if len(newest_first) >= count or slot.first_seq == RESTORED_SEQ:
                break
            message = slot.current_message(self._report)
            if message is not None:
                newest_first.append(message)
        is_incomplete = self.is_partial and len(newest_first) < count
        return None if is_incomplete else tuple(reversed(newest_first))

    def slots_with_type(self, kind: str) -> tuple[MessageSlot, ...]:
        """Return the slots of the messages that hold a part of one of the types ``INDEXED_PART_TYPES``, in order."""
        candidates = (
            self._slots_by_id.get(message_id) for message_id in self._ids_by_part_type[kind]
        )
        slots = [
            slot
            for slot in candidates
            if slot is not None
            and slot.has_info
            and any(part.kind == kind for part in slot.parts.values())
        ]
        return tuple(sorted(slots, key=attrgetter("order")))

    def messages_with_part(self, kind: str) -> Messages:
        """Return the messages that hold a part of one of the types ``INDEXED_PART_TYPES``, in order; no other is read."""
        return tuple(self.read_slots(self.slots_with_type(kind)))

    def unsettled_messages(self) -> Messages:
        """Return the messages that may have unfinished work, in order: all but those that an index lists as settled."""
        if not self._settled_ids:
            return self.messages()
        slots = [
            slot
            for message_id, slot in self._slots_by_id.items()
            if message_id not in self._settled_ids
        ]
        return tuple(self.read_slots(slots))

    def reported_spending(self) -> tuple[Spent, Sequence[MessageInfo]]:
        """Return the spending recorded in the index, and the infos of the messages that are not in it."""
        index = self._opened_index
        indexed_ids = index.ids if index is not None and self._spending is not None else ()
        counted_ids = frozenset(indexed_ids)
        slots = [
            slot for message_id, slot in self._slots_by_id.items() if message_id not in counted_ids
        ]
        infos = (slot.info.newest_value(self._report) for slot in slots)
        return self._spending or Spent(), [info for info in infos if info is not None]

    @property
    def index(self) -> MessageIndex | None:
        """The index with which the messages were opened; None without one, and where they were narrowed since."""
        return self._opened_index

    def open_with(self, index: MessageIndex, content: bytes, window_seq: int) -> bool:
        """Begin with the messages of an index, whose lines are parsed when needed; False where it does not match."""
        if not index.fits(content) or not self._slots_by_id.keys().isdisjoint(index.ids):
            return False
        for first, end, end_byte in index.blocks():
            ids = index.ids[first:end]
            start = index.starts[first]
            block = LineBlock(content, start, end_byte, ids, window_seq, self._assign_block)
            for message_id, seq in zip(ids, index.seqs[first:end], strict=True):
                self._new_slot(message_id, seq).block = block
        self._opened_index, self._spending = index, index.spent
        self._settled_ids = set(index.ids).difference(index.unsettled)
        for kind, ids_with_type in self._ids_by_part_type.items():
            possible_ids = index.ids if b'"type":"%s"' % kind.encode() in content else ()
            ids_with_type.update(index.holders.get(kind, possible_ids))
        self._is_reordered, self._built_messages = True, None
        return True

    def _assign_block(self, block: LineBlock) -> None:
        """Assign the lines of a block to their messages, except to messages that were removed meanwhile."""
        slots: dict[str, MessageSlot] = {}
        for message_id in block.ids:
            slot = self._slots_by_id.get(message_id)
            if slot is not None and slot.block is block:
                slot.block, slots[message_id] = None, slot
        for message_id, line, head_match in block.message_lines():
            if message_id in slots:
                slots[message_id].assign_line(line, head_match)

    def keep_message(self, message: Message) -> None:
        """Add a whole message from before the live window, such as a pinned one."""
        self.on_message(MessageUpdated(info=message.info), RESTORED_SEQ)
        for part in message.parts:
            self.on_part(PartUpdated(part=part), RESTORED_SEQ)

    def forget_messages(self, message_ids: set[str]) -> None:
        """Remove messages that are before the live window, without a record."""
        for message_id in message_ids:
            self._remove(message_id)
        if message_ids:
            self._opened_index = self._spending = None

    # Events

    def apply(self, record: Record) -> None:
        """Apply one record; a record that was applied before changes nothing."""
        if record.seq == self.seq + 1:
            self.seq = record.seq
        elif not self.note_if_new(record.seq):
            return
        self._apply(record)

    def _apply(self, record: Record) -> None:
        event, seq = record.event, record.seq
        match event:
            case PartDelta():
                self.on_delta(event)
            case PartUpdated():
                self.on_part(event, seq)
            case PartRemoved():
                self.on_part_removed(event)
            case MessageUpdated():
                self.on_message(event, seq)
            case MessageRemoved():
                self._remove(event.message_id)
            case _:
                self._apply_other(event)

    def _apply_other(self, event: ContextEvent | WaitingEvent | SessionEvent) -> None:
        """Apply a record that concerns no message."""

    def on_message(self, event: MessageUpdated, seq: int) -> None:
        """Apply a message's new info."""
        slot = self._slot_for(event.info.id, seq)
        slot.info.put(event.info)
        self._discard_spending(slot)
        self._mark_changed(slot)

    def on_part(self, event: PartUpdated, seq: int) -> None:
        """Apply a whole part."""
        slot = self._slot_for(event.part.message_id, seq)
        part = slot.parts.get(event.part.id)
        if part is None:
            part = slot.parts[event.part.id] = PartSlot()
        part.put(event.part)
        if event.part.type in INDEXED_PART_TYPES:
            self._ids_by_part_type[event.part.type].add(slot.id)
        self._mark_changed(slot)

    def on_part_removed(self, event: PartRemoved) -> None:
        """Remove a part."""
        slot, part = self._part(event.message_id, event.part_id)
        if slot is not None and part is not None:
            del slot.parts[event.part_id]
            self._mark_changed(slot)

    def on_delta(self, event: PartDelta) -> None:
        """Append a delta to its part."""
        slot, part = self._part(event.message_id, event.part_id)
        if slot is not None and part is not None:
            part.add(event.field, event.delta, self._report)
            self._mark_changed(slot)

    # Lines whose head names message and part; without shared helpers for speed,
    # since a long session has a hundred thousand of them

    def info_line(self, line: bytes, head_match: Head) -> None:
        """Apply the line of a message's info."""
        message_id = head_match[7].decode()
        slot = self._slots_by_id.get(message_id) or self._slot_for(message_id, int(head_match[1]))
        slot.info.put_line(line)
        self._discard_spending(slot)
        self._mark_changed(slot)

    def part_line(self, line: bytes, head_match: Head) -> None:
        """Apply the line of a whole part."""
        part_bytes, message_bytes, type_bytes = head_match.group(2, 3, 4)
        message_id, part_id = message_bytes.decode(), part_bytes.decode()
        slot = self._slots_by_id.get(message_id) or self._slot_for(message_id, int(head_match[1]))
        part = slot.parts.get(part_id)
        if part is None:
            part = slot.parts[part_id] = PartSlot()
        part_type = type_bytes.decode()
        part.put_line(part_type, line)
        if part_type in INDEXED_PART_TYPES:
            self._ids_by_part_type[part_type].add(message_id)
        slot.built_message = self._built_messages = None
        if self._settled_ids:
            self._settled_ids.discard(message_id)
        if not self._is_reordered:
            self._changed_ids.add(message_id)

    def delta_line(self, line: bytes, head_match: Head) -> None:
        """Apply the line of a delta."""
        slot = self._slots_by_id.get(head_match[5].decode())
        part = None if slot is None else slot.parts.get(head_match[6].decode())
        if slot is not None and part is not None:
            part.add_line(line)
            self._mark_changed(slot)

    def _report(self, line: bytes, problem: str) -> None:
        self.unreadable_records.append((seq_of(line), problem))

    # Slots

    def _slot_for(self, message_id: str, seq: int) -> MessageSlot:
        slot = self._slots_by_id.get(message_id)
        if slot is None:
            slot = self._new_slot(message_id, seq)
            self._new_ids.append(message_id)
        return slot

    def _new_slot(self, message_id: str, seq: int) -> MessageSlot:
        self._appeared_count += 1
        slot = self._slots_by_id[message_id] = MessageSlot(message_id, seq, self._appeared_count)
        return slot

    def _part(self, message_id: str, part_id: str) -> tuple[MessageSlot | None, PartSlot | None]:
        slot = self._slots_by_id.get(message_id)
        return slot, None if slot is None else slot.parts.get(part_id)

    def _remove(self, message_id: str) -> None:
        slot = self._slots_by_id.pop(message_id, None)
        if slot is not None:
            self._discard_spending(slot)
            self._settled_ids.discard(message_id)
            self._changed_ids.discard(message_id)
            self._is_reordered = True
            self._built_messages = None

    def _discard_spending(self, slot: MessageSlot) -> None:
        """Discard the spending of the index where one of its messages changed or was removed."""
        if self._opened_index is not None and slot.first_seq <= self._opened_index.seqs[-1]:
            self._spending = None

    def _mark_changed(self, slot: MessageSlot) -> None:
        slot.built_message = None
        self._built_messages = None
        self._settled_ids.discard(slot.id)
        if not self._is_reordered:
            self._changed_ids.add(slot.id)
