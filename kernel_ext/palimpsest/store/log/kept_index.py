"""Store an index of the lines of all messages of a long session, in a file beside its log.

A page of older messages, and a fork at a message, then read only their own lines. The file is derived, as the session
list is: it is valid only while the log begins with the bytes that it was made from; without a valid index, everything
is read.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, takewhile
from pathlib import Path
from zlib import crc32

from palimpsest.store.disk import open_regular, read_small, write_atomically
from palimpsest.store.log.segments import SegmentRange, line_blocks
from palimpsest.store.log_lines import seq_of
from palimpsest.store.session_state.message_facts import MessageFacts
from palimpsest.store.session_state.message_index import (
    MIN_INDEXED_MESSAGES,
    LinePlaces,
    MessageIndex,
)
from palimpsest.store.session_state.state import State
from palimpsest.transcript.values import Value

INDEX_FILE = "messages.json"
MAX_INDEX_BYTES = 64 << 20
"""Maximum bytes of an index: about a million messages; a larger file was not written by this module."""
MAX_UNINDEXED_BYTES = 1 << 20
"""Maximum bytes of a log after the indexed ones; assigning their lines takes 10 ms. Beyond, the index is rewritten."""
BLOCK_BYTES = 256 << 10
"""Bytes that are read at once for the checksum, into the same memory: new memory costs more than the read."""


class KeptIndex(Value):
    """The index of a session's messages, beside its log."""

    before: int
    """Bytes of the log before the first message."""
    index: MessageIndex
    last: tuple[int, ...]
    """The numbers of the last two records that are indexed."""
    others: tuple[int, ...] = ()
    """Offsets in the log of the lines that concern no message."""


def keep_index(
    folder: Path, ranges: Sequence[SegmentRange], facts: MessageFacts | None = None
) -> None:
    """Write the index of a session's log, where it is long; raises OSError.

    With ``facts`` of all messages it marks those with unfinished work, which forks need to know.
    """
    log = _Log(ranges)
    if not log.is_finished:
        return
    places = LinePlaces()
    for line in log.all_lines():
        if not places.add_line(line):
            break
    index = places.index(MIN_INDEXED_MESSAGES)
    if index is not None and facts is not None:
        index = facts.index_with_facts(index)
    # Later lines may have ended work in the messages, and a fork may not have these lines.
    if index is None or log.total_bytes - index.size > (
        MAX_UNINDEXED_BYTES if facts is None else 0
    ):
        return
    start, message_index = index.part(slice(None))
    stored_index = KeptIndex(
        before=start,
        index=message_index.model_copy(update={"crc": log.checksum(start, index.size)}),
        last=places.last_record_numbers,
        others=tuple(places.other_offsets),
    )
    write_atomically(folder / INDEX_FILE, stored_index.model_dump_json(exclude_none=True).encode())


def indexed_messages(
    folder: Path, ranges: Sequence[SegmentRange], before_id: str = "", count: int = 0
) -> State | None:
    """Return a state with the messages of a session, not parsed yet, and nothing else; None without a valid index.

    With ``before_id`` it may have only that message and ``count`` before it. Raises OSError.
    """
    log, stored_index = _Log(ranges), _read_kept_index(folder)
    if (
        stored_index is None
        or not log.matches_index(stored_index)
        or log.total_bytes - stored_index.before - stored_index.index.size > MAX_UNINDEXED_BYTES
    ):
        return None
    rest_bytes = log.read_range(stored_index.before + stored_index.index.size, log.total_bytes)
    # A message that was removed may have been added again at the end, so that its place in the index is wrong.
    if before_id in stored_index.index.ids and b"message.removed" not in rest_bytes:
        position = stored_index.index.ids.index(before_id)
        message_range = slice(max(0, position - 2 * count), position + 1)
        state = _state_of_index(stored_index, log, message_range, rest_bytes)
        if message_range.start == 0 or len(state.page(count, before_id) or ()) == count:
            return state
    return _state_of_index(stored_index, log, slice(None), rest_bytes)


