"""Apply the records of a session to its changing values and to the ordered list of its messages.

This is the part of the state that grows with the session: messages in the order in which they first
appeared, each rebuilt only when it changed. A message is included once its info is known. Values come typed from a
running engine, or as raw lines from the log; lines are parsed when the value is read. Deltas are kept as
lists and joined on reading, so that the cost of a long answer is linear, not quadratic. A line that turns out
to be unreadable counts as not written: the version before it is used.
"""

from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

from pydantic import BaseModel

from palimpsest.store.log_lines import Head, UnreadableLine, event_in
from palimpsest.transcript.messages import Message, MessageInfo, Messages
from palimpsest.transcript.parts import Part
from palimpsest.transcript.session_record.events import (
    Event,
    MessageRemoved,
    MessageUpdated,
    PartDelta,
    PartRemoved,
    PartUpdated,
)

Report = Callable[[bytes, str], None]
T = TypeVar("T")


def event_of(line: bytes, report: Report) -> Event | None:
    """Parse a line's event; None when it is unknown or unreadable, which is reported."""
    try:
        return event_in(line)
    except UnreadableLine as problem:
        report(line, str(problem))
        return None


class LatestValue(Generic[T]):
    """Holds a value of which only the newest version counts."""

    __slots__ = ("_lines", "_pick", "_value")

    def __init__(self, value: T, pick: Callable[[Event], T | None]) -> None:
        self._value = value
        self._pick = pick
        self._lines: list[bytes] | None = None

    def put(self, value: T) -> None:
        """Replace the value."""
        self._value = value
        self._lines = None

    def put_line(self, line: bytes) -> None:
        """Replace the value by a line that is parsed later."""
        if self._lines is None:
            self._lines = [line]
        else:
            self._lines.append(line)

    @property
    def empty(self) -> bool:
        """True while no value is known, parsed or not."""
        return self._value is None and self._lines is None

    def read(self, report: Report) -> T:
        """Return the newest readable version."""
        if self._lines is not None:
            lines, self._lines = self._lines, None
            for line in reversed(lines):
                event = event_of(line, report)
                value = None if event is None else self._pick(event)
                if value is not None:
                    self._value = value
                    break
        return self._value


class PartSlot:
    """Holds one part: its last whole version, and the deltas that arrived since."""

    __slots__ = ("_base", "_lines", "_words", "kind")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        """The type of the newest version, known without parsing it."""
        self._base: Part | None = None
        # Created when needed: a long session has tens of thousands of parts.
        self._lines: list[bytes] | None = None
        self._words: dict[str, list[str]] | None = None

    def put(self, part: Part) -> None:
        """Replace the part and drop earlier deltas, which the new version includes."""
        self.kind = part.type
        self._base = part
        self._lines = self._words = None

    def put_line(self, kind: str, line: bytes) -> None:
        """Replace the part by a line that is parsed later."""
        self.kind = kind
        if self._lines is None:
            self._lines = [line]
        else:
            self._lines.append(line)

    def add(self, field: str, words: str, report: Report) -> None:
        """Append text to a field."""
        if self._lines is not None:
            self._parse(self._lines, report)
        self._add(field, words)

    def add_line(self, line: bytes) -> None:
        """Append a delta's line that is parsed later."""
        if self._lines is None:
            self._lines = []
        self._lines.append(line)

    def may_hold(self, needle: bytes) -> bool:
        """Return whether the part may contain the bytes; exact only for unparsed lines."""
        return self._lines is None or any(needle in line for line in self._lines)

    def read(self, report: Report) -> Part | None:
        """Return the part as it is now; None when no readable version is known."""
        if self._lines is not None:
            self._parse(self._lines, report)
        if self._base is not None and self._words is not None:
            for field, words in self._words.items():
                self._base = extended(self._base, field.split("."), "".join(words))
            self._words = None
        return self._base

    def _add(self, field: str, words: str) -> None:
        if self._words is None:
            self._words = {}
        self._words.setdefault(field, []).append(words)

    def _parse(self, lines: list[bytes], report: Report) -> None:
        """Use the newest readable version, then the deltas that came after it."""
        self._lines = None
        words: list[PartDelta] = []
        for line in reversed(lines):
            event = event_of(line, report)
            if isinstance(event, PartUpdated):
                self.put(event.part)
                break
            if isinstance(event, PartDelta):
                words.append(event)
        for delta in reversed(words):
            self._add(delta.field, delta.delta)


