"""Find the session of a notebook whose file was moved or replaced while no kernel watched.

A session belongs to a notebook by its name. Before a kernel uses a name for the first time, the file is compared with
the records of sessions: a session that clearly belongs to another notebook is passed over; a session that clearly
belongs to this notebook, and whose own file is gone, takes the new name. The user is told in one sentence.

Border: reads files and logs, on a thread. Only sessions of this project are considered, so a notebook from
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
    notebook_verdict,
    read_notebook,
)
from palimpsest.store.interface import SessionSummary, Store
from palimpsest.transcript.errors import PalimpsestError

MAX_SESSIONS = 50
"""Maximum number of sessions whose logs are read for one notebook; those that its saved answers name come first."""
MAX_SEARCH_SECONDS = 1.5
"""Time for looking through the sessions of other names."""

MOVED_SENTENCE = (
    "This notebook was {before} and goes on with its session here; %agent --new, or New session in the panel, "
    "begins another one."
)
REPLACED_SENTENCE = (
    "This is another notebook than the {name} that session {id} belongs to, so it has a session of its own; "
    "%agent open {id} goes on with that one."
)


@dataclass(frozen=True, slots=True)
class RecognisedNotebook:
    """Which sessions a notebook's file shows to be its own, or not."""

    other_notebooks_session_ids: frozenset[str] = frozenset()
    """Ids of the sessions that have its name but belong to another notebook."""
    moved_session_ids: tuple[str, ...] = ()
    """Ids of the sessions that take its name, the newest first."""
    sentence: str = ""
    """One sentence for the user; empty where nothing is unusual."""


class NotebookRecognition:
    """Compares the file of one notebook with the sessions of its project."""

    def __init__(self, store: Store, root: Path) -> None:
        self._store = store
        self._root = root
        self._read_file = functools.cache(lambda name: read_notebook(root / name))
        self._session_marks = functools.cache(self._read_marks)

    def recognise_sessions(
        self, name: str, listed_sessions: Sequence[SessionSummary]
    ) -> RecognisedNotebook:
        """Recognise the sessions of a notebook by its file; ``listed_sessions`` are the project's sessions, newest first."""
        file: NotebookFile | None = self._read_file(name)
        if file is None:  # it was never saved, or cannot be read
            return RecognisedNotebook()
        sessions = [summary for summary in listed_sessions if _may_be_continued(summary)]
        verdicts = self._session_verdicts(
            file, [summary for summary in sessions if summary.notebook == name]
        )
        if "same" in verdicts.values():
            return RecognisedNotebook(_ids_of_other_notebooks(verdicts))
        moved_sessions = self._sessions_of_moved_notebook(file, name, sessions)
        if moved_sessions:
            sentence = MOVED_SENTENCE.format(before=repr(moved_sessions[0].notebook))
            # A session of this name without any trace of its notebook must not come before them.
            return RecognisedNotebook(
                frozenset(verdicts), tuple(summary.id for summary in moved_sessions), sentence
            )
        if verdicts and "unknown" not in verdicts.values():
            sentence = REPLACED_SENTENCE.format(name=repr(name), id=next(iter(verdicts)))
            return RecognisedNotebook(_ids_of_other_notebooks(verdicts), sentence=sentence)
        return RecognisedNotebook(_ids_of_other_notebooks(verdicts))

    def _session_verdicts(
        self, file: NotebookFile, sessions: Sequence[SessionSummary]
    ) -> dict[str, Verdict]:
        verdicts: dict[str, Verdict] = {}
        for summary in sessions[:MAX_SESSIONS]:
            verdicts[summary.id] = notebook_verdict(file, self._session_marks(summary.id))
            if verdicts[summary.id] != "other":
                break  # it is the notebook's session: older ones do not matter
        return verdicts

    def _sessions_of_moved_notebook(
        self, file: NotebookFile, name: str, sessions: Sequence[SessionSummary]
    ) -> list[SessionSummary]:
        """Return sessions of one other name that belong to this notebook and have no file of that name any more."""
        if not file.answered_turn_ids and not any(text.strip() for text in file.sources):
            return []
        deadline = time.monotonic() + MAX_SEARCH_SECONDS
        other_sessions = [session for session in sessions if session.notebook != name]
        other_sessions.sort(key=lambda session: session.id not in file.answered_turn_ids)
        moved_sessions: list[SessionSummary] = []
        for session in other_sessions[:MAX_SESSIONS]:
            notebook_before = session.notebook or ""
            if moved_sessions and notebook_before != moved_sessions[0].notebook:
                continue
            marks: SessionMarks = self._session_marks(session.id)
            if is_recognised(file, marks) and not self._has_own_file(notebook_before, name, marks):
                moved_sessions.append(session)
            if time.monotonic() > deadline:
                break
        return moved_sessions

    def _has_own_file(self, notebook_before: str, name: str, marks: SessionMarks) -> bool:
        """Return whether a session's notebook still exists under its own name, so that a file of another name is a copy."""
        old_path, new_path = self._root / notebook_before, self._root / name
        if not old_path.exists():
            return False
        if _is_same_but_case(notebook_before, name) and old_path.samefile(new_path):
            return False  # a file system without case
        file: NotebookFile | None = self._read_file(notebook_before)
        return file is None or notebook_verdict(file, marks) != "other"

    def _read_marks(self, session_id: str) -> SessionMarks:
        try:
            return marks_of(session_id, self._store.open_live(session_id))
        except (PalimpsestError, OSError, ValueError):
            return SessionMarks(session_id)


def _may_be_continued(summary: SessionSummary) -> bool:
    """Return whether a session belongs to a notebook that may continue it without being asked."""
    return bool(summary.notebook) and summary.archived is None and summary.parent_id is None


def _ids_of_other_notebooks(verdicts: dict[str, Verdict]) -> frozenset[str]:
    return frozenset(session_id for session_id, verdict in verdicts.items() if verdict == "other")


def _is_same_but_case(name_before: str, name_now: str) -> bool:
    names = {unicodedata.normalize("NFC", name).casefold() for name in (name_before, name_now)}
    return len(names) == 1
