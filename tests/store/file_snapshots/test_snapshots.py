"""Snapshots of the project's files restore the exact earlier state."""

import json
import os
import shutil
import stat
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.sample_size import sample_size

from palimpsest.store.blobs import blob_storage
from palimpsest.store.blobs.blob_storage import sweep_packs
from palimpsest.store.file_snapshots import snapshots as store_snapshots
from palimpsest.store.file_snapshots.file_diffs import file_diff, join_diffs, snapshot_diffs
from palimpsest.store.file_snapshots.file_restore import (
    FileRestore,
    perform_restores,
    plan_restores,
    wanted_file,
)
from palimpsest.store.file_snapshots.snapshots import SnapshotLimits, Snapshots, SnapshotsOff
from palimpsest.store.file_snapshots.trees import add_reachable
from palimpsest.tools.file_access.gitignore import ALWAYS_SKIPPED, GitignoreRules
from palimpsest.transcript.errors import NotFound, StorageFailed


def snapshots(root: Path, limits: SnapshotLimits | None = None) -> Snapshots:
    return Snapshots(
        root,
        root / ".palimpsest" / "snapshots",
        rules=GitignoreRules,
        excluded_folders=ALWAYS_SKIPPED,
        limits=limits,
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")
    (tmp_path / "src" / "b.bin").write_bytes(b"\0\xff\x00binary")
    (tmp_path / "run.sh").write_text("echo hi\n")
    (tmp_path / "run.sh").chmod(0o755)
    (tmp_path / "link").symlink_to("a.txt")
    return tmp_path


def back(
    shots: Snapshots, before: str, after: str, overwrite: tuple[str, ...] = ()
) -> list[FileRestore]:
    """Undo the changes between two snapshots; return the planned restores."""
    older, newer = shots.snapshot_tree(before), shots.snapshot_tree(after)
    files = [
        wanted_file(path, older, newer.get(path)) for path in shots.changed_paths(before, after)
    ]
    moves = plan_restores(shots, files)
    perform_restores(shots, moves, overwrite)
    return list(moves)


def picture(root: Path) -> dict[str, object]:
    """Return all files and links with content and mode."""
    contents: dict[str, object] = {}
    for folder, names, files in os.walk(root):
        names[:] = [name for name in names if name not in ALWAYS_SKIPPED]
        for name in [*files, *(link for link in names if (Path(folder) / link).is_symlink())]:
            path = Path(folder) / name
            key = path.relative_to(root).as_posix()
            if path.is_symlink():
                contents[key] = path.readlink()
            else:
                contents[key] = (path.read_bytes(), stat.S_IMODE(path.stat().st_mode))
    return contents


def test_brings_back_content_mode_links_creations_and_deletions(project: Path) -> None:
    shots, was = snapshots(project), picture(project)
    before = shots.take_snapshot()
    (project / "a.txt").write_text("other\n")
    (project / "run.sh").chmod(0o644)
    (project / "src" / "b.bin").unlink()
    (project / "link").unlink()
    (project / "link").symlink_to("run.sh")
    (project / "new" / "deep").mkdir(parents=True)
    (project / "new" / "deep" / "c.txt").write_text("new")

    back(shots, before, shots.take_snapshot())

    assert picture(project) == was
    assert not (project / "new").exists()
    assert shots.take_snapshot() == before


def test_a_folder_in_the_place_of_a_file_and_the_other_way_round(project: Path) -> None:
    shots, was = snapshots(project), picture(project)
    before = shots.take_snapshot()
    (project / "a.txt").unlink()
    (project / "a.txt").mkdir()
    (project / "a.txt" / "inside").write_text("x")
    shutil.rmtree(project / "src")
    (project / "src").write_text("now a file")

    back(shots, before, shots.take_snapshot())

    assert picture(project) == was


def test_a_link_to_a_folder_is_not_followed(
    project: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret").write_text("not ours")
    (project / "out").symlink_to(outside)
    shots = snapshots(project)

    tree = shots.snapshot_tree(shots.take_snapshot())

    assert tree.entries["out"].kind == "link"
    assert not any(path.startswith("out/") for path in tree.entries)


def test_nothing_is_written_through_a_folder_that_became_a_link(
    project: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "b.bin").write_bytes(b"theirs")
    shots = snapshots(project)
    before = shots.take_snapshot()
    (project / "src" / "b.bin").write_bytes(b"agent")
    after = shots.take_snapshot()
    shutil.rmtree(project / "src")
    (project / "src").symlink_to(outside)

    moves = back(shots, before, after, overwrite=("src/b.bin",))

    assert (outside / "b.bin").read_bytes() == b"theirs"
    assert [move.action for move in moves] == ["impossible"]


def test_what_a_person_changed_since_is_a_conflict_and_stays(project: Path) -> None:
    shots = snapshots(project)
    before = shots.take_snapshot()
    (project / "a.txt").write_text("agent\n")
    after = shots.take_snapshot()
    (project / "a.txt").write_text("person\n")

    moves = back(shots, before, after)

    assert [(move.path, move.action) for move in moves] == [("a.txt", "conflict")]
    assert (project / "a.txt").read_text() == "person\n"
    back(shots, before, after, overwrite=("a.txt",))
    assert (project / "a.txt").read_text() == "one\ntwo\nthree\n"


def test_a_folder_that_was_there_empty_stays(project: Path) -> None:
    (project / "out").mkdir()
    shots = snapshots(project)
    before = shots.take_snapshot()
    (project / "out" / "plot.txt").write_text("x")

    back(shots, before, shots.take_snapshot())

    assert (project / "out").is_dir()
    assert not list((project / "out").iterdir())


def test_ignored_files_the_own_folder_and_git_are_left_out_and_listed(project: Path) -> None:
    (project / ".gitignore").write_text("data/\n*.log\n")
    (project / "data").mkdir()
    (project / "data" / "x.csv").write_text("1")
    (project / "x.log").write_text("1")
    (project / ".ipynb_checkpoints").mkdir()
    (project / ".ipynb_checkpoints" / "n.ipynb").write_text("{}")
    (project / "own.ipynb").write_text("{}")
    (project / ".ipython").mkdir()
    (project / ".ipython" / "history.sqlite").write_text("every cell")
    shots = snapshots(project)

    tree = shots.snapshot_tree(shots.take_snapshot(frozenset({"own.ipynb"})))

    assert set(tree.entries) == {".gitignore", "a.txt", "link", "run.sh", "src", "src/b.bin"}
    assert tree.ignored_paths == ("data", "x.log")


def test_a_file_that_an_older_rule_left_out_is_never_deleted(project: Path) -> None:
    (project / ".gitignore").write_text("data/\n")
    (project / "data").mkdir()
    (project / "data" / "x.csv").write_text("precious")
    shots = snapshots(project)
    before = shots.take_snapshot()
    (project / ".gitignore").write_text("")

    back(shots, before, shots.take_snapshot())

    assert (project / "data" / "x.csv").read_text() == "precious"
    assert (project / ".gitignore").read_text() == "data/\n"


def test_large_and_unreadable_files_keep_their_place_and_are_named(project: Path) -> None:
    (project / "big.dat").write_bytes(b"x" * 200)
    os.mkfifo(project / "pipe")
    shots = snapshots(project, SnapshotLimits(file_bytes=100))
    before = shots.take_snapshot()
    (project / "big.dat").write_bytes(b"y" * 300)

    moves = back(shots, before, shots.take_snapshot())

    entries = shots.snapshot_tree(before).entries
    assert {path for path in entries if entries[path].kind == "unkept"} == {"big.dat", "pipe"}
    assert [(move.path, move.action, move.reason) for move in moves] == [
        ("big.dat", "impossible", "larger than 2 MiB")
    ]
    assert (project / "big.dat").read_bytes() == b"y" * 300


@pytest.mark.parametrize("was_there", [True, False])
def test_a_file_that_could_not_be_brought_back_again_stays_unless_a_person_says_so(
    project: Path,
    was_there: bool,  # noqa: FBT001
) -> None:
    place = project / "model.bin"
    if was_there:
        place.write_bytes(b"x")
    shots = snapshots(project, SnapshotLimits(file_bytes=100))
    before = shots.take_snapshot()
    place.write_bytes(b"y" * 300)

    moves = back(shots, before, shots.take_snapshot())

    assert [(move.path, move.action, move.reason) for move in moves] == [
        ("model.bin", "conflict", "larger than 2 MiB, so it could not be brought back again")
    ]
    assert place.read_bytes() == b"y" * 300
    perform_restores(shots, moves, ["model.bin"])
    assert (place.read_bytes() if place.exists() else None) == (b"x" if was_there else None)


@pytest.mark.parametrize("limits", [SnapshotLimits(files=3), SnapshotLimits(total_bytes=5)])
def test_a_project_that_is_too_large_says_so_in_one_sentence(
    project: Path, limits: SnapshotLimits
) -> None:
    with pytest.raises(
        SnapshotsOff, match=r"not kept here: the project has more than .*gitignore\."
    ):
        snapshots(project, limits).take_snapshot()


class Looks:
    """Records the files and folders that are read while snapshots are taken."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.read: list[str] = []
        self.listed: list[str] = []
        content, scandir = store_snapshots._read_content, os.scandir

        def reading(place: str) -> bytes:
            self.read.append(place)
            return content(place)

        def listing(place: Any) -> Any:
            self.listed.append(str(place))
            return scandir(place)

        monkeypatch.setattr(store_snapshots, "_read_content", reading)
        monkeypatch.setattr(os, "scandir", listing)


@pytest.mark.parametrize("limits", [SnapshotLimits(files=3), SnapshotLimits(total_bytes=5)])
def test_a_project_that_is_too_large_is_never_read_and_looked_at_once(
    project: Path, limits: SnapshotLimits, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks, shots = Looks(monkeypatch), snapshots(project, limits)
    for _ in range(3):
        with pytest.raises(SnapshotsOff):
            shots.take_snapshot()

    assert looks.read == []
    assert len(looks.listed) == len(set(looks.listed))
    assert (shots.objects._uncommitted_bytes, shots.objects._uncommitted, shots._hashes) == (
        0,
        {},
        {},
    )


def test_a_project_that_was_too_large_is_looked_at_again_when_its_rules_change(
    project: Path,
) -> None:
    shots = snapshots(project, SnapshotLimits(files=3))
    with pytest.raises(SnapshotsOff):
        shots.take_snapshot()
    (project / ".gitignore").write_text("src/\nlink\n")

    assert shots.snapshot_tree(shots.take_snapshot()).get("a.txt") is not None


def test_a_project_that_grows_too_large_is_forgotten(project: Path) -> None:
    shots = snapshots(project, SnapshotLimits(files=6))
    shots.take_snapshot()
    for number in range(10):
        (project / f"{number}.txt").write_text("x")

    with pytest.raises(SnapshotsOff):
        shots.take_snapshot()

    assert (shots.objects._uncommitted_bytes, shots.objects._uncommitted, shots._hashes) == (
        0,
        {},
        {},
    )


def test_a_large_snapshot_holds_a_bounded_part_of_it_in_memory(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blob_storage, "MAX_UNCOMMITTED_BYTES", 1_000)
    held: list[int] = []
    for number in range(20):
        (project / f"{number}.txt").write_bytes(os.urandom(300))
    shots = snapshots(project)
    put = shots.objects.put

    def counted(content: bytes) -> str:
        name = put(content)
        held.append(sum(map(len, shots.objects._uncommitted.values())))
        return name

    monkeypatch.setattr(shots.objects, "put", counted)
    name = shots.take_snapshot()

    assert max(held) < 1_000
    assert len(snapshots(project).snapshot_tree(name).entries) == 25


def test_an_empty_folder_that_was_deleted_comes_back(project: Path) -> None:
    (project / "out" / "deep").mkdir(parents=True)
    (project / "src" / "empty").mkdir()
    shots = snapshots(project)
    before = shots.take_snapshot()
    shutil.rmtree(project / "out")
    (project / "src" / "empty").rmdir()
    after = shots.take_snapshot()

    assert shots.changed_paths(before, after) == ("out/deep", "src/empty")
    back(shots, before, after)

    assert (project / "out" / "deep").is_dir()
    assert (project / "src" / "empty").is_dir()
    assert shots.take_snapshot() == before


def test_a_disk_that_refuses_is_one_sentence(project: Path) -> None:
    (project / ".palimpsest").write_text("no folder")

    with pytest.raises(StorageFailed, match="could not be kept"):
        snapshots(project).take_snapshot()


def test_a_folder_that_cannot_be_written_is_named_and_the_rest_is_done(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shots = snapshots(project)
    before = shots.take_snapshot()
    (project / "a.txt").write_text("x")
    (project / "src" / "b.bin").write_bytes(b"x")
    after = shots.take_snapshot()
    one, other = shots.snapshot_tree(before), shots.snapshot_tree(after)
    moves = plan_restores(
        shots,
        [wanted_file(path, one, other.get(path)) for path in shots.changed_paths(before, after)],
    )
    replace = Path.replace

    def refuse(path: Path, target: Path) -> Path:
        if Path(target).name == "b.bin":
            raise PermissionError(13, "Permission denied")
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", refuse)
    done = perform_restores(shots, moves)

    assert (done.files, done.failed_paths) == (
        ("a.txt",),
        (("src/b.bin", "The folder may not be written"),),
    )
    assert not list((project / "src").glob(".*.tmp"))


def test_the_index_of_a_git_repository_is_not_touched(project: Path) -> None:
    def git(*words: str) -> str:
        return subprocess.run(
            ["git", "-c", "user.name=n", "-c", "user.email=e@x", *words],
            cwd=project,
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    git("init", "-q")
    git("add", "a.txt")
    (project / "a.txt").write_text("staged differs\n")
    shots = snapshots(project)
    before = shots.take_snapshot()
    inside = {path: path.read_bytes() for path in (project / ".git").rglob("*") if path.is_file()}
    (project / "a.txt").write_text("agent\n")

    back(shots, before, shots.take_snapshot())

    assert inside == {
        path: path.read_bytes() for path in (project / ".git").rglob("*") if path.is_file()
    }
    assert git("diff", "--cached", "--name-only") == "a.txt\n"
    assert (project / "a.txt").read_text() == "staged differs\n"


def test_a_change_with_the_same_size_and_time_is_seen(project: Path) -> None:
    shots = snapshots(project)
    before = shots.take_snapshot()
    was = (project / "a.txt").stat()
    (project / "a.txt").write_text("two\none\nthree\n")
    os.utime(project / "a.txt", ns=(was.st_atime_ns, was.st_mtime_ns))

    assert shots.changed_paths(before, shots.take_snapshot()) == ("a.txt",)


def test_files_that_did_not_change_are_not_read_again(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shots = snapshots(project)
    # A file changed a moment ago could change again unnoticed.
    monkeypatch.setattr(time, "time_ns", lambda now=time.time_ns: now() + 1_000_000_000)
    before = shots.take_snapshot()
    monkeypatch.setattr(
        "palimpsest.store.file_snapshots.snapshots._read_content", lambda _: pytest.fail("read")
    )

    assert shots.take_snapshot() == before


def test_a_snapshot_whose_object_is_gone_says_so(project: Path) -> None:
    shots = snapshots(project)
    name = shots.take_snapshot()
    shutil.rmtree(project / ".palimpsest")

    with pytest.raises(NotFound, match="no longer kept"):
        snapshots(project).snapshot_tree(name)


def test_a_cleanup_takes_what_no_snapshot_needs_and_nothing_else(project: Path) -> None:
    shots = snapshots(project)
    for word in ("first" * 900, "second" * 900):
        (project / "a.txt").write_text(word)
        shots.take_snapshot()
    (project / "a.txt").write_text("third")
    name, needed = shots.take_snapshot(), set[str]()
    add_reachable(shots.objects, name, needed)
    folder = project / ".palimpsest" / "snapshots"
    later = time.time() + 7_200

    fresh = sweep_packs(folder, needed, time.time(), days=0, delete=True)
    looked = sweep_packs(folder, needed, later, days=0, delete=False)
    gone = sweep_packs(folder, needed, later, days=0, delete=True)

    assert (fresh.unneeded_bytes, looked.unneeded_bytes > 9_000, gone.packs) == (0, True, 3)
    assert sweep_packs(folder, needed, later, days=0, delete=False).bytes < looked.bytes - 9_000
    assert set(snapshots(project).snapshot_tree(name).entries) == {
        "a.txt",
        "link",
        "run.sh",
        "src",
        "src/b.bin",
    }
    assert (
        shots.snapshot_tree(name).get("a.txt") is not None
    )  # a reader of the old packs finds the new ones


def test_what_another_kernel_kept_is_not_written_again(project: Path) -> None:
    name = snapshots(project).take_snapshot()
    packs = list((project / ".palimpsest" / "snapshots").glob("*"))

    assert snapshots(project).take_snapshot() == name
    assert list((project / ".palimpsest" / "snapshots").glob("*")) == packs


def test_says_what_became_of_each_file(project: Path) -> None:
    shots = snapshots(project)
    before = shots.take_snapshot()
    (project / "a.txt").write_text("one\n2\nthree\nfour\n")
    (project / "src" / "b.bin").write_bytes(b"\0other")
    (project / "c.txt").write_text("new\n")
    (project / "run.sh").unlink()

    diffs = snapshot_diffs(shots, before, shots.take_snapshot())

    assert [
        (diff.file, diff.status, diff.additions, diff.deletions, diff.note) for diff in diffs
    ] == [
        ("a.txt", "modified", 2, 1, None),
        ("c.txt", "added", 1, 0, None),
        ("run.sh", "deleted", 0, 1, None),
        ("src/b.bin", "modified", 0, 0, "no text"),
    ]
    assert diffs[0].patch == (
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,4 @@\n one\n-two\n+2\n three\n+four"
    )


def test_line_numbers_are_those_of_the_whole_file(project: Path) -> None:
    lines = [f"line {n}" for n in range(1, 101)]
    (project / "a.txt").write_text("\n".join(lines))
    shots = snapshots(project)
    before = shots.take_snapshot()
    lines[49] = "changed"
    (project / "a.txt").write_text("\n".join(lines))

    (diff,) = snapshot_diffs(shots, before, shots.take_snapshot())

    assert "@@ -47,7 +47,7 @@" in (diff.patch or "")


def test_two_changes_of_a_file_are_told_as_one(project: Path) -> None:
    shots = snapshots(project)
    first = shots.take_snapshot()
    (project / "a.txt").write_text("one\ntwo\n")
    second = shots.take_snapshot()
    (project / "a.txt").write_text("one\ntwo\nthree\nfour\n")
    third = shots.take_snapshot()
    older, newer = snapshot_diffs(shots, first, second)[0], snapshot_diffs(shots, second, third)[0]

    both = join_diffs(older, newer, shots)

    assert both == snapshot_diffs(shots, first, third)[0]
    entry = shots.snapshot_tree(first).get("a.txt")
    assert file_diff(shots, "a.txt", entry, entry) is None


NAMES = st.sampled_from(["a", "b", "c", "d/e", "d/f", "g/h/i", "a/x", "d", "B"])
CONTENT = st.one_of(
    st.binary(max_size=40).map(lambda content: ("file", content)),
    st.sampled_from(["a", "d/e", "nowhere"]).map(lambda target: ("link", target)),
)
EDITS = st.lists(
    st.tuples(NAMES, st.one_of(CONTENT, st.none()), st.sampled_from([0o644, 0o755, 0o600])),
    max_size=8,
)


def apply_edits(root: Path, edits: list[tuple[str, tuple[str, object] | None, int]]) -> None:
    for name, content, mode in edits:
        path = root / name
        for parent in reversed(path.parents):
            if (
                parent != root
                and root in parent.parents
                and (parent.is_symlink() or parent.is_file())
            ):
                parent.unlink()
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
        if content is None:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if content[0] == "link":
            path.symlink_to(str(content[1]))
        else:
            path.write_bytes(bytes(content[1]))  # type: ignore[call-overload]  # drawn as bytes
            path.chmod(mode)


@settings(
    max_examples=sample_size(25, 3_000),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(first=EDITS, then=EDITS, last=EDITS)
def test_any_changes_are_taken_back_to_the_same_tree(
    tmp_path_factory: pytest.TempPathFactory,
    first: list[tuple[str, tuple[str, object] | None, int]],
    then: list[tuple[str, tuple[str, object] | None, int]],
    last: list[tuple[str, tuple[str, object] | None, int]],
) -> None:
    """Snapshot, change, snapshot, restore gives the first tree; and restoring again the second."""
    root = tmp_path_factory.mktemp("tree")
    apply_edits(root, first)
    shots, was = snapshots(root), picture(root)
    before = shots.take_snapshot()
    apply_edits(root, [*then, *last])
    now, after = picture(root), shots.take_snapshot()

    back(shots, before, after)
    assert picture(root) == was
    back(shots, after, shots.take_snapshot())
    assert picture(root) == now
    shutil.rmtree(root)


@pytest.mark.parametrize("name", ["n.ipynb", "copy.json"])
def test_a_difference_shows_no_cell_that_is_kept_from_the_agent(project: Path, name: str) -> None:
    def save(hidden: str, shown: str, end: str = "") -> str:
        cells = [
            {"cell_type": "code", "metadata": {"tags": ["agent-hidden"]}, "source": hidden},
            {"cell_type": "code", "metadata": {}, "source": shown},
        ]
        (project / name).write_text(json.dumps({"cells": cells}, indent=1) + end)
        return shots.take_snapshot()

    shots = snapshots(project)
    first, second = save("HUSH = 1", "open = 1"), save("HUSH = 2", "open = 2")
    third, broken = save("HUSH = 3", "open = 2"), save("HUSH = 3", "open = 3", "]")
    (both,), (hidden,), (end,) = (
        snapshot_diffs(shots, before, other)
        for before, other in ((first, second), (second, third), (third, broken))
    )

    assert '+   "source": "open = 2"' in (both.patch or "")
    assert "HUSH" not in f"{both} {hidden} {end}"
    assert both.note == "cells that are kept from the agent are not shown"
    assert hidden.note == end.note == "only cells that are kept from the agent, which are not shown"
    assert hidden.patch is end.patch is None
