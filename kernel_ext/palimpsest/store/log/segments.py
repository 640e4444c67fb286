"""Read the segments that make up a session's log.

A segment is written by one writer and begins with a header that names the previous segment and the byte at which it
cuts that segment: records that an old writer appended after the cut are not part of the session. A fork's first record
names the place in its parent's segments up to which the parent's records belong to it. Reading never changes a file.
"""

import json
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from io import BufferedReader
from itertools import islice
from pathlib import Path
from typing import Any

from palimpsest.store.disk import is_regular, open_regular
from palimpsest.store.interface import Owner
from palimpsest.store.log_lines import HEAD, checked_line, is_intact, load_line, seq_of
from palimpsest.store.project_folder.layout import Layout
from palimpsest.store.session_state.step_requests import FullRequests
from palimpsest.transcript.errors import NotFound
from palimpsest.transcript.session_record.sessions import ForkedFrom

SEGMENT_NAME = re.compile(r"log-(\d+)\.jsonl")
CHUNK_BYTES = 1 << 20
"""Bytes read at once; more is slower, since it does not fit the processor's cache."""

HEAD_BYTES = 512
"""Bytes read to identify a segment or a record: a segment's header is shorter."""

SCAN_BYTES = 64 << 10
"""Number of bytes below which a linear scan is faster than another bisection."""

TAIL_SEARCH_BYTES = 128 << 10
"""Number of bytes before the end at which a search begins."""

TAIL_GROWTH_FACTOR = 16
"""Factor by which the searched tail grows while the record is before it."""

PROBED_RECORDS = 3
"""Number of records of whose numbers the search compares the median."""


@dataclass(frozen=True, slots=True)
class Header:
    """The first line of a segment."""

    session_id: str
    epoch: int
    previous_segment: str | None
    cut_offset: int | None
    """Byte at which it cuts the previous segment."""
    line_bytes: int
    """Bytes of the header line, its newline included."""
    is_damaged: bool = False
    """Whether the line was unreadable, so that the values were derived from file names and record numbers."""


@dataclass(frozen=True, slots=True)
class SegmentRange:
    """A byte range of one segment that belongs to a session."""

    session_id: str
    segment: str
    path: Path
    start: int
    end: int | None
    """None for the newest segment, which may still grow."""

    def name_in(self, session_id: str) -> str:
        """Return the segment's name as a session's records have it: with its session's id where it is another's."""
        is_own = self.session_id == session_id
        return self.segment if is_own else f"{self.session_id}/{self.segment}"

    def end_offset(self) -> int:
        """Return the byte offset at which the range ends now; its start when the file is gone."""
        if self.end is not None:
            return self.end
        try:
            return self.path.lstat().st_size
        except FileNotFoundError:
            return self.start


def segment_name(epoch: int) -> str:
    """Return the file name of an epoch's segment."""
    return f"log-{epoch}.jsonl"


NO_SESSION = "There is no session {name!r} in this project."
NO_FOLDER = "The folder {root!r} was removed or renamed, so session {name!r} cannot be read. Put it back first."


def segment_epochs(directory: Path) -> list[int]:
    """Return the epochs of a session, highest first; raises NotFound without a directory."""
    try:
        matches = (SEGMENT_NAME.fullmatch(path.name) for path in directory.iterdir())
        return sorted((int(match[1]) for match in matches if match), reverse=True)
    except (FileNotFoundError, NotADirectoryError):
        root = directory.parents[1]
        problem = NO_SESSION if root.is_dir() else NO_FOLDER
        raise NotFound(problem.format(name=directory.name, root=str(root))) from None


def header_line(
    session_id: str,
    epoch: int,
    previous_segment: str | None,
    cut_offset: int | None,
    writer: Owner,
) -> bytes:
    """Return the first line of a new segment."""
    header = {
        "v": 1,
        "type": "segment",
        "session_id": session_id,
        "epoch": epoch,
        "previous": previous_segment,
        "cut": cut_offset,
        "writer": asdict(writer),
    }
    return checked_line(json.dumps(header, separators=(",", ":")).encode()) + b"\n"


