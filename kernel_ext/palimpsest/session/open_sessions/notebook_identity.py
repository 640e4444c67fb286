"""Whether the file of a notebook is the notebook that a session was asked in.

A session records from which cells it was asked and which cells it was told of; a notebook's file holds cells with
ids, prompts in their sources, and saved answers that name session and turn. Nothing is written into a notebook for it.

Border: reads a notebook's file piece by piece, and values of a session; decides nothing about names and opens nothing.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import ijson

from palimpsest.store.disk import open_regular
from palimpsest.store.session_state.state import State
from palimpsest.transcript.messages import UserMessage
from palimpsest.transcript.parts import NotebookPart, TextPart

FILE_BYTES = 64_000_000
"""A notebook beyond this or one of the next limits is known by its name alone."""
MOST_CELLS = 5_000
MOST_EVENTS = 1_000_000
"""Pieces of JSON in one file: a second of reading."""
MOST_DEPTH = 100
SOURCE_CHARS = 20_000
SHORTEST_PROMPT = 8
"""A shorter prompt, such as *go on*, stands in any notebook."""

ITEM = "item"
CELL = ["cells", ITEM]
OUTPUT = [*CELL, "outputs", ITEM, "data", "application/vnd.palimpsest.segment+json"]

Verdict = Literal["same", "other", "unknown"]


@dataclass(slots=True)
class NotebookFile:
    """The cells of a notebook's file, and which turns its saved outputs name."""

    changed: int
    """When the file was written or put there, in milliseconds since 1970."""
    cells: dict[str, str] = field(default_factory=dict)
    """Source by cell id; empty for formats before 4.5, which have no ids."""
    sources: list[str] = field(default_factory=list)
    turns: dict[str, set[str]] = field(default_factory=dict)
    """Ids of turns by the session that the output names."""


@dataclass(frozen=True, slots=True)
class RecordedPrompt:
    """A prompt that a session was asked in a cell."""

    turn: str
    """Id of the user message."""
    cell_id: str | None
    text: str


@dataclass(frozen=True, slots=True)
class SessionMarks:
    """What a session recorded of its notebook."""

    id: str
    prompts: tuple[RecordedPrompt, ...] = ()
    told: frozenset[str] = frozenset()
    """Ids of cells that the session was told of."""
    asked: int = 0
    """When the newest prompt was asked, in milliseconds since 1970."""

    @property
    def cell_ids(self) -> frozenset[str]:
        """The ids of all recorded cells."""
        return self.told | {one.cell_id for one in self.prompts if one.cell_id}


def read_notebook(path: Path) -> NotebookFile | None:
    """Read a notebook's file; None where there is none, or none that can be read."""
    try:
        with open_regular(path, follow=True) as file:
            found = os.fstat(file.fileno())
            if found.st_size > FILE_BYTES:
                return None
            changed = max(found.st_mtime_ns, found.st_ctime_ns) // 1_000_000
            made = NotebookFile(changed)
            reader = _CellReader(made)
            reader.read(ijson.basic_parse(file, use_float=True))
    except (OSError, ValueError, RecursionError, ijson.JSONError):
        return None
    return made if reader.found_cells else None


