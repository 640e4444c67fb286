"""Restore files to their state in a snapshot, one by one, without overwriting changes by others.

Each file is written to a temporary file beside its path and renamed. A file that differs from how the
agent left it is a conflict: it is reported and left alone unless the user chooses to overwrite it.
"""

import os
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from palimpsest.store.disk import scratch_file
from palimpsest.store.file_snapshots.snapshots import Snapshots, is_work, reason
from palimpsest.store.file_snapshots.trees import Tree, TreeEntry
from palimpsest.transcript.errors import NotFound
from palimpsest.transcript.strings.disk_words import disk_reason
from palimpsest.transcript.strings.relative_paths import disk_name, path_problem, recorded_name

Action = Literal["write", "delete", "nothing", "conflict", "impossible"]

CHANGED_SINCE = "changed since the agent left it"
CHANGED_BETWEEN = "somebody else changed it too, between two steps of the agent"
FOLDER_WITH_FILES = "a folder with other files stands in its place"
BELOW_LINK = "its folder is a link now"
NOT_KEPT = "{reason}, so it could not be brought back again"
LEFT_OUT = "it was left out of the snapshot by an ignore rule"
PERMISSION_BITS = 0o777
"""Permission bits that are restored; the setuid and setgid bits are not."""
LEADS_OUT = "nothing is done with it: {problem}"
PROTECTED = "it holds keys or says what runs, and another kernel kept it; name it to bring it back"
FOLDER_IS_FILE = "a file stands where its folder was"


@dataclass(frozen=True, slots=True)
class WantedFile:
    """The wanted state of one file, and how the agent left it."""

    path: str
    entry: TreeEntry | None
    """The wanted state; None when the file is to be deleted."""
    left: TreeEntry | None
    disturbed: bool = False
    """It was changed by something other than the agent between two steps."""
    unknown: bool = False
    """An ignore rule excluded it from the snapshot."""
    floor: str = ""
    """The nearest folder in the snapshot; folders below it that become empty are deleted with the file."""
    snapshot: str = ""
    """The name of the snapshot with the wanted state."""


@dataclass(frozen=True, slots=True)
class FileRestore:
    """The planned action for one file."""

    path: str
    action: Action
    wanted: TreeEntry | None
    now: TreeEntry | None
    reason: str = ""
    """Why the file is left alone; empty if it is not."""
    floor: str = ""


@dataclass(frozen=True, slots=True)
class RestoreOutcome:
    """The result of restoring files: paths restored, left alone and failed."""

    files: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    """Left alone because of a conflict."""
    failed: tuple[tuple[str, str], ...] = ()
    """Path and reason."""


def wanted_file(
    path: str, tree: Tree, left: TreeEntry | None, *, disturbed: bool = False
) -> WantedFile:
    """Return a file's state in a snapshot as the wanted one; ``left`` is how the agent left it."""
    entry = tree.get(path)
    unknown = entry is None and tree.left_out(path)
    folders = (parent.as_posix() for parent in Path(path).parents)
    floor = next((one for one in folders if tree.get(one) is not None), "")
    return WantedFile(path, entry, left, disturbed, unknown, floor, tree.id)


def plan_moves(snapshots: Snapshots, files: Iterable[WantedFile]) -> tuple[FileRestore, ...]:
    """Return the planned action for each file; changes nothing."""
    ordered = sorted(files, key=lambda one: one.path)
    leaving = {one.path for one in ordered if one.entry is None or one.entry.kind == "folder"}
    return tuple(_move(snapshots, one, leaving) for one in ordered)


def _move(snapshots: Snapshots, one: WantedFile, leaving: Collection[str]) -> FileRestore:
    problem = path_problem(one.path, snapshots.never)
    if problem:
        return FileRestore(
            one.path, "impossible", one.entry, None, LEADS_OUT.format(problem=problem)
        )
    now = None if _below_link(snapshots.root, one.path) else snapshots.look(one.path)
    is_folder = now is not None and now.kind == "folder"
    here = None if is_folder and one.entry is None else now
    if _same(here, one.entry):
        return FileRestore(one.path, "nothing", one.entry, now)
    hindrance = _impossible(snapshots, one, leaving)
    if hindrance:
        return FileRestore(one.path, "impossible", one.entry, now, hindrance)
    conflict = _conflict(snapshots, one, now, leaving)
    if conflict:
        return FileRestore(one.path, "conflict", one.entry, now, conflict, one.floor)
    action: Action = "delete" if one.entry is None else "write"
    return FileRestore(one.path, action, one.entry, now, floor=one.floor)


def _impossible(snapshots: Snapshots, one: WantedFile, leaving: Collection[str]) -> str:
    if one.unknown:
        return LEFT_OUT
    if one.entry is not None and one.entry.kind == "unkept":
        return reason(one.entry)
    if one.entry is not None and one.entry.kind == "file":
        try:
            snapshots.content(one.entry.key)
        except NotFound as problem:
            return str(problem)
    return BELOW_LINK if _below_link(snapshots.root, one.path, leaving) else ""