class Segments:
    """Finds the segment ranges of sessions; caches headers and fork points."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._headers: dict[str, dict[Path, Header]] = {}
        """By the name of the session's folder, then by path."""
        self._forks: dict[str, ForkedFrom | None] = {}
        self._first_lines: dict[str, bytes] = {}
        """The first line of each session's first segment: an import may reuse the id of a deleted session."""

    def header(self, path: Path) -> Header | None:
        """Return a segment's header; None while it is not completely written."""
        headers = self._headers.setdefault(path.parent.name, {})
        if path in headers:
            return headers[path]
        try:
            line = read_line(path, 0, path.lstat().st_size)
        except FileNotFoundError:
            return None
        if line is None:
            return None
        data = load_line(line)
        if data is None or data.get("type") != "segment" or not is_intact(line):
            return _guess_header(path, 0 if data is not None and "seq" in data else len(line) + 1)
        with suppress(KeyError, TypeError, ValueError, OverflowError):
            previous_segment, cut_offset = data.get("previous"), data.get("cut")
            header = Header(
                session_id=str(data["session_id"]),
                epoch=int(data["epoch"]),
                previous_segment=None if previous_segment is None else str(previous_segment),
                cut_offset=None if cut_offset is None else int(cut_offset),
                line_bytes=len(line) + 1,
            )
            headers[path] = _checked_cut(path, header)
            return headers[path]
        return _guess_header(path, len(line) + 1)

    def forget_session(self, session_id: str) -> None:
        """Drop the cached values of a session that was deleted."""
        self._headers.pop(session_id, None)
        self._forks.pop(session_id, None)

    def _drop_if_replaced(self, session_id: str, directory: Path) -> None:
        """Drop the cached values of a session whose folder was replaced by another."""
        with suppress(OSError), open_regular(directory / segment_name(1)) as file:
            first_line = file.read(HEAD_BYTES).partition(b"\n")[0]
            if self._first_lines.get(session_id) != first_line:
                self.forget_session(session_id)
                self._first_lines[session_id] = first_line

    def own_ranges(self, session_id: str, *, below_epoch: int | None = None) -> list[SegmentRange]:
        """Return the segment ranges in the session's own directory, oldest first.

        With ``below_epoch``, only segments of lower epochs are included.
        """
        directory = self._layout.session(session_id)
        self._drop_if_replaced(session_id, directory)
        for epoch in segment_epochs(directory):
            name = segment_name(epoch)
            if below_epoch is not None and epoch >= below_epoch:
                continue
            if self.header(directory / name) is not None:
                return self._ranges_back_from(session_id, name, None)
        return []

    def segment_ranges(self, session_id: str) -> list[SegmentRange]:
        """Return all segment ranges of a session, oldest first, beginning with its fork parents'."""
        own_ranges = self.own_ranges(session_id)
        fork_point = self.forked_from(session_id, own_ranges)
        if fork_point is None:
            return own_ranges
        return [*self.parent_ranges(fork_point, seen_ids={session_id}), *own_ranges]

    def forked_from(self, session_id: str, own_ranges: Sequence[SegmentRange]) -> ForkedFrom | None:
        """Return the fork point in a session's first record; None if it is not a fork."""
        if session_id not in self._forks:
            if not own_ranges:
                return None
            line = read_line(own_ranges[0].path, own_ranges[0].start, own_ranges[0].end_offset())
            if line is None:
                return None
            self._forks[session_id] = _fork_point_in(line)
        return self._forks[session_id]

    def parent_ranges(
        self, fork_point: ForkedFrom, seen_ids: Collection[str] = ()
    ) -> list[SegmentRange]:
        """Return the segment ranges that a fork at ``fork_point`` has from its parents, oldest first.

        ``seen_ids`` are session ids that are not followed again.
        """
        if fork_point.session_id in seen_ids:
            return []
        seen_ids = {*seen_ids, fork_point.session_id}
        holder_id, _, file_name = fork_point.segment.rpartition("/")
        parent_id = holder_id or fork_point.session_id
        with suppress(NotFound):
            path = self._layout.session(parent_id) / file_name
            end = recorded_offset(path, fork_point.offset, fork_point.seq + 1)
            ranges = self._ranges_back_from(parent_id, file_name, end)
            parent_fork_point = self.forked_from(parent_id, ranges)
            if parent_fork_point is None:
                return ranges
            return [*self.parent_ranges(parent_fork_point, seen_ids), *ranges]
        return []

    def _ranges_back_from(
        self, session_id: str, newest_segment: str, end: int | None
    ) -> list[SegmentRange]:
        """Return the ranges up to a segment, oldest first, following the headers backwards."""
        directory = self._layout.session(session_id)
        ranges: list[SegmentRange] = []
        segment: str | None = newest_segment
        while segment is not None and SEGMENT_NAME.fullmatch(segment):
            header = self.header(directory / segment)
            if header is None or any(segment_range.segment == segment for segment_range in ranges):
                break
            start = header.line_bytes
            stop = None if end is None else max(end, start)
            ranges.append(SegmentRange(session_id, segment, directory / segment, start, stop))
            segment, end = header.previous_segment, header.cut_offset
        return ranges[::-1]


def locate_record(ranges: Sequence[SegmentRange], seq: int) -> tuple[SegmentRange, int] | None:
    """Return the range and byte offset of the first record numbered ``seq`` or more, or None."""
    best: tuple[SegmentRange, int] | None = None
    for segment_range in reversed(ranges):
        offset = find_record_offset(segment_range, seq)
        if offset is not None:
            best = segment_range, offset
        first_record = next(_record_offsets(segment_range, segment_range.start, None), None)
        if first_record is not None and first_record[1] <= seq:
            break
    return best


