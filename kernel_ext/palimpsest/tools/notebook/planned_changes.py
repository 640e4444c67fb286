"""Turn the changes that a model asks for into changes of cells with ids and expected sources, or a sentence why not.

Border: pure; the cells of the notebook as they are now, and what the model saw of them, come in. The changes are tried in
their order on a copy of the notebook, so that each is right after those before it. Repeated edits of a cell become one.
"""

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from palimpsest.tools.files.write_tools import (
    Replacement,
    edit_note,
    find_replacement,
    half_character_text,
    unified_difference,
)
from palimpsest.tools.notebook.seen_sources import SeenSource
from palimpsest.transcript.context_values.cell_changes import CellKind, MadeChange
from palimpsest.transcript.context_values.cell_runs import is_prompt_cell, source_hash
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.redaction.secret_patterns import REDACTED, scrub

MAX_CHANGES = 200
MAX_SOURCE_CHARS = 200_000
"""Maximum characters of a cell's source; longer ones make a page slow for every key that is pressed in it."""
TOP = "top"


class RequestedChange(BaseModel):
    """One change that the model asks for."""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    action: Literal["insert", "edit", "move", "delete", "run"]
    cell: str | None = Field(
        default=None,
        description="Not for insert: the cell's number or id, or the name of an inserted one.",
    )
    after: str | None = Field(
        default=None,
        description=f'insert, move: the cell behind which it goes, or "{TOP}". Without it an inserted cell goes behind the '
        "one before, below the user's prompt, or to the end.",
    )
    kind: CellKind | None = Field(default=None, description="insert: code by default.")
    source: str | None = Field(default=None, description="insert, edit: the whole new source.")
    edits: list[Replacement] | None = Field(
        default=None, description="edit: replacements, in place of source."
    )
    name: str | None = Field(
        default=None, description="insert: a name for the cell, for later changes of this call."
    )


