"""How many rows of a turn stand beside its text, in a cell and in the panel of a real JupyterLab."""

from dataclasses import dataclass

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.e2e.jupyterlab import READY, Lab, PageErrors, choose_theme, photograph
from tests.e2e.running_notebook import begin
from tests.e2e.test_panel import COMMAND

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@dataclass(frozen=True)
class Scripted:
    """A turn as a scripted model answers, and the rows that it may take beside its text."""

    name: str
    script: str
    rows: int
    works: str
    """What the row of work says."""


def looks(count: int) -> str:
    """Return the script of a turn that looks at files one after the other."""
    steps = [f"calls('read', path='file{number}.txt')" for number in range(count)]
    return ", ".join([*steps, "says('They all hold a number.')"])


TURNS = (
    Scripted(
        "penguins",
        "thinks('I look first.').calls('variables', name='penguins'), "
        "calls('python', code='penguins[:2]'), says('It holds three **species**.')",
        rows=3,
        works="looked at penguins · thought",
    ),
    Scripted("four-looks", looks(4), rows=2, works="looked at 4 files"),
    Scripted("ten-calls", looks(10), rows=2, works="looked at 10 files"),
    Scripted(
        "mended",
        "calls('read', path='file1.txt'), calls('python', code='penguin'), "
        "calls('python', code='penguins[-1]'), calls('write', path='report.md', content='a\\nb\\n'), "
        "says('The report is written.')",
        rows=4,
        works="looked at file1.txt · 1 failed, then mended",
    ),
)
SETUP = """from palimpsest.model.script import thinks
penguins = ['Adelie', 'Gentoo', 'Chinstrap']
harness.script({script})"""
ROWS = """places => places.flatMap(place => [...place.querySelectorAll(
  '.plm-Work, .plm-Tool, .plm-Reasoning, .plm-Step, .plm-FileChanges, .plm-TurnSummary'
)]).filter(row => row.parentElement.closest('.plm-Work, .plm-Tool') === null).map(row => row.textContent)"""


@pytest.mark.parametrize("turn", TURNS, ids=lambda turn: turn.name)
def test_work_takes_one_row_each_act_one_and_the_turn_one_footer(
    page: Page, lab: Lab, seen: PageErrors, turn: Scripted
) -> None:
    for number in range(10):
        (lab.folder / f"file{number}.txt").write_text(f"{number}\n", encoding="utf-8")
    notebook = begin(
        page,
        lab,
        f"rows-{turn.name}",
        SETUP.format(script=turn.script),
        "%%agent -y\nWhat is in @penguins?",
    )
    notebook.run(1)
    page.evaluate(COMMAND, "jupyter-palimpsest:open-panel")
    notebook.run(2)
    cell = notebook.cell(2).locator(".plm-Segment")
    panel = page.locator("#jupyter-palimpsest-panel .plm-Turn .plm-Segment")
    expect(cell.locator(".plm-TurnSummary").last).to_be_visible()
    expect(panel.locator(".plm-TurnSummary").last).to_be_visible()
    for theme in ("JupyterLab Dark", "JupyterLab Light"):
        choose_theme(page, theme)
        photograph(page, f"turn-{turn.name}-{theme.rpartition(' ')[2].lower()}")

    for place in (cell, panel):
        _check(place, turn)
    assert seen.errors == []


def _check(place: Locator, turn: Scripted) -> None:
    rows = place.evaluate_all(ROWS)
    assert len(rows) == turn.rows, rows
    expect(place.locator(".plm-Work-words").first).to_contain_text(turn.works)


def test_a_setting_shows_all_steps_and_the_number_of_steps_folds_one_turn(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    settings = lab.folder.parent / "config" / "lab" / "user-settings"
    file = settings / "jupyter-palimpsest" / "panel.jupyterlab-settings"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('{"density": "all steps"}', encoding="utf-8")
    try:
        (lab.folder / "file0.txt").write_text("0\n", encoding="utf-8")
        (lab.folder / "file1.txt").write_text("1\n", encoding="utf-8")
        notebook = begin(
            page, lab, "rows-all", SETUP.format(script=looks(2)), "%%agent -y\nWhat do they hold?"
        )
        notebook.run(1)
        page.reload()
        page.locator(".jp-Notebook .jp-Cell").first.wait_for()
        page.evaluate(READY)
        page.evaluate(COMMAND, "jupyter-palimpsest:open-panel")
        notebook.run(2)
    finally:
        file.unlink()
    cell = notebook.cell(2)
    expect(cell.locator(".plm-Step")).to_have_count(3)
    expect(cell.locator(".plm-Work")).to_have_count(0)

    cell.get_by_role("button", name="3 steps").click()
    expect(cell.locator(".plm-Step")).to_have_count(0)
    expect(cell.get_by_role("button", name="looked at 2 files")).to_be_visible()

    page.evaluate("window.jupyterapp.shell.currentWidget.content.activeCellIndex = 0")
    page.locator("#jupyter-palimpsest-panel").get_by_role("button", name="cell [3]").click()
    page.wait_for_function("window.jupyterapp.shell.currentWidget.content.activeCellIndex === 2")
    assert seen.errors == []
