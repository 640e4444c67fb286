"""Compute and carry out a revert's changes of the project's files; on a thread, never on the engine's loop.

The snapshot before the first step that names a file holds the state to restore; the snapshot after the last step
holds the state that the agent left. The file must not have changed between two steps of the agent, else other
people's work would be reverted with the agent's.
"""

from collections.abc import Collection, Iterable
from pathlib import Path

from palimpsest.session.revert.plan import RevertPlan, snapshot_after_step
from palimpsest.store.file_snapshots.file_diffs import file_diff
from palimpsest.store.file_snapshots.file_restore import (
    LEFT_OUT,
    FileRestore,
    WantedFile,
    perform_restores,
    plan_restores,
    wanted_file,
)
from palimpsest.store.file_snapshots.snapshots import Snapshots
from palimpsest.store.file_snapshots.trees import Tree, TreeEntry, UnsafeTree
from palimpsest.transcript.errors import NotFound
from palimpsest.transcript.messages import Messages, parts_of
from palimpsest.transcript.parts import PatchPart, StepFinishPart
from palimpsest.transcript.session_record.reverts import RevertedFile, RevertState
from palimpsest.transcript.strings.relative_paths import path_problem

OUTSIDE_REASON = "it lies outside the project, where no earlier state is kept"
GONE_REASON = "the snapshot that held it is no longer kept"

WantedAndUnusable = tuple[tuple[WantedFile, ...], tuple[tuple[str, str], ...]]
"""The state to restore for each file, and the files whose snapshot is unusable, with the reason."""


class SnapshotReader:
    """Reads snapshots, and remembers why some cannot be used."""

    def __init__(self, snapshots: Snapshots) -> None:
        self._snapshots = snapshots
        self.unusable_reasons: dict[str, str] = {}
        """Snapshot name to the reason why it is not used."""

    def tree(self, name: str | None) -> Tree | None:
        """Return a snapshot; None where it no longer exists or must not be used."""
        if name is None:
            return None
        try:
            return self._snapshots.snapshot_tree(name)
        except UnsafeTree as problem:
            self.unusable_reasons[name] = str(problem)
            return None
        except NotFound:
            return None

    def entry(self, name: str | None, path: str) -> TreeEntry | None:
        """Return the entry at a path in a snapshot; None where there is none."""
        tree = self.tree(name)
        return tree.get(path) if tree is not None else None


def wanted_files(
    snapshots: Snapshots, messages: Messages, plan: RevertPlan, standing_revert: RevertState | None
) -> WantedAndUnusable:
    """Return the state to restore for each file, and the files whose snapshot no longer exists or is not used."""
    snapshot_reader = SnapshotReader(snapshots)
    snapshot_by_path: dict[str, str] = {}
    entries_left_by_agent: dict[str, TreeEntry | None] = {}
    paths_changed_between: set[str] = set()
    for patch in plan.patches:
        after_step = snapshot_after_step(messages, patch)
        for path in _changed_paths(snapshots, patch, after_step):
            if path in entries_left_by_agent and entries_left_by_agent[
                path
            ] != snapshot_reader.entry(patch.hash, path):
                paths_changed_between.add(path)
            snapshot_by_path.setdefault(path, patch.hash)
            entries_left_by_agent[path] = snapshot_reader.entry(after_step, path)
    if standing_revert is not None:
        for path in standing_revert.files:
            entries_left_by_agent[path] = snapshot_reader.entry(standing_revert.left, path)
            if standing_revert.snapshot is not None:
                snapshot_by_path.setdefault(path, standing_revert.snapshot)
    wanted, impossible = _wanted_files(
        snapshot_reader, snapshot_by_path, entries_left_by_agent, paths_changed_between
    )
    unseen_paths = [path for path in plan.written_files if path not in snapshot_by_path]
    return wanted, impossible + _files_without_snapshot(
        snapshots, snapshot_reader, messages, unseen_paths
    )


def _files_without_snapshot(
    snapshots: Snapshots,
    snapshot_reader: SnapshotReader,
    messages: Messages,
    written_paths: Iterable[str],
) -> tuple[tuple[str, str], ...]:
    """Return the files that no snapshot holds, each with the reason, so that the user learns of each unreverted file.

    Files that snapshots hold, and that no step changed, are not among them.
    """
    snapshot_names = [
        part.snapshot
        for part in parts_of(messages)
        if isinstance(part, StepFinishPart) and part.snapshot is not None
    ]
    tree = snapshot_reader.tree(snapshot_names[-1]) if snapshot_names else None
    paths: list[tuple[str, str]] = []
    for path in written_paths:
        if path.startswith("/") or Path(path).is_absolute():
            paths.append((path, OUTSIDE_REASON))
        elif (problem := path_problem(path, snapshots.excluded_folders)) is not None:
            paths.append((path, problem))
        elif tree is not None and tree.get(path) is None and tree.is_left_out(path):
            paths.append((path, LEFT_OUT))
    return tuple(paths)


