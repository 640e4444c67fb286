"""Find the session of a notebook whose file was moved, or replaced by another one, while no kernel watched.

A session belongs to a notebook by its name. Before a kernel uses a name for the first time, the file is compared with
what sessions recorded: a session whose notebook this clearly is not is passed over, and one whose notebook this clearly
is, and that is no longer found under its own name, takes the new name. All of it is said in one line.

Border: reads files and logs, on a thread. Only sessions of this project are looked at, so a notebook from
elsewhere finds none.
"""

import functools
import time
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from palimpsest.session.open_sessions.notebook_identity import (
    NotebookFile,
    SessionMarks,
    Verdict,
    is_recognised,
    marks_of,
    read_notebook,
    verdict,
)
from palimpsest.store.interface import SessionSummary, Store
from palimpsest.transcript.errors import PalimpsestError

MOST_SESSIONS = 50
"""Sessions whose logs are read for one notebook, those first that its saved answers name."""
LOOK_SECONDS = 1.5
"""Time for looking through the sessions of other names."""

MOVED = (
    "This notebook was {before} and goes on with its session here; %agent --new, or New session in the panel, "
    "begins another one."
)
REPLACED = (
    "This is another notebook than the {name} that session {id} belongs to, so it has a session of its own; "
    "%agent open {id} goes on with that one."
)


@dataclass(frozen=True, slots=True)
class RecognisedNotebook:
    """What a notebook's file says about its sessions."""

    not_its: frozenset[str] = frozenset()
    """Ids of the sessions that have its name, and belong to another notebook."""
    moved: tuple[str, ...] = ()
    """Ids of the sessions that take its name, the newest first."""
    words: str = ""
    """One sentence for the user; empty where nothing is unusual."""


class NotebookRecognition:
    """Compares the file of one notebook with the sessions of its project."""

    def __init__(self, store: Store, root: Path) -> None:
        self._store = store
        self._root = root
        self._files = functools.cache(lambda name: read_notebook(root / name))
        self._marks = functools.cache(self._read_marks)

    def look(self, name: str, listed: Sequence[SessionSummary]) -> RecognisedNotebook:
        """Return what the file of a name says; ``listed`` are the project's sessions, the newest first."""
        file: NotebookFile | None = self._files(name)
        if file is None:  # it was never saved, or cannot be read
            return RecognisedNotebook()
        ours = [one for one in listed if _is_asked(one)]
        verdicts = self._verdicts(file, [one for one in ours if one.notebook == name])
        if "same" in verdicts.values():
            return RecognisedNotebook(_others(verdicts))
        moved = self._moved(file, name, ours)
        if moved:
            words = MOVED.format(before=repr(moved[0].notebook))
            # A session that has the name and says nothing of its notebook must not come before them.
            return RecognisedNotebook(frozenset(verdicts), tuple(one.id for one in moved), words)
        if verdicts and "unknown" not in verdicts.values():
            words = REPLACED.format(name=repr(name), id=next(iter(verdicts)))
            return RecognisedNotebook(_others(verdicts), words=words)
        return RecognisedNotebook(_others(verdicts))

    def _verdicts(
        self, file: NotebookFile, sessions: Sequence[SessionSummary]
    ) -> dict[str, Verdict]:
        found: dict[str, Verdict] = {}
        for one in sessions[:MOST_SESSIONS]:
            found[one.id] = verdict(file, self._marks(one.id))
            if found[one.id] != "other":  # it is taken; older ones do not matter
                break
        return found

    def _moved(
        self, file: NotebookFile, name: str, sessions: Sequence[SessionSummary]
    ) -> list[SessionSummary]:
        """Return the sessions whose notebook this is, if none has it under the sessions' own name."""
        if not file.turns and not any(text.strip() for text in file.sources):
            return []
        end = time.monotonic() + LOOK_SECONDS
        others = [one for one in sessions if one.notebook != name]
        others.sort(key=lambda one: one.id not in file.turns)
        found: list[SessionSummary] = []
        for one in others[:MOST_SESSIONS]:
            before = one.notebook or ""
            if found and before != found[0].notebook:
                continue
            marks: SessionMarks = self._marks(one.id)
            if is_recognised(file, marks) and not self._is_there(before, name, marks):
                found.append(one)
            if time.monotonic() > end:
                break
        return found

    def _is_there(self, before: str, name: str, marks: SessionMarks) -> bool:
        """Return whether a session's notebook still stands under its own name, so that another one is a copy."""
        old, new = self._root / before, self._root / name
        if not old.exists():
            return False
        if _same_letters(before, name) and old.samefile(new):  # a file system without case
            return False
        file: NotebookFile | None = self._files(before)
        return file is None or verdict(file, marks) != "other"

    def _read_marks(self, session_id: str) -> SessionMarks:
        try:
            return marks_of(session_id, self._store.open_live(session_id))
        except (PalimpsestError, OSError, ValueError):
            return SessionMarks(session_id)


def _is_asked(one: SessionSummary) -> bool:
    """Return whether a session belongs to a notebook that may go on with it by itself."""
    return bool(one.notebook) and one.archived is None and one.parent_id is None


def _others(verdicts: dict[str, Verdict]) -> frozenset[str]:
    return frozenset(session for session, found in verdicts.items() if found == "other")


def _same_letters(one: str, other: str) -> bool:
    first, second = (unicodedata.normalize("NFC", name).casefold() for name in (one, other))
    return first == second
