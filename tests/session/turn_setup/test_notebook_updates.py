"""What a kernel recorded of the user's cells goes along with the next prompt, once, within the limits that are set."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.harness.session import SessionHarness, ask
from tests.loop.context_management.test_fit_driver import rebuilt

from palimpsest.model.script import says
from palimpsest.testing import ScriptedModel
from palimpsest.tools.permission_rules.permissions import rules_of
from palimpsest.tools.registration.builtin_tools import DEFAULT_RULES
from palimpsest.transcript.context_values.cell_runs import CellRun, NotebookRuns, RecordedOutput
from palimpsest.transcript.context_values.page_cells import CellsWanted, PageCell, PageNotebook
from palimpsest.transcript.parts import NotebookPart
from palimpsest.transcript.values import ModelInfo, ModelRef


class RecordedRuns:
    """A kernel's record of its cells, filled by the test (tools.tool.NotebookReader)."""

    kernel = "kernel-1"
    changer = None

    def __init__(self) -> None:
        self.found: list[CellRun] = []
        self.pages: list[PageNotebook] | None = None
        """What a page shows; None where there is no page."""
        self.asked = 0

    def show(self, *sources: str, deleted: tuple[str, ...] = (), **by_id: str) -> None:
        """Let a page show cells ``id-1`` and so on with these sources, and others by their ids."""
        numbered = {f"id-{n}": source for n, source in enumerate(sources, 1)}
        cells = [PageCell(id=cell_id, source=held) for cell_id, held in (numbered | by_id).items()]
        self.pages = [PageNotebook(path="a.ipynb", cells=tuple(cells), deleted=deleted)]

    def add(self, source: str, printed: str = "", **more: Any) -> None:
        outputs = (RecordedOutput("stdout", printed),) if printed else ()
        serial = len(self.found) + 1
        self.found.append(
            CellRun(serial, 1, source, f"id-{serial}", serial, outputs=outputs, **more)
        )

    def recorded_runs(self) -> NotebookRuns:
        return NotebookRuns(tuple(self.found))

    async def page(self, _wanted: CellsWanted, _seconds: float) -> Sequence[PageNotebook] | None:
        self.asked += 1
        return self.pages

    def hide_next(self) -> None:
        raise AssertionError("not asked for here")


def opened(
    tmp_path: Path, runs: RecordedRuns, *answers: str, **more: Any
) -> tuple[SessionHarness, ScriptedModel]:
    model = ScriptedModel(*(says(answer) for answer in answers))
    harness = SessionHarness(tmp_path, model, notebook=runs, few=False, kernel_tools=True, **more)
    return harness, model


def parts(session: Any) -> list[NotebookPart]:
    return [
        part
        for message in session.journal.state.messages()
        for part in message.parts
        if isinstance(part, NotebookPart)
    ]


async def test_a_cell_is_told_once_and_its_request_can_be_rebuilt(tmp_path: Path) -> None:
    runs = RecordedRuns()
    harness, model = opened(tmp_path, runs, "One.", "Two.", "Three.")
    session = await harness.session()
    runs.add("print(1)", "MARK-1")

    await ask(session, "First")
    await ask(session, "Second")
    runs.add("print(2)", "MARK-2")
    await ask(session, "Third")

    message_parts = parts(session)
    assert [[cell.number for cell in part.cells] for part in message_parts] == [[1], [2]]
    assert "MARK-1" in str(model.requests[0].messages)
    assert str(model.requests[1].messages).count("MARK-1") == 1
    await rebuilt(harness, session, model)


@pytest.mark.parametrize("edited", [False, True])
async def test_a_session_that_is_opened_again_tells_nothing_twice(
    tmp_path: Path, *, edited: bool
) -> None:
    runs = RecordedRuns()
    harness, _ = opened(tmp_path, runs, "One.")
    session = await harness.session()
    runs.add("print(1)", "MARK-1")
    if edited:
        runs.show("x = 2", deleted=("id-9",))
    await ask(session, "First")
    await session.close()

    second, _ = opened(tmp_path, runs, "Two.", store=harness.store)
    again = await second.workspace.open(session.id)
    await ask(again, "Second")

    assert len(parts(again)) == 1


