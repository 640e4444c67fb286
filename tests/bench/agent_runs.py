"""One run of an agent against the scripted model server: Palimpsest in a script, in a kernel, and pi.

A run is a fresh process in a fresh folder. What it costs is what the system counted for it and for all
processes that it waited for, so other programs on the machine change its wall time and not its CPU.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from tests.harness.kernel import Kernel

from palimpsest.model.script import ModelAnswer
from palimpsest.session.config.settings import Settings
from palimpsest.testing import FaultServer

ROOT = Path(__file__).resolve().parents[2]
MODEL = "openai/scripted"
PROMPT = "Read what you need, then answer."
KEY = "sk-bench-bench-bench-bench"
MEGABYTE = 1_000_000
SCRIPT = f"""from palimpsest import App, open_session
app = App()
answer = open_session(app).prompt({PROMPT!r}, yes=True)
app.close()
assert not answer.error, answer.error
"""
HAS_DIRECT = "direct" in Settings.model_fields
"""Whether this version can ask a server without litellm, and has the setting that chooses."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one run took."""

    cpu_seconds: float
    """Of the process and of all that it waited for."""
    wall_seconds: float
    peak_megabytes: float
    """Resident memory of its largest process."""


Run = Callable[[tuple[ModelAnswer, ...]], Cost]
"""Has an agent answer one prompt with these answers of the model; raises RuntimeError where it does not use them all."""


def files(folder: Path, count: int) -> None:
    """Write the small files that the scripted answers read."""
    for number in range(count):
        (folder / f"{number}.txt").write_text("hello\n")


def in_script(answers: tuple[ModelAnswer, ...], *, direct: bool | None = None) -> Cost:
    """Run a script as docs/api.md shows it."""
    with FaultServer(*answers) as server, _folder(len(answers)) as name:
        cost = _process([sys.executable, "-c", SCRIPT], Path(name), _ours(server, direct))
        _used_all(server, answers)
        return cost


def in_kernel(answers: tuple[ModelAnswer, ...], *, direct: bool | None = None) -> Cost:
    """Run a cell in a fresh kernel; its client is not counted."""
    with FaultServer(*answers) as server, _folder(len(answers)) as name:
        begun = time.perf_counter()
        with Kernel(cwd=Path(name), env=_ours(server, direct), fresh=True) as kernel:
            kernel.run("%load_ext palimpsest")
            kernel.run(f"%%agent -y\n{PROMPT}")
            wall = time.perf_counter() - begun
            cost = Cost(_cpu_of(kernel.process), wall, _peak_of(kernel.process))
        _used_all(server, answers)
        return cost


def in_pi(answers: tuple[ModelAnswer, ...], command: list[str]) -> Cost:
    """Run pi, by the command that starts it, as ``pi -p`` with the server as its only provider."""
    with FaultServer(*answers) as server, _folder(len(answers)) as name:
        home = Path(name, ".home")
        home.mkdir()
        provider = {
            "baseUrl": server.openai_base,
            "api": "openai-completions",
            "apiKey": KEY,
            "models": [{"id": "scripted"}],
        }
        (home / "models.json").write_text(json.dumps({"providers": {"bench": provider}}))
        environment = {
            "HOME": str(home),
            "PI_CODING_AGENT_DIR": str(home),
            "PI_OFFLINE": "1",
            "PI_TELEMETRY": "0",
        }
        asked = [*command, "-p", "--model", "bench/scripted", PROMPT]
        cost = _process(asked, Path(name), environment)
        _used_all(server, answers)
        return cost


def _folder(count: int) -> tempfile.TemporaryDirectory[str]:
    made = tempfile.TemporaryDirectory(prefix="bench-peers-", ignore_cleanup_errors=True)
    files(Path(made.name), count)
    return made


def _ours(server: FaultServer, direct: bool | None) -> dict[str, str]:  # noqa: FBT001
    """Return the environment of Palimpsest: the server's model, and nothing of the person's own settings."""
    config: dict[str, Any] = {"titles": False, **server.settings("openai")}
    if direct is not None:
        config["direct"] = direct
    return {
        "PALIMPSEST_CONFIG_CONTENT": json.dumps(config),
        "OPENAI_API_KEY": KEY,
        "PYTHONPATH": str(ROOT / "kernel_ext"),
    }


def _process(command: list[str], folder: Path, environment: Mapping[str, str]) -> Cost:
    """Run a process to its end; raises RuntimeError with its last words where it fails."""
    begun = time.perf_counter()
    with (folder / ".output").open("w+b") as said:
        running = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
        )
        _, status, used = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - begun
        if running.returncode:
            said.seek(0)
            raise RuntimeError(said.read().decode(errors="replace")[-2000:])
    # The system counts kilobytes, on macOS bytes.
    peak = used.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / MEGABYTE
    return Cost(used.ru_utime + used.ru_stime, wall, peak)


def _cpu_of(process: psutil.Process) -> float:
    """Return the CPU seconds of a running process, of its children, and of those it waited for."""
    times = [one.cpu_times() for one in (process, *process.children(recursive=True))]
    return float(sum(t.user + t.system + t.children_user + t.children_system for t in times))


def _peak_of(process: psutil.Process) -> float:
    """Return the largest resident memory that a running process has had, where the system says; else its present one."""
    status = Path("/proc", str(process.pid), "status")
    if status.is_file():
        kilobytes = [line for line in status.read_text().splitlines() if line.startswith("VmHWM:")]
        return int(kilobytes[0].split()[1]) * 1024 / MEGABYTE
    return float(process.memory_info().rss / MEGABYTE)


def _used_all(server: FaultServer, answers: tuple[ModelAnswer, ...]) -> None:
    """Raise RuntimeError where the agent asked for more or fewer answers: then it measured something else."""
    if len(server.requests) != len(answers):
        raise RuntimeError(f"{len(server.requests)} requests came instead of {len(answers)}.")
