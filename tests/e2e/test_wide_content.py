"""Content wider than its container scrolls inside it, also by keyboard, and shows that there is more."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from tests.e2e.jupyterlab import (
    Lab,
    PageErrors,
    open_notebook,
    photograph,
    wait_until_drawn,
)
from tests.e2e.saved_notebooks import SavedAnswer, segment, write
from tests.sample_size import sampled_cases

from palimpsest.render.content.css import PAGE
from palimpsest.render.formats.share_page import SharePageHead, share_page
from palimpsest.transcript.messages import Message

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

NAMES = [f"bill_length_of_species_{number}" for number in range(9)]
TABLE = "\n".join(
    [
        f"| {' | '.join(NAMES)} |",
        f"|{'---|' * len(NAMES)}",
        f"| {' | '.join('1234567.8901' for _ in NAMES)} |",
    ]
)
SMALL = "| a | b |\n|---|---|\n| 1 | 2 |"
CODE = f"```python\nlengths = [{', '.join(NAMES)}]\n```"
MATHS = "$$\n" + " + ".join(f"x_{{{number}}}^2" for number in range(60)) + "\n$$"
WORDS = f"Wide:\n\n{TABLE}\n\nNarrow:\n\n{SMALL}\n\n{CODE}\n\n{MATHS}\n\nThat is all."
WIDTHS = (280, 400, 700, 1100, 1600)
SPLIT = """cells => cells.flatMap(cell => {
  const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  const split = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    for (const { 0: word, index } of node.data.matchAll(/\\S+/g)) {
      const range = document.createRange();
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
      if (lines.size > 1) { split.push(word); }
    }
  }
  return split;
})"""
"""Words and numbers of table cells that are broken into two lines."""
MOVED = """box => new Promise(done => {
  const look = () => { if (box.scrollLeft > 0) { done(); } };
  box.addEventListener('scroll', look);
  look();
})"""
FADES = "box => getComputedStyle(box).maskImage !== 'none'"
LINED = "box => getComputedStyle(box).borderRightStyle"


def boxes(drawn: Locator) -> Locator:
    """Return the elements that scroll and can be focused."""
    return drawn.locator("[data-scrolls]")


def named(drawn: Locator, name: str) -> Locator:
    return drawn.get_by_role("group", name=name, exact=True)


def test_in_a_cell_it_is_reached_scrolled_and_left_by_keys(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    written = SavedAnswer().text(WORDS).step()
    write(lab.folder / "wide.ipynb", segment(written.message()))
    open_notebook(page, lab, "wide.ipynb")
    drawn = page.locator(".plm-Segment")

    for name in ("Table", "Code", "Formula"):
        expect(named(drawn, name)).to_have_count(1)
        expect(named(drawn, name)).to_have_attribute("tabindex", "0")
        assert named(drawn, name).evaluate(FADES), name
    expect(drawn.get_by_role("table")).to_have_count(2)
    expect(boxes(drawn)).to_have_count(3)
    table = named(drawn, "Table")
    page.evaluate("window.jupyterapp.shell.currentWidget.content.mode = 'command'")
    table.focus()
    expect(table).to_have_attribute("data-scrolls", "right")
    page.keyboard.press("ArrowRight")
    expect(table).to_have_attribute("data-scrolls", "left right")
    photograph(page, "wide-focused")
    for _ in range(4):  # two tables
        page.keyboard.press("Tab")
        expect(page.locator(":focus")).to_have_text(re.compile("^Copy as"))
    page.keyboard.press("Tab")
    expect(named(drawn, "Code")).to_be_focused()
    assert seen.errors == []


def test_what_fits_is_no_stop_of_the_keyboard(page: Page, lab: Lab, seen: PageErrors) -> None:
    written = SavedAnswer().text(f"{SMALL}\n\n```python\nx = 1\n```\n\n$$\nx^2\n$$").step()
    write(lab.folder / "fits.ipynb", segment(written.message()))
    open_notebook(page, lab, "fits.ipynb")
    drawn = page.locator(".plm-Segment")
    drawn.locator("mjx-container").wait_for()
    wait_until_drawn(page)

    expect(boxes(drawn)).to_have_count(0)
    expect(drawn.locator("pre[tabindex], table[tabindex]")).to_have_count(0)
    page.set_viewport_size({"width": 280, "height": 900})
    assert drawn.locator("td, th").evaluate_all(SPLIT) == []
    assert seen.errors == []


@pytest.mark.soak  # with each commit what is wide is reached by keys, above; this adds colours of the system
def test_two_colours_say_by_a_line_that_there_is_more(page: Page, lab: Lab) -> None:
    written = SavedAnswer().text(WORDS).step()
    write(lab.folder / "wide-forced.ipynb", segment(written.message()))
    page.emulate_media(forced_colors="active")
    open_notebook(page, lab, "wide-forced.ipynb")
    drawn = page.locator(".plm-Segment")

    for name in ("Table", "Code", "Formula"):
        assert named(drawn, name).evaluate(LINED) == "double", name
    photograph(page, "wide-forced")
    page.emulate_media(forced_colors="none")


def shared(tmp_path: Path) -> Path:
    """The page of a session with wide and narrow content."""
    said = Message.model_validate(SavedAnswer().text(WORDS).step().message())
    made = "".join(
        share_page(
            SharePageHead(title="Wide", description=""),
            [said],
            scrub=lambda text: text,
            embed=lambda _one: pytest.fail("nothing is attached"),
            time_text=str,
        )
    )
    assert PAGE.strip()[:40] in made
    path = tmp_path / "wide.html"
    path.write_text(made, encoding="utf-8")
    return path


@pytest.mark.parametrize("width", sampled_cases(WIDTHS, 280, 1600))
def test_a_shared_page_never_splits_what_stands_in_a_cell(
    browser: Browser, tmp_path: Path, width: int
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900})
    page = context.new_page()
    page.goto(shared(tmp_path).as_uri())
    photograph(page, f"wide-shared-{width}")

    assert page.locator("td, th").evaluate_all(SPLIT) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    expect(page.get_by_role("table")).to_have_count(2)
    table = named(page.locator("main"), "Table")
    expect(table).to_have_count(1)
    if table.evaluate("box => box.scrollWidth > box.clientWidth"):
        table.focus()
        page.keyboard.press("ArrowRight")
        table.evaluate(MOVED)
        page.emulate_media(forced_colors="active")
        assert table.evaluate(LINED) == "double"
    expect(named(page.locator("main"), "Code")).to_have_attribute("tabindex", "0")
    context.close()