def _changed_paths(
    snapshots: Snapshots, patch: PatchPart, after_step: str | None
) -> tuple[str, ...]:
    """Return every file that a step changed, including those that its part does not name."""
    if not patch.more or after_step is None:
        return patch.files
    try:
        return snapshots.changed_paths(patch.hash, after_step)
    except NotFound:
        return patch.files


def files_to_bring_back(snapshots: Snapshots, standing_revert: RevertState) -> WantedAndUnusable:
    """Return the state to restore for each file when a revert is undone."""
    snapshot_reader = SnapshotReader(snapshots)
    snapshot_by_path = dict.fromkeys(standing_revert.files, standing_revert.snapshot or "")
    entries_left_by_agent = {
        path: snapshot_reader.entry(standing_revert.left, path) for path in snapshot_by_path
    }
    return _wanted_files(snapshot_reader, snapshot_by_path, entries_left_by_agent, set())


def _wanted_files(
    snapshot_reader: SnapshotReader,
    snapshot_by_path: dict[str, str],
    entries_left_by_agent: dict[str, TreeEntry | None],
    paths_changed_between: set[str],
) -> WantedAndUnusable:
    wanted_list: list[WantedFile] = []
    impossible_files: list[tuple[str, str]] = []
    for path, name in snapshot_by_path.items():
        tree = snapshot_reader.tree(name)
        if tree is None:
            impossible_files.append((path, snapshot_reader.unusable_reasons.get(name, GONE_REASON)))
        else:
            is_changed = path in paths_changed_between
            wanted_list.append(
                wanted_file(path, tree, entries_left_by_agent[path], disturbed=is_changed)
            )
    return tuple(wanted_list), tuple(impossible_files)


def preview_files(snapshots: Snapshots, files: WantedAndUnusable) -> tuple[RevertedFile, ...]:
    """Return what a revert would do with each file, sorted by path."""
    shown_files = [
        _reverted_file(snapshots, restore) for restore in plan_restores(snapshots, files[0])
    ]
    return _sorted_files(shown_files, files)


def revert_files(
    snapshots: Snapshots, files: WantedAndUnusable, overwrite: Collection[str]
) -> tuple[RevertedFile, ...]:
    """Restore the files, and return what was done with each, sorted by path; ``overwrite`` names conflicts."""
    restores = plan_restores(snapshots, files[0])
    reverted_files = {restore.path: _reverted_file(snapshots, restore) for restore in restores}
    result = perform_restores(snapshots, restores, overwrite)
    for path, problem in result.failed_paths:
        reverted_files[path] = reverted_files[path].model_copy(
            update={"action": "impossible", "reason": problem}
        )
    for restore in restores:
        if restore.action == "conflict" and restore.path in result.files:
            action = "delete" if restore.wanted_entry is None else "restore"
            reverted_files[restore.path] = reverted_files[restore.path].model_copy(
                update={"action": action, "reason": None}
            )
    return _sorted_files(reverted_files.values(), files)


def _sorted_files(
    restorable_files: Iterable[RevertedFile], files: WantedAndUnusable
) -> tuple[RevertedFile, ...]:
    """Return files sorted by path, with those whose snapshot is unusable."""
    impossible = [
        RevertedFile(file=path, action="impossible", reason=why) for path, why in files[1]
    ]
    return tuple(sorted([*restorable_files, *impossible], key=lambda file: file.file))


def changed_paths(files: Iterable[RevertedFile]) -> tuple[str, ...]:
    """Return the files that were restored or deleted."""
    return tuple(file.file for file in files if file.action in {"restore", "delete"})


def _reverted_file(snapshots: Snapshots, restore: FileRestore) -> RevertedFile:
    diff = None
    if restore.action in {"write", "delete", "conflict"}:
        diff = file_diff(
            snapshots, restore.path, snapshots.store_entry(restore.path), restore.wanted_entry
        )
    action = {"write": "restore"}.get(restore.action, restore.action)
    return RevertedFile.model_validate(
        {"file": restore.path, "action": action, "reason": restore.reason or None, "diff": diff}
    )
