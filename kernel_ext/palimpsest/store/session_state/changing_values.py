"""The mutable values that a session's state is made of: a newest value, a part, a message.

Values come typed from a running engine, or as raw lines from the log; lines are parsed when
the value is read. Deltas are kept as lists and joined on reading, so that the cost of a long answer
is linear, not quadratic. A line that turns out to be unreadable counts as not written: the version
before it is used.
"""

from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

from pydantic import BaseModel

from palimpsest.store.format.record_lines import UnreadableLine, event_in
from palimpsest.transcript.messages import Message, MessageInfo
from palimpsest.transcript.parts import Part
from palimpsest.transcript.session_record.events import (
    Event,
    MessageUpdated,
    PartDelta,
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
