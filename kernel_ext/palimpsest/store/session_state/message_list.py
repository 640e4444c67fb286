"""Apply the records about messages to the ordered list of a session's messages.

This is the part of the state that grows with the session: messages in the order in which they first
appeared, each rebuilt only when it changed. A message is included once its info is known.
"""

from palimpsest.store.format.record_lines import Head
from palimpsest.store.session_state.changing_values import MessageSlot, PartSlot, Report
from palimpsest.transcript.messages import Message, Messages
from palimpsest.transcript.parts import Part
from palimpsest.transcript.session_record.events import (
    MessageRemoved,
    MessageUpdated,
    PartDelta,
    PartRemoved,
    PartUpdated,
)


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
