"""Cells and panel in Notebook 7, which has neither JupyterLab's shell nor its side bars."""

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Page, expect
from tests.e2e.changed_notebook import UNDO, ask_page, cells_of, open_changing
from tests.e2e.jupyterlab import (
    READY,
    Notebook7,
    PageErrors,
    open_notebook,
    photograph,
    running,
    wait_until_drawn,
)
from tests.e2e.running_notebook import begin
from tests.e2e.test_cell_reviews import CELLS, CHANGES, ask_changes, bar, bars, own_sources, press
from tests.e2e.test_cell_runs import AGENT, let_run, number
from tests.e2e.test_first_notebook import CLEAR, requests
from tests.e2e.test_inspector import unpacked
from tests.e2e.test_inspector_cell import inspected_in, keys_stay_in_the_views_until_escape
from tests.e2e.test_inspector_kernels import kernels_of
from tests.e2e.test_panel import (
    BEGIN,
    RUN,
    SCRIPTED_MODEL_SETUP,
    at_rest,
    book,
    composer,
    open_panel,
    open_scripted_notebook,
    send,
    transcript_region,
)
from tests.e2e.test_small_window import CELL_HAS_FOCUS, NARROW, ON_TOP, WIDTHS
from tests.untested import skip_without
from tests.waiting import eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

ASKS = "harness.script(calls('python', code='6 * 7').says('I compute.'), says('It is 42.'))"
GO = "%%agent\nGo."


@pytest.fixture(scope="module")
def classic(
    program: str,  # noqa: ARG001  # asked first: without a browser no server is needed
    tmp_path_factory: pytest.TempPathFactory,
    front_end: Path,
    forks: str | None,
) -> Iterator[Notebook7]:
    """A running Notebook 7 with a folder, settings and kernels of its own."""
    if importlib.util.find_spec("notebook") is None:
        skip_without("Notebook 7")
    home = tmp_path_factory.mktemp("classic")
    with running(home, front_end, Notebook7, lean=True, forks=forks) as classic:
        yield classic


def ours(seen: PageErrors) -> list[str]:
    """Return the page's errors, without one that Notebook 7.6 logs at every start."""
    return [error for error in seen.errors if "undefined (reading 'schema')" not in error]


def choose(page: Page, menu: str, item: str) -> None:
    """Choose an item from the menu bar, whose labels are the same in all supported releases."""
    page.get_by_role("menuitem", name=menu, exact=True).click()
    page.locator(".lm-Menu-itemLabel", has_text=re.compile(f"^{item}$")).click()


def confirm(page: Page, button: str) -> None:
    """Press a button of the dialog."""
    dialog = page.locator(".jp-Dialog")
    dialog.locator("button", has_text=button).click()
    expect(dialog).to_have_count(0)


@pytest.mark.soak  # with each commit tests/e2e/test_panel.py shows it in JupyterLab; this adds Notebook 7
def test_the_panel_loads_asks_and_answers(page: Page, classic: Notebook7, seen: PageErrors) -> None:
    open_notebook(page, classic, book(classic, "classic.ipynb", "1"))
    page.evaluate(READY)
    choose(page, "View", "Activate Command Palette")
    page.locator(".lm-CommandPalette-input").fill("Open the Agent Panel")
    page.locator(".lm-CommandPalette-item", has_text="Open the Agent Panel").first.click()
    panel = page.locator("#jupyter-palimpsest-panel")
    panel.get_by_role("button", name="Load it").click()
    expect(composer(panel)).to_be_focused()
    send(panel, "calculate 17*23")
    panel.get_by_role("button", name="Allow once").click()

    expect(transcript_region(panel).get_by_text("391").first).to_be_visible()
    at_rest(panel)
    photograph(page, "panel-notebook7")
    right = panel.evaluate("node => node.getBoundingClientRect().right")
    assert right <= page.evaluate("window.innerWidth") + 1
    page.evaluate(RUN, 0)
    composer(panel).press_sequentially("see @cell")
    expect(panel.get_by_role("option").first).to_be_visible()
    composer(panel).press("Enter")
    expect(panel.locator(".plm-MentionChip")).to_have_text(
        re.compile(r"cell \d+ with its outputs · ~\d+ tokens")
    )
    assert ours(seen) == []


