"""A revert takes back what the agent did to cells, with the conversation and the files; an unrevert makes it again."""

from pathlib import Path

import pytest
from tests.harness.session import ask
from tests.session.revert.test_cell_reviews import EDITS, Reviewed

from palimpsest.frontends.operation_text.revert_text import revert_text
from palimpsest.transcript.session_record.reverts import RevertPreview
from palimpsest.transcript.values import CellDecision


def outcome(preview: RevertPreview) -> list[tuple[str, str, str]]:
    return [(cell.change.action, cell.change.cell, cell.problem) for cell in preview.cells]


async def test_a_turn_s_changes_of_cells_are_taken_back_and_made_again(tmp_path: Path) -> None:
    reviewed = Reviewed(tmp_path, EDITS)
    before = reviewed.notebook.shown
    session = await reviewed.begin()
    after = reviewed.notebook.shown
    inserted = next(cell for cell, source in after if source == "x = 1")

    preview = await session.reverts.preview()
    assert reviewed.notebook.shown == after
    assert outcome(preview) == [
        ("insert", "load", ""),
        ("move", "end", ""),
        ("delete", inserted, ""),
        ("edit", "plot", ""),
    ]
    done = await session.reverts.revert()
    assert reviewed.notebook.shown == before
    assert outcome(done) == outcome(preview)
    assert session.cell_reviews.open_changes().changes == ()
    undone = await session.reverts.unrevert()
    assert reviewed.notebook.shown == after
    assert [cell.problem for cell in undone.cells] == [""] * 4
    assert len(session.cell_reviews.open_changes().changes) == 4
    assert "cell [2] has the agent's source again" in revert_text(undone, is_undone=True).plain_text
    assert reviewed.notebook.origins[-1] is not None
    assert reviewed.notebook.origins[-1].session == session.id


async def test_a_cell_that_the_user_changed_stays_and_the_preview_says_so(tmp_path: Path) -> None:
    reviewed = Reviewed(tmp_path, EDITS[:2])
    session = await reviewed.begin()
    reviewed.notebook.cell("plot")["source"] = "mine()"
    sentence = "Cell [2] was changed since, so it was not taken back. Undo the later change first, or edit the cell by hand."

    preview = await session.reverts.preview()
    assert [cell.problem for cell in preview.cells] == ["", sentence]
    assert sentence in revert_text(preview).plain_text
    done = await session.reverts.revert()
    assert [cell.problem for cell in done.cells] == ["", sentence]
    assert [cell for cell, _ in reviewed.notebook.shown] == ["load", "plot", "end"]
    assert reviewed.notebook.cell("plot")["source"] == "mine()"
    await session.reverts.unrevert()
    assert reviewed.notebook.cell("plot")["source"] == "mine()"
    assert len(reviewed.notebook.cells) == 4


async def test_a_revert_that_goes_further_back_and_one_that_goes_less_far(tmp_path: Path) -> None:
    again = [{"action": "edit", "cell": 2, "source": "df.box()"}]
    reviewed = Reviewed(tmp_path, EDITS[:1], again)
    session = await reviewed.begin(2)
    prompts = [
        message.id for message in session.log.state.messages() if message.info.role == "user"
    ]

    async def source_after(prompt: str) -> str:
        done = await session.reverts.revert(prompt)
        assert all(not cell.problem for cell in done.cells)
        return str(reviewed.notebook.cell("plot")["source"])

    assert await source_after(prompts[1]) == "df.hist()"
    assert await source_after(prompts[0]) == "df.plot()"
    assert await source_after(prompts[1]) == "df.hist()"
    await session.reverts.unrevert()
    assert reviewed.notebook.cell("plot")["source"] == "df.box()"


async def test_what_was_rejected_before_is_not_taken_back_twice(tmp_path: Path) -> None:
    reviewed = Reviewed(tmp_path, EDITS[:2])
    session = await reviewed.begin()
    call = session.open_cell_changes().changes[0].call
    await session.review_cells({call: [CellDecision(index=0, accept=False)]})

    done = await session.reverts.revert()

    assert [cell.change.action for cell in done.cells] == ["delete"]
    assert len(reviewed.notebook.cells) == 3


async def test_without_a_page_the_conversation_is_reverted_and_the_cells_stay(
    tmp_path: Path,
) -> None:
    reviewed = Reviewed(tmp_path, EDITS[:1])
    session = await reviewed.begin()
    reviewed.notebook.is_open = False

    done = await session.reverts.revert()

    assert done.cells[0].problem.startswith("No open page shows the notebook")
    assert reviewed.notebook.cell("plot")["source"] == "df.hist()"
    reviewed.notebook.is_open = True
    assert (await session.reverts.unrevert()).cells == ()


async def test_a_fork_keeps_the_cells_and_knows_what_it_changed(tmp_path: Path) -> None:
    reviewed = Reviewed(tmp_path, EDITS[:1])
    session = await reviewed.begin()

    forked = await reviewed.harness.workspace.fork(session.id)

    assert reviewed.notebook.cell("plot")["source"] == "df.hist()"
    assert len(forked.open_cell_changes().changes) == 1


@pytest.mark.parametrize("is_done", [False, True])
async def test_the_text_names_each_cell(tmp_path: Path, *, is_done: bool) -> None:
    reviewed = Reviewed(tmp_path, EDITS)
    session = await reviewed.begin()
    reverts = session.reverts
    answer = await (reverts.revert() if is_done else reverts.preview())

    lines = revert_text(answer).plain_text.splitlines()
    expected = "got its former source" if is_done else "would get its former source"
    assert f"  cell [2] {expected}" in lines


async def test_a_retry_takes_the_cells_back_first(tmp_path: Path) -> None:
    reviewed = Reviewed(tmp_path, EDITS[:2])
    session = await reviewed.begin()
    await session.reverts.revert()
    await ask(session, "Once more")

    assert [source for _, source in reviewed.notebook.shown] == [
        "df = load()",
        "df.plot()",
        "done()",
    ]
