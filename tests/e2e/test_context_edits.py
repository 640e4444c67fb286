"""A summary is asked for in the panel, by the gauge, by keys and in the palette."""

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.jupyterlab import Lab, PageErrors, photograph
from tests.e2e.test_panel import (
    at_rest,
    open_scripted_notebook,
    send,
    transcript_region,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SUMMARY = "## Goal\n- know the penguins\n\n## Numbers and facts\n- 43.92\n" + "- none\n" * 30


@pytest.mark.soak  # with each commit tests/frontends/operations/test_compact.py asks a kernel for one; this adds gauge, keys and palette
@pytest.mark.parametrize("way", ["gauge", "keys", "palette"])
def test_a_summary_is_asked_for_in_the_panel(
    page: Page, lab: Lab, seen: PageErrors, way: str
) -> None:
    answers = (
        f"says('There is one notebook. ' * 300).in_pieces(4_000), says('Two.'), says({SUMMARY!r})"
    )
    panel = open_scripted_notebook(page, lab, f"panel-compacts-{way}.ipynb", answers)
    may = "() => window.jupyterapp.commands.isEnabled('jupyter-palimpsest:compact')"
    assert not page.evaluate(may)
    for words, answer in (("First", "There is one notebook."), ("Second", "Two.")):
        send(panel, words)
        expect(transcript_region(panel).get_by_text(answer).first).to_be_visible()
        at_rest(panel)
    page.wait_for_function(may)

    if way == "gauge":
        panel.get_by_role("button", name="Context window").click()
        photograph(page, "panel-gauge-menu")
        page.keyboard.press("Tab")
        expect(panel.get_by_role("button", name="Compact now")).to_be_focused()
        page.keyboard.press("Enter")
    elif way == "keys":
        panel.get_by_role("textbox", name="Prompt for the agent").press("Control+Shift+K")
    else:
        page.keyboard.press("Control+Shift+C")
        page.keyboard.type("Compact the Agent")
        page.keyboard.press("Enter")

    expect(transcript_region(panel).get_by_role("button", name="Compacted")).to_be_visible()
    at_rest(panel)
    assert seen.errors == []
