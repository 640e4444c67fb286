"""Reverts in the panel: previewed first, undone with a button, and made final on request."""

import nbformat
import pytest
from playwright.sync_api import Locator, Page, expect
from tests.e2e.jupyterlab import Lab, PageErrors, choose_theme, photograph
from tests.e2e.running_notebook import TELLS
from tests.e2e.test_panel import (
    AXE,
    RUN,
    VIOLATIONS,
    at_rest,
    composer,
    open_scripted_notebook,
    send,
    transcript_region,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

ANSWERS = (
    "calls('write', path='poem.txt', content='Roses are red.\\nViolets are blue.\\n'), says('Written.'),"
    "calls('bash', command='echo Sugar is sweet. >> poem.txt; echo data > data.csv'), says('Longer.'),"
    "says('Instead.'), snapshots=True"
)


def two_turns(page: Page, lab: Lab, name: str) -> Locator:
    panel = open_scripted_notebook(page, lab, name, ANSWERS)
    for words, answer in (("Write a poem", "Written."), ("Make it longer", "Longer.")):
        send(panel, words)
        panel.locator(".plm-Answers button[data-answer='once']").first.click()
        expect(transcript_region(panel).get_by_text(answer).first).to_be_visible()
        at_rest(panel)
    return panel


@pytest.mark.soak  # with each commit labextension/tests/views/transcript/revertControls.test.tsx has the buttons, and tests/frontends/test_revert_in_a_kernel.py takes back; this adds both together
def test_a_prompt_is_taken_back_and_brought_again(page: Page, lab: Lab, seen: PageErrors) -> None:
    panel = two_turns(page, lab, "panel-revert.ipynb")
    poem = lab.folder / "poem.txt"
    expect(transcript_region(panel).get_by_role("button", name="2 files changed")).to_be_visible()
    transcript_region(panel).get_by_role("button", name="2 files changed").press("Enter")
    photograph(page, "panel-changes")

    transcript_region(panel).get_by_role("button", name="Revert to here…").nth(1).press("Enter")
    dialog = page.get_by_role("dialog", name="Revert to here?")
    expect(dialog.get_by_text("is deleted")).to_be_visible()
    dialog.get_by_role("button", name="poem.txt").press("Enter")
    photograph(page, "panel-revert")
    choose_theme(page, "JupyterLab Dark")
    photograph(page, "panel-revert-dark")
    page.add_script_tag(path=AXE)
    assert page.evaluate(VIOLATIONS, "#jupyter-palimpsest-panel") == []
    assert "Sugar" in poem.read_text()

    dialog.get_by_role("button", name="Revert", exact=True).press("Enter")
    banner = panel.get_by_text("messages reverted")
    expect(banner).to_be_visible()
    expect(dialog).to_have_count(0)
    photograph(page, "panel-taken-back-dark")
    choose_theme(page, "JupyterLab Light")
    photograph(page, "panel-taken-back")
    assert page.evaluate(VIOLATIONS, "#jupyter-palimpsest-panel") == []
    assert poem.read_text() == "Roses are red.\nViolets are blue.\n"
    assert not (lab.folder / "data.csv").exists()

    panel.get_by_role("button", name="Undo", exact=True).press("Enter")
    expect(banner).to_have_count(0)
    assert "Sugar" in poem.read_text()
    poem.unlink()
    (lab.folder / "data.csv").unlink()
    assert seen.errors == []


@pytest.mark.soak  # with each commit labextension/tests/notebook/savedOutputs/removedMarks.test.ts says it; this adds the notebook that is saved
def test_a_cell_says_for_good_what_was_taken_back(page: Page, lab: Lab, seen: PageErrors) -> None:
    panel = open_scripted_notebook(
        page, lab, "cell-revert.ipynb", "says('Roses are red.')", "%%agent\nWrite a poem"
    )
    page.evaluate(RUN, 1)
    cell = page.locator(".jp-Notebook .jp-CodeCell").nth(1)
    expect(cell.get_by_text("Roses are red.")).to_be_visible()
    transcript_region(panel).get_by_role("button", name="Revert to here…").click()
    page.get_by_role("dialog").get_by_role("button", name="Revert", exact=True).click()
    expect(cell.get_by_text("Reverted", exact=True)).to_be_visible()
    panel.get_by_role("button", name="Remove for good").click()

    mark = cell.get_by_text("Removed from the session")
    expect(mark).to_be_visible()
    expect(composer(panel)).to_be_focused()
    photograph(page, "cell-removed")
    page.add_script_tag(path=AXE)
    assert page.evaluate(VIOLATIONS, ".jp-Notebook .plm-Segment") == []

    page.wait_for_function(TELLS, arg=[1, "*Removed from the session*"])
    page.evaluate("window.jupyterapp.shell.currentWidget.context.save()")
    saved = nbformat.read(lab.folder / "cell-revert.ipynb", as_version=4)
    words = saved.cells[1].outputs[0].data["text/markdown"]
    assert words.startswith("*Removed from the session*\n\nRoses are red.")
    assert seen.errors == []
