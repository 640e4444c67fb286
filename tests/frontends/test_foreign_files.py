"""An untrusted clone in a real kernel: requests to the provider hold no key and no file from outside."""

import json
from pathlib import Path

import pytest
from tests.harness.kernel import Kernel
from tests.hostile.linked_secrets import plant

from palimpsest.model.script import calls, says
from palimpsest.testing import FaultServer


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
    assert [canary for canary in canaries if canary in sent] == []
    assert "AGENTS.md are left out: it leads out of the project" in run.markdown()


@pytest.mark.slow
def test_always_on_one_write_lets_no_hook_be_written(tmp_path: Path) -> None:
    (tmp_path / ".git/hooks").mkdir(parents=True)
    hook = ".git/hooks/post-checkout"
    with Kernel(cwd=tmp_path) as kernel:
        kernel.load_scripted_model()
        kernel.script(
            "calls('write', path='a.txt', content='x')",
            "calls('write', path='a.txt', content='y')",
            f"calls('write', path={hook!r}, content='x')",
            "says('Done.')",
        )
        run_id = kernel.client.send("%%agent\nGo on", stdin=True)
        assert "a.txt" in kernel.question()
        kernel.answer("2")
        assert hook in kernel.question()
        kernel.answer("3 not that")
        run = kernel.client.finish(run_id)

    assert "Done." in run.markdown()
    assert (tmp_path / "a.txt").read_text() == "y"
    assert not (tmp_path / hook).exists()


@pytest.mark.soak  # with each commit tests/hostile/test_clone.py has a folder of sessions that leads outside; this adds a kernel, and what it says
@pytest.mark.slow
def test_a_linked_folder_of_sessions_keeps_them_in_memory(tmp_path: Path) -> None:
    root, foreign = tmp_path / "project", tmp_path / "foreign"
    root.mkdir()
    foreign.mkdir(mode=0o755)
    (root / ".palimpsest").symlink_to(foreign)
    settings = json.dumps({"model": "rehearsal/rules", "titles": False})
    environment = {"HOME": str(tmp_path / "home"), "PALIMPSEST_CONFIG_CONTENT": settings}
    with Kernel(cwd=root, env=environment) as kernel:
        assert kernel.client.run("%load_ext palimpsest").status == "ok"
        run = kernel.client.run("%agent List the files here")
        status = kernel.client.run("%agent status").markdown()

    assert run.status == "ok"
    assert "is a link" in run.markdown() + status
    assert list(foreign.iterdir()) == []
    assert foreign.stat().st_mode & 0o777 == 0o755
