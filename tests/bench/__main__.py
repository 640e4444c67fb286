"""Run all benchmarks and print their figures beside the targets.

Every ``bench_*.py`` beside this file has a ``measure()`` that returns its figures, as :class:`Figure`
values or as objects with the same fields. The exit code is 1 when a figure exceeds its target.
"""

import importlib
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from tests.bench.figure import Figure

HERE = Path(__file__).parent


def names() -> list[str]:
    """Return the benchmark modules, or those that the command line names."""
    found = sorted(path.stem for path in HERE.glob("bench_*.py"))
    wanted = sys.argv[1:]
    return [name for name in found if not wanted or name.removeprefix("bench_") in wanted]


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


def main() -> int:
    """Run all benchmarks; one that raises is reported, and the others still run."""
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
