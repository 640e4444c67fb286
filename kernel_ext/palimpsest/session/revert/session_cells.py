"""Change cells of a session's notebook on behalf of its user: to take changes of the agent back, and to make them again.

Border: on the engine's loop; by the page that shows the notebook, or in its closed file. No permission is asked, since the user
orders it; what a person changed since is left alone, with a sentence.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from palimpsest.session.interfaces.services import Services
from palimpsest.tools.notebook.own_notebook import OwnNotebook, own_notebook
from palimpsest.tools.tool import NoPage
from palimpsest.transcript.context_values.cell_changes import (
    CellChange,
    CellOrigin,
    CellResult,
    MadeChange,
)
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.redaction.secret_patterns import REDACTED

CHANGED_SINCE_SENTENCE = "{label} was changed since, so it was not taken back. Undo the later change first, or edit the cell by hand."
ALREADY_UNDONE_SENTENCE = (
    "{label} is as it was before the change, so nothing was taken back. If another page shows the change, reload the notebook "
    "in the pages that do not."
)
GONE_CELL_SENTENCE = "{label} is not in the notebook any more, so nothing was taken back."
LOCKED_CELL_SENTENCE = (
    "{label} is locked by its metadata, so it was not taken back. Unlock it, and try again."
)
SECRET_CELL_SENTENCE = "{label} held a key or password, which the session does not keep, so it was not taken back. Use the notebook's undo."
OTHER_PAGE_SENTENCE = (
    "{label} was taken back in another page, which showed the change. The page that was asked first shows the notebook as it "
    "was before: reload it there."
)
NOT_OPEN_SENTENCE = "No open page shows the notebook, so nothing was taken back. Open it in JupyterLab, and try again."
NO_NOTEBOOK_SENTENCE = (
    "There is no notebook here, so nothing can be taken back. Open the session in its notebook."
)


@dataclass(frozen=True, slots=True)
class SessionCells:
    """Changes the cells of one session's notebook."""

    _services: Services
    _session_id: Callable[[], str]
    _notebook_path: Callable[[], Path | None]

    async def notebook(self) -> OwnNotebook:
        """Return the session's notebook as it is now; raises UserError where it cannot be changed."""
        reader, kernel = self._services.kernel.notebook, self._services.kernel
        if reader is None or reader.changer is None:
            raise UserError(NO_NOTEBOOK_SENTENCE)
        try:
            return await own_notebook(
                reader,
                reader.changer,
                self._notebook_path(),
                self._session_id(),
                self._services.root,
                kernel.cells_without_page,
            )
        except NoPage:
            raise UserError(NOT_OPEN_SENTENCE) from None

    async def make_possible_changes(
        self, changes: Sequence[CellChange], origin: CellOrigin | None = None
    ) -> tuple[CellResult, ...]:
        """Make those changes that can be made, as one step, and return a result for each; raises UserError."""
        notebook = await self.notebook()
        results: dict[int, CellResult] = {}
        while len(results) < len(changes):
            remaining_indexes = [index for index in range(len(changes)) if index not in results]
            tried_results = await notebook.change(
                [changes[index] for index in remaining_indexes], origin, skip_older=True
            )
            failures = [result.problem is not None for result in tried_results]
            results |= {
                index: result
                for index, result, has_failed in zip(
                    remaining_indexes, tried_results, failures, strict=True
                )
                if has_failed or not any(failures)
            }
        return tuple(results[index] for index in range(len(changes)))

    async def problems(self, changes: Sequence[CellChange]) -> tuple[CellResult, ...]:
        """Return what ``make_possible_changes`` would answer, by the cells as they are now; raises UserError."""
        notebook = await self.notebook()
        sources = {cell.id: cell.source for cell in notebook.cells if not cell.is_hidden}
        return tuple(_simulated_change(sources, change) for change in changes)


def _simulated_change(sources: dict[str, str], change: CellChange) -> CellResult:
    """Make a change in a table of sources, or return its problem."""
    source = sources.get(change.cell)
    if change.action == "insert":
        if source is not None:
            return CellResult(cell=change.cell, problem="changed", source=source)
        sources[change.cell] = change.new or ""
        return CellResult(cell=change.cell)
    if source is None:
        return CellResult(cell=change.cell, problem="missing")
    if source != (change.old or ""):
        return CellResult(cell=change.cell, problem="changed", source=source)
    if change.action == "delete":
        del sources[change.cell]
    elif change.action == "edit":
        sources[change.cell] = change.new or ""
    return CellResult(cell=change.cell)


def secret_problem(change: MadeChange) -> str:
    """Return why a change cannot be undone whose sources the log keeps without their keys; empty for others."""
    has_secret = REDACTED in f"{change.old}{change.new}"
    return SECRET_CELL_SENTENCE.format(label=_label(change)) if has_secret else ""


def problem_sentence(change: MadeChange, result: CellResult) -> str:
    """Return why a change was not undone, in a sentence for the user; empty where it was."""
    match result.problem:
        case None:
            return ""
        case "changed" if change.action == "edit" and result.source == change.old:
            return ALREADY_UNDONE_SENTENCE.format(label=_label(change))
        case "changed":
            return CHANGED_SINCE_SENTENCE.format(label=_label(change))
        case "locked" | "agent":
            return LOCKED_CELL_SENTENCE.format(label=_label(change))
        case _:
            return GONE_CELL_SENTENCE.format(label=_label(change))


def elsewhere_note(change: MadeChange, result: CellResult) -> str | None:
    """Return that another page than the first one undid a change, in a sentence for the user; None otherwise."""
    is_elsewhere = result.elsewhere and result.problem is None
    return OTHER_PAGE_SENTENCE.format(label=_label(change)) if is_elsewhere else None


def _label(change: MadeChange) -> str:
    return f"Cell [{change.number}]" if change.number is not None else f"Cell {change.cell}"
