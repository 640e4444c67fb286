"""Keep the session list at hand, derived from the logs and rebuilt whenever in doubt.

An entry is good while the newest segment of its session has the name, size and time that it had
when the entry was made; otherwise the head and the tail of the log are read again.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from palimpsest.store.layout import SAFE_NAME, Layout, write_atomically
from palimpsest.store.lines import INFO, OTHER, head_of, load_line
from palimpsest.store.segments import SEGMENT_NAME, Piece, Segments, backward, forward, segment_name
from palimpsest.store.store import SessionSummary
from palimpsest.transcript.errors import NotFound
from palimpsest.transcript.sessions import ForkedFrom, Session

INDEX_VERSION = 3
TAIL_BYTES = 4 << 20
"""As far back as a session's newest record of itself is looked for; beyond, its first one serves."""

Stamp = tuple[str, int, int]


class Index:
    """The session list of one folder."""

    def __init__(self, layout: Layout, segments: Segments) -> None:
        self._layout = layout
        self._segments = segments

    def summaries(self) -> dict[str, SessionSummary]:
        """Return the line of every session, deleted ones that a fork needs included."""
        known, summaries = self._load()
        entries: dict[str, dict[str, Any]] = {}
        found: dict[str, SessionSummary | None] = {}
        for session_id, stamp in self._stamps():
            entry = known.get(session_id)
            if entry is not None and entry.get("stamp") == list(stamp):
                found[session_id] = summaries[session_id]
            else:
                try:
                    entry = {"stamp": list(stamp), "summary": self._summarise(session_id)}
                except (NotFound, FileNotFoundError):  # it was deleted while we looked
                    continue
                found[session_id] = _summary(entry["summary"])
            entries[session_id] = entry
        if entries != known:
            with suppress(OSError):
                content = json.dumps({"version": INDEX_VERSION, "sessions": entries})
                write_atomically(self._layout.index, content.encode())
        return {name: summary for name, summary in found.items() if summary is not None}

    def _load(self) -> tuple[Mapping[str, dict[str, Any]], dict[str, SessionSummary | None]]:
        """Return the entries that were kept and what they say; none of a file that is damaged."""
        try:
            data = json.loads(self._layout.index.read_bytes())
            if data["version"] != INDEX_VERSION:
                return {}, {}
            sessions: dict[str, dict[str, Any]] = data["sessions"]
            found = {name: _summary(entry["summary"]) for name, entry in sessions.items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}, {}
        return sessions, found

    def _stamps(self) -> Iterator[tuple[str, Stamp]]:
        # Not with Path: a thousand of them take longer than all the rest.
        with suppress(FileNotFoundError), os.scandir(self._layout.sessions) as directories:
            for directory in directories:
                if SAFE_NAME.fullmatch(directory.name):
                    with suppress(FileNotFoundError, NotADirectoryError, ValueError):
                        yield directory.name, _stamp(directory.path)

    def _summarise(self, session_id: str) -> dict[str, Any] | None:
        own = self._segments.own(session_id)
        tail = _Tail()
        left = tail.read(own, TAIL_BYTES)
        session, deleted = tail.session or _first_session(own), tail.deleted
        if session is None:
            return None
        if session.forked_from is not None and not tail.done:
            tail.read(self._segments.until(session.forked_from, {session_id}), left)
        summary = SessionSummary(
            id=session_id,
            title=session.title,
            notebook=session.notebook,
            created=session.time.created,
            updated=session.time.updated,
            parent_id=session.parent_id,
            forked_from=session.forked_from,
            messages=tail.messages + len(tail.seen),
            deleted=deleted,
            archived=session.time.archived,
            shared=session.shared,
        )
        fields = asdict(summary)
        place = summary.forked_from
        fields["forked_from"] = None if place is None else place.model_dump(mode="json")
        return fields


class _Tail:
    """What the newest records say of a session, read backwards to its last checkpoint."""

    def __init__(self) -> None:
        self.session: Session | None = None
        self.deleted = False
        self.messages = 0
        self.seen: set[bytes] = set()
        self.done = False
        self._removed: set[bytes] = set()
        self._written: set[bytes] = set()
        """Messages that were removed, and those of them that were written after the checkpoint."""

    def read(self, pieces: Sequence[Piece], budget: int) -> int:
        """Take in lines from the newest back, as far as need and budget go; return what is left of it."""
        for piece in reversed(pieces):
            if self.done or budget < 0:
                break
            for _, line in backward(piece):
                budget -= len(line)
                if self.take(line) or budget < 0:
                    break
        return budget

    def take(self, line: bytes) -> bool:
        """Take in one line; True when nothing older matters."""
        head = head_of(line)
        kind = b"" if head is None else head[OTHER]
        if head is not None and head.lastindex == INFO:
            (self._written if head[INFO] in self._removed else self.seen).add(head[INFO])
        elif kind == b"message.removed":
            gone = str((load_line(line) or {}).get("message_id")).encode()
            self._removed |= {gone} - self.seen
        elif kind == b"session.deleted":
            self.deleted = True
        elif kind in {b"session.updated", b"session.created"} and self.session is None:
            self.session = _session((load_line(line) or {}).get("session"))
        elif kind == b"session.checkpoint":
            self._checkpoint(line)
        return self.done

    def _checkpoint(self, line: bytes) -> None:
        state = (load_line(line) or {}).get("state")
        if isinstance(state, dict):
            self.session = self.session or _session(state.get("session"))
            self.messages = int(state.get("messages") or 0)
            window = state.get("window") or {}
            known = {str(name).encode() for name in window.get("ids") or ()}
            self.seen -= known
            self.messages -= len(self._removed & known | self._removed - self._written)
            self.done = True


def _stamp(directory: str) -> Stamp:
    """Return what tells whether a session's newest segment is as it was; ValueError without one."""
    with os.scandir(directory) as files:
        matched = ((SEGMENT_NAME.fullmatch(one.name), one) for one in files)
        epoch, newest = max(((int(match[1]), one) for match, one in matched if match), key=_first)
    stat = newest.stat()
    return segment_name(epoch), stat.st_size, stat.st_mtime_ns


def _first(pair: tuple[int, Any]) -> int:
    return pair[0]


def _first_session(own: list[Piece]) -> Session | None:
    for piece in own[:1]:
        for _, line in forward(piece):
            return _session((load_line(line) or {}).get("session"))
    return None


def _session(data: Any) -> Session | None:
    try:
        return None if data is None else Session.model_validate(data)
    except ValueError:
        return None


def _summary(fields: dict[str, Any] | None) -> SessionSummary | None:
    if fields is None:
        return None
    place = fields["forked_from"]
    parsed = None if place is None else ForkedFrom.model_validate(place)
    return SessionSummary(**{**fields, "forked_from": parsed})
