"""One run of an agent against the scripted model server: Palimpsest in a script, in a kernel, and pi.

A run is a fresh process in a fresh folder. What it costs is what the system counted for it and for all
processes that it waited for, so other programs on the machine change its wall time and not its CPU.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import psutil
from tests.bench.long_session import WINDOW_MESSAGES, LongSession
from tests.harness.kernel import Kernel

from palimpsest.model.script import ModelAnswer
from palimpsest.testing import FaultServer

ROOT = Path(__file__).resolve().parents[2]
PROMPT = "Read what you need, then answer."
KEY = "sk-bench-bench-bench-bench"
MEGABYTE = 1_000_000
SCRIPT = f"""from palimpsest import App, open_session
app = App()
answer = {{opened}}.prompt({PROMPT!r}, yes=True)
app.close()
assert not answer.error, answer.error
"""
Wire = Literal["openai", "anthropic"]
PI_WIRES: dict[Wire, str] = {"openai": "openai-completions", "anthropic": "anthropic-messages"}


@dataclass(frozen=True, slots=True)
class Work:
    """What an agent is given: the model's answers to one prompt, and where it is sent."""

    answers: tuple[ModelAnswer, ...]
    session: Literal["new", "long", "fork"] = "new"
    """A session of its own, the long one, or a fork of that."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one run took."""

    cpu_seconds: float
    """Of the process and of all that it waited for."""
    wall_seconds: float
    peak_megabytes: float
    """Resident memory of its largest process."""


Run = Callable[[Work], Cost]
"""Has an agent do the work; raises RuntimeError where it does not use all answers."""


def in_script(
    work: Work, *, wire: Wire = "openai", direct: bool = True, long: LongSession | None = None
) -> Cost:
    """Run a script as docs/api.md shows it."""
    opened = "open_session(app)"
    if work.session != "new" and long is not None:
        opened = f"open_session(app, {long.session_id!r})"
    if work.session == "fork":
        opened += ".fork()"
    with FaultServer(*work.answers) as server, _folder(work) as name:
        if work.session != "new" and long is not None:
            shutil.copytree(long.project, name, dirs_exist_ok=True)
        command = [sys.executable, "-c", SCRIPT.format(opened=opened)]
        cost = _process(command, Path(name), _ours(server, wire, direct))
        _used_all(server, work)
        return cost


def in_kernel(work: Work, *, wire: Wire = "openai", direct: bool = True) -> Cost:
    """Run a cell in a fresh kernel; its client is not counted."""
    with FaultServer(*work.answers) as server, _folder(work) as name:
        begun = time.perf_counter()
        with Kernel(cwd=Path(name), env=_ours(server, wire, direct), fresh=True) as kernel:
            kernel.run("%load_ext palimpsest")
            kernel.run(f"%%agent -y\n{PROMPT}")
            wall = time.perf_counter() - begun
            cost = Cost(_cpu_of(kernel.process), wall, _peak_of(kernel.process))
        _used_all(server, work)
        return cost


def in_pi(
    work: Work, command: list[str], *, wire: Wire = "openai", long: LongSession | None = None
) -> Cost:
    """Run pi, by the command that starts it, as ``pi -p`` with the server as its only provider."""
    with FaultServer(*work.answers) as server, _folder(work) as name:
        home = Path(name, ".home")
        home.mkdir()
        provider = {
            "baseUrl": server.base(wire),
            "api": PI_WIRES[wire],
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
        asked = [*command, "-p", "--model", "bench/scripted"]
        if work.session != "new" and long is not None:
            recorded = Path(name, "recorded.jsonl")  # pi would move it away from its own folder
            recorded.write_text(long.of_pi(Path(name)))
            asked += ["--fork" if work.session == "fork" else "--session", str(recorded)]
        cost = _process([*asked, PROMPT], Path(name), environment)
        _used_all(server, work)
        return cost


def _folder(work: Work) -> tempfile.TemporaryDirectory[str]:
    made = tempfile.TemporaryDirectory(prefix="bench-peers-", ignore_cleanup_errors=True)
    for number in range(len(work.answers)):  # the small files that the scripted answers read
        Path(made.name, f"{number}.txt").write_text("hello\n")
    return made


def _ours(server: FaultServer, wire: Wire, direct: bool) -> dict[str, str]:  # noqa: FBT001
    """Return the environment of Palimpsest: the server's model, and nothing of the person's own settings."""
    config: dict[str, Any] = {"titles": False, "direct": direct, **server.settings(wire)}
    return {
        "PALIMPSEST_CONFIG_CONTENT": json.dumps(config),
        "OPENAI_API_KEY": KEY,
        "ANTHROPIC_API_KEY": KEY,
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


def _used_all(server: FaultServer, work: Work) -> None:
    """Raise RuntimeError where the agent asked otherwise than the work wants: then it measured something else."""
    asked, wanted = len(server.requests), len(work.answers)
    if asked != wanted:
        raise RuntimeError(f"{asked} requests came instead of {wanted}.")
    sent = len(server.bodies[0]["messages"])
    if (work.session != "new") != (sent > WINDOW_MESSAGES):
        raise RuntimeError(f"{sent} messages were sent of a session that is {work.session}.")
