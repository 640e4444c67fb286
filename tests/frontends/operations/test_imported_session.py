"""``%agent context`` and ``%agent status`` of a recording of another agent tell what it holds, not what we would send."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.harness.kernel import Kernel
from tests.recordings.formats.sample_files import sample
from tests.recordings.money_recordings import RIGHT, write_recordings
from tests.sample_size import thinned

import palimpsest
from palimpsest.context_policies.prompt_cache.ruler import amount_with_unit

ID = re.compile(r"\bses_\w+")

pytestmark = pytest.mark.slow


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    write_recordings(tmp_path / "made")
    sample("pi_version_3.jsonl", tmp_path)
    env = {"PALIMPSEST_REHEARSAL_DELAY": "0", "JPY_SESSION_NAME": str(tmp_path / "a.ipynb")}
    with Kernel(cwd=tmp_path, env=env) as kernel:
        assert kernel.client.run("%load_ext palimpsest\nimport palimpsest").status == "ok"
        yield kernel


def opened(kernel: Kernel, path: Path) -> str:
    """Import a recording and make it the notebook's session; returns its id."""
    run = kernel.client.run
    markdown = run(f"%agent import ./{path.relative_to(kernel.folder)}").markdown()
    match = ID.search(markdown.replace("\\", ""))
    assert match is not None
    assert "is only read" in run(f"%agent use {match[0]}").markdown()
    return match[0]


@pytest.mark.parametrize(
    "name", thinned(["unknown_model.jsonl", "five_minutes.jsonl", "sweagent.traj"], 3)
)
def test_status_tells_what_the_recording_cost(name: str, kernel: Kernel) -> None:
    path = kernel.folder / "made" / name.replace(".", "-") / name
    opened(kernel, path)

    markdown = kernel.client.run("%agent status").markdown()

    if name in RIGHT:
        basis = "fact" if name == "unknown_model.jsonl" else "estimate"
        assert amount_with_unit(RIGHT[name], "USD", basis) in markdown.replace("\\", "")
    else:
        assert "1.25 USD spent, 5,000 tokens sent" in markdown


def test_context_is_the_recordings_own(kernel: Kernel) -> None:
    path = kernel.folder / "pi_version_3.jsonl"
    opened(kernel, path)
    review = palimpsest.open_recording(path)[0]
    last = review.timeline.requests[-1]

    (output,) = kernel.client.run("%agent context").outputs()
    told = output["data"]["text/plain"]

    assert f"the last one that {review.timeline.origin} recorded" in told
    assert last.model in told
    assert f"The provider counted {last.reported:,} tokens" in told
    # Neither our prompt nor our tools are in it.
    for ours in ("Palimpsest", "run_cell", "as the next request would begin", "Tool descriptions"):
        assert ours not in told
