"""Failures are shown in cell and panel, with a button for the remedy."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.forked_kernels import STARTED
from tests.e2e.jupyterlab import Lab, PageErrors, photograph
from tests.e2e.test_panel import (
    RUN,
    at_rest,
    open_scripted_notebook,
    transcript_region,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

OUTPUT = ".jp-Notebook .plm-SegmentWidget"


def test_a_failed_turn_is_tried_again_from_its_cell(page: Page, lab: Lab, seen: PageErrors) -> None:
    answers = "calls('python', code='6 * 7'), says(''), says('It is 42.')"
    # After a tool call an empty answer means "done", so the scripted failure is the provider's.
    answers = answers.replace("says('')", "*[fails(503, retry_after=0.02)] * 6")
    panel = open_scripted_notebook(page, lab, "again-cell.ipynb", answers, "%%agent -y\nwork")
    page.evaluate(RUN, 1)
    cell = page.locator(OUTPUT).last
    retry = cell.get_by_role("button", name="Retry", exact=True)
    expect(retry).to_be_visible()
    expect(panel.get_by_role("button", name="Retry", exact=True)).to_be_visible()
    photograph(page, "again-failed")

    retry.click()

    expect(cell.get_by_text("It is 42.")).to_be_visible()
    expect(transcript_region(panel).get_by_text("It is 42.")).to_be_visible()
    at_rest(panel)
    expect(panel.locator(".plm-TurnPrompt-text")).to_have_text(["work"])
    expect(panel.locator(".plm-Tool-name", has_text="python")).to_have_count(1)
    transcript_region(panel).get_by_role("button", name="python").click()
    expect(transcript_region(panel).get_by_text("allowed by --yes")).to_be_visible()
    expect(page.get_by_role("button", name="Retry", exact=True)).to_have_count(0)
    photograph(page, "again-answered")
    # What was received is saved in the notebook too, for readers without a kernel.
    page.wait_for_function(
        "() => JSON.stringify(window.jupyterapp.shell.currentWidget.context.model.toJSON())"
        ".includes('It is 42.')"
    )
    assert seen.errors == []


@pytest.fixture
def failing_kernel(lab: Lab) -> Iterator[Path]:
    """A kernel spec that cannot start while a file exists; yields the file."""
    flag = lab.folder / "mortal.flag"
    folder = lab.folder.parent / "share" / "kernels" / "mortal"
    folder.mkdir(parents=True, exist_ok=True)
    specs = [folder.parent / name / "kernel.json" for name in ("python3", STARTED)]
    other = json.loads(next(spec for spec in specs if spec.is_file()).read_text())
    spec = {
        "argv": ["bash", "-c", f'test ! -e {flag} && exec "$@"', "bash", *other["argv"]],
        "display_name": "Mortal",
        "language": "python",
    }
    (folder / "kernel.json").write_text(json.dumps(spec))
    yield flag
    flag.unlink(missing_ok=True)
