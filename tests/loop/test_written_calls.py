"""A call that a model wrote as text is asked for once, and told to the user where it stays."""

from pathlib import Path

import pytest
from tests.harness.session import SessionHarness, ask

from palimpsest.model.script import calls, says
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.user_notices import user_notice_text

WRITTEN = 'Let me look.\n<tool_call>{"name": "list", "arguments": {}}</tool_call>'


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel()


async def test_it_is_asked_for_as_a_real_call(tmp_path: Path, model: ScriptedModel) -> None:
    model.script(says(WRITTEN), calls("list"), says("Nothing is here."))
    session = await SessionHarness(tmp_path, model).session()

    answer = await ask(session, "Which files are there?")

    assert (answer.text, answer.stopped_by, answer.steps) == ("Nothing is here.", "finished", 3)
    assert "as text, and text is not run" in str(model.requests[1].messages[-1])
    assert [
        part.tool for message in answer.messages for part in message.parts if part.type == "tool"
    ] == ["list"]


async def test_it_is_asked_for_once(tmp_path: Path, model: ScriptedModel) -> None:
    model.script(says(WRITTEN), says(WRITTEN))
    session = await SessionHarness(tmp_path, model).session()

    answer = await ask(session, "Which files are there?")

    assert len(model.requests) == 2
    notices = [user_notice_text(part) for message in answer.messages for part in message.parts]
    assert any("as text, so it was not run" in words for words in notices if words)


async def test_a_recorded_agents_policy_ends_there(tmp_path: Path, model: ScriptedModel) -> None:
    model.script(says(WRITTEN))
    session = await SessionHarness(tmp_path, model, policy="opencode-1.18").session()

    answer = await ask(session, "Which files are there?")

    assert (answer.text, len(model.requests)) == (WRITTEN, 1)
