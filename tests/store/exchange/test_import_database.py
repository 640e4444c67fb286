"""OpenCode's database is read as data: the same sessions as in its storage folder, and nothing runs."""

import json
import sqlite3
import struct
import tarfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.store.foreign_sessions import sample

from palimpsest.store import bounded_json
from palimpsest.store.exchange.importer import import_sessions
from palimpsest.store.exchange.json_export import export_storage
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.parts import Part, TextPart

SCHEMA = """
CREATE TABLE project (id text PRIMARY KEY, worktree text NOT NULL, vcs text, name text,
  time_created integer NOT NULL, time_updated integer NOT NULL);
CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, slug text,
  directory text NOT NULL, title text NOT NULL, version text NOT NULL, share_url text, summary_additions integer,
  summary_deletions integer, summary_files integer, summary_diffs text, revert text, permission text,
  time_created integer NOT NULL, time_updated integer NOT NULL, time_compacting integer, time_archived integer);
CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL,
  time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL,
  time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE todo (session_id text NOT NULL, content text NOT NULL, status text NOT NULL, priority text NOT NULL,
  position integer NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL);
"""
"""The tables that OpenCode 1.2 makes, in which a message's and a part's own ids are columns."""


def now() -> int:
    return 1_790_000_000_000


def loaded(path: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(path.read_text())
    return read


def database_of(storage: Path, path: Path) -> Path:
    """Write the sessions of a storage folder as OpenCode's migration does."""
    with closing(sqlite3.connect(path)) as database:
        database.executescript(SCHEMA)
        for file in storage.glob("session/*/*.json"):
            stored = loaded(file)
            counts = stored["summary"]
            database.execute(
                "INSERT INTO session (id, project_id, directory, title, version, summary_additions,"
                " summary_deletions, summary_files, time_created, time_updated) VALUES (?,?,?,?,?,?,?,?,?,?)",
                (stored["id"], stored["projectID"], stored["directory"], stored["title"], stored["version"], counts["additions"],
                 counts["deletions"], counts["files"], stored["time"]["created"], stored["time"]["updated"]),
            )  # fmt: skip
        for file in storage.glob("message/*/*.json"):
            stored = loaded(file)
            row = (
                stored.pop("id"),
                stored.pop("sessionID"),
                stored["time"]["created"],
                0,
                json.dumps(stored),
            )
            database.execute("INSERT INTO message VALUES (?,?,?,?,?)", row)
        for file in storage.glob("part/*/*.json"):
            stored = loaded(file)
            ids = stored.pop("id"), stored.pop("messageID"), stored.pop("sessionID")
            database.execute(
                "INSERT INTO part VALUES (?,?,?,?,?,?)", (*ids, 0, 0, json.dumps(stored))
            )
        database.commit()
    return path


def by_id(part: Part) -> str:
    return part.id


def words(store: MemoryStore, session_id: str) -> list[str]:
    return [
        part.text
        for message in store.load(session_id).messages()
        for part in message.parts
        if isinstance(part, TextPart)
    ]


def test_a_database_gives_the_sessions_of_the_storage_folder(tmp_path: Path) -> None:
    storage = sample("opencode_storage", tmp_path)
    path = database_of(storage, tmp_path / "opencode.db")
    content, beside = path.read_bytes(), sorted(tmp_path.iterdir())
    store, stored = MemoryStore(), MemoryStore()

    report = import_sessions(store, path, now)
    import_sessions(stored, storage, now)

    assert report.problems == ()
    assert sorted(session.outcome for session in report.sessions) == ["new", "new"]
    assert (path.read_bytes(), sorted(tmp_path.iterdir())) == (content, beside)
    for session in report.sessions:
        export_storage(store, session.id, tmp_path / "one", lambda value: value)
        export_storage(stored, session.id, tmp_path / "other", lambda value: value)
    for folder in ("message", "part", "session"):
        made = {p.name: loaded(p) for p in (tmp_path / "one" / folder).rglob("*.json")}
        assert made == {p.name: loaded(p) for p in (tmp_path / "other" / folder).rglob("*.json")}
    again = import_sessions(store, path, now)
    assert {session.outcome for session in again.sessions} == {"same"}


def test_a_database_that_grew_updates_its_session(tmp_path: Path) -> None:
    path = database_of(sample("opencode_storage", tmp_path), tmp_path / "opencode.db")
    store = MemoryStore()
    session = "ses_11111111aaaaMockOpenCode01"
    import_sessions(store, path, now)
    with closing(sqlite3.connect(path)) as database:
        time = 1_765_000_009_000
        info = json.dumps({"role": "user", "time": {"created": time}})
        database.execute(
            "INSERT INTO message VALUES (?,?,?,?,?)", ("msg_9", session, time, 0, info)
        )
        part = json.dumps({"type": "text", "text": "And now?"})
        database.execute(
            "INSERT INTO part VALUES (?,?,?,?,?,?)", ("prt_9", "msg_9", session, 0, 0, part)
        )
        database.commit()

    report = import_sessions(store, path, now)

    assert {imported.id: imported.outcome for imported in report.sessions}[session] == "updated"
    assert words(store, session)[-1] == "And now?"


def test_a_broken_row_costs_only_itself(tmp_path: Path) -> None:
    path = database_of(sample("opencode_storage", tmp_path), tmp_path / "opencode.db")
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE part SET data = '{' WHERE id = 'prt_11111111aaaaPlanText04'")
        database.commit()
    store = MemoryStore()

    report = import_sessions(store, path, now)

    assert [problem.where for problem in report.problems] == [
        "opencode.db, part prt_11111111aaaaPlanText04"
    ]
    assert len(words(store, "ses_11111111aaaaMockOpenCode01")) == 1


@pytest.fixture
def real(tmp_path: Path) -> Path:
    """The folder of a database that OpenCode 1.18 left with all of its content in the log beside it."""
    with tarfile.open(Path(__file__).with_name("opencode_database.tar.xz")) as tar:
        tar.extractall(tmp_path / "opencode", filter="data")
    return tmp_path / "opencode"


def test_a_database_of_opencode_itself_gives_what_it_exports(real: Path) -> None:
    content = {path.name: path.read_bytes() for path in real.iterdir()}
    store, exported = MemoryStore(), MemoryStore()

    report = import_sessions(store, real / "opencode.db", now)
    import_sessions(exported, real / "export.json", now)

    [imported] = report.sessions
    assert report.problems == ()
    assert len(words(store, imported.id)) == 2
    first, second = store.load(imported.id), exported.load(imported.id)
    for mine, theirs in zip(first.messages(), second.messages(), strict=True):
        assert mine.info == theirs.info
        # OpenCode orders parts by their ids, and those of this invented session do not rise.
        assert sorted(mine.parts, key=by_id) == sorted(theirs.parts, key=by_id)
    assert first.session is not None
    assert second.session is not None
    for name in ("title", "directory", "time", "version", "cost", "tokens", "summary"):
        assert getattr(first.session, name) == getattr(second.session, name)
    assert {path.name: path.read_bytes() for path in real.iterdir()} == content


def test_a_damaged_log_costs_what_it_holds(real: Path) -> None:
    log = real / "opencode.db-wal"
    log.write_bytes(b"no log" + log.read_bytes()[6:])

    with pytest.raises(UserError, match="holds no sessions"):
        import_sessions(MemoryStore(), real / "opencode.db", now)


COLUMNS = "id text, session_id text, message_id text"
LIE = "PRAGMA writable_schema = ON; UPDATE sqlite_master SET"
LARGE = "hex(zeroblob(30000000))"


@pytest.mark.parametrize(
    "table",
    [
        "CREATE VIEW part AS SELECT 1 AS id",
        "CREATE VIEW part AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id FROM n",
        f"CREATE/**/VIEW part AS SELECT '' AS id, '' AS session_id, {LARGE} AS data",
        "CREATE VIRTUAL TABLE part USING fts5(data)",
        f"CREATE TABLE part ({COLUMNS}, data text AS ({LARGE}))",
        f"CREATE TABLE part ({COLUMNS}, data text AS/**/({LARGE}))",
        f"CREATE TABLE part ({COLUMNS}, data text GENERATED ALWAYS /* ( */ AS\n--\n({LARGE}) VIRTUAL)",
        f"CREATE TABLE part ({COLUMNS}, a text, data text AS/**/(a||a||a||a))",
        f"CREATE TABLE part ({COLUMNS}, a text, data text AS/**/(a + 1))",
        f"CREATE TABLE part ({COLUMNS}, a text, data text AS/**/(CASE a WHEN 1 THEN {LARGE} ELSE {LARGE} END))",
    ],
)
def test_a_schema_that_would_run_something_is_no_database_of_opencode(
    tmp_path: Path, table: str
) -> None:
    path = database_of(sample("opencode_storage", tmp_path), tmp_path / "opencode.db")
    with closing(sqlite3.connect(path)) as database:
        database.executescript(f"DROP TABLE part; {table};")

    with pytest.raises(UserError, match="holds no sessions"):
        import_sessions(MemoryStore(), path, now)


@pytest.mark.parametrize(
    "table",
    [
        f"CREATE VIRTUAL TABLE part USING fts5(id, session_id, data); {LIE} name = 'x' WHERE sql LIKE 'CREATE VIR%'",
        f"CREATE VIEW part AS SELECT 1 AS id; {LIE} type = 'table', rootpage = 2 WHERE name = 'part'",
    ],
)
def test_a_schema_that_names_something_as_another_thing_is_refused(
    tmp_path: Path, table: str
) -> None:
    path = database_of(sample("opencode_storage", tmp_path), tmp_path / "opencode.db")
    with closing(sqlite3.connect(path)) as database:
        database.executescript(f"DROP TABLE part; {table};")

    with pytest.raises(UserError, match=r"holds no sessions|is a damaged database"):
        import_sessions(MemoryStore(), path, now)


@pytest.mark.parametrize(
    "addition",
    [
        "CREATE INDEX one ON part (session_id, hex(data))",
        "CREATE INDEX one ON part (session_id) WHERE hex(data) > ''",
        "CREATE TRIGGER one AFTER INSERT ON part BEGIN SELECT load_extension('x'); END",
        f"CREATE VIEW other AS SELECT {LARGE}",
        f"ALTER TABLE part ADD COLUMN other text CHECK (other <> {LARGE})",
        "ALTER TABLE todo RENAME TO other",
        "PRAGMA journal_mode = WAL",
    ],
)
def test_what_does_not_run_when_rows_are_read_does_no_harm(tmp_path: Path, addition: str) -> None:
    path = database_of(sample("opencode_storage", tmp_path), tmp_path / "opencode.db")
    with closing(sqlite3.connect(path)) as database:
        database.executescript(f"{addition};")

    report = import_sessions(MemoryStore(), path, now)

    assert [session.outcome for session in report.sessions] == ["new", "new"]
    assert report.problems == ()


def test_rows_that_hold_more_than_the_file_are_not_believed(tmp_path: Path) -> None:
    """A default text stands in the file once, and would be given with each row that was written before it."""
    path = database_of(sample("opencode_storage", tmp_path), tmp_path / "opencode.db")
    with closing(sqlite3.connect(path)) as database:
        database.execute("ALTER TABLE part RENAME COLUMN data TO other")
        row = "INSERT INTO part VALUES (?, 'm', 'ses_11111111aaaaMockOpenCode01', 0, 0, '')"
        database.executemany(row, [(f"p{n}",) for n in range(2_000)])
        database.execute(f"ALTER TABLE part ADD COLUMN data text DEFAULT '{'x' * 50_000}'")
        database.commit()

    with pytest.raises(UserError, match="its rows hold more than its file"):
        import_sessions(MemoryStore(), path, now)


def test_a_page_that_is_its_own_child_ends_with_a_sentence(tmp_path: Path) -> None:
    path = database_of(sample("opencode_storage", tmp_path), tmp_path / "opencode.db")
    with closing(sqlite3.connect(path)) as database:
        size = database.execute("PRAGMA page_size").fetchone()[0]
        row = "INSERT INTO part VALUES (?, 'm', 'ses_11111111aaaaMockOpenCode01', 0, 0, '{}')"
        database.executemany(row, [(f"p{n}",) for n in range(2_000)])
        database.commit()
        root = database.execute("SELECT rootpage FROM sqlite_master WHERE name = 'part'")
        page = root.fetchone()[0]
    content = bytearray(path.read_bytes())
    begin = (page - 1) * size
    assert content[begin] == 5
    for cell in range(struct.unpack_from(">H", content, begin + 3)[0]):
        at = struct.unpack_from(">H", content, begin + 12 + 2 * cell)[0]
        struct.pack_into(">I", content, begin + at, page)
    path.write_bytes(content)

    with pytest.raises(UserError, match=r"is a damaged database: .*\.$"):
        import_sessions(MemoryStore(), path, now)


def test_a_schema_that_is_no_text_ends_with_a_sentence(tmp_path: Path) -> None:
    path = database_of(sample("opencode_storage", tmp_path), tmp_path / "opencode.db")
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE part", b"CR\x9eATE TABLE part"))

    with pytest.raises(UserError, match="its schema is no text"):
        import_sessions(MemoryStore(), path, now)


def test_a_session_that_builds_too_much_costs_only_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_json, "MAX_BUILT_BYTES", 1_000_000)
    path = database_of(sample("opencode_storage", tmp_path), tmp_path / "opencode.db")
    large = '{"type": "text", "text": "x", "metadata": {"a": [' + "{}," * 50_000 + "{}]}}"
    with closing(sqlite3.connect(path)) as database:
        row = "INSERT INTO part VALUES ('p', 'm', 'ses_11111111aaaaMockOpenCode01', 0, 0, ?)"
        database.execute(row, (large,))
        database.commit()

    report = import_sessions(MemoryStore(), path, now)

    assert len(report.sessions) == 1
    [problem] = report.problems
    assert problem.where == "opencode.db, ses_11111111aaaaMockOpenCode01"
    assert "more than 1 MB of memory" in problem.what