def full_requests(segment_range: SegmentRange) -> FullRequests:
    """Return a reader that restores the shortened requests of a segment to full ones."""
    segment = replace(segment_range, end=None)

    def find_record(seq: int) -> dict[str, Any] | None:
        offset = find_record_offset(segment, seq)
        line = None if offset is None else read_line(segment.path, offset, segment.end_offset())
        data = None if line is None else load_line(line)
        return data if data is not None and data.get("seq") == seq else None

    return FullRequests(find_record)


def _fork_point_in(line: bytes) -> ForkedFrom | None:
    data = load_line(line)
    session = None if data is None else data.get("session")
    fork_point = session.get("forked_from") if isinstance(session, dict) else None
    try:
        return None if fork_point is None else ForkedFrom.model_validate(fork_point)
    except ValueError:
        return None


def _guess_header(path: Path, line_bytes: int) -> Header | None:
    """Return a replacement for a segment's damaged header line.

    Its cut is where the previous segment's record numbers reach the first of its own.
    """
    match = SEGMENT_NAME.fullmatch(path.name)
    if match is None:
        return None
    folder, epoch = path.parent, int(match[1])
    earlier_paths = (
        folder / segment_name(number) for number in segment_epochs(folder) if number < epoch
    )
    previous_path = next((segment for segment in earlier_paths if is_regular(segment)), None)
    if previous_path is None:
        return Header(folder.name, epoch, None, None, line_bytes, is_damaged=True)
    first_record = next(_record_offsets(_whole_segment(path, line_bytes), line_bytes, None), None)
    previous = _whole_segment(previous_path)
    cut_offset = None if first_record is None else find_record_offset(previous, first_record[1])
    if cut_offset is None:
        cut_offset = previous.end_offset()
    return Header(folder.name, epoch, previous.segment, cut_offset, line_bytes, is_damaged=True)


def _whole_segment(path: Path, start: int = 0) -> SegmentRange:
    return SegmentRange("", path.name, path, start, None)


def _checked_cut(path: Path, header: Header) -> Header:
    """Return the header with its cut corrected, if an edit moved bytes in the previous segment."""
    if header.cut_offset is None or header.previous_segment is None:
        return header
    first_seq = _seq_at(path, header.line_bytes)
    if first_seq is None or SEGMENT_NAME.fullmatch(header.previous_segment) is None:
        return header
    previous_path = path.parent / header.previous_segment
    return replace(header, cut_offset=recorded_offset(previous_path, header.cut_offset, first_seq))


def recorded_offset(path: Path, offset: int, seq: int) -> int:
    """Return the byte offset from which a segment's records are numbered ``seq`` or more.

    It is ``offset`` if such a line begins there; otherwise an edit moved bytes before it, and the line is searched for.
    """
    segment = _whole_segment(path)
    size = segment.end_offset()
    if not size or (offset == size and _begins_line(path, offset)):
        return offset
    if offset < size and _begins_line(path, offset):
        seq_at_offset = _seq_at(path, offset)
        if seq_at_offset is None or seq_at_offset >= seq:
            return offset
    record_offset = find_record_offset(segment, seq)
    return size if record_offset is None else record_offset


def _begins_line(path: Path, offset: int) -> bool:
    try:
        with open_regular(path) as file:
            file.seek(max(0, offset - 1))
            return offset == 0 or file.read(1) == b"\n"
    except OSError:
        return True  # the file is gone, so there is only the recorded offset


def _seq_at(path: Path, offset: int) -> int | None:
    """Return the number of the record that begins at a byte offset; None if the line has another format."""
    try:
        with open_regular(path) as file:
            file.seek(offset)
            head = HEAD.match(file.read(HEAD_BYTES))
    except OSError:
        return None
    return None if head is None else int(head[1])


def read_line(path: Path, start: int, end: int) -> bytes | None:
    """Return the line that begins at ``start``, without its newline; None while unfinished."""
    line = bytearray()
    with open_regular(path) as file:
        file.seek(start)
        while start + len(line) < end:
            block = file.read(min(SCAN_BYTES, end - start - len(line)))
            if not block:
                return None
            stop = block.find(b"\n")
            if stop >= 0:
                return bytes(line + block[:stop])
            line += block
    return None


