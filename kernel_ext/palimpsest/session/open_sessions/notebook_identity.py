"""Check whether a notebook's file is the notebook in which a session received its prompts.

A session records which cells sent it prompts and which cells were described to it; a notebook's file holds cells
with ids, prompts in their sources, and saved answers that name session and turn. Nothing is written into a notebook.

Border: reads a notebook's file piece by piece, and values of a session; ``notebook_recognition`` chooses the session.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import ijson

from palimpsest.store.disk import open_regular
from palimpsest.store.session_state.state import State
from palimpsest.transcript.messages import UserMessage, typed_texts
from palimpsest.transcript.parts import NotebookPart

MAX_FILE_BYTES = 64_000_000
"""Maximum bytes of a notebook; one beyond this or a following limit is recognised by its name only."""
MAX_CELLS = 5_000
MAX_EVENTS = 1_000_000
"""Maximum JSON events in one file: reading them takes a second."""
MAX_DEPTH = 100
MAX_SOURCE_CHARS = 20_000
MIN_PROMPT_CHARS = 8
"""Minimum characters of a prompt that identifies a notebook; a shorter one, such as *go on*, may be in any."""

ITEM_STEP = "item"
"""Stands in a path for an item of a JSON array."""
CELL_PATH = ["cells", ITEM_STEP]
OUTPUT_PATH = [*CELL_PATH, "outputs", ITEM_STEP, "data", "application/vnd.palimpsest.segment+json"]

Verdict = Literal["same", "other", "unknown"]


@dataclass(slots=True)
class NotebookFile:
    """The cells of a notebook's file, and which turns its saved outputs name."""

    changed_at_ms: int
    """When the file was written or put there, in milliseconds since 1970."""
    cells: dict[str, str] = field(default_factory=dict)
    """Source by cell id; empty for formats before 4.5, which have no ids."""
    sources: list[str] = field(default_factory=list)
    """The sources of all cells, in order."""
    answered_turn_ids: dict[str, set[str]] = field(default_factory=dict)
    """Ids of the turns that saved outputs name, by id of the session."""


@dataclass(frozen=True, slots=True)
class RecordedPrompt:
    """A prompt that a session received from a cell."""

    message_id: str
    """Id of the user message."""
    cell_id: str | None
    text: str


@dataclass(frozen=True, slots=True)
class SessionMarks:
    """What a session recorded about its notebook: the prompts of its cells, and other cells."""

    id: str
    prompts: tuple[RecordedPrompt, ...] = ()
    described_cell_ids: frozenset[str] = frozenset()
    """Ids of cells that were described to the session."""
    prompted_at_ms: int = 0
    """When the newest prompt was asked, in milliseconds since 1970."""

    @property
    def cell_ids(self) -> frozenset[str]:
        """The ids of all recorded cells."""
        return self.described_cell_ids | {
            prompt.cell_id for prompt in self.prompts if prompt.cell_id
        }


def read_notebook(path: Path) -> NotebookFile | None:
    """Read a notebook's file; None where there is none, or none that can be read."""
    try:
        with open_regular(path, follow=True) as file:
            file_stat = os.fstat(file.fileno())
            if file_stat.st_size > MAX_FILE_BYTES:
                return None
            changed_at_ms = max(file_stat.st_mtime_ns, file_stat.st_ctime_ns) // 1_000_000
            notebook = NotebookFile(changed_at_ms)
            reader = _CellReader(notebook)
            reader.read_events(ijson.basic_parse(file, use_float=True))
    except (OSError, ValueError, RecursionError, ijson.JSONError):
        return None
    return notebook if reader.has_cells else None


