"""The agent changes cells of a notebook that two people edit together, with jupyter-collaboration."""

import subprocess
import venv
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.e2e.changed_notebook import UNDO, ask_page, cells_of, open_changing
from tests.e2e.jupyterlab import READY, Lab, PageErrors, open_notebook, photograph, running
from tests.e2e.running_notebook import Notebook, begin
from tests.e2e.test_cell_changes import EDITS, HAS_CURSOR, sources
from tests.e2e.test_cell_reviews import CELLS, CHANGES, ask_changes, bar, bars, own_sources, press
from tests.e2e.test_cell_runs import AGENT, DRAWS, let_run, number
from tests.e2e.test_panel import open_panel, send

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def shared_lab(
    program: str,  # noqa: ARG001  # asked first: without a browser no server is needed
    tmp_path_factory: pytest.TempPathFactory,
    front_end: Path,
    forks: str | None,
) -> Iterator[Lab]:
    """A JupyterLab in which pages share their documents."""
    home = tmp_path_factory.mktemp("shared")
    python = installed(home, "jupyter-collaboration")
    with running(home, front_end, forks=forks, python=python) as lab:
        yield lab


@pytest.fixture(scope="module")
def server_running_lab(
    program: str,  # noqa: ARG001  # asked first: without a browser no server is needed
    tmp_path_factory: pytest.TempPathFactory,
    front_end: Path,
    forks: str | None,
) -> Iterator[Lab]:
    """A JupyterLab whose server sends the execute requests of cells."""
    home = tmp_path_factory.mktemp("server-running")
    python = installed(home, "jupyter-collaboration", "jupyter-server-nbmodel")
    with running(home, front_end, forks=forks, python=python) as lab:
        yield lab


def installed(home: Path, *packages: str) -> str:
    """Return the Python of a new environment with JupyterLab and some packages."""
    venv.create(home / "env", with_pip=True)
    python = str(home / "env" / "bin" / "python")
    wanted = (f"jupyterlab=={version('jupyterlab')}", *packages)
    subprocess.run([python, "-m", "pip", "install", "--quiet", *wanted], check=True, cwd=home)
    return python


def test_a_change_reaches_both_people_and_disturbs_neither(
    page: Page, browser: Browser, shared_lab: Lab
) -> None:
    open_changing(page, shared_lab, "shared", "a = 1", "b = 2", "c = 3")
    with browser.new_context() as window:
        other = window.new_page()
        open_notebook(other, shared_lab, "shared.ipynb")
        other.evaluate(READY)
        assert sources(other) == ["a = 1", "b = 2", "c = 3"]
        ids = [cell["id"] for cell in cells_of(page)]
        page.evaluate(EDITS, 1)
        other.evaluate(EDITS, 2)
        other.wait_for_function(HAS_CURSOR)
        other.keyboard.type("2")
        page.wait_for_function(
            "window.jupyterapp.shell.currentWidget.content.widgets[2].model.sharedModel.getSource() === 'b = 22'"
        )

        stale = ask_page(page, {"action": "edit", "cell": ids[2], "old": "b = 2", "new": "x"})
        assert stale == [{"cell": ids[2], "problem": "changed", "source": "b = 22"}]
        ask_page(
            page,
            {"action": "edit", "cell": ids[2], "old": "b = 22", "new": "b = 22\nmore"},
            {"action": "insert", "cell": "new", "new": "first"},
            {"action": "move", "cell": ids[3], "after": ids[0], "old": "c = 3"},
        )
        other.keyboard.type("2")
        together = ["c = 3", "a = 1", "b = 222\nmore"]
        for each in (page, other):
            each.wait_for_function(
                "window.jupyterapp.shell.currentWidget.content.widgets.at(-1).model.sharedModel.getSource()"
                ".startsWith('b = 222')"
            )
            assert sources(each)[1:] == together
            expect(each.locator(".plm-CellOrigin")).to_have_count(1)
        photograph(other, "cell-changes-shared")
        page.keyboard.type("!")
        assert sources(page)[1:] == ["c = 3", "a = !1", "b = 222\nmore"]
        page.keyboard.press("Backspace")
        page.evaluate(UNDO)
        for each in (page, other):
            each.wait_for_function(
                "window.jupyterapp.shell.currentWidget.content.widgets[1].model.sharedModel.getSource() === 'a = 1'"
            )
            assert sources(each) == ["a = 1", "b = 222", "c = 3"]


