"""The panel beside a notebook, as a person uses it in a real JupyterLab."""

import re

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import Locator, Page, expect
from tests.e2e.jupyterlab import (
    READY,
    ROOT,
    Lab,
    PageErrors,
    open_notebook,
    photograph,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SCROLLED = """async argument => {
  const { content } = window.jupyterapp.shell.currentWidget;
  const scrolls = [];
  content.scrollToItem = (...place) => {
    const scroll = Object.getPrototypeOf(content).scrollToItem.apply(content, place);
    scrolls.push(scroll);
    return scroll;
  };
  %s
  await Promise.allSettled(scrolls);
  delete content.scrollToItem;
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
}"""
"""Runs an action on the notebook; resolves when it has scrolled to its cell and has the focus again.

JupyterLab sets the focus after a command has ended, wherever it is by then.
"""
RUN = (
    SCROLLED
    % """
  content.deselectAll();
  content.activeCellIndex = argument;
  await window.jupyterapp.commands.execute('notebook:run-cell');"""
)
CHANGE = SCROLLED % "await window.jupyterapp.commands.execute(argument);"
BEGIN = """index => {
  const { content } = window.jupyterapp.shell.currentWidget;
  content.deselectAll();
  content.activeCellIndex = index;
  void window.jupyterapp.commands.execute('notebook:run-cell');
}"""
COMMAND = "command => window.jupyterapp.commands.execute(command)"
SWITCH = """async name => {
  await window.jupyterapp.commands.execute('docmanager:open', { path: name });
}"""
SCRIPTED_MODEL_SETUP = f"""import sys
sys.path.insert(0, {str(ROOT)!r})
from palimpsest.model.script import calls, fails, says, stalls, thinks
from tests.harness.kernel_session import load
harness = load(get_ipython(), {{answers}})"""
BLOCKS = "import os, time\nwhile not os.path.exists('{flag}'):\n    time.sleep(0.05)"
"""Code for the agent's Python tool that blocks until the test creates a file."""
MARKDOWN = (
    "## Found\n\nThe mean is $x^2$, see `df.mean()`:\n\n```python\ndf.mean()\n```\n\nThat is all."
)
AXE = ROOT / "labextension" / "node_modules" / "axe-core" / "axe.min.js"
VIOLATIONS = """async where => {
  const found = await axe.run(where, { resultTypes: ['violations'] });
  return found.violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map(node => node.html.slice(0, 160)).join(' | ')}`
  );
}"""


def book(lab: Lab, name: str, *cells: str, kernel: str = "python3") -> str:
    """Write a notebook of code cells."""
    spec = {"name": kernel, "display_name": kernel, "language": "python"}
    made = new_notebook(
        cells=[new_code_cell(cell) for cell in cells], metadata={"kernelspec": spec}
    )
    nbformat.write(made, lab.folder / name)
    return name


def open_panel(page: Page) -> Locator:
    """Open the panel by its command."""
    page.evaluate(COMMAND, "jupyter-palimpsest:open-panel")
    panel = page.locator("#jupyter-palimpsest-panel")
    expect(panel).to_be_visible()
    return panel


def open_scripted_notebook(page: Page, lab: Lab, name: str, answers: str, *cells: str) -> Locator:
    """Open a notebook whose kernel has a scripted model, and the panel beside it."""
    open_notebook(page, lab, book(lab, name, SCRIPTED_MODEL_SETUP.format(answers=answers), *cells))
    page.evaluate(READY)
    panel = open_panel(page)
    page.evaluate(RUN, 0)
    expect(composer(panel)).to_be_visible()
    return panel


NEWER_PROMPT = """([panel, last, waited]) => {
    const newest = [...panel.querySelectorAll(".plm-TurnPrompt")].at(-1);
    const waits = panel.querySelector(".plm-Queue .plm-Strip-count")?.textContent ?? "";
    return (newest !== undefined && newest !== last) || (waits !== "" && waits !== waited);
}"""


def composer(panel: Locator) -> Locator:
    return panel.get_by_role("textbox", name="Prompt for the agent")


def transcript_region(panel: Locator) -> Locator:
    """Return the transcript region, without the live region for screen readers."""
    return panel.get_by_role("region", name="Transcript")


def send(panel: Locator, words: str) -> None:
    """Send a prompt, and wait until the panel shows that the kernel has it."""
    prompts = panel.locator(".plm-TurnPrompt")
    # Not their number: the panel draws no turns that are far out of sight.
    last = prompts.last.element_handle() if prompts.count() else None
    waits = panel.locator(".plm-Queue .plm-Strip-count").all_text_contents()
    composer(panel).fill(words)
    composer(panel).press("Enter")
    told = [panel.element_handle(), last, "".join(waits)]
    panel.page.wait_for_function(NEWER_PROMPT, arg=told)


def waiting_prompts(panel: Locator, count: int) -> Locator:
    """Open the list of prompts that wait, so many; return them."""
    strip = panel.get_by_role("button", name=f"{count} waiting")
    strip.click()
    return panel.get_by_role("group", name="Waiting prompt")


def at_rest(panel: Locator) -> None:
    """Wait until every prompt that was sent has begun its turn, and the last of them has ended."""
    # A session is busy from the moment at which a prompt is no longer among those that wait.
    expect(panel.locator(".plm-Queue")).to_have_count(0)
    # Exact name: the card of a stopped call is a button too.
    expect(panel.get_by_role("button", name="Stop", exact=True)).to_have_count(0)


def test_it_loads_the_package_on_a_click_and_answers(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    open_notebook(page, lab, book(lab, "panel-load.ipynb", "1"))
    page.evaluate(READY)
    panel = open_panel(page)
    expect(panel.get_by_text("is not loaded in the kernel of panel-load.ipynb")).to_be_visible()
    photograph(page, "panel-absent")

    panel.get_by_role("button", name="Load it").click()
    expect(transcript_region(panel).get_by_text("Write below, or begin a cell")).to_be_visible()
    photograph(page, "panel-empty")
    send(panel, "calculate 17*23")

    panel.get_by_role("button", name="Allow once").click()
    expect(transcript_region(panel).get_by_text("391").first).to_be_visible()
    at_rest(panel)
    expect(panel.locator(".plm-TurnPrompt-source", has_text="panel")).to_be_visible()
    expect(page.locator(".jp-Notebook .jp-OutputArea-output")).to_have_count(0)
    expect(page.locator(".jp-InputArea-prompt", has_text="[ ]")).to_have_count(1)
    assert seen.errors == []


def test_it_streams_asks_and_stops(page: Page, lab: Lab, seen: PageErrors) -> None:
    answers = (
        "thinks('First I look at the data.').says('Let me look. ').calls('python', code='6 * 7'),"
        f"says({MARKDOWN!r}).drips(0.02),"
        "says('I begin. ').stalls()"
    )
    panel = open_scripted_notebook(page, lab, "panel-asks.ipynb", answers)
    send(panel, "How many?")

    expect(panel.get_by_role("button", name="Allow once")).to_be_visible()
    photograph(page, "panel-asks")
    panel.get_by_role("button", name="Allow once").press("1")
    expect(transcript_region(panel).get_by_text("Found")).to_be_visible()
    expect(transcript_region(panel).get_by_text("That is all.")).to_be_visible()
    at_rest(panel)
    expect(panel.locator("mjx-container").first).to_be_visible()
    expect(composer(panel)).to_be_focused()
    photograph(page, "panel-answered")

    send(panel, "And now?")
    expect(transcript_region(panel).get_by_text("I begin.")).to_be_visible()
    photograph(page, "panel-streams")
    panel.get_by_role("button", name="Stop", exact=True).click()
    expect(transcript_region(panel).get_by_text("Stopped.", exact=False).first).to_be_visible()
    at_rest(panel)
    assert seen.errors == []


def test_words_are_queued_behind_a_blocking_tool_and_can_be_sent_now(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    code = BLOCKS.format(flag="queue.flag")
    answers = f"calls('python', code={code!r}), says('First done.'), says('Second done.')"
    panel = open_scripted_notebook(page, lab, "panel-queue.ipynb", answers, "%%agent -y\nwork")
    page.evaluate(BEGIN, 1)
    expect(panel.get_by_role("button", name="Stop", exact=True)).to_be_visible()
    expect(panel.locator(".plm-TurnPrompt-source", has_text="cell [2]")).to_be_visible()
    send(panel, "not this")
    send(panel, "then this")
    waiting = waiting_prompts(panel, 2)
    expect(waiting).to_have_count(2)
    photograph(page, "panel-queued")
    waiting.first.get_by_role("button", name="withdraw").click()
    expect(waiting).to_have_count(1)
    waiting.get_by_role("button", name="send now").click()
    # It is withdrawn first: where the page draws that, the line goes away and comes again, closed.
    strip = panel.get_by_role("button", name="1 waiting")
    expect(strip).to_contain_text("goes with the next request")
    (lab.folder / "queue.flag").touch()

    expect(transcript_region(panel).get_by_text("First done.")).to_be_visible()
    expect(waiting).to_have_count(0)
    at_rest(panel)
    expect(panel.locator(".plm-TurnPrompt-text")).to_have_text(["work", "then this"])
    assert seen.errors == []


@pytest.mark.soak  # with each commit labextension/tests/state/display/announcements.test.ts tells of one; this adds scrolling, tab and status bar
def test_a_question_below_the_fold_is_scrolled_to_and_told_in_tab_and_status_bar(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    above = "\n".join(f"# line {number}" for number in range(80))
    answers = "calls('python', code='6 * 7').says(''), says('Done.')"
    panel = open_scripted_notebook(page, lab, "panel-waits.ipynb", answers, above, "%%agent\nask")
    told = page.get_by_role("button", name="The agent waits for you")
    tab = page.locator(".lm-TabBar-tab[data-plm-question='true']")
    expect(told).to_have_count(0)

    page.evaluate(BEGIN, 2)

    question = page.locator(".jp-Notebook [data-ask]")
    expect(question).to_be_in_viewport()
    expect(told).to_be_visible()
    expect(tab.first).to_be_attached()
    question.get_by_role("button", name="Allow once").click()
    at_rest(panel)
    expect(told).to_have_count(0)
    expect(tab).to_have_count(0)
    assert seen.errors == []


def test_it_follows_the_notebook_in_front_also_by_another_name(page: Page, lab: Lab) -> None:
    book(lab, "panel-other.ipynb", "1")
    panel = open_scripted_notebook(page, lab, "panel-first.ipynb", "says('One.')")
    send(panel, "first words")
    expect(transcript_region(panel).get_by_text("One.")).to_be_visible()
    composer(panel).fill("a draft")

    page.evaluate(SWITCH, "panel-other.ipynb")
    expect(panel.get_by_text("is not loaded in the kernel of panel-other.ipynb")).to_be_visible()
    page.evaluate(SWITCH, "panel-first.ipynb")
    expect(transcript_region(panel).get_by_text("One.")).to_be_visible()
    page.evaluate("window.jupyterapp.shell.currentWidget.context.rename('panel-renamed.ipynb')")
    expect(page.locator(".jp-Notebook-cell").first).to_be_visible()

    expect(transcript_region(panel).get_by_text("One.")).to_be_visible()
    expect(composer(panel)).to_be_visible()


@pytest.mark.soak  # with each commit tests/e2e/test_small_window.py has a small window; this adds one that grows
def test_a_window_that_grows_shows_the_panel_whole(page: Page, lab: Lab) -> None:
    panel = open_scripted_notebook(page, lab, "panel-grows.ipynb", "says('Yes.')")
    page.evaluate("window.jupyterapp.shell.collapseRight()")
    page.set_viewport_size({"width": 480, "height": 800})
    open_panel(page)
    expect(panel).to_have_class(re.compile("plm-mod-overlay"))

    page.set_viewport_size({"width": 1280, "height": 800})
    page.wait_for_function(
        "() => document.querySelector('#jp-right-stack').clientWidth >="
        " document.querySelector('#jupyter-palimpsest-panel').offsetWidth"
    )

    assert panel.evaluate("node => node.offsetWidth") >= 320
    assert panel.evaluate("node => node.getBoundingClientRect().right") <= 1280


def test_commands_open_write_and_insert_a_cell(page: Page, lab: Lab, seen: PageErrors) -> None:
    open_notebook(page, lab, book(lab, "panel-commands.ipynb", "%load_ext palimpsest"))
    page.evaluate(READY)
    page.evaluate(RUN, 0)
    panel = open_panel(page)
    expect(composer(panel)).to_be_visible()
    page.evaluate(COMMAND, "jupyter-palimpsest:focus-composer")
    expect(composer(panel)).to_be_focused()
    composer(panel).press("Escape")
    page.wait_for_function("document.activeElement?.closest('.jp-Notebook')")  # Escape goes there

    page.evaluate(CHANGE, "jupyter-palimpsest:insert-cell")
    page.keyboard.type("Plot it.")
    expect(page.locator(".jp-CodeCell").last.locator(".cm-line")).to_have_text(
        ["%%agent", "Plot it."]
    )
    page.keyboard.press("Control+Shift+C")
    for label in ("Open the Agent Panel", "Write to the Agent", "Insert an Agent Cell"):
        expect(page.locator(".lm-CommandPalette-itemLabel", has_text=label)).to_have_count(1)
    assert seen.errors == []