LOOKED = (
    "calls('list', path='.'), thinks('Now the mean.').calls('python', code='6 * 7'), "
    "says('It is 42.').reports(input=240, cache_read=2_100, output=40), says('Again.')"
)
HIGH = """where => [...document.querySelectorAll(where)].filter(one => one.checkVisibility())
  .map(one => one.getBoundingClientRect().height)"""


@pytest.mark.soak  # with each commit tests/e2e/test_small_window.py shows it in JupyterLab; this adds Notebook 7
def test_the_line_below_a_turn_is_one_row_and_in_a_narrow_window_the_panel_lies_over_it(
    page: Page, classic: Notebook7, seen: PageErrors
) -> None:
    panel = open_scripted_notebook(page, classic, "row.ipynb", LOOKED, "%%agent -y\nLook.")
    page.evaluate(RUN, 1)
    at_rest(panel)
    for place in (page.locator(".jp-Notebook"), panel):
        summary = place.locator(".plm-TurnSummary")
        expect(summary).to_contain_text("3 steps · ")
        summary.hover()
        photograph(page, f"notebook7-line-{'panel' if place is panel else 'cell'}")
        assert all(high <= 28 for high in page.evaluate(HIGH, ".plm-TurnSummary"))

    page.set_viewport_size(NARROW)
    expect(panel).to_have_class(re.compile("plm-mod-overlay"))
    wait_until_drawn(page)
    notebook, covering = page.evaluate(WIDTHS)
    assert min(notebook, covering) >= 380
    assert page.evaluate(ON_TOP)
    photograph(page, "notebook7-small-panel")
    assert page.evaluate(HIGH, ".plm-TurnSummary") == [24, 24]
    panel.get_by_role("button", name="Back to the notebook").click()
    expect(panel).to_be_hidden()
    page.wait_for_function(CELL_HAS_FOCUS)
    photograph(page, "notebook7-small-notebook")
    assert page.evaluate(HIGH, ".plm-TurnSummary") == [24]

    open_panel(page)
    expect(composer(panel)).to_be_focused()
    send(panel, "And again?")
    at_rest(panel)
    composer(panel).press("Escape")
    expect(panel).to_be_hidden()
    open_panel(page)
    page.set_viewport_size({"width": 1280, "height": 900})
    expect(panel).not_to_have_class(re.compile("plm-mod-overlay"))
    page.wait_for_function(f"({WIDTHS})()[1] >= 320")
    assert sum(page.evaluate(WIDTHS)) <= 1280
    assert ours(seen) == []


@pytest.mark.soak  # with each commit tests/e2e/test_inspector.py and tests/e2e/test_inspector_cell.py open it in JupyterLab; this adds Notebook 7
def test_the_inspector_opens_below_the_notebook(
    page: Page, classic: Notebook7, seen: PageErrors
) -> None:
    path = unpacked(classic, "claude_code/compaction_session.jsonl", "in-cell.jsonl")
    name = book(
        classic,
        "classic-inspect.ipynb",
        SCRIPTED_MODEL_SETUP.format(answers="says('Two.')"),
        f"import palimpsest\nrecording = palimpsest.open_recording({path!r})\nrecording[0].inspect()",
    )
    open_notebook(page, classic, name)
    page.evaluate(READY)
    panel = open_panel(page)
    page.evaluate(RUN, 0)
    send(panel, "How many?")
    at_rest(panel)
    panel.locator(".plm-Panel-window").click()
    panel.get_by_role("button", name="Inspect the context").click()

    views = page.locator(".plm-InspectorWidget:visible .plm-Inspector")
    expect(views.get_by_role("slider", name="Request, recorded")).to_be_visible()
    photograph(page, "inspector-notebook7")
    page.evaluate(RUN, 1)
    keys_stay_in_the_views_until_escape(page, inspected_in(page, 1))
    assert ours(seen) == []