class _CellReader:
    """Fills in a ``NotebookFile`` from the events of a JSON parser; raises ValueError beyond a limit."""

    def __init__(self, made: NotebookFile) -> None:
        self._made = made
        self._path: list[str] = []
        self._id = ""
        self._source: list[str] = []
        self._session = ""
        self.found_cells = False

    def read(self, events: Iterable[tuple[str, Any]]) -> None:
        """Read to the end."""
        for count, (event, value) in enumerate(events):
            if (
                count > MOST_EVENTS
                or len(self._path) > MOST_DEPTH
                or len(self._made.sources) > MOST_CELLS
            ):
                raise ValueError("It is larger than what is read.")
            if event in ("end_map", "end_array"):
                self._path.pop()
            if event == "map_key":
                self._path[-1] = value
            elif event == "string":
                self._text(value)
            elif self._path == CELL:
                self._cell(event)
            if event in ("start_map", "start_array"):
                self.found_cells = self.found_cells or self._path == CELL[:1]
                self._path.append("" if event == "start_map" else ITEM)

    def _cell(self, event: str) -> None:
        if event == "start_map":
            self._id, self._source = "", []
        elif event == "end_map":
            text = "".join(self._source)[:SOURCE_CHARS]
            self._made.sources.append(text)
            if self._id:
                self._made.cells[self._id] = text

    def _text(self, value: str) -> None:
        path = self._path
        if path == [*CELL, "id"]:
            self._id = value
        elif path[:3] == [*CELL, "source"]:
            if len(self._source) < SOURCE_CHARS:
                self._source.append(value[:SOURCE_CHARS])
        elif path == [*OUTPUT, "session"]:
            self._session = value
        elif path == [*OUTPUT, "turn"]:
            self._made.turns.setdefault(self._session, set()).add(value)


def marks_of(session_id: str, state: State) -> SessionMarks:
    """Return what a session recorded of its notebook."""
    prompts: list[RecordedPrompt] = []
    told: set[str] = set()
    asked = 0
    for message in state.messages():
        info = message.info
        if not isinstance(info, UserMessage):
            continue
        asked = max(asked, info.time.created)
        if info.origin is not None and info.origin.kind == "cell":
            text = next(
                (
                    one.text
                    for one in message.parts
                    if isinstance(one, TextPart) and not one.synthetic
                ),
                "",
            )
            prompts.append(RecordedPrompt(info.id, info.origin.cell_id, text.strip()))
        for part in message.parts:
            if isinstance(part, NotebookPart):
                told |= {one.cell_id for one in (*part.cells, *part.omitted) if one.cell_id}
    return SessionMarks(session_id, tuple(prompts), frozenset(told), asked)


def verdict(file: NotebookFile, marks: SessionMarks) -> Verdict:
    """Return whether a file that has the session's name is its notebook.

    It is another one where it was put there after the newest prompt and holds none of the recorded cells, prompts
    and answers. A file that is older than the newest prompt was not saved since, and says nothing.
    """
    if _matching(file, marks) or marks.told & file.cells.keys():
        return "same"
    if file.cells and marks.cell_ids and file.changed > marks.asked > 0:
        return "other"
    return "unknown"


def is_recognised(file: NotebookFile, marks: SessionMarks) -> bool:
    """Return whether a file of another name clearly is the session's notebook.

    Two recorded prompts are found in it, or one of them and another recorded cell. Of a session that has a single
    prompt and no other cell, its cell must hold the prompt or its answer. Other cells alone are enough only where the
    session was never asked in a cell: a template puts the same cells into many notebooks.
    """
    found = _matching(file, marks)
    known = marks.told & file.cells.keys()
    if not marks.prompts:
        return len(known) > 1 and 2 * len(known) >= len(marks.told)
    if not found:
        return False
    if len({one.cell_id or one.turn for one in found} | known) > 1:
        return True
    if len({one.cell_id or one.turn for one in marks.prompts} | marks.told) > 1:
        return False
    return any(_kinds(file, marks, one) > 1 for one in found)


def _matching(file: NotebookFile, marks: SessionMarks) -> list[RecordedPrompt]:
    return [one for one in marks.prompts if _kinds(file, marks, one)]


def _kinds(file: NotebookFile, marks: SessionMarks, prompt: RecordedPrompt) -> int:
    """Count how a file shows a prompt: by its cell, by its answer, by its words."""
    says = len(prompt.text) >= SHORTEST_PROMPT
    sources: Mapping[str, str] = file.cells
    in_cell = sources.get(prompt.cell_id or "")
    where = file.sources if in_cell is None else [in_cell]
    return (
        (in_cell is not None)
        + (prompt.turn in file.turns.get(marks.id, ()))
        + (says and any(prompt.text in one for one in where))
    )
