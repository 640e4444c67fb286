"""A folder with an older layout is migrated to the newest once, with a backup and a notice."""

import errno
import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.harness.kernel import Kernel
from tests.store.conformance import TALK, begin
from tests.store.log.test_faults import mounted
from tests.store.next_layout import NUMBER, rename_logs, steps
from tests.store.record_builders import OWNER, SESSION, assistant, records
from tests.waiting import LAST_RESORT_SECONDS

from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.store.log.store_factory import open_store
from palimpsest.store.log_lines import checked_line
from palimpsest.store.project_folder import migration_run
from palimpsest.store.project_folder.layout import LAYOUT_VERSION, open_project_folder
from palimpsest.store.project_folder.layout_file import read_layout
from palimpsest.store.project_folder.migration_run import LayoutNotReady
from palimpsest.store.project_folder.migrations import STEPS, LayoutStep, StepRefused
from palimpsest.testing import ScriptedModel, isolated_session, says
from palimpsest.transcript.errors import LayoutTooNew, StorageFailed

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with two sessions and an index, as this version writes them."""
    made = tmp_path / "project"
    made.mkdir()
    store = JsonlStore(open_project_folder(made))
    begin(store)
    begin(store, session_id="ses_b")
    store.list()
    return made


def kept(project: Path) -> Path:
    return project / ".palimpsest"


def logs(folder: Path, name: str = "log") -> dict[str, bytes]:
    """Return the contents of logs by path, with the prefix ``name`` replaced by ``log``."""
    paths = folder.glob(f"sessions/*/{name}-*.jsonl")
    return {
        f"{path.parent.name}/{path.name.replace(name, 'log')}": path.read_bytes() for path in paths
    }


def forget_layout(project: Path, version: int | None) -> None:
    """Turn the folder into layout 0: with that version in its file, or without a file."""
    (kept(project) / "layout").unlink()
    if version is not None:
        (kept(project) / "layout").write_text(json.dumps({"version": version, "project_id": "p0"}))


def run(*arguments: str) -> "subprocess.Popen[str]":
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'kernel_ext'}"}
    command = [sys.executable, "-m", "tests.store.next_layout", *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdin=pipe, stdout=pipe, text=True)


def test_the_table_has_a_step_for_every_layout_and_a_sentence_for_every_step() -> None:
    assert [step.number for step in STEPS] == list(range(1, LAYOUT_VERSION + 1))
    assert all(step.sentence and not step.sentence.endswith(".") for step in STEPS)


@pytest.mark.parametrize("version", [0, None], ids=["it says 0", "it says nothing"])
def test_a_folder_of_layout_0_is_checked_named_and_listed_anew(
    project: Path, version: int | None
) -> None:
    before, index = logs(kept(project)), (kept(project) / "index.json").read_bytes()
    forget_layout(project, version)

    store, warning = open_store(project)

    assert isinstance(store, JsonlStore)
    assert warning is None
    copy = kept(project) / "before-layout-1"
    assert store.layout.notice == (
        "The sessions of this project were brought to a newer layout (layout 1: its layout and its project are "
        "written down, and the list of sessions is made again). What was changed is kept as it was in "
        f"{str(copy)!r}: delete it when all is well."
    )
    assert (copy / "index.json").read_bytes() == index
    assert (copy / "layout").exists() == (version is not None)
    assert json.loads((kept(project) / "layout").read_text()) == {
        "version": LAYOUT_VERSION,
        "project_id": "p" if version is None else "p0",  # the id in its sessions
    }
    assert logs(kept(project)) == before
    assert {summary.id for summary in store.list()} == {SESSION, "ses_b"}


def test_the_second_opening_runs_nothing_and_says_nothing(project: Path) -> None:
    forget_layout(project, 0)
    open_store(project)
    there = {path: path.stat().st_mtime_ns for path in kept(project).rglob("layout")}

    store, warning = open_store(project)

    assert isinstance(store, JsonlStore)
    assert (store.layout.notice, warning) == ("", None)
    assert {path: path.stat().st_mtime_ns for path in kept(project).rglob("layout")} == there


def test_a_new_folder_and_one_without_sessions_are_not_migrated(tmp_path: Path) -> None:
    assert open_project_folder(tmp_path).notice == ""
    (tmp_path / ".palimpsest" / "layout").unlink()
    assert open_project_folder(tmp_path).notice == ""
    assert not list((tmp_path / ".palimpsest").glob("before-*"))


def test_logs_of_a_newer_version_are_not_taken_for_layout_0(project: Path) -> None:
    log = kept(project) / "sessions" / SESSION / "log-1.jsonl"
    newer = checked_line(b'{"v":2,"type":"segment","session_id":"ses_a"}') + b"\n"
    log.write_bytes(newer + log.read_bytes())
    forget_layout(project, None)

    with pytest.raises(
        LayoutNotReady, match="was written by a newer Palimpsest: update Palimpsest"
    ):
        open_project_folder(project)
    assert not (kept(project) / "layout").exists()


def test_one_more_entry_in_the_table_is_the_next_layout(project: Path) -> None:
    before = logs(kept(project))

    layout = open_project_folder(project, steps())

    assert (layout.version, read_layout(kept(project)).version) == (NUMBER, NUMBER)
    assert f"(layout {NUMBER}: logs are called events)" in layout.notice
    assert logs(kept(project), "events") == before
    assert logs(kept(project)) == {}
    assert logs(kept(project) / f"before-layout-{NUMBER}") == before
    assert not list(kept(project).glob(".layout-*"))


def test_layout_0_goes_all_the_way_with_a_copy_of_each_step(project: Path) -> None:
    forget_layout(project, 0)

    layout = open_project_folder(project, steps())

    assert sorted(path.name for path in kept(project).glob("before-*")) == [
        "before-layout-1",
        f"before-layout-{NUMBER}",
    ]
    assert "before-layout-1' and " in layout.notice


def test_an_older_program_refuses_the_newer_layout_with_its_sentence(project: Path) -> None:
    open_project_folder(project, steps())

    with pytest.raises(LayoutTooNew, match=rf"by a newer Palimpsest \(layout {NUMBER}, this one"):
        open_store(project)


def test_who_puts_the_copy_back_has_the_older_layout(project: Path) -> None:
    before = logs(kept(project))
    open_project_folder(project, steps())
    copy = kept(project) / f"before-layout-{NUMBER}"
    for entry in copy.iterdir():
        there = kept(project) / entry.name
        shutil.rmtree(there) if there.is_dir() else there.unlink()
        entry.rename(there)

    store, warning = open_store(project)
    assert (logs(kept(project)), warning) == (before, None)
    assert {summary.id for summary in store.list()} == {SESSION, "ses_b"}
    open_project_folder(project, steps())
    assert logs(kept(project) / f"before-layout-{NUMBER}-2") == before


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_killed_at_any_file_operation_the_old_or_the_new_is_whole(
    project: Path, tmp_path: Path
) -> None:
    before, folder = logs(kept(project)), tmp_path / "killed"
    index = (kept(project) / "index.json").read_bytes()
    folder.mkdir()
    with run("kills", str(project), str(folder)) as ran:
        assert ran.wait(500) == 0
    stages = set()

    for project_folder in sorted(folder.iterdir(), key=lambda path: int(path.name)):
        root = kept(project_folder)
        layout_file = read_layout(root)
        stages.add(
            layout_file.migration.stage
            if layout_file.migration is not None
            else layout_file.version
        )
        if layout_file.version == LAYOUT_VERSION:
            older = tmp_path / "older"
            shutil.copytree(project_folder, older)
            store, _ = open_store(older)
            assert {each.id for each in store.list()} == {SESSION, "ses_b"}
            assert logs(kept(older)) == before
            shutil.rmtree(older)
        else:
            with pytest.raises(LayoutTooNew):
                open_project_folder(project_folder)
            copies = logs(root / f"before-layout-{NUMBER}")
            assert {**logs(root), **copies} == before
        open_project_folder(project_folder, steps())
        assert read_layout(root).migration is None
        assert logs(root, "events") == before
        assert logs(root / f"before-layout-{NUMBER}") == before
        assert (root / "index.json").read_bytes() == index
        assert not list(root.glob(".layout-*"))
        assert open_project_folder(project_folder, steps(change=_never)).notice == ""

    assert {"copying", "moving out", "moving in", NUMBER} <= stages


def _never(_copies: Path) -> None:
    pytest.fail("A step ran again.")


def _full(copies: Path) -> None:
    rename_logs(copies)
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_step_that_fails_leaves_everything_as_it_was_and_says_what_to_do(project: Path) -> None:
    there = {path.relative_to(project) for path in project.rglob("*")}
    before = logs(kept(project))

    store, warning = open_store(project, steps(_full))

    assert isinstance(store, MemoryStore)
    assert warning == (
        f"{str(kept(project))!r} has layout {LAYOUT_VERSION} and could not be brought to layout {NUMBER}: The "
        "disk is full; nothing was changed; mend that, and start the kernel again, which goes on with it; this kernel keeps its "
        "sessions in memory only, and they end with it."
    )
    left = {path.relative_to(project) for path in project.rglob("*")}
    assert left - there <= {Path(".palimpsest/lock")}
    assert logs(kept(project)) == before
    assert open_store(project)[1] is None, "the older program goes on with it"
    assert open_project_folder(project, steps()).version == NUMBER


def test_a_step_may_refuse_a_folder(project: Path) -> None:
    def refuse(_root: Path) -> list[str]:
        raise StepRefused("'x' is in its way, so put it away")

    odd = LayoutStep(NUMBER, "nothing", refuse, rename_logs)
    with pytest.raises(
        LayoutNotReady, match=f"layout {NUMBER}: 'x' is in its way, so put it away; nothing"
    ):
        open_project_folder(project, (*STEPS, odd))


def test_a_full_disk_leaves_the_old_layout_and_the_next_opening_goes_on(tmp_path: Path) -> None:
    with mounted(tmp_path, "-t", "tmpfs", "-o", "size=1m", "tmpfs"):
        store = JsonlStore(open_project_folder(tmp_path))
        begin(store, (*TALK, assistant("msg_3")))
        (kept(tmp_path) / "sessions" / SESSION / "kept.bin").write_bytes(os.urandom(600_000))
        before = logs(kept(tmp_path))
        _, warning = open_store(tmp_path, steps())
        left = [path.name for path in kept(tmp_path).iterdir() if "layout-" in path.name]
        layout_file = read_layout(kept(tmp_path))
        after = logs(kept(tmp_path))
        subprocess.run(["mount", "-o", "remount,size=4m", str(tmp_path)], check=True)
        layout = open_project_folder(tmp_path, steps())
        moved = logs(kept(tmp_path), "events")

    assert warning is not None
    assert f"brought to layout {NUMBER}: The disk is full; nothing was changed" in warning
    assert (left, layout_file.version, after) == ([], LAYOUT_VERSION, before)
    assert (layout.version, moved) == (NUMBER, before)


def test_a_folder_that_may_only_be_read_says_what_to_do(tmp_path: Path) -> None:
    with mounted(tmp_path, "-t", "tmpfs", "-o", "size=1m", "tmpfs"):
        begin(JsonlStore(open_project_folder(tmp_path)))
        forget_layout(tmp_path, 0)
        subprocess.run(["mount", "-o", "remount,ro", str(tmp_path)], check=True)
        store, warning = open_store(tmp_path)

    assert isinstance(store, MemoryStore)
    assert warning is not None
    assert "has layout 0 and could not be brought to layout 1: The disk is read-only;" in warning
    assert "start the kernel again" in warning


def test_a_kernel_that_writes_a_session_is_not_disturbed(project: Path) -> None:
    store = JsonlStore(open_project_folder(project))
    writer = store.acquire(SESSION, OWNER)
    _, warning = open_store(project, steps())
    writer.append(records([assistant("msg_3")], first=6))
    writer.close()

    assert warning is not None
    assert f"cannot be brought to layout {NUMBER} while process" in warning
    assert "close that kernel, and start this one again" in warning
    assert len(store.load(SESSION).messages()) == 3
    assert open_project_folder(project, steps()).version == NUMBER


def test_a_kernel_that_wakes_up_writes_nothing_into_the_newer_layout(project: Path) -> None:
    store = JsonlStore(open_project_folder(project))
    writer = store.acquire(SESSION, OWNER)
    before = logs(kept(project))
    open_project_folder(project, steps(alone=False))  # as if its lease had been stale

    with pytest.raises(LayoutTooNew, match="update Palimpsest"):
        writer.append(records([assistant("msg_3")], first=6))
    with pytest.raises(LayoutTooNew, match="update Palimpsest"):
        store.acquire("ses_new", OWNER, create=True)
    assert logs(kept(project), "events") == before
    assert logs(kept(project) / f"before-layout-{NUMBER}") == before


@contextmanager
def other_process(project: Path) -> Iterator["subprocess.Popen[str]"]:
    """Start another process that stays in the middle of a migration until its input ends."""
    with run("waits", str(project)) as ran:
        assert ran.stdout is not None
        assert ran.stdout.readline() == "begun\n"
        yield ran
        ran.communicate()
        assert ran.returncode == 0


@pytest.mark.slow
def test_a_second_process_waits_and_then_has_the_new_layout(project: Path) -> None:
    with other_process(project) as other, ThreadPoolExecutor() as pool:
        opening = pool.submit(open_project_folder, project, steps(change=_never))
        assert other.stdin is not None
        other.stdin.close()
        layout = opening.result(LAST_RESORT_SECONDS)
        other.stdin = None

    assert (layout.version, layout.notice) == (NUMBER, "")


@pytest.mark.soak  # with each commit a second process waits, above; this adds one that waits too long
@pytest.mark.slow
def test_who_waits_too_long_and_who_is_older_is_told(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migration_run, "MAX_WAIT_SECONDS", 0.0)
    open_before = JsonlStore(open_project_folder(project))
    with other_process(project) as other:
        _, second = open_store(project, steps(change=_never))
        _, older = open_store(project)
        with pytest.raises(StorageFailed) as refused:
            open_before.acquire(SESSION, OWNER)

    busy = f"is being brought to another layout by process {other.pid} on"
    assert [busy in str(problem) for problem in (second, older, refused.value)] == [True] * 3
    assert read_layout(kept(project)).version == NUMBER
    assert not list(kept(project).glob("sessions/*/log-*")), "nothing came into the new layout"


def test_a_planted_migration_moves_nothing_outside_the_folder(
    project: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    theirs = outside / "sessions" / "theirs.txt"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("theirs")
    entries = ["../../outside", str(outside), "..", ".gitignore", "layout", "sessions"]
    stages, links = (
        ("copying", "moving out", "moving in"),
        (f"before-layout-{LAYOUT_VERSION}", f".layout-{LAYOUT_VERSION}"),
    )
    for stage, copy, link in itertools.product(stages, (*links[:1], "../outside"), links):
        planted = tmp_path / "planted"
        shutil.copytree(project, planted)
        going = {"to": LAYOUT_VERSION, "stage": stage, "copy": copy, "entries": entries}
        said = {"version": LAYOUT_VERSION, "project_id": "p", "migration": going}
        (kept(planted) / "layout").write_text(json.dumps(said))
        (kept(planted) / link).symlink_to(outside)

        open_store(planted)

        assert [path for path in outside.rglob("*") if path.is_file()] == [theirs]
        assert theirs.read_text() == "theirs"
        shutil.rmtree(planted)


def test_a_script_is_told_once_at_its_first_prompt(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    forget_layout(project, 0)
    with isolated_session(ScriptedModel(says("One."), says("Two.")), folder=project) as session:
        session.prompt("Hi.")
        first = capsys.readouterr().err
        session.prompt("Hi.")
        second = capsys.readouterr().err

    assert first.startswith(
        "The sessions of this project were brought to a newer layout (layout 1:"
    )
    assert first.endswith("delete it when all is well.\n")
    assert second == ""


@pytest.mark.soak  # with each commit a script is told once, above; this adds a notebook
@pytest.mark.slow
def test_a_person_at_a_notebook_is_told_below_the_first_answer_and_by_status(
    project: Path,
) -> None:
    forget_layout(project, 0)
    with Kernel(cwd=project, env={"PALIMPSEST_REHEARSAL_DELAY": "0"}) as kernel:
        assert kernel.client.run("%load_ext palimpsest").status == "ok"
        first = kernel.client.run("%%agent\nHello.")
        second = kernel.client.run("%%agent\nHello.")
        status = kernel.client.run("%agent status")

    told = "were brought to a newer layout (layout 1:"
    assert told in first.stream("stderr")
    assert told not in second.stream("stderr")
    assert told in status.markdown()
