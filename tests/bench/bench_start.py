"""Measure a start in processes of its own: importing, a first answer in a script and in a kernel, and its memory.

Processor time of the process and its children, which a busy machine changes least; the least of several. Modules are
compiled before the first is measured.
"""

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import psutil
from tests.bench.figure import Figure
from tests.harness.kernel import Kernel, Message

from palimpsest.model.script import says
from palimpsest.testing import FaultServer

ROOT = Path(__file__).resolve().parents[2]
TIMES = 3
MEGABYTE = 1_000_000
PI = 1.1
"""Seconds of processor that pi takes for the same, on the machine of docs/performance.md; ``bench_peers`` measures it anew."""
IMPORT = "import palimpsest\npalimpsest.App\n"
ASK = """
import os
app = palimpsest.App(start=".", overrides={"model": os.environ["MODEL"], "titles": False})
assert palimpsest.open_session().prompt("Hello").error is None
app.close()
"""
LOADED = (
    "from palimpsest.ipython_extension import extension_of\nextension_of(get_ipython()).front()"
)


@dataclass(frozen=True, slots=True)
class Run:
    """What a process took: seconds of processor with its children, and bytes of memory at its peak."""

    seconds: float
    peak: int


def measure() -> list[Figure]:
    """Return the figures of a script and of a kernel."""
    imported = _least(IMPORT)
    rehearsed = _least(IMPORT + ASK, MODEL="rehearsal/rules", PALIMPSEST_REHEARSAL_DELAY="0")
    with FaultServer(*[says("Hi.")] * (TIMES + 1)) as server:
        content = json.dumps({"models": {"openai/bench": {"api_base": server.openai_base}}})
        asked = _least(
            IMPORT + ASK,
            MODEL="openai/bench",
            OPENAI_API_KEY="sk-bench-bench-bench-bench",
            PALIMPSEST_CONFIG_CONTENT=content,
        )
    return [
        Figure("CPU of import palimpsest; App", imported.seconds, "s", 0.5),
        Figure("CPU to the end of a script's first answer, rehearsal", rehearsed.seconds, "s", PI),
        Figure("CPU to the end of a script's first answer, a server", asked.seconds, "s", PI),
        Figure("peak memory of it, rehearsal", rehearsed.peak / MEGABYTE, "MB", 150),
        Figure("peak memory of it, a server", asked.peak / MEGABYTE, "MB", 150),
        Figure("CPU of the rehearsal's first words in a loaded kernel", _in_a_kernel(), "s", 0.3),
    ]


def _least(code: str, **variables: str) -> Run:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        compiled = {"PYTHONPYCACHEPREFIX": str(Path(folder, "compiled"))}
        runs = [_run(code, Path(folder), {**compiled, **variables}) for _ in range(TIMES + 1)]
    return Run(min(run.seconds for run in runs[1:]), min(run.peak for run in runs[1:]))


def _run(code: str, folder: Path, variables: dict[str, str]) -> Run:
    paths = os.pathsep.join(str(path) for path in (ROOT / "kernel_ext", ROOT))
    environment = {**os.environ, "PYTHONPATH": paths, **variables}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    process = subprocess.Popen([sys.executable, "-c", code], cwd=folder, env=environment)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError("The script failed; its error is above.")
    return Run(used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)


def _in_a_kernel() -> float:
    """Return the seconds of processor that a kernel takes from a first prompt to its first words."""
    took = []
    for _ in range(TIMES):
        with (
            tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
            Kernel(cwd=Path(folder), fresh=True) as kernel,
        ):
            kernel.run("%load_ext palimpsest")
            kernel.run(LOADED)
            process = psutil.Process(int(kernel.value("__import__('os').getpid()")))
            before = _seconds(process)
            run_id = kernel.send("%%agent\nHello")
            kernel.wait(lambda message, of=run_id: _is_text(message, of))
            took.append(_seconds(process) - before)
            kernel.finish(run_id)
    return min(took)


def _seconds(process: psutil.Process) -> float:
    used = process.cpu_times()
    return float(used.user + used.system + used.children_user + used.children_system)


def _is_text(message: Message, run_id: str) -> bool:
    return (
        message["parent_header"].get("msg_id") == run_id
        and "data" in message["content"]
        and "Thought" in str(message["content"]["data"])
    )
