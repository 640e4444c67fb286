"""``session.inspect()`` in a notebook's cells: two sessions live beside each other, and both saved with the notebook."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.e2e.jupyterlab import (
    READY,
    Lab,
    PageErrors,
    open_notebook,
    photograph,
    wait_until_drawn,
)
from tests.e2e.test_inspector import cursor, unpacked
from tests.e2e.test_inspector_tab import BLOCKS, REHEARSED, ask_server, kernel_of
from tests.e2e.test_panel import AXE, BEGIN, RUN, VIOLATIONS, book
from tests.waiting import eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


STYLED = """table => {
  const [row] = [...table.tBodies[0].rows].slice(-1);
  const name = getComputedStyle(row.cells[0]);
  const rule = getComputedStyle(table);
  return [rule.tableLayout, getComputedStyle(row).backgroundColor, name.textAlign];
}"""
"""Returns how a table is drawn where JupyterLab has rules of its own for the tables of an output."""

CELLS = """() => window.jupyterapp.shell.currentWidget.content.widgets.map(
  ({ model }) => `${model.type} ${model.sharedModel.getSource()}`
)"""
SCROLLED = "one => one.closest('.plm-InspectedCell').scrollTop"
SCROLL = """one => {
  const box = one.closest('.plm-InspectedCell');
  box.scrollTop += box.scrollTop > 40 ? -20 : 20;
  return box.scrollTop;
}"""
ASK_AGAIN = """async () => {
  const { kernel } = window.jupyterapp.shell.currentWidget.sessionContext.session;
  const code = "get_ipython().run_line_magic('agent', '-m rehearsal/rules Hello again.')";
  await kernel.requestExecute({ code }).done;
}"""
"""Runs a turn without a cell, as the panel does: nothing moves the focus."""
COMMANDS = ("a", "b", "m", "y", "r", "x", "Shift+M", "Shift+ArrowDown", "d", "d")
"""Keys that are commands of a notebook in command mode."""


def inspected_in(page: Page, cell: int) -> Locator:
    """Return the live views in a cell's output, once they are drawn."""
    output = page.locator(".jp-Notebook .jp-CodeCell").nth(cell)
    output.scroll_into_view_if_needed()
    views = output.locator(".plm-InspectedCell .plm-Inspector")
    expect(cursor(views)).to_be_visible()
    return views


def keys_stay_in_the_views_until_escape(page: Page, views: Locator) -> None:
    """Press keys that are commands of the notebook: they become its own when Escape has left the views."""
    before: list[str] = page.evaluate(CELLS)
    for one in (cursor(views), views.get_by_role("tab", name="Timeline")):
        one.focus()
        for key in COMMANDS:
            page.keyboard.press(key)
        expect(one).to_be_focused()
    page.keyboard.press("Escape")
    cell = views.locator("xpath=ancestor::*[contains(@class, 'jp-Cell ')]").last
    expect(cell).to_be_focused()

    page.keyboard.press("b")  # a command is run after those that came before it
    expect(page.locator(".jp-Notebook .jp-Cell")).to_have_count(len(before) + 1)
    after: list[str] = page.evaluate(CELLS)
    after.remove("code ")
    assert after == before
    page.keyboard.press("d")
    page.keyboard.press("d")
    expect(page.locator(".jp-Notebook .jp-Cell")).to_have_count(len(before))


