"""A held request in JupyterLab: its card in the panel and in the cell, changed, sent and stopped there."""

import re

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.jupyterlab import Lab, PageErrors, choose_theme, photograph
from tests.e2e.test_composer import violations
from tests.e2e.test_panel import BEGIN, at_rest, send, transcript_region
from tests.e2e.test_permissions import begin

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_a_request_is_seen_changed_and_sent_from_the_panel_and_stopped_in_the_cell(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    panel = begin(page, lab, "step/one.ipynb", "%agent step on", "%agent hello")
    page.evaluate(BEGIN, 1)
    expect(page.locator(".jp-Notebook").get_by_text("Step mode is on")).to_be_visible()
    send(panel, "hello")
    card = transcript_region(panel).get_by_role("group", name=re.compile("Request 1 is held"))
    expect(card).to_be_visible()
    expect(card.get_by_text("The first request to", exact=False)).to_be_visible()
    assert violations(page) == []
    photograph(page, "step-held")
    choose_theme(page, "JupyterLab Dark")
    photograph(page, "step-held-dark")
    choose_theme(page, "JupyterLab Light")

    field = card.get_by_label("prune.protect_tokens")
    field.fill("12345")
    field.press("Enter")
    expect(card.get_by_label("prune.protect_tokens")).to_have_value("12345")
    card.get_by_role("button", name=re.compile("New in it")).click()
    photograph(page, "step-held-items")
    card.get_by_role("button", name="Send", exact=True).press("1")
    expect(card).to_have_count(0)
    at_rest(panel)

    page.evaluate(BEGIN, 2)
    in_cell = page.locator(".jp-Notebook").get_by_role("group", name=re.compile("is held"))
    expect(in_cell.first).to_be_visible()
    photograph(page, "step-held-cell")
    in_cell.first.get_by_role("button", name="Stop", exact=True).click()
    expect(in_cell).to_have_count(0)
    at_rest(panel)
    assert seen.errors == []
