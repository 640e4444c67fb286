"""Measure a prompt in a folder of 170,000 files, in a process of its own."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.bench.figure import Figure

PACKAGE = Path(__file__).parents[2] / "kernel_ext"
FILES = 170_000
FILES_IN_A_FOLDER = 1_000
PROMPTS = 6
CPU_MS = 100.0
MEMORY_MB = 260.0
SCRIPT = f"""
import json, resource, sys, time
from palimpsest.testing import ScriptedModel, isolated_session, says

model = ScriptedModel(*[says("Done.") for _ in range({PROMPTS})])
with isolated_session(model, folder=sys.argv[1]) as session:
    spent = []
    for number in range({PROMPTS}):
        before = time.process_time()
        session.prompt(f"Go on, {{number}}.")
        spent.append((time.process_time() - before) * 1000)
print(json.dumps([spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000]))
"""


def measure() -> list[Figure]:
    """Return the figures for a large folder."""
    with tempfile.TemporaryDirectory() as folder:
        _fill(Path(folder))
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, folder],
            env={**os.environ, "PYTHONPATH": str(PACKAGE)},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    spent, memory = json.loads(done.stdout)
    shape = f"a folder of {FILES:,} files"
    note = f"median of {PROMPTS - 1} after the first ({spent[0]:.0f} ms)"
    return [
        Figure(f"CPU of a prompt in {shape}", statistics.median(spent[1:]), "ms", CPU_MS, note),
        Figure(f"peak memory in {shape}", memory, "MB", MEMORY_MB),
    ]


def _fill(root: Path) -> None:
    for number in range(FILES // FILES_IN_A_FOLDER):
        folder = root / f"folder{number}"
        folder.mkdir()
        for name in range(FILES_IN_A_FOLDER):
            (folder / f"{name}.txt").write_text(f"{number} {name}\n")