@pytest.mark.soak  # with each commit tests/e2e/test_inspector.py opens one in JupyterLab; this adds Notebook 7
@pytest.mark.usefixtures("own_page")
@pytest.mark.parametrize(
    ("packed", "name"),
    [
        pytest.param("marshmallow-1867.traj.xz", "page.traj", marks=pytest.mark.soak),
        ("claude_code/compaction_session.jsonl", "page.jsonl"),
    ],
)
def test_a_recorded_file_opens_in_a_page_and_comes_back_with_it(
    page: Page, classic: Notebook7, seen: PageErrors, packed: str, name: str
) -> None:
    path = unpacked(classic, packed, name)
    page.goto(f"{classic.url}/edit/{path}?token={classic.token}")
    cursor = page.get_by_role("slider", name="Request, recorded")
    expect(cursor).to_be_visible()
    photograph(page, f"inspector-notebook7-{name}")

    page.reload()

    expect(cursor).to_be_visible()
    expect(page.locator(".plm-InspectorWidget")).to_have_count(1)
    # The kernel of the page that went has ended with it.
    eventually(lambda: len(kernels_of(classic, path)) == 1)
    assert ours(seen) == []


@pytest.mark.soak  # with each commit labextension/tests/inspector/recordingFormats.test.ts tells them from other files; this adds Notebook 7
@pytest.mark.usefixtures("own_page")
def test_lines_that_are_no_recording_open_as_text(
    page: Page, classic: Notebook7, seen: PageErrors
) -> None:
    (classic.folder / "table.jsonl").write_text('{"a": 1}\n')
    page.goto(f"{classic.url}/edit/table.jsonl?token={classic.token}")

    expect(page.locator(".jp-FileEditor .cm-content")).to_contain_text('{"a": 1}')
    assert ours(seen) == []


@pytest.mark.soak  # with each commit tests/frontends/cell_turn/test_recorded_prompts.py restarts a kernel; this adds Notebook 7's menu
def test_restart_and_run_all_shows_what_was_recorded(
    page: Page, classic: Notebook7, seen: PageErrors
) -> None:
    asking = ("%%agent --yes\ncalculate 17*23", "%agent --yes calculate 6*7")
    path = book(classic, "again.ipynb", "%load_ext palimpsest", *asking)
    open_notebook(page, classic, path)
    page.evaluate(READY)
    choose(page, "Run", "Run All Cells")
    cells = page.locator(".jp-CodeCell")
    expect(cells.nth(1).locator(".plm-Segment")).to_contain_text("391")
    expect(cells.nth(2).locator(".plm-Segment")).to_contain_text("42")
    expect(cells.nth(2).locator(".jp-InputPrompt")).to_have_text("[3]:")
    sent = requests(classic.folder)
    page.evaluate(CLEAR)

    choose(page, "Kernel", "Restart Kernel and Run All Cells…")
    confirm(page, "Restart")

    expect(page.get_by_text("Recorded answer of")).to_have_count(2)
    expect(cells.nth(2).locator(".jp-InputPrompt")).to_have_text("[3]:")
    photograph(page, "notebook7-run-again")
    assert requests(classic.folder) == sent > 0
    assert ours(seen) == []


@pytest.mark.soak  # with each commit labextension/tests/pageMatchesLog.test.tsx has several pages; this adds two of Notebook 7
def test_a_second_page_answers_and_sees_the_same(page: Page, classic: Notebook7) -> None:
    notebook = begin(page, classic, "twice", ASKS, GO)
    notebook.run(1)
    notebook.run(2, wait=False)
    expect(notebook.cell(2).locator(".plm-Question")).to_be_visible()
    notebook.save()
    other = notebook.beside(classic)
    panel = open_panel(other.page)
    expect(panel.locator(".plm-TurnPrompt-text")).to_have_text(["Go."])
    other.cell(2).get_by_role("button", name="Allow once").click()
    notebook.ended()

    for place in (notebook.cell(2), other.cell(2), transcript_region(panel)):
        expect(place.get_by_text("It is 42.")).to_be_visible()
        place.get_by_role("button", name="done python 6 * 7").click()
        expect(place.get_by_text("allowed once")).to_be_visible()
        expect(place.locator(".plm-Question")).to_have_count(0)


