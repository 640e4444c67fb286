"""The table of layout migrations: an ordered list of steps, each from one layout version to the next.

A step has a number, one sentence, the entries it changes, and a function. The last one's number is the
layout that this version writes, so a new layout is one more entry here (docs/storage.md, "How to change
what is on the disk"). ``migration_run`` copies, calls and swaps; a step never touches the folder itself.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from palimpsest.store.disk import open_regular
from palimpsest.store.log_lines import is_intact, load_line
from palimpsest.store.project_folder.layout_file import read_layout

SESSIONS = "sessions"
INDEX = "index.json"
LOG_VERSION = 1
HEAD_BYTES = 4_096
"""Bytes read for the first line of a log, its header, which is shorter."""


@dataclass(frozen=True, slots=True)
class LayoutStep:
    """One migration step from a layout to the next.

    Contract: ``entries`` returns the names in the folder that will be changed, changes nothing, and
    may raise StepRefused. ``migrate`` gets another folder with copies of these entries, and changes, renames,
    adds or removes files in it. It leaves files that have the new form unchanged, since a folder whose
    ``layout`` was lost goes through all steps again.
    """

    number: int
    """The layout version of a folder after the step."""
    sentence: str
    """What the step changed, for the user; shown after "layout 1: "."""
    entries: Callable[[Path], Sequence[str]]
    migrate: Callable[[Path], None]
    needs_no_writers: bool = True
    """Whether no other kernel may write a session meanwhile; false if the step does not change sessions."""


class StepRefused(Exception):
    """The folder is not what the step expects; the message says what to do, as the end of a sentence."""


def _index_to_rebuild(root: Path) -> Sequence[str]:
    """Return the session list file for rebuilding; raises StepRefused if a log is of a newer version."""
    for log in (root / SESSIONS).glob("*/log-*.jsonl"):
        if _log_version(log) > LOG_VERSION:
            raise StepRefused(f"{str(log)!r} was written by a newer Palimpsest: update Palimpsest")
    return [INDEX] if (root / INDEX).exists() else []


def _log_version(log: Path) -> int:
    """Return the version in the first line of a log; 0 if there is no intact one."""
    try:
        with open_regular(log) as file:
            line = file.read(HEAD_BYTES).partition(b"\n")[0]
    except OSError:
        return 0
    version = (load_line(line) or {}).get("v")
    return version if type(version) is int and is_intact(line) else 0


STEPS: Sequence[LayoutStep] = (
    LayoutStep(
        number=1,
        sentence="its layout and its project are written down, and the list of sessions is made again",
        entries=_index_to_rebuild,
        migrate=lambda copies: (copies / INDEX).unlink(missing_ok=True),
        needs_no_writers=False,
    ),
)
"""All steps, in order, without a gap."""


def newest_version(steps: Sequence[LayoutStep]) -> int:
    """Return the layout version that the last step produces."""
    return steps[-1].number


def is_older(root: Path, steps: Sequence[LayoutStep]) -> bool:
    """Return whether a folder has an older layout, an unfinished migration, or no project id."""
    layout = read_layout(root)
    is_unfinished = layout.migration is not None or not layout.project_id
    return is_unfinished or layout.version < newest_version(steps)
