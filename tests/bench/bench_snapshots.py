"""Measure a file snapshot of 1,000 files and 7 MB, cold and warm."""

import random
import tempfile
import time
from pathlib import Path

from tests.bench.figure import Figure

from palimpsest.store.file_snapshots.snapshots import Snapshots
from palimpsest.tools.file_access.gitignore import ALWAYS_SKIPPED, GitignoreRules

COLD_MS = 300.0
WARM_MS = 20.0
FILES = 1_000
FILE_BYTES = 7_000
RULES = "__pycache__/\n*.log\n/data/\n!keep.log\n*.py[co]\nbuild/\n.env\n"


def measure() -> list[Figure]:
    """Return the figures of file snapshots."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        _make(root)
        time.sleep(0.1)  # files changed a moment ago would be read again
        cold = min(_timed(_snapshots(root, run)) for run in range(5))
        shots = _snapshots(root, 9)
        _timed(shots)
        warm = min(_timed(shots) for _ in range(15))
        one = min(_timed(shots) for run in range(9) if _change(root, run))
    shape = f"{FILES:,} files, {FILES * FILE_BYTES / 1e6:.0f} MB"
    return [
        Figure(f"snapshot of {shape}: cold", cold, "ms", COLD_MS),
        Figure(f"snapshot of {shape}: warm", warm, "ms", WARM_MS),
        Figure(f"snapshot of {shape}: one file changed", one, "ms", WARM_MS),
    ]


def _make(root: Path) -> None:
    letters = random.Random(7)
    (root / ".gitignore").write_text(RULES)
    for number in range(FILES):
        path = root / f"folder{number % 40}" / f"file{number}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(bytes(letters.choices(b"abcdefgh (=)\n", k=FILE_BYTES)))


def _change(root: Path, run: int) -> bool:
    time.sleep(0.1)
    return (root / "folder7" / "file7.py").write_text(f"changed {run}") > 0


def _snapshots(root: Path, run: int) -> Snapshots:
    kept = root / ".palimpsest" / f"snapshots{run}"
    return Snapshots(root, kept, rules=GitignoreRules, excluded_folders=ALWAYS_SKIPPED)


def _timed(shots: Snapshots) -> float:
    began = time.perf_counter()
    shots.take_snapshot()
    return (time.perf_counter() - began) * 1000
