"""Read sessions from OpenCode's storage folder or an exported JSON file: JSON in, plain values out.

Border: opens files below the given path and nothing else; executes and writes nothing. A file that
cannot be read is reported and skipped, so that it does not affect the others.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from palimpsest.store.bounded_json import MAX_SESSION_FACTOR, BuildsTooMuch, BuiltSize, json_value
from palimpsest.store.disk import MAX_SMALL_BYTES, TooLarge, read_small
from palimpsest.store.interface import Problem
from palimpsest.store.project_folder.layout import SAFE_NAME
from palimpsest.transcript.errors import NotFound, UserError

Json = dict[str, Any]

OLD_FORMAT = (
    "{name} is in OpenCode's older message format, which keeps the parts inside the messages; open it "
    "once with OpenCode 0.6 or later, which rewrites it, and import it then."
)
NOT_KNOWN = (
    "{name} holds no sessions that can be imported: it is neither OpenCode's storage folder or "
    "database nor the JSON of an exported session."
)
_ID_FIELD = slice(4, 16)
"""The characters of an id that hold its time, as hex digits."""
_ID_UNITS_PER_MS = 4_096
_ID_TIME_RANGE = 1 << 48
_MAX_ID_LEAD = 1 << 46
"""Maximum by which an id's time may precede its message's time, in units of ids, since clocks are set back."""
MAX_EXPORT_BYTES = 512_000_000
"""Maximum size of an exported session, which is read whole."""
_TYPE_RANKS = {"step-start": -1, "step-finish": 1, "patch": 1}


@dataclass(frozen=True, slots=True)
class SourceSession:
    """One session in the form of its source."""

    name: str
    """The name of its file, relative to the imported path."""
    session: Json
    messages: tuple[tuple[Json, tuple[Json, ...]], ...] = ()
    """Info and parts, in order."""
    todos: tuple[Json, ...] = ()
    diff: tuple[Json, ...] = ()
    project: Json | None = None
    own_export: Json | None = None
    """The field that an export of Palimpsest adds: the log, and the long texts it refers to."""

    @property
    def id(self) -> str:
        """The session's id in its source."""
        return str(self.session["id"])


@dataclass(slots=True)
class ImportFindings:
    """Collects problems while a source is read."""

    problems: list[Problem] = field(default_factory=list)
    old_format_message: str | None = None
    """The message about OpenCode's older format, if the source has it."""

    def report(self, name: str, problem: str) -> None:
        """Add a problem: where it is and what is wrong."""
        self.problems.append(Problem(name, problem))


def sessions_at(path: Path, findings: ImportFindings) -> Iterator[SourceSession]:
    """Yield the sessions of a storage folder or of one file; raises UserError for neither."""
    if not path.exists():
        raise NotFound(f"There is no {str(path)!r}.")
    if path.is_file():
        yield from _session_of_export(path, findings)
        return
    root = path / "storage" if (path / "storage" / "session").is_dir() else path
    if (root / "session" / "info").is_dir() or (root / "session" / "message").is_dir():
        raise UserError(OLD_FORMAT.format(name=f"{path.name!r}"))
    if not (root / "session").is_dir() and not (root / "message").is_dir():
        raise UserError(NOT_KNOWN.format(name=f"{str(path)!r}"))
    yield from _sessions_of_storage(root, findings)


def _session_of_export(path: Path, findings: ImportFindings) -> Iterator[SourceSession]:
    data = _read_json(path, path.name, findings, BuiltSize(MAX_SESSION_FACTOR), MAX_EXPORT_BYTES)
    if data is None:
        raise UserError(f"{path.name!r} cannot be read: {findings.problems[-1].what}")
    info, messages = data.get("info"), data.get("messages")
    if isinstance(messages, list) and any(_is_old_format(message) for message in messages):
        raise UserError(OLD_FORMAT.format(name=f"{path.name!r}"))
    if not isinstance(info, dict) or not isinstance(messages, list) or "id" not in info:
        raise UserError(NOT_KNOWN.format(name=f"{path.name!r}"))
    own_export = data.get("palimpsest")
    source = SourceSession(
        name=path.name,
        session=info,
        messages=tuple(_messages_of_export(messages, path.name, findings)),
        todos=_objects(data.get("todos"), path.name, findings),
        diff=_objects(data.get("diff"), path.name, findings),
        own_export=own_export if isinstance(own_export, dict) else None,
    )
    if accept_session_id(source.id, path.name, findings):
        yield source


