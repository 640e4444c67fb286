"""A held request in JupyterLab: its card in the panel and in the cell, changed, sent and stopped there."""

import re

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.jupyterlab import SAMPLED_THEMES, Lab, PageErrors, choose_theme, photograph
from tests.e2e.test_composer import violations
from tests.e2e.test_notebook7 import choose, confirm
from tests.e2e.test_panel import (
    BEGIN,
    RUN,
    at_rest,
    open_scripted_notebook,
    send,
    transcript_region,
)
from tests.e2e.test_permissions import begin
from tests.sample_size import SOAKING

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
STEPS = "Permission mode: ask, step by step"


WIDTHS = (1440, 320) if SOAKING else (320,)
CUT_CHIPS = """() => [...document.querySelectorAll('.plm-PermissionMode .plm-Picker-value')]
  .filter(one => one.scrollWidth > one.clientWidth).map(one => one.textContent)"""
"""Names of the mode that are cut."""


def in_widths(page: Page, name: str) -> None:
    """Look in widths, and in the soak in all themes, for what a person could not use; photograph it."""
    before = page.viewport_size
    for theme in SAMPLED_THEMES:
        choose_theme(page, theme)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            photograph(page, f"{name}-{theme.split()[-1].lower()}-{width}")
            assert violations(page) == []
            assert page.evaluate(CUT_CHIPS) == [], width
    if before is not None:
        page.set_viewport_size(before)


