"""Read the present cells of open notebooks from their pages.

Border: sends a notice and collects the answers, on the engine's loop; never waits for long.
Waits only for a page that announced that it can answer, was heard recently, and answered the last question:
a dead or sleeping tab costs one timeout; without a page there is no wait.
"""

import asyncio
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import asdict

from pydantic import BaseModel

from palimpsest.frontends.page_channel.page_presence import FORGOTTEN_SECONDS
from palimpsest.frontends.protocol.connection import CellsRequestNotice, TellCells
from palimpsest.transcript.context_values.page_cells import CellsWanted, PageNotebook

OTHERS_SECONDS = 0.3
"""Time to wait for further pages after one has answered completely."""


class _Question:
    """A question to the pages, and their answers so far."""

    def __init__(self, clients: frozenset[str]) -> None:
        self.waiting = set(clients)
        self.pieces: dict[str, list[PageNotebook]] = {}
        self.complete: list[str] = []
        """The pages that have answered completely, in that order."""
        self.changed = asyncio.Event()


class PageCells:
    """Reads the notebooks of this kernel from the pages that show them.

    Responsibilities: remember which pages can answer; join the pieces of answers; end the wait in time.
    """

    def __init__(
        self, send: Callable[[BaseModel], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._send = send
        self._clock = clock
        self._heard: dict[str, float] = {}
        self._silent: dict[str, float] = {}
        """Time for which each page was waited for in vain since it was last heard."""
        self._questions: dict[str, _Question] = {}
        self._seen: dict[str, set[str]] = {}
        """Ids of all cells that each notebook has had, by its path."""

    def heard(self, client: str) -> None:
        """Record that a page which can answer was heard; from any thread."""
        self._heard = {**self._heard, client: self._clock()}
        self._silent.pop(client, None)

    def gone(self, client: str) -> None:
        """Record that a page went away; from any thread."""
        self._heard = {page: time for page, time in self._heard.items() if page != client}

    def clients(self, seconds: float) -> frozenset[str]:
        """Return the pages that can answer within this time."""
        now = self._clock()
        return frozenset(
            page
            for page, heard_at in self._heard.items()
            if now - heard_at < FORGOTTEN_SECONDS and self._silent.get(page, 0.0) < seconds
        )

    async def read(self, request: CellsWanted, seconds: float) -> Sequence[PageNotebook] | None:
        """Return the notebooks that pages show; None where no page answers within this time."""
        clients = self.clients(seconds)
        if not clients:
            return None
        question = _Question(clients)
        request_id = uuid.uuid4().hex
        self._questions[request_id] = question
        try:
            self._send(CellsRequestNotice(request=request_id, **asdict(request)))
            await self._wait_for_answers(question, seconds)
        finally:
            del self._questions[request_id]
        if not question.complete:
            return None
        notebooks = _merged_notebooks([question.pieces[page] for page in question.complete])
        return (
            notebooks
            if request.cell is not None
            else [self._with_deleted(notebook) for notebook in notebooks]
        )

    def _with_deleted(self, page: PageNotebook) -> PageNotebook:
        """Add cells that the notebook has had to the deleted ones: a page forgets deletions when a cell runs."""
        present = {cell.id for cell in page.cells}
        known_ids = self._seen.setdefault(page.path, set())
        known_ids |= present
        deleted = sorted({*page.deleted, *known_ids} - present)
        return page.model_copy(update={"deleted": tuple(deleted)})

    async def _wait_for_answers(self, question: _Question, seconds: float) -> None:
        """Wait until the pages have answered or the time has passed, and record those that were silent."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while question.waiting and loop.time() < deadline:
            question.changed.clear()
            try:
                await asyncio.wait_for(question.changed.wait(), deadline - loop.time())
            except TimeoutError:
                break
            if question.complete:
                deadline = min(deadline, loop.time() + OTHERS_SECONDS)
        self._silent.update(dict.fromkeys(question.waiting, seconds))

    async def take(self, command: TellCells) -> None:
        """Add a piece of an answer; also a late one shows that the page can answer."""
        self.heard(command.client)
        question = self._questions.get(command.request)
        if question is None:
            return
        question.pieces.setdefault(command.client, []).extend(command.notebooks)
        if command.last:
            question.waiting.discard(command.client)
            question.complete.append(command.client)
            question.changed.set()


def _merged_notebooks(answers: Sequence[Sequence[PageNotebook]]) -> list[PageNotebook]:
    """Return each notebook once: the joined pieces of a page, preferably of a page that shows the notebook."""
    notebooks: dict[str, PageNotebook] = {}
    for pieces in answers:
        page_notebooks: dict[str, PageNotebook] = {}
        for piece in pieces:
            earlier = page_notebooks.get(piece.path)
            page_notebooks[piece.path] = (
                piece
                if earlier is None
                else earlier.model_copy(update={"cells": (*earlier.cells, *piece.cells)})
            )
        for path, notebook in page_notebooks.items():
            if path not in notebooks or (notebook.visible and not notebooks[path].visible):
                notebooks[path] = notebook
    return list(notebooks.values())
