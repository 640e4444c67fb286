"""Cache the session list in a file, derived from the logs and rebuilt where it is out of date.

An entry is valid while the newest segment of its session has the name, size and time that it had when the entry was
made; otherwise the head and the tail of the log are read again. If many must be read, the newest sessions are first,
and the cache is written at intervals, so that after a kill the next kernel only reads the remaining ones.
"""

import json
import os
import threading
import time
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from pydantic import TypeAdapter

from palimpsest.store.disk import file_stamp, read_small, write_atomically
from palimpsest.store.interface import SessionSummary, possible_time
from palimpsest.store.log.segments import (
    SEGMENT_NAME,
    SegmentRange,
    Segments,
    lines_backward,
    lines_forward,
    segment_name,
)
from palimpsest.store.log_lines import INFO, OTHER, head_of, is_intact, load_line
from palimpsest.store.project_folder.layout import SAFE_NAME, Layout
from palimpsest.transcript.errors import NotFound
from palimpsest.transcript.session_record.sessions import SessionInfo

INDEX_VERSION = 5
MAX_TAIL_BYTES = 4 << 20
"""Maximum bytes read backwards for a session's newest info; beyond them its first record is used."""

SAVE_SECONDS = 1.0
"""Interval at which the cache is written while many sessions are read."""

MAX_CACHE_BYTES = 256 << 20
"""Maximum bytes of the file: about half a million sessions; a larger one was not written by this module."""

Stamp = tuple[str, int, int]
"""Name, size and modification time in nanoseconds of a session's newest segment."""


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """A session's summary, and the stamp of its folder when the summary was read."""

    folder_stamp: Stamp
    summary: SessionSummary | None


_ENTRIES: TypeAdapter[dict[str, IndexEntry]] = TypeAdapter(dict[str, IndexEntry])
_SESSIONS_KEY = b',"sessions":'


class Index:
    """Reads and caches the session list of one folder."""

    def __init__(self, layout: Layout, segments: Segments) -> None:
        self._layout = layout
        self._segments = segments
        self._entries: dict[str, IndexEntry] = {}
        self._is_changed = False
        self._file_stamp: tuple[int, int, int] | None = None
        """Inode, size and modification time of the cache file when it was last read or written."""
        self._build_lock = threading.Lock()
        self._file_lock = threading.Lock()

    def summaries(self) -> dict[str, SessionSummary]:
        """Return the summary of every session by id, including deleted ones that a fork needs."""
        with self._build_lock:
            self._load()
            stamps = self._stamps()
            self._read_missing(stamps)
            self._drop_deleted(stamps)
            self._save()
            return self._cached_summaries(stamps)

    def recent_summaries(self, count: int) -> tuple[dict[str, SessionSummary], int]:
        """Return the summaries that are cached and those of the newest sessions, and how many are missing.

        Does not wait for a thread that reads the rest.
        """
        self._load()
        stamps = self._stamps()
        self._read_missing(stamps[:count])
        if not self._build_lock.locked():
            self._save()
        missing_count = sum(not self._is_cached(*stamped_session) for stamped_session in stamps)
        return self._cached_summaries(stamps), missing_count

    def _read_missing(self, stamps: Sequence[tuple[str, Stamp]]) -> None:
        """Read the summaries that are not cached, and write the cache at intervals."""
        saved_at = time.monotonic()
        for session_id, stamp in stamps:
            if self._is_cached(session_id, stamp):
                continue
            with suppress(NotFound, OSError):  # The session was deleted meanwhile.
                self._entries[session_id] = IndexEntry(stamp, self._summarise(session_id))
                self._is_changed = True
            if time.monotonic() - saved_at > SAVE_SECONDS:
                self._save()
                saved_at = time.monotonic()

    def _is_cached(self, session_id: str, stamp: Stamp) -> bool:
        entry = self._entries.get(session_id)
        return entry is not None and entry.folder_stamp == stamp

    def _cached_summaries(self, stamps: Sequence[tuple[str, Stamp]]) -> dict[str, SessionSummary]:
        entries_and_stamps = (
            (session_id, self._entries.get(session_id), stamp) for session_id, stamp in stamps
        )
        return {
            session_id: entry.summary
            for session_id, entry, stamp in entries_and_stamps
            if entry is not None and entry.folder_stamp == stamp and entry.summary is not None
        }

    def _drop_deleted(self, stamps: Sequence[tuple[str, Stamp]]) -> None:
        """Remove the entries of sessions that are gone."""
        existing_ids = {session_id for session_id, _ in stamps}
        for session_id in self._entries.keys() - existing_ids:
            del self._entries[session_id]
            self._is_changed = True

    # The file

    def _load(self) -> None:
        """Add the entries of the cache file that another kernel wrote; a damaged file is rewritten."""
        with self._file_lock:
            stamp = file_stamp(self._layout.index)
            if stamp is not None and stamp == self._file_stamp:
                return
            self._file_stamp = stamp
            try:
                entries = _parse_entries(read_small(self._layout.index, MAX_CACHE_BYTES))
            except (OSError, ValueError, RecursionError):
                self._is_changed = True
                return
            for session_id, entry in entries.items():
                if entry.summary is None or _is_possible(session_id, entry.summary):
                    self._entries.setdefault(session_id, entry)

    def _save(self) -> None:
        with self._file_lock:
            if not self._is_changed:
                return
            self._is_changed = False
            # Copied, since other threads add to it.
            rest = _SESSIONS_KEY + _ENTRIES.dump_json(dict(self._entries)) + b"}"
            head = json.dumps({"version": INDEX_VERSION, "check": zlib.crc32(rest)}).encode()
            with suppress(OSError):
                write_atomically(self._layout.index, head[:-1] + rest)
                self._file_stamp = file_stamp(self._layout.index)

    # The logs

    def _stamps(self) -> list[tuple[str, Stamp]]:
        """Return each session with the stamp of its newest segment, newest first."""
        # Without Path: creating a thousand of them takes longer than all the rest.
        stamps: list[tuple[str, Stamp]] = []
        with suppress(OSError), os.scandir(self._layout.sessions) as directories:
            for directory in directories:
                if SAFE_NAME.fullmatch(directory.name) and not directory.is_symlink():
                    with suppress(OSError, ValueError):
                        stamps.append((directory.name, _folder_stamp(directory.path)))
        return sorted(stamps, key=lambda stamped: (stamped[1][2], stamped[0]), reverse=True)

    def _summarise(self, session_id: str) -> SessionSummary | None:
        ranges = self._segments.own_ranges(session_id)
        log_tail = _Tail()
        bytes_left = log_tail.read_backwards(ranges, MAX_TAIL_BYTES)
        is_deleted = log_tail.is_deleted  # a fork's parent may be deleted
        first_lines = (line for first in ranges[:1] for _, line in lines_forward(first))
        session = log_tail.session or _session_in(next(first_lines, b""))
        if session is None:
            return None
        if session.forked_from is not None and not log_tail.is_done:
            parent_ranges = self._segments.parent_ranges(session.forked_from, {session_id})
            log_tail.read_backwards(parent_ranges, bytes_left)
        message_count = log_tail.message_count + len(log_tail.written_ids)
        return SessionSummary.of(session_id, session, messages=message_count, deleted=is_deleted)


