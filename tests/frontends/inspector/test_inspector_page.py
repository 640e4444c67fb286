"""Every Python example of docs/inspector.md runs, in a kernel and over a recording."""

import re
from pathlib import Path

import pytest
from tests.harness.kernel import Kernel
from tests.recordings.formats.sample_files import sample

PAGE = (Path(__file__).parents[3] / "docs" / "inspector.md").read_text("utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.soak  # with each commit tests/packaging/test_doc_examples.py runs other pages; this adds the inspector's
@pytest.mark.slow
def test_every_example_of_the_page_runs(tmp_path: Path) -> None:
    sample("marshmallow-1867.traj", tmp_path).rename(tmp_path / "recording.jsonl")
    with Kernel(cwd=tmp_path, env={"PALIMPSEST_REHEARSAL_DELAY": "0"}) as kernel:
        kernel.client.run("%load_ext palimpsest\nimport palimpsest")
        kernel.client.run("%agent -m rehearsal/rules Hello.")
        for example in EXAMPLES:
            run = kernel.client.run(example)
            assert run.status == "ok", (example, run.reply["content"])

    assert len(EXAMPLES) == 4
    assert (tmp_path / "session.html").stat().st_size > 10_000
