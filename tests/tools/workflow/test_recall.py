"""The recall tool reads or searches content that is no longer shown, and nothing else."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.harness.session import SessionHarness, ask
from tests.harness.tools import ToolHarness

from palimpsest.model.script import calls, says
from palimpsest.recordings.reconstruction.redecision import redecide
from palimpsest.recordings.reconstruction.requests import rebuild_all
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.testing import ScriptedModel
from palimpsest.tools.permission_rules.permissions import from_config
from palimpsest.tools.workflow.recall import MAX_OUTPUT_CHARS, split_rows
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.ids import short_id
from palimpsest.transcript.parts import ToolCompleted, ToolPart
from palimpsest.transcript.session_record.events import DecisionMade

LINES = "\n".join(f"row {n}: {'needle' if n == 2_500 else 'hay'}" for n in range(1, 3_001))
LONG = "The mean of bill_length_mm is 43.92. " * 100
SUMMARY = "## Goal\n- know the penguins\n\n## Numbers and facts\n- 43.92\n" + "- none\n" * 40

Begin = Callable[..., Any]


@pytest.fixture
async def begin(tmp_path: Path) -> AsyncIterator[Begin]:
    """A function that begins a session on a real disk, whose tool ``big`` returns the given text."""
    opened: list[SessionHarness] = []

    async def start(model: ScriptedModel, output: str = LINES) -> LiveSession:
        store = JsonlStore(open_project_folder(tmp_path), heartbeat_seconds=0.1, watch_seconds=2.5)
        rules = from_config({"*": "allow"}, home=str(tmp_path))
        harness = SessionHarness(tmp_path, model, store=store, rules=rules)

        def big() -> str:
            """Return a long text."""
            return output

        harness.services.agents.registry.add(big)
        opened.append(harness)
        return await harness.session()

    yield start
    for harness in opened:
        rebuilt = [
            request
            for summary in harness.store.list()
            for request in rebuild_all(harness.store, summary.id, harness.store.read(summary.id))
        ]
        again = [redecide(harness.store, summary.id) for summary in harness.store.list()]
        await harness.workspace.close()
        assert all(request.matches for request in rebuilt)
        assert [request.text for request in again if not request.is_same] == []


def parts(session: LiveSession, tool: str) -> list[ToolPart]:
    found = [p for m in session.snapshot().messages for p in m.parts if isinstance(p, ToolPart)]
    return [part for part in found if part.tool == tool]


def output(part: ToolPart) -> str:
    return part.state.output if isinstance(part.state, ToolCompleted) else part.state.error  # type: ignore[union-attr]


async def recalled(session: LiveSession, model: ScriptedModel, **given: Any) -> str:
    """Return the output of a recall call with this input."""
    model.script(calls("recall", **given), says("I see."))
    await ask(session, "Look again")
    return output(parts(session, "recall")[-1])


async def test_the_hint_of_a_cut_output_names_what_recall_reads_and_searches(begin: Begin) -> None:
    model = ScriptedModel(calls("big"), says("Long."))
    session = await begin(model)
    await ask(session, "Run it")
    name = short_id(parts(session, "big")[0].id)

    told = str(model.requests[1].messages[-1])
    excerpt = await recalled(session, model, name=name, offset=2_499, limit=3)
    lines = await recalled(session, model, name=name, pattern="needle", context=1)
    everywhere = await recalled(session, model, pattern="need.e", context=0)
    nothing = await recalled(session, model, pattern="no such thing")

    assert f"recall {name} reads it from a line on, or searches it" in told
    assert "row 2500" not in told
    assert excerpt == (
        "2499: row 2499: hay\n2500: row 2500: needle\n2501: row 2501: hay\n"
        "(Output of big: rows 2,499 to 2,501 of 3,000. Go on with offset 2502.)"
    )
    assert lines == (
        f"Output of big (name {name}):\n  2499- row 2499: hay\n  2500: row 2500: needle\n"
        "  2501- row 2501: hay"
    )
    assert everywhere == f"Output of big (name {name}):\n  2500: row 2500: needle"
    assert nothing == "No row of what was taken out matches 'no such thing'."


async def test_messages_behind_a_summary_are_called_earlier(begin: Begin) -> None:
    model = ScriptedModel(calls("big"), says(LONG), says("B."), says("C."), says(SUMMARY))
    session = await begin(model)
    for words in ("The first question", "Second", "Third"):
        await ask(session, words)
    assert (await session.compact()).error is None

    lines = await recalled(session, model, name="earlier", limit=2)
    excerpt = await recalled(session, model, pattern="needle", context=0)

    assert lines.startswith("1: [User]: The first question\n2: ")
    assert "row 2500: needle" in excerpt
    assert excerpt.startswith("Earlier messages (name earlier):")


async def test_a_cleared_output_is_recalled_by_its_note(begin: Begin) -> None:
    model = ScriptedModel(calls("big"), says("Long."))
    session = await begin(model, output="secret of the house\n" + "x " * 3_000)
    await ask(session, "Run it")
    part = parts(session, "big")[0]
    cleared = Decision(
        id="dec_1",
        action="clear",
        rule="by-hand",
        message_id=part.message_id,
        part_id=part.id,
        numbers={"text": f"[Cleared; recall {short_id(part.id)} shows it]"},
    )
    session.log.append(DecisionMade(decision=cleared))

    lines = await recalled(session, model, name=short_id(part.id), limit=1)
    excerpt = await recalled(session, model, pattern="secret of", context=0)

    assert f"recall {short_id(part.id)} shows it" in str(model.requests[2].messages)
    assert "secret of the house" not in str(model.requests[2].messages)
    assert lines.startswith("1: secret of the house\n")
    assert excerpt.endswith(":\n  1: secret of the house")


async def test_what_a_person_left_out_is_not_recalled(begin: Begin) -> None:
    model = ScriptedModel(calls("big"), says("Long."))
    session = await begin(model)
    await ask(session, "Run it")
    name = short_id(parts(session, "big")[0].id)
    session.edit_context("exclude", name)

    refused = await recalled(session, model, name=name)
    excerpt = await recalled(session, model, pattern="needle")
    session.edit_context("restore", name)
    again = await recalled(session, model, name=name, pattern="needle", context=0)

    assert refused.startswith(
        "The user left this out of the conversation, so it can't be recalled."
    )
    assert excerpt == "No row of what was taken out matches 'needle'."
    assert "row 2500: needle" in again


async def test_what_comes_back_is_bounded(begin: Begin) -> None:
    model = ScriptedModel(calls("big"), says("Long."))
    session = await begin(model, output="word " * 50_000)
    await ask(session, "Run it")
    name = short_id(parts(session, "big")[0].id)

    lines = await recalled(session, model, name=name, limit=500)
    excerpt = await recalled(session, model, name=name, pattern="word")

    assert len(lines) < MAX_OUTPUT_CHARS + 200
    assert "Go on with offset 16.)" in lines
    assert len(excerpt) < MAX_OUTPUT_CHARS + 200
    assert "(250 rows match, and not all are shown; narrow the search.)" in excerpt


async def test_wrong_names_and_patterns_get_a_sentence(begin: Begin) -> None:
    model = ScriptedModel(calls("big"), says("Long."))
    session = await begin(model)
    await ask(session, "Run it")

    assert (await recalled(session, model, name="../../etc/passwd")).startswith(
        "There is no output '../../etc/passwd' in this session."
    )
    assert (await recalled(session, model)).startswith("Give a name to read")
    assert "is not a valid regular expression" in await recalled(session, model, pattern="(")
    assert (await recalled(session, model, name="earlier")).startswith("No summary stands for")


async def test_is_offered_and_allowed_only_where_the_model_has_tools(begin: Begin) -> None:
    model = ScriptedModel(calls("big"), says("Long."), calls("big"), says("Long."))
    session = await begin(model)
    await ask(session, "Run it")
    await ask(session, "Run it again", tools=("big",))

    assert "recall" in {spec.name for spec in model.requests[0].tools}
    assert "recall" not in {spec.name for spec in model.requests[2].tools}
    assert "recall" not in str(model.requests[3].messages[-1])


async def test_without_an_archive_it_says_so(tmp_path: Path) -> None:
    harness = ToolHarness(tmp_path)

    with pytest.raises(UserError, match="This session keeps no record to recall from"):
        await harness.call("recall", name="abcd")


def test_a_line_too_long_is_told_in_rows() -> None:
    assert [len(row) for row in split_rows("x" * 2_500 + "\n\nend")] == [1_000, 1_000, 500, 0, 3]
