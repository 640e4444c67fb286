"""A hostile clone in a real kernel: what goes to the provider holds no key and nothing from outside."""

import json
from pathlib import Path

import pytest
from tests.frontends.kernel import Kernel
from tests.session.planted import plant

from palimpsest.model.fault_server import FaultServer
from palimpsest.model.script import calls, says


@pytest.mark.slow
def test_the_first_prompt_in_a_clone_sends_nothing_from_outside(tmp_path: Path) -> None:
    root, home = tmp_path / "clone", tmp_path / "home"
    canaries = plant(root, home)
    answers = (calls("read", path="sub/deep/a.txt"), calls("grep", pattern="key"), says("Done."))
    with FaultServer(*answers) as server:
        models = {"openai/gpt-4o": {"api_base": server.openai_base}}
        settings = {"model": "openai/gpt-4o", "models": models, "titles": False}
        environment = {
            "HOME": str(home),
            "OPENAI_API_KEY": "sk-none-at-all",
            "PALIMPSEST_CONFIG_CONTENT": json.dumps(settings),
        }
        with Kernel(cwd=root, env=environment) as kernel:
            assert kernel.client.run("%load_ext palimpsest").status == "ok"
            run = kernel.client.run("%agent Look at @data.txt, @.env and @AGENTS.md")
        sent = "\n".join(json.dumps(body) for body in server.bodies)

    assert len(server.bodies) == 3
    assert "WORDS-OF-THE-PROJECT" in sent
    assert [one for one in canaries if one in sent] == []
    assert "AGENTS.md are left out: it leads out of the project" in run.story()
