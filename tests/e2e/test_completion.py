"""Completion in the panel's composer, and a fork at a prompt."""

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.jupyterlab import (
    READY,
    SECOND_LOOK,
    Lab,
    PageErrors,
    choose_theme,
    open_notebook,
    photograph,
)
from tests.e2e.test_panel import (
    AXE,
    RUN,
    VIOLATIONS,
    at_rest,
    book,
    composer,
    open_panel,
    send,
    transcript_region,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.mark.soak  # with each commit labextension/tests/views/composer/completion.test.tsx completes, and tests/e2e/test_sessions.py forks
def test_an_agent_is_completed_and_a_prompt_is_forked(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    open_notebook(page, lab, book(lab, "panel-complete.ipynb", "%load_ext palimpsest"))
    page.evaluate(READY)
    panel = open_panel(page)
    page.evaluate(RUN, 0)
    for words in ("hello first", "hello second"):
        send(panel, words)
        expect(panel.locator(".plm-TurnPrompt-text", has_text=words)).to_be_visible()
        at_rest(panel)

    composer(panel).press_sequentially("ask @")
    options = panel.get_by_role("option")
    expect(options.first).to_be_visible()
    photograph(page, "panel-complete")
    choose_theme(page, SECOND_LOOK)
    composer(panel).fill("")
    composer(panel).press_sequentially("ask @")
    expect(options.first).to_be_visible()
    photograph(page, "panel-complete-dark")
    page.add_script_tag(path=AXE)
    assert page.evaluate(VIOLATIONS, "#jupyter-palimpsest-panel") == []
    composer(panel).press_sequentially("expl")
    composer(panel).press("Enter")
    expect(composer(panel)).to_have_value("ask @explore ")
    expect(options).to_have_count(0)

    transcript_region(panel).get_by_role("button", name="Fork here").nth(1).press("Enter")
    expect(panel.locator(".plm-TurnPrompt-text", has_text="hello second")).to_have_count(0)
    expect(panel.locator(".plm-TurnPrompt-text", has_text="hello first")).to_be_visible()
    assert seen.errors == []
