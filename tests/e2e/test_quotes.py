"""Words of an answer are quoted in the next prompt."""

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.jupyterlab import (
    SAMPLED_THEMES,
    Lab,
    PageErrors,
    choose_theme,
    photograph,
)
from tests.e2e.test_panel import (
    COMMAND,
    RUN,
    at_rest,
    composer,
    open_scripted_notebook,
    send,
    transcript_region,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

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
