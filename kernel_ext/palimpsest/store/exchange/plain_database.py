"""Read rows of a stranger's SQLite database: of plain tables with known names, and no more than the file holds.

Border: nothing is written, made or locked beside the file. What a query would run is judged by the program that
SQLite makes of it, not by the schema's words: one that does anything else than fetch stored rows is not run. No value,
and not all rows together, may be larger than the file; pages that point to each other in a ring have no end.
"""

import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from palimpsest.store.disk import (
    open_regular,
    storage_errors,
    temporary_folder,
    write_fully,
)

MOST_VALUE_BYTES = 64_000_000
FREE_BYTES = 1_000_000
COPIED_BYTES = 1 << 20
"""What the rows may hold beyond twice the file: a short file is mostly empty pages."""
ROW_BYTES = 20
"""What a row counts beside its texts: the least that it takes in a file."""
FREE_STEPS = 20_000
"""Thousands of instructions of SQLite's machine; a listing of 100,000 rows takes a tenth."""
BYTES_A_STEP = 100
"""Bytes of the file for which there are another thousand instructions."""
HOLDS_MORE = "its rows hold more than its file"
FETCHES = frozenset(
    {
        *("Init", "Transaction", "TableLock", "VerifyCookie", "Goto", "Halt", "Noop", "Explain"),
        *("OpenRead", "ReopenIdx", "ColumnsUsed", "CursorHint", "Rewind", "Next", "Prev", "Last"),
        *("SeekGE", "SeekGT", "SeekLE", "SeekLT", "SeekRowid", "SeekScan", "SeekHit", "NotExists"),
        *("DeferredSeek", "FinishSeek", "Seek", "IdxRowid", "IdxGE", "IdxGT", "IdxLE", "IdxLT"),
        *("NoConflict", "NotFound", "Found", "Column", "Rowid", "ResultRow", "Variable", "Integer"),
        *("Int64", "Real", "String", "String8", "Null", "Copy", "SCopy", "Move", "Affinity"),
        *("RealAffinity", "IsNull", "NotNull", "Eq", "Ne", "Blob", "Trace"),
    }
)
"""Instructions that fetch and compare stored values: none calls a function, opens a view or computes a value."""


class PlainDatabase:
    """An open database of which plain tables are read.

    Responsibilities: find the known tables that hold rows and nothing else; give their rows while they are no more
    than the file.
    """

    def __init__(self, connection: sqlite3.Connection, known: Mapping[str, str], size: int) -> None:
        """``known`` names the tables, and the column by which each is looked up, if any. Raises sqlite3.Error."""
        self._connection = connection
        self._left = 2 * size + FREE_BYTES
        self._columns = known
        names = [str(name) for (name,) in self._fetched("SELECT name FROM sqlite_master", ())]
        self.tables = frozenset(one for one in known if one in names and self._is_plain(one))
        """The known tables that are there and plain."""

    def rows(self, table: str, value: str | None = None) -> Iterator[dict[str, Any]]:
        """Yield the rows of a table, or those with a value in its column; columns without a value are left out.

        Raises sqlite3.Error.
        """
        if table not in self.tables:
            return
        query = self._query(table, looked_up=value is not None)
        for row in self._fetched(query, () if value is None else (value,)):
            yield {name: row[name] for name in row.keys() if row[name] is not None}  # noqa: SIM118

    def _fetched(self, query: str, values: tuple[str, ...]) -> Iterator[sqlite3.Row]:
        for row in self._connection.execute(query, values):
            self._left -= ROW_BYTES + sum(len(one) for one in row if isinstance(one, str | bytes))
            if self._left < 0:
                raise sqlite3.DataError(HOLDS_MORE)
            yield row

    def _query(self, table: str, *, looked_up: bool) -> str:
        where = f' WHERE "{self._columns[table]}" = ?' if looked_up else ""
        return f'SELECT * FROM "{table}"{where}'

    def _is_plain(self, table: str) -> bool:
        forms = (False, True) if self._columns[table] else (False,)
        return all(self._only_fetches(self._query(table, looked_up=form), form) for form in forms)

    def _only_fetches(self, query: str, looked_up: bool) -> bool:  # noqa: FBT001
        """Return whether SQLite would only fetch stored rows for a query."""
        try:
            program = self._connection.execute(f"EXPLAIN {query}", ("",) if looked_up else ())
            return all(row["opcode"] in FETCHES for row in program)
        except sqlite3.DatabaseError:
            return False


@contextmanager
def opened_database(path: Path, known: Mapping[str, str]) -> Iterator[PlainDatabase]:
    """Open a database as it lies on the disk, or a copy where its newest changes lie in a log beside it.

    OpenCode leaves that log there when it ends. SQLite joins it with the database only where it may write, so
    both are copied into a folder of our own. Raises sqlite3.Error or OSError, and StorageFailed where there is no room for a copy.
    """
    log = path.with_name(f"{path.name}-wal")
    size = path.stat().st_size
    if log.is_symlink() or not log.is_file() or not log.stat().st_size:
        with closing(_connected(path, "mode=ro&immutable=1", known, size)) as connection:
            yield PlainDatabase(connection, known, size)
        return
    folder = temporary_folder("palimpsest-")
    try:
        copy = folder / "database"
        for one, name in ((path, "database"), (log, "database-wal")):
            _copy(one, folder / name)
        size += log.stat().st_size
        with closing(_connected(copy, "mode=rw", known, size)) as connection:
            yield PlainDatabase(connection, known, size)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _copy(source: Path, target: Path) -> None:
    with (
        open_regular(source, follow=True) as file,
        storage_errors(target),
        target.open("wb", buffering=0) as into,
    ):
        while block := file.read(COPIED_BYTES):
            write_fully(into.fileno(), block)


def _connected(path: Path, how: str, known: Mapping[str, str], size: int) -> sqlite3.Connection:
    address = f"file:{quote(str(path.resolve()))}?{how}"
    connection = sqlite3.connect(address, uri=True, check_same_thread=False)
    steps = FREE_STEPS + size // BYTES_A_STEP

    def too_long() -> int:
        nonlocal steps
        steps -= 1
        return steps < 0

    def allowed(action: int, table: str | None, *_: Any) -> int:
        """Let queries read the known tables, and nothing else."""
        reads = action == sqlite3.SQLITE_READ and (table in known or table == "sqlite_master")
        is_fine = reads or action == sqlite3.SQLITE_SELECT
        return sqlite3.SQLITE_OK if is_fine else sqlite3.SQLITE_DENY

    try:
        most = min(MOST_VALUE_BYTES, 2 * size + FREE_BYTES)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, most)
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        connection.execute("PRAGMA mmap_size = 0")
        connection.set_progress_handler(too_long, 1_000)
        connection.set_authorizer(allowed)
        connection.text_factory = lambda content: content.decode("utf-8", "replace")
        connection.row_factory = sqlite3.Row
    except sqlite3.Error:
        connection.close()
        raise
    return connection
