"""Pages are asked for their cells, pieces are put together, and a silent page is not waited for twice."""

import asyncio
from typing import Any

from pydantic import BaseModel

from palimpsest.frontends.page_channel.page_cells import PageCells
from palimpsest.frontends.page_channel.page_presence import MAX_REMEMBERED_SECONDS
from palimpsest.frontends.protocol.connection import CellsRequestNotice, TellCells
from palimpsest.transcript.context_values.page_cells import CellsWanted, PageCell, PageNotebook

SOON = 0.01
"""For pages that do not answer."""
LONG = 60.0
"""For pages that do."""


class Pages:
    """The pages of a kernel, which answer with the commands that a test gives them."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self.answers = answers
        self.asked: list[CellsRequestNotice] = []
        self.now = 100.0
        self.cells = PageCells(self._send, lambda: self.now)
        self._tasks: list[asyncio.Task[None]] = []

    def _send(self, notice: BaseModel) -> None:
        assert isinstance(notice, CellsRequestNotice)
        self.asked.append(notice)
        take = self.cells.add_piece
        for number, answer in enumerate(self.answers):
            command = TellCells(**{"id": f"c{number}", "request": notice.request} | answer)
            self._tasks.append(asyncio.ensure_future(take(command)))


def book(*ids: str, path: str = "a.ipynb", **more: Any) -> PageNotebook:
    return PageNotebook(
        path=path, cells=tuple(PageCell(id=cell_id, source=cell_id) for cell_id in ids), **more
    )


def ids(found: Any) -> list[list[str]]:
    return [[cell.id for cell in notebook.cells] for notebook in found]


async def test_without_a_page_nothing_is_sent_and_nothing_awaited() -> None:
    pages = Pages()

    assert await pages.cells.page_notebooks(CellsWanted(), LONG) is None
    assert pages.asked == []


async def test_pieces_of_an_answer_are_put_together() -> None:
    pages = Pages(
        {"client": "a", "notebooks": [book("1", "2")], "last": False},
        {"client": "a", "notebooks": [book("3"), book("9", path="b.ipynb")]},
    )
    pages.cells.record_message("a")

    notebooks = await pages.cells.page_notebooks(CellsWanted("3", 10, images=True), LONG)

    assert ids(notebooks) == [["1", "2", "3"], ["9"]]
    assert (pages.asked[0].cell, pages.asked[0].output_chars, pages.asked[0].images) == (
        "3",
        10,
        True,
    )


async def test_a_silent_page_is_not_waited_for_again_until_it_is_heard() -> None:
    pages = Pages()
    pages.cells.record_message("dead")

    assert await pages.cells.page_notebooks(CellsWanted(), SOON) is None
    assert await pages.cells.page_notebooks(CellsWanted(), SOON) is None
    assert len(pages.asked) == 1
    assert await pages.cells.page_notebooks(CellsWanted(), 2 * SOON) is None
    assert len(pages.asked) == 2

    pages.answers = ({"client": "dead", "notebooks": [book("1")]},)
    pages.cells.record_message("dead")
    assert ids(await pages.cells.page_notebooks(CellsWanted(), LONG)) == [["1"]]


async def test_a_page_that_was_not_heard_for_long_or_that_left_is_not_waited_for() -> None:
    pages = Pages()
    pages.cells.record_message("asleep")
    pages.now += MAX_REMEMBERED_SECONDS + 1
    pages.cells.record_message("left")
    pages.cells.record_leave("left")

    assert await pages.cells.page_notebooks(CellsWanted(), LONG) is None
    assert pages.asked == []


async def test_of_two_pages_with_one_notebook_the_visible_one_is_believed() -> None:
    pages = Pages(
        {"client": "behind", "notebooks": [book("old", visible=False), book("b", path="b.ipynb")]},
        {"client": "front", "notebooks": [book("new")]},
    )
    pages.cells.record_message("behind")
    pages.cells.record_message("front")

    assert ids(await pages.cells.page_notebooks(CellsWanted(), LONG)) == [["new"], ["b"]]


async def test_an_answer_does_not_wait_long_for_a_second_page() -> None:
    pages = Pages({"client": "here", "notebooks": [book("1")]})
    pages.cells.record_message("here")
    pages.cells.record_message("dead")

    assert ids(await pages.cells.page_notebooks(CellsWanted(), LONG)) == [["1"]]


async def test_an_answer_that_comes_too_late_is_dropped_and_shows_that_the_page_lives() -> None:
    pages = Pages()
    pages.cells.record_message("slow")
    assert await pages.cells.page_notebooks(CellsWanted(), SOON) is None
    late = TellCells(
        id="l", client="slow", request=pages.asked[0].request, notebooks=(book("old"),)
    )
    await pages.cells.add_piece(late)

    pages.answers = ({"client": "slow", "notebooks": [book("new")]},)
    assert ids(await pages.cells.page_notebooks(CellsWanted(), LONG)) == [["new"]]


async def test_a_cell_that_was_seen_and_is_gone_was_deleted() -> None:
    pages = Pages({"client": "a", "notebooks": [book("1", "2")]})
    pages.cells.record_message("a")
    await pages.cells.page_notebooks(CellsWanted(), LONG)
    pages.answers = ({"client": "a", "notebooks": [book("2", deleted=("3",))]},)

    notebooks = await pages.cells.page_notebooks(CellsWanted(), LONG)

    assert notebooks is not None
    assert notebooks[0].deleted == ("1", "3")
