"""A command behind a slash is found by a few letters, completed, carried out, and answered in the panel."""

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.e2e.jupyterlab import (
    SAMPLED_THEMES,
    SECOND_LOOK,
    Lab,
    PageErrors,
    choose_theme,
    photograph,
)
from tests.e2e.test_composer import violations
from tests.e2e.test_panel import (
    at_rest,
    composer,
    open_scripted_notebook,
    send,
    transcript_region,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

ANSWERS = "says('Hello.'), says('Mended.'), says('Again.')"


def typed(panel: Locator, words: str) -> None:
    """Type a whole command and send it."""
    composer(panel).fill(words)
    composer(panel).press("Enter")


def answer(panel: Locator, command: str) -> Locator:
    """Return what a typed command answered."""
    return panel.get_by_role("region", name=f"Answer of {command}")


def test_a_command_is_found_completed_and_answered(page: Page, lab: Lab, seen: PageErrors) -> None:
    panel = open_scripted_notebook(page, lab, "slash.ipynb", ANSWERS)
    send(panel, "Hi")
    expect(transcript_region(panel).get_by_text("Hello.")).to_be_visible()
    at_rest(panel)
    field = composer(panel)

    field.press_sequentially("/")
    for name in ("compact", "context", "fix", "explain", "policy", "model", "mode", "new", "fork"):
        expect(panel.get_by_role("option", name=f"/{name}", exact=True)).to_be_attached()
    for name in ("export", "share", "inspect", "help"):
        expect(panel.get_by_role("option", name=f"/{name}", exact=True)).to_be_attached()
    for theme in SAMPLED_THEMES:
        choose_theme(page, theme)
        field.focus()
        field.press("ArrowDown")
        photograph(page, f"slash-list-{theme.split()[-1].lower()}")
        assert violations(page) == []
    choose_theme(page, "JupyterLab Light")
    field.fill("")
    field.press_sequentially("/expt")
    expect(panel.get_by_role("option")).to_have_count(1)
    expect(panel.get_by_role("option")).to_contain_text("md|ipynb|json|html")
    field.press("Tab")
    expect(field).to_have_value("/export ")
    field.press_sequentially("m")
    expect(panel.get_by_role("option", name="md")).to_be_visible()
    field.press("Tab")
    expect(field).to_have_value("/export md ")
    field.press("Enter")

    exported = answer(panel, "/export md")
    expect(exported).to_contain_text(".md")
    expect(field).to_have_value("")
    photograph(page, "slash-answer")
    assert violations(page) == []
    exported.get_by_role("button", name="Close", exact=True).click()
    expect(exported).to_have_count(0)
    expect(field).to_be_focused()

    typed(panel, "/mode plan")
    expect(answer(panel, "/mode plan")).to_contain_text("The mode of this session is plan")
    expect(panel.get_by_role("button", name="Mode: plan")).to_be_visible()
    typed(panel, "/help")
    expect(answer(panel, "/help").get_by_role("row")).not_to_have_count(0)
    choose_theme(page, SECOND_LOOK)
    photograph(page, "slash-help-dark")
    choose_theme(page, "JupyterLab Light")
    typed(panel, "/mode plan please")
    expect(panel.get_by_role("alert")).to_contain_text("/mode does not take 'plan please'")
    expect(field).to_have_value("/mode plan please")
    expect(panel.locator(".plm-TurnPrompt-text")).to_have_text(["Hi"])
    assert seen.errors == []


@pytest.mark.soak  # with each commit the test above shows answers in words; this adds commands that open a view
def test_a_command_opens_the_view_that_the_page_has_of_it(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    panel = open_scripted_notebook(page, lab, "slash-views.ipynb", ANSWERS)
    typed(panel, "/context")
    expect(answer(panel, "/context")).to_contain_text("No request was sent in this session yet.")
    send(panel, "Hi")
    at_rest(panel)

    typed(panel, "/context")
    expect(panel.get_by_role("table")).to_be_visible()
    typed(panel, "/context at 1")
    expect(answer(panel, "/context at 1")).to_be_visible()
    typed(panel, "/share")
    expect(panel.get_by_role("group", name="Share")).to_be_visible()
    expect(panel.get_by_role("button", name="Make the page")).to_be_focused()
    photograph(page, "slash-share")
    panel.get_by_role("group", name="Share").get_by_role("button", name="Close", exact=True).click()
    expect(composer(panel)).to_be_focused()
    typed(panel, "/sessions")
    expect(panel.get_by_role("region", name="Sessions")).to_be_visible()
    panel.get_by_role("button", name="New session").press("Escape")
    typed(panel, "/new Birds of the north")
    expect(panel.get_by_role("heading", name="Birds of the north")).to_be_visible()
    typed(panel, "/inspect")
    expect(
        page.locator(
            ".jp-MainAreaWidget", has=page.locator(".plm-InspectorTab, .plm-Inspector")
        ).first
    ).to_be_visible()
    assert seen.errors == []
