"""Ask the open pages what the cells of their notebooks hold now.

Border: sends a notice and collects the answers, on the engine's loop; runs nothing and never waits for long.
A page is waited for only if it said that it can answer, was heard lately, and answered the question before:
a dead or sleeping tab costs one timeout, and none without a page.
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
"""How long further pages are waited for once one has answered whole."""


class _Question:
    """One question to the pages, and what they answered so far."""

    def __init__(self, clients: frozenset[str]) -> None:
        self.waiting = set(clients)
        self.pieces: dict[str, list[PageNotebook]] = {}
        self.whole: list[str] = []
        """The pages that answered to the end, in that order."""
        self.changed = asyncio.Event()


class PageCells:
    """Reads the notebooks of this kernel from the pages that show them.

    Responsibilities: remember which pages can answer; put pieces together; give up in time.
    """

    def __init__(
        self, send: Callable[[BaseModel], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._send = send
        self._clock = clock
        self._heard: dict[str, float] = {}
        self._silent: dict[str, float] = {}
        """How long each page was waited for in vain since it was heard last."""
        self._questions: dict[str, _Question] = {}
        self._seen: dict[str, set[str]] = {}
        """Ids of all cells that each notebook was seen to have."""

    def heard(self, client: str) -> None:
        """Record that a page which can answer was heard; from any thread."""
        self._heard = {**self._heard, client: self._clock()}
        self._silent.pop(client, None)

    def gone(self, client: str) -> None:
        """Record that a page went away; from any thread."""
        self._heard = {one: at for one, at in self._heard.items() if one != client}

    def clients(self, seconds: float) -> frozenset[str]:
        """Return the pages that may answer within so many seconds."""
        now = self._clock()
        return frozenset(
            one
            for one, at in self._heard.items()
            if now - at < FORGOTTEN_SECONDS and self._silent.get(one, 0.0) < seconds
        )

    async def read(self, wanted: CellsWanted, seconds: float) -> Sequence[PageNotebook] | None:
        """Return the notebooks that pages show now; None where none answers within so many seconds."""
        clients = self.clients(seconds)
        if not clients:
            return None
        question = _Question(clients)
        request = uuid.uuid4().hex
        self._questions[request] = question
        try:
            self._send(CellsRequestNotice(request=request, **asdict(wanted)))
            await self._answers(question, seconds)
        finally:
            del self._questions[request]
        if not question.whole:
            return None
        found = _joined([question.pieces[one] for one in question.whole])
        return found if wanted.cell is not None else [self._with_deleted(one) for one in found]

    def _with_deleted(self, page: PageNotebook) -> PageNotebook:
        """Add the cells that the notebook was seen to have: a page forgets what it deleted when a cell runs."""
        present = {one.id for one in page.cells}
        seen = self._seen.setdefault(page.path, set())
        seen |= present
        deleted = sorted({*page.deleted, *seen} - present)
        return page.model_copy(update={"deleted": tuple(deleted)})

    async def _answers(self, question: _Question, seconds: float) -> None:
        """Wait until the pages have answered, or time is up; a page that was silent is not waited for as long again."""
        loop = asyncio.get_running_loop()
        ends = loop.time() + seconds
        while question.waiting and loop.time() < ends:
            question.changed.clear()
            try:
                await asyncio.wait_for(question.changed.wait(), ends - loop.time())
            except TimeoutError:
                break
            if question.whole:
                ends = min(ends, loop.time() + OTHERS_SECONDS)
        self._silent.update(dict.fromkeys(question.waiting, seconds))

    async def take(self, command: TellCells) -> None:
        """Take a piece of an answer; one that comes too late shows that the page can answer after all."""
        self.heard(command.client)
        question = self._questions.get(command.request)
        if question is None:
            return
        question.pieces.setdefault(command.client, []).extend(command.notebooks)
        if command.last:
            question.waiting.discard(command.client)
            question.whole.append(command.client)
            question.changed.set()


def _joined(answers: Sequence[Sequence[PageNotebook]]) -> list[PageNotebook]:
    """Return each notebook once: pieces of a page joined, and of two pages the visible one's."""
    found: dict[str, PageNotebook] = {}
    for pieces in answers:
        own: dict[str, PageNotebook] = {}
        for piece in pieces:
            known = own.get(piece.path)
            own[piece.path] = (
                piece
                if known is None
                else known.model_copy(update={"cells": (*known.cells, *piece.cells)})
            )
        for path, one in own.items():
            if path not in found or (one.visible and not found[path].visible):
                found[path] = one
    return list(found.values())
