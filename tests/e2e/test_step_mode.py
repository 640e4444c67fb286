"""A held request in JupyterLab: its card in the panel and in the cell, changed, sent and stopped there."""

import re

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.jupyterlab import Lab, PageErrors, photograph
from tests.e2e.test_notebook7 import choose, confirm
from tests.e2e.test_panel import (
    BEGIN,
    RUN,
    at_rest,
    send,
    transcript_region,
)
from tests.e2e.test_permissions import begin

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
STEPS = "Permission mode: ask, step by step"


@pytest.mark.usefixtures("own_page")
def test_a_reload_and_a_restart_of_the_kernel_during_a_hold_lose_nothing(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    panel = begin(page, lab, "step/reload.ipynb", "%agent step on", "%agent hello", "%agent step")
    page.evaluate(RUN, 1)
    expect(page.locator(".jp-Notebook").get_by_text("Step mode is on")).to_be_visible()
    send(panel, "hello")
    card = transcript_region(panel).get_by_role("group", name=re.compile("is held"))
    expect(card).to_be_visible()

    page.reload()
    expect(panel.get_by_role("button", name=STEPS)).to_be_visible()
    expect(card).to_be_visible()
    expect(transcript_region(panel).get_by_text("hello", exact=True).first).to_be_visible()
    card.get_by_role("button", name="Stop", exact=True).press("3")
    expect(card).to_have_count(0)
    at_rest(panel)

    page.evaluate(BEGIN, 2)
    cell = page.locator(".jp-CodeCell").nth(2)
    in_cell = cell.get_by_role("group", name=re.compile("is held"))
    expect(in_cell).to_be_visible()
    expect(card).to_be_visible()
    choose(page, "Kernel", "Restart Kernel…")
    confirm(page, "Restart")
    # The interrupt before a restart reaches the cell, or the kernel has gone first; it is shown once.
    told = cell.locator(".plm-Failure[data-state='stopped']")
    expect(told).to_have_text(re.compile(r"^\S*\s*(Stopped\.|Interrupted: the kernel ended)"))
    expect(in_cell).to_have_count(0)
    expect(card).to_have_count(0)
    photograph(page, "step-restarted")

    panel.get_by_role("button", name="Load it").click()
    expect(panel.locator(".plm-TurnPrompt-text")).to_have_text(["hello", "hello"])
    expect(panel.get_by_role("button", name=STEPS)).to_be_visible()
    expect(card).to_have_count(0)
    photograph(page, "step-restarted-loaded")
    page.evaluate(BEGIN, 2)
    expect(in_cell).to_be_visible()
    expect(card).to_be_visible()
    in_cell.get_by_role("button", name="Send this and all that follow").click()
    expect(card).to_have_count(0)
    expect(cell.locator(".plm-Text").first).to_be_visible()
    expect(told).to_have_count(0)
    at_rest(panel)
    assert seen.errors == []
