"""The session list in the panel: search, rename, archive, fork and delete."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.e2e.jupyterlab import SECOND_LOOK, Lab, PageErrors, choose_theme, photograph
from tests.e2e.shared_browser import SIZE
from tests.e2e.test_panel import (
    AXE,
    VIOLATIONS,
    at_rest,
    open_scripted_notebook,
    send,
    transcript_region,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

ANSWERS = ", ".join(f"says('Answer {n}.')" for n in range(9))


@pytest.fixture
def panel(page: Page, lab: Lab, request: pytest.FixtureRequest) -> Locator:
    """The panel of a notebook with two sessions, of which the second is shown."""
    panel = open_scripted_notebook(page, lab, f"shelf-{request.node.name}.ipynb", ANSWERS)
    send(panel, "Count the penguins by island")
    expect(transcript_region(panel).get_by_text("Answer 0.")).to_be_visible()
    at_rest(panel)
    panel.locator(".plm-Panel-sessions").click()
    panel.get_by_role("button", name="New session").first.click()
    expect(transcript_region(panel).get_by_text("Write below, or begin a cell")).to_be_visible()
    send(panel, "Plot a very long title of weather in all of the cities that we know of")
    expect(transcript_region(panel).get_by_text("Answer 1.")).to_be_visible()
    at_rest(panel)
    panel.locator(".plm-Panel-sessions").click()
    expect(rows(panel)).to_have_count(2)
    return panel


def rows(panel: Locator) -> Locator:
    return panel.locator(".plm-Sessions-row")


def unfold(panel: Locator, title: str) -> None:
    panel.get_by_role("button", name=f"What to do with {title}").click()


def test_a_session_is_forked_deleted_after_a_second_press_found_named_and_put_away(
    page: Page, panel: Locator, seen: PageErrors
) -> None:
    unfold(panel, "Count the penguins")
    panel.get_by_role("button", name="Fork", exact=True).click()
    expect(panel.locator(".plm-Panel-name")).to_have_text("Count the penguins by island (fork #1)")
    expect(transcript_region(panel).get_by_text("Answer 0.")).to_be_visible()

    panel.locator(".plm-Panel-sessions").click()
    expect(rows(panel)).to_have_count(3)
    choose_theme(page, SECOND_LOOK)
    unfold(panel, "Count the penguins by island (fork #1)")
    panel.locator(".plm-Sessions-actions").get_by_role("button", name="Delete", exact=True).click()
    expect(panel.get_by_role("button", name="Keep it")).to_be_focused()
    photograph(page, "sessions-dark")
    page.add_script_tag(path=AXE)
    assert page.evaluate(VIOLATIONS, "#jupyter-palimpsest-panel") == []
    panel.get_by_role("button", name="Delete for good").click()

    expect(rows(panel)).to_have_count(2)
    panel.get_by_role("searchbox").press("Escape")
    expect(panel.locator(".plm-Panel-name")).not_to_contain_text("fork")

    panel.locator(".plm-Panel-sessions").click()
    expect(rows(panel)).to_have_count(2)
    field = panel.get_by_role("searchbox")
    field.fill("penguins ISLAND")
    expect(rows(panel)).to_have_count(1)
    expect(panel.get_by_text("1 session", exact=True)).to_be_visible()
    field.fill("")
    expect(rows(panel)).to_have_count(2)

    unfold(panel, "Count the penguins")
    photograph(page, "sessions-light")
    panel.get_by_role("button", name="Rename", exact=True).click()
    panel.get_by_role("textbox", name="New title").fill("Penguins")
    panel.get_by_role("textbox", name="New title").press("Enter")
    expect(rows(panel).filter(has_text="Penguins")).to_have_count(1)

    unfold(panel, "Penguins")
    panel.locator(".plm-Sessions-actions").get_by_role("button", name="Archive", exact=True).click()
    expect(rows(panel)).to_have_count(1)
    panel.get_by_role("checkbox", name="Archived").check()
    expect(rows(panel)).to_have_text(re.compile("Penguins"))
    unfold(panel, "Penguins")
    panel.get_by_role("button", name="Unarchive").click()
    expect(panel.get_by_text("No session is archived.")).to_be_visible()
    assert seen.errors == []


@pytest.mark.soak  # with each commit the test above forks; this adds the keyboard and a narrow panel
def test_it_is_used_by_keyboard_in_a_narrow_panel_and_shows_and_selects_the_fork_of_a_prompt(
    page: Page, panel: Locator, seen: PageErrors
) -> None:
    page.set_viewport_size({"width": 720, "height": 700})
    unfold(panel, "Plot a very long title")
    photograph(page, "sessions-narrow")
    box = panel.bounding_box()
    deeds = panel.locator(".plm-ActionButton")
    assert box is not None
    for number in range(deeds.count()):
        found = deeds.nth(number).bounding_box()
        assert found is not None
        assert found["x"] + found["width"] <= box["x"] + box["width"] + 0.5
    page.keyboard.press("Tab")
    expect(deeds.first).to_be_focused()
    page.keyboard.press("Escape")
    expect(deeds).to_have_count(0)
    expect(rows(panel)).to_have_count(2)
    page.keyboard.press("Escape")
    expect(rows(panel)).to_have_count(0)
    page.set_viewport_size(SIZE)  # type: ignore[arg-type]

    panel.locator(".plm-Panel-sessions").click()
    expect(rows(panel)).to_have_count(2)
    titles = panel.locator(".plm-Sessions-title")
    expect(titles.first).to_have_text(re.compile("^Plot a very long title"))

    # At its first prompt: the fork has no message of its own yet.
    panel.get_by_role("button", name="Fork here").first.click()

    chosen = panel.locator(".plm-Sessions-row[aria-current='true']")
    expect(chosen).to_contain_text("a fork")
    expect(chosen).to_be_in_viewport()
    expect(rows(panel)).to_have_count(3)
    expect(panel.locator(".plm-Panel-name")).to_contain_text("(fork #1)")
    for width in (1440, 420):
        page.set_viewport_size({"width": width, "height": 900})
        photograph(page, f"sessions-fork-{width}")
    page.set_viewport_size(SIZE)  # type: ignore[arg-type]
    assert seen.errors == []
