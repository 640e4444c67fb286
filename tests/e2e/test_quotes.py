"""Code, tables and words of an answer are copied, or quoted in the next prompt."""

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.e2e.jupyterlab import (
    SAMPLED_THEMES,
    Lab,
    PageErrors,
    choose_theme,
    photograph,
    wait_until_drawn,
)
from tests.e2e.running_notebook import begin
from tests.e2e.test_panel import (
    AXE,
    COMMAND,
    RUN,
    VIOLATIONS,
    at_rest,
    composer,
    open_panel,
    open_scripted_notebook,
    send,
    transcript_region,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

TABLE = "| island | mass |\n|---|---:|\n| Biscoe | 4,716 |\n| Dream | 3,712 |"
ANSWER = (
    f"Two islands:\n\n{TABLE}\n\nThen:\n\n```sql\nselect island\nfrom penguins\n```\n\n"
    "```python\ndf.mean()\n```\n\n1. Or:\n   ```sh\n   ls -l\n   ```\n\nThat is all."
)
CODE = "print(sum(range(4)))"
SELECT = """([where, words]) => {
  const place = [...document.querySelectorAll(where)].find(one => one.textContent.includes(words));
  const texts = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const at = texts.currentNode.data.indexOf(words);
    if (at >= 0) {
      getSelection().setBaseAndExtent(texts.currentNode, at, texts.currentNode, at + words.length);
      return;
    }
  }
}"""
"""Selects words, as a person does who draws the pointer over them."""
FITS = "one => one.scrollHeight <= one.clientHeight && one.scrollWidth <= one.clientWidth"
CLIPBOARD = "navigator.clipboard.readText()"


def copied(page: Page, button: Locator) -> str:
    """Press a button by the keyboard; return what is copied once the button says so."""
    button.focus()
    page.keyboard.press("Enter")
    # The button itself says so, too, in the place of its name.
    expect(page.locator(":focus").locator("xpath=..")).to_contain_text("Copied")
    text: str = page.evaluate(CLIPBOARD)
    page.evaluate("document.activeElement.blur()")
    return text


def copies_of(page: Page, answer: Locator) -> list[str]:
    """Return what each button of the answer's listings and tables copies."""
    names = ("Copy as TSV", "Copy as Markdown", "Copy the code")
    found = []
    for name in names:
        one = answer.get_by_role("button", name=name, exact=True)
        found += [copied(page, one.nth(number)) for number in range(one.count())]
    python = answer.get_by_role("group", name="Use this code")
    found.append(copied(page, python.get_by_role("button", name="Copy", exact=True)))
    return found


@pytest.mark.soak  # with each commit labextension/tests/views/parts/codeActions.test.tsx copies a listing; this adds the clipboard
def test_each_listing_and_table_is_copied_in_cell_and_panel(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    script = f"harness.script(calls('python', code={CODE!r}), says({ANSWER!r}))"
    notebook = begin(page, lab, "copies", script, "%%agent -y\nWhich?")
    notebook.run(1)
    notebook.run(2)
    panel = open_panel(page)
    at_rest(panel)
    page.add_script_tag(path=AXE)
    for name, place in (("panel", transcript_region(panel)), ("cell", notebook.cell(2))):
        expect(place.get_by_text("That is all.").first).to_be_visible()
        assert copies_of(page, place) == [
            "island\tmass\nBiscoe\t4,716\nDream\t3,712",
            TABLE,
            "select island\nfrom penguins",
            "ls -l",
            "df.mean()",
        ], name
        place.get_by_role("button", name="python").first.press("Enter")
        assert copied(page, place.get_by_role("button", name="Copy the input")) == CODE
        assert place.locator(".plm-Tool-input").first.evaluate(FITS), name
    table = notebook.cell(2).locator(".plm-Copyable", has=page.locator("table"))
    for theme in SAMPLED_THEMES:
        choose_theme(page, theme)
        table.hover()
        photograph(page, f"copies-{theme.split()[-1].lower()}")
        assert page.evaluate(VIOLATIONS, ".jp-Notebook .plm-Segment") == [], theme
        assert page.evaluate(VIOLATIONS, "#jupyter-palimpsest-panel") == [], theme
    page.set_viewport_size({"width": 420, "height": 900})
    wait_until_drawn(page)
    transcript_region(panel).get_by_role("button", name="Copy as TSV").focus()
    photograph(page, "copies-420")
    assert seen.errors == []


@pytest.mark.soak  # with each commit labextension/tests/views/drafts/editedTurn.test.tsx quotes; this adds what is selected in the page
def test_selected_words_are_quoted_in_the_prompt(page: Page, lab: Lab, seen: PageErrors) -> None:
    answers = "says('One is few.\\n\\nTwo is more.'), says('Of a cell.')"
    panel = open_scripted_notebook(page, lab, "quotes.ipynb", answers, "%%agent\nAnd here?")
    send(panel, "How many?")
    expect(transcript_region(panel).get_by_text("Two is more.")).to_be_visible()
    at_rest(panel)
    page.evaluate(RUN, 1)
    at_rest(panel)
    quote = page.get_by_role("button", name="Quote", exact=True)
    composer(panel).fill("Why?")
    # As a press in it does, before words are selected.
    transcript_region(panel).focus()
    page.evaluate(SELECT, ["#jupyter-palimpsest-panel .plm-Text", "Two is"])
    for theme in SAMPLED_THEMES:
        choose_theme(page, theme)
        photograph(page, f"quote-{theme.split()[-1].lower()}")
    quote.click()
    expect(composer(panel)).to_have_value("Why?\n\n> Two is\n\n")
    expect(composer(panel)).to_be_focused()
    expect(quote).to_have_count(0)

    page.keyboard.press("Control+z")
    expect(composer(panel)).to_have_value("Why?")
    composer(panel).fill("")
    transcript_region(panel).focus()
    page.evaluate(SELECT, ["#jupyter-palimpsest-panel .plm-Text", "One is few."])
    page.keyboard.press("Alt+Shift+Q")
    expect(composer(panel)).to_have_value("> One is few.\n\n")

    # From the output of a cell, into a panel that is closed.
    page.evaluate("window.jupyterapp.shell.collapseRight()")
    page.evaluate("window.jupyterapp.shell.currentWidget.content.activate()")
    page.evaluate(SELECT, [".jp-Notebook .plm-Text", "Of a cell."])
    expect(quote).to_be_visible()
    photograph(page, "quote-cell")
    quote.click()
    expect(panel).to_be_visible()
    expect(composer(panel)).to_have_value("> One is few.\n\n> Of a cell.\n\n")
    page.evaluate("getSelection().removeAllRanges()")
    expect(quote).to_have_count(0)
    assert not page.evaluate(
        "window.jupyterapp.commands.isEnabled('jupyter-palimpsest:quote-selection')"
    )
    assert page.evaluate(COMMAND, "jupyter-palimpsest:open-panel") is None
    assert seen.errors == []