async def test_the_setting_says_which_cells_are_told(tmp_path: Path) -> None:
    for detail, expected in (("all", [1, 2]), ("errors", [2]), ("none", [])):
        runs = RecordedRuns()
        folder = tmp_path / detail
        folder.mkdir()
        harness, _ = opened(folder, runs, "One.", notebook_detail=detail)
        session = await harness.session()
        runs.add("print(1)", "MARK-1")
        runs.add("broken()", status="error")

        await ask(session, "First")

        assert [cell.number for part in parts(session) for cell in part.cells] == expected


async def test_the_note_keeps_to_its_tokens(tmp_path: Path) -> None:
    runs = RecordedRuns()
    harness, _ = opened(tmp_path, runs, "One.", notebook_tokens=500)
    session = await harness.session()
    for number in range(20):
        runs.add(f"loop({number})", f"{number} word " * 2_000)

    await ask(session, "First")

    (part,) = parts(session)
    assert part.tokens is not None
    assert part.tokens <= 620
    assert part.omitted


async def test_a_small_window_gets_a_small_note(tmp_path: Path) -> None:
    runs = RecordedRuns()
    small = ModelInfo(
        ref=ModelRef(provider="scripted", name="model"), window=30_000, output_limit=2_000
    )
    harness, _ = opened(tmp_path, runs, "One.", info=small)
    session = await harness.session()
    for number in range(20):
        runs.add(f"loop({number})", f"{number} word " * 2_000)

    await ask(session, "First")

    (part,) = parts(session)
    assert part.tokens is not None
    assert part.tokens <= 3_200


async def test_a_rule_that_denies_the_tool_keeps_all_cells(tmp_path: Path) -> None:
    runs = RecordedRuns()
    harness, _ = opened(
        tmp_path, runs, "One.", rules=(*DEFAULT_RULES, *rules_of("notebook", "deny"))
    )
    session = await harness.session()
    runs.add("print(1)", "MARK-1")

    await ask(session, "First")

    assert parts(session) == []


async def test_other_systems_presets_tell_nothing_of_cells(tmp_path: Path) -> None:
    for preset in ("opencode-1.1", "openclaw-2026.9"):
        runs = RecordedRuns()
        folder = tmp_path / preset
        folder.mkdir()
        harness, model = opened(folder, runs, "One.", policy=preset)
        session = await harness.session()
        runs.add("print(1)", "MARK-1")

        await ask(session, "First")

        assert "MARK-1" not in str(model.requests[0].messages)


async def test_a_run_that_printed_more_is_told_again(tmp_path: Path) -> None:
    runs = RecordedRuns()
    harness, model = opened(tmp_path, runs, "One.", "Two.")
    session = await harness.session()
    runs.add("start()", "began")
    await ask(session, "First")
    runs.found[0] = dataclasses.replace(
        runs.found[0], version=2, outputs=(RecordedOutput("stdout", "began\nended"),)
    )

    await ask(session, "Second")

    assert "What came out later" in parts(session)[-1].text
    assert "ended" in str(model.requests[-1].messages)


async def test_a_note_is_cleared_like_an_output(tmp_path: Path) -> None:
    runs = RecordedRuns()
    window = ModelInfo(
        ref=ModelRef(provider="scripted", name="model"), window=48_000, output_limit=2_000
    )
    harness, model = opened(tmp_path, runs, *["Answer."] * 40, info=window)
    session = await harness.session()
    for turn in range(40):
        for number in range(5):
            runs.add(f"loop({number})", f"{turn}-{number} word " * 2_000)
        await ask(session, f"Question {turn}")
        if any(decision.action == "clear" for decision in session.decisions()):
            break

    cleared = {decision.part_id for decision in session.decisions() if decision.action == "clear"}
    assert cleared
    assert cleared <= {part.id for part in parts(session)}
    assert len(str(model.requests[-1].messages)) < len(str(model.requests[-2].messages))
    await rebuilt(harness, session, model)
    found = await session.archive.find(min(cleared))
    assert "loop(4)" in found.text


