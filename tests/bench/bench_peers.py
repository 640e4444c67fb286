"""Measure Palimpsest beside pi on the same scripted server: start, one step, one delta, memory, and long sessions.

The runs of all agents alternate, and each figure is made of the least that each run took, since other work on the machine
only adds. A step is the difference between a turn of many reads and a turn of none, a delta that between a long answer
and a short one; what an agent needs to start is in neither. Without pi our own figures are shown, with a sentence why.

``python -m tests.bench.bench_peers`` prints the tables of docs/performance.md.
"""

import compileall
import os
import platform
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from tests.bench.agent_runs import Cost, Run, Work, in_kernel, in_pi, in_script
from tests.bench.figure import Figure
from tests.bench.long_session import MESSAGES, LongSession, made_in, opening_ms
from tests.bench.pi_package import RELEASE, NoPi, pi_command

import palimpsest
from palimpsest.model.script import calls, says

ROUNDS = int(os.environ.get("PALIMPSEST_BENCH_ROUNDS", "3"))
READS = 30
DELTAS = 10_000
"""So many that a run's start, whose CPU varies by a tenth, adds little to the difference."""
ANSWER = (says("Done."),)
STEPS = (*(calls("read", path=f"{number}.txt") for number in range(READS)), says("Done."))
WORKS = {"answer": Work(ANSWER), "steps": Work(STEPS), "deltas": Work((says("word " * DELTAS),))}
LONG_WORKS = {
    "answer": Work(ANSWER, "long"),
    "steps": Work(STEPS, "long"),
    "fork": Work(ANSWER, "fork"),
}
PI = "pi"
OPENING_MS = {"open": 100.0, "fork": 100.0, "page": 20.0, "older": 20.0}
OPENING_NAMES = {
    "open": "to open it",
    "fork": "to fork it",
    "page": "a page of its newest 100 messages",
    "older": "a page of 100 older ones",
}

Costs = Mapping[str, Cost]
"""The least that each work took, by the work's name."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """What is made of the costs of one agent."""

    name: str
    unit: str
    limit: float | None
    """The largest ratio to pi that was promised; None where nothing was."""
    of: Callable[[Costs], float]


def _step_ms(costs: Costs) -> float:
    return (costs["steps"].cpu_seconds - costs["answer"].cpu_seconds) / READS * 1_000


def _delta_us(costs: Costs) -> float:
    return (costs["deltas"].cpu_seconds - costs["answer"].cpu_seconds) / DELTAS * 1_000_000


FIRST = "from nothing to the end of the first answer"
QUANTITIES = (
    Quantity(FIRST, "s", 1.0, lambda costs: costs["answer"].cpu_seconds),
    Quantity("the same, wall", "s", 1.0, lambda costs: costs["answer"].wall_seconds),
    Quantity("a step with one read", "ms", 2.0, _step_ms),
    Quantity("a streamed delta", "µs", 1.0, _delta_us),
    Quantity(
        "peak memory to the first answer", "MB", 1.0, lambda costs: costs["answer"].peak_megabytes
    ),
)
LONG_QUANTITIES = (
    Quantity(
        "from nothing to the end of an answer in it",
        "s",
        1.0,
        lambda costs: costs["answer"].cpu_seconds,
    ),
    Quantity("the same in a fork of it", "s", 1.0, lambda costs: costs["fork"].cpu_seconds),
    Quantity("a step with one read in it", "ms", 2.0, _step_ms),
)


@dataclass(frozen=True, slots=True)
class Part:
    """Agents that do the same works in turn: one table."""

    title: str
    runs: Mapping[str, Run]
    works: Mapping[str, Work]
    quantities: Sequence[Quantity]
    rounds: int = ROUNDS


@dataclass(frozen=True, slots=True)
class Row:
    """One quantity of one agent, beside pi's."""

    part: str
    name: str
    agent: str
    unit: str
    ours: float
    pi: float | None
    limit: float | None
    """The largest ratio to pi; where pi is not asked, the largest value; None where nothing was promised."""
    alone: bool = False
    """pi has nothing of the kind."""

    @property
    def ratio(self) -> float | None:
        """Ours divided by pi's; None without pi, or where pi's is no more than the noise of its start."""
        return self.ours / self.pi if self.pi is not None and self.pi > 0 else None

    @property
    def target(self) -> float | None:
        """The largest value; None where there is none, or nothing to compare with."""
        if self.alone or self.limit is None:
            return self.limit
        return None if self.ratio is None or self.pi is None else round(self.limit * self.pi, 2)


def measure() -> list[Figure]:
    """Return one figure for each quantity and each way of ours; its target is a multiple of pi's, in the same run."""
    rows, missing = measured()
    return [_figure(row, missing) for row in rows]


def measured() -> tuple[list[Row], str]:
    """Run everything; return the rows, and a sentence where pi could not be run."""
    # As in an installed package; where bytecode is not written, each start would compile everything.
    compileall.compile_dir(Path(palimpsest.__file__).parent, quiet=2)
    command, missing = _pi()
    with tempfile.TemporaryDirectory(prefix="bench-peers-", ignore_cleanup_errors=True) as folder:
        long = made_in(Path(folder, "project"))
        parts = parts_with(command, long)
        taken: dict[str, dict[str, list[dict[str, Cost]]]] = {
            part.title: {agent: [] for agent in part.runs} for part in parts
        }
        opened: list[dict[str, float]] = []
        for number in range(ROUNDS):
            opened.append(opening_ms(long))
            for part in parts:
                for agent, run in part.runs.items():
                    if number < part.rounds:
                        costs = {name: run(work) for name, work in part.works.items()}
                        taken[part.title][agent].append(costs)
    rows = [
        row
        for part in parts
        for row in rows_of(
            part, {agent: least(rounds) for agent, rounds in taken[part.title].items()}
        )
    ]
    return [*rows, *opening_rows(opened)], missing


