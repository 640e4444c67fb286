"""Run all benchmarks and print their figures beside the targets.

Every ``bench_*.py`` beside this file has a ``measure()`` that returns its figures, as :class:`Figure`
values or as objects with the same fields. The exit code is 1 when a figure exceeds its target.

``python -m tests.bench page`` prints the tables of docs/performance.md.
"""

import importlib
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from tests.bench import bench_peers
from tests.bench.figure import Figure

HERE = Path(__file__).parent
PAGE = {"bench_start": "A start", "bench_step": "A long session", "bench_front": "The page"}
"""The parts whose figures docs/performance.md shows below those of ``peers``, and what they are headed with."""


def names() -> list[str]:
    """Return the benchmark modules, or those that the command line names."""
    stems = sorted(path.stem for path in HERE.glob("bench_*.py"))
    wanted = sys.argv[1:]
    return [name for name in stems if not wanted or name.removeprefix("bench_") in wanted]


def table(figures: Iterable[Figure]) -> str:
    """Return one line for each figure: name, value, target and verdict."""
    rows = [("figure", "measured", "target", "")]
    rows += [(f.name, f.shown(f.value), f.shown_target(), f.verdict()) for f in figures]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = [
        f"{name:<{widths[0]}}  {value:>{widths[1]}}  {target:>{widths[2]}}  {verdict}".rstrip()
        for name, value, target, verdict in rows
    ]
    lines.insert(1, "-" * max(map(len, lines)))
    return "\n".join(lines)


def markdown(head: str, figures: Iterable[Figure]) -> str:
    """Return the figures as a table of Markdown."""
    rows = [(head, "measured", "at most"), ("---", "---", "---")]
    rows += [(f.name, f.shown(f.value), f.shown_target().removeprefix("<= ")) for f in figures]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def page() -> str:
    """Return everything that docs/performance.md shows, measured now."""
    parts = [bench_peers.markdown(*bench_peers.measured())]
    for name, head in PAGE.items():
        parts.append(markdown(head, importlib.import_module(f"tests.bench.{name}").measure()))
    return "\n\n".join(parts)


def main() -> int:
    """Run all benchmarks; one that raises is reported, and the others still run."""
    if sys.argv[1:] == ["page"]:
        print(page())
        return 0
    figures: list[Figure] = []
    failed: list[str] = []
    for name in names():
        began = time.perf_counter()
        try:
            figures += importlib.import_module(f"tests.bench.{name}").measure()
        except Exception as problem:  # noqa: BLE001 - one bench must not hide the others
            failed.append(f"{name} could not be measured: {problem!r}")
        print(f"{name}: {time.perf_counter() - began:.0f} s", file=sys.stderr)
    print(table(figures))
    for sentence in failed:
        print(sentence)
    over = [figure.name for figure in figures if figure.over]
    print(f"{len(figures) - len(over)} within their target, {len(over)} over.")
    return 1 if over or failed else 0


if __name__ == "__main__":
    sys.exit(main())
