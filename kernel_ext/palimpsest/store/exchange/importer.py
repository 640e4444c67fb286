"""Import sessions from OpenCode's files and from Palimpsest's own exports.

Border: imported content is data. It is written into logs as records, and nothing in it takes effect:
no permission rule of an imported session applies here, and interrupted work is closed only when the
session is opened. ``json_export`` writes the sessions out again.
"""

import base64
import binascii
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import uuid4

from pydantic import ValidationError

from palimpsest.store.blobs.blob_storage import SHORT_HASH_CHARS
from palimpsest.store.exchange.import_database import database_sessions, starts_as_database
from palimpsest.store.exchange.import_merge import events_of_update, message_events, with_blobs
from palimpsest.store.exchange.import_report import (
    SESSION_OPEN,
    STOPPED,
    ImportControl,
    Imported,
    ImportReport,
    Outcome,
)
from palimpsest.store.exchange.import_sources import ImportFindings, SourceSession, sessions_at
from palimpsest.store.exchange.json_export import (
    EXPORT_VERSION,
    imported_metadata,
    is_exported_event,
)
from palimpsest.store.exchange.opencode_format import (
    REVERT_FIELDS,
    SHARED_FIELDS,
    UNREAD_FIELD,
    NotOpenCodeValue,
    invalid_field_reason,
    is_unread,
    read_info,
    read_part,
    read_session,
)
from palimpsest.store.exchange.written_checkpoint import write_checkpoint
from palimpsest.store.interface import Store
from palimpsest.store.log_lines import is_unknown
from palimpsest.store.project_folder.lease import this_owner
from palimpsest.store.session_state.state import State, apply_records
from palimpsest.transcript.errors import NotFound, SessionHeld, UserError
from palimpsest.transcript.messages import Message, MessageInfo
from palimpsest.transcript.parts import Part
from palimpsest.transcript.redaction.secret_patterns import scrub
from palimpsest.transcript.redaction.secret_removal import redacted_event
from palimpsest.transcript.session_record.events import (
    Event,
    MessageUpdated,
    PartUpdated,
    Record,
    SessionCreated,
    SessionDiff,
    SessionUpdated,
    TodoUpdated,
    parse_record,
)
from palimpsest.transcript.session_record.sessions import SessionInfo
from palimpsest.transcript.values import Todo

Json = dict[str, Any]

NEWER_RECORD = "It is a record of a newer version of Palimpsest, and was left out; update Palimpsest to bring it in."
NEWER_PART = "It is of the type {type!r}, which this version does not know; it is kept for an export, and not shown."
EXPORTED_KEY = "exported"
"""Key of an import note that names the Palimpsest export a recording came from."""
OWN_EXPORT_FIELDS = frozenset({"policy", "policy_choice", "unpriced", "limits"})
"""Fields of a session's info that are also kept from our exports; none of them grants a permission."""
IDLE_RECORDS = frozenset({"session.checkpoint", "session.status", "session.error"})
"""Types of records that are also written by only opening a session."""
FIELDS_SET_BY_OPENING = frozenset(
    {"permission", "mode", "mode_own", "budget", "model", "claimed", "cost", "tokens"}
    | {"unpriced", "below", "agent"}
)
"""Fields of a session's info that opening it may set."""


def import_sessions(
    store: Store, path: Path, clock: Callable[[], int], control: ImportControl | None = None
) -> ImportReport:
    """Import the sessions at a path into a store; importing the same again adds nothing.

    ``path`` is OpenCode's storage folder, its database, or the JSON of an exported session. A session whose
    source changed is updated, unless it was continued here: then the changed session is imported as a
    copy. Raises UserError with one sentence when there is nothing to import.
    """
    findings = ImportFindings()
    fingerprints_by_id: dict[str, str] = {}
    imported = []
    sessions_of = database_sessions if path.is_file() and starts_as_database(path) else sessions_at
    for source in sessions_of(path, findings):
        if control is not None and control.is_cancelled():
            findings.report(path.name, STOPPED)
            break
        fingerprint = _content_fingerprint(source)
        if fingerprints_by_id.get(source.id) == fingerprint:
            continue
        try:
            session_import = _Import(store, source, fingerprint, clock(), findings)
            imported.append(session_import.run(is_first=source.id not in fingerprints_by_id))
        except (NotOpenCodeValue, ValidationError) as error:
            findings.report(source.name, f"It is no session: {_reason(error)}.")
        except SessionHeld:
            findings.report(source.name, SESSION_OPEN.format(id=source.id))
        else:
            fingerprints_by_id[source.id] = fingerprint
    if not imported and findings.old_format_message is not None:
        raise UserError(findings.old_format_message)
    return ImportReport(tuple(imported), tuple(findings.problems))


