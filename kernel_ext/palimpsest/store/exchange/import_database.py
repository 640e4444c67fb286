"""Read sessions from OpenCode's SQLite database: rows in, plain values out.

Border: ``plain_database`` reads the untrusted file, within limits; here its rows become sessions.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from palimpsest.store.bounded_json import MAX_SESSION_FACTOR, BuildsTooMuch, BuiltSize, json_value
from palimpsest.store.disk import open_regular
from palimpsest.store.exchange.import_sources import (
    NOT_KNOWN,
    ImportFindings,
    SourceSession,
    accept_session_id,
    sorted_messages,
    sorted_parts,
)
from palimpsest.store.exchange.plain_database import PlainDatabase, opened_database
from palimpsest.transcript.errors import UserError

Json = dict[str, Any]

MAGIC = b"SQLite format 3\0"
REQUIRED_TABLES = ("session", "message", "part")
"""The tables that make a database one of OpenCode's."""
SESSION_TABLES = ("message", "part", "todo")
"""The tables whose rows name their session."""
TABLE_KEYS = {
    name: "session_id" if name in SESSION_TABLES else ""
    for name in (*REQUIRED_TABLES, "project", "todo")
}
"""The tables that are read, and the column by which rows are looked up."""
DAMAGED = "{name} is a damaged database: {why}."
_JSON_COLUMNS = ("revert", "permission", "model", "metadata", "tokens")
"""Columns that hold JSON."""
_FIELD_OF_COLUMN = {
    "project_id": "projectID",
    "parent_id": "parentID",
    "workspace_id": "workspaceID",
}
"""The fields of OpenCode's JSON whose columns have another name."""
_TIME_COLUMNS = {
    "created": ("time_created", "created_at"),
    "updated": ("time_updated", "updated_at"),
    "compacting": ("time_compacting",),
    "archived": ("time_archived",),
}
"""The columns that may hold each time; the first that a row has counts."""


def starts_as_database(path: Path) -> bool:
    """Return whether a file is an SQLite database; raises OSError."""
    with open_regular(path, follow=True) as file:
        return file.read(len(MAGIC)) == MAGIC


def is_opencode_database(path: Path) -> bool:
    """Return whether a file is a database with OpenCode's tables; raises StorageFailed on a full disk."""
    try:
        with opened_database(path, TABLE_KEYS) as database:
            return set(REQUIRED_TABLES) <= database.tables
    except (sqlite3.Error, OSError, UnicodeDecodeError):
        return False


def database_sessions(path: Path, findings: ImportFindings) -> Iterator[SourceSession]:
    """Yield the sessions of a database; raises UserError where it cannot be read at all."""
    try:
        with opened_database(path, TABLE_KEYS) as database:
            if not set(REQUIRED_TABLES) <= database.tables:
                raise UserError(NOT_KNOWN.format(name=repr(path.name)))
            projects = {str(row.get("id")): row for row in database.rows("project")}
            sessions = [_session_json(row) for row in database.rows("session")]
            for session in sessions:
                if accept_session_id(session.get("id"), path.name, findings):
                    yield from _readable_session(database, session, projects, path.name, findings)
    except (UnicodeDecodeError, sqlite3.Error, OverflowError) as error:
        # A schema that is not UTF-8 is quoted in SQLite's error.
        why = "its schema is no text" if isinstance(error, UnicodeDecodeError) else error
        raise UserError(DAMAGED.format(name=repr(path.name), why=why)) from error


