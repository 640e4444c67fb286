"""Measure what knowing the notebook costs: a cell that is recorded, a look at many variables, at a large frame, a note."""

import statistics
import time

from tests.bench.bench_kernel import kernel
from tests.bench.figure import Figure
from tests.harness.kernel import Kernel

from palimpsest.context.engine_text.notebook_note import NoteLimits, notebook_note
from palimpsest.model.tokenizer import counter
from palimpsest.transcript.context_values.cell_runs import CellRun, RecordedOutput

CELLS = 150
CELL_MS = 2.0
VARIABLES = 500
LOOK_MS = 50.0
GIGABYTE_ROWS = 12_500_000
"""Rows of ten columns of 8 bytes: 1 GB."""
CELL = "print('one line'); items = [1, 2, 3]; items"
RECORD = (
    "from palimpsest.frontends.user_cells.cell_recorder import CellRecorder\n"
    "recorder = CellRecorder(get_ipython()); recorder.register()"
)
LOOK = """
import time
from palimpsest.frontends.variables.variables import list_variables
from palimpsest.tools.tool import ShownVariables
took = []
for _ in range(7):
    began = time.process_time()
    found = list_variables(get_ipython(), ShownVariables(marks=True))
    took.append((time.process_time() - began) * 1000)
best = min(took)
"""


def measure() -> list[Figure]:
    """Return the figures of the notebook."""
    with kernel() as running:
        before = _cells(running)
        running.run(RECORD)
        after = _cells(running)
        running.run(f"for n in range({VARIABLES}): globals()[f'v{{n}}'] = [n] * 50")
        running.run(LOOK, timeout=120)
        many = float(running.value("best"))
        running.run(
            f"import numpy, pandas; frame = pandas.DataFrame(numpy.random.rand({GIGABYTE_ROWS}, 10))",
            timeout=300,
        )
        running.run(LOOK, timeout=120)
        large = float(running.value("best"))
    note = f"median of {CELLS} cells, {before:.2f} ms without the recorder"
    return [
        Figure(
            "notebook: CPU of a recorded cell more", max(after - before, 0.0), "ms", CELL_MS, note
        ),
        Figure(f"notebook: look at {VARIABLES} variables", many, "ms", LOOK_MS, "CPU, best of 7"),
        Figure("notebook: the same beside a frame of 1 GB", large, "ms", LOOK_MS, "CPU, best of 7"),
        Figure(
            "notebook: write the note of 30 busy cells",
            _note(),
            "ms",
            None,
            "CPU, of texts never counted before",
        ),
    ]


def _cells(running: Kernel) -> float:
    """Return the CPU time of the kernel for a cell, in ms."""
    running.run(CELL)
    took = []
    for _ in range(CELLS // 10):
        before = running.cpu_seconds()
        for _ in range(10):
            running.run(CELL)
        took.append((running.cpu_seconds() - before) * 100)
    return statistics.median(took)


def _note() -> float:
    text = "\n".join(f"epoch {n}: loss {1 / (n + 1):.5f}" for n in range(3_000))
    runs = [
        CellRun(
            n,
            1,
            "for epoch in train(): print(epoch)",
            f"id-{n}",
            n,
            outputs=(RecordedOutput("stdout", text),),
        )
        for n in range(1, 31)
    ]
    count = counter("tiktoken/o200k_base")
    began = time.process_time()
    notebook_note(runs, (), NoteLimits(), count)
    return (time.process_time() - began) * 1000
