"""Keep where the lines of all messages of a long session are, in a file beside its log.

A page of older messages, and a fork at a message, then read only their own lines. The file is derived, as the session
list is: it counts only while the log begins with the bytes that it was made of, and where it does not, or is not
there, everything is read.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate, takewhile
from pathlib import Path
from zlib import crc32

from palimpsest.store.disk import open_regular, read_small, write_atomically
from palimpsest.store.log.segments import SegmentRange
from palimpsest.store.log_lines import OTHER, head_of, seq_of
from palimpsest.store.session_state.interrupted_work import is_settled
from palimpsest.store.session_state.message_index import (
    INDEXED_MESSAGES,
    MessageIndex,
    line_index,
    message_index,
)
from palimpsest.store.session_state.state import State
from palimpsest.transcript.values import Value

INDEX_FILE = "messages.json"
LARGEST_BYTES = 64 << 20
"""About a million messages; a larger file was not written by us."""
NEW_BYTES = 1 << 20
"""So much of a log may follow what is indexed: placing its lines takes 10 ms. Beyond, the file is written anew."""
BLOCK = 256 << 10
"""Bytes that are read at once for the checksum, into the same memory: fresh memory costs more than the reading."""


class KeptIndex(Value):
    """The index of a session's messages, beside its log."""

    before: int
    """Bytes of the log before the first message."""
    index: MessageIndex
    last: tuple[int, ...]
    """The numbers of the last two records that are indexed."""
    others: tuple[int, ...] = ()
    """Where lines that are about no message begin in the log."""


def keep_index(folder: Path, pieces: Sequence[SegmentRange], state: State, *, read: bool) -> None:
    """Write the index of a session's log, where it is long; raises OSError.

    With ``read`` all messages are read, to note those in which something has not ended: forks need that.
    """
    log = _Log(pieces)
    if len(state.slots()) < INDEXED_MESSAGES or not log.is_finished:
        return
    content = log.read(0, log.size)
    messages = {one.id: one for one in state.messages()} if read else {}
    index = (
        message_index(content, 0, messages, is_settled, least=1)
        if read
        else line_index(content, least=1)
    )
    # What follows may have ended something in the messages, which a fork may be without.
    if index is None or len(content) - index.size > (0 if read else NEW_BYTES):
        return
    before, whole = index.part(slice(None))
    whole = whole.model_copy(update={"crc": crc32(content[before : index.size])})
    lines = content[: index.size].split(b"\n")[:-1]
    starts = accumulate((len(line) + 1 for line in lines), initial=0)
    heads = zip(starts, map(head_of, lines), strict=False)
    kept = KeptIndex(
        before=before,
        index=whole,
        last=_last(content[: index.size]),
        others=tuple(at for at, head in heads if head is None or head.lastindex == OTHER),
    )
    write_atomically(folder / INDEX_FILE, kept.model_dump_json(exclude_none=True).encode())


def indexed_messages(
    folder: Path, pieces: Sequence[SegmentRange], before: str = "", count: int = 0
) -> State | None:
    """Return a state with the messages of a session, none of them read, and with nothing else; None without an index.

    With ``before`` it may have that message only, and so many before it. Raises OSError.
    """
    log, kept = _Log(pieces), _kept(folder)
    if kept is None or not log.holds(kept) or log.size - kept.before - kept.index.size > NEW_BYTES:
        return None
    rest = log.read(kept.before + kept.index.size, log.size)
    if (
        before in kept.index.ids and b"message.removed" not in rest
    ):  # one may come again, at the end
        at = kept.index.ids.index(before)
        some = slice(max(0, at - 2 * count), at + 1)
        state = _opened(kept, log, some, rest)
        if some.start == 0 or len(state.page(count, before) or ()) == count:
            return state
    return _opened(kept, log, slice(None), rest)


