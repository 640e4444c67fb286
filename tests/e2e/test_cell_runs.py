"""A cell that the agent runs is run as a person runs it: number, outputs in place, questions, stop."""

import re

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.changed_notebook import cells_of, run_silently
from tests.e2e.jupyterlab import Lab, PageErrors, photograph
from tests.e2e.running_notebook import Notebook, begin
from tests.e2e.test_panel import composer, open_panel, send

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
DRAWS = f"""import base64
from IPython.display import Image, display
print('drawn')
display(Image(base64.b64decode({DOT!r})))
len('abc')"""
ASKS = "name = input('Your name? ')\nprint('Hello ' + name)"
FAILS = "print('before')\n1 / 0"
WAITS = "import threading\nprint('waiting')\nthreading.Event().wait()"
AGENT = "%%agent --yes\nRun it."


def let_run(page: Page, *cells: int) -> None:
    """Let the model read cells and run them, in one call, and then answer."""
    ids = [cells_of(page)[cell]["id"] for cell in cells]
    reads = "".join(f".calls('notebook', cell={cell!r})" for cell in ids)[1:]
    runs = [{"action": "run", "cell": cell} for cell in ids]
    run_silently(
        page,
        f"harness.wait_for_page()\nharness.script({reads}, calls('cells', changes={runs!r}), says('All done.'))\n_answer = ''",
    )


def number(notebook: Notebook, cell: int) -> int:
    """Return the number beside a cell."""
    text = notebook.cell(cell).locator(".jp-InputPrompt").inner_text()
    return int(text.strip("[]: "))


def test_a_cell_runs_while_the_agent_s_own_cell_waits(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    notebook = begin(page, lab, "runs-cell", DRAWS, AGENT, told=True)
    let_run(page, 1)

    notebook.run(2)

    drawn = notebook.cell(1)
    expect(drawn.locator(".jp-OutputArea-output")).to_have_count(3)
    expect(drawn).to_contain_text("drawn")
    expect(drawn.locator("img")).to_have_count(1)
    expect(notebook.cell(2)).to_contain_text("All done.")
    expect(notebook.cell(2).locator("img")).to_have_count(0)
    assert (number(notebook, 2), number(notebook, 1)) == (2, 3)
    photograph(page, "cell-run")
    saved = notebook.save()["cells"]
    assert [cell["execution_count"] for cell in saved] == [1, 3, 2]
    assert [output["output_type"] for output in saved[1]["outputs"]] == [
        "stream",
        "display_data",
        "execute_result",
    ]
    assert saved[1]["outputs"][2]["execution_count"] == 3
    notebook.run(1)
    assert number(notebook, 1) == 4
    assert seen.errors == []


def test_a_question_of_a_run_cell_stands_below_it(page: Page, lab: Lab, seen: PageErrors) -> None:
    notebook = begin(page, lab, "runs-asking", ASKS, AGENT, told=True)
    let_run(page, 1)

    notebook.run(2, wait=False)
    answer = notebook.cell(1).locator("input.jp-Stdin-input")
    expect(notebook.cell(1).locator(".jp-InputPrompt")).to_have_text("[*]:")
    answer.fill("Ada")
    answer.press("Enter")
    notebook.ended()

    expect(notebook.cell(1)).to_contain_text("Hello Ada")
    expect(notebook.cell(2)).to_contain_text("All done.")
    assert "Hello Ada" in run_silently(page, "_answer = str(harness.model.requests[-1].messages)")
    assert seen.errors == []


def test_a_run_cell_that_fails_shows_its_error_and_the_next_is_not_run(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    notebook = begin(page, lab, "runs-failing", FAILS, "later = 1", AGENT, told=True)
    let_run(page, 1, 2)

    notebook.run(3)

    expect(notebook.cell(1)).to_contain_text("ZeroDivisionError")
    assert number(notebook, 1) == 3
    expect(notebook.cell(2).locator(".jp-InputPrompt")).to_have_text(re.compile(r"^\[ \]:"))
    expect(notebook.cell(3)).to_contain_text("All done.")
    assert seen.errors == []


def test_stop_ends_a_run_cell_and_the_turn(page: Page, lab: Lab, seen: PageErrors) -> None:
    notebook = begin(page, lab, "runs-stopped", WAITS, AGENT, "after = 1", told=True)
    let_run(page, 1)

    notebook.run(2, wait=False)
    expect(notebook.cell(1).locator(".jp-OutputArea-output")).to_contain_text("waiting")
    page.evaluate("window.jupyterapp.commands.execute('notebook:interrupt-kernel')")
    notebook.ended()

    expect(notebook.cell(1)).to_contain_text("KeyboardInterrupt")
    expect(notebook.cell(1).locator(".jp-InputPrompt")).to_have_text("[3]:")
    expect(notebook.cell(2)).to_contain_text("Stopped")
    notebook.run(3)
    assert number(notebook, 3) == 4
    assert seen.errors == []


def test_a_prompt_of_the_panel_runs_a_cell_while_the_person_types(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    notebook = begin(page, lab, "runs-panel", DRAWS, ASKS, told=True)
    panel = open_panel(page)
    let_run(page, 1, 2)
    send(panel, "Run them.")
    panel.get_by_role("button", name="Show the end").click()
    panel.get_by_role("button", name="Allow once").click()
    composer(panel).press_sequentially("wri")

    answer = notebook.cell(2).locator("input.jp-Stdin-input")
    expect(answer).to_be_visible()
    expect(notebook.cell(1).locator("img")).to_have_count(1)
    answer.fill("Bob")
    answer.press("Enter")
    expect(notebook.cell(2)).to_contain_text("Hello Bob")
    expect(panel).to_contain_text("All done.")
    assert (number(notebook, 1), number(notebook, 2)) == (2, 3)
    assert seen.errors == []


def test_a_run_that_waits_for_the_person_s_cell_is_withdrawn_by_stop(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    notebook = begin(page, lab, "runs-withdrawn", "input('hold')", "never = 1", told=True)
    panel = open_panel(page)
    let_run(page, 2)
    notebook.run(1, wait=False)
    # The field takes the keyboard when it appears.
    expect(notebook.cell(1).locator("input.jp-Stdin-input")).to_be_focused()
    send(panel, "Run it.")
    panel.get_by_role("button", name="Allow once").click()
    prompt = notebook.cell(2).locator(".jp-InputPrompt")
    expect(prompt).to_have_text("[*]:")

    panel.get_by_role("button", name="Stop", exact=True).click()

    expect(prompt).to_have_text(re.compile(r"^\[ \]:"))
    answer = notebook.cell(1).locator("input.jp-Stdin-input")
    answer.fill("go on")
    answer.press("Enter")
    notebook.ended()
    expect(notebook.cell(1)).to_contain_text("'go on'")
    assert run_silently(page, "_answer = str('never' in globals())") == "False"
    assert seen.errors == []
