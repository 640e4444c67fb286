"""Index the messages of a live window by the bytes of their lines, so that opening a session reads none of them.

A checkpoint may hold the index of the lines from its window on. It is valid only where these bytes have the checksum
in it: then every message is a range of bytes, and its lines are assigned to its parts when it is first read or changed.
Where the bytes differ, or lines of two messages are mixed, the lines are assigned one by one, as without an index.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from zlib import crc32

from palimpsest.store.log_lines import DELTA, INFO, OTHER, PART, Head, head_of
from palimpsest.transcript.messages import Message
from palimpsest.transcript.session_record.sessions import Spent
from palimpsest.transcript.session_record.spending import recorded_spending
from palimpsest.transcript.values import Value

INDEXED_MESSAGES = 500
"""Minimum messages of a window that is indexed; assigning the lines of this many takes 10 ms."""

INDEXED_PART_TYPES = ("compaction", "notebook", "subtask")
"""Types of parts that few messages hold, and that are searched for in all messages."""

_MESSAGE_GROUP = {PART: 3, DELTA: 5, INFO: 7}
"""The group of a line's head that names the message."""


class MessageIndex(Value):
    """The positions of each message's lines, in the bytes from the beginning of the window on."""

    size: int
    """Number of indexed bytes, from ``window_offset`` of the checkpoint on."""
    crc: int
    """The CRC-32 of these bytes."""
    ids: tuple[str, ...]
    """The messages, in the order in which they appeared."""
    seqs: tuple[int, ...]
    """The number of the record in which each message appeared."""
    starts: tuple[int, ...]
    """The first byte of each message's lines; messages whose lines are mixed have the same first byte."""
    unsettled: tuple[str, ...] = ()
    """Messages with unfinished work."""
    holders: dict[str, tuple[str, ...]] = {}
    """Messages that hold parts of the types in ``INDEXED_PART_TYPES``, by type; older versions indexed fewer types."""
    spent: Spent | None = None
    """Spending reported by the answers among them; None where it was not counted."""

    @property
    def is_whole(self) -> bool:
        """Whether it has one position for each message, in order."""
        counts = {len(self.ids), len(self.seqs), len(self.starts), len(set(self.ids))}
        places = [0, *self.starts, self.size]
        return len(counts) == 1 and len(self.ids) > 0 and places == sorted(places)

    def fits(self, content: bytes) -> bool:
        """Return whether the index was made from these bytes and is complete."""
        return self.is_whole and len(content) == self.size and crc32(content) == self.crc

    def part(self, only: slice, end: int | None = None) -> "tuple[int, MessageIndex]":
        """Return where the lines of some messages begin, and the index of these lines, up to a byte.

        Messages whose lines are mixed with theirs are included; the spending of their answers is not counted.
        """
        first, last, _ = only.indices(len(self.ids))
        starts = [*self.starts, self.size]
        if end is not None:
            last = bisect_left(starts, starts[bisect_right(starts, max(0, end)) - 1])
        while first > 0 and starts[first - 1] == starts[first]:
            first -= 1
        while last < len(self.ids) and first < last and starts[last - 1] == starts[last]:
            last += 1
        update = {
            "size": starts[last] - starts[first],
            "ids": self.ids[first:last],
            "seqs": self.seqs[first:last],
            "starts": tuple(start - starts[first] for start in starts[first:last]),
            "spent": None,
        }
        part_index = self.model_copy(update=update)
        return starts[first], part_index

    def blocks(self) -> list[tuple[int, int, int]]:
        """Return for each block of lines: index of its first message, index after its last message, and its end byte."""
        block_firsts = [
            at for at, start in enumerate(self.starts) if not at or start != self.starts[at - 1]
        ]
        ends = [*block_firsts[1:], len(self.ids)]
        return [
            (first, end, self.starts[end] if end < len(self.ids) else self.size)
            for first, end in zip(block_firsts, ends, strict=True)
        ]


