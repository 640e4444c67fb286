"""Write one recorded session into its log, in batches; a session that was imported before is continued.

Every batch ends with the session's own record, which contains the number of its values and their hash. So a stopped
import continues where it ended, and of a recording that grew only the new values are added.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from uuid import uuid4

from pydantic import ValidationError

from palimpsest.recordings.import_journal.derived_ids import DerivedIds
from palimpsest.recordings.import_journal.message_parts import IMPORT_NOTE_KEY
from palimpsest.recordings.import_journal.running_hash import ProcessHash, RunningHash
from palimpsest.recordings.import_journal.session_builder import NotJournaled, SessionBuilder
from palimpsest.recordings.reading.reading_budget import CountedValue, value_leaves
from palimpsest.recordings.reading.recorded import CompactionRead, Json, Recorded, SessionBegin
from palimpsest.store.exchange.import_merge import with_blobs
from palimpsest.store.exchange.import_report import Imported, Outcome
from palimpsest.store.exchange.written_checkpoint import write_recording_checkpoint
from palimpsest.store.interface import Store, Writer
from palimpsest.store.project_folder.lease import this_owner
from palimpsest.store.session_state.message_facts import MessageFacts
from palimpsest.store.session_state.message_index import MIN_INDEXED_MESSAGES
from palimpsest.transcript.errors import NotFound
from palimpsest.transcript.parts import ToolPending
from palimpsest.transcript.redaction.secret_patterns import scrub
from palimpsest.transcript.redaction.secret_removal import Scrub, redacted_event
from palimpsest.transcript.session_record.events import (
    Event,
    PartUpdated,
    Record,
    SessionCreated,
    SessionDeleted,
    SessionUpdated,
)
from palimpsest.transcript.session_record.sessions import SessionInfo
from palimpsest.transcript.visible_text import visible_line

IMPORTER_VERSION = 1
"""Version of the builder's results; increased when it builds other events from the same values."""
BATCH_BYTES = 300_000
"""Bytes of content after which a batch is written: batches seven times as large take 20 MB more, and save no time."""
MAX_KEPT_PROBLEMS = 50
"""Maximum number of unreadable places that are stored with a session; the others are counted."""
AGAIN_REASON = "imported again"
VALUE_ERRORS = (NotJournaled, ValidationError, TypeError, AttributeError, KeyError, OverflowError)
"""Errors that are raised for a value that cannot be part of a session."""


class Differs(Exception):
    """Raised where a recording does not begin with the values that were imported from it before."""


@dataclass(frozen=True, slots=True)
class _ExistingSession:
    """A session as an earlier import left it in the project."""

    session: SessionInfo
    seq: int
    """Number of the newest record."""
    note: Json
    """The note on the import in the session's metadata."""

    @property
    def value_count(self) -> int:
        """Number of the recording's values that were imported."""
        count = self.note.get("values")
        return count if isinstance(count, int) else 0


