"""Report what a run could not test on this machine, and how to get what it lacks, in its last line.

A test calls ``skip_without`` for what a machine may lack. Elsewhere than on CI it is skipped then, and the run passes.
"""

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

MARK = "NOT TESTED"
FILE = "PALIMPSEST_UNTESTED"
"""A file that takes the lines instead of the terminal, for ``make test``, whose last words come after pytest's."""


HOW = {
    "a browser": (
        "install Chromium or Chrome (Debian, Ubuntu: apt-get install chromium; macOS: brew install --cask google-chrome), or "
        "name one with PALIMPSEST_BROWSER=/path/of/it, and run them again"
    ),
    "Notebook 7": "pip install notebook",
    "aimock": "run make front",
}
"""How to get what a machine may lack."""


def skip_without(what: str) -> None:
    """Skip a test for what is missing, a name in ``HOW``; fail it on CI, where every test must run."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"It needs {what}, and none was found: {HOW[what]}.")
    pytest.skip(f"{MARK}: {what}")


def untested(reports: Iterable[Any]) -> list[str]:
    """Return a line for each thing that was missing, from the reports of skipped tests."""
    words = (str(report.longrepr[2]) for report in reports if isinstance(report.longrepr, tuple))
    missing = Counter(
        reason.partition(f"{MARK}: ")[2]
        for reason in words
        if reason.startswith(f"Skipped: {MARK}: ")
    )
    return [
        f"{MARK}: {count} {'test, which needs' if count == 1 else 'tests, which need'} {what}, and none was found: {HOW[what]}."
        for what, count in missing.items()
    ]


def report_untested(config: pytest.Config) -> None:
    """Write the lines, after everything else that pytest writes."""
    terminal: Any = config.pluginmanager.get_plugin("terminalreporter")
    lines = untested(terminal.stats.get("skipped", ())) if terminal is not None else []
    if not lines:
        return
    file = os.environ.get(FILE)
    if file:
        Path(file).write_text("".join(f"{line}\n" for line in lines))
        return
    for line in lines:
        terminal.write_line(line, yellow=True, bold=True)