def begun_fork(
    folder: Path, parent: Sequence[SegmentRange], taken: Sequence[SegmentRange]
) -> State | None:
    """Return the state of a fork where it leaves its parent, by the parent's index; None where that does not help.

    ``folder`` is the parent's, ``parent`` are its ranges, and ``taken`` those that the fork has of them. Raises OSError.
    """
    log, kept = _Log(taken), _kept(folder)
    if kept is None or not kept.index.holders or log.size < kept.before:
        return None
    # What a fork took before another kernel cut the parent's log is not all the parent's.
    same = [(one.path, one.start) for one in taken] == [(one.path, one.start) for one in parent[:1]]
    if not same or log.size > parent[0].size() - parent[0].start:
        return None
    if not log.is_finished or not _Log(parent).holds(kept):
        return None
    start, index = kept.index.part(slice(None), log.size - kept.before)
    if start or not index.ids:
        return None
    content = log.read(0, log.size)
    state, end = State(), kept.before + index.size
    _open_with(state, index, content[kept.before : end])
    for at in takewhile(lambda at: at < end, kept.others):
        state.apply_line(content[at : content.find(b"\n", at)])
    _continue(state, _last(content[:end]), content[end:])
    return state


def _kept(folder: Path) -> KeptIndex | None:
    try:
        return KeptIndex.model_validate_json(read_small(folder / INDEX_FILE, LARGEST_BYTES))
    except (OSError, ValueError):
        return None


def _opened(kept: KeptIndex, log: "_Log", some: slice, rest: bytes) -> State:
    """Return a state with some messages of the index, and with what the log says after it."""
    state, (start, index) = State(), kept.index.part(some)
    start += kept.before
    _open_with(state, index, log.read(start, start + index.size))
    _continue(state, kept.last, rest)
    return state


def _open_with(state: State, index: MessageIndex, content: bytes) -> None:
    """Begin a state with the messages of a part of an index, all of whose bytes were checked."""
    if not state.open_with(index.model_copy(update={"crc": crc32(content)}), content, 0):
        raise OSError("The log was shortened while it was read.")


def _continue(state: State, last: Sequence[int], content: bytes) -> None:
    """Apply lines after those with the last two numbers, as if these had been applied."""
    for number in last:
        state.is_new(number)
    state.apply_lines(content.split(b"\n"))


def _last(content: bytes) -> tuple[int, ...]:
    """Return the numbers of the last two records of finished lines."""
    return tuple(seq_of(line) or 0 for line in content.rsplit(b"\n", 3)[-3:-1])


class _Log:
    """The lines of a session's log, as one row of bytes."""

    def __init__(self, pieces: Sequence[SegmentRange]) -> None:
        self._pieces = [(piece, max(0, piece.size() - piece.start)) for piece in pieces]
        self.size = sum(size for _, size in self._pieces)

    @property
    def is_finished(self) -> bool:
        """Whether the last line of each piece was finished."""
        ends, at = [], 0
        for _, size in self._pieces:
            at += size
            ends.append(self.read(at - 1, at) if size else b"\n")
        return all(end == b"\n" for end in ends)

    def holds(self, kept: KeptIndex) -> bool:
        """Return whether an index was made of these bytes, and is whole."""
        index = kept.index
        end = kept.before + index.size
        if not 0 <= kept.before < end <= self.size or not self.is_finished:
            return False
        crc, memory = 0, memoryview(bytearray(BLOCK))
        for piece, start, stop in self._ranges(kept.before, end):
            with open_regular(piece.path) as file:
                file.seek(start)
                while start < stop and (read := file.readinto(memory[: stop - start])):
                    crc, start = crc32(memory[:read], crc), start + read
        return index.is_whole and crc == index.crc

    def read(self, start: int, end: int) -> bytes:
        """Return bytes; fewer where a file was shortened meanwhile."""
        found = []
        for piece, first, stop in self._ranges(start, end):
            with open_regular(piece.path) as file:
                file.seek(first)
                found.append(file.read(stop - first))
        return b"".join(found)

    def _ranges(self, start: int, end: int) -> Iterator[tuple[SegmentRange, int, int]]:
        """Yield the pieces that hold bytes, and where these begin and end in their files."""
        at = 0
        for piece, size in self._pieces:
            first, stop = max(start, at), min(end, at + size)
            if first < stop:
                yield piece, piece.start + first - at, piece.start + stop - at
            at += size
