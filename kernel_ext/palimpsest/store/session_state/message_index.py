"""Index the messages of a live window by the bytes of their lines, so that opening a session reads none of them.

A checkpoint may hold the index of the lines from its window on. It is valid only where these bytes have the checksum
in it: then every message is a range of bytes, and its lines are assigned to its parts when it is first read or changed.
Where the bytes differ, or lines of two messages are mixed, the lines are assigned one by one, as without an index.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from zlib import crc32

from palimpsest.store.log_lines import DELTA, INFO, OTHER, PART, Head, head_of
from palimpsest.transcript.session_record.sessions import Spent
from palimpsest.transcript.values import Value

MIN_INDEXED_MESSAGES = 500
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
        offsets = [0, *self.starts, self.size]
        return len(counts) == 1 and len(self.ids) > 0 and offsets == sorted(offsets)

    def fits(self, content: bytes) -> bool:
        """Return whether the index was made from these bytes and is complete."""
        return self.is_whole and len(content) == self.size and crc32(content) == self.crc

    def part(self, message_range: slice, end: int | None = None) -> "tuple[int, MessageIndex]":
        """Return where the lines of some messages begin, and the index of these lines, up to a byte.

        Messages whose lines are mixed with theirs are included; the spending of their answers is not counted.
        """
        first_index, last_index, _ = message_range.indices(len(self.ids))
        starts = [*self.starts, self.size]
        if end is not None:
            last_index = bisect_left(starts, starts[bisect_right(starts, max(0, end)) - 1])
        while first_index > 0 and starts[first_index - 1] == starts[first_index]:
            first_index -= 1
        while (
            last_index < len(self.ids)
            and first_index < last_index
            and starts[last_index - 1] == starts[last_index]
        ):
            last_index += 1
        begin, indices = starts[first_index], slice(first_index, last_index)
        update = {
            "size": starts[last_index] - begin,
            "ids": self.ids[indices],
            "seqs": self.seqs[indices],
            "starts": tuple(start - begin for start in starts[indices]),
            "spent": None,
        }
        return begin, self.model_copy(update=update)

    def blocks(self) -> list[tuple[int, int, int]]:
        """Return for each block of lines: index of its first message, index after its last message, and its end byte."""
        block_firsts = [
            index
            for index, start in enumerate(self.starts)
            if not index or start != self.starts[index - 1]
        ]
        ends = [*block_firsts[1:], len(self.ids)]
        return [
            (first, end, self.starts[end] if end < len(self.ids) else self.size)
            for first, end in zip(block_firsts, ends, strict=True)
        ]


def line_index(
    lines: Iterable[bytes], window_seq: int = 0, *, min_count: int = MIN_INDEXED_MESSAGES
) -> MessageIndex | None:
    """Return the index of lines without reading their messages, which all count as unsettled then.

    Lines from the first one on that has another format, or removes something, are not indexed. Returns None for fewer
    messages than ``min_count``.
    """
    places = LinePlaces(window_seq)
    for line in lines:
        if not places.add_line(line):
            break
    return places.index(min_count)


class LinePlaces:
    """Records where lines of messages begin and end, while the lines are read in order."""

    def __init__(self, window_seq: int = 0) -> None:
        """Messages in lines before the record ``window_seq`` are not recorded."""
        self.offset = 0
        """The first byte that was not recorded."""
        self.other_offsets: list[int] = []
        """Offsets of the lines that concern no message."""
        self.last_record_numbers: tuple[int, ...] = ()
        """The numbers of the last two lines."""
        self._window_seq = window_seq
        self._index_by_id: dict[str, int] = {}
        """The index of each message in the arrays, in the order in which they appeared."""
        self._seqs = array("q")
        self._first_offsets = array("q")
        self._last_offsets = array("q")
        """Numbers and offsets of the first line of each message, and offsets of its last one."""
        self._ids_without_info: set[str] = set()
        """Messages with parts but no info."""
        self._crc = 0
        self._seq = 0

    def add_line(self, line: bytes) -> bool:
        """Record a line; False where it cannot be indexed."""
        head = head_of(line)
        if head is None or int(head[1]) <= self._seq:
            return False
        kind_code = head.lastindex or 0
        if kind_code == OTHER and head[OTHER].startswith(b"message."):
            return False
        self._seq = int(head[1])
        if kind_code == OTHER:
            self.other_offsets.append(self.offset)
        elif kind_code in _MESSAGE_GROUP and self._seq >= self._window_seq:
            self._note_message(head[_MESSAGE_GROUP[kind_code]].decode(), kind_code)
        self.offset += len(line) + 1
        self.last_record_numbers = *self.last_record_numbers[-1:], self._seq
        self._crc = crc32(b"\n", crc32(line, self._crc))
        return True

    def index(self, min_count: int) -> MessageIndex | None:
        """Return the index of the recorded lines; None for fewer messages than ``min_count``, or for one without info."""
        if self._ids_without_info or len(self._index_by_id) < min_count:
            return None
        ids = tuple(self._index_by_id)
        return MessageIndex(
            size=self.offset,
            crc=self._crc,
            ids=ids,
            seqs=tuple(self._seqs),
            starts=tuple(self._block_starts()),
            unsettled=ids,
        )

    def _note_message(self, message_id: str, kind_code: int) -> None:
        index = self._index_by_id.setdefault(message_id, len(self._index_by_id))
        if index == len(self._seqs):
            self._seqs.append(self._seq)
            self._first_offsets.append(self.offset)
            self._last_offsets.append(self.offset)
            self._ids_without_info.add(message_id)
        self._last_offsets[index] = self.offset
        if kind_code == INFO:
            self._ids_without_info.discard(message_id)

    def _block_starts(self) -> Iterator[int]:
        """Yield for each message the beginning of the block that holds all of its lines."""
        block, end = 0, -1
        for first, last in zip(self._first_offsets, self._last_offsets, strict=True):
            if first > end:
                block = first
            end = max(end, last)
            yield block


@dataclass(slots=True, eq=False, repr=False)
class LineBlock:
    """Lines of some messages that were not assigned to these messages yet."""

    _content: bytes  # of all blocks: a slice of each would copy the log
    _start: int
    _end_offset: int
    ids: tuple[str, ...]
    """The messages that the lines are about."""
    _window_seq: int
    _assign_lines: Callable[["LineBlock"], None]

    def assign_lines(self) -> None:
        """Assign the lines to their messages."""
        self._assign_lines(self)

    def message_lines(self) -> Iterator[tuple[str, bytes, Head]]:
        """Yield the lines about messages, oldest first: the message's id, the line and its head."""
        for line in self._content[self._start : self._end_offset].split(b"\n"):
            head = head_of(line)
            group = None if head is None else _MESSAGE_GROUP.get(head.lastindex or 0)
            if head is not None and group is not None and int(head[1]) >= self._window_seq:
                yield head[group].decode(), line, head