def _messages_of_export(
    messages: list[Any], name: str, findings: ImportFindings
) -> Iterator[tuple[Json, tuple[Json, ...]]]:
    for index, message in enumerate(messages):
        info = message.get("info") if isinstance(message, dict) else None
        if not isinstance(info, dict) or not isinstance(info.get("id"), str):
            location = f"{name}, message {index + 1}"
            findings.report(location, "It is no message: it has no info with an id.")
            continue
        yield info, _objects(message.get("parts"), f"{name}, {info['id']}", findings)


def _is_old_format(message: Any) -> bool:
    return isinstance(message, dict) and "info" not in message and "metadata" in message


def _objects(value: Any, name: str, findings: ImportFindings) -> tuple[Json, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        findings.report(name, "A list was expected and something else is there.")
        return ()
    objects = tuple(entry for entry in value if isinstance(entry, dict))
    if len(objects) < len(value):
        findings.report(name, f"{len(value) - len(objects)} entries of a list are no objects.")
    return objects


def _sessions_of_storage(root: Path, findings: ImportFindings) -> Iterator[SourceSession]:
    projects = {path.stem: path for path in sorted((root / "project").glob("*.json"))}
    seen_ids: set[str] = set()
    for path in sorted((root / "session").glob("*/*.json")):
        name = path.relative_to(root).as_posix()
        session = _read_json(path, name, findings)
        if session is None or not accept_session_id(session.get("id"), name, findings):
            continue
        seen_ids.add(session["id"])
        messages = _messages_of_storage(root, name, session, findings)
        if messages is None:
            continue
        todos = _read_list(root / "todo" / f"{session['id']}.json", root, findings)
        diff = _read_list(root / "session_diff" / f"{session['id']}.json", root, findings)
        project = None
        if project_path := projects.get(path.parent.name):
            project = _read_json(project_path, f"project/{project_path.name}", findings)
        yield SourceSession(name, session, messages, todos, diff, project)
    for folder in sorted((root / "message").glob("*/")):
        if folder.name not in seen_ids and any(folder.glob("*.json")):
            ending = f"/{folder.name}.json"
            if not any(problem.where.endswith(ending) for problem in findings.problems):
                findings.report(f"message/{folder.name}", "The file of its session is missing.")


def _messages_of_storage(
    root: Path, name: str, session: Json, findings: ImportFindings
) -> tuple[tuple[Json, tuple[Json, ...]], ...] | None:
    """Return the messages of a session in order; None if they are in OpenCode's older format."""
    messages: list[tuple[Json, tuple[Json, ...]]] = []
    built_size = BuiltSize(MAX_SESSION_FACTOR)
    for path in (root / "message" / session["id"]).glob("*.json"):
        location = path.relative_to(root).as_posix()
        info = _read_json(path, location, findings, built_size)
        if info is None:
            continue
        if _is_old_format(info) and "parts" in info:
            findings.old_format_message = OLD_FORMAT.format(name=repr(name))
            findings.report(name, findings.old_format_message)
            return None
        if not isinstance(info.get("id"), str):
            findings.report(location, "It is no message: it has no id.")
            continue
        messages.append((info, _read_parts(root, info, findings, built_size)))
    return tuple(sorted_messages(messages))


def _read_parts(
    root: Path, info: Json, findings: ImportFindings, built_size: BuiltSize
) -> tuple[Json, ...]:
    if SAFE_NAME.fullmatch(info["id"]) is None:
        return ()
    parts = (
        _read_json(path, path.relative_to(root).as_posix(), findings, built_size)
        for path in (root / "part" / info["id"]).glob("*.json")
    )
    return sorted_parts(info, [part for part in parts if part is not None])


def sorted_parts(info: Json, parts: list[Json]) -> tuple[Json, ...]:
    """Return the parts of a message by their ids, counted from the message's time."""
    created_ms = _number(info.get("time"), "created")
    return tuple(sorted(parts, key=lambda part: _part_sort_key(part, created_ms)))


def sorted_messages(
    messages: list[tuple[Json, tuple[Json, ...]]],
) -> list[tuple[Json, tuple[Json, ...]]]:
    """Return messages by time, an answer after its prompt; ids wrap around, so they only break ties."""
    ids = {info["id"]: info for info, _ in messages}

    def key(message: tuple[Json, tuple[Json, ...]]) -> tuple[int, int, int, str]:
        info = message[0]
        created_ms = _number(info.get("time"), "created")
        depth, ancestor, ancestors = 0, info, {info["id"]}
        while ancestor.get("parentID") in ids and ancestor["parentID"] not in ancestors:
            ancestor = ids[ancestor["parentID"]]
            if _number(ancestor.get("time"), "created") < created_ms:
                break
            ancestors.add(ancestor["id"])
            depth += 1
        return created_ms, depth, _time_since(info["id"], created_ms), info["id"]

    return sorted(messages, key=key)


def _part_sort_key(part: Json, created_ms: int) -> tuple[int, int, int, str]:
    """Return the sort key of a part in its message: its id's time relative to the message's, and ties."""
    part_id = str(part.get("id", ""))
    state = part.get("state")
    call_time = state.get("time") if isinstance(state, dict) else None
    began_ms = _number(part.get("time"), "start") or _number(call_time, "start")
    return (
        _time_since(part_id, created_ms),
        _TYPE_RANKS.get(str(part.get("type")), 0),
        began_ms,
        part_id,
    )


def _time_since(identifier: str, created_ms: int) -> int:
    """Return how long after ``created_ms`` (milliseconds) an id was made, in units of its 48-bit time."""
    try:
        number = int(identifier[_ID_FIELD], 16)
    except ValueError:
        return _MAX_ID_LEAD
    return (number - created_ms * _ID_UNITS_PER_MS + _MAX_ID_LEAD) % _ID_TIME_RANGE


def _number(fields: Any, name: str) -> int:
    value = fields.get(name) if isinstance(fields, Mapping) else None
    return int(value) if isinstance(value, int | float) and value == value else 0


def _read_list(path: Path, root: Path, findings: ImportFindings) -> tuple[Json, ...]:
    name = path.relative_to(root).as_posix()
    try:
        if path.is_file():
            return _objects(json_value(read_small(path, follow=True)), name, findings)
    except (OSError, ValueError) as error:
        findings.report(name, _problem_sentence(error))
    return ()


def _read_json(
    path: Path,
    name: str,
    findings: ImportFindings,
    built_size: BuiltSize | None = None,
    max_bytes: int = MAX_SMALL_BYTES,
) -> Json | None:
    try:
        data = json_value(read_small(path, max_bytes, follow=True), built_size)
    except (OSError, ValueError) as error:
        findings.report(name, _problem_sentence(error))
        return None
    if not isinstance(data, dict):
        findings.report(name, "It holds no JSON object.")
        return None
    return data


def _problem_sentence(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"It is no JSON: {error.msg.lower()} in line {error.lineno}, column {error.colno}."
    if isinstance(error, UnicodeDecodeError):
        return "It is no JSON: it is not text in UTF-8."
    if isinstance(error, BuildsTooMuch):
        return str(error)
    if isinstance(error, TooLarge):
        return f"{error.strerror} and was left out."
    if isinstance(error, OSError):
        return f"It cannot be opened: {error.strerror or error}."
    return "It is no JSON that can be read: it is nested too deeply."


def accept_session_id(identifier: Any, name: str, findings: ImportFindings) -> bool:
    """Report a session's id that is no safe name; returns whether it is one."""
    if isinstance(identifier, str) and SAFE_NAME.fullmatch(identifier):
        return True
    findings.report(name, f"{identifier!r} is no id of a session: letters, digits, - and _ only.")
    return False
