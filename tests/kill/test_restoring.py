"""A kernel that is killed while it restores files leaves each file in its old or in its new version."""

import os
import random
import signal
import subprocess
import sys
import time
from itertools import count
from pathlib import Path

import pytest
from tests.sample_size import sample_size
from tests.waiting import eventually

from palimpsest.store.file_snapshots.file_restore import (
    perform_restores,
    plan_restores,
    wanted_file,
)
from palimpsest.store.file_snapshots.snapshots import Snapshots
from palimpsest.tools.file_access.gitignore import ALWAYS_SKIPPED, GitignoreRules

FILES = 150
ROUNDS = sample_size(2, 200)
OLD, NEW = b"old " * 2_000, b"new " * 3_000

CHILD = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from tests.kill.test_restoring import keeper, move
shots = keeper(Path({root!r}))
print("ready", flush=True)
while True:
    move(shots, {before!r}, {after!r})
    move(shots, {after!r}, {before!r})
"""


def keeper(root: Path) -> Snapshots:
    kept = root / ".palimpsest" / "snapshots"
    return Snapshots(root, kept, rules=GitignoreRules, excluded_folders=ALWAYS_SKIPPED)


def move(shots: Snapshots, wants: str, left: str) -> None:
    """Restore every file from one snapshot to another, overwriting all changes."""
    target, was = shots.snapshot_tree(wants), shots.snapshot_tree(left)
    paths = shots.changed_paths(wants, left)
    moves = plan_restores(shots, [wanted_file(path, target, was.get(path)) for path in paths])
    perform_restores(shots, moves, overwrite=paths)


@pytest.mark.slow
def test_each_file_is_whole_and_the_rest_can_be_done_again(tmp_path: Path) -> None:
    rng = random.Random(11)
    shots = keeper(tmp_path)
    names = [f"file{number}.txt" for number in range(FILES)]
    for name in names:
        (tmp_path / name).write_bytes(OLD)
    before = shots.take_snapshot()
    for name in names:
        (tmp_path / name).write_bytes(NEW)
    after = shots.take_snapshot()
    tests = str(Path(__file__).resolve().parents[2])
    code = CHILD.format(tests=tests, root=str(tmp_path), before=before, after=after)
    mixed = 0

    for number in count():
        if number >= ROUNDS and mixed:
            break
        child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        assert child.stdout is not None
        child.stdout.readline()
        eventually(lambda: len({(tmp_path / names[at]).read_bytes() for at in (0, -1)}) == 2)
        time.sleep(rng.uniform(0, 0.2))
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        child.stdout.close()
        contents = [(tmp_path / name).read_bytes() for name in names]
        assert set(contents) <= {OLD, NEW}
        mixed += len(set(contents)) == 2
    move(shots, before, after)

    assert {(tmp_path / name).read_bytes() for name in names} == {OLD}