def _content_fingerprint(source: SourceSession) -> str:
    """Return a hash of a source session's content, which changes with it."""
    content = [source.session, source.messages, source.todos, source.diff, source.own_export]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _is_equal_except_opening(old_info: SessionInfo | None, new_info: SessionInfo) -> bool:
    """Return whether a session's info changed only in fields that opening it may set."""
    if old_info is None:
        return False
    ignored_fields = dict.fromkeys(FIELDS_SET_BY_OPENING)
    return old_info.model_copy(update=ignored_fields) == new_info.model_copy(update=ignored_fields)


def _reason(error: Exception) -> str:
    if isinstance(error, ValidationError):
        return invalid_field_reason(error.errors()[0])
    return str(error)


def _import_note(state: State) -> Mapping[str, Any]:
    """Return the note about a session's import; for a recording from a Palimpsest export, about that export."""
    note = imported_metadata(state)
    export_note = note.get(EXPORTED_KEY)
    return export_note if isinstance(export_note, dict) else note


@dataclass(eq=False, repr=False)
class _Import:
    _store: Store
    _source: SourceSession
    _fingerprint: str
    _now_milliseconds: int
    _findings: ImportFindings

    def run(self, *, is_first: bool) -> Imported:
        """Import the session; ``is_first`` is false for another session with the same id in one source."""
        source = self._source
        state = self._stored_state(source.id)
        if state is None:
            return self._begin_session(source.id, "new")
        import_note = _import_note(state)
        if import_note.get("fingerprint") == self._fingerprint or self._is_same_export(source.id):
            return self._imported_session(source.id, state, "same")
        missing_records = self._missing_records(source.id, "new")
        if missing_records:
            return self._begin_session(source.id, "new", missing_records)
        if is_first and source.own_export is None and self._is_untouched(import_note):
            return self._update(state)
        copy_id = f"ses_{self._fingerprint[:26]}"
        copy_state = self._stored_state(copy_id)
        if copy_state is None:
            return self._begin_session(copy_id, "copy")
        if _import_note(copy_state).get("fingerprint") == self._fingerprint:
            return self._imported_session(copy_id, copy_state, "same")
        return self._begin_session(copy_id, "copy", self._missing_records(copy_id, "copy"))

    def _stored_state(self, session_id: str) -> State | None:
        try:
            state = self._store.load(session_id)
        except NotFound:
            return None
        return None if state.session is None else state

    def _imported_session(self, session_id: str, state: State, outcome: Outcome) -> Imported:
        title = "" if state.session is None else state.session.title
        return Imported(session_id, title, outcome, len(state.message_slots()))

    def _is_same_export(self, session_id: str) -> bool:
        """Return whether the session here is the exported one, perhaps continued."""
        if self._source.own_export is None:
            return False
        stored_records = filter(is_exported_event, self._store.read(session_id))
        stored_lines = (record.line() for record in stored_records)
        return all(next(stored_lines, None) == record.line() for record in self._own_records())

    def _is_untouched(self, import_note: Mapping[str, Any]) -> bool:
        """Return whether a session was imported from this source and only read since."""
        if import_note.get("id") != self._source.id:
            return False
        seq = int(import_note.get("seq", 0))
        imported_info: SessionInfo | None = None
        for record in self._store.read(self._source.id):
            event = record.event
            new_info = event.session if isinstance(event, SessionCreated | SessionUpdated) else None
            if record.seq <= seq or event.type in IDLE_RECORDS:
                imported_info = new_info or imported_info
            elif new_info is None or not _is_equal_except_opening(imported_info, new_info):
                return False
        return True

    def _begin_session(
        self, session_id: str, outcome: Outcome, missing_records: Sequence[Record] = ()
    ) -> Imported:
        writer = self._store.acquire(session_id, this_owner(f"import-{uuid4().hex}"), create=True)
        try:
            records = self._numbered_records(session_id, outcome)
            state = apply_records(records)
            writer.append(missing_records or records, sync=True)
            write_checkpoint(self._store, writer, state, self._now_milliseconds)
        finally:
            writer.close()
        return self._imported_session(session_id, state, outcome)

    def _missing_records(self, session_id: str, outcome: Outcome) -> Sequence[Record]:
        """Return the records that an interrupted import did not write.

        None are missing if the log contains anything but the beginning of the import.
        """
        # Problems are reported when the session is written, not when it is compared.
        findings, self._findings = self._findings, ImportFindings()
        records = self._numbered_records(session_id, outcome)
        self._findings = findings
        stored_records = list(islice(self._store.read(session_id), len(records)))
        pairs = zip(stored_records, records, strict=False)
        is_same = all((old.seq, old.event) == (new.seq, new.event) for old, new in pairs)
        return records[len(stored_records) :] if is_same else ()

    def _numbered_records(self, session_id: str, outcome: Outcome) -> list[Record]:
        """Return all records of the session; the last one marks it as completely imported."""
        events: list[Event]
        if self._source.own_export is not None:
            self._store_blobs(self._source.own_export.get("blobs"))
            project_id = self._store.project_id
            records = [_with_session_id(r, session_id, project_id) for r in self._own_records()]
            state = apply_records(records)
            session = state.session
            if session is None:
                raise NotOpenCodeValue("its log has no beginning")
            seq = records[-1].seq
            events = list(self._newer_part_events(state))
            records += [
                self._record(number, event) for number, event in enumerate(events, start=seq + 1)
            ]
        else:
            session = self._session_info(session_id)
            events = [SessionCreated(session=session)]
            for message in self._messages(session):
                events += message_events(message)
            events += self._remaining_events(State())
            records = [self._record(number, event) for number, event in enumerate(events, start=1)]
        seq = (records[-1].seq if records else 0) + 1
        marked_session = self._marked_session(session, outcome, seq)
        return [*records, self._record(seq, SessionUpdated(session=marked_session))]

    def _record(self, seq: int, event: Event) -> Record:
        time = getattr(getattr(event, "info", None), "time", None)
        ts = time.created if time is not None else self._now_milliseconds
        return Record(seq=seq, ts=ts, event=redacted_event(event, scrub))

    def _marked_session(self, session: SessionInfo, outcome: Outcome, seq: int) -> SessionInfo:
        source = self._source
        title = f"{session.title} (imported again)" if outcome == "copy" else session.title
        note: Json = {
            "from": "opencode" if source.own_export is None else "palimpsest",
            "id": source.id,
            "at": self._now_milliseconds,
            "seq": seq,
            "fingerprint": self._fingerprint,
        }
        if source.project is not None:
            note["project"] = source.project
        metadata = session.metadata or {}
        earlier_note = None if source.own_export is None else metadata.get("imported")
        if isinstance(earlier_note, dict) and earlier_note.get("from") not in (None, "palimpsest"):
            # A recording of another agent stays one, with its window, gaps and texts.
            note = {**earlier_note, "session": session.id, EXPORTED_KEY: note}
        metadata = {**metadata, "imported": note}
        return session.model_copy(update={"metadata": metadata, "title": title})

    def _session_info(self, session_id: str) -> SessionInfo:
        session_json = dict(self._source.session)
        times = (info.get("time") for info, _ in self._source.messages)
        created_times = [t["created"] for t in times if isinstance(t, dict) and "created" in t]
        if not isinstance(session_json.get("time"), dict):
            session_json["time"] = {
                "created": min(created_times, default=self._now_milliseconds),
                "updated": max(created_times, default=self._now_milliseconds),
            }
        session = read_session(session_json, self._store.project_id)
        return session.model_copy(update={"id": session_id})

    def _messages(self, session: SessionInfo) -> Iterator[Message]:
        models_by_message = _answering_models(self._source)
        seen_ids: set[str] = set()
        for info, parts in self._source.messages:
            location = f"{self._source.name}, {info['id']}"
            if info["id"] in seen_ids:
                problem = "Another message has this id; the first one was kept."
                self._findings.report(location, problem)
                continue
            seen_ids.add(info["id"])
            try:
                message_info = read_info(info, session.id, models_by_message.get(info["id"]))
            except NotOpenCodeValue as error:
                self._findings.report(location, f"It is no message: {error}.")
                continue
            message_parts, unread_parts = self._parts(parts, message_info, location)
            if unread_parts:
                message_info = message_info.model_copy(update={UNREAD_FIELD: unread_parts})
            yield Message(info=message_info, parts=message_parts)

    def _parts(
        self, parts: Iterable[Json], info: MessageInfo, location: str
    ) -> tuple[tuple[Part, ...], list[Json]]:
        """Return the parts that can be read, and those of a type unknown to this version."""
        parts_by_id: dict[str, Part] = {}
        unread_parts: list[Json] = []
        for index, part_json in enumerate(parts):
            name = f"{location}, {part_json.get('id') or part_json.get('type')}"
            if is_unread(part_json):
                self._findings.report(name, NEWER_PART.format(type=part_json["type"]))
                unread_parts.append({"at": index, "part": part_json})
                continue
            try:
                part = read_part(part_json, info.session_id, info.id)
            except NotOpenCodeValue as error:
                self._findings.report(name, f"It is no part: {error}.")
                continue
            if part.id in parts_by_id:
                self._findings.report(name, "Another part has this id; the first one was kept.")
            else:
                parts_by_id[part.id] = with_blobs(self._store, part)
        return tuple(parts_by_id.values()), unread_parts

    def _remaining_events(self, state: State) -> Iterator[Event]:
        todos = []
        for todo in self._source.todos:
            try:
                todos.append(Todo.model_validate(todo))
            except ValidationError as error:
                self._findings.report(f"todo/{self._source.id}.json", f"{_reason(error)}.")
        if tuple(todos) != state.todos:
            yield TodoUpdated(todos=tuple(todos))
        if self._source.diff != state.diff:
            yield SessionDiff(diff=self._source.diff)

    def _update(self, state: State) -> Imported:
        """Update a session that was only read here to its changed source."""
        session = self._session_info(self._source.id)
        new_messages = tuple(self._messages(session))
        events = [*events_of_update(state, new_messages), *self._remaining_events(state)]
        seq = state.seq + len(events) + 1
        events.append(SessionUpdated(session=self._marked_session(session, "updated", seq)))
        owner = this_owner(f"import-{uuid4().hex}")
        writer = self._store.acquire(self._source.id, owner)
        records = [
            self._record(number, event) for number, event in enumerate(events, start=state.seq + 1)
        ]
        try:
            writer.append(records, sync=True)
            for record in records:
                state.apply(record)
            write_checkpoint(self._store, writer, state, self._now_milliseconds)
        finally:
            writer.close()
        return Imported(session.id, session.title, "updated", len(new_messages))

    # Palimpsest's own export

    def _own_records(self) -> Iterator[Record]:
        own_export = self._source.own_export or {}
        version = own_export.get("v", 0)
        if isinstance(version, int) and version > EXPORT_VERSION:
            raise UserError(
                f"{self._source.name!r} was exported by a newer Palimpsest; update Palimpsest to import it."
            )
        last_seq = 0
        for index, data in enumerate(own_export.get("records") or ()):
            try:
                record = parse_record(data)
            except (ValidationError, KeyError, TypeError) as error:
                self._report_unreadable_record(index, data, error)
                continue
            if record.seq > last_seq and is_exported_event(record):
                last_seq = record.seq
                yield record.model_copy(update={"event": redacted_event(record.event, scrub)})

    def _report_unreadable_record(self, index: int, data: Any, error: Exception) -> None:
        location = f"{self._source.name}, record {index + 1}"
        if not isinstance(error, ValidationError):
            self._findings.report(location, "It is no record of a session.")
        elif not is_unknown(error):
            self._findings.report(location, f"It is no record of a session: {_reason(error)}.")
        elif not isinstance(data.get("part"), dict):
            # Unknown parts are reported by _newer_part_events.
            self._findings.report(location, NEWER_RECORD)

    def _newer_part_events(self, state: State) -> Iterator[Event]:
        """Yield updates of messages that keep their parts of types unknown to this version."""
        for info_json, parts in self._source.messages:
            unread_parts: list[Json] = [
                {"at": index, "part": part} for index, part in enumerate(parts) if is_unread(part)
            ]
            message = state.message(str(info_json.get("id"))) if unread_parts else None
            if message is None or getattr(message.info, UNREAD_FIELD, None) == unread_parts:
                continue
            for entry in unread_parts:
                part = entry["part"]
                location = f"{self._source.name}, {message.info.id}, {part['id']}"
                self._findings.report(location, NEWER_PART.format(type=part["type"]))
            yield MessageUpdated(info=message.info.model_copy(update={UNREAD_FIELD: unread_parts}))

    def _store_blobs(self, blobs: Any) -> None:
        for sha256, encoded in (blobs if isinstance(blobs, dict) else {}).items():
            try:
                content = base64.b64decode(encoded, validate=True)
            except (binascii.Error, TypeError, ValueError):
                content = b""
            if hashlib.sha256(content).hexdigest() == sha256:
                self._store.put_blob(content)
            else:
                location = f"{self._source.name}, {sha256[:SHORT_HASH_CHARS]}"
                self._findings.report(location, "A long text is damaged.")


