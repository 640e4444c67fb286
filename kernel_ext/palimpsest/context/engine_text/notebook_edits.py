"""Find the cells that were edited without being run, or deleted, since the last turn.

Border: pure; it compares a page's cells, the kernel's record and earlier notes. A cell
that never ran is noted only once it changes, not because the notebook was opened with it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from palimpsest.transcript.context_values.cell_runs import (
    CellRun,
    is_prompt_cell,
    is_same_source,
    source_hash,
)
from palimpsest.transcript.context_values.page_cells import PageCell, PageNotebook
from palimpsest.transcript.parts import NotedEdit

DELETED_MARK = "deleted"
OWN_CHANGE = -1
"""The serial number of a noted edit that the agent made itself, in place of the serial number of a run."""


@dataclass(frozen=True, slots=True)
class CellEdit:
    """A cell that changed since its run, or since the last turn."""

    noted_edit: NotedEdit
    kind: str
    source: str
    """The cell's source now, or before it was deleted."""


def source_hashes(pages: Sequence[PageNotebook]) -> dict[str, str]:
    """Return a hash of each cell's source by cell id, for the comparison at the next turn."""
    return {
        cell.id: source_hash(cell.source)
        for page in pages
        for cell in page.cells
        if cell.source is not None
    }


def cell_edits(
    pages: Sequence[PageNotebook],
    runs: Sequence[CellRun],
    noted_edits: Mapping[str, NotedEdit],
    sources_before: Mapping[str, str] | None,
) -> list[CellEdit]:
    """Return the edits that no note describes yet, in the notebook's order, deleted cells last.

    ``noted_edits`` has the newest noted edit of each cell; ``sources_before`` the hashes at the last
    turn, None where no page reported them yet.
    """
    newest_runs = {run.cell_id: run for run in runs if run.cell_id is not None}
    present_ids = {cell.id for page in pages for cell in page.cells}
    edits = [
        edit
        for page in pages
        for cell in page.cells
        if (
            edit := _cell_edit(
                cell, newest_runs.get(cell.id), noted_edits.get(cell.id), sources_before
            )
        )
        is not None
    ]
    for cell_id in dict.fromkeys(
        cell_id for page in pages for cell_id in page.deleted if cell_id not in present_ids
    ):
        edit = _deletion(cell_id, newest_runs.get(cell_id), noted_edits.get(cell_id))
        if edit is not None:
            edits.append(edit)
    return edits


def _cell_edit(
    cell: PageCell,
    run: CellRun | None,
    noted_before: NotedEdit | None,
    sources_before: Mapping[str, str] | None,
) -> CellEdit | None:
    source = cell.source
    if cell.hidden or source is None or is_prompt_cell(source) or (run is not None and run.hidden):
        return None
    serial = run.serial if run is not None else 0
    mark = "" if run is not None and is_same_source(source, run.source) else source_hash(source)
    if noted_before is not None and noted_before.serial in (serial, OWN_CHANGE):
        if noted_before.serial == OWN_CHANGE and noted_before.mark == source_hash(source):
            return None
        known_mark = DELETED_MARK if noted_before.state == "deleted" else noted_before.mark
    elif run is not None:
        known_mark = ""
    elif sources_before is not None:
        known_mark = sources_before.get(cell.id, source_hash(""))
    else:
        return None
    if mark == known_mark:
        return None
    noted_edit = NotedEdit(
        cell_id=cell.id,
        number=run.number if run is not None else None,
        serial=serial,
        state="edited" if mark else "as it ran",
        mark=mark,
    )
    return CellEdit(noted_edit, cell.kind, source)


def _deletion(cell_id: str, run: CellRun | None, noted_before: NotedEdit | None) -> CellEdit | None:
    """Return the deletion of a cell; None where it never ran and no note described it, or its deletion was noted."""
    if run is not None and (run.hidden or run.by_agent):
        return None
    serial = run.serial if run is not None else 0
    if run is None and noted_before is None:
        return None
    if (
        noted_before is not None
        and noted_before.state == "deleted"
        and noted_before.serial in (serial, OWN_CHANGE)
    ):
        return None
    number = run.number if run is not None else None
    noted_edit = NotedEdit(cell_id=cell_id, number=number, serial=serial, state="deleted")
    return CellEdit(noted_edit, "code", run.source if run is not None else "")