def _pi() -> tuple[list[str] | None, str]:
    try:
        return pi_command(), ""
    except NoPi as missing:
        return None, str(missing)


def parts_with(command: list[str] | None, long: LongSession) -> list[Part]:
    """Return what is run; ``command`` starts pi, None leaves it out.

    Through litellm, which takes most of the time and promises nothing, each work is done once.
    """

    def beside(title: str, ours: dict[str, Run], pi: Run) -> Part:
        runs = {**ours, PI: pi} if command is not None else ours
        return Part(title, runs, WORKS, QUANTITIES)

    asked = partial(in_pi, command=command or [])
    formats: tuple[tuple[str, Run, Run, Run], ...] = (
        ("OpenAI's chat completions", in_script, in_kernel, asked),
        (
            "Anthropic's messages",
            partial(in_script, wire="anthropic"),
            partial(in_kernel, wire="anthropic"),
            partial(asked, wire="anthropic"),
        ),
    )
    in_long: dict[str, Run] = {"script": partial(in_script, long=long)}
    if command is not None:
        in_long[PI] = partial(asked, long=long)
    litellm: dict[str, Run] = {
        "script": partial(in_script, direct=False),
        "kernel": partial(in_kernel, direct=False),
    }
    unpromised = [replace(one, limit=None) for one in QUANTITIES]
    return [
        *(beside(title, {"script": one, "kernel": two}, pi) for title, one, two, pi in formats),
        Part(f"a session of {MESSAGES:,} messages", in_long, LONG_WORKS, LONG_QUANTITIES),
        Part("through litellm (`direct = false`)", litellm, WORKS, unpromised, rounds=1),
    ]


def least(rounds: list[dict[str, Cost]]) -> dict[str, Cost]:
    """Return the least of each quantity over the rounds of one agent, by work."""
    return {
        name: Cost(
            min(one[name].cpu_seconds for one in rounds),
            min(one[name].wall_seconds for one in rounds),
            min(one[name].peak_megabytes for one in rounds),
        )
        for name in rounds[0]
    }


def rows_of(part: Part, costs: Mapping[str, Costs]) -> list[Row]:
    """Return the rows of a part, quantity by quantity."""
    pi = costs.get(PI)
    return [
        Row(
            part.title,
            quantity.name,
            agent,
            quantity.unit,
            quantity.of(ours),
            None if pi is None else quantity.of(pi),
            quantity.limit,
        )
        for quantity in part.quantities
        for agent, ours in costs.items()
        if agent != PI
    ]


def opening_rows(opened: Sequence[Mapping[str, float]]) -> list[Row]:
    """Return the rows of what a running process does with the long session; pi opens one only when it starts."""
    title = f"a session of {MESSAGES:,} messages, in a running process"
    return [
        Row(
            title,
            name,
            "script",
            "ms",
            min(one[key] for one in opened),
            None,
            OPENING_MS[key],
            alone=True,
        )
        for key, name in OPENING_NAMES.items()
    ]


def _figure(row: Row, missing: str) -> Figure:
    name = f"{row.part}: {row.name} ({row.agent})"
    if row.alone or row.limit is None:
        return Figure(name, row.ours, row.unit, row.target)
    if row.ratio is None:
        return Figure(name, row.ours, row.unit, note=missing or "pi's is within the noise")
    return Figure(name, row.ours, row.unit, row.target, f"{row.ratio:.1f} times pi's")


def markdown(rows: list[Row], missing: str) -> str:
    """Return the tables of docs/performance.md, with the day, the machine and the releases."""
    said = (
        f"Measured on {datetime.now(UTC):%d %B %Y}: {machine()}; the least of {ROUNDS} rounds, "
        f"through litellm of one; {missing or f'pi {RELEASE}'}."
    )
    parts = list(dict.fromkeys(row.part for row in rows))
    return "\n\n".join(
        [*(_table([row for row in rows if row.part == part]) for part in parts), said]
    )


def _table(rows: list[Row]) -> str:
    """Return the table of one part: a line for each quantity, a column for each agent, and where pi is, the ratios."""
    agents = list(dict.fromkeys(row.agent for row in rows))
    beside = any(row.pi is not None for row in rows)
    promised = any(row.limit is not None for row in rows)
    ratios = [PI, f"of pi's: {', '.join(agents)}"] if beside else []
    heads = [
        f"{rows[0].part}; CPU unless said",
        *agents,
        *ratios,
        *(["to reach"] if promised else []),
    ]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for name in dict.fromkeys(row.name for row in rows):
        here = [row for row in rows if row.name == name]
        cells = [name, *(f"{row.ours:,.3g} {row.unit}" for row in here)]
        if beside:
            cells.append("-" if here[0].pi is None else f"{here[0].pi:,.3g} {here[0].unit}")
            cells.append(", ".join("-" if r.ratio is None else f"{r.ratio:.1f}" for r in here))
        if here[0].limit is not None:
            unit = f" {here[0].unit}" if here[0].alone else " times pi's"
            cells.append(f"at most {here[0].limit:g}{unit}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


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
