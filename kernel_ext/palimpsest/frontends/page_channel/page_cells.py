"""Read the present cells of open notebooks from their pages.

Border: sends a notice and collects the answers, on the engine's loop; never waits for long.
Waits only for a page that announced that it can answer, sent a message recently, and answered the last request:
a dead or sleeping tab costs one timeout; without a page there is no wait.
"""

import asyncio
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import asdict

from pydantic import BaseModel

from palimpsest.frontends.page_channel.page_presence import MAX_REMEMBERED_SECONDS
from palimpsest.frontends.protocol.connection import CellsRequestNotice, TellCells
from palimpsest.transcript.context_values.page_cells import CellsWanted, PageNotebook

MAX_OTHER_PAGES_SECONDS = 0.3
"""Maximum time to wait for further pages after one has answered completely."""


class _CellsRequest:
    """A question to the pages, and their answers so far."""

    def __init__(self, clients: frozenset[str], *, is_partial: bool) -> None:
        self.is_partial = is_partial
        """Whether it is about one cell only."""
        self.waiting_clients = set(clients)
        self.pieces_by_client: dict[str, list[PageNotebook]] = {}
        self.complete_clients: list[str] = []
        """The pages that have answered completely, in that order."""
        self.answer_event = asyncio.Event()


class PageCells:
    """Reads this kernel's notebooks from the pages that show them: joins pieces of answers, ends the wait in time."""

    def __init__(
        self, send: Callable[[BaseModel], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._send = send
        self._clock = clock
        self._heard_times: dict[str, float] = {}
        self._silent_seconds: dict[str, float] = {}
        """The longest wait for each page that has not answered since it was last heard."""
        self._requests: dict[str, _CellsRequest] = {}
        self._known_cell_ids: dict[str, set[str]] = {}
        """Ids of all cells that each notebook has had, by its path."""
        self._shown_notebooks: dict[str, dict[str, bool]] = {}
        """Whether each notebook that a page showed in its last answer is visible there, by page and path."""
        self._prompting_clients: dict[str, str] = {}
        """The page that sent the newest prompt of each session."""

    def record_prompt(self, client: str, session_id: str) -> None:
        """Record that a page sent a prompt; from any thread."""
        self._prompting_clients = {**self._prompting_clients, session_id: client}

    def best_client(self, notebook: str, session_id: str | None = None) -> str | None:
        """Return the page through which a notebook is changed; None where no page shows it."""
        return next(iter(self.ordered_clients(notebook, session_id)), None)

    def ordered_clients(self, notebook: str, session_id: str | None = None) -> list[str]:
        """Return the pages that show a notebook.

        The page that sent the session's newest prompt comes first, then a visible one, then the one heard last.
        """
        prompting_client = self._prompting_clients.get(session_id or "")
        candidates = [
            (
                client == prompting_client,
                visibility[notebook],
                self._heard_times.get(client, 0.0),
                client,
            )
            for client, visibility in self._shown_notebooks.items()
            if notebook in visibility and client in self._heard_times
        ]
        return [client for *_, client in sorted(candidates, reverse=True)]

    def closed_notebook_paths(self) -> list[str]:
        """Return the paths of notebooks that a page showed in this kernel, and that none has any more."""
        return [path for path in self._known_cell_ids if self.best_client(path) is None]

    def record_message(self, client: str) -> None:
        """Record a message from a page that can answer; from any thread."""
        self._heard_times = {**self._heard_times, client: self._clock()}
        self._silent_seconds.pop(client, None)

    def record_leave(self, client: str) -> None:
        """Record that a page went away; from any thread."""
        self._heard_times = {
            other: heard_at for other, heard_at in self._heard_times.items() if other != client
        }
        self._shown_notebooks.pop(client, None)

    def clients(self, max_seconds: float) -> frozenset[str]:
        """Return the pages that can answer within this time."""
        now = self._clock()
        return frozenset(
            client
            for client, heard_at in self._heard_times.items()
            if now - heard_at < MAX_REMEMBERED_SECONDS
            and self._silent_seconds.get(client, 0.0) < max_seconds
        )

    async def page_notebooks(
        self, request: CellsWanted, max_seconds: float
    ) -> Sequence[PageNotebook] | None:
        """Return the notebooks that pages show; None where no page answers within this time."""
        clients = self.clients(max_seconds)
        if not clients:
            return None
        cells_request = _CellsRequest(clients, is_partial=request.cell is not None)
        request_id = uuid.uuid4().hex
        self._requests[request_id] = cells_request
        try:
            self._send(CellsRequestNotice(request=request_id, **asdict(request)))
            await self._wait_for_answers(cells_request, max_seconds)
        finally:
            del self._requests[request_id]
        if not cells_request.complete_clients:
            return None
        pieces = cells_request.pieces_by_client
        notebooks = _merged_notebooks([pieces[client] for client in cells_request.complete_clients])
        if request.cell is not None:
            return notebooks
        return [self._with_deleted(notebook) for notebook in notebooks]

    def _with_deleted(self, notebook: PageNotebook) -> PageNotebook:
        """Add cells that the notebook has had to the deleted ones: a page forgets deletions when a cell runs."""
        present_ids = {cell.id for cell in notebook.cells}
        known_ids = self._known_cell_ids.setdefault(notebook.path, set())
        known_ids |= present_ids
        deleted_ids = sorted({*notebook.deleted, *known_ids} - present_ids)
        return notebook.model_copy(update={"deleted": tuple(deleted_ids)})

    async def _wait_for_answers(self, cells_request: _CellsRequest, max_seconds: float) -> None:
        """Wait until the pages have answered or the time has passed, and record those that were silent."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + max_seconds
        while cells_request.waiting_clients and loop.time() < deadline:
            cells_request.answer_event.clear()
            try:
                await asyncio.wait_for(cells_request.answer_event.wait(), deadline - loop.time())
            except TimeoutError:
                break
            if cells_request.complete_clients:
                deadline = min(deadline, loop.time() + MAX_OTHER_PAGES_SECONDS)
        self._silent_seconds.update(dict.fromkeys(cells_request.waiting_clients, max_seconds))

    async def add_piece(self, command: TellCells) -> None:
        """Add a piece of an answer; also a late one shows that the page can answer."""
        self.record_message(command.client)
        cells_request = self._requests.get(command.request)
        if cells_request is None:
            return
        cells_request.pieces_by_client.setdefault(command.client, []).extend(command.notebooks)
        if command.last:
            # An answer about one cell may leave out notebooks that have no such cell.
            other_notebooks = (
                self._shown_notebooks.get(command.client) if cells_request.is_partial else None
            )
            pieces = cells_request.pieces_by_client[command.client]
            visibility = {notebook.path: notebook.visible for notebook in pieces}
            self._shown_notebooks[command.client] = (other_notebooks or {}) | visibility
            cells_request.waiting_clients.discard(command.client)
            cells_request.complete_clients.append(command.client)
            cells_request.answer_event.set()


def _merged_notebooks(answers: Sequence[Sequence[PageNotebook]]) -> list[PageNotebook]:
    """Return each notebook once: the joined pieces of a page, preferably of a page that shows the notebook."""
    notebooks: dict[str, PageNotebook] = {}
    for pieces in answers:
        notebooks_of_page: dict[str, PageNotebook] = {}
        for piece in pieces:
            earlier_piece = notebooks_of_page.get(piece.path)
            notebooks_of_page[piece.path] = (
                piece
                if earlier_piece is None
                else earlier_piece.model_copy(
                    update={"cells": (*earlier_piece.cells, *piece.cells)}
                )
            )
        for path, notebook in notebooks_of_page.items():
            if path not in notebooks or (notebook.visible and not notebooks[path].visible):
                notebooks[path] = notebook
    return list(notebooks.values())