def message_index(
    content: bytes,
    window_seq: int,
    messages: Mapping[str, Message],
    is_settled: Callable[[Message], bool],
    *,
    least: int = INDEXED_MESSAGES,
) -> MessageIndex | None:
    """Return the index of a window's lines; None where it would help little, or messages are missing.

    ``content`` are the bytes from the window's beginning on, and ``messages`` the messages in them.
    """
    index = line_index(content, window_seq, least=least)
    known_messages = (
        {name: messages[name] for name in index.ids if name in messages} if index else {}
    )
    if index is None or len(known_messages) != len(index.ids):
        return None
    update = {
        "unsettled": tuple(
            name for name, message in known_messages.items() if not is_settled(message)
        ),
        "holders": {kind: tuple(_holders(known_messages, kind)) for kind in INDEXED_PART_TYPES},
        "spent": recorded_spending(message.info for message in known_messages.values()),
    }
    return index.model_copy(update=update)


def line_index(
    content: bytes, window_seq: int = 0, *, least: int = INDEXED_MESSAGES
) -> MessageIndex | None:
    """Return the index of lines without reading their messages, each of which then counts as unsettled.

    Lines from the first one on that has another format, or removes something, are not indexed. Returns None for fewer
    messages than ``least``.
    """
    places = _Places()
    for line in content.split(b"\n"):
        if not places.take(line, window_seq):
            break
    if places.nameless or len(places.first) < least:
        return None
    return MessageIndex(
        size=places.offset,
        crc=crc32(content[: places.offset]),
        ids=tuple(places.first),
        seqs=tuple(seq for seq, _ in places.first.values()),
        starts=tuple(places.starts()),
        unsettled=tuple(places.first),
    )


def _holders(messages: Mapping[str, Message], kind: str) -> Iterator[str]:
    for name, message in messages.items():
        if any(part.type == kind for part in message.parts):
            yield name


class _Places:
    """Records where lines of messages begin and end, while the lines are read in order."""

    def __init__(self) -> None:
        self.offset = 0
        """The first byte that was not recorded."""
        self.first: dict[str, tuple[int, int]] = {}
        """Number and offset of the first line of each message."""
        self._last: dict[str, int] = {}
        self.nameless: set[str] = set()
        """Messages with parts but no info."""
        self._seq = 0

    def take(self, line: bytes, window_seq: int) -> bool:
        """Record a line; False where it cannot be indexed."""
        head = head_of(line)
        if head is None or int(head[1]) <= self._seq:
            return False
        self._seq = int(head[1])
        kind = head.lastindex or 0
        if kind == OTHER and head[OTHER].startswith(b"message."):
            return False
        if kind in _MESSAGE_GROUP and self._seq >= window_seq:
            self._note_message(head[_MESSAGE_GROUP[kind]].decode(), kind)
            self._last[head[_MESSAGE_GROUP[kind]].decode()] = self.offset
        self.offset += len(line) + 1
        return True

    def _note_message(self, name: str, kind: int) -> None:
        if name not in self.first:
            self.first[name] = self._seq, self.offset
            self.nameless.add(name)
        if kind == INFO:
            self.nameless.discard(name)

    def starts(self) -> Iterator[int]:
        """Yield for each message the beginning of the block that holds all of its lines."""
        block, end = 0, -1
        for name, (_, offset) in self.first.items():
            if offset > end:
                block = offset
            end = max(end, self._last[name])
            yield block


@dataclass(slots=True, eq=False, repr=False)
class LineBlock:
    """Lines of some messages that were not assigned to these messages yet."""

    _content: bytes  # of all blocks: a slice of each would copy the log
    _start: int
    _end: int
    ids: tuple[str, ...]
    """The messages that the lines are about."""
    _window_seq: int
    _place: Callable[["LineBlock"], None]

    def place(self) -> None:
        """Assign the lines to their messages."""
        self._place(self)

    def lines(self) -> Iterator[tuple[str, bytes, Head]]:
        """Yield the lines about messages, oldest first: the message's id, the line and its head."""
        for line in self._content[self._start : self._end].split(b"\n"):
            head = head_of(line)
            group = None if head is None else _MESSAGE_GROUP.get(head.lastindex or 0)
            if head is not None and group is not None and int(head[1]) >= self._window_seq:
                yield head[group].decode(), line, head