def extended(value: Part, path: list[str], words: str) -> Part:
    """Return the part with text appended to the string at the path.

    Every step but the last must lead to an object, and the last to a string or to None;
    otherwise the part is returned unchanged.
    """
    return cast("Part", _extended(value, path, words))


def _extended(value: Any, path: list[str], words: str) -> Any:
    name, rest = path[0], path[1:]
    inner = value.get(name) if isinstance(value, dict) else getattr(value, name, None)
    if rest:
        if not isinstance(inner, BaseModel | dict):
            return value
        changed = _extended(inner, rest, words)
        if changed is inner:
            return value
    elif inner is None or isinstance(inner, str):
        changed = (inner or "") + words
    else:
        return value
    if isinstance(value, BaseModel):
        return value.model_copy(update={name: changed})
    return {**value, name: changed}


def _pick_info(event: Event) -> MessageInfo | None:
    return event.info if isinstance(event, MessageUpdated) else None


class MessageSlot:
    """Holds one message: its info, and its parts in the order in which they first appeared."""

    __slots__ = ("built", "first_seq", "id", "info", "parts")

    def __init__(self, identifier: str, first_seq: int) -> None:
        self.id = identifier
        self.first_seq = first_seq
        """The sequence number of the record in which the message first appeared."""
        self.info: LatestValue[MessageInfo | None] = LatestValue(None, _pick_info)
        self.parts: dict[str, PartSlot] = {}
        self.built: Message | None = None
        """The message as it was last read; None after a change."""

    def read(self, report: Report) -> Message | None:
        """Return the message as it is now; None while it has no info."""
        if self.built is None:
            info = self.info.read(report)
            if info is None:
                return None
            if info.id != self.id:  # its line has two ids, and the first chose the slot
                info = info.model_copy(update={"id": self.id})
            parts = ((name, slot.read(report)) for name, slot in self.parts.items())
            self.built = Message(
                info=info, parts=tuple(part for name, part in parts if part and part.id == name)
            )
        return self.built


