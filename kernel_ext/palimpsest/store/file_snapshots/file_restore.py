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
from palimpsest.store.file_snapshots.snapshots import Snapshots, has_content_to_lose, reason_unkept
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
UNSAFE_PATH = "nothing is done with it: {problem}"
PROTECTED_REASON = (
    "it holds keys or says what runs, and another kernel kept it; name it to bring it back"
)


@dataclass(frozen=True, slots=True)
class WantedFile:
    """The wanted state of one file, and the state that the agent left."""

    path: str
    entry: TreeEntry | None
    """The wanted state; None when the file is to be deleted."""
    left_entry: TreeEntry | None
    """The state that the agent left."""
    was_disturbed: bool = False
    """Whether something other than the agent changed it between two steps."""
    is_unknown: bool = False
    """Whether an ignore rule excluded it from the snapshot."""
    nearest_folder: str = ""
    """The nearest folder in the snapshot; folders below it that become empty are deleted with the file."""
    snapshot: str = ""
    """The name of the snapshot with the wanted state."""


@dataclass(frozen=True, slots=True)
class FileRestore:
    """The planned action for one file."""

    path: str
    action: Action
    wanted_entry: TreeEntry | None
    present_entry: TreeEntry | None
    reason: str = ""
    """Why the file is left alone; empty for another action."""
    nearest_folder: str = ""


@dataclass(frozen=True, slots=True)
class RestoreOutcome:
    """The result of restoring files: paths restored, left alone and failed."""

    files: tuple[str, ...] = ()
    """Paths that were restored."""
    kept_paths: tuple[str, ...] = ()
    """Left alone because of a conflict."""
    failed_paths: tuple[tuple[str, str], ...] = ()
    """Path and reason."""


def wanted_file(
    path: str, tree: Tree, left_entry: TreeEntry | None, *, disturbed: bool = False
) -> WantedFile:
    """Return a file's state in a snapshot as the wanted state; ``left_entry`` is the state that the agent left."""
    entry = tree.get(path)
    is_unknown = entry is None and tree.is_left_out(path)
    folders = (parent.as_posix() for parent in Path(path).parents)
    nearest_folder = next((folder for folder in folders if tree.get(folder) is not None), "")
    return WantedFile(path, entry, left_entry, disturbed, is_unknown, nearest_folder, tree.id)


def plan_restores(snapshots: Snapshots, files: Iterable[WantedFile]) -> tuple[FileRestore, ...]:
    """Return the planned action for each file; changes nothing."""
    sorted_files = sorted(files, key=lambda file: file.path)
    deleted_files = (
        file for file in sorted_files if file.entry is None or file.entry.kind == "folder"
    )
    deleted_paths = {file.path for file in deleted_files}
    return tuple(_planned_restore(snapshots, file, deleted_paths) for file in sorted_files)


def _planned_restore(
    snapshots: Snapshots, file: WantedFile, deleted_paths: Collection[str]
) -> FileRestore:
    problem = path_problem(file.path, snapshots.excluded_folders)
    present_entry: TreeEntry | None = None
    if not problem and not _is_below_link(snapshots.root, file.path):
        present_entry = snapshots.current_entry(file.path)

    def restore(action: Action, reason: str = "") -> FileRestore:
        return FileRestore(
            file.path, action, file.entry, present_entry, reason, file.nearest_folder
        )

    if problem:
        return restore("impossible", UNSAFE_PATH.format(problem=problem))
    is_folder = present_entry is not None and present_entry.kind == "folder"
    if _is_same_entry(None if is_folder and file.entry is None else present_entry, file.entry):
        return restore("nothing")
    if reason := _impossible_reason(snapshots, file, deleted_paths):
        return restore("impossible", reason)
    if reason := _conflict_reason(snapshots, file, present_entry, deleted_paths):
        return restore("conflict", reason)
    return restore("delete" if file.entry is None else "write")


def _impossible_reason(
    snapshots: Snapshots, file: WantedFile, deleted_paths: Collection[str]
) -> str:
    if file.is_unknown:
        return LEFT_OUT
    if file.entry is not None and file.entry.kind == "unkept":
        return reason_unkept(file.entry)
    if file.entry is not None and file.entry.kind == "file":
        try:
            snapshots.content(file.entry.key)
        except NotFound as problem:
            return str(problem)
    return BELOW_LINK if _is_below_link(snapshots.root, file.path, deleted_paths) else ""


def _conflict_reason(
    snapshots: Snapshots,
    file: WantedFile,
    present_entry: TreeEntry | None,
    deleted_paths: Collection[str],
) -> str:
    if file.was_disturbed:
        return CHANGED_BETWEEN
    if snapshots.asks_before_restore(file.path, file.snapshot):
        return PROTECTED_REASON
    if (
        present_entry is not None
        and present_entry.kind == "unkept"
        and has_content_to_lose(present_entry)
    ):
        return NOT_KEPT.format(reason=reason_unkept(present_entry))
    if present_entry is not None and present_entry.kind == "folder":
        was_folder = file.left_entry is None or file.left_entry.kind == "folder"
        has_others = _has_other_files(snapshots.root, file.path, deleted_paths)
        return "" if was_folder and not has_others else FOLDER_WITH_FILES
    left_entry = file.left_entry
    was_folder = left_entry is not None and left_entry.kind == "folder"
    is_unchanged = _is_same_entry(present_entry, left_entry)
    return "" if is_unchanged or (was_folder and present_entry is None) else CHANGED_SINCE


