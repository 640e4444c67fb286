"""Read sessions from OpenCode's SQLite database: rows in, plain values out.

Border: nothing is written, made or locked beside the file. Of its schema nothing is believed: only ordinary tables
with known names are read, no function, view or virtual table runs, and time and size are limited.
"""

import re
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from palimpsest.store.bounded_json import json_value
from palimpsest.store.disk import open_regular
from palimpsest.store.exchange.import_sources import (
    NOT_KNOWN,
    ImportFindings,
    SourceSession,
    in_order,
    is_safe_id,
    parts_in_order,
)
from palimpsest.transcript.errors import UserError

Json = dict[str, Any]

MAGIC = b"SQLite format 3\0"
TABLES = ("session", "message", "part")
"""The tables that make a database one of OpenCode's."""
ALSO_READ = ("project", "todo", "session_diff")
MOST_VALUE_BYTES = 64_000_000
MOST_STEPS = 20_000
"""Thousands of instructions of SQLite's machine for one query; a listing of 100,000 rows takes a tenth."""
NOT_READ = "{name} is a damaged database: {why}."
_COMPUTES = re.compile(r"\bAS\s*\(")
_SESSION_JSON = ("revert", "permission", "model", "metadata", "tokens")
"""Columns that hold JSON."""
_SESSION_COLUMNS = {
    "project_id": "projectID",
    "parent_id": "parentID",
    "workspace_id": "workspaceID",
}
_TIMES = {
    "created": ("time_created", "created_at"),
    "updated": ("time_updated", "updated_at"),
    "compacting": ("time_compacting",),
    "archived": ("time_archived",),
}


def starts_as_database(path: Path) -> bool:
    """Return whether a file is an SQLite database; raises OSError."""
    with open_regular(path, follow=True) as file:
        return file.read(len(MAGIC)) == MAGIC


def is_opencode_database(path: Path) -> bool:
    """Return whether a file is a database with OpenCode's tables; never raises."""
    try:
        with _opened(path) as database:
            return set(TABLES) <= _ordinary_tables(database)
    except (sqlite3.Error, OSError):
        return False


