"""One page is asked to change cells: the one that sent the prompt, else a visible one; and its answer is awaited."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from palimpsest.frontends.kernel.main_thread import MainThread
from palimpsest.frontends.page_channel import page_changes
from palimpsest.frontends.page_channel.page_cells import PageCells
from palimpsest.frontends.page_channel.page_changes import PageChanges
from palimpsest.frontends.page_channel.requested_runs import RequestedRuns
from palimpsest.frontends.protocol.connection import (
    CellsChanged,
    CellsRequestNotice,
    ChangeCellsNotice,
    RunCellNotice,
    TellCells,
)
from palimpsest.tools.tool import NoPage
from palimpsest.transcript.context_values.cell_changes import CellChange, CellOrigin, CellResult
from palimpsest.transcript.context_values.page_cells import CellsWanted, PageNotebook
from palimpsest.transcript.errors import UserError

CHANGE = CellChange(action="edit", cell="c1", old="x", new="y")
ORIGIN = CellOrigin(session="ses", message="msg", call="call", request=3)


class ChangingPages:
    """Pages that show notebooks, and answer a request for changes with what a test gives."""

    def __init__(self, answer: dict[str, Any] | None = None) -> None:
        self.asked: list[ChangeCellsNotice | RunCellNotice] = []
        self.shown: dict[str, tuple[PageNotebook, ...]] = {}
        self.answer = answer
        self.answers: dict[str, list[CellResult]] = {}
        """The results that single pages answer with."""
        self.now = 100.0
        self.cells = PageCells(self._send, lambda: self.now)
        self.changes = PageChanges(
            self._send, self.cells, RequestedRuns(MainThread(None, asyncio.get_running_loop), None)
        )
        self._tasks: list[asyncio.Task[None]] = []

    async def show(self, client: str, *notebooks: PageNotebook) -> None:
        """Let a page tell its notebooks."""
        self.now += 1
        self.shown[client] = notebooks
        self.cells.record_message(client)
        await self.cells.page_notebooks(CellsWanted(), 60.0)

    def _send(self, notice: BaseModel) -> None:
        if isinstance(notice, CellsRequestNotice):
            for client, notebooks in self.shown.items():
                command = TellCells(
                    id=client, client=client, request=notice.request, notebooks=notebooks
                )
                self._tasks.append(asyncio.ensure_future(self.cells.add_piece(command)))
            return
        assert isinstance(notice, ChangeCellsNotice | RunCellNotice)
        self.asked.append(notice)
        given = self.answers.get(notice.client)
        answer = self.answer if given is None else {"results": given}
        if answer is not None:
            self.changes.add_answer(
                CellsChanged(
                    **{"id": "a", "client": notice.client, "request": notice.request} | answer
                )
            )


def book(path: str = "a.ipynb", *, visible: bool = True) -> PageNotebook:
    return PageNotebook(path=path, visible=visible)


DONE = {"results": [CellResult(cell="c1")]}


async def test_the_page_that_shows_the_notebook_is_asked_and_its_answer_returned() -> None:
    pages = ChangingPages(DONE)
    await pages.show("a", book())
    await pages.show("b", book("b.ipynb"))

    results = await pages.changes.change("a.ipynb", [CHANGE], ORIGIN)

    assert results == (CellResult(cell="c1"),)
    (notice,) = pages.asked
    assert isinstance(notice, ChangeCellsNotice)
    assert (notice.client, notice.notebook, notice.changes, notice.origin) == (
        "a",
        "a.ipynb",
        (CHANGE,),
        ORIGIN,
    )


async def test_a_visible_page_comes_before_a_hidden_one_and_the_one_that_asked_before_both() -> (
    None
):
    pages = ChangingPages(DONE)
    await pages.show("front", book())
    await pages.show("behind", book(visible=False))
    await pages.show("newest behind", book(visible=False))

    await pages.changes.change("a.ipynb", [CHANGE], None, "ses")
    pages.cells.record_prompt("behind", "ses")
    await pages.changes.change("a.ipynb", [CHANGE], None, "ses")
    await pages.changes.change("a.ipynb", [CHANGE], None, "another session")

    assert [notice.client for notice in pages.asked] == ["front", "behind", "front"]


OLDER = CellResult(cell="c1", problem="changed", source="y")
TYPED = CellResult(cell="c1", problem="changed", source="typed")


async def test_what_is_taken_back_is_taken_back_in_the_page_that_shows_it() -> None:
    pages = ChangingPages()
    await pages.show("front", book())
    await pages.show("behind", book(visible=False))
    pages.answers = {"front": [OLDER], "behind": [CellResult(cell="c1")]}

    results = await pages.changes.change("a.ipynb", [CHANGE], None, skip_older=True)

    assert results == (CellResult(cell="c1", elsewhere=True),)
    assert [notice.client for notice in pages.asked] == ["front", "behind"]


@pytest.mark.parametrize(
    ("front", "behind", "asked"),
    [(TYPED, CellResult(cell="c1"), ["front"]), (OLDER, OLDER, ["front", "behind"])],
    ids=["changed by a person", "as before in all pages"],
)
async def test_a_page_with_another_change_is_not_passed_over(
    front: CellResult, behind: CellResult, asked: list[str]
) -> None:
    pages = ChangingPages()
    await pages.show("front", book())
    await pages.show("behind", book(visible=False))
    pages.answers = {"front": [front], "behind": [behind]}

    results = await pages.changes.change("a.ipynb", [CHANGE], None, skip_older=True)

    assert results == (front,)
    assert [notice.client for notice in pages.asked] == asked


async def test_what_the_agent_changes_goes_to_no_second_page() -> None:
    pages = ChangingPages()
    await pages.show("front", book())
    await pages.show("behind", book(visible=False))
    pages.answers = {"front": [OLDER], "behind": [CellResult(cell="c1")]}

    assert await pages.changes.change("a.ipynb", [CHANGE], ORIGIN) == (OLDER,)
    assert [notice.client for notice in pages.asked] == ["front"]


@pytest.mark.parametrize(
    ("change", "older"),
    [
        (CellChange(action="delete", cell="c1", old="x"), CellResult(cell="c1", problem="missing")),
        (
            CellChange(action="insert", cell="c1", new="x"),
            CellResult(cell="c1", problem="changed", source="x"),
        ),
    ],
    ids=["an insertion", "a deletion"],
)
async def test_an_older_page_lacks_what_was_inserted_and_has_what_was_deleted(
    change: CellChange, older: CellResult
) -> None:
    pages = ChangingPages()
    await pages.show("front", book())
    await pages.show("behind", book(visible=False))
    pages.answers = {"front": [older], "behind": [CellResult(cell="c1")]}

    [result] = await pages.changes.change("a.ipynb", [change], None, skip_older=True)

    assert result.elsewhere


async def test_a_page_that_left_is_not_asked_and_its_notebook_counts_as_closed() -> None:
    pages = ChangingPages(DONE)
    await pages.show("a", book())
    assert not pages.changes.was_closed(Path("work/a.ipynb"))
    pages.cells.record_leave("a")

    with pytest.raises(NoPage, match=r"No open page shows a\.ipynb\. Ask the user to open it"):
        await pages.changes.change("a.ipynb", [CHANGE], None)
    assert pages.asked == []
    assert pages.changes.was_closed(Path("work/a.ipynb"))
    assert not pages.changes.was_closed(Path("b.ipynb"))


@pytest.mark.parametrize(
    ("refusal", "sentence"),
    [
        ("closed", "a.ipynb was closed in the page just now, so nothing was changed."),
        ("read-only", "a.ipynb is read-only in the page, so nothing was changed."),
        ("no-kernel", "a.ipynb has no kernel in the page, so no cell can be run."),
    ],
)
async def test_a_refusal_is_one_sentence(refusal: str, sentence: str) -> None:
    pages = ChangingPages({"refusal": refusal})
    await pages.show("a", book())

    with pytest.raises(UserError) as raised:
        await pages.changes.change("a.ipynb", [CHANGE], None)
    assert str(raised.value).startswith(sentence)


async def test_a_page_that_does_not_answer_is_not_waited_for_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(page_changes, "MAX_ANSWER_SECONDS", 0.01)
    pages = ChangingPages()
    await pages.show("a", book())

    with pytest.raises(UserError, match="whether its cells changed is not known"):
        await pages.changes.change("a.ipynb", [CHANGE], None)
    late = CellsChanged(id="x", client="a", request=pages.asked[0].request)
    pages.changes.add_answer(late)


async def test_an_answer_about_other_changes_is_refused() -> None:
    pages = ChangingPages({"results": []})
    await pages.show("a", book())

    with pytest.raises(UserError, match="answered about 0 of 1 changes"):
        await pages.changes.change("a.ipynb", [CHANGE], None)