def test_two_sessions_are_inspected_live_and_read_in_the_saved_notebook(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    path = unpacked(lab, "claude_code/cc1df109.jsonl.xz", "in-cell.jsonl")
    flag = lab.folder / "inspect-cell.flag"
    name = book(
        lab,
        "inspect-cell.ipynb",
        f"{REHEARSED}\nimport palimpsest",
        "%agent -m rehearsal/rules Hello.",
        "palimpsest.current_session().inspect()",
        f"recording = palimpsest.open_recording({path!r})\nrecording[0].inspect()",
        BLOCKS.format(flag=str(flag)),
    )
    open_notebook(page, lab, name)
    page.evaluate(READY)
    for cell in range(4):
        page.evaluate(RUN, cell)
    own, recorded = inspected_in(page, 2), inspected_in(page, 3)
    expect(cursor(own)).to_have_attribute("aria-valuemax", "1")
    expect(cursor(recorded)).to_have_attribute("aria-valuemax", "4")
    cursor(recorded).press("Home")
    cursor(recorded).press("ArrowRight")
    expect(cursor(recorded)).to_have_attribute("aria-valuenow", "2")

    recorded.get_by_role("tab", name="Items").click()
    recorded.get_by_role("grid").click(position={"x": 128, "y": 32})
    card = recorded.get_by_role("group", name="The chosen item")
    expect(card.locator(".plm-ItemCard-why")).not_to_be_empty()
    expect(card.get_by_role("button", name="Pin", exact=True)).to_have_count(0)
    table = recorded.get_by_role("table").first
    assert table.evaluate(STYLED) == ["auto", "rgba(0, 0, 0, 0)", "left"]
    photograph(page, "inspect-cell")
    page.add_script_tag(path=str(AXE))
    assert page.evaluate(VIOLATIONS, recorded.element_handle()) == []
    # A screen reader lists both as landmarks of the page, each by its session; what is in them are groups.
    regions = page.get_by_role("region", name=re.compile("^Context of "))
    assert len({region.get_attribute("aria-label") for region in regions.all()}) == 2
    for one in (own, recorded):
        expect(one.get_by_role("region")).to_have_count(0)

    keys_stay_in_the_views_until_escape(page, own)
    # The cell's HTML is written anew after a turn: the views in it keep the focus, and where they are scrolled to.
    find = own.get_by_role("searchbox", name="Find items")
    find.focus()
    scrolled = find.evaluate(SCROLL)
    wait_until_drawn(page)
    page.evaluate(ASK_AGAIN)
    expect(cursor(own)).to_have_attribute("aria-valuemax", "2")
    expect(own.locator("xpath=ancestor::*[contains(@class, 'plm-Saved')]")).to_contain_text(
        "2 requests"
    )
    expect(find).to_be_focused()
    assert find.evaluate(SCROLLED) == scrolled
    # A cell that runs leaves the views their answers, in a kernel with subshells.
    page.evaluate(BEGIN, 4)
    own.get_by_role("tab", name="Requests").click()
    sent = own.get_by_role("group", name="The request as it is sent")
    expect(sent.get_by_text("Hello again.").first).to_be_visible()
    assert not flag.exists()
    flag.touch()
    expect(page.locator(".jp-InputArea-prompt", has_text="[*]")).to_have_count(0)

    page.evaluate("window.jupyterapp.shell.currentWidget.context.save()")
    eventually(lambda: b"The largest items" in (lab.folder / name).read_bytes())
    ask_server(lab, f"api/kernels/{kernel_of(page, name)}", "DELETE")
    assert seen.errors == []
    page.goto(lab.page_of(name))
    page.locator(".jp-Notebook .jp-Cell").first.wait_for()
    for cell in (2, 3):
        output = page.locator(".jp-Notebook .jp-CodeCell").nth(cell)
        output.scroll_into_view_if_needed()
        picture = output.locator("img[src^='data:image/svg+xml']")
        expect(picture).to_be_visible()
        assert picture.evaluate("image => image.naturalWidth") > 0
        expect(output.get_by_text("The largest items")).to_be_visible()
        expect(output.locator(".plm-InspectedCell")).to_have_count(0)
    photograph(page, "inspect-cell-saved")


def test_the_place_of_a_view_is_set_and_read_from_python(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    path = unpacked(lab, "claude_code/cc1df109.jsonl.xz", "in-place.jsonl")
    name = book(
        lab,
        "inspect-place.ipynb",
        "%load_ext palimpsest\nimport palimpsest",
        f"recorded = palimpsest.open_recording({path!r})[0]\n"
        "view = recorded.inspect(request=2, tab='items')\nview",
        "view.move_to(request=3, tab='requests', filter={'text': 'nothing has this'})",
        "print(view.place.request, view.place.tab, view.place.filter.text)",
        "predicted = recorded.inspect(hide=['cost', 'breaks'])\npredicted",
        "predicted.reveal()",
        "recorded.inspect(views=['sentence', 'grid'])",
    )
    open_notebook(page, lab, name)
    page.evaluate(READY)
    for cell in range(2):
        page.evaluate(RUN, cell)
    views = inspected_in(page, 1)
    tabs = {tab: views.get_by_role("tab", name=tab) for tab in ("Items", "Requests")}
    expect(cursor(views)).to_have_attribute("aria-valuenow", "2")
    expect(tabs["Items"]).to_have_attribute("aria-selected", "true")

    page.evaluate(RUN, 2)
    expect(cursor(views)).to_have_attribute("aria-valuenow", "3")
    expect(tabs["Requests"]).to_have_attribute("aria-selected", "true")
    tabs["Items"].click()
    find = views.get_by_role("searchbox", name="Find items")
    expect(find).to_have_value("nothing has this")
    find.fill("bash")
    cursor(views).press("End")
    expect(cursor(views)).to_have_attribute("aria-valuenow", "4")

    output = page.locator(".jp-Notebook .jp-CodeCell").nth(3).locator(".jp-OutputArea-output")

    def read_in_kernel() -> str:
        page.evaluate(RUN, 3)
        return output.inner_text().strip()

    # The page's move is on its way while the cell may already run, in another thread of the kernel.
    eventually(lambda: read_in_kernel() == "4 items bash")

    # A place that Python set is a step, too; the kernel is told of each that is gone back to.
    back = views.get_by_role("button", name="Back", exact=True)
    back.click()
    expect(cursor(views)).to_have_attribute("aria-valuenow", "3")
    eventually(lambda: read_in_kernel() == "3 items bash")
    cursor(views).press("Alt+ArrowLeft")
    cursor(views).press("Alt+ArrowLeft")
    expect(tabs["Requests"]).to_have_attribute("aria-selected", "true")
    views.press("Alt+ArrowLeft")
    expect(cursor(views)).to_have_attribute("aria-valuenow", "2")
    expect(back).to_have_attribute("aria-disabled", "true")
    for _ in range(4):
        cursor(views).press("Alt+ArrowRight")
    eventually(lambda: read_in_kernel() == "4 items bash")
    assert page.locator(".jp-Notebook .jp-CodeCell").count() == 7

    page.evaluate(RUN, 4)
    predicted = inspected_in(page, 4)
    hidden = predicted.locator(".plm-HiddenPart")
    expect(hidden.first).to_contain_text("Hidden until it is revealed")
    expect(predicted).not_to_contain_text("USD")
    photograph(page, "inspect-hidden")
    page.evaluate(RUN, 5)
    expect(hidden).to_have_count(0)
    expect(predicted).to_contain_text("USD")
    page.evaluate(RUN, 6)
    alone = page.locator(".jp-Notebook .jp-CodeCell").nth(6).locator(".plm-InspectedCell")
    expect(alone.get_by_role("grid")).to_be_visible()
    expect(alone.get_by_role("tab")).to_have_count(0)
    alone.scroll_into_view_if_needed()
    photograph(page, "inspect-alone")
    page.add_script_tag(path=str(AXE))
    assert page.evaluate(VIOLATIONS, alone.element_handle()) == []
    assert seen.errors == []


def test_two_sessions_stand_beside_each_other_in_a_cell(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    path = unpacked(lab, "claude_code/cc1df109.jsonl.xz", "beside-cell.jsonl")
    name = book(
        lab,
        "inspect-beside.ipynb",
        f"{REHEARSED}\nimport palimpsest",
        "%agent -m rehearsal/rules Hello.",
        f"both = palimpsest.current_session().inspect(beside={path!r})\nboth",
        "print(both.place.side, both.place.request)",
        "both.place = {'request': 1, 'tab': 'cost'}",
    )
    open_notebook(page, lab, name)
    page.evaluate(READY)
    for cell in range(3):
        page.evaluate(RUN, cell)
    views = page.locator(".jp-Notebook .jp-CodeCell").nth(2).locator(".plm-Inspector")
    part = views.get_by_role("group", name="Where they part")
    expect(part).to_be_visible()
    photograph(page, "inspect-cell-beside")

    part.get_by_role("button", name="inspect request 1 of the second").click()

    expect(views).to_contain_text("the second of two")
    cursor(views).press("Home")
    cursor(views).press("ArrowRight")
    link = views.get_by_role("button", name="Copy link")
    expect(link).to_have_attribute(
        "title",
        re.compile(r"^palimpsest:ses_\w+/2\?beside=recordings%2Fbeside-cell\.jsonl&side=second"),
    )
    page.evaluate(RUN, 3)
    told = page.locator(".jp-Notebook .jp-CodeCell").nth(3).locator(".jp-OutputArea-output")
    expect(told).to_have_text("second 2")
    page.evaluate(RUN, 4)
    expect(views).to_contain_text("the first of two")
    expect(views.get_by_role("tab", name="Cost")).to_have_attribute("aria-selected", "true")
    assert seen.errors == []
