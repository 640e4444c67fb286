"""In a window below 600 px the panel lies over the notebook, which keeps its width."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.e2e.jupyterlab import (
    SAMPLED_THEMES,
    Lab,
    PageErrors,
    choose_theme,
    photograph,
    wait_until_drawn,
)
from tests.e2e.test_composer import violations
from tests.e2e.test_panel import (
    COMMAND,
    RUN,
    at_rest,
    composer,
    open_scripted_notebook,
    send,
    transcript_region,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

NARROW = {"width": 420, "height": 800}
WIDTHS = """() => {
  const width = where => document.querySelector(where).getBoundingClientRect().width;
  return [width('.jp-Notebook'), width('#jupyter-palimpsest-panel')];
}"""
ON_TOP = """() => {
  const box = document.querySelector('.jp-Notebook').getBoundingClientRect();
  const found = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
  return found.closest('#jupyter-palimpsest-panel') !== null;
}"""
CELL_HAS_FOCUS = "document.activeElement?.closest('.jp-Notebook') != null"
OPEN = "jupyter-palimpsest:open-panel"


def panel_of(page: Page) -> Locator:
    return page.locator("#jupyter-palimpsest-panel")


def test_the_panel_covers_the_notebook_and_gives_it_back(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    panel = open_scripted_notebook(
        page, lab, "small.ipynb", "says('Two **species**.'), says('Three.')", "%%agent\nHow many?"
    )
    page.evaluate(RUN, 1)
    at_rest(panel)
    beside = page.evaluate(WIDTHS)
    page.set_viewport_size(NARROW)
    expect(panel).to_have_class(re.compile("plm-mod-overlay"))
    wait_until_drawn(page)
    notebook, covered = page.evaluate(WIDTHS)
    assert notebook >= 340
    assert covered >= 340
    assert page.evaluate(ON_TOP)
    back = panel.get_by_role("button", name="Back to the notebook")
    for theme in SAMPLED_THEMES:
        choose_theme(page, theme)
        photograph(page, f"small-window-{theme.rpartition(' ')[2].lower()}")
    assert violations(page) == []

    back.click()
    expect(panel).to_be_hidden()
    page.wait_for_function(CELL_HAS_FOCUS)
    assert page.evaluate("document.querySelector('.jp-Notebook').clientWidth") >= notebook - 2
    photograph(page, "small-window-notebook")

    page.evaluate(COMMAND, OPEN)
    expect(composer(panel)).to_be_focused()
    send(panel, "And of islands?")
    at_rest(panel)
    expect(transcript_region(panel).get_by_text("Three.")).to_be_visible()
    # Escape leads from the text to the notebook; from anything else in the panel, too.
    composer(panel).press("Escape")
    expect(panel).to_be_hidden()
    page.wait_for_function(CELL_HAS_FOCUS)
    page.evaluate(COMMAND, OPEN)
    panel.get_by_role("button", name="Sessions").or_(back).last.focus()
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    page.wait_for_function(CELL_HAS_FOCUS)

    # What has the focus is never covered.
    page.evaluate(COMMAND, OPEN)
    expect(panel).to_be_visible()
    page.evaluate("window.jupyterapp.shell.currentWidget.content.activeCell.editor.focus()")
    expect(panel).to_be_hidden()

    # A link to a cell shows the cell.
    page.evaluate(COMMAND, OPEN)
    panel.get_by_role("button", name=re.compile(r"^cell \[\d+\]$")).first.click()
    expect(panel).to_be_hidden()
    expect(page.locator(".jp-Notebook .jp-CodeCell").nth(1)).to_be_in_viewport()

    page.evaluate(COMMAND, OPEN)
    page.set_viewport_size({"width": 1280, "height": 900})
    expect(panel).not_to_have_class(re.compile("plm-mod-overlay"))
    expect(back).to_have_count(0)
    wait_until_drawn(page)
    notebook, now = page.evaluate(WIDTHS)
    assert now >= 320
    assert notebook + now <= sum(beside) + 2
    assert seen.errors == []