def _session_json(row: Json) -> Json:
    """Return a session's row as OpenCode's JSON; an early version keeps it whole in ``data``."""
    stored_json = _parse_object(row.get("data"))
    if stored_json:
        return stored_json | {"id": row.get("id")}
    summary = {name: _parse_column(value) for name, value in _pop_columns(row, "summary_").items()}
    tokens = _pop_columns(row, "tokens_")
    session = {_FIELD_OF_COLUMN.get(name, name): value for name, value in row.items()}
    for names in _TIME_COLUMNS.values():
        for name in names:
            session.pop(name, None)
    for name in _JSON_COLUMNS:
        if name in session:
            session[name] = _parse_column(session[name])
    share = session.pop("share_url", None)
    if share is not None:
        session["share"] = {"url": share}
    if summary:
        session["summary"] = summary
    if tokens:
        cache = {name: tokens.pop(f"cache_{name}", 0) for name in ("read", "write")}
        session["tokens"] = tokens | {"cache": cache}
    return session | {"time": _time_field(row)}


def _pop_columns(row: Json, prefix: str) -> Json:
    """Take the columns with a prefix out of a row; returns their values by the names without it."""
    return {name.removeprefix(prefix): row.pop(name) for name in [*row] if name.startswith(prefix)}


def _time_field(row: Mapping[str, Any]) -> Json:
    times = {
        name: next((row[column] for column in columns if column in row), None)
        for name, columns in _TIME_COLUMNS.items()
    }
    return {name: value for name, value in times.items() if value is not None}


def _readable_session(
    database: PlainDatabase,
    session: Json,
    projects: Mapping[str, Json],
    file_name: str,
    findings: ImportFindings,
) -> Iterator[SourceSession]:
    """Yield a session; a session too large for memory is reported instead."""
    try:
        session_id = str(session["id"])
        built_size = BuiltSize(MAX_SESSION_FACTOR)
        parts: dict[str, list[Json]] = {}
        for row in database.rows("part", session_id):
            part = _parse_object(row.get("data"), built_size)
            ids = {"id": row.get("id"), "messageID": row.get("message_id"), "sessionID": session_id}
            if not part or not isinstance(row.get("id"), str):
                location = f"{file_name}, part {row.get('id')}"
                findings.report(location, "It is no part: it holds no JSON object.")
                continue
            parts.setdefault(str(row.get("message_id")), []).append(ids | part)
        messages: list[tuple[Json, tuple[Json, ...]]] = []
        for row in database.rows("message", session_id):
            info = _parse_object(row.get("data"), built_size)
            if not info or not isinstance(row.get("id"), str):
                location = f"{file_name}, message {row.get('id')}"
                findings.report(location, "It is no message: it holds no JSON object.")
                continue
            info = {"id": row["id"], "sessionID": session_id} | info
            messages.append((info, sorted_parts(info, parts.get(row["id"], []))))
        todos = sorted(
            database.rows("todo", session_id),
            key=lambda row: row["position"] if isinstance(row.get("position"), int) else 0,
        )
        project = projects.get(str(session.get("projectID")))
        source = SourceSession(
            name=f"{file_name}, {session_id}",
            session=session,
            messages=tuple(sorted_messages(messages)),
            todos=tuple(
                {key: row[key] for key in ("content", "status", "priority") if key in row}
                for row in todos
                if "content" in row
            ),
            project=None if project is None else _project_field(project),
        )
    except BuildsTooMuch as error:
        findings.report(f"{file_name}, {session['id']}", str(error))
    else:
        yield source


def _project_field(row: Json) -> Json:
    project_fields = {name: row[name] for name in ("id", "worktree", "vcs", "name") if name in row}
    return project_fields | {"time": _time_field(row)}


def _parse_object(value: Any, built_size: BuiltSize | None = None) -> Json:
    parsed_value = _parse_column(value, built_size)
    return parsed_value if isinstance(parsed_value, dict) else {}


def _parse_column(value: Any, built_size: BuiltSize | None = None) -> Any:
    """Return the JSON value of a column, or the column itself if it is no JSON; with ``built_size``, raises BuildsTooMuch."""
    if not isinstance(value, str):
        return value
    try:
        return json_value(value, built_size)
    except ValueError as error:
        if built_size is not None and isinstance(error, BuildsTooMuch):
            raise
        return value
