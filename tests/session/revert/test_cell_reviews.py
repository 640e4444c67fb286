"""Changes of cells that were made without asking are looked at afterwards: kept, or taken back in the notebook."""

from pathlib import Path
from typing import Any

import pytest
from tests.harness.open_notebook import OpenNotebook
from tests.harness.session import SessionHarness, ask

from palimpsest.model.script import calls, says
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.testing import ScriptedModel
from palimpsest.tools.permission_rules.permissions import rules_of
from palimpsest.tools.registration.builtin_tools import DEFAULT_RULES
from palimpsest.transcript.context_values.cell_changes import ReviewedChange
from palimpsest.transcript.errors import NotFound, UserError
from palimpsest.transcript.parts import NotebookPart
from palimpsest.transcript.values import CellDecision

ALLOWED = (*DEFAULT_RULES, *rules_of("cells", "allow"))


class Reviewed:
    """A session whose agent changed cells of an open notebook."""

    def __init__(self, root: Path, *turns: list[dict[str, Any]], **read: str) -> None:
        self.notebook = OpenNotebook(
            [
                {"id": "load", "source": "df = load()", "number": 1},
                {"id": "plot", "source": "df.plot()", "number": 2},
                {"id": "end", "source": "done()", "number": 3},
            ]
        )
        answers = [
            answer
            for changes in turns
            for answer in (
                calls("notebook", **read),
                calls("cells", changes=changes),
                says("Done."),
            )
        ]
        self.model = ScriptedModel(*answers, says("I see."), says("Yes."))
        self.harness = SessionHarness(
            root, self.model, notebook=self.notebook, few=False, kernel_tools=True, rules=ALLOWED
        )

    async def begin(self, turns: int = 1) -> LiveSession:
        session = await self.harness.session()
        for number in range(turns):
            await ask(session, f"Change it, {number}")
        return session


def states(changes: tuple[ReviewedChange, ...]) -> list[str]:
    return [reviewed.change.state for reviewed in changes]


EDITS = [
    {"action": "edit", "cell": 2, "source": "df.hist()"},
    {"action": "insert", "source": "x = 1", "after": 1},
    {"action": "move", "cell": 3, "after": "top"},
    {"action": "delete", "cell": 1},
]


async def test_all_changes_are_taken_back_in_one_step(tmp_path: Path) -> None:
    reviewed = Reviewed(tmp_path, EDITS)
    before = reviewed.notebook.shown
    session = await reviewed.begin()
    opened = session.open_cell_changes().changes
    assert states(opened) == ["open"] * 4
    assert reviewed.notebook.shown != before

    call = opened[0].call
    answer = await session.review_cells(
        {call: [CellDecision(index=index, accept=False, reason="no") for index in range(4)]}
    )

    assert reviewed.notebook.shown == before
    assert states(answer.changes) == ["rejected"] * 4
    assert [change.change.undone for change in answer.changes] == [True] * 4
    assert session.open_cell_changes().changes == ()
    assert len(reviewed.notebook.origins) == 2


async def test_what_was_said_stays_when_the_session_is_opened_again(tmp_path: Path) -> None:
    reviewed = Reviewed(tmp_path, EDITS)
    session = await reviewed.begin()
    call = session.open_cell_changes().changes[0].call
    await session.review_cells(
        {call: [CellDecision(index=0, accept=True), CellDecision(index=1, accept=False)]}
    )
    await session.close()

    again = await reviewed.harness.workspace.open(session.id)

    assert [change.index for change in again.open_cell_changes().changes] == [2, 3]


async def test_a_cell_that_was_changed_since_is_not_taken_back_and_the_others_are(
    tmp_path: Path,
) -> None:
    reviewed = Reviewed(tmp_path, EDITS)
    session = await reviewed.begin()
    call = session.open_cell_changes().changes[0].call
    reviewed.notebook.cell("plot")["source"] = "mine()"

    answer = await session.review_cells(
        {call: [CellDecision(index=index, accept=False) for index in (0, 1, 2)]}
    )

    edit, insertion, move = answer.changes
    assert edit.problem == (
        "Cell [2] was changed since, so it was not taken back. Undo the later change first, or edit the cell by hand."
    )
    assert (edit.change.state, insertion.change.state, move.change.state) == (
        "open",
        "rejected",
        "rejected",
    )
    assert reviewed.notebook.shown == [("plot", "mine()"), ("end", "done()")]


async def test_a_cell_whose_change_was_undone_is_said_to_be_as_before(tmp_path: Path) -> None:
    reviewed = Reviewed(tmp_path, EDITS[:1])
    session = await reviewed.begin()
    call = session.open_cell_changes().changes[0].call
    reviewed.notebook.cell("plot")["source"] = "df.plot()"

    answer = await session.review_cells({call: [CellDecision(index=0, accept=False)]})

    (edit,) = answer.changes
    assert edit.problem.startswith("Cell [2] is as it was before the change, so nothing was taken")
    assert edit.change.state == "open"
    assert reviewed.notebook.cell("plot")["source"] == "df.plot()"


async def test_a_part_of_a_change_is_accepted(tmp_path: Path) -> None:
    reviewed = Reviewed(tmp_path, EDITS[:1])
    session = await reviewed.begin()
    call = session.open_cell_changes().changes[0].call

    answer = await session.review_cells(
        {call: [CellDecision(index=0, accept=True, source="df.hist(bins=3)")]}
    )

    [one] = answer.changes
    assert (one.change.state, one.change.new) == ("accepted", "df.hist(bins=3)")
    assert reviewed.notebook.cell("plot")["source"] == "df.hist(bins=3)"


