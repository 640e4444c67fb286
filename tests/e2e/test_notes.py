"""A note is written on a recorded file in JupyterLab, lies beside the file, and is read in a report."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.e2e.jupyterlab import Lab, PageErrors, open_notebook, photograph, wait_until_drawn
from tests.e2e.shared_browser import SIZE
from tests.e2e.test_inspector import OPEN_FILE, close, cursor, inspected, tab, unpacked
from tests.e2e.test_inspector_views import PAGE_OVER, TOO_WIDE
from tests.e2e.test_panel import AXE, VIOLATIONS, book
from tests.recordings.formats.sample_files import sample

from palimpsest import open_recording

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_a_note_is_written_beside_a_recorded_file(page: Page, lab: Lab, seen: PageErrors) -> None:
    path = unpacked(lab, "gemini_cli.jsonl", "noted.jsonl")
    notes = (lab.folder / path).with_name("noted.jsonl.notes.jsonl")
    open_notebook(page, lab, book(lab, "beside-notes.ipynb", "1"))
    page.evaluate(OPEN_FILE, path)
    views = inspected(page)
    cursor(views).press("Home")
    views.get_by_role("button", name="Write a note").click()
    form = views.get_by_role("form", name="A new note")
    form.get_by_role("textbox", name="The note").fill("Reads <b>it</b> again.")
    form.get_by_role("textbox", name="to request").fill("3")
    form.get_by_role("combobox", name="verdict").select_option("bad")
    form.get_by_role("textbox", name="your name").fill("Ann")
    photograph(page, "notes-form")
    form.get_by_role("button", name="Save the note").click()

    here = views.get_by_role("group", name="Notes here")
    expect(here).to_contain_text("Reads <b>it</b> again.")
    expect(views.locator(".plm-Track-mark[data-kind=note]")).to_have_count(1)
    (line,) = map(json.loads, notes.read_text("utf-8").splitlines())
    assert (line["author"], line["verdict"]) == ("Ann", "bad")
    assert line["place"] == {"kind": "range", "request": 1, "last": 3}

    views.get_by_role("tab", name="Notes (1)").click()
    listed = views.get_by_role("group", name="Notes", exact=True)
    listed.get_by_role("button", name="Change").click()
    form = views.get_by_role("form", name="Change the note")
    form.get_by_role("textbox", name="tag").fill("reread")
    form.get_by_role("textbox", name="The note").press("Control+Enter")
    expect(listed).to_contain_text("reread")
    page.add_script_tag(path=str(AXE))
    for width in (320, SIZE["width"]):
        page.set_viewport_size({"width": width, "height": 900})
        wait_until_drawn(page)
        photograph(page, f"notes-{width}")
        assert page.evaluate(VIOLATIONS, ".plm-InspectorWidget") == []
    listed.get_by_role("button", name="Remove").click()
    listed.get_by_role("button", name="Really remove it").click()
    expect(listed).to_contain_text("Nobody wrote a note yet.")
    assert len(notes.read_text("utf-8").splitlines()) == 3
    close(page)
    expect(tab(page)).to_have_count(0)
    assert seen.errors == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_notes_are_read_in_a_report(
    browser: Browser, front_end: Path, tmp_path: Path, scheme: str
) -> None:
    assert front_end
    with open_recording(sample("gemini_cli.jsonl", tmp_path)) as recording:
        session = recording[0]
        session.note("A word " + "without_an_end" * 30, request=2, verdict="bad", author="Ann")
        session.note("Fine.", requests=(3, 5), verdict="good", tag="a-long-tag" * 6, author="Bo")
        session.note("Lost.", compaction=1, verdict="unsure", tag="name", author="Bo")
        session.note(item=4, tag="big", author="Bo")
        path = session.report(tmp_path / "x.html", policies=["raw"])
    context = browser.new_context(
        bypass_csp=True, color_scheme="dark" if scheme == "dark" else "light"
    )
    page = context.new_page()
    page.goto(path.as_uri())
    page.get_by_role("tab", name="Notes (4)").click()
    listed = page.get_by_role("group", name="Notes", exact=True)
    expect(listed.get_by_role("listitem")).to_have_count(4)
    expect(page.get_by_role("button", name="Write a note")).to_have_count(0)
    page.add_script_tag(path=str(AXE))
    for width in (320, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        wait_until_drawn(page)
        photograph(page, f"report-notes-{scheme}-{width}")
        assert page.evaluate(VIOLATIONS, "html") == []
        assert page.evaluate(PAGE_OVER) <= 0
    page.set_viewport_size({"width": 320, "height": 900})
    assert page.evaluate(TOO_WIDE) == []
    listed.get_by_role("combobox", name="Which notes").select_option("verdict good")
    listed.get_by_role("button", name="requests 3 to 5").click()
    expect(page.get_by_role("spinbutton", name="Request")).to_have_value("3")
    context.close()
