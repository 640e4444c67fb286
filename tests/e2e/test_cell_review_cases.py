"""Reviews of the agent's changes of cells: other pages, restarts, many cells, and what a person does meanwhile."""

import re

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.changed_notebook import cells_of, run_silently
from tests.e2e.jupyterlab import READY, Lab, PageErrors, open_notebook, photograph, wait_until_drawn
from tests.e2e.running_notebook import begin
from tests.e2e.test_cell_changes import LINES, work_clock
from tests.e2e.test_cell_reviews import (
    CELLS,
    CHANGES,
    SOURCES,
    TYPE,
    ask_changes,
    bar,
    bars,
    own_sources,
    press,
)
from tests.e2e.test_panel import at_rest, composer, open_panel

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

AVERAGED = CELLS[0].replace("sum(rows)", "sum(rows) / len(rows)")
DECIDED = [AVERAGED, "import math\n\nmath.sqrt(total)", "old = 1"]
EDIT = {"action": "edit", "cell": "3", "source": "x = 5\nprint(x)"}
INSERTION = {"action": "insert", "after": "3", "source": "print('new')"}


@pytest.mark.soak  # with each commit tests/e2e/test_cell_reviews.py decides in the page that asked; this adds a second one
def test_a_second_page_decides_and_the_first_one_makes_the_changes(page: Page, lab: Lab) -> None:
    notebook = ask_changes(page, lab, "pages", *CHANGES)
    other = notebook.beside(lab).page
    expect(bars(other)).to_have_count(4)
    press(other, "move this cell", "Reject…")
    other.keyboard.type("keep it")
    other.keyboard.press("Enter")
    for name in ("change", "insert", "delete"):
        press(other, f"{name} this cell", "Accept")
    page.bring_to_front()
    notebook.ended()

    for each in (page, other):
        expect(each.locator(".plm-ChangeBar[data-state='proposed']")).to_have_count(0)
    assert DECIDED in (own_sources(page), own_sources(other))
    other.close()


@pytest.mark.soak  # with each commit tests/e2e/test_cell_reviews.py reviews in one page; this adds one that has not read the notebook again
def test_a_page_that_shows_a_notebook_of_before_says_so(page: Page, lab: Lab) -> None:
    notebook = ask_changes(page, lab, "before", *CHANGES[:1], yes=True)
    other = notebook.beside(lab).page
    other.evaluate(READY)
    expect(bar(other, "changed this cell")).to_contain_text("Here the cell is as it was before")
    notebook.save()
    other.evaluate("window.jupyterapp.shell.currentWidget.context.revert()")
    expect(bar(other, "changed this cell")).not_to_contain_text("as it was before")
    press(other, "changed this cell", "Reject…")
    other.keyboard.press("Enter")
    for each in (page, other):
        expect(bars(each)).to_have_count(0)
    other.close()


@pytest.mark.soak  # with each commit tests/e2e/test_cell_reviews.py reloads and restarts after the turn; this adds both while it asks
def test_a_question_outlives_the_tab_and_ends_with_the_kernel(page: Page, lab: Lab) -> None:
    notebook = ask_changes(page, lab, "closed", *CHANGES)
    notebook.save()
    press(page, "insert this cell", "Accept")
    open_notebook(page, lab, "closed.ipynb")
    expect(bars(page)).to_have_count(4)
    expect(page.get_by_text("the agent goes on when all are decided")).to_have_count(0)
    assert own_sources(page) == list(CELLS)

    page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    expect(bars(page)).to_have_count(0)
    page.evaluate(READY)
    expect(page.locator(".plm-mod-covered, .plm-mod-deleted")).to_have_count(0)
    assert own_sources(page) == list(CELLS)


@pytest.mark.soak  # with each commit tests/session/revert/test_cell_reviews.py takes changes back; this adds cells that a person ran
def test_a_changed_cell_runs_before_it_is_decided(page: Page, lab: Lab, seen: PageErrors) -> None:
    notebook = ask_changes(page, lab, "ran", EDIT, INSERTION, cells=("x = 1\nprint(x)",), yes=True)
    expect(bars(page)).to_have_count(2)
    notebook.run(2)
    expect(notebook.cell(2).locator(".jp-OutputArea-output")).to_have_text("5")
    notebook.run(3)
    expect(bars(page)).to_have_count(2)
    for count, name in ((1, "changed"), (0, "inserted")):
        press(page, f"{name} this cell", "Reject…")
        page.keyboard.press("Enter")
        expect(bars(page)).to_have_count(count)
    assert own_sources(page) == ["x = 1\nprint(x)"]
    assert seen.errors == []


