"""Export a session as JSON: in OpenCode's format, plus everything that only Palimpsest has.

Border: reads the store; the caller passes the function that redacts secrets, and the target. One message
is held in memory at a time. An imported session is exported with the JSON it was imported from.
"""

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from palimpsest.store.blobs.blob_storage import HASH_CHARS
from palimpsest.store.exchange.opencode_format import (
    info_json,
    part_json,
    session_json,
    with_unread,
)
from palimpsest.store.interface import Store
from palimpsest.store.project_folder.layout import SAFE_NAME
from palimpsest.store.session_state.state import State
from palimpsest.transcript.context_values.decisions import EffectiveDecisions
from palimpsest.transcript.errors import NotFound, UserError
from palimpsest.transcript.parts import Attachment, FilePart, Part, ToolCompleted, ToolPart
from palimpsest.transcript.session_record.events import Checkpoint, DecisionMade, Record
from palimpsest.transcript.session_record.sessions import SessionInfo

Json = dict[str, Any]
Clean = Callable[[Any], Any]
"""A function that returns a JSON value with its secrets redacted."""

EXPORT_VERSION = 1


def imported_metadata(state: State) -> Mapping[str, Any]:
    """Return the metadata about the import of a session; empty for one that was not imported."""
    metadata = None if state.session is None else state.session.metadata
    note = (metadata or {}).get("imported")
    return note if isinstance(note, dict) else {}


def is_exported_event(record: Record) -> bool:
    """Return whether a record is valid in another log; a checkpoint is not, since it has byte offsets."""
    return not isinstance(record.event, Checkpoint)


def readable_session(store: Store, session_id: str) -> tuple[State, SessionInfo]:
    """Return the whole state of a session, and its record; raises NotFound where it has no readable record."""
    state = store.load(session_id)
    if state.session is None:
        raise NotFound(f"Session {session_id!r} has no readable beginning.")
    return state, state.session


def messages_json(store: Store, session_id: str) -> Iterator[tuple[Json, list[Json]]]:
    """Yield a session's messages as OpenCode's JSON, info and parts, with long texts in full.

    Reverted messages are included, since OpenCode keeps them until the next prompt.
    """
    state = store.load(session_id)
    effective = EffectiveDecisions(state.decisions)
    clear_times = output_clear_times(store, session_id)
    for slot in state.message_slots():
        message = state.message(slot.id)
        slot.built_message = None
        slot.parts.clear()
        if message is not None:
            info = info_json(message.info)
            values = [part_value(store, part, effective, clear_times) for part in message.parts]
            parts = with_unread(info, values)
            if message.info.session_id != session_id:  # inherited by a fork from its parent's log
                for value in (info, *parts):
                    value["sessionID"] = session_id
            yield info, parts


def output_clear_times(store: Store, session_id: str) -> dict[str, int]:
    """Return when each output was cleared, in milliseconds since 1970, by decision id."""
    return {
        record.event.decision.id: record.ts
        for record in store.read(session_id, only=("decision",))
        if isinstance(record.event, DecisionMade) and record.event.decision.action == "clear"
    }


def part_value(
    store: Store, part: Part, effective: EffectiveDecisions, clear_times: Mapping[str, int]
) -> Json:
    """Return a part as OpenCode's JSON, with long texts in full and the time at which it was cleared."""
    value = part_json(full_part(store, part))
    if isinstance(part, ToolPart) and isinstance(part.state, ToolCompleted):
        reduction = effective.reduction(part.id, part.message_id)
        time = value["state"]["time"]
        if reduction is None or reduction.action != "clear":
            time.pop("compacted", None)
        elif "compacted" not in time:
            time["compacted"] = clear_times.get(reduction.id, time.get("end", time["start"]))
    return value


def full_part(store: Store, part: Part) -> Part:
    """Return a part with long texts loaded from blobs; a text whose blob is gone stays as in the log."""
    if isinstance(part, FilePart):
        return part.model_copy(update={"url": data_url(store, part)})
    if not isinstance(part, ToolPart) or not isinstance(part.state, ToolCompleted):
        return part
    part = full_output(store, part)
    attachments = tuple(
        attachment.model_copy(update={"url": data_url(store, attachment)})
        for attachment in getattr(part.state, "attachments", ())
    )
    state = part.state.model_copy(update={"attachments": attachments})
    return part.model_copy(update={"state": state})


def full_output(store: Store, part: ToolPart) -> ToolPart:
    """Return a tool call with its full output; its attachments are unchanged."""
    state = part.state
    if not isinstance(state, ToolCompleted) or state.blob is None:
        return part
    try:
        content = store.get_blob(state.blob.sha256).decode("utf-8", "surrogatepass")
    except NotFound:
        return part
    full_state = state.model_copy(update={"output": content, "blob": None})
    return part.model_copy(update={"state": full_state})


def data_url(store: Store, file: FilePart | Attachment) -> str:
    """Return an attachment's url, as a ``data:`` url if the store has its blob."""
    if file.url.startswith("blob:"):
        with suppress(NotFound):
            content = store.get_blob(file.url.removeprefix("blob:"))
            return f"data:{file.mime};base64,{base64.b64encode(content).decode()}"
    return file.url


