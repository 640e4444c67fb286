"""The agent's changes to cells of an open notebook: made by the page, all or none, and the reader goes on."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.changed_notebook import (
    REDO,
    UNDO,
    ask_page,
    cells_of,
    open_changing,
)
from tests.e2e.jupyterlab import (
    OPEN,
    READY,
    THEMES,
    Lab,
    PageErrors,
    choose_theme,
    photograph,
    wait_until_drawn,
)
from tests.e2e.running_notebook import begin
from tests.e2e.test_panel import composer, open_panel

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def sources(page: Page) -> list[str]:
    return [str(cell["source"]) for cell in cells_of(page)][1:]


def test_changes_are_made_together_and_undone_in_one_step(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    notebook = open_changing(page, lab, "changes", "1 + 1", "2 + 2", "3 + 3")
    for number in (1, 2, 3):
        notebook.run(number)
    before = cells_of(page)
    ids = [cell["id"] for cell in before]

    results = ask_page(
        page,
        {"action": "edit", "cell": ids[1], "old": "1 + 1", "new": "1 + 10"},
        {
            "action": "insert",
            "cell": "new-cell",
            "after": ids[1],
            "new": "# *New*",
            "kind": "markdown",
        },
        {"action": "move", "cell": ids[3], "after": ids[0], "old": "3 + 3"},
        {"action": "delete", "cell": ids[2], "old": "2 + 2"},
    )

    assert [result.get("problem") for result in results] == [None] * 4
    assert results[3]["removed"]["outputs"] == before[2]["outputs"]
    after = cells_of(page)
    assert sources(page) == ["3 + 3", "1 + 10", "# *New*"]
    assert after[1]["outputs"] == before[3]["outputs"]
    assert after[1]["execution_count"] == before[3]["execution_count"]
    expect(notebook.page.locator(".jp-MarkdownCell em", has_text="New")).to_be_visible()

    page.evaluate(UNDO)
    assert cells_of(page) == before
    page.evaluate(REDO)
    assert cells_of(page) == after
    saved = notebook.save()
    assert [cell["id"] for cell in saved["cells"]] == [cell["id"] for cell in after]
    assert seen.errors == []


EDITS = """index => {
  const { content } = window.jupyterapp.shell.currentWidget;
  content.activeCellIndex = index;
  content.mode = 'edit';
  content.activeCell.editor.setCursorPosition({ line: 0, column: 4 });
  content.activeCell.editor.focus();
}"""
READER = """() => {
  const { content } = window.jupyterapp.shell.currentWidget;
  return {
    active: content.activeCell.model.id,
    mode: content.mode,
    focused: content.activeCell.editor?.hasFocus() === true,
    top: Math.round(content.activeCell.node.getBoundingClientRect().top),
    selected: content.selectedCells.map(({ model }) => model.id),
    rendered: content.widgets.filter(cell => cell.rendered).map(({ model }) => model.id),
  };
}"""
HAS_CURSOR = "window.jupyterapp.shell.currentWidget.content.activeCell.editor?.hasFocus() === true"
SELECTS = """([first, last]) => {
  const { content } = window.jupyterapp.shell.currentWidget;
  content.activeCellIndex = first;
  content.extendContiguousSelectionTo(last);
}"""
LINES = "\n".join(f"line_{number} = {number}" for number in range(12))


def test_a_person_who_types_goes_on_typing_where_they_were(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    open_changing(page, lab, "types", *(f"# cell {number}\n{LINES}" for number in range(8)))
    ids = [cell["id"] for cell in cells_of(page)]
    texts = [cell["source"] for cell in cells_of(page)]
    ask_page(
        page, {"action": "insert", "cell": "md", "after": ids[6], "new": "*m*", "kind": "markdown"}
    )
    page.evaluate(EDITS, 5)
    page.keyboard.type("a")
    wait_until_drawn(page)
    before = page.evaluate(READER)
    assert before["focused"]

    typed = texts[5][:4] + "a" + texts[5][4:]
    ask_page(
        page,
        {"action": "insert", "cell": "new", "after": ids[1], "new": f"new\n{LINES}"},
        {"action": "delete", "cell": ids[3], "old": texts[3]},
        {"action": "move", "cell": ids[7], "after": None, "old": texts[7]},
        {"action": "move", "cell": ids[5], "after": ids[6], "old": typed},
        {"action": "edit", "cell": ids[5], "old": typed, "new": typed + "\nlast"},
    )
    page.keyboard.type("b")
    wait_until_drawn(page)

    after = page.evaluate(READER)
    assert abs(after.pop("top") - before.pop("top")) <= 2
    assert after == before
    now = {cell["id"]: cell["source"] for cell in cells_of(page)}
    assert now[ids[5]] == texts[5][:4] + "ab" + texts[5][4:] + "\nlast"
    assert [cell["id"] for cell in cells_of(page)] == [
        ids[7],
        ids[0],
        ids[1],
        "new",
        ids[2],
        ids[4],
        ids[6],
        ids[5],
        "md",
        ids[8],
    ]
    assert seen.errors == []


def test_a_cell_that_moves_far_takes_the_cursor_and_its_running_code_along(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    notebook = open_changing(page, lab, "moves", *(f"# cell {number}" for number in range(8)))
    ids = [cell["id"] for cell in cells_of(page)]
    move = f"dict(action='move', cell={ids[2]!r}, after={ids[8]!r}, old=In[-1])"
    runs = (
        "for number in range(40):\n    print(number, flush=True)\n    if number == 10:\n"
        f"        harness.engine.submit(_change([{move}], None)).result()"
    )
    ask_page(page, {"action": "edit", "cell": ids[2], "old": "# cell 1", "new": runs})
    page.evaluate(EDITS, 7)
    ask_page(page, {"action": "move", "cell": ids[7], "after": ids[0], "old": "# cell 6"})
    page.wait_for_function(HAS_CURSOR)
    page.keyboard.type("x")
    assert sources(page)[0] == "# cexll 6"
    assert page.evaluate(READER)["active"] == ids[7]

    notebook.run(3)
    cells = cells_of(page)
    assert [cell["id"] for cell in cells][-1] == ids[2]
    assert cells[-1]["outputs"][0]["text"].split() == [str(number) for number in range(40)]
    shown = notebook.cell(8)
    expect(shown.locator(".jp-OutputArea-output")).to_contain_text("39")
    expect(shown.locator(".jp-InputPrompt")).not_to_have_text("[*]:")
    assert seen.errors == []


def test_the_keyboard_stays_in_the_panel_and_cells_stay_selected(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    open_changing(page, lab, "selects", "1", "2", "3", "4")
    ids = [cell["id"] for cell in cells_of(page)]
    panel = open_panel(page)
    page.evaluate(SELECTS, [2, 3])
    composer(panel).press_sequentially("wri")

    ask_page(
        page,
        {"action": "insert", "cell": "new", "new": "new"},
        {"action": "delete", "cell": ids[4], "old": "4"},
        {"action": "move", "cell": ids[2], "old": "2"},
    )
    page.keyboard.type("ting")

    expect(composer(panel)).to_have_value("writing")
    reader = page.evaluate(READER)
    assert reader["mode"] == "command"
    assert reader["active"] == ids[3]
    assert reader["selected"] == [ids[2], ids[3]]
    assert sources(page)[2:] == ["1", "3"]
    assert seen.errors == []


WRITES = (
    "harness.script(calls('notebook').calls('cells', changes=["
    "dict(action='insert', after='2', source='total = 7 * 6', name='new'),"
    "dict(action='edit', cell='2', source='radius = 3'),"
    "dict(action='insert', after='new', kind='markdown', source='*Read me.*')]), says('Done.'))"
)


def test_a_cell_of_the_agent_leads_to_its_turn_and_its_request(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    notebook = begin(
        page, lab, "origins", "radius = 2", WRITES, "%%agent\nWrite two cells.", told=True
    )
    notebook.run(1)
    notebook.run(2)
    notebook.run(3, wait=False)
    notebook.cell(3).get_by_role("button", name="Allow once").click()
    notebook.ended()

    signs = page.locator(".plm-CellOrigin")
    expect(signs).to_have_count(3)
    sign = notebook.cell(1).get_by_role("button", name="Written by the agent")
    lens = notebook.cell(1).get_by_role("button", name="Inspect request 1,")
    expect(notebook.cell(2).locator(".plm-CellOrigin")).to_be_visible()
    expect(notebook.cell(3).locator(".plm-CellOrigin")).to_have_count(0)
    sign.hover()
    words = "Written by the agent in the turn “Write two cells.”, request 1. Approved by you."
    assert words in sign.evaluate("sign => getComputedStyle(sign, '::after').content")
    expect(sign).to_have_accessible_name(words)
    for theme in THEMES:
        choose_theme(page, theme)
        sign.hover()
        expect(lens).to_have_css("opacity", "1")
        photograph(page, f"cell-origins-{theme.split()[-1].lower()}")
    choose_theme(page, THEMES[0])

    sign.focus()
    page.keyboard.press("Enter")
    panel = page.locator("#jupyter-palimpsest-panel")
    expect(panel.locator(".plm-Turn:focus")).to_contain_text("Write two cells.")
    sign.hover()
    lens.click()
    views = page.locator(".plm-InspectorWidget:visible .plm-Inspector")
    expect(views.get_by_role("slider", name="Request, recorded")).to_have_attribute(
        "aria-valuetext", re.compile("^Request 1 of 2")
    )
    page.evaluate(OPEN, "origins.ipynb")

    page.evaluate(EDITS, 1)
    expect(signs).to_have_count(3)
    page.keyboard.type("x")
    expect(signs).to_have_count(2)
    page.keyboard.press("Control+z")
    expect(signs).to_have_count(3)
    page.evaluate(EDITS, 2)
    page.keyboard.type("x")
    expect(signs).to_have_count(2)
    saved = notebook.save()["cells"]
    assert saved[1]["metadata"]["palimpsest"]["call"] == "call_2"
    assert "palimpsest" not in saved[2]["metadata"]
    assert seen.errors == []


def work_clock(page: Page) -> Callable[[], float]:
    """Return a clock of the CPU seconds that the page's main thread has worked."""
    client = page.context.new_cdp_session(page)
    client.send("Performance.enable")

    def work_seconds() -> float:
        metrics = client.send("Performance.getMetrics")["metrics"]
        return next(float(each["value"]) for each in metrics if each["name"] == "ThreadTime")

    return work_seconds