def line_blocks(segment_range: SegmentRange, start: int | None = None) -> Iterator[list[bytes]]:
    """Yield the finished lines in large lists, oldest first; the fastest way to read everything.

    Empty lines are included, so that offsets can be counted.
    """
    position = segment_range.start if start is None else start
    end = segment_range.end_offset()
    unfinished: list[bytes] = []
    """Pieces of the line that is not finished yet; joined only once, since it may have 100 MB."""
    try:
        file = open_regular(segment_range.path)
    except FileNotFoundError:
        return
    with file:
        file.seek(position)
        while position < end:
            chunk = file.read(min(CHUNK_BYTES, end - position))
            if not chunk:
                break
            position += len(chunk)
            lines = chunk.split(b"\n")
            if len(lines) > 1 and unfinished:
                lines[0] = b"".join([*unfinished, lines[0]])
                unfinished = []
            unfinished.append(lines.pop())
            yield lines


def lines_forward(
    segment_range: SegmentRange, start: int | None = None
) -> Iterator[tuple[int, bytes]]:
    """Yield byte offset and content of the finished lines, oldest first."""
    offset = segment_range.start if start is None else start
    for lines in line_blocks(segment_range, start):
        for line in lines:
            if line:
                yield offset, line
            offset += len(line) + 1


def unfinished_line_offset(segment_range: SegmentRange) -> int | None:
    """Return the byte offset of a last line without a newline, or None."""
    end = segment_range.end_offset()
    position, line_start = end, 0
    if not segment_range.path.exists():
        return None
    with open_regular(segment_range.path) as file:
        while position > segment_range.start:
            size = min(SCAN_BYTES, position - segment_range.start)
            position -= size
            file.seek(position)
            newline = file.read(size).rfind(b"\n")
            if newline >= 0:
                line_start = position + newline + 1
                return None if line_start == end else line_start
    return None if end <= segment_range.start else segment_range.start


def lines_backward(segment_range: SegmentRange) -> Iterator[tuple[int, bytes]]:
    """Yield byte offset and content of the finished lines, newest first, reading the file lazily."""
    try:
        file = open_regular(segment_range.path)
    except FileNotFoundError:
        return
    with file:
        position, block_bytes = segment_range.end_offset(), SCAN_BYTES
        unfinished: list[bytes] = []
        """Later pieces of the line whose beginning was not read yet, last one first."""
        while position > segment_range.start:
            size = min(block_bytes, position - segment_range.start)
            position, block_bytes = position - size, min(block_bytes * 2, CHUNK_BYTES)
            file.seek(position)
            content = file.read(size)
            if b"\n" not in content and position > segment_range.start:
                unfinished.append(content)
                continue
            *lines, _unfinished = b"".join([content, *reversed(unfinished)]).split(b"\n")
            offset = position
            if position > segment_range.start:
                # The first line may lack its beginning, which is in the next block.
                unfinished = [lines.pop(0) + b"\n"]
                offset += len(unfinished[0])
            yield from reversed([entry for entry in _with_offsets(offset, lines) if entry[1]])


def _with_offsets(offset: int, lines: Sequence[bytes]) -> Iterator[tuple[int, bytes]]:
    for line in lines:
        yield offset, line
        offset += len(line) + 1


def find_record_offset(segment_range: SegmentRange, seq: int) -> int | None:
    """Return the byte offset of the first record numbered ``seq`` or more, or None.

    A single wrong number does not mislead the search: it compares the median of three. It begins near the end, since
    followers of a session read there.
    """
    low_offset, high_offset = segment_range.start, segment_range.end_offset()
    tail_bytes = TAIL_SEARCH_BYTES
    while high_offset - low_offset > SCAN_BYTES:
        middle = max((low_offset + high_offset) // 2, high_offset - tail_bytes)
        probes = list(islice(_record_offsets(segment_range, middle, high_offset), PROBED_RECORDS))
        if not probes or sorted(number for _, number in probes)[len(probes) // 2] >= seq:
            high_offset, tail_bytes = middle, tail_bytes * TAIL_GROWTH_FACTOR
        else:
            low_offset, tail_bytes = probes[0][0], high_offset
    offset_found: int | None = None
    for offset, number in _record_offsets(segment_range, low_offset, None):
        if number < seq:
            offset_found = None
        elif offset_found is not None:
            return offset_found
        else:
            offset_found = offset
    return offset_found


def _record_offsets(
    segment_range: SegmentRange, start: int, end: int | None
) -> Iterator[tuple[int, int]]:
    """Yield byte offset and sequence number of the records that begin at or after a byte."""
    stop = segment_range.end_offset()
    stop_before = stop if end is None else end
    with BufferedReader(open_regular(segment_range.path), SCAN_BYTES) as file:
        # A record begins where the line that holds the byte before it has ended.
        position = max(start - 1, segment_range.start)
        is_record = start <= segment_range.start
        file.seek(position)
        while position < stop_before or not is_record:
            line = file.readline()
            if not line.endswith(b"\n") or position + len(line) > stop:
                return
            seq = seq_of(line[:-1]) if is_record else None
            if seq is not None:
                yield position, seq
            position, is_record = position + len(line), True
