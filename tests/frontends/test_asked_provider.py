"""A cell that asks a provider: checks before the request, and one session of a folder for all scripts."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.harness.kernel import ROOT, Kernel
from tests.harness.unattended_script import as_text, settings
from tests.sample_size import thinned

from palimpsest.model.script import says
from palimpsest.testing import FaultServer

pytestmark = pytest.mark.slow


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    """A kernel whose model is a server on loopback."""
    with FaultServer(says("Hello."), says("Again.")) as server:
        env = {
            "OPENAI_API_KEY": "sk-test-openai",
            "PALIMPSEST_CONFIG_CONTENT": as_text(settings(server)),
        }
        with Kernel(cwd=tmp_path, env=env) as kernel:
            assert kernel.run("%load_ext palimpsest").status == "ok"
            yield kernel


@pytest.mark.parametrize(
    ("option", "told"),
    thinned(
        [
            ("-m opnai/gpt-4o", "There is no provider 'opnai'; did you mean 'openai'?"),
            ("--variant hgih", "There is no variant 'hgih'; did you mean 'high'?"),
        ],
        2,
    ),
)
def test_a_wrong_model_or_variant_is_refused_in_a_line_and_does_not_stay(
    kernel: Kernel, option: str, told: str
) -> None:
    run = kernel.run(f"%%agent {option}\nhi")

    assert run.status == "error"
    assert told in run.stream("stderr")
    assert len(run.stream("stderr").strip().splitlines()) == 1
    assert "Hello." in kernel.run("%%agent\nhi").markdown()


@pytest.mark.soak
def test_two_runs_of_a_script_go_on_with_the_folders_session(tmp_path: Path) -> None:
    script = (
        "import palimpsest\n"
        "session = palimpsest.current_session()\n"
        "session.prompt('What is 2+2?')\n"
        "print(session.id, len(session.messages))"
    )
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    environment["PYTHONPATH"] = str(ROOT / "kernel_ext")

    def said() -> list[str]:
        command = [sys.executable, "-c", script]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout.split()

    (first, few), (second, more) = said(), said()

    assert first == second
    assert int(more) == 2 * int(few)