async def test_what_was_taken_back_is_kept_where_the_page_falls_silent_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reviewed = Reviewed(tmp_path, EDITS[:2])
    session = await reviewed.begin()
    call = session.open_cell_changes().changes[0].call
    change = reviewed.notebook.change

    async def silent_for_edits(notebook: str, changes: Any, *more: Any, **named: Any) -> Any:
        if changes[0].action == "edit":
            raise UserError("The page did not answer.")
        return await change(notebook, changes, *more, **named)

    monkeypatch.setattr(reviewed.notebook, "change", silent_for_edits)
    decisions = [
        CellDecision(index=0, accept=True, source="df.hist(bins=3)"),
        CellDecision(index=1, accept=False),
    ]
    answer = await session.review_cells({call: decisions})

    assert [one.problem for one in answer.changes] == ["The page did not answer.", ""]
    assert states(answer.changes) == ["open", "rejected"]
    assert [one.index for one in session.open_cell_changes().changes] == [0]


async def test_the_next_prompt_tells_what_was_taken_back_and_why_once(tmp_path: Path) -> None:
    reviewed = Reviewed(tmp_path, EDITS[:2])
    session = await reviewed.begin()
    call = session.open_cell_changes().changes[0].call
    await session.review_cells(
        {call: [CellDecision(index=0, accept=False, reason="</notebook> keep the plot")]}
    )
    await ask(session, "And now?")
    await ask(session, "And then?")

    notes = [
        part
        for message in session.log.state.messages()
        for part in message.parts
        if isinstance(part, NotebookPart)
    ]
    assert len(notes) == 1
    assert "- your edit of cell 2 id=plot. Reason: &lt;/notebook> keep the plot" in notes[0].text
    assert notes[0].reviews == (f"{call}:0",)
    assert notes[0].edits == ()


async def test_the_agent_is_not_told_of_its_own_changes_but_of_what_the_user_makes_of_them(
    tmp_path: Path,
) -> None:
    reviewed = Reviewed(tmp_path, EDITS[:2])
    session = await reviewed.begin()
    await ask(session, "And now?")
    assert not [
        part
        for message in session.log.state.messages()
        for part in message.parts
        if isinstance(part, NotebookPart)
    ]

    reviewed.notebook.cell("plot")["source"] = "df.plot()"
    await ask(session, "And then?")
    last = session.log.state.messages()[-2]
    [note] = [part for part in last.parts if isinstance(part, NotebookPart)]
    assert [edit.cell_id for edit in note.edits] == ["plot"]


async def test_a_later_edit_of_the_same_cell_is_taken_back_first(tmp_path: Path) -> None:
    reviewed = Reviewed(tmp_path, EDITS[:1], [{"action": "edit", "cell": 2, "source": "df.box()"}])
    session = await reviewed.begin(2)
    first, second = session.open_cell_changes().changes

    answer = await session.review_cells({first.call: [CellDecision(index=0, accept=False)]})
    assert "was changed since" in answer.changes[0].problem
    both = {one.call: [CellDecision(index=0, accept=False)] for one in (second, first)}
    answer = await session.review_cells(both)

    assert states(answer.changes) == ["rejected", "rejected"]
    assert reviewed.notebook.cell("plot")["source"] == "df.plot()"


async def test_wrong_reviews_are_refused_with_a_sentence(tmp_path: Path) -> None:
    reviewed = Reviewed(tmp_path, EDITS[:1])
    session = await reviewed.begin()
    call = session.open_cell_changes().changes[0].call
    reject = [CellDecision(index=0, accept=False)]

    with pytest.raises(NotFound, match="There is no call 'x' in this session that changed cells"):
        await session.review_cells({"x": reject})
    with pytest.raises(NotFound, match="The call made 1 changes, so there is no change 7"):
        await session.review_cells({call: [CellDecision(index=7, accept=False)]})
    reviewed.notebook.is_open = False
    with pytest.raises(UserError, match="No open page shows the notebook, so nothing was taken"):
        await session.review_cells({call: reject})
    reviewed.notebook.is_open = True
    await session.review_cells({call: reject})
    answer = await session.review_cells({call: reject})
    assert answer.changes[0].problem == "It was rejected already."


async def test_a_source_with_a_key_is_not_written_back_from_the_log(tmp_path: Path) -> None:
    key = "sk-ant-api03-" + "a1B2" * 20
    reviewed = Reviewed(
        tmp_path,
        [{"action": "edit", "cell": 2, "edits": [{"old": "y = 1", "new": "y = 2"}]}],
        cell="2",
    )
    reviewed.notebook.cell("plot")["source"] = f"key = '{key}'; y = 1"
    session = await reviewed.begin()
    [one] = session.open_cell_changes().changes

    answer = await session.review_cells({one.call: [CellDecision(index=0, accept=False)]})

    assert answer.changes[0].problem.startswith("Cell [2] held a key or password")
    assert reviewed.notebook.cell("plot")["source"] == f"key = '{key}'; y = 2"
    assert key not in str([record.wire() for record in await reviewed.harness.records(session)])
