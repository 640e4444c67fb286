"""Cells for the agent are coloured as Markdown, with the names behind an at sign marked, and nothing else of them changes."""

import nbformat
import pytest
from playwright.sync_api import Locator, Page, expect
from tests.e2e.jupyterlab import (
    READY,
    SAMPLED_THEMES,
    Lab,
    PageErrors,
    choose_theme,
    open_notebook,
    photograph,
)
from tests.e2e.test_panel import book

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

PROMPT = "%%agent --yes\n---\nWhat is **in** @penguins and @cell 2?\n\n- not me@example.org"
PASTE = """async source => {
  const { content } = window.jupyterapp.shell.currentWidget;
  content.activeCell.editor.replaceSelection(source);
}"""
STATE = """index => {
  const { content } = window.jupyterapp.shell.currentWidget;
  const { model } = content.widgets[index];
  return [model.sharedModel.getSource(), model.type, model.mimeType];
}"""
NEW_STEP = "window.jupyterapp.shell.currentWidget.content.activeCell.model.sharedModel.undoManager.stopCapturing()"
UNDO = "window.jupyterapp.shell.currentWidget.content.activeCell.editor.undo()"


def editor(page: Page, index: int) -> Locator:
    """Return the text of a cell's editor."""
    return page.locator(".jp-Notebook .jp-CodeCell").nth(index).locator(".cm-content")


def assert_prompt_cell(text: Locator) -> None:
    expect(text).to_have_attribute("data-language", "markdown")


def assert_python_cell(text: Locator) -> None:
    expect(text).not_to_have_attribute("data-language", "markdown")
    expect(text.locator(".plm-CellMention")).to_have_count(0)


def test_a_loaded_cell_is_coloured_and_the_notebook_is_as_it_was(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    name = book(lab, "prompt-loaded.ipynb", PROMPT, "x = 1  # @penguins")
    before = (lab.folder / name).read_bytes()
    open_notebook(page, lab, name)
    page.evaluate(READY)
    text = editor(page, 0)
    assert_prompt_cell(text)
    expect(text.locator(".plm-CellMention")).to_have_text(["@penguins", "@cell 2"])
    magic, rule, words = (text.locator(".cm-line").nth(line) for line in range(3))
    expect(magic.locator("span").first).to_have_text("%%agent")
    assert weight(magic.locator("span").first) >= 600
    # The line below a magic is no heading's underline, and what is bold is drawn bold.
    expect(rule).to_have_text("---")
    assert weight(words.locator("span", has_text="in").first) >= 600
    assert_python_cell(editor(page, 1))
    for theme in SAMPLED_THEMES:
        choose_theme(page, theme)
        photograph(page, f"prompt-cell-{theme.rpartition(' ')[2].lower()}")
    page.emulate_media(forced_colors="active")
    photograph(page, "prompt-cell-forced")
    mention = text.locator(".plm-CellMention").first
    assert "underline" in mention.evaluate("one => getComputedStyle(one).textDecorationLine")
    page.emulate_media(forced_colors="none")

    # The cell is the same kind of cell as one of Python.
    source, *kind = page.evaluate(STATE, 0)
    assert source == PROMPT
    assert kind == page.evaluate(STATE, 1)[1:]
    page.evaluate("window.jupyterapp.shell.currentWidget.context.save()")
    saved = nbformat.read(lab.folder / name, as_version=4)
    assert saved.cells == nbformat.reads(before.decode(), as_version=4).cells
    assert seen.errors == []


@pytest.mark.soak  # with each commit a loaded cell is coloured, above; this adds typing, pasting and undo
def test_a_typed_and_a_pasted_magic_colour_the_cell_and_undo_takes_both_back(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    open_notebook(page, lab, book(lab, "prompt-typed.ipynb", "", ""))
    page.evaluate(READY)
    text = editor(page, 0)
    text.click()
    page.keyboard.type("%%agen")
    assert_python_cell(text)
    page.keyboard.type("t")
    assert_prompt_cell(text)
    page.keyboard.press("Enter")
    page.keyboard.type("Look at @data/birds.csv.")
    expect(text.locator(".plm-CellMention")).to_have_text(["@data/birds.csv"])
    page.keyboard.press("Home")
    for _ in range(2):
        page.keyboard.press("ArrowUp")
    page.evaluate(NEW_STEP)
    page.keyboard.press("Delete")
    assert_python_cell(text)
    page.keyboard.press("Control+z")
    assert_prompt_cell(text)
    assert page.evaluate(STATE, 0)[0] == "%%agent\nLook at @data/birds.csv."

    editor(page, 1).click()
    page.evaluate(PASTE, PROMPT)
    assert_prompt_cell(editor(page, 1))
    page.evaluate(UNDO)
    expect(editor(page, 1)).to_have_text("")
    assert_python_cell(editor(page, 1))
    assert seen.errors == []


def weight(text: Locator) -> int:
    """Return the weight of its font."""
    return int(text.evaluate("one => getComputedStyle(one).fontWeight"))
