"""Storage reports show the size of each session, and cleanups delete only unused, unshared, unpinned data."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.harness.session import SessionHarness, ask

from palimpsest.app.loaded_config import load, trust_project
from palimpsest.model.script import says
from palimpsest.session.config.settings import RetentionSettings
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.session.open_sessions.storage_cleanup import limits_of
from palimpsest.session.records.retention import (
    DAY_MS,
    RetentionLimits,
    SessionTree,
    parse_size,
    prune_plan,
)
from palimpsest.store.blobs.disk_usage import DiskUsage, SessionSize, measure_disk_usage
from palimpsest.store.interface import SessionSummary
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.session_record.sessions import ForkedFrom

NOW = 1_000 * DAY_MS


def row(name: str, age_days: float, **more: object) -> SessionSummary:
    used = NOW - round(age_days * DAY_MS)
    return SessionSummary(name, name.title(), None, used, used, **more)  # type: ignore[arg-type]


def sizes(**log_bytes: int) -> DiskUsage:
    rows = tuple(SessionSize(name, size, 0, in_use=False) for name, size in log_bytes.items())
    return DiskUsage(rows, blobs=0, blob_count=0, snapshots=0, share=0, other=0)


def due(found: tuple[SessionTree, ...]) -> list[str]:
    return [tree.summary.id for tree in found]


def never(_session_id: str) -> bool:
    return False


ROWS = (row("new", 1), row("older", 40), row("oldest", 90))
SIZES = sizes(new=500, older=300, oldest=200)


def test_by_default_everything_is_kept_for_ever_as_the_docs_say() -> None:
    limits = limits_of(RetentionSettings(), None, None)
    old = (row("older", 4_000), row("oldest", 40_000))
    huge = sizes(older=10**12, oldest=10**12)
    docs = Path(__file__).parents[3] / "docs" / "storage.md"

    assert limits == RetentionLimits(days=None, max_bytes=None)
    assert prune_plan(old, huge, limits, NOW, never, never).due == ()
    assert "Everything is kept for ever until you ask" in docs.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("limits", "goes"),
    [
        (RetentionLimits(), []),
        (RetentionLimits(days=90), ["oldest"]),
        (RetentionLimits(days=30), ["oldest", "older"]),
        (RetentionLimits(max_bytes=1_000), []),
        (RetentionLimits(max_bytes=800), ["oldest"]),
        (RetentionLimits(max_bytes=799), ["oldest", "older"]),
        (RetentionLimits(days=89, max_bytes=600), ["oldest", "older"]),
    ],
)
def test_the_oldest_go_first_until_the_limits_hold(
    limits: RetentionLimits, goes: list[str]
) -> None:
    plan = prune_plan(ROWS, SIZES, limits, NOW, never, never)

    assert due(plan.due) == goes
    assert plan.freed_bytes == sum(tree.bytes for tree in plan.due)


def test_what_is_used_shared_pinned_or_needed_is_never_taken() -> None:
    place = ForkedFrom(session_id="parent", seq=1, segment="grand/log-1.jsonl", offset=1)
    rows = (
        row("open", 90),
        row("held", 90),
        row("shared", 90, shared=True),
        row("pinned", 90),
        row("parent", 90),
        row("grand", 90),
        row("fork", 1, forked_from=place),
        row("free", 90),
    )
    weights = {of_row.id: of_row.id == "held" for of_row in rows}
    plan = prune_plan(
        rows,
        DiskUsage(tuple(SessionSize(n, 1, 0, used) for n, used in weights.items()), 0, 0, 0, 0, 0),
        RetentionLimits(days=30),
        NOW,
        lambda session_id: session_id == "open",
        lambda session_id: session_id == "pinned",
    )

    assert due(plan.due) == ["free"]
    assert {tree.summary.id: tree.reason_to_keep for tree in plan.spared} == {
        "open": "in use",
        "held": "in use",
        "shared": "shared",
        "pinned": "something in it is pinned",
        "parent": "a fork needs it",
        "grand": "a fork needs it",
    }


def test_children_go_with_their_session_and_keep_it() -> None:
    rows = (row("parent", 90), row("child", 5, parent_id="parent"), row("alone", 90))

    plan = prune_plan(
        rows, sizes(parent=1, child=2, alone=4), RetentionLimits(days=30), NOW, never, never
    )

    assert [tree.ids for tree in plan.due] == [("alone",)]


def test_sizes_are_read_as_people_write_them() -> None:
    assert [parse_size(size) for size in ("1GB", "1.5 mb", "300", "20kB")] == [
        10**9,
        1_500_000,
        300,
        20_000,
    ]
    with pytest.raises(UserError, match="not a size"):
        parse_size("much")


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[SessionHarness]:
    store = JsonlStore(open_project_folder(tmp_path), heartbeat_seconds=0.1, watch_seconds=1.0)
    made = SessionHarness(tmp_path, ScriptedModel(*(says("Yes.") for _ in range(9))), store=store)
    yield made
    await made.workspace.close()


async def asked(harness: SessionHarness, notebook: str) -> LiveSession:
    session = await harness.workspace.new(notebook)
    assert isinstance(session, LiveSession)
    await ask(session, "hello")
    return session


async def test_a_dry_run_deletes_nothing_and_a_real_one_only_what_it_named(
    harness: SessionHarness, tmp_path: Path
) -> None:
    old = await asked(harness, "old.ipynb")
    pinned = await asked(harness, "pinned.ipynb")
    pinned.edit_context("pin", pinned.snapshot().messages[0].id)
    await harness.workspace.close()
    harness.clock.now += 100 * DAY_MS
    new = await asked(harness, "new.ipynb")
    await new.journal.flush()

    looked = await harness.workspace.plan(RetentionLimits(days=30))
    there = {session.id for session in harness.workspace.sessions()}
    found, gone = await harness.workspace.prune(RetentionLimits(days=30))

    assert due(looked.due) == due(found.due) == due(gone) == [old.id]
    assert [tree.reason_to_keep for tree in looked.spared] == ["something in it is pinned"]
    assert there == {old.id, pinned.id, new.id}
    assert {session.id for session in harness.workspace.sessions()} == {pinned.id, new.id}
    assert not (tmp_path / ".palimpsest" / "sessions" / old.id).exists()


async def test_the_folder_is_weighed_to_the_byte(harness: SessionHarness, tmp_path: Path) -> None:
    session = await asked(harness, "a.ipynb")
    shared = harness.store.put_blob(b"x" * 1_000)
    await harness.workspace.close()
    (tmp_path / ".palimpsest" / "share").mkdir()
    (tmp_path / ".palimpsest" / "share" / "page.html").write_text("p" * 77)

    found, summaries = await harness.workspace.storage()

    assert [summary.id for summary in summaries] == [session.id]
    [size] = found.sessions
    logs = (tmp_path / ".palimpsest" / "sessions" / session.id).iterdir()
    assert size.log_bytes == sum(path.stat().st_size for path in logs)
    assert 0 < size.blob_bytes == found.blobs - shared.bytes
    assert (found.share, size.in_use) == (77, False)
    everything = (tmp_path / ".palimpsest").rglob("*")
    assert found.total == sum(path.stat().st_size for path in everything if path.is_file())
    assert measure_disk_usage(open_project_folder(tmp_path)).total == found.total


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("retention = 30", (None, None, 30.0)),
        ('[retention]\ndays = 90\nsize = "2.5 GB"', (90.0, "2.5 GB", 1.0)),
        ("", (None, None, 1.0)),
    ],
)
def test_limits_are_read_from_the_settings(
    tmp_path: Path, text: str, expected: tuple[float | None, str | None, float]
) -> None:
    (tmp_path / "palimpsest.toml").write_text(text)

    trust_project(tmp_path, {})
    retention = load(tmp_path, {}).value.retention

    assert (retention.days, retention.size, retention.texts) == expected


def test_a_size_that_is_none_is_named_with_its_key(tmp_path: Path) -> None:
    (tmp_path / "palimpsest.toml").write_text('[retention]\nsize = "much"')

    loaded = load(tmp_path, {})

    assert loaded.value.retention.size is None
    assert any("retention.size" in problem for problem in loaded.problems)