@pytest.mark.soak  # with each commit tests/e2e/test_cell_changes.py changes cells in JupyterLab; this adds Notebook 7
def test_the_agent_changes_cells_and_one_undo_takes_all_back(
    page: Page, classic: Notebook7, seen: PageErrors
) -> None:
    notebook = open_changing(page, classic, "changes", "1 + 1", "2 + 2")
    before = cells_of(page)
    ids = [cell["id"] for cell in before]
    ask_page(
        page,
        {"action": "edit", "cell": ids[1], "old": "1 + 1", "new": "1 + 10"},
        {"action": "move", "cell": ids[2], "after": ids[0], "old": "2 + 2"},
        {"action": "insert", "cell": "new", "new": "# *New*", "kind": "markdown"},
    )
    expect(page.locator(".jp-MarkdownCell em", has_text="New")).to_be_visible()
    expect(page.locator(".plm-CellOrigin")).to_have_count(2)
    assert [cell["source"] for cell in cells_of(page)][2:] == ["2 + 2", "1 + 10"]
    notebook.cell(2).get_by_role("button", name="Written by the agent").hover()
    photograph(page, "notebook7-cell-origins")
    page.set_viewport_size(NARROW)
    wait_until_drawn(page)
    photograph(page, "notebook7-cell-origins-narrow")
    page.evaluate(UNDO)
    assert cells_of(page) == before
    assert ours(seen) == []


@pytest.mark.soak  # with each commit tests/e2e/test_cell_reviews.py decides in JupyterLab; this adds Notebook 7
def test_changes_of_cells_are_decided_in_their_cells(
    page: Page, classic: Notebook7, seen: PageErrors
) -> None:
    notebook = ask_changes(page, classic, "notebook7-reviewed", *CHANGES)
    before = own_sources(page)
    expect(bars(page)).to_have_count(4)
    photograph(page, "notebook7-review")
    assert own_sources(page) == before
    for words in ("change this cell", "insert this cell", "move this cell"):
        press(page, words, "Accept")
    press(page, "delete this cell", "Reject…")
    bar(page, "delete this cell").get_by_role("textbox").press("Enter")
    notebook.ended()
    expect(bars(page)).to_have_count(0)
    assert own_sources(page) == [
        CELLS[0].replace("sum(rows)", "sum(rows) / len(rows)"),
        *(CELLS[2], "import math\n\nmath.sqrt(total)", CELLS[1]),
    ]
    assert ours(seen) == []


@pytest.mark.soak  # with each commit tests/e2e/test_cell_runs.py runs cells in JupyterLab; this adds Notebook 7
def test_the_agent_runs_a_cell_that_asks_while_its_own_cell_waits(
    page: Page, classic: Notebook7, seen: PageErrors
) -> None:
    notebook = begin(page, classic, "runs", "print('Hello ' + input('Who? '))", AGENT, told=True)
    let_run(page, 1)
    notebook.run(2, wait=False)
    answer = notebook.cell(1).locator("input.jp-Stdin-input")
    answer.fill("Ada")
    answer.press("Enter")
    notebook.ended()
    expect(notebook.cell(1)).to_contain_text("Hello Ada")
    expect(notebook.cell(2)).to_contain_text("All done.")
    assert [number(notebook, cell) for cell in (0, 2, 1)] == [1, 2, 3]
    assert ours(seen) == []


