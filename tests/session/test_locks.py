"""What an administrator locks holds, whoever wants it otherwise and by whatever way."""

from pathlib import Path

import pytest
from tests.loop.studio import Studio, ask
from tests.session.test_permitting import answered, once, tools

from palimpsest.model.script import calls, says
from palimpsest.model.scripted import ScriptedModel
from palimpsest.session.agents import BUILT_IN
from palimpsest.session.api import PromptOptions
from palimpsest.session.permitting import Permitting
from palimpsest.tools.permissions import limiting
from palimpsest.transcript.values import Reply, Rule

LOCKED = limiting((Rule(permission="bash", action="ask"),), "lock")
RUN = calls("bash", command="echo 1")
ALLOW = (Rule(permission="bash", action="allow"),)


@pytest.mark.parametrize("mode", ["bypass", "accept-edits"])
async def test_no_mode_answers_a_locked_question(tmp_path: Path, mode: str) -> None:
    studio = Studio(tmp_path, ScriptedModel(RUN, says("a")), permitting=Permitting(fixed=LOCKED))
    session = await studio.session()
    session.control.use_mode(mode)
    asked = answered(session, once)

    await ask(session, "one")

    assert [one.permission for one in asked] == ["bash"]
    assert asked[0].always == ()


async def test_no_always_and_no_agent_answers_a_locked_question(tmp_path: Path) -> None:
    agents = {**BUILT_IN, "build": BUILT_IN["build"].model_copy(update={"rules": ALLOW})}
    model = ScriptedModel(RUN, says("a"), RUN, says("b"))
    studio = Studio(tmp_path, model, agents=agents, permitting=Permitting(fixed=LOCKED))
    session = await studio.session()
    asked = answered(session, lambda _: Reply(answer="always"))

    await ask(session, "one")
    await ask(session, "two")

    assert len(asked) == 2
    assert session.control.allowances == ()


async def test_yes_does_not_answer_a_locked_question(tmp_path: Path) -> None:
    studio = Studio(tmp_path, ScriptedModel(RUN, says("a")), permitting=Permitting(fixed=LOCKED))
    session = await studio.session()
    asked = answered(session, lambda _: Reply(answer="reject", by="headless"))

    answer = await session.prompt("one", PromptOptions(yes=True))

    assert len(asked) == 1
    assert tools(answer.messages)[0].state.status == "error"