@dataclass(slots=True)
class NotebookCell:
    """A cell of the notebook, as it is now."""

    id: str
    kind: CellKind
    source: str
    number: int | None = None
    is_hidden: bool = False

    @property
    def label(self) -> str:
        """The cell's name for people and for the model."""
        return f"cell [{self.number}]" if self.number is not None else f"cell {self.id}"

    @property
    def full_label(self) -> str:
        """The cell's name with its id."""
        return self.label if self.number is None else f"{self.label} id={self.id}"


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A cell that is to be run, with the source that it must have then."""

    cell_id: str
    source: str
    label: str


@dataclass(frozen=True, slots=True)
class PlannedChanges:
    """What a call is to do: first all changes, then all runs."""

    changes: tuple[MadeChange, ...]
    runs: tuple[PlannedRun, ...]
    labels: Mapping[str, str]
    """Labels of all cells that the changes and runs concern, by id."""
    notes: tuple[str, ...] = ()
    """Sentences for the model about edits whose text did not match to the letter."""


class UnseenCells(UserError):
    """Cells have another source than the model saw last, or it never saw them; the sentence shows what they hold."""

    def __init__(self, sentence: str, source_hashes: Mapping[str, str], summary: str) -> None:
        super().__init__(sentence)
        self.source_hashes = dict(source_hashes)
        """Hashes of the shown sources, by cell id."""
        self.summary = summary
        """Why nothing was changed, in one sentence for the user."""


def check_source_lengths(requested: Sequence[RequestedChange]) -> None:
    """Raise UserError where a source is longer than a cell takes.

    Called before the notebook is read: a page that just drew such a call may be too busy to answer.
    """
    for change in requested:
        if len(change.source or "") > MAX_SOURCE_CHARS:
            text = _too_long_text(change.source or "")
            raise UserError(text[0].upper() + text[1:])


def _too_long_text(source: str) -> str:
    return (
        f"the source has {len(source):,} characters, and a cell takes {MAX_SOURCE_CHARS:,}. Write it to a file, or "
        "split it into several cells."
    )


@dataclass(slots=True)
class ChangePlanner:
    """Tries changes on a copy of the notebook, and collects them."""

    notebook_path: str
    cells: list[NotebookCell]
    """All cells in their order, hidden ones too."""
    find_id: Callable[[str], str]
    """Returns the id of the visible cell with a number or id; raises NotFound."""
    seen_sources: Mapping[str, SeenSource]
    """The source of each cell that the model saw last, by cell id."""
    mentioned_names: frozenset[str]
    """Numbers and ids of cells that the present prompt of the user mentions."""
    prompt_cell_id: str | None = None
    """The id of the cell of the present prompt."""
    _changes: list[MadeChange] = field(default_factory=list)
    _runs: list[PlannedRun] = field(default_factory=list)
    _ids_by_name: dict[str, str] = field(default_factory=dict)
    _inserted_ids: list[str] = field(default_factory=list)
    _deleted_ids: set[str] = field(default_factory=set)
    _unseen_cells: dict[str, NotebookCell] = field(default_factory=dict)
    _labels: dict[str, str] = field(default_factory=dict)
    _notes: list[str] = field(default_factory=list)
    _error_prefix: str = ""

    def plan(self, requested: Sequence[RequestedChange]) -> PlannedChanges:
        """Return the changes and runs; raises UserError, NotFound or UnseenCells with a sentence for the model."""
        actions = {
            "insert": self._insert,
            "edit": self._edit,
            "move": self._move,
            "delete": self._delete,
            "run": self._run,
        }
        for number, change in enumerate(requested, 1):
            self._error_prefix = (
                f"Change {number} of {len(requested)}: " if len(requested) > 1 else ""
            )
            actions[change.action](change)
        if self._unseen_cells:
            raise self._unseen_error()
        runs = tuple(
            PlannedRun(run.cell_id, self._cell(run.cell_id).source, run.label) for run in self._runs
        )
        return PlannedChanges(tuple(self._changes), runs, self._labels, tuple(self._notes))

    # One function for each action

    def _insert(self, change: RequestedChange) -> None:
        self._refuse_fields(change, "cell", "edits")
        if change.source is None:
            raise self._error("insert needs source, which may be empty.")
        source = self._checked_source(change.source, "")
        after = self._insert_after(change.after)
        cell = NotebookCell(self._new_id(), change.kind or "code", source)
        if change.name is not None:
            self._name_cell(change.name.strip(), cell.id)
        self._insert_behind(cell, after)
        self._inserted_ids.append(cell.id)
        self._labels[cell.id] = f"new cell {cell.id}"
        self._changes.append(
            self._proposed_change(cell, action="insert", after=after, new=source, number=None)
        )

    def _edit(self, change: RequestedChange) -> None:
        self._refuse_fields(change, "after", "name")
        cell = self._target_cell(change)
        if change.kind not in (None, cell.kind):
            raise self._error(
                f"{cell.label} is a {cell.kind} cell, and the kind of a cell is not changed. Insert a {change.kind} "
                "cell behind it and delete it."
            )
        if (change.source is None) == (change.edits is None):
            raise self._error("edit needs either source or edits.")
        if change.source is not None:
            new_source = self._checked_source(change.source, cell.source)
        else:
            new_source = self._checked_source(
                self._with_edits(cell, change.edits or []), cell.source
            )
        if new_source == cell.source:
            raise self._error(f"{cell.label} has that source already, so there is nothing to edit.")
        is_changed_before = False
        for index, earlier in enumerate(self._changes):
            if earlier.cell == cell.id and earlier.action in ("insert", "edit"):
                self._changes[index] = earlier.model_copy(update={"new": new_source})
                is_changed_before = True
            elif earlier.cell == cell.id and earlier.action == "move" and is_changed_before:
                self._changes[index] = earlier.model_copy(update={"old": new_source})
        if not is_changed_before:
            proposed_change = self._proposed_change(
                cell, action="edit", old=cell.source, new=new_source
            )
            self._changes.append(proposed_change)
        cell.source = new_source

    def _move(self, change: RequestedChange) -> None:
        self._refuse_fields(change, "kind", "source", "edits", "name")
        cell = self._target_cell(change, needs_seen=False)
        if change.after is None:
            raise self._error(f'move needs after: the cell behind which it goes, or "{TOP}".')
        if cell.id in self._inserted_ids:
            raise self._error(
                f"{cell.label} is inserted by this call: give its place there by after."
            )
        after = self._place_named(change.after)
        if after == cell.id:
            raise self._error(f"{cell.label} cannot be moved behind itself.")
        was_after = self._id_before(cell.id)
        if after == was_after:
            raise self._error(f"{cell.label} stands there already.")
        self.cells.remove(cell)
        self._insert_behind(cell, after)
        fields = {"after": after, "old": cell.source, "was_after": was_after}
        self._changes.append(self._proposed_change(cell, action="move", **fields))

    def _delete(self, change: RequestedChange) -> None:
        self._refuse_fields(change, "after", "kind", "source", "edits", "name")
        cell = self._target_cell(change)
        if any(other.cell == cell.id for other in self._changes):
            raise self._error(
                f"{cell.label} is changed by this call already. Either change it or delete it."
            )
        was_after = self._id_before(cell.id)
        self.cells.remove(cell)
        self._deleted_ids.add(cell.id)
        fields = {"old": cell.source, "was_after": was_after}
        self._changes.append(self._proposed_change(cell, action="delete", **fields))

    def _run(self, change: RequestedChange) -> None:
        self._refuse_fields(change, "after", "kind", "source", "edits", "name")
        cell = self._target_cell(change)
        if cell.kind != "code":
            raise self._error(f"{cell.label} is a {cell.kind} cell, which cannot be run.")
        if is_prompt_cell(cell.source):
            raise self._error(
                f"{cell.label} is a prompt to you, which only the user runs. Do yourself what it asks for."
            )
        if not cell.source.strip():
            raise self._error(f"{cell.label} is empty, so there is nothing to run.")
        self._runs.append(PlannedRun(cell.id, cell.source, self._labels[cell.id]))

    # Places and sources

    def _target_cell(self, change: RequestedChange, *, needs_seen: bool = True) -> NotebookCell:
        if not (change.cell or "").strip():
            raise self._error(f"{change.action} needs cell: a number, an id, or a name.")
        cell = self._cell(self._named_cell_id(str(change.cell)))
        may_be_changed = (
            cell.id in self._inserted_ids or {str(cell.number), cell.id} & self.mentioned_names
        )
        if change.action != "run" and is_prompt_cell(cell.source) and not may_be_changed:
            raise self._error(
                f"{cell.label} is a prompt of the user, and those are changed only where the user's present prompt "
                f"names the cell (@{cell.label.replace('[', '').replace(']', '')}). Leave it as it is."
            )
        self._labels.setdefault(cell.id, cell.label)
        edited_ids = {change.cell for change in self._changes if change.action == "edit"}
        if needs_seen and cell.id not in {*self._inserted_ids, *edited_ids}:
            seen = self.seen_sources.get(cell.id)
            if seen is None or not seen.shows(cell.source):
                self._unseen_cells[cell.id] = replace(cell)
        return cell

    def _named_cell_id(self, name: str) -> str:
        """Return the id of a cell by its name in this call, its number or its id."""
        name = name.strip()
        cell_id = self._ids_by_name.get(name)
        if cell_id is None and name in self._inserted_ids:
            cell_id = name
        if cell_id is None:
            try:
                cell_id = self.find_id(name)
            except UserError as error:
                raise type(error)(f"{self._error_prefix}{error}") from None
        if cell_id in self._deleted_ids:
            raise self._error(f"cell {name} is deleted by this call.")
        return cell_id

    def _cell(self, cell_id: str) -> NotebookCell:
        return next(cell for cell in self.cells if cell.id == cell_id)

    def _place_named(self, name: str) -> str | None:
        """Return the id of the cell behind which another goes; None for the top."""
        if name.strip().lower() in (TOP, ""):
            return None
        cell = self._cell(self._named_cell_id(name))
        self._labels.setdefault(cell.id, cell.label)
        return cell.id

    def _insert_after(self, name: str | None) -> str | None:
        if name is not None:
            return self._place_named(name)
        if self._inserted_ids:
            return self._inserted_ids[-1]
        ids = [cell.id for cell in self.cells]
        if self.prompt_cell_id in ids:
            self._labels.setdefault(self.prompt_cell_id, "the prompt")
            return self.prompt_cell_id
        return ids[-1] if ids else None

    def _id_before(self, cell_id: str) -> str | None:
        ids = [cell.id for cell in self.cells]
        index = ids.index(cell_id)
        return ids[index - 1] if index else None

    def _insert_behind(self, cell: NotebookCell, after: str | None) -> None:
        ids = [other.id for other in self.cells]
        self.cells.insert(0 if after is None else ids.index(after) + 1, cell)

    def _new_id(self) -> str:
        known_ids = {cell.id for cell in self.cells} | self._deleted_ids
        while (new_id := uuid.uuid4().hex[:8]) in known_ids:
            pass
        return new_id

    def _name_cell(self, name: str, cell_id: str) -> None:
        if not name or name.isdecimal() or name.lower() == TOP:
            raise self._error(f"name {name!r} reads as a place or a number. Choose a word.")
        if name in self._ids_by_name or any(cell.id == name for cell in self.cells):
            raise self._error(
                f"name {name!r} belongs to another cell already. Choose another word."
            )
        self._ids_by_name[name] = cell_id

    def _checked_source(self, source: str, old_source: str) -> str:
        source = source.replace("\r\n", "\n").replace("\r", "\n")
        if len(source) > MAX_SOURCE_CHARS:
            raise self._error(_too_long_text(source))
        try:
            source.encode()
        except UnicodeEncodeError as error:
            raise self._error(half_character_text(source[error.start])) from None
        if REDACTED in source and REDACTED not in old_source and scrub(old_source) != old_source:
            raise self._error(
                f"the source has {REDACTED}, which stands for a secret in the cell that you were not shown: it would be lost. "
                "Change the other lines with edits."
            )
        return source

    def _with_edits(self, cell: NotebookCell, edits: Sequence[Replacement]) -> str:
        if not edits:
            raise self._error("edits is empty. Give replacements, or the whole source.")
        text = cell.source
        for number, edit in enumerate(edits, 1):
            edit_prefix = f"Edit {number} of {len(edits)}: " if len(edits) > 1 else ""
            match = find_replacement(text, edit, cell.label, self._error_prefix + edit_prefix)
            if match.tolerance != "exact":
                self._notes.append(f"{cell.label}: {edit_note(text, match)}")
            for span in reversed(match.spans):
                text = text[: span.start] + span.new_text + text[span.end_index :]
        return text

    def _proposed_change(self, cell: NotebookCell, **fields: object) -> MadeChange:
        return MadeChange.model_validate(
            {
                "cell": cell.id,
                "kind": cell.kind,
                "number": cell.number,
                "state": "proposed",
                "notebook": self.notebook_path,
                **fields,
            }
        )

    # Errors

    def _refuse_fields(self, change: RequestedChange, *names: str) -> None:
        given_fields = [name for name in names if getattr(change, name) is not None]
        if given_fields:
            raise self._error(
                f"{change.action} takes no {' and no '.join(given_fields)}. Leave it out."
            )

    def _error(self, sentence: str) -> UserError:
        if not self._error_prefix:
            return UserError(sentence[:1].upper() + sentence[1:])
        return UserError(self._error_prefix + sentence)

    def _unseen_error(self) -> UnseenCells:
        sections = []
        for cell in self._unseen_cells.values():
            seen, text = self.seen_sources.get(cell.id), cell.source
            seen_text = seen.text() if seen is not None else None
            if seen is None:
                state = ", which you have not read"
            elif seen.mark == source_hash(cell.source):
                state = ", of which you have seen only a part"
            elif seen_text is None:
                state = " is another than you saw. It holds now"
            else:
                state = ", from what you saw to what it holds now"
                text = unified_difference(f"{seen_text}\n", f"{cell.source}\n", cell.label)
            sections.append(f"{cell.full_label}{state}:\n{text}")
        source_hashes = {cell.id: source_hash(cell.source) for cell in self._unseen_cells.values()}
        heading = (
            "Nothing was changed and nothing run, since you have not seen what these cells hold now. Look at it, and call "
            "again where it is still right."
        )
        first, *others = [cell.label for cell in self._unseen_cells.values()]
        cells_phrase = f"{first} and {len(others)} more hold" if others else f"{first} holds"
        summary = (
            f"Nothing was changed and nothing run: the agent has not seen what {cells_phrase} now."
        )
        return UnseenCells("\n\n".join([heading, *sections]), source_hashes, summary)
