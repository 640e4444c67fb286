"""Loading the extension is fast and finishes in the background, and a restart resumes the session."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.harness.kernel import ROOT, Kernel

import palimpsest

HEAVY = ("pydantic", "litellm", "httpx", "openai", "tiktoken", "nbformat", "pandas")


def test_loading_imports_nothing_heavy() -> None:
    code = (
        "import json, sys\n"
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "before = set(sys.modules)\n"
        "import palimpsest, palimpsest.ipython_extension\n"
        "palimpsest.load_ipython_extension\n"
        "new = set(sys.modules) - before\n"
        f"print(json.dumps([name for name in {HEAVY!r} if name in new]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT / "kernel_ext"), "PATH": "/usr/bin:/bin"},
    )

    assert json.loads(done.stdout) == []


def test_public_names_are_there_when_they_are_used() -> None:
    assert callable(palimpsest.tool)
    assert "load_ipython_extension" in dir(palimpsest)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        palimpsest.nothing  # noqa: B018


@pytest.mark.slow
class TestWithTheRealApplication:
    """``%load_ext palimpsest`` as a user runs it, with the rehearsal model."""

    def kernel(self, folder: Path, *, fresh: bool = False) -> Kernel:
        environment = {
            "JPY_SESSION_NAME": str(folder / "analysis" / "penguins.ipynb"),
            "OPENAI_API_KEY": "",
            "ANTHROPIC_API_KEY": "",
        }
        kernel = Kernel(cwd=folder, env=environment, fresh=fresh)
        assert kernel.run("%load_ext palimpsest").status == "ok"
        return kernel

    def test_the_next_kernel_goes_on_with_the_notebooks_session(self, tmp_path: Path) -> None:
        with self.kernel(tmp_path, fresh=True) as kernel:
            kernel.run("weights = [3, 4, 5]")
            first = kernel.run("answer = %agent -y What is the mean of weights?")
            session = kernel.value("answer.session")
            kernel.process.kill()
            kernel.process.wait()

        assert "4" in first.markdown()
        with self.kernel(tmp_path) as kernel:
            kernel.run("answer = %agent -y Which variables are there?")
            assert kernel.value("answer.session") == session
            status = kernel.run("%agent status").markdown()

        assert session.strip("'") in status
        assert str(tmp_path) in status
        assert (tmp_path / ".palimpsest" / "sessions").is_dir()

    def test_models_and_settings_are_told(self, tmp_path: Path) -> None:
        with self.kernel(tmp_path) as kernel:
            assert "rehearsal" in kernel.run("%agent models").markdown()
            assert "default_agent" in kernel.run("%agent config").markdown()
            assert "Did you mean" in kernel.run("%agent statos").stream("stderr")

    def test_unloading_takes_everything_back(self, tmp_path: Path) -> None:
        with self.kernel(tmp_path) as kernel:
            run = kernel.run("%unload_ext palimpsest")
            assert run.status == "ok", run.stream()
            assert "not found" in kernel.run("%agent hi").stream("stderr")
            assert kernel.run("%load_ext palimpsest").status == "ok"
            assert "idle" in kernel.run("%agent status").markdown()
