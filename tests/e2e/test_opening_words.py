"""What is unusual about a session's folder or notebook is told in the panel, once and with what can be done."""

import json
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.e2e.jupyterlab import READY, ROOT, Lab, PageErrors, open_notebook, photograph
from tests.e2e.test_narrow_panel import LETTERS, PANEL, SQUEEZED
from tests.e2e.test_panel import (
    RUN,
    at_rest,
    composer,
    open_panel,
    send,
    transcript_region,
)
from tests.harness.saved_notebook import OpenNotebook, SavedNotebook

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

LOAD = f"""import sys
sys.path.insert(0, {str(ROOT)!r})
from palimpsest.model.script import says
from tests.frontends.foreign_logs import load
app = load(get_ipython(), *[says(f'Answer {{number}}.') for number in range(1, 9)])"""
SPEC = {"name": "python3", "display_name": "python3", "language": "python"}
WAS = "This notebook was 'a.ipynb'"


def project_of(lab: Lab, name: str) -> Path:
    folder = lab.folder / name
    # A project of its own, also where an earlier test made one of the folder around it.
    (folder / ".palimpsest").mkdir(parents=True, mode=0o700)
    return folder


def asked(project: Path, name: str) -> SavedNotebook:
    """A notebook in whose cells two prompts were asked, and a cell that loads the agent."""
    notebook = SavedNotebook(project / name)
    with OpenNotebook(project, name) as kernel:
        kernel.ask(notebook, "What is in penguins.csv?", "Draw the islands.")
    notebook.add("load", LOAD)
    notebook.save()
    made = json.loads(notebook.path.read_text())
    made["metadata"]["kernelspec"] = SPEC
    notebook.path.write_text(json.dumps(made))
    return notebook


def opened(page: Page, lab: Lab, path: Path) -> Locator:
    """Open a notebook, load its agent in the last cell, and show the panel."""
    open_notebook(page, lab, str(path.relative_to(lab.folder)))
    page.evaluate(READY)
    panel = open_panel(page)
    page.evaluate(RUN, 2)
    expect(composer(panel)).to_be_visible()
    return panel


@pytest.mark.soak  # with each commit tests/frontends/test_moved_notebooks.py and test_removed_folder.py say it, and labextension/tests/views/chat/chatPanel.test.tsx shows what a kernel says
@pytest.mark.usefixtures("own_page")
def test_a_moved_notebook_is_told_of_until_the_next_prompt_and_a_folder_that_is_gone_with_the_way_out(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    project = project_of(lab, "moved")
    asked(project, "a.ipynb").path.rename(project / "b.ipynb")

    panel = opened(page, lab, project / "b.ipynb")
    notice = panel.get_by_role("status").filter(has_text=WAS)
    expect(notice).to_be_visible()
    expect(notice).to_contain_text("begins another one")
    expect(transcript_region(panel).get_by_text("Draw the islands.")).to_be_visible()
    photograph(page, "opening-moved")
    send(panel, "And now?")
    expect(transcript_region(panel).get_by_text("Answer 1.")).to_be_visible()
    at_rest(panel)
    expect(panel.get_by_text(WAS)).to_have_count(0)

    # The kernel may write there meanwhile: out of its way first, at once.
    gone = (project / ".palimpsest").rename(project.with_name("gone-before"))
    shutil.rmtree(gone, ignore_errors=True)

    composer(panel).fill("And now?")
    composer(panel).press("Enter")
    alert = panel.get_by_role("alert").filter(has_text="so nothing was sent")
    expect(alert).to_be_visible()
    expect(alert).to_contain_text("New session in the panel")
    page.set_viewport_size({"width": 900, "height": 900})
    assert page.evaluate(SQUEEZED, [PANEL, LETTERS]) == []
    photograph(page, "opening-gone")
    composer(panel).fill("/new")
    composer(panel).press("Enter")
    notice = panel.get_by_role("status").filter(has_text="so a new one was made")
    expect(notice).to_be_visible()
    assert page.evaluate(SQUEEZED, [PANEL, LETTERS]) == []
    photograph(page, "opening-new")
    notice.get_by_role("button", name="Dismiss").click()
    expect(notice).to_have_count(0)
    send(panel, "And now?")
    expect(transcript_region(panel).get_by_text("Answer 2.")).to_be_visible()
    at_rest(panel)
    assert (project / ".palimpsest" / ".gitignore").exists()
    assert seen.errors == []
