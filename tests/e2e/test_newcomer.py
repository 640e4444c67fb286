"""A newcomer finds the panel by keyboard."""

import nbformat
import pytest
from playwright.sync_api import Page, expect
from tests.e2e.jupyterlab import READY, Lab, PageErrors, open_notebook, photograph

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

START = "notebooks/00-start.ipynb"
WHERE = "press *Agent* at the right edge of the window, or choose it in the menu *Agent*"


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