def perform_restores(
    snapshots: Snapshots, restores: Iterable[FileRestore], overwrite: Collection[str] = ()
) -> RestoreOutcome:
    """Perform the planned actions; conflicts only where ``overwrite`` has the path."""
    restored_paths: list[str] = []
    failed_files: list[tuple[str, str]] = []
    kept_paths: list[str] = []
    restores_to_do: list[FileRestore] = []
    for restore in restores:
        if restore.action == "conflict" and restore.path not in overwrite:
            kept_paths.append(restore.path)
        elif restore.action == "impossible":
            failed_files.append((restore.path, restore.reason))
        elif restore.action != "nothing":
            restores_to_do.append(restore)
    # Deletions first: a folder may have to be replaced by a file, or a file by a folder.
    deletions = [restore for restore in reversed(restores_to_do) if restore.wanted_entry is None]
    writes = [restore for restore in restores_to_do if restore.wanted_entry is not None]
    for restore in deletions + writes:
        try:
            _restore_file(snapshots, restore)
            restored_paths.append(restore.path)
        except (OSError, NotFound) as problem:
            reason = disk_reason(problem) if isinstance(problem, OSError) else str(problem)
            failed_files.append((restore.path, reason))
    restored, failed = tuple(sorted(restored_paths)), tuple(sorted(failed_files))
    return RestoreOutcome(restored, tuple(kept_paths), failed)


def _restore_file(snapshots: Snapshots, restore: FileRestore) -> None:
    file_path = snapshots.root / disk_name(restore.path)
    problem = path_problem(restore.path, snapshots.excluded_folders)
    if problem:
        raise OSError(0, UNSAFE_PATH.format(problem=problem))
    if _is_below_link(snapshots.root, restore.path):
        raise OSError(0, BELOW_LINK)
    wanted_entry = restore.wanted_entry
    if wanted_entry is None:
        if file_path.is_dir() and not file_path.is_symlink():
            return  # the agent's file is gone already: somebody else made this folder
        file_path.unlink(missing_ok=True)
        _prune_folders(snapshots.root / disk_name(restore.nearest_folder), file_path.parent)
        return
    if wanted_entry.kind == "folder":
        if file_path.is_symlink() or file_path.is_file():
            file_path.unlink()
        file_path.mkdir(parents=True, exist_ok=True)
        return
    if file_path.is_dir() and not file_path.is_symlink():
        _remove_empty(file_path)
    file_path.parent.mkdir(parents=True, exist_ok=True)
    is_link = wanted_entry.kind == "link"
    content = b"" if is_link else snapshots.content(wanted_entry.key)
    scratch_path = scratch_file(file_path.parent, content)
    try:
        if is_link:
            scratch_path.unlink()
            scratch_path.symlink_to(disk_name(wanted_entry.key))
        else:
            scratch_path.chmod(wanted_entry.mode & PERMISSION_BITS)
        scratch_path.replace(file_path)
    except OSError:
        scratch_path.unlink(missing_ok=True)
        raise


def _remove_empty(folder: Path) -> None:
    """Remove a folder that contains only empty folders; raises OSError otherwise."""
    for inner in sorted(folder.rglob("*"), reverse=True):
        inner.rmdir()
    folder.rmdir()


def _prune_folders(root: Path, folder: Path) -> None:
    """Remove empty folders upwards from ``folder``, below ``root``."""
    with suppress(OSError):
        while folder != root and root in folder.parents:
            folder.rmdir()
            folder = folder.parent


def _is_below_link(root: Path, path: str, deleted_paths: Collection[str] = ()) -> bool:
    """Return whether a folder above a path is a symbolic link, so that writing there leaves the project.

    Links in ``deleted_paths``, which are about to be deleted, do not count.
    """
    parents = [parent.as_posix() for parent in Path(path).parents][:-1]
    links = (folder for folder in parents if (root / disk_name(folder)).is_symlink())
    return any(folder not in deleted_paths for folder in links)


def _has_other_files(root: Path, path: str, deleted_paths: Collection[str]) -> bool:
    """Return whether a folder contains files that are not in ``deleted_paths``."""
    for folder, _, names in os.walk(root / disk_name(path)):
        folder_name = recorded_name(Path(folder).relative_to(root).as_posix())
        if any(f"{folder_name}/{recorded_name(name)}" not in deleted_paths for name in names):
            return True
    return False


def _is_same_entry(first: TreeEntry | None, other: TreeEntry | None) -> bool:
    if first is None or other is None:
        return first is other
    if first.kind == other.kind == "folder":
        return True
    return (first.kind, first.mode, first.key) == (other.kind, other.mode, other.key)
