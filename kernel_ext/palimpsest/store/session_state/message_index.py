"""Index the messages of a live window by the bytes of their lines, so that opening places no line and reads no message.

A checkpoint may hold the index of the lines from its window on. It counts only where these bytes have the checksum that
it names: then every message begins as a place in them, and its lines are placed when it is first read or changed. Where
the bytes are others, or lines of two messages are not apart, the lines are placed one by one, as without an index.
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
"""A shorter window is not indexed: placing the lines of so many messages takes 10 ms."""

SOUGHT = ("compaction", "notebook", "subtask")
"""Types of parts that few messages hold, and that are looked for in all of them."""

_MESSAGE_GROUP = {PART: 3, DELTA: 5, INFO: 7}
"""The group of a line's head that names the message."""


class MessageIndex(Value):
    """Where the lines of each message are, in the bytes that follow the beginning of the window."""

    size: int
    """Bytes that are indexed, from ``window_offset`` of the checkpoint on."""
    crc: int
    """The CRC-32 of these bytes."""
    ids: tuple[str, ...]
    """The messages, in the order in which they appeared."""
    seqs: tuple[int, ...]
    """The number of the record in which each message appeared."""
    starts: tuple[int, ...]
    """The first byte of each message's lines; messages whose lines are mixed have the same one."""
    unsettled: tuple[str, ...] = ()
    """Messages in which something had not ended."""
    holders: dict[str, tuple[str, ...]] = {}
    """Messages that hold parts of the types in ``SOUGHT``, by type; a type that an older version did not seek is missing."""
    spent: Spent | None = None
    """What the answers among them report to have cost; None where that was not counted."""

    @property
    def is_whole(self) -> bool:
        """Whether each of its messages has its places, in order."""
        counts = {len(self.ids), len(self.seqs), len(self.starts), len(set(self.ids))}
        places = [0, *self.starts, self.size]
        return len(counts) == 1 and len(self.ids) > 0 and places == sorted(places)

    def fits(self, content: bytes) -> bool:
        """Return whether the index was made of these bytes and is whole."""
        return self.is_whole and len(content) == self.size and crc32(content) == self.crc

    def part(self, only: slice, end: int | None = None) -> "tuple[int, MessageIndex]":
        """Return where the lines of some messages begin, up to a byte, and the index of these lines.

        Messages whose lines are mixed with theirs are among them; what the answers cost is not counted.
        """
        first, last, _ = only.indices(len(self.ids))
        starts = [*self.starts, self.size]
        if end is not None:
            last = bisect_left(starts, starts[bisect_right(starts, max(0, end)) - 1])
        while first > 0 and starts[first - 1] == starts[first]:
            first -= 1
        while last < len(self.ids) and first < last and starts[last - 1] == starts[last]:
            last += 1
        found = self.model_copy(
            update={
                "size": starts[last] - starts[first],
                "ids": self.ids[first:last],
                "seqs": self.seqs[first:last],
                "starts": tuple(start - starts[first] for start in starts[first:last]),
                "spent": None,
            }
        )
        return starts[first], found

    def blocks(self) -> list[tuple[int, int, int]]:
        """Return for each block of lines its first message's place, the place after its last one, and its last byte."""
        firsts = [
            at for at, start in enumerate(self.starts) if not at or start != self.starts[at - 1]
        ]
        ends = [*firsts[1:], len(self.ids)]
        return [
            (first, end, self.starts[end] if end < len(self.ids) else self.size)
            for first, end in zip(firsts, ends, strict=True)
        ]


def message_index(
    content: bytes,
    window_seq: int,
    messages: Mapping[str, Message],
    is_settled: Callable[[Message], bool],
    *,
    least: int = INDEXED_MESSAGES,
) -> MessageIndex | None:
    """Return the index of a window's lines; None where there is little to gain, or they say something else.

    ``content`` are the bytes from the window's beginning on, and ``messages`` what they say.
    """
    index = line_index(content, window_seq, least=least)
    known = {name: messages[name] for name in index.ids if name in messages} if index else {}
    if index is None or len(known) != len(index.ids):
        return None
    return index.model_copy(
        update={
            "unsettled": tuple(name for name, message in known.items() if not is_settled(message)),
            "holders": {kind: tuple(_holders(known, kind)) for kind in SOUGHT},
            "spent": recorded_spending(message.info for message in known.values()),
        }
    )


def line_index(
    content: bytes, window_seq: int = 0, *, least: int = INDEXED_MESSAGES
) -> MessageIndex | None:
    """Return the index of lines of which no message was read: something may be open in each.

    What follows the first line that is not in our format, or that takes something away, is not indexed. Fewer messages
    than ``least`` are not.
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
    """Where lines of messages begin and end, while the lines are read in order."""

    def __init__(self) -> None:
        self.offset = 0
        """The first byte that was not taken."""
        self.first: dict[str, tuple[int, int]] = {}
        """Number and offset of the first line of each message."""
        self._last: dict[str, int] = {}
        self.nameless: set[str] = set()
        """Messages of which there are parts and no info."""
        self._seq = 0

    def take(self, line: bytes, window_seq: int) -> bool:
        """Take a line; False where it cannot be indexed."""
        head = head_of(line)
        if head is None or int(head[1]) <= self._seq:
            return False
        self._seq = int(head[1])
        kind = head.lastindex or 0
        if kind == OTHER and head[OTHER].startswith(b"message."):
            return False
        if kind in _MESSAGE_GROUP and self._seq >= window_seq:
            self._note(head[_MESSAGE_GROUP[kind]].decode(), kind)
            self._last[head[_MESSAGE_GROUP[kind]].decode()] = self.offset
        self.offset += len(line) + 1
        return True

    def _note(self, name: str, kind: int) -> None:
        if name not in self.first:
            self.first[name] = self._seq, self.offset
            self.nameless.add(name)
        if kind == INFO:
            self.nameless.discard(name)

    def starts(self) -> Iterator[int]:
        """Yield for each message where the block of lines begins that holds all of its own."""
        block, reached = 0, -1
        for name, (_, offset) in self.first.items():
            if offset > reached:
                block = offset
            reached = max(reached, self._last[name])
            yield block


@dataclass(slots=True, eq=False, repr=False)
class LineBlock:
    """Lines of one or some messages that were not placed yet."""

    _content: bytes  # of all blocks: a slice of each would copy the log
    _start: int
    _end: int
    ids: tuple[str, ...]
    """The messages that the lines are about."""
    _window_seq: int
    _place: Callable[["LineBlock"], None]

    def place(self) -> None:
        """Have the lines placed into their messages, which then wait no more."""
        self._place(self)

    def lines(self) -> Iterator[tuple[str, bytes, Head]]:
        """Yield the lines about messages, oldest first: the message's id, the line and its head."""
        for line in self._content[self._start : self._end].split(b"\n"):
            head = head_of(line)
            group = None if head is None else _MESSAGE_GROUP.get(head.lastindex or 0)
            if head is not None and group is not None and int(head[1]) >= self._window_seq:
                yield head[group].decode(), line, head