@pytest.mark.soak  # with each commit labextension/tests/views/modelContext/heldRequest.test.tsx has the card; this adds a kernel that writes both
def test_another_summary_is_asked_for_on_the_card_and_both_grades_stand_there(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    said = (
        "says('It is in data/rows.csv, and load_rows reads it. ' * 120), says('Two.'), "
        "says('## Goal\\n- know the rows\\n' + '- none\\n' * 60), "
        "says('## Goal\\n- load_rows reads data/rows.csv\\n' + '- none\\n' * 60), says('Sent now.')"
    )
    panel = open_scripted_notebook(
        page, lab, "step-another.ipynb", said, "%agent compact", "%agent step on"
    )
    for words in ("Where is it?", "And now?"):
        send(panel, words)
        expect(transcript_region(panel).get_by_text(words, exact=True).first).to_be_visible()
        at_rest(panel)
    page.evaluate(RUN, 1)
    expect(transcript_region(panel).get_by_role("button", name="Compacted")).to_be_visible()
    page.evaluate(RUN, 2)
    send(panel, "Go on.")
    card = transcript_region(panel).get_by_role("group", name=re.compile("is held"))
    new = card.get_by_role("group", name="The new summary")
    expect(new).to_contain_text("not kept: data/rows.csv")

    new.get_by_role("button", name="Ask for another summary").press("Enter")
    asked = transcript_region(panel).get_by_role("group", name=re.compile("for a summary, is held"))
    expect(asked).to_be_visible()
    aside = card.get_by_role("group", name="The summary that was put aside")
    expect(aside).to_contain_text("not kept: data/rows.csv")
    photograph(page, "step-another-requested")
    asked.get_by_role("button", name="Send", exact=True).press("1")
    expect(new).to_be_visible()
    expect(new).not_to_contain_text("not kept: data/rows.csv")
    expect(aside).to_contain_text("not kept: data/rows.csv")
    assert violations(page) == []
    in_widths(page, "step-another")

    # The one is taken back for the other, and that again.
    use = aside.get_by_role("button", name="Use this summary")
    use.press("Enter")
    expect(aside).not_to_contain_text("not kept: data/rows.csv")
    expect(new).to_contain_text("not kept: data/rows.csv")
    use.press("Enter")
    expect(new).not_to_contain_text("not kept: data/rows.csv")
    expect(aside).to_contain_text("not kept: data/rows.csv")

    card.get_by_role("button", name="Send", exact=True).press("1")
    expect(transcript_region(panel).get_by_text("Sent now.")).to_be_visible()
    at_rest(panel)
    assert seen.errors == []


@pytest.mark.soak  # with each commit labextension/tests/views/sessions/branchView.test.tsx has the view; this adds forks, and the inspectors
def test_branches_stand_side_by_side_and_open_in_the_inspector(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    said = "says('There are 344.'), says('In Adelie and Gentoo:\\n- 152\\n- 124'), says('Only Adelie:\\n- 152')"
    panel = open_scripted_notebook(page, lab, "step-branches.ipynb", said)
    for words, answer in (("How many?", "There are 344."), ("By kind?", "124")):
        send(panel, words)
        expect(transcript_region(panel).get_by_text(answer)).to_be_visible()
        at_rest(panel)
    transcript_region(panel).get_by_role("button", name="Fork here").last.click()
    expect(transcript_region(panel).get_by_text("124")).to_have_count(0)
    send(panel, "By kind, briefly?")
    expect(transcript_region(panel).get_by_text("Only Adelie")).to_be_visible()
    at_rest(panel)

    panel.get_by_role("button", name="Compare branches").press("Enter")
    branches = panel.get_by_role("region", name="Branches")
    expect(branches.get_by_text("Branches that part after request 1")).to_be_visible()
    row = branches.get_by_role("row", name=re.compile("newest answer"))
    expect(row.get_by_role("cell").nth(0)).to_contain_text("124")
    expect(row.get_by_role("cell").nth(1)).to_contain_text("Only Adelie")
    branches.get_by_role("button", name=re.compile("How the answer of")).click()
    expect(branches.locator(".plm-Diff")).to_contain_text("-In Adelie and Gentoo:")
    in_widths(page, "branches")
    branches.get_by_role("button", name="Close", exact=True).click()

    # A branch of the branch stands within it.
    transcript_region(panel).get_by_role("button", name="Fork here").last.click()
    expect(transcript_region(panel).get_by_text("Only Adelie")).to_have_count(0)
    panel.get_by_role("button", name="Compare branches").press("Enter")
    tree = branches.get_by_role("group", name="Which was forked from which")
    expect(tree.get_by_role("listitem")).to_have_count(3)
    expect(tree.locator("li li li [aria-current]")).to_contain_text("(fork #2)")
    in_widths(page, "branches-tree")

    branches.get_by_role("button", name=re.compile("beside the first")).first.click()
    expect(page.locator(".plm-Inspector")).to_have_count(2)
    photograph(page, "branches-inspected")
    branches.get_by_role("button", name="Close", exact=True).click()
    expect(branches).to_have_count(0)
    expect(panel.get_by_role("button", name="Compare branches")).to_be_focused()
    assert seen.errors == []


@pytest.mark.usefixtures("own_page")
def test_a_reload_and_a_restart_of_the_kernel_during_a_hold_lose_nothing(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    panel = begin(page, lab, "step/reload.ipynb", "%agent step on", "%agent hello", "%agent step")
    page.evaluate(RUN, 1)
    expect(page.locator(".jp-Notebook").get_by_text("Step mode is on")).to_be_visible()
    send(panel, "hello")
    card = transcript_region(panel).get_by_role("group", name=re.compile("is held"))
    expect(card).to_be_visible()

    page.reload()
    expect(panel.get_by_role("button", name=STEPS)).to_be_visible()
    expect(card).to_be_visible()
    expect(transcript_region(panel).get_by_text("hello", exact=True).first).to_be_visible()
    card.get_by_role("button", name="Stop", exact=True).press("3")
    expect(card).to_have_count(0)
    at_rest(panel)

    page.evaluate(BEGIN, 2)
    cell = page.locator(".jp-CodeCell").nth(2)
    in_cell = cell.get_by_role("group", name=re.compile("is held"))
    expect(in_cell).to_be_visible()
    expect(card).to_be_visible()
    choose(page, "Kernel", "Restart Kernel…")
    confirm(page, "Restart")
    # The interrupt before a restart reaches the cell, or the kernel has gone first; it is shown once.
    told = cell.locator(".plm-Failure[data-state='stopped']")
    expect(told).to_have_text(re.compile(r"^\S*\s*(Stopped\.|Interrupted: the kernel ended)"))
    expect(in_cell).to_have_count(0)
    expect(card).to_have_count(0)
    photograph(page, "step-restarted")

    panel.get_by_role("button", name="Load it").click()
    expect(panel.locator(".plm-TurnPrompt-text")).to_have_text(["hello", "hello"])
    expect(panel.get_by_role("button", name=STEPS)).to_be_visible()
    expect(card).to_have_count(0)
    photograph(page, "step-restarted-loaded")
    page.evaluate(BEGIN, 2)
    expect(in_cell).to_be_visible()
    expect(card).to_be_visible()
    in_cell.get_by_role("button", name="Send this and all that follow").click()
    expect(card).to_have_count(0)
    expect(cell.locator(".plm-Text").first).to_be_visible()
    expect(told).to_have_count(0)
    at_rest(panel)
    assert seen.errors == []