def _with_session_id(record: Record, session_id: str, project_id: str) -> Record:
    """Return a record of another store's session with this session's id; permission rules are dropped.

    Messages that a fork shares with its parent become its own.
    """
    event = record.event
    if isinstance(event, MessageUpdated) and event.info.session_id != session_id:
        info = event.info.model_copy(update={"session_id": session_id})
        return record.model_copy(update={"event": event.model_copy(update={"info": info})})
    if isinstance(event, PartUpdated) and event.part.session_id != session_id:
        part = event.part.model_copy(update={"session_id": session_id})
        return record.model_copy(update={"event": event.model_copy(update={"part": part})})
    if not isinstance(event, SessionCreated | SessionUpdated):
        return record
    dropped_fields = SessionInfo.model_fields.keys() - SHARED_FIELDS - OWN_EXPORT_FIELDS
    changes: Json = {
        name: SessionInfo.model_fields[name].get_default(call_default_factory=True)
        for name in dropped_fields
    }
    changes |= {"id": session_id, "project_id": project_id}
    if event.session.revert is not None:
        revert = event.session.revert
        changes["revert"] = {name: revert[name] for name in REVERT_FIELDS if name in revert}
    session = event.session.model_copy(update=changes)
    return record.model_copy(update={"event": event.model_copy(update={"session": session})})


def _answering_models(source: SourceSession) -> dict[str, tuple[str, Json]]:
    """Return the agent and model that answered each prompt, by message id; those of the first answer as default."""
    models_by_prompt: dict[str, tuple[str, Json]] = {}
    first_answer: tuple[str, Json] | None = None
    for info, _ in source.messages:
        if info.get("role") == "assistant":
            fields: Json = {name: info[name] for name in ("providerID", "modelID") if name in info}
            agent_and_fields = (str(info.get("agent") or info.get("mode") or "build"), fields)
            first_answer = first_answer or agent_and_fields
            models_by_prompt.setdefault(str(info.get("parentID")), agent_and_fields)
    if first_answer is None:
        return {}
    message_ids = (str(info["id"]) for info, _ in source.messages)
    return {name: models_by_prompt.get(name, first_answer) for name in message_ids}
