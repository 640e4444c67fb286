"""A prompt in the panel names a cell and a variable by the keyboard; chips say what goes along."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.e2e.jupyterlab import (
    PHOTOGRAPHED,
    SAMPLED_THEMES,
    Lab,
    PageErrors,
    choose_theme,
    photograph,
)
from tests.e2e.running_notebook import Notebook, begin
from tests.e2e.test_composer import violations
from tests.e2e.test_fix_error import SCRIPT, panel_of
from tests.e2e.test_panel import COMMAND, at_rest, composer, transcript_region

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

BIRDS = "birds = {'robin': 20, 'wren': 9}\nprint('PRINTED-' + 'ONCE')"
FAILING = "birds['owl']"
SENT = """request = str(harness.model.requests[-1])
print([one in request for one in ('PRINTED-ONCE', 'The variable that the user names, birds', '2 items')])"""
WIDTHS = (1280, 800, 400)


def opened(page: Page, lab: Lab, name: str, *cells: str) -> tuple[Notebook, Locator]:
    """A notebook with two cells that ran, the second in vain, and the open panel."""
    notebook = begin(page, lab, name, SCRIPT, BIRDS, FAILING, *cells, told=True)
    for number in (1, 2, 3):
        notebook.run(number)
    page.evaluate(COMMAND, "jupyter-palimpsest:focus-composer")
    panel = panel_of(page)
    expect(composer(panel)).to_be_focused()
    return notebook, panel


def active(panel: Locator) -> Locator:
    """Return the option that Enter takes."""
    return panel.locator("[role=option][aria-selected=true]")


def look(page: Page, panel: Locator) -> None:
    """Photograph list and chips in three widths, light and dark."""
    for theme in SAMPLED_THEMES if PHOTOGRAPHED else ():
        choose_theme(page, theme)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            composer(panel).focus()
            page.keyboard.press("End")
            page.keyboard.type("@")
            expect(active(panel)).to_be_visible()
            photograph(page, f"mentions-{width}-{theme.split()[-1].lower()}")
            page.keyboard.press("Escape")
            page.keyboard.press("Backspace")
    page.set_viewport_size({"width": 1280, "height": 900})
    choose_theme(page, "JupyterLab Light")


@pytest.mark.soak  # with each commit labextension/tests/views/composer/mentions.test.tsx and tests/frontends/page_channel/test_mentions.py have both sides; this adds both together
def test_a_cell_and_a_variable_are_named_by_the_keyboard(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    notebook, panel = opened(page, lab, "mentions", SENT)
    field, chips = composer(panel), panel.locator(".plm-MentionChip")

    field.press_sequentially("compare @")
    expect(active(panel)).to_have_attribute("aria-label", "@error")
    expect(panel.get_by_role("option", name="@birds", exact=True)).to_contain_text("dict, 2 items")
    field.press_sequentially("ce")
    expect(active(panel)).to_have_attribute("aria-label", "@cell 4")
    field.press("ArrowDown")
    expect(active(panel)).to_have_attribute("aria-label", "@cell 3")
    expect(field).to_have_attribute(
        "aria-activedescendant", active(panel).get_attribute("id") or ""
    )
    field.press("Enter")
    expect(field).to_have_value("compare @cell 3 ")
    field.press_sequentially("with @bir")
    expect(active(panel)).to_have_attribute("aria-label", "@birds")
    field.press("Tab")
    field.press_sequentially("and @cell 99, @error ")

    expect(chips.nth(0)).to_have_text(re.compile(r"cell 3 with its outputs · ~\d+ tokens"))
    expect(chips.nth(1)).to_have_text(re.compile(r"birds dict, 2 items · ~\d+ tokens"))
    expect(chips.nth(2)).to_have_text("no cell 99")
    expect(chips.nth(3)).to_have_text(re.compile(r"error of cell 4: KeyError: .owl. · ~\d+ tokens"))
    expect(page.locator("#jp-main-statusbar")).to_contain_text("| Idle")
    assert violations(page) == []
    look(page, panel)

    field.fill("compare @cell 3 with @birds")
    expect(chips).to_have_count(2)
    field.press("Enter")
    expect(chips).to_have_count(0)
    expect(transcript_region(panel).get_by_text("You divide by zero.")).to_be_visible()
    at_rest(panel)
    notebook.run(4)

    expect(notebook.cell(4).locator(".jp-OutputArea-output")).to_have_text("[True, True, True]")
    assert seen.errors == []