def database_sessions(path: Path, found: ImportFindings) -> Iterator[SourceSession]:
    """Yield the sessions of a database; raises UserError where it cannot be read at all."""
    try:
        with _opened(path) as database:
            tables = _ordinary_tables(database)
            if not set(TABLES) <= tables:
                raise UserError(NOT_KNOWN.format(name=repr(path.name)))
            projects = {str(row.get("id")): row for row in _rows(database, tables, "project")}
            sessions = [_session(row) for row in _rows(database, tables, "session")]
            for session in sessions:
                if is_safe_id(session.get("id"), path.name, found):
                    yield _whole(database, tables, session, projects, path.name, found)
    except (sqlite3.Error, OverflowError) as error:
        raise UserError(NOT_READ.format(name=repr(path.name), why=error)) from error


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a database as it lies on the disk, or a copy where its newest changes lie in a log beside it.

    OpenCode leaves that log there when it ends. SQLite joins it with the database only where it may write, so
    both are copied into a folder of our own.
    """
    log = path.with_name(f"{path.name}-wal")
    if log.is_symlink() or not log.is_file() or not log.stat().st_size:
        with closing(_connected(path, "mode=ro&immutable=1")) as database:
            yield database
        return
    with tempfile.TemporaryDirectory(prefix="palimpsest-") as folder:
        copy = Path(folder) / "database"
        for one, name in ((path, "database"), (log, "database-wal")):
            with open_regular(one, follow=True) as file, (Path(folder) / name).open("wb") as into:
                shutil.copyfileobj(file, into)
        with closing(_connected(copy, "mode=rw")) as database:
            yield database


def _connected(path: Path, how: str) -> sqlite3.Connection:
    address = f"file:{quote(str(path.resolve()))}?{how}"
    database = sqlite3.connect(address, uri=True, check_same_thread=False)
    steps = 0

    def too_long() -> int:
        nonlocal steps
        steps += 1
        return steps > MOST_STEPS

    try:
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_VALUE_BYTES)
        database.execute("PRAGMA trusted_schema = OFF")
        database.execute("PRAGMA cell_size_check = ON")
        database.set_progress_handler(too_long, 1_000)
        database.set_authorizer(_allowed)
        database.text_factory = lambda content: content.decode("utf-8", "replace")
        database.row_factory = sqlite3.Row
    except sqlite3.Error:
        database.close()
        raise
    return database


def _allowed(action: int, table: str | None, *_: Any) -> int:
    """Let queries read the known tables, and nothing else."""
    if action == sqlite3.SQLITE_SELECT:
        return sqlite3.SQLITE_OK
    known = table in (*TABLES, *ALSO_READ, "sqlite_master")
    reads = action == sqlite3.SQLITE_READ and known
    return sqlite3.SQLITE_OK if reads else sqlite3.SQLITE_DENY


def _ordinary_tables(database: sqlite3.Connection) -> set[str]:
    rows = database.execute("SELECT type, name, sql FROM sqlite_master")
    return {str(row["name"]) for row in rows if row["type"] == "table" and _is_plain(row["sql"])}


def _is_plain(sql: Any) -> bool:
    """Return whether a table is neither virtual nor has a column that computes."""
    words = str(sql).upper()
    return words.startswith("CREATE TABLE") and _COMPUTES.search(words) is None


def _rows(
    database: sqlite3.Connection, tables: set[str], name: str, column: str = "", value: str = ""
) -> Iterator[Json]:
    """Yield the rows of a table, or those with a value in a column; ``name`` and ``column`` are our own words."""
    if name not in tables:
        return
    where = f' WHERE "{column}" = ?' if column else ""
    query = f'SELECT * FROM "{name}"{where}'
    for row in database.execute(query, (value,) if column else ()):
        yield {key: row[key] for key in row.keys() if row[key] is not None}  # noqa: SIM118


def _session(row: Json) -> Json:
    """Return a session's row as OpenCode's JSON; an early version keeps it whole in ``data``."""
    whole = _object(row.get("data"))
    if whole:
        return whole | {"id": row.get("id")}
    summary = {
        name.removeprefix("summary_"): _parsed(row.pop(name))
        for name in [one for one in row if one.startswith("summary_")]
    }
    tokens = {
        name.removeprefix("tokens_"): row.pop(name)
        for name in [one for one in row if one.startswith("tokens_")]
    }
    session = {_SESSION_COLUMNS.get(name, name): one for name, one in row.items()}
    for names in _TIMES.values():
        for name in names:
            session.pop(name, None)
    for name in _SESSION_JSON:
        if name in session:
            session[name] = _parsed(session[name])
    share = session.pop("share_url", None)
    if share is not None:
        session["share"] = {"url": share}
    if summary:
        session["summary"] = summary
    if tokens:
        cache = {name: tokens.pop(f"cache_{name}", 0) for name in ("read", "write")}
        session["tokens"] = tokens | {"cache": cache}
    return session | {"time": _time(row)}


def _time(row: Mapping[str, Any]) -> Json:
    known = {
        name: next((row[column] for column in columns if column in row), None)
        for name, columns in _TIMES.items()
    }
    return {name: one for name, one in known.items() if one is not None}


def _whole(
    database: sqlite3.Connection,
    tables: set[str],
    session: Json,
    projects: Mapping[str, Json],
    name: str,
    found: ImportFindings,
) -> SourceSession:
    identifier = str(session["id"])
    parts: dict[str, list[Json]] = {}
    for row in _rows(database, tables, "part", "session_id", identifier):
        part = _object(row.get("data"))
        ids = {"id": row.get("id"), "messageID": row.get("message_id"), "sessionID": identifier}
        if not part or not isinstance(row.get("id"), str):
            found.report(f"{name}, part {row.get('id')}", "It is no part: it holds no JSON object.")
            continue
        parts.setdefault(str(row.get("message_id")), []).append(ids | part)
    messages: list[tuple[Json, tuple[Json, ...]]] = []
    for row in _rows(database, tables, "message", "session_id", identifier):
        info = _object(row.get("data"))
        if not info or not isinstance(row.get("id"), str):
            found.report(
                f"{name}, message {row.get('id')}", "It is no message: it holds no JSON object."
            )
            continue
        info = {"id": row["id"], "sessionID": identifier} | info
        messages.append((info, parts_in_order(info, parts.get(row["id"], []))))
    todos = sorted(
        _rows(database, tables, "todo", "session_id", identifier),
        key=lambda row: row["position"] if isinstance(row.get("position"), int) else 0,
    )
    project = projects.get(str(session.get("projectID")))
    return SourceSession(
        name=f"{name}, {identifier}",
        session=session,
        messages=tuple(in_order(messages)),
        todos=tuple(
            {key: row[key] for key in ("content", "status", "priority") if key in row}
            for row in todos
            if "content" in row
        ),
        project=None if project is None else _project(project),
    )


def _project(row: Json) -> Json:
    known = {name: row[name] for name in ("id", "worktree", "vcs", "name") if name in row}
    return known | {"time": _time(row)}


def _object(value: Any) -> Json:
    read = _parsed(value)
    return read if isinstance(read, dict) else {}


def _parsed(value: Any) -> Any:
    """Return what a column's JSON holds; the column itself where it holds none."""
    if not isinstance(value, str):
        return value
    try:
        return json_value(value)
    except (ValueError, RecursionError):
        return value