def _parse_entries(content: bytes) -> dict[str, IndexEntry]:
    """Parse the cache file; raises ValueError when its checksum or version does not match."""
    head, separator, sessions = content.partition(_SESSIONS_KEY)
    if json.loads(head + b"}") != {
        "version": INDEX_VERSION,
        "check": zlib.crc32(separator + sessions),
    }:
        raise ValueError("It is not as it was written.")
    return _ENTRIES.validate_json(sessions[:-1])


def _is_possible(session_id: str, summary: SessionSummary) -> bool:
    times = (summary.created, summary.updated, summary.archived or 0)
    return summary.id == session_id and all(time_ms == possible_time(time_ms) for time_ms in times)


class _Tail:
    """Collects a session's summary values from its newest records, backwards to its last checkpoint."""

    def __init__(self) -> None:
        self.session: SessionInfo | None = None
        self.is_deleted = False
        self.message_count = 0
        self.written_ids: set[bytes] = set()
        self.is_done = False
        self._removed_ids: set[bytes] = set()
        self._rewritten_ids: set[bytes] = set()
        """Ids of the messages in ``_removed_ids`` that were written after the checkpoint."""

    def read_backwards(self, ranges: Sequence[SegmentRange], max_bytes: int) -> int:
        """Process lines backwards until done or ``max_bytes`` are read; returns how many bytes are left of them."""
        bytes_left = max_bytes
        for segment_range in reversed(ranges):
            if self.is_done or bytes_left < 0:
                break
            for _, line in lines_backward(segment_range):
                bytes_left -= len(line)
                if self.process_line(line) or bytes_left < 0:
                    break
        return bytes_left

    def process_line(self, line: bytes) -> bool:
        """Process one line; returns whether no older line is needed."""
        head = head_of(line)
        record_type = b"" if head is None else head[OTHER]
        if head is not None and head.lastindex == INFO:
            was_removed = head[INFO] in self._removed_ids
            (self._rewritten_ids if was_removed else self.written_ids).add(head[INFO])
        elif record_type == b"message.removed":
            removed_id = str((load_line(line) or {}).get("message_id")).encode()
            self._removed_ids |= {removed_id} - self.written_ids
        elif record_type == b"session.deleted":
            self.is_deleted = True
        elif record_type in {b"session.updated", b"session.created"} and self.session is None:
            self.session = _session_in(line)
        elif record_type == b"session.checkpoint" and is_intact(line):
            self._apply_checkpoint(line)
        return self.is_done

    def _apply_checkpoint(self, line: bytes) -> None:
        state = (load_line(line) or {}).get("state")
        if isinstance(state, dict):
            self.session = self.session or _parse_session(state.get("session"))
            self.is_deleted = self.is_deleted or state.get("deleted") is True
            self.message_count = int(state.get("messages") or 0)
            window = state.get("window") or {}
            window_ids = {str(name).encode() for name in window.get("ids") or ()}
            self.written_ids -= window_ids
            self.message_count -= len(
                self._removed_ids & window_ids | self._removed_ids - self._rewritten_ids
            )
            self.is_done = True


def _folder_stamp(directory: str) -> Stamp:
    """Return the stamp of a session's folder; raises ValueError where it has no segment."""
    with os.scandir(directory) as files:
        regular_files = (file for file in files if file.is_file(follow_symlinks=False))
        matches = ((SEGMENT_NAME.fullmatch(file.name), file) for file in regular_files)
        segments = ((int(match[1]), file) for match, file in matches if match)
        epoch, newest_file = max(segments, key=itemgetter(0))
    file_stat = newest_file.stat()
    return segment_name(epoch), file_stat.st_size, file_stat.st_mtime_ns


def _session_in(line: bytes) -> SessionInfo | None:
    return _parse_session((load_line(line) or {}).get("session"))


def _parse_session(data: Any) -> SessionInfo | None:
    try:
        return None if data is None else SessionInfo.model_validate(data)
    except ValueError:
        return None
