"""Permission mode, approvals and trust in the panel."""

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.jupyterlab import (
    READY,
    SECOND_LOOK,
    Lab,
    PageErrors,
    choose_theme,
    open_instead,
    open_notebook,
    photograph,
)
from tests.e2e.test_composer import violations
from tests.e2e.test_panel import RUN, at_rest, book, composer, open_panel, send, transcript_region

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

LOAD = "%load_ext palimpsest"
FORMULA = "from IPython.display import Markdown\nMarkdown('The sum $x^2$.')"


def begin(page: Page, lab: Lab, name: str, *cells: str, opens=open_notebook):  # noqa: ANN001, ANN201  the panel
    """Open a notebook with the package loaded, and the panel beside it."""
    (lab.folder / name).parent.mkdir(exist_ok=True)
    opens(page, lab, book(lab, name, LOAD, *cells))
    page.evaluate(READY)
    panel = open_panel(page)
    page.evaluate(RUN, 0)
    expect(composer(panel)).to_be_visible()
    return panel


def test_always_in_this_project_is_asked_once_listed_and_taken_back(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    panel = begin(page, lab, "always/one.ipynb", LOAD)
    send(panel, "calculate 17*23")
    always = panel.get_by_role("button", name="Always in this project")
    expect(always).to_be_visible()
    photograph(page, "permits-asks")
    page.set_viewport_size({"width": 760, "height": 800})
    photograph(page, "permits-asks-narrow")
    choose_theme(page, SECOND_LOOK)
    photograph(page, "permits-asks-dark")
    choose_theme(page, "JupyterLab Light")
    page.set_viewport_size({"width": 1280, "height": 800})
    assert violations(page) == []
    always.press("4")
    expect(transcript_region(panel).get_by_text("391").first).to_be_visible()
    at_rest(panel)

    panel = begin(page, lab, "always/two.ipynb", opens=open_instead)
    send(panel, "calculate 18*23")
    expect(transcript_region(panel).get_by_text("414").first).to_be_visible()
    at_rest(panel)
    panel.get_by_role("button", name="Permission mode: ask").click()
    expect(panel.get_by_text("python · this project", exact=False)).to_be_visible()
    photograph(page, "permits-list")
    panel.get_by_role("button", name="Revoke", exact=False).first.click()
    expect(panel.get_by_text("Nothing yet.", exact=False)).to_be_visible()
    panel.get_by_role("button", name="Permission mode: ask").press("Escape")
    send(panel, "calculate 19*23")
    expect(panel.get_by_role("button", name="Allow once")).to_be_visible()
    panel.get_by_role("button", name="Stop", exact=True).click()
    at_rest(panel)
    assert seen.errors == []


def test_a_project_s_file_waits_until_it_is_trusted(page: Page, lab: Lab, seen: PageErrors) -> None:
    folder = lab.folder / "trusting"
    folder.mkdir()
    (folder / "palimpsest.toml").write_text('mode = "accept-edits"\n[permission]\nbash = "allow"\n')
    panel = begin(page, lab, "trusting/a.ipynb")
    waits = panel.get_by_role("group", name="Trust")
    expect(waits.get_by_text("accept-edits", exact=False)).to_be_visible()
    photograph(page, "permits-trust")
    assert violations(page) == []
    waits.get_by_role("button", name="Trust this project").click()

    expect(waits).to_have_count(0)
    expect(panel.get_by_role("button", name="Permission mode: accept edits")).to_be_visible()
    assert seen.errors == []


@pytest.mark.soak  # with each commit tests/render/formats/test_markdown.py writes amounts; this adds MathJax
def test_two_amounts_in_one_text_are_no_formula(page: Page, lab: Lab, seen: PageErrors) -> None:
    # JupyterLab loads MathJax with the first formula: the last cell shows that it is there.
    begin(page, lab, "limit/two.ipynb", "%agent budget $2 500k tokens", FORMULA)
    page.evaluate(RUN, 1)
    page.evaluate(RUN, 2)
    outputs = page.locator(".jp-Notebook .jp-CodeCell")
    expect(outputs.nth(2).locator("mjx-container")).to_have_count(1)

    expect(outputs.nth(1)).to_contain_text("$0 of $2.00")
    expect(outputs.nth(1).locator("mjx-container")).to_have_count(0)
    assert seen.errors == []
