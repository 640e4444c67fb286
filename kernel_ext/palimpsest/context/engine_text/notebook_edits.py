"""Find the cells that were edited without being run, and those that were deleted, since the last turn.

Border: pure; from what a page shows, what the kernel recorded and what the model was told before. A cell
that never ran is told only once it changes: what a notebook held when it was opened is no news.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from palimpsest.transcript.context_values.cell_runs import CellRun, same_source
from palimpsest.transcript.context_values.page_cells import PageCell, PageNotebook
from palimpsest.transcript.parts import NotedEdit

DELETED = "deleted"
_ASKS = re.compile(r"\s*%{1,2}agent\b")
"""A cell that asks the agent: its session has the prompt."""


@dataclass(frozen=True, slots=True)
class CellEdit:
    """A cell that is not as it ran, or as it was at the last turn."""

    noted: NotedEdit
    kind: str
    source: str
    """What the cell holds now, or held before it was deleted."""


def marks_of(pages: Sequence[PageNotebook]) -> dict[str, str]:
    """Return a mark of each cell's source by its id, to be compared with at the next turn."""
    return {
        cell.id: _mark(cell.source)
        for page in pages
        for cell in page.cells
        if cell.source is not None
    }


def cell_edits(
    pages: Sequence[PageNotebook],
    runs: Sequence[CellRun],
    told: Mapping[str, NotedEdit],
    before: Mapping[str, str] | None,
) -> list[CellEdit]:
    """Return the edits that the model was not told of, in the notebook's order, deleted cells last.

    ``told`` has the newest edit that the model was told of each cell; ``before`` the marks at the last
    turn, None where no page told them yet.
    """
    newest = {one.cell_id: one for one in runs if one.cell_id is not None}
    present = {cell.id for page in pages for cell in page.cells}
    found = [
        edit
        for page in pages
        for cell in page.cells
        if (edit := _edit(cell, newest.get(cell.id), told.get(cell.id), before)) is not None
    ]
    for one in dict.fromkeys(one for page in pages for one in page.deleted if one not in present):
        edit = _deletion(one, newest.get(one), told.get(one))
        if edit is not None:
            found.append(edit)
    return found


def _edit(
    cell: PageCell,
    run: CellRun | None,
    told: NotedEdit | None,
    before: Mapping[str, str] | None,
) -> CellEdit | None:
    source = cell.source
    if cell.hidden or source is None or _ASKS.match(source) or (run is not None and run.hidden):
        return None
    serial = run.serial if run is not None else 0
    mark = "" if run is not None and same_source(source, run.source) else _mark(source)
    if told is not None and told.serial == serial:
        known = DELETED if told.state == "deleted" else told.mark
    elif run is not None:
        known = ""
    else:
        known = mark if before is None else before.get(cell.id, _mark(""))
    if mark == known:
        return None
    noted = NotedEdit(
        cell_id=cell.id,
        number=run.number if run is not None else None,
        serial=serial,
        state="edited" if mark else "as it ran",
        mark=mark,
    )
    return CellEdit(noted, cell.kind, source)


def _deletion(cell_id: str, run: CellRun | None, told: NotedEdit | None) -> CellEdit | None:
    """Return the deletion of a cell of which the model knows, since it ran or was told as edited."""
    if run is not None and (run.hidden or run.by_agent):
        return None
    serial = run.serial if run is not None else 0
    if run is None and told is None:
        return None
    if told is not None and told.state == "deleted" and told.serial == serial:
        return None
    number = run.number if run is not None else None
    noted = NotedEdit(cell_id=cell_id, number=number, serial=serial, state="deleted")
    return CellEdit(noted, "code", run.source if run is not None else "")


def _mark(source: str) -> str:
    return hashlib.sha256(source.strip().encode("utf-8", "surrogatepass")).hexdigest()[:12]
