"""Compute and carry out what a revert does to the project's files; on a thread, never on the engine's loop.

The snapshot before the first step that names a file holds what to restore; the one after the last step, what
the agent left. The file must not have changed between two steps of the agent, else other people's work
would be reverted with the agent's.
"""

from collections.abc import Collection, Iterable
from pathlib import Path

from palimpsest.session.revert.plan import RevertPlan, left_by
from palimpsest.store.file_snapshots.file_diffs import file_diff
from palimpsest.store.file_snapshots.file_restore import (
    LEFT_OUT,
    FileRestore,
    WantedFile,
    perform_restores,
    plan_moves,
    wanted_file,
)
from palimpsest.store.file_snapshots.snapshots import Snapshots
from palimpsest.store.file_snapshots.trees import Tree, TreeEntry, UnsafeTree
from palimpsest.transcript.errors import NotFound
from palimpsest.transcript.messages import Messages
from palimpsest.transcript.parts import PatchPart, StepFinishPart
from palimpsest.transcript.session_record.reverts import RevertedFile, RevertState
from palimpsest.transcript.strings.relative_paths import path_problem

OUTSIDE = "it lies outside the project, where no earlier state is kept"
GONE = "the snapshot that held it is no longer kept"

Files = tuple[tuple[WantedFile, ...], tuple[tuple[str, str], ...]]
"""The state to restore for each file, and the files whose snapshot is unusable, with the reason."""


class SnapshotReader:
    """Reads snapshots, and remembers why some cannot be used."""

    def __init__(self, snapshots: Snapshots) -> None:
        self._snapshots = snapshots
        self.why: dict[str, str] = {}
        """Snapshot name to the reason why it is not used."""

    def tree(self, name: str | None) -> Tree | None:
        """Return a snapshot; None where it no longer exists or must not be used."""
        if name is None:
            return None
        try:
            return self._snapshots.read(name)
        except UnsafeTree as problem:
            self.why[name] = str(problem)
            return None
        except NotFound:
            return None

    def entry(self, name: str | None, path: str) -> TreeEntry | None:
        """Return the entry at a path in a snapshot; None where there is none."""
        tree = self.tree(name)
        return tree.get(path) if tree is not None else None


def wanted_files(
    snapshots: Snapshots, messages: Messages, plan: RevertPlan, standing: RevertState | None
) -> Files:
    """Return the state to restore for each file, and the files whose snapshot no longer exists or is not used."""
    trees = SnapshotReader(snapshots)
    first: dict[str, str] = {}
    left: dict[str, TreeEntry | None] = {}
    disturbed: set[str] = set()
    for patch in plan.patches:
        behind = left_by(messages, patch)
        for path in _paths(snapshots, patch, behind):
            if path in left and left[path] != trees.entry(patch.hash, path):
                disturbed.add(path)
            first.setdefault(path, patch.hash)
            left[path] = trees.entry(behind, path)
    if standing is not None:
        for path in standing.files:
            left[path] = trees.entry(standing.left, path)
            if standing.snapshot is not None:
                first.setdefault(path, standing.snapshot)
    found, gone = _wanted(trees, first, left, disturbed)
    unseen = [path for path in plan.written if path not in first]
    return found, gone + _never_kept(snapshots, trees, messages, unseen)


def _never_kept(
    snapshots: Snapshots, trees: SnapshotReader, messages: Messages, written: Iterable[str]
) -> tuple[tuple[str, str], ...]:
    """Return the files of which no snapshot has a state, with the reason, so that none stays changed in silence.

    A file that snapshots do have, and that no step changed, is not among them.
    """
    taken = [
        part.snapshot
        for message in messages
        for part in message.parts
        if isinstance(part, StepFinishPart) and part.snapshot is not None
    ]
    tree = trees.tree(taken[-1]) if taken else None
    found: list[tuple[str, str]] = []
    for path in written:
        if path.startswith("/") or Path(path).is_absolute():
            found.append((path, OUTSIDE))
        elif (problem := path_problem(path, snapshots.never)) is not None:
            found.append((path, problem))
        elif tree is not None and tree.get(path) is None and tree.left_out(path):
            found.append((path, LEFT_OUT))
    return tuple(found)


def _paths(snapshots: Snapshots, patch: PatchPart, behind: str | None) -> tuple[str, ...]:
    """Return every file that a step changed, including those that its part does not name."""
    if not patch.more or behind is None:
        return patch.files
    try:
        return snapshots.changed(patch.hash, behind)
    except NotFound:
        return patch.files


def wanted_back(snapshots: Snapshots, standing: RevertState) -> Files:
    """Return the state to restore for each file when a revert is undone."""
    trees = SnapshotReader(snapshots)
    first = dict.fromkeys(standing.files, standing.snapshot or "")
    left = {path: trees.entry(standing.left, path) for path in standing.files}
    return _wanted(trees, first, left, set())


def _wanted(
    trees: SnapshotReader,
    first: dict[str, str],
    left: dict[str, TreeEntry | None],
    disturbed: set[str],
) -> Files:
    found: list[WantedFile] = []
    gone: list[tuple[str, str]] = []
    for path, name in first.items():
        tree = trees.tree(name)
        if tree is None:
            gone.append((path, trees.why.get(name, GONE)))
        else:
            found.append(wanted_file(path, tree, left[path], disturbed=path in disturbed))
    return tuple(found), tuple(gone)


def preview_files(snapshots: Snapshots, files: Files) -> tuple[RevertedFile, ...]:
    """Return what a revert would do with each file, sorted by path."""
    moves = plan_moves(snapshots, files[0])
    found = [_told(snapshots, move) for move in moves]
    found += [RevertedFile(file=path, action="impossible", reason=why) for path, why in files[1]]
    return tuple(sorted(found, key=lambda one: one.file))


def revert_files(
    snapshots: Snapshots,
    files: Files,
    overwrite: Collection[str],
) -> tuple[RevertedFile, ...]:
    """Restore the files, and return what was done with each, sorted by path; ``overwrite`` names conflicts."""
    moves = plan_moves(snapshots, files[0])
    told = {one.file: one for one in (_told(snapshots, move) for move in moves)}
    done = perform_restores(snapshots, moves, overwrite)
    for path, problem in done.failed:
        told[path] = told[path].model_copy(update={"action": "impossible", "reason": problem})
    for move in moves:
        if move.action == "conflict" and move.path in done.files:
            action = "delete" if move.wanted is None else "restore"
            told[move.path] = told[move.path].model_copy(update={"action": action, "reason": None})
    gone = [RevertedFile(file=path, action="impossible", reason=why) for path, why in files[1]]
    return tuple(sorted([*told.values(), *gone], key=lambda one: one.file))


def changed_by(files: Iterable[RevertedFile]) -> tuple[str, ...]:
    """Return the files that were restored or deleted."""
    return tuple(one.file for one in files if one.action in {"restore", "delete"})


def _told(snapshots: Snapshots, move: FileRestore) -> RevertedFile:
    diff = None
    if move.action in {"write", "delete", "conflict"}:
        diff = file_diff(snapshots, move.path, snapshots.keep(move.path), move.wanted)
    action = {"write": "restore"}.get(move.action, move.action)
    return RevertedFile.model_validate(
        {"file": move.path, "action": action, "reason": move.reason or None, "diff": diff}
    )