class _CellReader:
    """Fills in a ``NotebookFile`` from the events of a JSON parser; raises ValueError beyond a limit."""

    def __init__(self, notebook: NotebookFile) -> None:
        self._notebook = notebook
        self._path: list[str] = []
        self._cell_id = ""
        self._source: list[str] = []
        self._session_id = ""
        self.has_cells = False

    def read_events(self, events: Iterable[tuple[str, Any]]) -> None:
        """Read to the end."""
        for event_number, (event, value) in enumerate(events):
            if (
                event_number > MAX_EVENTS
                or len(self._path) > MAX_DEPTH
                or len(self._notebook.sources) > MAX_CELLS
            ):
                raise ValueError("It is larger than what is read.")
            if event in ("end_map", "end_array"):
                self._path.pop()
            if event == "map_key":
                self._path[-1] = value
            elif event == "string":
                self._add_text(value)
            elif self._path == CELL_PATH:
                self._begin_or_end_cell(event)
            if event in ("start_map", "start_array"):
                self.has_cells = self.has_cells or self._path == CELL_PATH[:1]
                self._path.append("" if event == "start_map" else ITEM_STEP)

    def _begin_or_end_cell(self, event: str) -> None:
        if event == "start_map":
            self._cell_id, self._source = "", []
        elif event == "end_map":
            text = "".join(self._source)[:MAX_SOURCE_CHARS]
            self._notebook.sources.append(text)
            if self._cell_id:
                self._notebook.cells[self._cell_id] = text

    def _add_text(self, value: str) -> None:
        path = self._path
        if path == [*CELL_PATH, "id"]:
            self._cell_id = value
        elif path[:3] == [*CELL_PATH, "source"]:
            if len(self._source) < MAX_SOURCE_CHARS:
                self._source.append(value[:MAX_SOURCE_CHARS])
        elif path == [*OUTPUT_PATH, "session"]:
            self._session_id = value
        elif path == [*OUTPUT_PATH, "turn"]:
            self._notebook.answered_turn_ids.setdefault(self._session_id, set()).add(value)


def marks_of(session_id: str, state: State) -> SessionMarks:
    """Return what a session recorded about its notebook."""
    prompts: list[RecordedPrompt] = []
    described_cell_ids: set[str] = set()
    newest_prompt_ms = 0
    for message in state.messages():
        info = message.info
        if not isinstance(info, UserMessage):
            continue
        newest_prompt_ms = max(newest_prompt_ms, info.time.created)
        if info.origin is not None and info.origin.kind == "cell":
            text = next(iter(typed_texts(message)), "").strip()
            prompts.append(RecordedPrompt(info.id, info.origin.cell_id, text))
        for part in message.parts:
            if isinstance(part, NotebookPart):
                cells = (*part.cells, *part.omitted)
                described_cell_ids |= {cell.cell_id for cell in cells if cell.cell_id}
    return SessionMarks(session_id, tuple(prompts), frozenset(described_cell_ids), newest_prompt_ms)


def notebook_verdict(file: NotebookFile, marks: SessionMarks) -> Verdict:
    """Return whether a file that has the session's name is its notebook.

    It is another notebook if it was put there after the newest prompt and holds none of the recorded cells, prompts
    and answers. A file older than the newest prompt was not saved since, so it decides nothing.
    """
    if _matching_prompts(file, marks) or marks.described_cell_ids & file.cells.keys():
        return "same"
    if file.cells and marks.cell_ids and file.changed_at_ms > marks.prompted_at_ms > 0:
        return "other"
    return "unknown"


def is_recognised(file: NotebookFile, marks: SessionMarks) -> bool:
    """Return whether a file of another name clearly is the session's notebook.

    Two recorded prompts must be in it, or a prompt and another recorded cell. For a session with a single prompt
    and no other cell, the cell must hold the prompt or its answer. Other cells alone are enough only for a session
    without prompts from cells: a template puts the same cells into many notebooks.
    """
    matching_prompts = _matching_prompts(file, marks)
    described_ids_in_file = marks.described_cell_ids & file.cells.keys()
    if not marks.prompts:
        return len(described_ids_in_file) > 1 and 2 * len(described_ids_in_file) >= len(
            marks.described_cell_ids
        )
    if not matching_prompts:
        return False
    if (
        len(
            {prompt.cell_id or prompt.message_id for prompt in matching_prompts}
            | described_ids_in_file
        )
        > 1
    ):
        return True
    if (
        len(
            {prompt.cell_id or prompt.message_id for prompt in marks.prompts}
            | marks.described_cell_ids
        )
        > 1
    ):
        return False
    return any(_count_traces(file, marks, prompt) > 1 for prompt in matching_prompts)


def _matching_prompts(file: NotebookFile, marks: SessionMarks) -> list[RecordedPrompt]:
    return [prompt for prompt in marks.prompts if _count_traces(file, marks, prompt)]


def _count_traces(file: NotebookFile, marks: SessionMarks, prompt: RecordedPrompt) -> int:
    """Count the traces of a prompt in a file: its cell, its answer, its text."""
    cell_source = file.cells.get(prompt.cell_id or "")
    searched_sources = file.sources if cell_source is None else [cell_source]
    has_text = len(prompt.text) >= MIN_PROMPT_CHARS and any(
        prompt.text in source for source in searched_sources
    )
    has_answer = prompt.message_id in file.answered_turn_ids.get(marks.id, ())
    return (cell_source is not None) + has_answer + has_text
