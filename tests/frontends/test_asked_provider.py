"""A cell that asks a provider: checks before the request, and one session of a folder for all scripts."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.harness.kernel import Kernel
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