def test_two_people_see_the_same_review_and_either_decides(
    page: Page, browser: Browser, shared_lab: Lab
) -> None:
    ask_changes(page, shared_lab, "reviewed", *CHANGES, yes=True)
    with browser.new_context() as window:
        other = window.new_page()
        open_notebook(other, shared_lab, "reviewed.ipynb")
        other.evaluate(READY)
        for each in (page, other):
            expect(bars(each)).to_have_count(4)
            expect(each.get_by_text("The cell was changed since.")).to_have_count(0)
        photograph(other, "cell-review-shared")

        press(other, "changed this cell", "Reject…")
        other.keyboard.type("the sum, please")
        other.keyboard.press("Enter")
        press(page, "deleted this cell", "Reject…")
        page.keyboard.press("Enter")
        for each in (page, other):
            expect(bars(each)).to_have_count(2)
            assert CELLS[0] in own_sources(each)
            assert CELLS[1] in own_sources(each)
        press(page, "inserted this cell", "Accept")
        expect(bar(other, "moved this cell")).to_be_visible()
        expect(bars(other)).to_have_count(1)


def test_the_agent_runs_a_cell_for_one_person_while_the_other_runs_another(
    page: Page, browser: Browser, shared_lab: Lab, seen: PageErrors
) -> None:
    notebook = begin(page, shared_lab, "run-shared", DRAWS, "6 * 7", AGENT, told=True)
    let_run(page, 1)
    with browser.new_context() as window:
        other = Notebook(window.new_page(), notebook.path)
        open_notebook(other.page, shared_lab, "run-shared.ipynb")
        other.page.evaluate(READY)

        notebook.run(3, wait=False)
        other.run(2, wait=False)
        notebook.ended()
        other.ended()

        for each in (notebook, other):
            expect(each.cell(1).locator(".jp-OutputArea-output")).to_have_count(3)
            expect(each.cell(1).locator("img")).to_have_count(1)
            expect(each.cell(2).locator(".jp-OutputArea-output")).to_have_text("42")
            expect(each.cell(3)).to_contain_text("All done.")
            assert [number(each, cell) for cell in (3, 1, 2)] == [2, 3, 4]
        photograph(other.page, "cell-run-shared")
    assert seen.errors == []


def test_the_agent_s_run_waits_for_a_cell_of_the_other_person(
    page: Page, browser: Browser, shared_lab: Lab, seen: PageErrors
) -> None:
    notebook = begin(page, shared_lab, "run-waits", "input('hold')", "1 + 1", told=True)
    panel = open_panel(page)
    let_run(page, 2)
    with browser.new_context() as window:
        other = Notebook(window.new_page(), notebook.path)
        open_notebook(other.page, shared_lab, "run-waits.ipynb")
        other.page.evaluate(READY)
        other.run(1, wait=False)
        answer = other.cell(1).locator("input.jp-Stdin-input")
        # The field takes the keyboard when it appears.
        expect(answer).to_be_focused()
        send(panel, "Run it.")
        panel.get_by_role("button", name="Allow once").click()
        expect(notebook.cell(2).locator(".jp-InputPrompt")).to_have_text("[*]:")
        answer.fill("go on")
        answer.press("Enter")
        other.ended()

        expect(panel).to_contain_text("All done.")
        for each in (notebook, other):
            expect(each.cell(1)).to_contain_text("'go on'")
            expect(each.cell(2).locator(".jp-OutputArea-output")).to_have_text("2")
            assert [number(each, cell) for cell in (1, 2)] == [2, 3]
    assert seen.errors == []


def test_the_agent_runs_a_cell_where_the_server_runs_those_of_people(
    page: Page, server_running_lab: Lab, seen: PageErrors
) -> None:
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url))
    notebook = begin(page, server_running_lab, "run-by-server", DRAWS, AGENT, "6 * 7", told=True)
    let_run(page, 1)

    notebook.run(2)

    expect(notebook.cell(1).locator("img")).to_have_count(1)
    expect(notebook.cell(2)).to_contain_text("All done.")
    assert number(notebook, 1) == number(notebook, 2) + 1
    notebook.run(3)
    expect(notebook.cell(3)).to_contain_text("42")
    # The setup, the prompt and the person's cell went by the server; the agent's run by the page.
    assert len([url for url in sent if url.split("?")[0].endswith("/execute")]) == 3
    assert seen.errors == []
