"""The agent's changes of cells are reviewed in the notebook and in the panel: by pointer, by keyboard, and later."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.e2e.changed_notebook import run_silently
from tests.e2e.jupyterlab import (
    READY,
    SAMPLED_THEMES,
    Lab,
    PageErrors,
    choose_theme,
    open_notebook,
    photograph,
)
from tests.e2e.recorded_turns import script
from tests.e2e.running_notebook import Notebook, begin
from tests.e2e.test_panel import AXE, RUN, VIOLATIONS, book, open_panel, send

from palimpsest.model.script import calls, says
from palimpsest.testing import FaultServer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SOURCES = "window.jupyterapp.shell.currentWidget.content.widgets.map(cell => cell.model.sharedModel.getSource())"
VOICE = ".jp-NotebookPanel > .plm-Hidden[role='status']"
FOCUSED_BAR = "document.activeElement?.closest('.plm-ChangeBar')?.textContent ?? ''"
COMMAND = "name => window.jupyterapp.commands.execute('jupyter-palimpsest:' + name)"
TYPE = """([index, source]) => {
  const { model } = window.jupyterapp.shell.currentWidget.content.widgets[index];
  model.sharedModel.setSource(source);
}"""
HOSTILE = "<img src=x onerror=window.hit=1>\u202e\u001b[31m\r\n" + "y" * 40_000
CELLS = ("rows = [3, 1, 2]\ntotal = sum(rows)\nprint(total)", "chart = rows", "old = 1")
CHANGES: tuple[dict[str, Any], ...] = (
    {
        "action": "edit",
        "cell": "3",
        "edits": [{"old": "sum(rows)", "new": "sum(rows) / len(rows)"}],
    },
    {"action": "insert", "after": "3", "source": "import math\n\nmath.sqrt(total)"},
    {"action": "move", "cell": "5", "after": "3"},
    {"action": "delete", "cell": "4"},
)


def ask_changes(
    page: Page,
    lab: Lab,
    name: str,
    *changes: dict[str, Any],
    cells: tuple[str, ...] = CELLS,
    yes: bool = False,
) -> Notebook:
    """Open a notebook, run its cells, and let the agent want to change them."""
    answers = script(calls("notebook"), calls("cells", changes=list(changes)), says("Done."))
    prompt = f"%%agent{' -y' if yes else ''}\nTidy it."
    notebook = begin(page, lab, name, answers, *cells, prompt, told=True)
    run_silently(page, "harness.wait_for_page()\n_answer = ''")
    for number in range(1, len(cells) + 2):
        notebook.run(number)
    page.evaluate(COMMAND, "open-panel")
    notebook.run(len(cells) + 2, wait=yes)
    expect(bars(page).first).to_be_visible()
    return notebook


def bars(page: Page) -> Locator:
    return page.locator(".plm-ChangeBar")


def bar(page: Page, words: str) -> Locator:
    return bars(page).filter(has_text=words)


def press(page: Page, words: str, button: str) -> None:
    bar(page, words).get_by_role("button", name=button, exact=True).click()


def own_sources(page: Page) -> list[str]:
    """Return the sources between the two cells that load the agent and its prompt."""
    found: list[str] = page.evaluate(SOURCES)
    return found[2:-1]


def violations(page: Page) -> list[str]:
    """Return the accessibility violations of what the review draws."""
    if not page.evaluate("'axe' in window"):
        page.add_script_tag(path=AXE)
    where = {"include": [[".plm-Review"], [".plm-Changes"]]}
    found: list[str] = page.evaluate(VIOLATIONS, where)
    return found


def test_proposals_are_decided_by_keyboard_and_change_nothing_before(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    notebook = ask_changes(page, lab, "proposals", *CHANGES)
    expect(bars(page)).to_have_count(4)
    assert own_sources(page) == list(CELLS)
    photograph(page, "review-proposed")
    for theme in SAMPLED_THEMES:
        choose_theme(page, theme)
        assert violations(page) == []

    page.keyboard.press("Escape")
    page.locator(".jp-Notebook").focus()
    page.keyboard.press("Alt+Shift+N")
    expect(page.locator(VOICE)).to_have_text(
        "Change 1 of 4: The agent wants to change this cell, cell 3."
    )
    page.wait_for_function(f"{FOCUSED_BAR}.includes('1 of 4')")
    page.keyboard.press("Alt+Shift+Y")
    page.wait_for_function(f"{FOCUSED_BAR}.includes('2 of 4')")
    press(page, "insert this cell", "Accept and run")
    page.wait_for_function(f"{FOCUSED_BAR}.includes('3 of 4')")
    page.keyboard.press("Alt+Shift+N")
    page.wait_for_function(f"{FOCUSED_BAR}.includes('4 of 4')")
    page.keyboard.press("Alt+Shift+X")
    reason = bar(page, "move this cell").get_by_role("textbox")
    expect(reason).to_be_focused()
    page.keyboard.type("keep the order")
    assert own_sources(page) == list(CELLS)
    page.keyboard.press("Enter")
    page.wait_for_function(f"{FOCUSED_BAR}.includes('3 of 4')")
    page.keyboard.press("Enter")
    notebook.ended()

    expect(bars(page)).to_have_count(0)
    averaged = CELLS[0].replace("sum(rows)", "sum(rows) / len(rows)")
    assert own_sources(page) == [averaged, "import math\n\nmath.sqrt(total)", "old = 1"]
    expect(notebook.cell(3)).to_contain_text("2.449")
    rows = page.locator(".plm-Panel .plm-Changes-row")
    expect(page.locator(".plm-Changes-row[data-action='move']")).to_contain_text(
        "rejected: keep the order"
    )
    expect(rows.filter(has_text="New")).to_contain_text("accepted")
    page.locator(".plm-Panel .plm-Disclosure-head", has_text="proposals.ipynb").click()
    expect(page.locator(".plm-Panel .plm-Tool-output").last).to_contain_text(
        "Reason: keep the order"
    )
    assert seen.errors == []


def test_what_was_made_is_looked_at_later_and_taken_back(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    ask_changes(page, lab, "later", *CHANGES, yes=True)
    expect(bars(page)).to_have_count(4)
    expect(page.locator(".plm-ChangeMark")).to_contain_text("moved cell 5 away from here")
    photograph(page, "review-open")
    page.set_viewport_size({"width": 420, "height": 900})
    assert violations(page) == []
    page.set_viewport_size({"width": 1280, "height": 800})

    page.evaluate(TYPE, [4, "import cmath"])
    expect(bar(page, "inserted")).to_contain_text("The cell was changed since")
    press(page, "inserted", "Reject…")
    page.keyboard.press("Enter")
    expect(bar(page, "inserted").get_by_role("alert")).to_contain_text("changed")
    assert "import cmath" in own_sources(page)
    press(page, "inserted", "Accept")
    expect(bars(page)).to_have_count(3)

    panel = page.locator(".plm-Panel")
    panel.get_by_role("button", name="Reject: Deleted cell 4").click()
    page.keyboard.type("I need it")
    page.keyboard.press("Enter")
    expect(bars(page)).to_have_count(2)
    assert "chart = rows" in own_sources(page)
    panel.get_by_role("button", name="Accept all").click()
    expect(bars(page)).to_have_count(0)
    expect(panel.locator(".plm-Changes-row", has_text="Deleted")).to_contain_text(
        "rejected: I need it"
    )
    assert seen.errors == []


def test_the_built_in_model_writes_a_cell_and_changes_one_for_a_prompt_in_the_panel(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    frame = "import pandas as pd\nx = 3\nbirds = pd.DataFrame({'mass': range(x)})"
    open_notebook(page, lab, book(lab, "asked.ipynb", "%load_ext palimpsest", frame))
    page.evaluate(READY)
    for number in range(2):
        page.evaluate(RUN, number)
    panel = open_panel(page)

    send(panel, "Write a cell that shows the first rows of birds")
    expect(bar(page, "insert this cell")).to_be_visible()
    assert len(page.evaluate(SOURCES)) == 2
    press(page, "insert this cell", "Accept and run")
    expect(panel).to_contain_text("I wrote the cell.")
    assert page.evaluate(SOURCES)[2] == "birds.head(5)"
    expect(page.locator(".jp-CodeCell").nth(2).locator("table")).to_be_visible()

    send(panel, "rename x to count in cell 2")
    press(page, "change this cell", "Accept")
    expect(panel).to_contain_text("x is count in cell 2 now.")
    assert page.evaluate(SOURCES)[1] == frame.replace("x", "count")
    expect(bars(page)).to_have_count(0)
    assert seen.errors == []


TEN = "\n".join(f"line_{number} = {number}" for number in range(10))


def test_a_part_of_a_change_is_kept_and_the_editor_is_never_locked(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    changed = TEN.replace("line_1 = 1", "line_1 = 100").replace("line_8 = 8", "line_8 = 800")
    edit = {"action": "edit", "cell": "3", "source": changed}
    ask_changes(page, lab, "parts", edit, cells=(TEN,), yes=True)
    difference = page.locator(".plm-CellDiff")
    expect(difference.locator(".cm-changedText").first).to_have_text("00")
    photograph(page, "review-parts")
    assert violations(page) == []

    press(page, "changed this cell", "Edit the cell itself")
    expect(difference).to_have_count(0)
    expect(page.locator(".jp-Cell .cm-content", has_text="line_1 = 100").first).to_be_visible()
    press(page, "changed this cell", "Show the change")
    difference.get_by_role("button", name="Keep").first.click()
    difference.get_by_role("button", name="Drop").click()

    expect(bars(page)).to_have_count(0)
    assert own_sources(page) == [TEN.replace("line_1 = 1", "line_1 = 100")]
    assert seen.errors == []


def test_hostile_sources_are_only_text_and_seen_to_their_end(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    changes = (
        {"action": "edit", "cell": "3", "source": f"{HOSTILE}\nend_of_it()"},
        {"action": "insert", "after": "3", "source": HOSTILE},
    )
    ask_changes(page, lab, "hostile", *changes, cells=("x = 1",))
    review = page.locator(".plm-CellDiff").first
    expect(review).to_contain_text("<img src=x onerror=window.hit=1>⟨U+202E⟩⟨U+001B⟩[31m")
    show = bar(page, "change this cell").get_by_role("button", name="Show the end to accept")
    expect(show).to_be_visible()
    show.click()
    expect(review).to_contain_text("end_of_it()")
    expect(
        bar(page, "change this cell").get_by_role("button", name="Accept", exact=True)
    ).to_be_visible()
    names = page.locator(".plm-Panel .plm-Changes-name")
    expect(names.nth(1)).to_have_text("<img src=x onerror=window.hit=1>⟨U+202E⟩…")

    assert page.locator(".plm-Review img[src], .plm-Changes img").count() == 0
    assert page.evaluate("window.hit") is None
    assert seen.errors == []


@pytest.fixture
def server() -> Iterator[FaultServer]:
    """A model server that reads the notebook, and then changes two cells."""
    changes = [
        {"action": "edit", "cell": "2", "source": "x = 2"},
        {"action": "insert", "after": "2", "source": "y = 3"},
    ]
    with FaultServer(calls("notebook"), calls("cells", changes=changes), says("Done.")) as server:
        yield server


@pytest.mark.usefixtures("own_page")
def test_a_review_outlives_the_page_and_the_kernel(
    page: Page, lab: Lab, server: FaultServer, seen: PageErrors
) -> None:
    setting = (
        f"%env OPENAI_BASE_URL={server.url}/v1\n%env OPENAI_API_KEY=none\n%env OPENAI_MODEL=fault\n"
        "%env PALIMPSEST_CONFIG_CONTENT=titles = false\n%load_ext palimpsest"
    )
    open_notebook(
        page, lab, book(lab, "outlives.ipynb", setting, "x = 1", "%%agent -y\nChange it.")
    )
    page.evaluate(READY)
    for number in range(3):
        page.evaluate(RUN, number)
    expect(bars(page)).to_have_count(2)
    page.evaluate("window.jupyterapp.shell.currentWidget.context.save()")

    page.reload()
    expect(bars(page)).to_have_count(2)
    page.evaluate(READY)
    page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    page.evaluate(READY)
    page.evaluate(RUN, 0)
    expect(bars(page)).to_have_count(2)

    press(page, "changed this cell", "Reject…")
    page.keyboard.press("Enter")
    expect(bars(page)).to_have_count(1)
    assert page.evaluate(SOURCES)[1] == "x = 1"
    assert seen.errors == []
