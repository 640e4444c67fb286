"""Subagents over real HTTP: received requests are rebuilt from the logs of parent and child."""

from pathlib import Path

import pytest
from tests.harness.http_session import PROVIDERS, HttpSessionHarness
from tests.harness.session import ask
from tests.harness.subagent_session import children, definitions, write
from tests.model.expected_body import expected_bodies
from tests.provider_rules.dialects import problems

from palimpsest.model.script import calls, says
from palimpsest.recordings.reconstruction.requests import rebuild_all
from palimpsest.session.definitions.project_definitions import register_definitions
from palimpsest.testing import FaultServer
from palimpsest.transcript.parts import ToolCompleted, ToolPart


@pytest.mark.slow
@pytest.mark.usefixtures("litellm")
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_task_and_its_parent_send_what_their_logs_say(
    provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-openai")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test")
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    write(tmp_path / ".agents/skills/count/SKILL.md", "---\ndescription: Counts\n---\nUse read.")
    with FaultServer(check=problems) as server:
        server.script(
            calls("task", description="Count", prompt="Count a.txt", agent="explore"),
            calls("read", path="a.txt"),
            says("Two."),
            says("There are two."),
        )
        harness = HttpSessionHarness(provider, tmp_path, server)
        register_definitions(harness.harness.services.agents.registry, definitions(tmp_path))
        session = await harness.session()

        answer = await ask(session, "How many lines?", model=harness.id)

        assert answer.text == "There are two."
        (part,) = [p for m in answer.messages for p in m.parts if isinstance(p, ToolPart)]
        assert isinstance(part.state, ToolCompleted)
        (child,) = await children(harness.harness, session)
        bodies = []
        for opened in (session, child):
            records = await harness.harness.records(opened)
            rebuilt = list(rebuild_all(harness.harness.store, opened.id, records))
            assert all(found.matches for found in rebuilt)
            bodies.append(expected_bodies([found.request for found in rebuilt]))
        (first, last), (reads, told) = bodies
        assert list(server.bodies) == [first, reads, told, last]
