"""Earlier prompts and a draft in the panel's text field, and how high the empty composer is."""

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.e2e.jupyterlab import Lab, PageErrors, photograph
from tests.e2e.test_panel import (
    RUN,
    at_rest,
    composer,
    open_panel,
    open_scripted_notebook,
    send,
)
from tests.sample_size import SOAKING

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

ANSWERS = "says('One.'), says('Two.'), says('Three.')"
MAX_PX = 100


@pytest.mark.soak  # with each commit labextension/tests/views/composer/promptHistory.test.tsx walks through them; this adds a kernel's prompts, and the field's height
def test_earlier_prompts_are_walked_through_and_the_draft_comes_back(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    panel = open_scripted_notebook(
        page, lab, "history.ipynb", ANSWERS, "%%agent --new\nasked in a cell"
    )
    assert_whole_at_every_width(page, panel)
    field = composer(panel)
    for words in ("first", "second"):
        send(panel, words)
        at_rest(panel)
    field.fill("half a thought")
    page.evaluate(RUN, 1)
    expect(panel.locator(".plm-TurnPrompt-text")).to_have_text(["asked in a cell"])

    expect(field).to_have_value("half a thought")
    field.focus()
    for earlier in ("asked in a cell", "second", "first"):
        field.press("ArrowUp")
        expect(field).to_have_value(earlier)
    photograph(page, "history")
    field.press("Escape")
    expect(field).to_have_value("half a thought")
    if SOAKING:  # in each run labextension/tests/views/composer/promptHistory.test.tsx reloads
        page.reload()
        page.locator(".jp-Notebook .jp-Cell").first.wait_for()
        panel = open_panel(page)
    expect(composer(panel)).to_have_value("half a thought")
    composer(panel).fill("")
    assert seen.errors == []


def assert_whole_at_every_width(page: Page, panel: Locator) -> None:
    """Hold the empty composer to its height, and what stands below its text to one line."""
    expect(composer(panel)).to_have_value("")
    tops = panel.locator(".plm-Composer-chips .plm-Picker-chip, .plm-Composer-foot > .plm-Button")
    # The model is told by the kernel.
    expect(tops.nth(2)).to_be_visible()
    for width in (1440, 420, 320):
        page.set_viewport_size({"width": width, "height": 900})
        box = panel.locator(".plm-Composer").bounding_box()
        assert box is not None
        assert box["height"] <= MAX_PX, width
        places = [one.bounding_box() for one in tops.all()]
        shown = [place for place in places if place is not None and place["width"] > 1]
        assert len(shown) >= 3, width
        middles = {round(one["y"] + one["height"] / 2) for one in shown}
        assert max(middles) - min(middles) <= 2, width
        assert all(one["x"] + one["width"] <= box["x"] + box["width"] for one in shown), width
    page.set_viewport_size({"width": 1280, "height": 800})
