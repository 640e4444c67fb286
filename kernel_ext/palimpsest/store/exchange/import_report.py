"""The progress and the result of an import, and the sentences that every import may show.

Border: values alone, so that a recording is opened without what reads and writes exchange formats.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from palimpsest.store.interface import Problem

Outcome = Literal["new", "same", "updated", "copy"]

SESSION_OPEN = (
    "Session {id} is open in a kernel, so what changed at its source was not brought in; close that kernel "
    "and import it again."
)
STOPPED = "The import was stopped; importing the same again goes on from here."


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of importing one session."""

    id: str
    """Its id in this project."""
    title: str
    outcome: Outcome
    """``copy``: its id belongs to another session here, or the session here was continued."""
    messages: int
    """Number of its messages."""
    read_only: bool = False
    """Whether it is another agent's recording, which cannot be continued."""


@dataclass(frozen=True, slots=True)
class ImportReport:
    """The imported sessions, and problems with values that could not be read."""

    sessions: tuple[Imported, ...]
    problems: tuple[Problem, ...]
    notes: int = 0
    """Lines of people's notes on the sessions that came with the recording."""


def ignore_progress(_done: int, _total: int) -> None:
    """Ignore the progress."""


@dataclass(frozen=True, slots=True)
class ImportControl:
    """Reports the progress of an import, and stops it."""

    progress: Callable[[int, int], None] = ignore_progress
    """Called with the bytes that were read, and all bytes of the source."""
    is_cancelled: Callable[[], bool] = lambda: False
    """Called between two values; True stops the import, which keeps the values read so far."""
    is_kept: bool = True
    """Whether the sessions stay when this process ends, so that a later import may continue them."""