def test_a_hundred_cells_change_in_one_step_and_in_little_time(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    open_changing(page, lab, "hundred", *(f"value_{n} = {n}\n{LINES}" for n in range(100)))
    cells = cells_of(page)
    wait_until_drawn(page)
    work_seconds = work_clock(page)
    before = work_seconds()
    ask_page(
        page,
        *(
            {
                "action": "edit",
                "cell": cell["id"],
                "old": cell["source"],
                "new": cell["source"].replace("line_3", "third_line"),
            }
            for cell in cells[1:]
        ),
    )
    wait_until_drawn(page)
    spent = work_seconds() - before
    assert spent < 2
    assert all("third_line" in source for source in sources(page))
    page.evaluate(UNDO)
    assert cells_of(page) == cells
    assert seen.errors == []


@pytest.mark.soak  # with each commit the tests above change one page; this adds a second page of the same notebook
def test_of_two_pages_one_changes_the_notebook_and_the_other_reads_it_again(
    page: Page, lab: Lab
) -> None:
    notebook = open_changing(page, lab, "twice", "a = 1")
    other = notebook.beside(lab)
    other.page.evaluate(READY)
    cell = cells_of(page)[1]
    ask_page(page, {"action": "edit", "cell": cell["id"], "old": "a = 1", "new": "a = 2"})
    changed, kept = (page, other.page) if sources(page) == ["a = 2"] else (other.page, page)
    assert sources(changed) == ["a = 2"]
    assert sources(kept) == ["a = 1"]
    changed.evaluate("window.jupyterapp.shell.currentWidget.context.save()")
    kept.evaluate("window.jupyterapp.shell.currentWidget.context.revert()")
    kept.wait_for_function(
        "window.jupyterapp.shell.currentWidget.content.widgets[1].model.sharedModel.getSource() === 'a = 2'"
    )
    expect(kept.locator(".plm-CellOrigin")).to_have_count(1)
    results = ask_page(page, {"action": "edit", "cell": cell["id"], "old": "a = 1", "new": "a = 3"})
    assert results == [{"cell": cell["id"], "problem": "changed", "source": "a = 2"}]
