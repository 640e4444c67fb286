"""A newcomer finds the panel by keyboard, and is told in one line that a rehearsal answers."""

import re

import nbformat
import pytest
from playwright.sync_api import Locator, Page, expect
from tests.e2e.jupyterlab import READY, Lab, PageErrors, open_notebook, photograph, wait_until_drawn
from tests.e2e.test_panel import (
    RUN,
    at_rest,
    book,
    composer,
    open_panel,
    send,
    transcript_region,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

START = "notebooks/00-start.ipynb"
WHERE = "press *Agent* at the right edge of the window, or choose it in the menu *Agent*"


def one_line(notice: Locator) -> None:
    """Assert that a notice is closed and one line high."""
    expect(notice).to_have_attribute("data-open", "false")
    assert notice.evaluate("node => node.getBoundingClientRect().height") <= 28
    expect(notice.locator("[title]")).to_have_attribute("title", re.compile("set a provider's key"))


@pytest.mark.soak  # with each commit labextension/tests/views/parts/markdownText.test.tsx folds it; this adds that it is one line high
def test_the_rehearsal_says_in_one_line_that_it_is_one(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    open_notebook(
        page, lab, book(lab, "newcomer.ipynb", "%load_ext palimpsest", "%%agent\ncalculate 6*7")
    )
    page.evaluate(READY)
    panel = open_panel(page)
    page.evaluate(RUN, 0)
    expect(composer(panel)).to_be_visible()
    send(panel, "thanks")
    at_rest(panel)
    told = transcript_region(panel).locator(".plm-ModelNotice")
    for width in (1440, 420):
        page.set_viewport_size({"width": width, "height": 900})
        wait_until_drawn(page)
        photograph(page, f"newcomer-panel-{width}")
        one_line(told)
    told.get_by_role("button").press("Enter")
    expect(told.locator("code", has_text="ANTHROPIC_API_KEY")).to_be_visible()
    assert seen.errors == []


@pytest.mark.soak  # with each commit tests/e2e/test_panel.py opens it by the command that all three run; this adds sign, menu and card
@pytest.mark.usefixtures("own_page")
def test_the_panel_is_found_by_its_sign_its_menu_and_its_card_with_keys(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    first = nbformat.read(lab.folder / START, as_version=4).cells[0].source
    assert WHERE in first
    open_notebook(page, lab, START)
    page.evaluate(READY)
    panel = page.locator("#jupyter-palimpsest-panel")
    sign = page.get_by_role("tab", name="Agent")
    expect(sign.locator(".lm-TabBar-tabLabel")).to_have_text("Agent")
    sign.focus()
    page.keyboard.press("Enter")
    expect(panel).to_be_visible()
    page.evaluate("window.jupyterapp.shell.collapseRight()")

    page.get_by_role("menuitem", name="Agent", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.locator(".lm-Menu-item.lm-mod-active .lm-Menu-itemLabel")).to_have_text(
        "Open the Agent Panel"
    )
    page.keyboard.press("Enter")
    expect(panel).to_be_visible()
    page.evaluate("window.jupyterapp.shell.collapseRight()")

    page.evaluate("void window.jupyterapp.commands.execute('launcher:create')")
    card = page.locator(".jp-LauncherCard:visible", has_text="Agent")
    expect(card).to_be_visible()
    photograph(page, "newcomer-launcher")
    card.focus()
    page.keyboard.press("Enter")
    expect(panel).to_be_visible()
    assert seen.errors == []