def _conflict(
    snapshots: Snapshots, one: WantedFile, now: TreeEntry | None, leaving: Collection[str]
) -> str:
    if one.disturbed:
        return CHANGED_BETWEEN
    if snapshots.asks(one.path, one.snapshot):
        return PROTECTED
    if now is not None and now.kind == "unkept" and is_work(now):
        return NOT_KEPT.format(reason=reason(now))
    if now is not None and now.kind == "folder":
        left_folder = one.left is None or one.left.kind == "folder"
        others = _others(snapshots.root, one.path, leaving)
        return "" if left_folder and not others else FOLDER_WITH_FILES
    if _same(now, one.left):
        return ""
    if one.left is not None and one.left.kind == "folder" and now is None:
        return ""
    return CHANGED_SINCE


def perform_restores(
    snapshots: Snapshots, moves: Iterable[FileRestore], overwrite: Collection[str] = ()
) -> RestoreOutcome:
    """Perform the planned actions; conflicts only where ``overwrite`` has the path."""
    done: list[str] = []
    failed: list[tuple[str, str]] = []
    kept: list[str] = []
    chosen: list[FileRestore] = []
    for move in moves:
        if move.action == "conflict" and move.path not in overwrite:
            kept.append(move.path)
        elif move.action == "impossible":
            failed.append((move.path, move.reason))
        elif move.action != "nothing":
            chosen.append(move)
    # Deletions first: a folder may have to be replaced by a file, or a file by a folder.
    deletions = [move for move in reversed(chosen) if move.wanted is None]
    for move in deletions + [move for move in chosen if move.wanted is not None]:
        try:
            _perform(snapshots, move)
            done.append(move.path)
        except (OSError, NotFound) as problem:
            words = disk_reason(problem) if isinstance(problem, OSError) else str(problem)
            failed.append((move.path, words))
    return RestoreOutcome(tuple(sorted(done)), tuple(kept), tuple(sorted(failed)))


def _perform(snapshots: Snapshots, move: FileRestore) -> None:
    place = snapshots.root / disk_name(move.path)
    problem = path_problem(move.path, snapshots.never)
    if problem:
        raise OSError(0, LEADS_OUT.format(problem=problem))
    if _below_link(snapshots.root, move.path):
        raise OSError(0, BELOW_LINK)
    wanted = move.wanted
    if wanted is None:
        if place.is_dir() and not place.is_symlink():
            return  # the agent's file is gone already; a folder was made by others
        place.unlink(missing_ok=True)
        _prune_folders(snapshots.root / disk_name(move.floor), place.parent)
        return
    if wanted.kind == "folder":
        if place.is_symlink() or place.is_file():
            place.unlink()
        place.mkdir(parents=True, exist_ok=True)
        return
    if place.is_dir() and not place.is_symlink():
        _remove_empty(place)
    place.parent.mkdir(parents=True, exist_ok=True)
    if wanted.kind == "link":
        _link(place, disk_name(wanted.key))
        return
    scratch = scratch_file(place.parent, snapshots.content(wanted.key))
    try:
        scratch.chmod(wanted.mode & PERMISSION_BITS)
        scratch.replace(place)
    except OSError:
        scratch.unlink(missing_ok=True)
        raise


def _link(place: Path, target: str) -> None:
    """Create a symbolic link atomically: beside its path, then renamed."""
    scratch = scratch_file(place.parent, b"")
    scratch.unlink()
    scratch.symlink_to(target)
    try:
        scratch.replace(place)
    except OSError:
        scratch.unlink(missing_ok=True)
        raise


def _remove_empty(folder: Path) -> None:
    """Remove a folder that contains only empty folders; raises OSError otherwise."""
    for inner in sorted(folder.rglob("*"), reverse=True):
        inner.rmdir()
    folder.rmdir()


def _prune_folders(root: Path, folder: Path) -> None:
    """Remove empty folders upwards from ``folder``, up to ``root``, which stays."""
    with suppress(OSError):
        while folder != root and root in folder.parents:
            folder.rmdir()
            folder = folder.parent


def _below_link(root: Path, path: str, leaving: Collection[str] = ()) -> bool:
    """Return whether a folder above a path is a symbolic link, so that writing there leaves the project.

    Links in ``leaving``, which are about to be deleted, do not count.
    """
    above = [parent.as_posix() for parent in Path(path).parents][:-1]
    return any((root / disk_name(one)).is_symlink() and one not in leaving for one in above)


def _others(root: Path, path: str, leaving: Collection[str]) -> bool:
    """Return whether a folder contains files that are not in ``leaving``."""
    for folder, _, names in os.walk(root / disk_name(path)):
        below = recorded_name(Path(folder).relative_to(root).as_posix())
        if any(f"{below}/{recorded_name(name)}" not in leaving for name in names):
            return True
    return False


def _same(one: TreeEntry | None, other: TreeEntry | None) -> bool:
    if one is None or other is None:
        return one is other
    if one.kind == other.kind == "folder":
        return True
    return (one.kind, one.mode, one.key) == (other.kind, other.mode, other.key)
