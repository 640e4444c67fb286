"""A fictitious next folder layout, in which logs are called ``events-<n>.jsonl``.

``python -m tests.store.next_layout kills TEMPLATE FOLDER`` migrates copies of a project, each process
killed one file operation later than the one before, until one completes. ``... waits PROJECT`` migrates one
project, prints ``begun`` in the middle and continues when standard input ends.
"""

import os
import shutil
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.store.project_folder.migrations import STEPS, LayoutStep

NUMBER = STEPS[-1].number + 1
CHANGES = {"open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.link", "shutil.rmtree"}


def rename_logs(copies: Path) -> None:
    """Rename every log."""
    for log in (copies / "sessions").glob("*/log-*.jsonl"):
        log.rename(log.with_name(log.name.replace("log-", "events-")))


def steps(
    change: Callable[[Path], None] = rename_logs, *, alone: bool = True
) -> Sequence[LayoutStep]:
    """Return the table of layout steps with the next layout added."""
    step = LayoutStep(
        number=NUMBER,
        sentence="logs are called events",
        entries=lambda _root: ["sessions"],
        migrate=change,
        needs_no_writers=alone,
    )
    return (*STEPS, step)


def _kills(template: Path, folder: Path) -> None:
    for number in range(1, 1_000):
        project = folder / str(number)
        shutil.copytree(template, project)
        child = os.fork()
        if child == 0:
            _die_at(number, project)
            open_project_folder(project, steps())
            os._exit(0)
        _, status = os.waitpid(child, 0)
        assert status in (0, signal.SIGKILL), status
        if status == 0:
            return


def _die_at(number: int, project: Path) -> None:
    """Kill this process at its n-th change below a folder."""
    left = [number]

    def count(event: str, arguments: tuple[object, ...]) -> None:
        named = any(str(project) in str(argument) for argument in arguments)
        reads = event == "open" and not int(str(arguments[2] or 0)) & (os.O_WRONLY | os.O_RDWR)
        if event in CHANGES and named and not reads:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)


def _waits(project: Path) -> None:
    def change(copies: Path) -> None:
        rename_logs(copies)
        sys.stdout.write("begun\n")
        sys.stdout.flush()
        sys.stdin.read()

    open_project_folder(project, steps(change))


if __name__ == "__main__":
    if sys.argv[1] == "kills":
        _kills(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        _waits(Path(sys.argv[2]))
