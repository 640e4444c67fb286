"""How calls end, what is typed as a command, and long questions, as they are seen in a real JupyterLab."""

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.jupyterlab import Lab, PageErrors, photograph
from tests.e2e.test_composer import violations
from tests.e2e.test_panel import (
    at_rest,
    open_scripted_notebook,
    send,
    transcript_region,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

LONG = "\\n".join(["# a comment"] * 60 + ["mark = 1"])


@pytest.mark.soak  # with each commit labextension/tests/views/parts/askedText.test.tsx closes one to buttons and keys; this adds what is really on the screen
def test_a_long_question_can_be_allowed_once_its_end_was_on_the_screen(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    answers = f"calls('python', code='{LONG}'), says('Done.')"
    panel = open_scripted_notebook(page, lab, "long.ipynb", answers)
    send(panel, "work")
    allow = panel.get_by_role("button", name="Allow once")
    expect(allow).to_be_disabled()
    photograph(page, "long-closed")
    allow.locator("xpath=..").press("1")
    expect(allow).to_be_disabled()
    assert violations(page) == []

    panel.get_by_role("button", name="Show the end").click()
    expect(allow).to_be_enabled()
    photograph(page, "long-open")
    allow.press("1")
    expect(transcript_region(panel).get_by_text("Done.")).to_be_visible()
    at_rest(panel)
    assert seen.errors == []


def test_a_deceptive_question_says_so_and_a_circle_is_answered_by_go_on_or_stop(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    bad = "p\\u0430ypal = 1  # \\u202e hidden \\x1b[2J"
    same = "calls('list', path='.'), " * 4
    answers = f"calls('python', code='{bad}'), {same} says('Done.')"
    panel = open_scripted_notebook(page, lab, "deceptive.ipynb", answers)
    send(panel, "work")
    warnings = panel.get_by_role("list", name="What could deceive you")
    expect(warnings.get_by_role("listitem").first).to_be_visible()
    photograph(page, "deceptive")
    assert violations(page) == []
    panel.get_by_role("button", name="Allow once").click()

    expect(panel.get_by_role("button", name="Go on", exact=True)).to_be_visible()
    expect(panel.get_by_role("button", name="Stop", exact=True).last).to_be_visible()
    photograph(page, "circle")
    panel.get_by_role("button", name="Go on", exact=True).click()
    expect(transcript_region(panel).get_by_text("Done.")).to_be_visible()
    at_rest(panel)
    assert seen.errors == []