@pytest.mark.soak  # with each commit tests/e2e/test_step_mode.py restarts in JupyterLab; this adds Notebook 7's menu
def test_a_restart_by_the_menu_ends_the_answer_and_the_session_goes_on(
    page: Page, classic: Notebook7
) -> None:
    name = book(classic, "restart.ipynb", "%load_ext palimpsest", "%%agent\ncalculate 17*23")
    open_notebook(page, classic, name)
    page.evaluate(READY)
    panel = open_panel(page)
    page.evaluate(RUN, 0)
    page.evaluate(BEGIN, 1)
    cell = page.locator(".jp-CodeCell").nth(1)
    expect(cell.get_by_role("button", name="Allow once")).to_be_visible()
    choose(page, "Kernel", "Restart Kernel…")
    confirm(page, "Restart")
    # The interrupt before a restart reaches the cell, or the kernel has gone first; it is shown once.
    told = cell.locator(".plm-Failure[data-state='stopped']")
    expect(told).to_have_text(re.compile(r"^\S*\s*(Stopped\.|Interrupted: the kernel ended)"))
    expect(page.get_by_role("button", name="Allow once")).to_have_count(0)
    photograph(page, "notebook7-restarted")

    panel.get_by_role("button", name="Load it").click()
    expect(panel.locator(".plm-TurnPrompt-text")).to_have_text(["calculate 17*23"])
    send(panel, "calculate 6*7")
    panel.get_by_role("button", name="Allow once").click()
    expect(transcript_region(panel).get_by_text("42").first).to_be_visible()
    at_rest(panel)


@pytest.mark.soak  # with each commit tests/e2e/test_saved_answer.py shows a saved answer in JupyterLab; this adds Notebook 7, and a kernel that is chosen
def test_a_notebook_without_a_kernel_shows_what_it_saved_and_gets_one(
    page: Page, classic: Notebook7, seen: PageErrors
) -> None:
    notebook = begin(page, classic, "alone", ASKS, GO)
    notebook.run(1)
    notebook.run(2, wait=False)
    notebook.cell(2).get_by_role("button", name="Allow once").click()
    notebook.ended()
    notebook.kept(2, "It is 42.")
    choose(page, "Kernel", "Shut Down Kernel")
    page.wait_for_function("!window.jupyterapp.shell.currentWidget.sessionContext.session")
    saved = nbformat.read(notebook.path, as_version=4)
    saved.metadata = {"kernelspec": {"name": "elsewhere", "display_name": "Of another machine"}}
    nbformat.write(saved, notebook.path)
    open_notebook(page, classic, notebook.path.name)
    confirm(page, "No Kernel")

    shown = notebook.cell(2).locator(".plm-Segment")
    expect(shown.get_by_text("It is 42.")).to_be_visible()
    shown.get_by_role("button", name="python").click()
    expect(shown.get_by_text("allowed once")).to_be_visible()
    expect(shown.locator(".plm-TurnFooter")).to_have_count(0)
    panel = open_panel(page)
    expect(panel.get_by_text("alone.ipynb has no kernel")).to_be_visible()
    photograph(page, "notebook7-alone")
    panel.get_by_role("button", name="Choose a kernel").click()
    confirm(page, "Select")
    expect(panel.get_by_role("button", name="Load it")).to_be_visible()
    assert ours(seen) == []


@pytest.mark.soak  # with each commit tests/e2e/test_panel.py renames one in JupyterLab; this adds Notebook 7 and a restart
def test_a_renamed_notebook_keeps_its_session_also_in_its_next_kernel(
    page: Page, classic: Notebook7
) -> None:
    open_notebook(page, classic, book(classic, "named.ipynb", "%load_ext palimpsest"))
    page.evaluate(READY)
    panel = open_panel(page)
    page.evaluate(RUN, 0)
    send(panel, "first words")
    expect(panel.locator(".plm-Text").first).to_be_visible()
    at_rest(panel)
    composer(panel).fill("second words")
    choose(page, "File", "Rename…")
    page.locator(".jp-Dialog input").fill("renamed.ipynb")
    confirm(page, "Rename")
    page.wait_for_url("**/renamed.ipynb*")
    expect(composer(panel)).to_have_value("second words")
    composer(panel).press("Enter")
    said = panel.locator(".plm-TurnPrompt-text")
    expect(said).to_have_text(["first words", "second words"])
    at_rest(panel)
    choose(page, "Kernel", "Restart Kernel…")
    confirm(page, "Restart")
    panel.get_by_role("button", name="Load it").click()
    expect(said).to_have_text(["first words", "second words"])
    photograph(page, "notebook7-renamed")

    page.reload()
    page.locator(".jp-Notebook .jp-Cell").first.wait_for()
    open_panel(page)
    expect(said).to_have_text(["first words", "second words"])
