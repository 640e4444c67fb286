"""Pinning, excluding and restoring a part in the panel and in the cell, with mouse and keyboard."""

import re

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.jupyterlab import (
    SAMPLED_THEMES,
    THEMES,
    Lab,
    PageErrors,
    choose_theme,
    photograph,
    wait_until_drawn,
)
from tests.e2e.shared_browser import SIZE
from tests.e2e.test_panel import (
    at_rest,
    open_scripted_notebook,
    send,
    transcript_region,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SUMMARY = "## Goal\n- know the penguins\n\n## Numbers and facts\n- 43.92\n" + "- none\n" * 30
ANSWERS = (
    "calls('list', path='.'), says('There is one notebook. ' * 300).in_pieces(4_000), says('Two.'), says('Three.'),"
    f"says({SUMMARY!r}), says('Four.')"
)


@pytest.mark.soak  # with each commit labextension/tests/views/modelContext/compaction.test.tsx has it; this adds where it leads, and colours of the system
def test_a_compaction_is_undone_where_it_stands(page: Page, lab: Lab, seen: PageErrors) -> None:
    panel = open_scripted_notebook(page, lab, "panel-undo.ipynb", ANSWERS, "%agent compact")
    for words, answer in (
        ("First", "There is one notebook."),
        ("Second", "Two."),
        ("Third", "Three."),
    ):
        send(panel, words)
        expect(transcript_region(panel).get_by_text(answer).first).to_be_visible()
        at_rest(panel)
    page.evaluate(
        "() => { const { content } = window.jupyterapp.shell.currentWidget; content.activeCellIndex = 1;"
        " void window.jupyterapp.commands.execute('notebook:run-cell'); }"
    )
    strip = transcript_region(panel).get_by_role("button", name="Compacted")
    expect(strip).to_be_visible()
    at_rest(panel)

    expect(strip).to_contain_text(re.compile(r"Compacted [\d,]+ → [\d,]+ tokens · A summary of"))
    expect(strip).to_contain_text("word for word: the newest 2 turns (")
    cell = page.locator(".jp-Notebook").get_by_role("button", name="Compacted")
    expect(cell).to_have_text(strip.text_content() or "")
    first = transcript_region(panel).locator("article").nth(0)
    for place in (panel, page.locator(".jp-Notebook")):
        panel.get_by_role("textbox", name="Prompt for the agent").focus()
        transcript_region(panel).evaluate("node => { node.scrollTop = node.scrollHeight; }")
        place.get_by_role("button", name="Look underneath").click()
        expect(first).to_be_focused()
        expect(first.get_by_text("First", exact=True)).to_be_in_viewport()
    for theme in SAMPLED_THEMES:
        choose_theme(page, theme)
        for width in (1440, 420):
            page.set_viewport_size({"width": width, "height": 900})
            strip.scroll_into_view_if_needed()
            wait_until_drawn(page)
            photograph(
                page, f"compaction-strip-{theme.removeprefix('JupyterLab ').lower()}-{width}"
            )
    page.set_viewport_size(SIZE)  # type: ignore[arg-type]
    choose_theme(page, THEMES[0])
    page.emulate_media(forced_colors="active")
    photograph(page, "compaction-strip-forced")
    dashed = "node => getComputedStyle(node.closest('.plm-Reduced')).border"
    assert re.match(r"[1-9].*px dashed", strip.evaluate(dashed))
    page.emulate_media(forced_colors="none")

    strip.click()
    photograph(page, "panel-undo")
    transcript_region(panel).get_by_role("button", name="Undo the compaction").click()

    expect(
        transcript_region(panel).get_by_text("the model sees again what this summary stood for")
    ).to_be_visible()
    photograph(page, "panel-undone")
    assert seen.errors == []


@pytest.mark.soak  # with each commit tests/frontends/operations/test_compact.py asks a kernel for one; this adds gauge, keys and palette
@pytest.mark.parametrize("way", ["gauge", "keys", "palette"])
def test_a_summary_is_asked_for_in_the_panel(
    page: Page, lab: Lab, seen: PageErrors, way: str
) -> None:
    answers = (
        f"says('There is one notebook. ' * 300).in_pieces(4_000), says('Two.'), says({SUMMARY!r})"
    )
    panel = open_scripted_notebook(page, lab, f"panel-compacts-{way}.ipynb", answers)
    may = "() => window.jupyterapp.commands.isEnabled('jupyter-palimpsest:compact')"
    assert not page.evaluate(may)
    for words, answer in (("First", "There is one notebook."), ("Second", "Two.")):
        send(panel, words)
        expect(transcript_region(panel).get_by_text(answer).first).to_be_visible()
        at_rest(panel)
    page.wait_for_function(may)

    if way == "gauge":
        panel.get_by_role("button", name="Context window").click()
        photograph(page, "panel-gauge-menu")
        page.keyboard.press("Tab")
        expect(panel.get_by_role("button", name="Compact now")).to_be_focused()
        page.keyboard.press("Enter")
    elif way == "keys":
        panel.get_by_role("textbox", name="Prompt for the agent").press("Control+Shift+K")
    else:
        page.keyboard.press("Control+Shift+C")
        page.keyboard.type("Compact the Agent")
        page.keyboard.press("Enter")

    expect(transcript_region(panel).get_by_role("button", name="Compacted")).to_be_visible()
    at_rest(panel)
    assert seen.errors == []