@pytest.mark.soak  # with each commit tests/tools/notebook/test_cells_tool.py refuses such a call; this adds the page
def test_a_cell_that_a_person_changes_while_it_asks_is_left_to_them(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    notebook = ask_changes(page, lab, "typed", EDIT, INSERTION, cells=("x = 1\nprint(x)",))
    page.evaluate(TYPE, [2, "x = 7"])
    typed = bar(page, "change this cell")
    expect(typed).to_contain_text("changed since the agent read it")
    # Accepted, it would fail the call, and with it what else was accepted.
    expect(typed.get_by_role("button", name="Accept")).to_have_count(0)
    press(page, "change this cell", "Reject…")
    typed.get_by_role("textbox").press("Enter")
    press(page, "insert this cell", "Accept")
    notebook.ended()
    expect(bars(page)).to_have_count(0)
    assert own_sources(page) == ["x = 7", "print('new')"]
    assert seen.errors == []


@pytest.mark.soak  # with each commit tests/session/revert/test_cell_reverts.py takes both back; this adds the panel and the page
def test_the_panel_takes_cells_and_a_file_back_together(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    changes = [
        {"action": "edit", "cell": "2", "source": "x = 2"},
        {"action": "insert", "after": "2", "source": "y = 3"},
        {"action": "delete", "cell": "3"},
    ]
    script = (
        "harness.script(calls('notebook'), calls('write', path='made.txt', content='One.')"
        f".calls('cells', changes={changes!r}), says('Done.'))"
    )
    notebook = begin(
        page, lab, "together", "x = 1", "print('kept')", script, told=True, snapshots=True
    )
    for number in (1, 2, 3):
        notebook.run(number)
    before = cells_of(page)
    panel = open_panel(page)
    composer(panel).fill("Do both.")
    composer(panel).press("Enter")
    panel.locator(".plm-Answers button[data-answer='once']").first.click()
    panel.get_by_role("button", name="Accept all").click()
    at_rest(panel)
    assert page.evaluate(SOURCES)[1:-1] == ["x = 2", "y = 3"]

    panel.get_by_role("button", name="Revert to here…").first.press("Enter")
    dialog = page.get_by_role("dialog", name="Revert to here?")
    expect(dialog).to_contain_text("3 cells")
    expect(dialog).to_contain_text("made.txt")
    photograph(page, "revert-cells-and-file")
    dialog.get_by_role("button", name="Revert", exact=True).press("Enter")
    expect(panel.get_by_text("messages reverted")).to_be_visible()
    made = lab.folder / "made.txt"
    assert page.evaluate(SOURCES)[1:-1] == ["x = 1", "print('kept')"]
    assert cells_of(page)[2]["outputs"] == before[2]["outputs"]
    assert not made.exists()

    panel.get_by_role("button", name="Undo", exact=True).press("Enter")
    expect(panel.get_by_text("messages reverted")).to_have_count(0)
    assert page.evaluate(SOURCES)[1:-1] == ["x = 2", "y = 3"]
    assert made.exists()
    composer(panel).fill("/fork")
    composer(panel).press("Enter")
    expect(panel).to_contain_text("Forked.")
    assert page.evaluate(SOURCES)[1:-1] == ["x = 2", "y = 3"]
    made.unlink()
    assert seen.errors == []


@pytest.mark.soak  # with each commit tests/tools/permission_rules/test_permissions.py has the modes; this adds what a page shows of them
def test_accept_edits_asks_before_a_run_and_plan_changes_nothing(page: Page, lab: Lab) -> None:
    edit = {"action": "edit", "cell": "2", "source": "print('two')"}
    script = (
        f"harness.script(calls('notebook'), calls('cells', changes={[edit]!r}), "
        "calls('cells', changes=[dict(action='run', cell='2')]), says('One.'), "
        f"calls('cells', changes={[edit]!r}), says('Planned.'))"
    )
    asks = ("%agent mode accept-edits", "%%agent\nGo.", "%agent mode plan", "%%agent\nGo on.")
    notebook = begin(page, lab, "modes", "x = 1", script, *asks, told=True)
    for number in (1, 2, 3):
        notebook.run(number)
    notebook.run(4, wait=False)
    expect(notebook.cell(4).locator(".plm-Question")).to_be_visible()
    expect(bars(page)).to_have_count(1)
    assert page.evaluate(SOURCES)[1] == "print('two')"
    notebook.cell(4).get_by_role("button", name="Allow once").click()
    notebook.ended()
    expect(notebook.cell(1)).to_contain_text("two")
    notebook.run(5)
    notebook.run(6)
    expect(notebook.cell(6)).to_contain_text("There is no tool 'cells' here.")


SETTLED = "() => new Promise(done => { setTimeout(() => { requestAnimationFrame(() => { done(true); }); }, 120); })"
"""Resolves when what a page does a moment after a change is done, too."""
HUNDRED = 100
SHOW = "index => window.jupyterapp.shell.currentWidget.content.scrollToItem(index, 'center')"


@pytest.mark.soak  # with each commit tests/e2e/test_cell_changes.py changes a hundred cells; this adds their review
def test_a_hundred_changes_are_reviewed_and_typing_stays_quick(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    cells = [f"value_{number} = {number}\n{LINES}" for number in range(HUNDRED)]
    notebook = begin(page, lab, "reviewed", *cells, "%%agent -y\nTidy it.", told=True)
    ids = [cell["id"] for cell in cells_of(page)][1:-1]
    changes = [
        {"action": "edit", "cell": cell, "source": source.replace("line_3", "third_line")}
        for cell, source in zip(ids, cells, strict=True)
    ]
    reads = "".join(f".calls('notebook', cell={cell!r})" for cell in ids)[1:]
    run_silently(
        page,
        f"harness.wait_for_page()\nharness.script({reads}, calls('cells', changes={changes!r}), says('Done.'))\n_answer = ''",
    )
    panel = open_panel(page)
    notebook.run(HUNDRED + 1)
    for index in range(0, HUNDRED, 9):
        page.evaluate(SHOW, index + 1)
        shown = page.locator(".jp-Cell").filter(
            has=page.locator(".plm-ChangeBar", has_text=re.compile(rf"\b{index + 1} of 100"))
        )
        expect(shown.locator(".plm-CellDiff")).to_contain_text("third_line")
    wait_until_drawn(page)

    work_seconds = work_clock(page)
    least = []
    for text in "abc":
        before = work_seconds()
        page.evaluate(TYPE, [HUNDRED + 1, f"%%agent -y\nTidy it {text}"])
        wait_until_drawn(page)
        page.wait_for_function(SETTLED)
        least.append(work_seconds() - before)
    assert min(least) < 0.1

    press(page, "100 of 100", "Accept")
    expect(bars(page).filter(has_text="of 99").first).to_be_attached()
    panel.get_by_role("button", name="Accept all").click()
    expect(bars(page)).to_have_count(0)
    assert seen.errors == []


def test_a_person_deletes_a_cell_meanwhile_and_the_question_ends_with_the_others(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    notebook = ask_changes(page, lab, "gone", *CHANGES)
    page.evaluate("window.jupyterapp.shell.collapseRight()")
    edit = page.locator(".jp-Cell", has=bar(page, "change this cell"))
    edit.locator(".jp-InputPrompt").click()
    press(page, "change this cell", "Edit the cell itself")
    expect(bar(page, "change this cell").get_by_role("button", name="Accept")).to_have_count(0)
    press(page, "change this cell", "Show the change")
    expect(edit.locator(".plm-CellDiff .cm-changedText").first).to_be_visible()
    prompt, difference = (
        edit.locator(name).bounding_box()
        for name in (".jp-InputPrompt", ".jp-InputArea > .plm-CellDiff")
    )
    assert prompt is not None
    assert difference is not None
    assert prompt["x"] < difference["x"]

    page.locator(".jp-Cell", has=bar(page, "delete this cell")).locator(".jp-InputPrompt").click()
    page.keyboard.press("d")
    page.keyboard.press("d")
    expect(bars(page)).to_have_count(3)
    press(page, "change this cell", "Accept")
    press(page, "move this cell", "Accept")
    press(page, "insert this cell", "Accept and run")
    notebook.ended()

    expect(bars(page)).to_have_count(0)
    assert own_sources(page) == [AVERAGED, "old = 1", "import math\n\nmath.sqrt(total)"]
    # The sketch lay in the frame of the cell above it.
    active = (
        "window.jupyterapp.shell.currentWidget.content.activeCell.model.sharedModel.getSource()"
    )
    page.wait_for_function(f"{active}.startsWith('import math')")
    sign = page.locator(".jp-Cell-inputWrapper > .plm-CellOrigin").first
    expect(sign).to_be_visible()
    assert seen.errors == []