class MessageList:
    """Holds the messages of a session while records are applied."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._slots: dict[str, MessageSlot] = {}
        self._changed: set[str] = set()
        self._appeared: list[str] = []
        """Messages that are not in the list yet, in the order in which they appeared."""
        self._reordered = True
        self._list: list[Message] = []
        self._index: dict[str, int] = {}
        self._value: Messages | None = None

    # Reading

    def value(self) -> Messages:
        """Return the messages; only what changed since the last call is rebuilt."""
        if self._value is None:
            self._append()
            if self._reordered or not self._changed <= self._index.keys():
                self._rebuild()
            else:
                for identifier in self._changed:
                    message = self._slots[identifier].read(self._report)
                    if message is not None:
                        self._list[self._index[identifier]] = message
            self._changed.clear()
            self._value = tuple(self._list)
        return self._value

    def _append(self) -> None:
        """Append the messages that appeared; one without info is inserted later by a rebuild."""
        if not self._reordered:
            for identifier in self._appeared:
                message = self._slots[identifier].read(self._report)
                if message is not None:
                    self._index[identifier] = len(self._list)
                    self._list.append(message)
        self._appeared.clear()

    def _rebuild(self) -> None:
        built = [slot.read(self._report) for slot in self._slots.values()]
        self._list = [message for message in built if message is not None]
        self._index = {message.id: index for index, message in enumerate(self._list)}
        self._reordered = False

    def message(self, message_id: str) -> Message | None:
        """Return one message, or None."""
        slot = self._slots.get(message_id)
        return None if slot is None else slot.read(self._report)

    def part(self, message_id: str, part_id: str) -> Part | None:
        """Return one part, or None; also while its message has no info yet."""
        part = self._part(message_id, part_id)[1]
        return None if part is None else part.read(self._report)

    def slots(self) -> tuple[MessageSlot, ...]:
        """Return the slots of the messages, parsed or not, in order."""
        return tuple(slot for slot in self._slots.values() if not slot.info.empty)

    def put(self, message: Message) -> None:
        """Add a whole message from before the live window, such as a pinned one."""
        self.on_message(MessageUpdated(info=message.info), 0)
        for part in message.parts:
            self.on_part(PartUpdated(part=part), 0)

    def drop(self, message_ids: set[str]) -> None:
        """Remove messages that are before the live window, without a record of it."""
        for identifier in message_ids:
            self._remove(identifier)

    # Events

    def on_message(self, event: MessageUpdated, seq: int) -> None:
        """Apply a message's new info."""
        slot = self._slot(event.info.id, seq)
        slot.info.put(event.info)
        self._touch(slot)

    def on_message_removed(self, event: MessageRemoved, _seq: int) -> None:
        """Remove a message with its parts."""
        self._remove(event.message_id)

    def on_part(self, event: PartUpdated, seq: int) -> None:
        """Apply a whole part."""
        slot = self._slot(event.part.message_id, seq)
        self._part_slot(slot, event.part.id, event.part.type).put(event.part)
        self._touch(slot)

    def on_part_removed(self, event: PartRemoved, _seq: int) -> None:
        """Remove a part."""
        slot, part = self._part(event.message_id, event.part_id)
        if slot is not None and part is not None:
            del slot.parts[event.part_id]
            self._touch(slot)

    def on_delta(self, event: PartDelta, _seq: int) -> None:
        """Append a delta to its part."""
        slot, part = self._part(event.message_id, event.part_id)
        if slot is not None and part is not None:
            part.add(event.field, event.delta, self._report)
            self._touch(slot)

    # Lines in our own format, whose message and part the head names; without shared helpers for speed,
    # since a long session has a hundred thousand of them

    def info_line(self, line: bytes, head: Head) -> None:
        """Apply the line of a message's info."""
        message_id = head[7].decode()
        slot = self._slots.get(message_id) or self._slot(message_id, int(head[1]))
        slot.info.put_line(line)
        self._touch(slot)

    def part_line(self, line: bytes, head: Head) -> None:
        """Apply the line of a whole part."""
        part_name, message_name, kind = head.group(2, 3, 4)
        message_id, part_id = message_name.decode(), part_name.decode()
        slot = self._slots.get(message_id) or self._slot(message_id, int(head[1]))
        part = slot.parts.get(part_id)
        if part is None:
            part = slot.parts[part_id] = PartSlot("")
        part.put_line(kind.decode(), line)
        slot.built = self._value = None
        if not self._reordered:
            self._changed.add(message_id)

    def delta_line(self, line: bytes, head: Head) -> None:
        """Apply the line of a delta."""
        slot = self._slots.get(head[5].decode())
        part = None if slot is None else slot.parts.get(head[6].decode())
        if slot is not None and part is not None:
            part.add_line(line)
            self._touch(slot)

    # Slots

    def _slot(self, message_id: str, seq: int) -> MessageSlot:
        slot = self._slots.get(message_id)
        if slot is None:
            slot = self._slots[message_id] = MessageSlot(message_id, seq)
            self._appeared.append(message_id)
        return slot

    def _part(self, message_id: str, part_id: str) -> tuple[MessageSlot | None, PartSlot | None]:
        slot = self._slots.get(message_id)
        return slot, None if slot is None else slot.parts.get(part_id)

    def _part_slot(self, slot: MessageSlot, part_id: str, kind: str) -> PartSlot:
        part = slot.parts.get(part_id)
        if part is None:
            part = slot.parts[part_id] = PartSlot(kind)
        return part

    def _remove(self, message_id: str) -> None:
        if self._slots.pop(message_id, None) is not None:
            self._changed.discard(message_id)
            self._reordered = True
            self._value = None

    def _touch(self, slot: MessageSlot) -> None:
        slot.built = None
        self._value = None
        if not self._reordered:
            self._changed.add(slot.id)
