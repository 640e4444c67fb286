"""Read rows of an untrusted SQLite database: of plain tables with known names, and no more than the file holds.

Border: nothing is written, made or locked beside the file. A query is judged by the program that SQLite compiles it
to, not by the text of the schema: a program that does anything but fetch stored rows is not run. Neither a value nor
all rows together may be larger than the file, since pages that point to each other in a ring have no end.
"""

import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from palimpsest.store.disk import open_regular, storage_errors, temporary_folder, write_fully

MAX_VALUE_BYTES = 64_000_000
MAX_EXTRA_BYTES = 1_000_000
"""Bytes that the rows may have beyond twice the file's size: a short file is mostly empty pages."""
COPY_BLOCK_BYTES = 1 << 20
ROW_BYTES = 20
"""Bytes counted for a row besides its texts: the minimum that it needs in a file."""
INSTRUCTIONS_PER_STEP = 1_000
"""SQLite's instructions that are counted as one step."""
BASE_STEPS = 20_000
"""Allowed steps for any file; listing 100,000 rows needs a tenth of them."""
BYTES_PER_STEP = 100
"""Bytes of the file that allow another step."""
MORE_THAN_FILE = "its rows hold more than its file"
FETCHING_OPCODES = frozenset(
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
    """An open database: finds the known plain tables, and yields their rows within the limits of the file's size."""

    def __init__(
        self, connection: sqlite3.Connection, tables: Mapping[str, str], file_bytes: int
    ) -> None:
        """``tables`` maps each table to the column by which it is looked up, if any. Raises sqlite3.Error."""
        self._connection = connection
        self._bytes_left = 2 * file_bytes + MAX_EXTRA_BYTES
        self._columns_by_table = tables
        names = {str(name) for (name,) in self._fetch_rows("SELECT name FROM sqlite_master", ())}
        self.tables = frozenset(filter(self._is_plain, tables.keys() & names))
        """The known tables that exist and are plain."""

    def rows(self, table: str, value: str | None = None) -> Iterator[dict[str, Any]]:
        """Yield the rows of a table, or those with a value in its column; columns without a value are left out.

        Raises sqlite3.Error.
        """
        if table not in self.tables:
            return
        query = self._query(table, looked_up=value is not None)
        for row in self._fetch_rows(query, () if value is None else (value,)):
            yield {name: row[name] for name in row.keys() if row[name] is not None}  # noqa: SIM118

    def _fetch_rows(self, query: str, values: tuple[str, ...]) -> Iterator[sqlite3.Row]:
        for row in self._connection.execute(query, values):
            texts = (value for value in row if isinstance(value, str | bytes))
            self._bytes_left -= ROW_BYTES + sum(map(len, texts))
            if self._bytes_left < 0:
                raise sqlite3.DataError(MORE_THAN_FILE)
            yield row

    def _query(self, table: str, *, looked_up: bool) -> str:
        where = f' WHERE "{self._columns_by_table[table]}" = ?' if looked_up else ""
        return f'SELECT * FROM "{table}"{where}'

    def _is_plain(self, table: str) -> bool:
        looked_up_choices = (False, True) if self._columns_by_table[table] else (False,)
        return all(
            self._only_fetches(self._query(table, looked_up=looked_up), looked_up)
            for looked_up in looked_up_choices
        )

    def _only_fetches(self, query: str, looked_up: bool) -> bool:  # noqa: FBT001
        """Return whether SQLite would only fetch stored rows for a query."""
        try:
            program = self._connection.execute(f"EXPLAIN {query}", ("",) if looked_up else ())
            return all(row["opcode"] in FETCHING_OPCODES for row in program)
        except sqlite3.DatabaseError:
            return False


@contextmanager
def opened_database(path: Path, tables: Mapping[str, str]) -> Iterator[PlainDatabase]:
    """Open a database file, or a copy where its newest changes are in a write-ahead log beside it.

    OpenCode leaves that log there when it ends. SQLite joins it with the database only where it may write, so both are
    copied into a temporary folder. Raises sqlite3.Error or OSError, and StorageFailed where there is no room for a copy.
    """
    wal_path = path.with_name(f"{path.name}-wal")
    file_bytes = path.stat().st_size
    if wal_path.is_symlink() or not wal_path.is_file() or not wal_path.stat().st_size:
        with closing(_connect(path, "mode=ro&immutable=1", tables, file_bytes)) as connection:
            yield PlainDatabase(connection, tables, file_bytes)
        return
    folder = temporary_folder("palimpsest-")
    try:
        copy_path = folder / "database"
        for source, name in ((path, "database"), (wal_path, "database-wal")):
            _copy(source, folder / name)
        file_bytes += wal_path.stat().st_size
        with closing(_connect(copy_path, "mode=rw", tables, file_bytes)) as connection:
            yield PlainDatabase(connection, tables, file_bytes)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _copy(source: Path, target: Path) -> None:
    with (
        open_regular(source, follow=True) as file,
        storage_errors(target),
        target.open("wb", buffering=0) as into,
    ):
        while block := file.read(COPY_BLOCK_BYTES):
            write_fully(into.fileno(), block)


def _connect(
    path: Path, mode: str, tables: Mapping[str, str], file_bytes: int
) -> sqlite3.Connection:
    address = f"file:{quote(str(path.resolve()))}?{mode}"
    connection = sqlite3.connect(address, uri=True, check_same_thread=False)
    steps_left = BASE_STEPS + file_bytes // BYTES_PER_STEP

    def count_step() -> int:
        """Count a step; returns whether there were more than the file allows, which stops the query."""
        nonlocal steps_left
        steps_left -= 1
        return steps_left < 0

    def authorize(action: int, table: str | None, *_: Any) -> int:
        """Let queries read the known tables, and nothing else."""
        is_known = table in tables or table == "sqlite_master"
        is_allowed = action == sqlite3.SQLITE_SELECT or (action == sqlite3.SQLITE_READ and is_known)
        return sqlite3.SQLITE_OK if is_allowed else sqlite3.SQLITE_DENY

    try:
        max_bytes = min(MAX_VALUE_BYTES, 2 * file_bytes + MAX_EXTRA_BYTES)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max_bytes)
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        connection.execute("PRAGMA mmap_size = 0")
        connection.set_progress_handler(count_step, INSTRUCTIONS_PER_STEP)
        connection.set_authorizer(authorize)
        connection.text_factory = lambda content: content.decode("utf-8", "replace")
        connection.row_factory = sqlite3.Row
    except sqlite3.Error:
        connection.close()
        raise
    return connection