def export_json(store: Store, session_id: str, clean: Clean) -> Iterator[str]:
    """Yield the JSON of a session in pieces: OpenCode's format, and a field ``palimpsest``.

    ``clean`` redacts secrets in JSON. ``palimpsest`` has the log and the long texts it refers to, so
    that an import restores the same session. Raises NotFound.
    """
    state, session = readable_session(store, session_id)
    yield f'{{"info": {json.dumps(clean(session_json(session)))},\n"messages": ['
    messages = ({"info": info, "parts": parts} for info, parts in messages_json(store, session_id))
    yield from _comma_lines(json.dumps(clean(message)) for message in messages)
    todos = [todo.model_dump(mode="json", exclude_none=True) for todo in state.todos]
    yield f'],\n"todos": {json.dumps(clean(todos))},\n"diff": {json.dumps(clean(list(state.diff)))},\n'
    yield f'"palimpsest": {{"v": {EXPORT_VERSION}, "records": ['
    blob_hashes: dict[str, None] = {}

    def records() -> Iterator[str]:
        for record in store.read(session_id):
            if is_exported_event(record):
                data = record.wire()
                blob_hashes.update(dict.fromkeys(_blob_hashes(data)))
                yield json.dumps(clean(data))

    yield from _comma_lines(records())
    yield '],\n"blobs": {'
    blobs = ((sha256, _blob(store, sha256, clean)) for sha256 in blob_hashes)
    yield from _comma_lines(
        f"{json.dumps(sha256)}: {json.dumps(base64.b64encode(content).decode())}"
        for sha256, content in blobs
        if content is not None
    )
    yield "}}}\n"


def _comma_lines(pieces: Iterable[str]) -> Iterator[str]:
    """Yield texts on lines of their own, with commas between them."""
    for index, piece in enumerate(pieces):
        yield f"{',' if index else ''}\n{piece}"


def _blob(store: Store, sha256: str, clean: Clean) -> bytes | None:
    """Return a blob's content; None for one that is gone or contains a secret."""
    try:
        content = store.get_blob(sha256)
    except NotFound:
        return None
    text = content.decode("utf-8", "replace")
    return content if clean(text) == text else None


def _blob_hashes(value: Any) -> Iterator[str]:
    """Yield the blob hashes in a record, at any depth; every string of 64 characters counts."""
    match value:
        case dict():
            for inner in value.values():
                yield from _blob_hashes(inner)
        case list():
            for inner in value:
                yield from _blob_hashes(inner)
        case str() if value.startswith("blob:"):
            yield value.removeprefix("blob:")
        case str() if len(value) == HASH_CHARS:
            yield value
        case _:
            pass


def export_storage(store: Store, session_id: str, folder: Path, clean: Clean) -> Path:
    """Write a session in the layout of OpenCode's storage, and return the path of its info file.

    If it cannot be finished, the files written are deleted again. Raises NotFound, UserError if the
    session is there already, and FileExistsError.
    """
    state, session = readable_session(store, session_id)
    info = session_json(session)
    project_id = str(info.get("projectID") or store.project_id)
    _check_safe_ids({"id": project_id})
    path = folder / "session" / project_id / f"{session.id}.json"
    if path.exists():
        raise UserError(f"{str(path)!r} is there already; name another folder.")
    files = _storage_files(store, state, session, project_id, clean)
    written_paths: list[Path] = []
    try:
        for name, value in files:
            written_path = folder / name
            if name.startswith("project/") and written_path.exists():
                continue
            _write(written_path, value, written_paths)
        _write(path, clean(info), written_paths)
    except BaseException:
        for written_path in reversed(written_paths):
            _delete_with_empty_folders(written_path, folder)
        raise
    return path


def _storage_files(
    store: Store, state: State, session: SessionInfo, project_id: str, clean: Clean
) -> Iterator[tuple[str, Any]]:
    """Yield the files of a session except its info: path in the folder, and JSON value."""
    project = imported_metadata(state).get("project") or {
        "id": project_id,
        "worktree": session.directory,
        "time": {"created": session.time.created},
    }
    yield f"project/{project_id}.json", clean(project)
    for message, parts in messages_json(store, session.id):
        _check_safe_ids(message, *parts)
        yield f"message/{session.id}/{message['id']}.json", clean(message)
        for part in parts:
            yield f"part/{message['id']}/{part['id']}.json", clean(part)
    todos = [todo.model_dump(mode="json", exclude_none=True) for todo in state.todos]
    if todos:
        yield f"todo/{session.id}.json", clean(todos)
    yield f"session_diff/{session.id}.json", clean(list(state.diff))


def _check_safe_ids(*values: Json) -> None:
    """Raise UserError for an id that is unsafe as a file name, since the log is untrusted."""
    for value in values:
        if SAFE_NAME.fullmatch(str(value.get("id"))) is None:
            raise UserError(
                f"The session has an id that cannot name a file, {value.get('id')!r:.80}; export it as json."
            )


def _write(path: Path, value: Any, written_paths: list[Path]) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with path.open("x", encoding="utf-8", errors="surrogatepass") as file:
        written_paths.append(path)
        file.write(json.dumps(value, indent=2, ensure_ascii=False))


def _delete_with_empty_folders(path: Path, folder: Path) -> None:
    """Delete a file, and the folders that are empty without it."""
    path.unlink()
    with suppress(OSError):
        while path != folder:
            path = path.parent
            path.rmdir()