class SessionJournal:
    """The log of an imported session: skips known values, redacts and writes the rest, and records its progress."""

    def __init__(
        self,
        store: Store,
        source: str,
        begin: SessionBegin,
        *,
        copy: int,
        is_kept: bool,
        clock: Callable[[], int],
        report: Callable[[str, str], None],
    ) -> None:
        """Begin or continue a log; ``source`` is the recording's file name, ``is_kept`` is that of ``ImportControl``.

        Raises Differs, or SessionHeld where a kernel has the log open.
        """
        self._store = store
        self._source = source
        self._copy = copy
        self._now_ms = clock()
        self._report = report
        self._begin = begin
        self._derived_ids = DerivedIds(begin.format, begin.id, copy)
        self._existing = self._find_existing(self._derived_ids.session_id)
        session_begun_ms = (
            self._now_ms if self._existing is None else self._existing.session.time.created
        )
        self._builder = SessionBuilder(begin, self._derived_ids, store, now_ms=session_begun_ms)
        self._hash = RunningHash() if is_kept else ProcessHash()
        self._seq = 0 if self._existing is None else self._existing.seq
        self._events: list[Event] = []
        self._event_bytes = 0
        self._has_new_values = False
        self._writer: Writer | None = None
        self._message_facts = MessageFacts() if store.opens_from_checkpoint else None
        """The facts of the messages that were written, for the checkpoint at the end."""
        self._has_summary = False
        """Whether a summary replaced messages, which then need not be read to open the session."""
        self._unread_places: list[Json] = []
        self._unlisted_place_count = 0
        # Which session holds the beginning too depends on the files beside the recording.
        known_begin = replace(begin, branch_of=None, branch_at=None, copied_messages=())
        self._hash.add(known_begin, value_leaves(known_begin))
        self._check_beginning()
        if self._existing is None:
            created = SessionCreated(session=self._session_info(is_complete=False))
            self._open_writer().append([self._record(created, scrub)])

    def _find_existing(self, session_id: str) -> _ExistingSession | None:
        """Return a session as an earlier import left it; raises Differs where another program wrote it."""
        newest_seq = 0
        try:
            for record in self._store.stream(session_id):
                newest_seq, event = newest_seq or record.seq, record.event
                if isinstance(event, SessionDeleted):
                    raise Differs
                if isinstance(event, SessionUpdated | SessionCreated):
                    note = (event.session.metadata or {}).get(IMPORT_NOTE_KEY)
                    if not isinstance(note, dict) or not note.get("values"):
                        raise Differs
                    return _ExistingSession(event.session, newest_seq, note)
        except NotFound:
            pass
        return None

    def _check_beginning(self) -> None:
        """Raise Differs if as many values were read as were imported before, and their hash differs."""
        existing = self._existing
        if existing is None or self._hash.count != existing.value_count:
            return
        if self._hash.digest != existing.note.get("fingerprint"):
            raise Differs

    def add_value(self, value: Recorded, place: str, counted: CountedValue) -> None:
        """Add the next value; report and leave out a value that cannot be part of a session."""
        self._event_bytes += self._hash.add(value, counted)
        is_known = self._existing is not None and self._hash.count <= self._existing.value_count
        self._has_summary = self._has_summary or isinstance(value, CompactionRead)
        try:
            for event in self._builder.events(value):
                if not is_known:
                    self._events.append(event)
        except VALUE_ERRORS as error:
            reason = _reason(error)
            if is_known:
                # The problem was reported at the earlier import, and is stored with it.
                self.add_problem(f"{self._source}, {place}", reason)
            else:
                self._report(place, reason)
        self._check_beginning()
        if is_known:
            self._event_bytes = 0
            return
        self._has_new_values = True
        if self._event_bytes >= BATCH_BYTES:
            self._write_events(is_complete=False)

    def add_problem(self, place: str, sentence: str) -> None:
        """Store an unreadable place with the session, each place once."""
        problem = {"where": place, "what": sentence}
        if problem in self._unread_places:
            return
        if len(self._unread_places) < MAX_KEPT_PROBLEMS:
            self._unread_places.append(problem)
        else:
            self._unlisted_place_count += 1

    def _problems(self, *, is_complete: bool) -> Json:
        """Return the unreadable places for the session's record; a stopped import also keeps the recorded ones."""
        unread_places = [*self._unread_places]
        if not is_complete and self._existing is not None:
            recorded_unread = self._existing.note.get("unread")
            recorded_places = recorded_unread if isinstance(recorded_unread, list) else []
            unread_places = [
                *recorded_places,
                *(place for place in unread_places if place not in recorded_places),
            ]
        problems = {
            "unread": unread_places[:MAX_KEPT_PROBLEMS],
            "more_unread": self._unlisted_place_count,
        }
        return {name: value for name, value in problems.items() if value}

    def finish(self, *, is_complete: bool) -> Imported:
        """Write the remaining events; ``is_complete`` is False where reading was stopped. Raises Differs."""
        existing = self._existing
        if existing is not None and self._hash.count < existing.value_count:
            if is_complete:
                raise Differs
            return self._import_result("same")
        problems = self._problems(is_complete=is_complete)
        has_changed = (
            self._has_new_values
            or existing is None
            or (is_complete and not existing.note.get("complete", True))
            or any(
                existing.note.get(name) != problems.get(name) for name in ("unread", "more_unread")
            )
        )
        if has_changed:
            if is_complete:
                self._events.extend(self._builder.closing_events())
            self._write_events(is_complete=is_complete, sync=True)
            is_long = self._has_summary or self._builder.message_count >= MIN_INDEXED_MESSAGES
            if is_complete and is_long and self._store.opens_from_checkpoint:
                self._write_checkpoint()
        if existing is None:
            return self._import_result("copy" if self._copy else "new")
        return self._import_result("updated" if has_changed else "same")

    def close(self) -> None:
        """Release the session."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _import_result(self, outcome: Outcome) -> Imported:
        message_count = self._builder.message_count
        return Imported(
            self._derived_ids.session_id, self._title(), outcome, message_count, read_only=True
        )

    # Writing

    def _open_writer(self) -> Writer:
        if self._writer is None:
            owner = this_owner(f"import-{uuid4().hex}")
            self._writer = self._store.acquire(self._derived_ids.session_id, owner, create=True)
        return self._writer

    def _write_events(self, *, is_complete: bool, sync: bool = False) -> None:
        events = [
            *self._events,
            SessionUpdated(session=self._session_info(is_complete=is_complete)),
        ]
        self._events, self._event_bytes = [], 0
        # A call is written twice, alone and with its result: its texts are looked at once.
        scrub_once = cache(scrub)
        self._open_writer().append([self._record(event, scrub_once) for event in events], sync=sync)

    def _record(self, event: Event, scrub: Scrub) -> Record:
        redacted = redacted_event(event, scrub)
        if redacted.type == "message.part.updated":
            # After the redaction, so that blobs contain nothing that was redacted in the log.
            part = with_blobs(self._store, redacted.part)
            redacted = redacted if part is redacted.part else PartUpdated.unchecked(part=part)
        self._seq += 1
        record = Record.of_event(redacted, seq=self._seq, ts=self._time_ms_of(event))
        if self._message_facts is not None:
            self._message_facts.note(record)
        return record

    def _write_checkpoint(self) -> None:
        self._builder.forget_messages()
        facts, session_id = self._message_facts, self._derived_ids.session_id
        if facts is None or self._existing is not None:
            facts = MessageFacts.in_records(self._store.read(session_id))
        write_recording_checkpoint(
            self._store,
            self._open_writer(),
            facts,
            self._builder.facts.time_ms,
            has_summary=self._has_summary,
        )

    def _time_ms_of(self, event: Event) -> int:
        if event.type == "message.updated":
            return event.info.time.created
        newest_ms = self._builder.facts.time_ms
        if event.type == "message.part.updated" and event.part.type == "tool":
            state = event.part.state
            end_ms = None if isinstance(state, ToolPending) else state.time.end
            return newest_ms if end_ms is None else end_ms
        return newest_ms

    def _title(self) -> str:
        title = self._builder.facts.title
        return f"{title} ({self._copy_name})" if self._copy else title

    @cached_property
    def _copy_name(self) -> str:
        """The name that distinguishes a copy from the first session with its id: that of the file, if it is another."""
        try:
            first_session = self._find_existing(
                DerivedIds(self._begin.format, self._begin.id).session_id
            )
        except Differs:
            first_session = None
        first_name = None if first_session is None else first_session.note.get("name")
        return AGAIN_REASON if first_name in (None, self._source) else visible_line(self._source)

    def _session_info(self, *, is_complete: bool) -> SessionInfo:
        facts = self._builder.facts
        info = facts.session_info(self._store.project_id)
        origin = facts.origin() | {
            "title": self._title(),
            "name": self._source,
            "importer_version": IMPORTER_VERSION,
            "values": self._hash.count,
            "fingerprint": self._hash.digest,
            "complete": is_complete,
            "read_only": True,
            "session": self._derived_ids.session_id,
            "at": self._now_ms,
            **self._problems(is_complete=is_complete),
        }
        existing = self._existing
        if existing is None:
            return info.model_copy(
                update={"title": self._title(), "metadata": {IMPORT_NOTE_KEY: origin}}
            )
        changes: Json = {
            "time": existing.session.time.model_copy(update={"updated": info.time.updated}),
            "model": info.model,
            "cost": info.cost,
            "tokens": info.tokens,
            "unpriced": info.unpriced,
            "metadata": {**(existing.session.metadata or {}), IMPORT_NOTE_KEY: origin},
        }
        if existing.session.title == existing.note.get("title"):
            changes["title"] = self._title()
        return existing.session.model_copy(update=changes)


def _reason(error: Exception) -> str:
    if isinstance(error, NotJournaled):
        return str(error)
    if isinstance(error, ValidationError):
        first_error = error.errors()[0]
        field_path = ".".join(str(path_step) for path_step in first_error["loc"]) or "it"
        return f"It cannot be part of a session: {field_path}: {first_error['msg'].lower()}."
    return "It cannot be part of a session: a field of it is not what it should be."