async def test_hidden_runs_are_counted(tmp_path: Path) -> None:
    runs = RecordedRuns()
    harness, model = opened(tmp_path, runs, "One.")
    session = await harness.session()
    runs.add("print('secret')", "MARK-HIDDEN", hidden="tag")
    runs.add("print(2)", "MARK-2")

    await ask(session, "First")

    (part,) = parts(session)
    assert part.hidden == 1
    assert "MARK-HIDDEN" not in str(model.requests[0].messages)


async def test_a_rule_that_denies_the_tool_keeps_what_a_prompt_names(tmp_path: Path) -> None:
    runs = RecordedRuns()
    harness, model = opened(
        tmp_path, runs, "One.", rules=(*DEFAULT_RULES, *rules_of("notebook", "deny"))
    )
    session = await harness.session()
    runs.add("print(1)", "MARK-1")

    await ask(session, "Look at @cell 1")

    sent = str(model.requests[0].messages)
    assert "MARK-1" not in sent
    assert "a rule of permissions keeps that from you" in sent


async def test_an_edited_and_a_deleted_cell_are_told_once(tmp_path: Path) -> None:
    runs = RecordedRuns()
    harness, model = opened(tmp_path, runs, *["Answer."] * 5)
    session = await harness.session()
    runs.add("x = 1")
    runs.add("y = 2")
    runs.show("x = 1", "y = 2", draft="z = 3")
    await ask(session, "First")
    runs.show("x = 'EDITED'", draft="z = 'WRITTEN'", deleted=("id-2",))
    await ask(session, "Second")
    await ask(session, "Third")
    runs.show("x = 1", draft="z = 'WRITTEN'", deleted=("id-2",))
    await ask(session, "Fourth")

    told = [[(edit.cell_id, edit.state) for edit in part.edits] for part in parts(session)]
    assert told == [
        [],
        [("id-1", "edited"), ("draft", "edited"), ("id-2", "deleted")],
        [("id-1", "as it ran")],
    ]
    text = parts(session)[1].text
    assert "nothing ran" in text
    assert '<cell number="1" id="id-1" edited="since it ran">\n<source>\nx = \'EDITED\'' in text
    assert '<cell id="draft" edited="not run">' in text
    assert '<deleted number="2" id="id-2">y = 2</deleted>' in text
    assert str(model.requests[-1].messages).count("EDITED") == 1
    await rebuilt(harness, session, model)


async def test_a_cell_that_was_edited_and_then_run_is_told_as_a_run_alone(tmp_path: Path) -> None:
    runs = RecordedRuns()
    harness, _ = opened(tmp_path, runs, "One.", "Two.")
    session = await harness.session()
    runs.add("x = 1")
    runs.show("x = 2")
    await ask(session, "First")
    runs.found.append(CellRun(2, 1, "x = 2", "id-1", 2))
    await ask(session, "Second")

    first, second = parts(session)
    assert [edit.state for edit in first.edits] == ["edited"]
    assert second.edits == ()
    assert [cell.number for cell in second.cells] == [2]


async def test_the_page_is_asked_once_a_prompt_and_only_where_all_is_told(tmp_path: Path) -> None:
    for detail, expected in (("all", 1), ("errors", 0), ("none", 0)):
        runs = RecordedRuns()
        folder = tmp_path / detail
        folder.mkdir()
        harness, model = opened(folder, runs, "One.", notebook_detail=detail)
        session = await harness.session()
        runs.add("x = 1")
        runs.show("x = 'EDITED'")
        await ask(session, "First")

        assert runs.asked == expected
        assert ("EDITED" in str(model.requests)) == (detail == "all")


async def test_what_the_user_hides_is_not_told_as_edited_or_deleted(tmp_path: Path) -> None:
    runs = RecordedRuns()
    harness, model = opened(tmp_path, runs, "One.")
    session = await harness.session()
    runs.add("a = 'HIDDEN-1'", hidden="private")
    runs.add("b = 'HIDDEN-2'", hidden="tag")
    runs.add("c = 'OPEN'")
    cell = PageCell(id="id-1", source="a = 'HIDDEN-3'")
    tagged = PageCell(id="id-3", hidden=True)
    runs.pages = [PageNotebook(path="a.ipynb", cells=(cell, tagged), deleted=("id-2",))]

    await ask(session, "First")

    (part,) = parts(session)
    assert part.edits == ()
    assert "HIDDEN" not in str(model.requests[0].messages)
