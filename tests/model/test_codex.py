"""A Codex model gets guidance on the differences from a terminal, if its API accepts such instructions."""

from pathlib import Path

import pytest
from tests.harness.unattended_script import settings

from palimpsest.app.wiring import App
from palimpsest.context.engine_text.system_prompt import MODEL_GUIDANCE
from palimpsest.model.script import fails
from palimpsest.public.session_object import open_session
from palimpsest.testing import FaultServer

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", ["gpt-5.1-codex", "gpt-5-codex"])
def test_its_words_arrive_as_instructions(tmp_path: Path, name: str) -> None:
    with FaultServer(fails(400)) as server:
        given = settings(server)
        limits = given["models"]["openai/gpt-test"]
        named = given | {"model": f"openai/{name}", "models": {f"openai/{name}": limits}}
        app = App(start=tmp_path, environment={"OPENAI_API_KEY": "sk-test-openai"}, overrides=named)
        try:
            open_session(app).prompt("Hi.")
        finally:
            app.close()
        (request,) = server.requests

    assert request.path.endswith("/responses")
    assert MODEL_GUIDANCE["codex"] in request.body["instructions"]
    assert MODEL_GUIDANCE["reasoning"] not in request.body["instructions"]
    assert all(message["role"] != "system" for message in request.body["input"])