def fork_state_from_index(
    folder: Path, parent_ranges: Sequence[SegmentRange], shared_ranges: Sequence[SegmentRange]
) -> State | None:
    """Return the state of a fork at its fork point, by the parent's index; None where the index cannot be used.

    ``folder`` is the parent's, ``parent_ranges`` are its ranges, and ``shared_ranges`` those that the fork shares. Raises OSError.
    """
    log, stored_index = _Log(shared_ranges), _read_kept_index(folder)
    # If another kernel cut the parent's log after the fork, the fork has records that the parent lacks.
    is_whole_parent = [(shared.path, shared.start) for shared in shared_ranges] == [
        (parent.path, parent.start) for parent in parent_ranges[:1]
    ]
    if (
        stored_index is None
        or not stored_index.index.holders
        or log.total_bytes < stored_index.before
        or not is_whole_parent
        or log.total_bytes > parent_ranges[0].end_offset() - parent_ranges[0].start
        or not log.is_finished
        or not _Log(parent_ranges).matches_index(stored_index)
    ):
        return None
    start, index = stored_index.index.part(slice(None), log.total_bytes - stored_index.before)
    if start or not index.ids:
        return None
    content = log.read_range(0, log.total_bytes)
    state, end = State(), stored_index.before + index.size
    _open_messages(state, index, content[stored_index.before : end])
    for offset in takewhile(lambda offset: offset < end, stored_index.others):
        state.apply_line(content[offset : content.find(b"\n", offset)])
    last_numbers = [seq_of(line) or 0 for line in content[:end].rsplit(b"\n", 3)[-3:-1]]
    _apply_rest(state, last_numbers, content[end:])
    return state


def _read_kept_index(folder: Path) -> KeptIndex | None:
    try:
        return KeptIndex.model_validate_json(read_small(folder / INDEX_FILE, MAX_INDEX_BYTES))
    except (OSError, ValueError):
        return None


def _state_of_index(
    stored_index: KeptIndex, log: "_Log", message_range: slice, rest_bytes: bytes
) -> State:
    """Return a state with some messages of the index, and with the lines of the log after it applied."""
    state, (start, index) = State(), stored_index.index.part(message_range)
    start += stored_index.before
    _open_messages(state, index, log.read_range(start, start + index.size))
    _apply_rest(state, stored_index.last, rest_bytes)
    return state


def _open_messages(state: State, index: MessageIndex, content: bytes) -> None:
    """Begin a state with the messages of a part of an index, whose bytes were checked."""
    if not state.open_with(index.model_copy(update={"crc": crc32(content)}), content, 0):
        raise OSError("The log was shortened while it was read.")


def _apply_rest(state: State, last_numbers: Sequence[int], content: bytes) -> None:
    """Apply lines after those with the last two numbers, as if these had been applied."""
    for number in last_numbers:
        state.note_if_new(number)
    state.apply_lines(content.split(b"\n"))


class _Log:
    """The bytes of a session's log, over all its segments."""

    def __init__(self, ranges: Sequence[SegmentRange]) -> None:
        self._sized_ranges = [
            (segment_range, max(0, segment_range.end_offset() - segment_range.start))
            for segment_range in ranges
        ]
        self.total_bytes = sum(size for _, size in self._sized_ranges)

    @property
    def is_finished(self) -> bool:
        """Whether the last line of each range was finished."""
        ends = accumulate(size for _, size in self._sized_ranges if size)
        return all(self.read_range(end - 1, end) == b"\n" for end in ends)

    def matches_index(self, stored_index: KeptIndex) -> bool:
        """Return whether an index was made from these bytes, and is undamaged."""
        index = stored_index.index
        end = stored_index.before + index.size
        if not 0 <= stored_index.before < end <= self.total_bytes or not self.is_finished:
            return False
        return index.is_whole and self.checksum(stored_index.before, end) == index.crc

    def checksum(self, start: int, end: int) -> int:
        """Return the CRC-32 of the bytes from ``start`` to ``end``."""
        crc, memory = 0, memoryview(bytearray(BLOCK_BYTES))
        for segment_range, first, stop in self._ranges(start, end):
            with open_regular(segment_range.path) as file:
                file.seek(first)
                while first < stop and (byte_count := file.readinto(memory[: stop - first])):
                    crc, first = crc32(memory[:byte_count], crc), first + byte_count
        return crc

    def all_lines(self) -> Iterator[bytes]:
        """Yield the lines of all segments, oldest first."""
        for segment_range, size in self._sized_ranges:
            for lines in line_blocks(replace(segment_range, end=segment_range.start + size)):
                yield from lines

    def read_range(self, start: int, end: int) -> bytes:
        """Return the bytes from ``start`` to ``end``; fewer where a file was shortened meanwhile."""
        contents = []
        for segment_range, first, stop in self._ranges(start, end):
            with open_regular(segment_range.path) as file:
                file.seek(first)
                contents.append(file.read(stop - first))
        return b"".join(contents)

    def _ranges(self, start: int, end: int) -> Iterator[tuple[SegmentRange, int, int]]:
        """Yield the ranges that hold bytes, and where these begin and end in their files."""
        offset = 0
        for segment_range, size in self._sized_ranges:
            first, stop = max(start, offset), min(end, offset + size)
            if first < stop:
                yield (
                    segment_range,
                    segment_range.start + first - offset,
                    segment_range.start + stop - offset,
                )
            offset += size
