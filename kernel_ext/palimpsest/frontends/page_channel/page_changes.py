"""Have a page change or run cells of the notebook that it shows, and await its answer.

Border: on the engine's loop; one page is asked by a notice and answers by a command. Which page: the one that sent the
prompt, if it shows the notebook, then a visible page before a hidden one. A page does all of the changes or none. Two
pages of one notebook without jupyter-collaboration may differ: what is taken back is taken back where it stands.
"""

import asyncio
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

from pydantic import BaseModel

from palimpsest.frontends.page_channel.page_cells import PageCells
from palimpsest.frontends.page_channel.requested_runs import RequestedRuns
from palimpsest.frontends.protocol.connection import CellsChanged, ChangeCellsNotice, RunCellNotice
from palimpsest.tools.notebook.notebook_cells import is_own_notebook
from palimpsest.tools.tool import Abort, NoPage
from palimpsest.transcript.context_values.cell_changes import CellChange, CellOrigin, CellResult
from palimpsest.transcript.context_values.cell_runs import CellRun
from palimpsest.transcript.errors import UserError

MAX_ANSWER_SECONDS = 5.0
"""Time that a page has to run or change a cell; one that does more than draw answers within a tenth of it."""
MORE_SECONDS_PER_CHANGE = 0.1
"""Time that a page has besides for each further cell that it changes."""
NO_PAGE = "No open page shows {notebook}. Ask the user to open it in JupyterLab."
SILENT_PAGE = (
    "The page that shows {notebook} did not answer within {seconds:.0f} seconds, so whether its cells changed is not "
    "known. Read the notebook before you go on."
)
REFUSALS = {
    "closed": "{notebook} was closed in the page just now, so nothing was changed. Ask the user to open it again.",
    "read-only": "{notebook} is read-only in the page, so nothing was changed. Ask the user to save a copy that can be written.",
    "no-kernel": "{notebook} has no kernel in the page, so no cell can be run. Ask the user to start one.",
}


class PageChanges:
    """Changes cells of this kernel's notebooks through pages (``tools.tool.NotebookChanger``)."""

    def __init__(
        self, send: Callable[[BaseModel], None], cells: PageCells, requested_runs: RequestedRuns
    ) -> None:
        self._send = send
        self._cells = cells
        self._requested_runs = requested_runs
        self._answer_futures: dict[str, asyncio.Future[CellsChanged]] = {}

    async def change(
        self,
        notebook_path: str,
        changes: Sequence[CellChange],
        origin: CellOrigin | None,
        session_id: str | None = None,
        *,
        skip_older: bool = False,
    ) -> tuple[CellResult, ...]:
        """Make all of the changes or none, and return one result for each; raises NoPage and UserError.

        With ``skip_older``, a page whose cells are already as the changes would leave them is passed over for the next.
        """
        clients = self._cells.ordered_clients(notebook_path, session_id)
        first_results = await self._change_in(
            next(iter(clients), None), notebook_path, changes, origin
        )
        if not (skip_older and _are_made_already(changes, first_results)):
            return first_results
        for client in clients[1:]:
            results = await self._change_in(client, notebook_path, changes, origin)
            if not _are_made_already(changes, results):
                return tuple(result.model_copy(update={"elsewhere": True}) for result in results)
        return first_results

    async def _change_in(
        self,
        client: str | None,
        notebook_path: str,
        changes: Sequence[CellChange],
        origin: CellOrigin | None,
    ) -> tuple[CellResult, ...]:
        answer = await self._ask_page(
            notebook_path,
            client,
            lambda request_id, client: ChangeCellsNotice(
                request=request_id,
                client=client,
                notebook=notebook_path,
                changes=tuple(changes),
                origin=origin,
            ),
            MAX_ANSWER_SECONDS + MORE_SECONDS_PER_CHANGE * len(changes),
        )
        if len(answer.results) != len(changes):
            raise UserError(
                f"The page that shows {notebook_path} answered about {len(answer.results)} of {len(changes)} changes. It has "
                "another version than the kernel: ask the user to reload it."
            )
        return answer.results

    async def run(
        self, notebook_path: str, cell_id: str, source: str, *, abort: Abort, session_id: str
    ) -> CellRun:
        """Run a cell as a person would, if it has this source, and return its recorded run."""

        async def ask_page(expect_request: Callable[[str], None]) -> CellResult:
            def build_notice(request_id: str, client: str) -> RunCellNotice:
                expect_request(request_id)
                return RunCellNotice(
                    request=request_id,
                    client=client,
                    notebook=notebook_path,
                    cell=cell_id,
                    source=source,
                )

            client = self._cells.best_client(notebook_path, session_id)
            answer = await self._ask_page(notebook_path, client, build_notice)
            return answer.results[0] if answer.results else CellResult(cell=cell_id)

        return await self._requested_runs.run(
            cell_id, source, ask_page, session_id=session_id, abort=abort
        )

    def was_closed(self, own_path: Path) -> bool:
        """Return whether a page showed the notebook of this file in this kernel, and none does any more."""
        return any(is_own_notebook(path, own_path) for path in self._cells.closed_notebook_paths())

    def add_answer(self, command: CellsChanged) -> None:
        """Add a page's answer; one that comes too late only shows that the page can answer."""
        self._cells.record_message(command.client)
        answer_future = self._answer_futures.get(command.request)
        if answer_future is not None and not answer_future.done():
            answer_future.set_result(command)

    async def _ask_page(
        self,
        notebook_path: str,
        client: str | None,
        build_notice: Callable[[str, str], ChangeCellsNotice | RunCellNotice],
        max_seconds: float = MAX_ANSWER_SECONDS,
    ) -> CellsChanged:
        if client is None:
            raise NoPage(NO_PAGE.format(notebook=notebook_path))
        request_id = uuid.uuid4().hex
        answer_future = asyncio.get_running_loop().create_future()
        self._answer_futures[request_id] = answer_future
        try:
            self._send(build_notice(request_id, client))
            answer: CellsChanged = await asyncio.wait_for(answer_future, max_seconds)
        except TimeoutError:
            raise UserError(
                SILENT_PAGE.format(notebook=notebook_path, seconds=max_seconds)
            ) from None
        finally:
            del self._answer_futures[request_id]
        if answer.refusal is not None:
            raise UserError(REFUSALS[answer.refusal].format(notebook=notebook_path))
        return answer


def _are_made_already(changes: Sequence[CellChange], results: Sequence[CellResult]) -> bool:
    """Return whether a page refused changes only because its cells are as the changes would leave them."""
    changes_by_cell = {change.cell: change for change in changes}
    refused_results = [result for result in results if result.problem is not None]
    refused_changes = [(result, changes_by_cell.get(result.cell)) for result in refused_results]
    return bool(refused_results) and all(
        change is not None
        and (
            result.problem == "missing"
            if change.action == "delete"
            else result.problem == "changed" and result.source == change.new
        )
        for result, change in refused_changes
    )
