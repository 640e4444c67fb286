"""Find the session's own notebook in the pages of its kernel, or its closed file, with its cells as they are now.

Border: reads through a page or the file; ``change`` and ``run`` of the value that it returns act on this notebook
alone. A kernel may have several notebooks; cells of the others are known, so that a refusal can say where they belong.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from palimpsest.tools.notebook.closed_notebook import MAY_BE_OPEN, ClosedNotebook
from palimpsest.tools.notebook.notebook_cells import (
    KnownCells,
    cells_of_pages,
    find_cell,
    is_own_notebook,
)
from palimpsest.tools.notebook.notebook_tool import MAX_PAGE_SECONDS
from palimpsest.tools.notebook.planned_changes import NotebookCell
from palimpsest.tools.tool import Abort, NoPage, NotebookChanger, NotebookReader, WithoutPage
from palimpsest.transcript.context_values.cell_changes import CellChange, CellOrigin, CellResult
from palimpsest.transcript.context_values.cell_runs import CellRun
from palimpsest.transcript.context_values.hidden_cells import hidden_runs
from palimpsest.transcript.context_values.page_cells import CellsWanted, PageCell, PageNotebook
from palimpsest.transcript.errors import NotFound

NO_NOTEBOOK = (
    "No open page shows the user's notebook, so its cells cannot be changed. Ask the user to open it in JupyterLab, or give "
    "the cells in your answer."
)
OTHER_NOTEBOOK = "Cell {name!r} belongs to {notebook}. You may change cells of {own} only."
NOT_IN_NOTEBOOK = "Cell {name!r} ran in this kernel, but it is not in {own} any more."


@dataclass(frozen=True, slots=True)
class OwnNotebook:
    """The session's notebook, as it is now."""

    path: str
    """The notebook's path, as the page names it."""
    cells: tuple[NotebookCell, ...]
    """All cells in their order; of hidden ones only the ids."""
    known_cells: KnownCells
    """The visible cells of all notebooks of this kernel, for finding one by its number."""
    changer: NotebookChanger
    session_id: str

    def cell_id(self, name: str) -> str:
        """Return the id of a visible cell of this notebook; raises NotFound."""
        own_cells = tuple(
            cell
            for cell in self.known_cells.cells
            if cell.is_on_page and cell.notebook == self.path
        )
        try:
            return str(find_cell(replace(self.known_cells, cells=own_cells), name).run.cell_id)
        except NotFound:
            other_cell = find_cell(self.known_cells, name)
            text = OTHER_NOTEBOOK if other_cell.is_on_page else NOT_IN_NOTEBOOK
            raise NotFound(
                text.format(name=name, notebook=other_cell.notebook, own=self.path)
            ) from None

    async def change(
        self, changes: Sequence[CellChange], origin: CellOrigin | None, *, skip_older: bool = False
    ) -> tuple[CellResult, ...]:
        """Make all of the changes or none, and return one result for each; raises UserError."""
        return await self.changer.change(
            self.path, changes, origin, self.session_id, skip_older=skip_older
        )

    async def run(self, cell_id: str, source: str, abort: Abort) -> CellRun:
        """Run a cell as a person would, and return its recorded run; raises UserError and Aborted."""
        return await self.changer.run(
            self.path, cell_id, source, abort=abort, session_id=self.session_id
        )


async def own_notebook(
    reader: NotebookReader,
    changer: NotebookChanger,
    own_path: Path | None,
    session_id: str,
    root: Path,
    without_page: WithoutPage = "refuse",
) -> OwnNotebook:
    """Return the session's notebook as a page shows it, or its file; raises NoPage where no page shows it and it may be open.

    ``own_path`` is the notebook's file; a session of a console has none, and takes the only notebook that there is.
    """
    pages = await reader.page(CellsWanted(), MAX_PAGE_SECONDS) or ()
    own_pages = [page for page in pages if is_own_notebook(page.path, own_path)]
    # Of two notebooks with one name, the one of which more folders agree comes first.
    own_pages.sort(key=lambda page: len(page.path), reverse=True)
    if not own_pages and own_path is None and len(pages) == 1:
        own_pages = list(pages)
    if not own_pages:
        changer = await _closed_notebook(reader, changer, own_path, root, without_page)
        own_pages = [changer.page_notebook()]
        pages = [*pages, *own_pages]
    path = own_pages[0].path
    known_cells = cells_of_pages(pages, reader.recorded_runs(), own_path)
    visible_ids = {
        cell.run.cell_id for cell in known_cells.cells if cell.is_on_page and cell.notebook == path
    }
    cells = [
        NotebookCell(
            cell.id,
            _cell_kind(cell),
            await _cell_source(cell, own_pages[0], reader) if cell.id in visible_ids else "",
            cell.number,
            is_hidden=cell.id not in visible_ids,
        )
        for cell in own_pages[0].cells
    ]
    return OwnNotebook(path, tuple(cells), known_cells, changer, session_id)


async def _closed_notebook(
    reader: NotebookReader,
    changer: NotebookChanger,
    own_path: Path | None,
    root: Path,
    without_page: WithoutPage,
) -> ClosedNotebook:
    """Return the file of a notebook that is closed, by what is known or by the setting; raises NoPage and UserError."""
    if own_path is None or not await asyncio.to_thread(own_path.exists):
        raise NoPage(NO_NOTEBOOK)
    name = own_path.name
    if own_path.is_relative_to(root):
        name = own_path.relative_to(root).as_posix()
    if without_page != "write" and not changer.was_closed(own_path):
        raise NoPage(MAY_BE_OPEN.format(name=name))
    hidden_cells = hidden_runs(reader.recorded_runs())
    return await asyncio.to_thread(ClosedNotebook.read, own_path, name, hidden_cells)


def _cell_kind(cell: PageCell) -> Any:
    return cell.kind if cell.kind in ("markdown", "raw") else "code"


async def _cell_source(cell: PageCell, page: PageNotebook, reader: NotebookReader) -> str:
    """Return a cell's source; of a notebook that is too large to be sent whole, the page is asked for each cell's source."""
    if cell.source is not None:
        return cell.source
    for notebook in await reader.page(CellsWanted(cell.id), MAX_PAGE_SECONDS) or ():
        for entry in notebook.cells:
            if notebook.path == page.path and entry.id == cell.id and entry.source is not None:
                return entry.source
    return ""
