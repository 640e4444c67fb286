"""At 320 px nothing in the panel or in a cell's turn is wider than what it stands in."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.e2e.jupyterlab import (
    SAMPLED_THEMES,
    Lab,
    PageErrors,
    choose_theme,
    photograph,
    wait_until_drawn,
)
from tests.e2e.test_composer import violations
from tests.e2e.test_panel import (
    BEGIN,
    COMMAND,
    RUN,
    at_rest,
    composer,
    open_scripted_notebook,
    send,
    transcript_region,
)
from tests.sample_size import SOAKING

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

WIDTH = 320
PANEL = "#jupyter-palimpsest-panel"
CELL = ".jp-Notebook .plm-SegmentWidget"
LONG = "x" * 200
TABLE = (
    "| first column | second column | third |\n|---|---|---|\n| 1234567.8901 | 1234567.8901 | 3 |"
)
SAID = f"A long word: {LONG}\n\n{TABLE}\n\n```python\nvalue = '{LONG}'\n```\n\nThat is all."
CODE = "\n".join(["# a comment"] * 50 + [f"mark = '{LONG}'"])
FAILS = f"raise ValueError({LONG!r})"
PATH = f"{'deep/' * 12}notes.txt"
ANSWERS = (
    f"calls('python', code={FAILS!r}), calls('write', path={PATH!r}, content='one {LONG}'), "
    f"says({SAID!r}), calls('python', code={CODE!r}), says('Done.'), "
    f"calls('python', code={FAILS!r}), calls('write', path={PATH!r}, content='one {LONG}'), says({SAID!r})"
)
WIDE = """where => {
  const root = document.querySelector(where);
  const edge = root.getBoundingClientRect();
  const found = [];
  for (const one of root.querySelectorAll('*')) {
    const style = getComputedStyle(one);
    const box = one.getBoundingClientRect();
    if (style.visibility === 'hidden' || box.width <= 1 || box.height <= 1) { continue; }
    if (one.closest('[data-scrolls], pre, .plm-Scrolls, svg, table, [aria-hidden="true"]')) { continue; }
    let scrolls = false;
    for (let up = one.parentElement; up !== null && up !== root; up = up.parentElement) {
      const { overflowX } = getComputedStyle(up);
      scrolls ||= overflowX === 'auto' || overflowX === 'scroll' || overflowX === 'hidden' || overflowX === 'clip';
    }
    if (!scrolls && (box.right > edge.right + 1 || box.left < edge.left - 1)) {
      found.push(`${one.className} ${Math.round(box.left)}-${Math.round(box.right)} of ${Math.round(edge.left)}-${Math.round(edge.right)}`);
    }
  }
  if (root.scrollWidth > root.clientWidth + 1) { found.push(`${where} scrolls`); }
  return found;
}"""
"""Elements that reach out of the panel, and are in nothing that scrolls or cuts on purpose."""
CUT = """where => [...document.querySelectorAll(`${where} button, ${where} .plm-Tool-reason`)]
  .filter(one => one.getBoundingClientRect().width > 1)
  .filter(one => {
    const edge = document.querySelector(where).getBoundingClientRect();
    const box = one.getBoundingClientRect();
    return box.right > edge.right + 1 || box.left < edge.left - 1;
  }).map(one => one.className + ': ' + one.textContent.slice(0, 60))"""
"""Buttons and reasons that are cut off at the edge."""


def looked_at(page: Page, where: str, name: str) -> None:
    """Assert that nothing is wider than its container, and photograph it."""
    for theme in SAMPLED_THEMES:
        choose_theme(page, theme)
        wait_until_drawn(page)
        photograph(page, f"narrow-{name}-{theme.split(' ', 1)[1].lower().replace(' ', '-')}")
        assert page.evaluate(WIDE, where) == [], theme
        assert page.evaluate(CUT, where) == [], theme
    if SOAKING:  # colours of the system change no widths
        page.emulate_media(forced_colors="active")
        photograph(page, f"narrow-{name}-forced")
        assert page.evaluate(WIDE, where) == []
        page.emulate_media(forced_colors="none")
    choose_theme(page, "JupyterLab Light")


def worked(panel: Locator) -> None:
    """Send a prompt whose calls fail and are refused, and whose answer is wide."""
    send(panel, f"work on {LONG}")
    panel.get_by_role("button", name="Allow once").click()
    region = transcript_region(panel)
    expect(region.locator(".plm-Tool-name", has_text="write")).to_be_visible()
    panel.get_by_role("button", name="Reject…").click()
    field = panel.get_by_role("textbox", name="What should it do instead?", exact=False)
    field.fill(f"Not there, but in {LONG}.")
    panel.get_by_role("button", name="Reject", exact=True).click()
    expect(region.get_by_text("That is all.")).to_be_visible()
    at_rest(panel)


@pytest.mark.usefixtures("own_page")
def test_the_panel_and_a_cell_hold_all_of_it(page: Page, lab: Lab, seen: PageErrors) -> None:
    panel = open_scripted_notebook(page, lab, "narrow.ipynb", ANSWERS, "%%agent -y\nwork")
    page.set_viewport_size({"width": WIDTH, "height": 900})
    worked(panel)
    region = transcript_region(panel)
    looked_at(page, PANEL, "panel")
    refused = region.locator(".plm-Tool", has_text="write").first
    refused.get_by_role("button").first.click()
    expect(refused.locator(".plm-Tool-reason")).to_be_visible()
    assert refused.inner_text().count("Not there, but in") == 1
    assert refused.locator(".plm-Tool-reason").evaluate("one => one.scrollWidth <= one.clientWidth")
    looked_at(page, PANEL, "refused")

    send(panel, "and once more")
    expect(panel.get_by_role("button", name="Show the end")).to_be_visible()
    looked_at(page, PANEL, "question")
    assert violations(page) == []
    panel.get_by_role("button", name="Show the end").click()
    panel.get_by_role("button", name="Allow once").click()
    expect(region.get_by_text("Done.")).to_be_visible()
    at_rest(panel)
    page.set_viewport_size({"width": 1280, "height": 800})

    page.evaluate(RUN, 1)
    expect(page.locator(CELL).last.get_by_text("That is all.")).to_be_visible()
    page.evaluate("window.jupyterapp.shell.collapseRight()")
    page.evaluate("window.jupyterapp.shell.collapseLeft()")
    page.set_viewport_size({"width": WIDTH + 100, "height": 900})
    looked_at(page, CELL, "cell")
    page.set_viewport_size({"width": 1280, "height": 800})
    assert seen.errors == []


SQUEEZED = """([where, least]) => {
  const root = document.querySelector(where);
  const buttons = [...root.querySelectorAll('button, select, input')]
    .filter(one => one.checkVisibility() && one.getBoundingClientRect().width > 1);
  const found = [];
  for (const one of root.querySelectorAll('*')) {
    const own = [...one.childNodes].filter(node => node.nodeType === Node.TEXT_NODE && node.data.trim() !== '');
    const letters = one.textContent.trim().length;
    if (own.length === 0 || letters <= least || !one.checkVisibility() || one.closest('button, pre, code, .plm-Hidden')) {
      continue;
    }
    let block = one;
    while (getComputedStyle(block).display === 'inline') { block = block.parentElement; }
    const box = block.getBoundingClientRect();
    const drawn = document.createRange();
    drawn.selectNodeContents(one);
    const lines = [...drawn.getClientRects()];
    const run = lines.reduce((sum, { width }) => sum + width, 0);
    if (lines.length < 2 || box.width <= 1 || (box.width * letters) / run >= least) { continue; }
    const beside = buttons.find(button => {
      const other = button.getBoundingClientRect();
      return !block.contains(button) && other.top < box.bottom - 1 && other.bottom > box.top + 1
        && (other.left >= box.right - 1 || other.right <= box.left + 1);
    });
    if (beside) {
      found.push(`${Math.round((box.width * letters) / run)} letters beside "${beside.textContent}": ${one.textContent}`);
    }
  }
  return found;
}"""
"""Texts of several lines that hold fewer letters than wanted, since a button stands beside them."""
LETTERS = 40
WHY = "The columns of this table differ from those of the last one, and only a person knows which of them to keep."
CHOICES = {
    "question": f"{WHY} Which columns shall I keep for the chart?",
    "header": "Columns",
    "options": [
        {"label": "All of them, also the empty ones", "description": f"nothing is lost: {WHY}"},
        {"label": "Only the numbers"},
    ],
}
TODO = [{"content": f"Compare the islands. {WHY}", "status": "in_progress"}, {"content": "Plot"}]
CARDS = (
    f"calls('write', path='a/{'deep/' * 8}notes.txt', content={WHY!r}), says({WHY!r}), "
    f"calls('question', questions={[CHOICES]!r}), calls('todowrite', todos={TODO!r}), says({WHY!r}), "
    f"fails(503, {WHY!r}, retry_after=600), *[fails(503, {WHY!r}, retry_after=0.02)] * 6, says('In the cell.'), says('Yes.'), snapshots=True"
)


@pytest.mark.soak  # with each commit the test above looks for what is cut at the same width; this adds texts beside buttons
def test_no_card_squeezes_its_text_beside_a_button(page: Page, lab: Lab, seen: PageErrors) -> None:
    panel = open_scripted_notebook(
        page, lab, "cards.ipynb", CARDS, "%agent step on", f"%%agent\n{WHY}"
    )
    page.set_viewport_size({"width": 900, "height": 900})
    region = transcript_region(panel)

    def read(state: str) -> None:
        assert panel.evaluate("node => node.offsetWidth") == WIDTH
        photograph(page, f"cards-{state}")
        assert page.evaluate(SQUEEZED, [PANEL, LETTERS]) == [], state
        assert page.evaluate(WIDE, PANEL) == [], state

    send(panel, WHY)
    expect(panel.get_by_role("button", name="Allow once")).to_be_visible()
    read("permission")
    panel.get_by_role("button", name="Reject…").click()
    read("rejection")
    page.keyboard.press("Escape")
    panel.get_by_role("button", name="Always in this session").first.click()
    at_rest(panel)
    panel.locator(".plm-PermissionMode .plm-Picker-chip").click()
    expect(panel.get_by_role("button", name="Revoke").first).to_be_visible()
    read("approvals")
    page.keyboard.press("Escape")

    send(panel, "And what else?")
    expect(region.locator(".plm-QuestionForm")).to_be_visible()
    send(panel, f"Then this. {WHY}")
    expect(panel.locator(".plm-Queue", has_text="1 waiting")).to_be_visible()
    read("question")
    region.locator(".plm-Option").first.click()
    expect(region.locator(".plm-TurnFooter", has_text="Attempt")).to_be_visible()
    read("retry")
    panel.get_by_role("button", name="Stop", exact=True).click()
    at_rest(panel)
    composer(panel).fill("")
    send(panel, "Once more")
    expect(region.get_by_role("button", name="Retry", exact=True).first).to_be_visible()
    at_rest(panel)
    read("error")

    region.get_by_role("button", name="Revert to here…").last.press("Enter")
    dialog = page.get_by_role("dialog", name="Revert to here?")
    revert = dialog.get_by_role("button", name="Revert", exact=True)
    expect(revert).to_be_enabled()  # until then Enter is for the other button
    revert.press("Enter")
    expect(panel.locator(".plm-RevertBanner")).to_be_visible()
    read("reverted")
    panel.get_by_role("button", name="Undo", exact=True).press("Enter")

    page.evaluate(RUN, 2)
    at_rest(panel)
    page.evaluate(COMMAND, "notebook:clear-cell-output")
    expect(region.get_by_role("button", name="Insert the answer again")).to_be_visible()
    read("missing")

    page.evaluate(BEGIN, 1)
    send(panel, WHY)
    card = region.get_by_role("group", name=re.compile("is held"))
    expect(card).to_be_visible()
    card.get_by_role("button", name=re.compile("New in it")).click()
    read("held")
    card.get_by_role("button", name="Send", exact=True).click()
    at_rest(panel)
    assert seen.errors == []
