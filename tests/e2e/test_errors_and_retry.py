"""Failures are shown in cell and panel, with a button for the remedy."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.forked_kernels import STARTED
from tests.e2e.jupyterlab import READY, Lab, PageErrors, open_notebook, photograph
from tests.e2e.test_panel import (
    BEGIN,
    RUN,
    at_rest,
    book,
    composer,
    open_panel,
    open_scripted_notebook,
    send,
    transcript_region,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

OUTPUT = ".jp-Notebook .plm-SegmentWidget"
KILL = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"


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


@pytest.mark.soak  # with each commit labextension/tests/views/chat/chatPanel.test.tsx restarts one; this adds one that dies, and JupyterLab's dialogs
@pytest.mark.usefixtures("own_page")
def test_a_dead_kernel_is_restarted_from_the_panel(
    page: Page, lab: Lab, failing_kernel: Path
) -> None:
    name = book(lab, "again-dead.ipynb", "%load_ext palimpsest", KILL, kernel="mortal")
    open_notebook(page, lab, name)
    page.evaluate(READY)
    panel = open_panel(page)
    page.evaluate(RUN, 0)
    send(panel, "hello")
    expect(panel.locator(".plm-Text").first).to_be_visible()
    at_rest(panel)
    composer(panel).fill("a draft")

    failing_kernel.touch()
    page.evaluate(BEGIN, 1)
    expect(panel.get_by_text("The kernel of again-dead.ipynb has died")).to_be_visible()
    # JupyterLab shows a dialog, too, one for each attempt; they may come later than ours.
    page.add_locator_handler(
        page.locator(".jp-Dialog").first,
        lambda dialog: dialog.get_by_role("button").last.click(),
        no_wait_after=True,  # of two dialogs on top of each other one remains
    )
    photograph(page, "again-dead")
    failing_kernel.unlink()
    panel.get_by_role("button", name="Restart the kernel").click()

    panel.get_by_role("button", name="Load it").click()
    expect(panel.locator(".plm-TurnPrompt-text", has_text="hello")).to_be_visible()
    expect(composer(panel)).to_have_value("a draft")
    send(panel, "again")
    expect(panel.locator(".plm-TurnPrompt-text", has_text="again")).to_be_visible()
    at_rest(panel)
