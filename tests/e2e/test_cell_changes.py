"""The agent's changes to cells of an open notebook: made by the page, all or none, and the reader goes on."""

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.changed_notebook import (
    REDO,
    UNDO,
    ask_page,
    cells_of,
    open_changing,
)
from tests.e2e.jupyterlab import Lab, PageErrors, wait_until_drawn
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
        {"action": "insert", "cell": "new-cell", "after": ids[1], "new": "# *New*", "kind": "markdown"},
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
    ask_page(page, {"action": "insert", "cell": "md", "after": ids[6], "new": "*m*", "kind": "markdown"})
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
        ids[7], ids[0], ids[1], "new", ids[2], ids[4], ids[6], ids[5], "md", ids[8]
    ]
    assert seen.errors == []


def test_a_cell_that_moves_far_takes_the_cursor_and_its_running_code_along(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    notebook = open_changing(page, lab, "moves", *(f"# cell {number}" for number in range(8)))
    ids = [cell["id"] for cell in cells_of(page)]
    move = f"dict(action='move', cell={ids[2]!r}, after={ids[8]!r}, old=In[-1])"
    runs = (
        "import time\nfor number in range(40):\n    print(number)\n    time.sleep(0.02)\n    if number == 10:\n"
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
