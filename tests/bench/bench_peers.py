"""Measure Palimpsest beside pi on the same scripted server: start, one step, one delta, and memory.

The runs of all agents alternate, and each figure is the median of its rounds, so a slow minute of the
machine meets all of them. A step is the difference between a turn of many reads and a turn of none, a
delta that between a long answer and a short one; what an agent needs to start is in neither. Without pi
our own figures are shown, with a sentence why.

``python -m tests.bench.bench_peers`` prints the table of docs/performance.md.
"""

import os
import platform
import statistics
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from tests.bench.agent_runs import HAS_DIRECT, Cost, Run, in_kernel, in_pi, in_script
from tests.bench.figure import Figure
from tests.bench.pi_package import RELEASE, NoPi, pi_command

from palimpsest.model.script import calls, says

ROUNDS = int(os.environ.get("PALIMPSEST_BENCH_ROUNDS", "5"))
READS = 30
DELTAS = 3_000
"""So many that a run's start, whose CPU varies by a tenth, adds little to the difference."""
WORKLOADS = {
    "answer": (says("Done."),),
    "steps": (*(calls("read", path=f"{number}.txt") for number in range(READS)), says("Done.")),
    "deltas": (says("word " * DELTAS),),
}
PI = "pi"


@dataclass(frozen=True, slots=True)
class Row:
    """One measured quantity of one agent, beside pi's."""

    name: str
    agent: str
    unit: str
    ours: float
    pi: float | None
    limit: float
    """The largest ratio to pi that was promised."""

    @property
    def ratio(self) -> float | None:
        """Ours divided by pi's; None without pi, or where pi's is no more than the noise of its start."""
        return self.ours / self.pi if self.pi is not None and self.pi > 0 else None


@dataclass(frozen=True, slots=True)
class Costs:
    """The four quantities of one agent."""

    start_seconds: float
    start_wall_seconds: float
    step_ms: float
    delta_us: float
    peak_megabytes: float


def measure() -> list[Figure]:
    """Return one figure for each quantity and each way of ours; its target is a multiple of pi's, in the same run."""
    rows, missing = measured()
    return [_figure(row, missing) for row in rows]


def measured() -> tuple[list[Row], str]:
    """Run everything; return the rows, and a sentence where pi could not be run."""
    agents, missing = runs()
    taken: dict[str, list[dict[str, Cost]]] = {agent: [] for agent in agents}
    for _ in range(ROUNDS):
        for agent, run in agents.items():
            taken[agent].append({name: run(answers) for name, answers in WORKLOADS.items()})
    costs = {agent: costs_of(rounds) for agent, rounds in taken.items()}
    pi = costs.pop(PI, None)
    return [row for agent, ours in costs.items() for row in rows_of(agent, ours, pi)], missing


def runs() -> tuple[dict[str, Run], str]:
    """Return the ways to run an agent, by name, and a sentence where pi is missing.

    A version that can ask a server directly is run with litellm, too.
    """
    ways: dict[str, Run] = {"script": in_script, "kernel": in_kernel}
    if HAS_DIRECT:
        ways["script, direct = false"] = partial(in_script, direct=False)
        ways["kernel, direct = false"] = partial(in_kernel, direct=False)
    try:
        return {**ways, PI: partial(in_pi, command=pi_command())}, ""
    except NoPi as missing:
        return ways, str(missing)


def costs_of(rounds: list[dict[str, Cost]]) -> Costs:
    """Return the medians over the rounds of one agent."""
    cpu = {name: statistics.median(one[name].cpu_seconds for one in rounds) for name in WORKLOADS}
    return Costs(
        start_seconds=cpu["answer"],
        start_wall_seconds=statistics.median(one["answer"].wall_seconds for one in rounds),
        step_ms=(cpu["steps"] - cpu["answer"]) / READS * 1_000,
        delta_us=(cpu["deltas"] - cpu["answer"]) / DELTAS * 1_000_000,
        peak_megabytes=statistics.median(one["answer"].peak_megabytes for one in rounds),
    )


def rows_of(agent: str, ours: Costs, pi: Costs | None) -> list[Row]:
    """Return the rows of one of our ways, with the ratios that issue 35 promised for them."""
    names = {
        "start_seconds": ("from nothing to the end of the first answer, CPU", "s", 1.0),
        "start_wall_seconds": ("the same, wall", "s", 1.0),
        "step_ms": ("a step with one read, CPU", "ms", 2.0),
        "delta_us": ("a streamed delta, CPU", "µs", 1.0),
        "peak_megabytes": ("peak memory to the first answer", "MB", 1.0),
    }
    return [
        Row(
            name,
            agent,
            unit,
            getattr(ours, field),
            None if pi is None else getattr(pi, field),
            limit,
        )
        for field, (name, unit, limit) in names.items()
    ]


def _figure(row: Row, missing: str) -> Figure:
    name = f"{row.name} ({row.agent})"
    if row.ratio is None or row.pi is None:
        return Figure(name, row.ours, row.unit, note=missing or "pi's is within the noise")
    note = f"{row.ratio:.1f} times pi's"
    return Figure(name, row.ours, row.unit, round(row.limit * row.pi, 2), note)


def markdown(rows: list[Row], missing: str) -> str:
    """Return the table of docs/performance.md, with the day, the machine and the releases."""
    by_name = list(dict.fromkeys(row.name for row in rows))
    agents = list(dict.fromkeys(row.agent for row in rows))
    heads = ["CPU unless said", *agents, PI, f"of pi's: {', '.join(agents)}", "to reach"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for name in by_name:
        here = [row for row in rows if row.name == name]
        cells = [f"{row.ours:,.3g} {row.unit}" for row in here]
        cells.append("-" if here[0].pi is None else f"{here[0].pi:,.3g} {here[0].unit}")
        cells.append(", ".join("-" if r.ratio is None else f"{r.ratio:.1f}" for r in here))
        lines.append(f"| {name} | {' | '.join(cells)} | at most {here[0].limit:g} |")
    said = [
        f"Measured on {datetime.now(UTC):%d %B %Y}: {machine()}; median of {ROUNDS} rounds; {missing or f'pi {RELEASE}'}."
    ]
    return "\n".join([*lines, "", *said])


def machine() -> str:
    """Describe this machine without naming it: cores, processor, system and Python."""
    model = platform.machine()
    cpus = Path("/proc/cpuinfo")
    if cpus.is_file():
        named = [line for line in cpus.read_text().splitlines() if line.startswith("model name")]
        model = named[0].partition(":")[2].strip() if named else model
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"{os.cpu_count()} cores ({model}), {platform.system()}, Python {platform.python_version()}{load}"


if __name__ == "__main__":
    print(markdown(*measured()))
