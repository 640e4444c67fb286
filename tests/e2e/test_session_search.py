"""The search of the panel: it finds words in all turns of the session, also where they are folded or far away."""

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.e2e.jupyterlab import SECOND_LOOK, Lab, PageErrors, choose_theme, photograph
from tests.e2e.shared_browser import SIZE
from tests.e2e.test_long_sessions import TO
from tests.e2e.test_panel import (
    AXE,
    RUN,
    VIOLATIONS,
    at_rest,
    composer,
    open_scripted_notebook,
    send,
    transcript_region,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

CURRENT = """() => [...(CSS.highlights.get('plm-found-current') ?? [])].map(range => {
  const place = document.querySelector('.plm-Transcript').getBoundingClientRect();
  const box = range.getBoundingClientRect();
  return [range.toString(), box.top >= place.top - 1 && box.bottom <= place.bottom + 1];
})"""
"""The text of the painted occurrence, and whether it is in view."""
SEEN = (
    f"words => (found => found.length === 1 && found[0][0] === words && found[0][1])(({CURRENT})())"
)
FILLER = "\\n\\n".join(f"Line {number} of a long answer." for number in range(40))


def search_field(panel: Locator) -> Locator:
    return panel.get_by_role("searchbox", name="Find in this session")


def at(panel: Locator, words: str) -> None:
    expect(panel.locator(".plm-SessionSearch-count")).to_have_text(words)


@pytest.mark.soak  # with each commit labextension/tests/state/display/foundText.test.ts finds; this adds the keys, what is opened, and the place
def test_it_finds_what_is_folded_and_keeps_the_place(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    (lab.folder / "birds.txt").write_text("Rockhopper\n", encoding="utf-8")
    (lab.folder / "fish.txt").write_text("Cod\n", encoding="utf-8")
    answers = (
        "calls('read', path='birds.txt'), calls('read', path='fish.txt'), "
        f"says('One is a **rockhopper**.\\n\\n{FILLER}'), says('{FILLER}\\n\\nThe Rockhopper again.')"
    )
    panel = open_scripted_notebook(page, lab, "search.ipynb", answers)
    send(panel, "Which birds?")
    at_rest(panel)
    send(panel, "And once more?")
    at_rest(panel)
    page.evaluate(TO, 0)

    composer(panel).press("ControlOrMeta+f")
    field = search_field(panel)
    expect(field).to_be_focused()
    field.fill("rockhopper")
    at(panel, "1 of 3")
    page.wait_for_function(SEEN, arg="Rockhopper")
    # The row of work and the call in it are open now.
    expect(panel.locator(".plm-Work .plm-Tool[data-open='true']")).to_have_count(1)
    photograph(page, "search-light")
    field.press("Enter")
    at(panel, "2 of 3")
    page.wait_for_function(SEEN, arg="rockhopper")
    field.press("F3")
    at(panel, "3 of 3")
    page.wait_for_function(SEEN, arg="Rockhopper")
    field.press("Enter")
    at(panel, "1 of 3")
    field.press("Shift+Enter")
    at(panel, "3 of 3")
    field.press("Shift+F3")
    at(panel, "2 of 3")
    page.wait_for_function(SEEN, arg="rockhopper")

    choose_theme(page, SECOND_LOOK)
    photograph(page, "search-dark")
    page.add_script_tag(path=str(AXE))
    assert page.evaluate(VIOLATIONS, "#jupyter-palimpsest-panel") == []
    page.set_viewport_size({"width": 420, "height": 800})
    photograph(page, "search-420")
    page.set_viewport_size(SIZE)  # type: ignore[arg-type]
    choose_theme(page, "JupyterLab Light")

    place = transcript_region(panel)
    before = place.evaluate("node => node.scrollTop")
    field.press("Escape")
    expect(field).to_have_count(0)
    expect(place).to_be_focused()
    assert place.evaluate("node => node.scrollTop") == before
    assert page.evaluate("() => CSS.highlights.size") == 0

    # The notebook keeps its own search.
    page.evaluate(RUN, 0)
    page.locator(".jp-Notebook .jp-Cell").first.click()
    page.keyboard.press("ControlOrMeta+f")
    expect(page.locator(".jp-DocumentSearch-overlay")).to_be_visible()
    expect(field).to_have_count(0)
    assert seen.errors == []
