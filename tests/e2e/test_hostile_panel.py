"""Text from a person, a file or a provider stays plain text everywhere in the panel."""

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.jupyterlab import Lab, PageErrors, photograph, wait_until_drawn
from tests.e2e.saved_notebooks import XSS
from tests.e2e.test_contrast import MOVING
from tests.e2e.test_panel import (
    AXE,
    BEGIN,
    BLOCKS,
    VIOLATIONS,
    at_rest,
    open_scripted_notebook,
    send,
    transcript_region,
    waiting_prompts,
)
from tests.e2e.test_saved_answer import RUNS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

NAME = "<img src=x onerror=document.title='ran'>.csv"
LINE = XSS.splitlines()[0]


def test_nothing_runs_from_prompts_titles_queues_file_names_or_errors(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    (lab.folder / NAME).write_text("a,b\n1,2\n")
    code = BLOCKS.format(flag="hostile.flag")
    answers = (
        f"calls('list', path='.').calls('glob', pattern='*.csv').calls('read', path={NAME!r})"
        f".calls('edit', path={NAME!r}, old='1', new={LINE!r}),"
        f"says({XSS!r}).calls('python', code={code!r}),"
        f"says('Well.'), fails(400, {XSS!r}), says('Over.')"
    )
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    panel = open_scripted_notebook(page, lab, "panel-hostile.ipynb", answers, "%%agent -y\n" + LINE)
    page.evaluate(BEGIN, 1)
    expect(panel.get_by_role("button", name="Stop", exact=True)).to_be_visible()
    send(panel, XSS)
    waiting = waiting_prompts(panel, 1)
    expect(waiting).to_have_count(1)
    photograph(page, "hostile-queue")
    (lab.folder / "hostile.flag").touch()
    expect(waiting).to_have_count(0)
    at_rest(panel)
    expect(panel.locator(".plm-TurnPrompt-text")).to_have_count(2)
    closed = transcript_region(panel).locator("button[aria-expanded='false']")
    while closed.count():
        closed.first.click()
    panel.locator(".plm-Panel-sessions").click()
    expect(panel.locator(".plm-Sessions-row")).to_have_count(1)
    wait_until_drawn(page)
    photograph(page, "hostile-panel")

    assert "ran" not in page.title().split()
    assert not [url for url in asked if "example.invalid" in url]
    for shown in (panel, page.locator(".jp-Notebook .plm-Segment")):
        # The composer is our own form.
        expect(shown.locator(RUNS).and_(page.locator(":not(.plm-Composer)"))).to_have_count(0)
        for link in shown.locator("a").all():
            assert not (link.get_attribute("href") or "").startswith("javascript")
    expect(transcript_region(panel).get_by_text(NAME).first).to_be_attached()
    assert [error for error in seen.errors if "404" not in error] == []


@pytest.mark.soak  # with each commit tests/e2e/test_contrast.py looks at the same states; this adds words that come, and a person who asks for no motion
@pytest.mark.usefixtures("own_page")
@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_what_is_live_can_be_used_by_everybody(page: Page, lab: Lab, motion: str) -> None:
    page.emulate_media(reduced_motion=motion)  # type: ignore[arg-type]
    answers = (
        "thinks('First I look.').says('Let me look at $x^2$.').calls('python', code='6 * 7'),"
        "says('I go on').stalls(), fails(400, 'The request is wrong.')"
    )
    open_scripted_notebook(
        page, lab, f"live-axe-{motion}.ipynb", answers, "%%agent\nGo.", "%%agent\nAgain."
    )
    page.evaluate(BEGIN, 1)
    cell = page.locator(".jp-Notebook .plm-Segment")
    page.add_script_tag(path=AXE)

    def accessible(state: str) -> None:
        for where in (".jp-Notebook .plm-SegmentWidget", "#jupyter-palimpsest-panel"):
            assert page.evaluate(VIOLATIONS, where) == [], (state, where)

    expect(cell.get_by_role("button", name="Allow once")).to_be_visible()
    accessible("a question")
    cell.get_by_role("button", name="Allow once").press("1")
    expect(cell.get_by_text("I go on")).to_be_visible()
    accessible("streaming")
    moving = page.evaluate(MOVING)
    assert moving == 0 if motion == "reduce" else moving > 0
    cell.get_by_role("button", name="Stop", exact=True).press("Enter")
    expect(cell.get_by_text("Stopped.").first).to_be_visible()
    accessible("stopped")
    page.evaluate(BEGIN, 2)
    expect(cell.get_by_text("The request is wrong.").first).to_be_visible()
    accessible("an error")
    photograph(page, f"live-axe-{motion}")
