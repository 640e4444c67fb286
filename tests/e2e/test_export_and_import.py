"""Export and import of a session in the panel, and the draft that moves to a new session."""

from pathlib import Path

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
from tests.e2e.test_panel import (
    AXE,
    RUN,
    VIOLATIONS,
    at_rest,
    book,
    composer,
    open_panel,
    send,
    transcript_region,
)
from tests.recordings.formats.sample_files import sample

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SETTING = "%env PALIMPSEST_REHEARSAL_DELAY=0\n%load_ext palimpsest"
AT_ONCE = """async words => {
  const panel = document.querySelector('#jupyter-palimpsest-panel');
  [...panel.querySelectorAll('.plm-Sessions-tools button')]
    .find(one => one.textContent === 'New session').click();
  await Promise.resolve();
  const field = panel.querySelector('.plm-Composer-field');
  Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, 'value').set.call(field, words);
  field.dispatchEvent(new Event('input', { bubbles: true }));
  await Promise.resolve();
  field.form.requestSubmit();
}"""
"""Presses New session and sends a prompt before the kernel can have answered."""


def begun(page: Page, lab: Lab, name: str) -> Locator:
    """Open a notebook with one answered prompt, about data that no file holds, and its session list."""
    open_notebook(page, lab, book(lab, name, SETTING))
    page.evaluate(READY)
    panel = open_panel(page)
    page.evaluate(RUN, 0)
    send(panel, "Describe the auks")
    expect(panel.locator(".plm-TurnPrompt-text", has_text="auks")).to_be_visible()
    at_rest(panel)
    panel.locator(".plm-Panel-sessions").click()
    return panel


def checked(page: Page, picture: str) -> None:
    """Take screenshots in light and dark, and check the panel's accessibility."""
    for theme in SAMPLED_THEMES:
        choose_theme(page, theme)
        photograph(page, f"{picture}-{theme.split()[-1].lower()}")
        assert page.evaluate(VIOLATIONS, "#jupyter-palimpsest-panel") == []


@pytest.mark.soak  # with each commit labextension/tests/views/sessions/importExport.test.tsx and tests/session/sharing/test_export.py do
def test_a_session_is_exported_deleted_and_brought_in_again(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    panel = begun(page, lab, "files.ipynb")
    page.add_script_tag(path=AXE)
    panel.get_by_role("button", name="What to do with Describe the auks").click()
    panel.get_by_role("button", name="Export", exact=True).click()
    expect(panel.get_by_role("button", name="Notebook", exact=True)).to_be_focused()
    pressed = panel.get_by_role("button", name="JSON", exact=True)
    pressed.press("Enter")
    said = panel.get_by_text("Written to")
    expect(said).to_contain_text(".json")
    expect(pressed).to_be_focused()
    checked(page, "files-export")  # choosing themes may take the focus away
    path = str(said.text_content()).split()[2]
    assert (lab.folder / Path(path)).is_file()
    pressed.press("Escape")
    expect(panel.get_by_role("button", name="What to do with Describe the auks")).to_be_focused()

    panel.get_by_role("button", name="What to do with Describe the auks").click()
    panel.locator(".plm-Sessions-actions").get_by_role("button", name="Delete", exact=True).click()
    panel.get_by_role("button", name="Delete for good").click()
    rows = panel.locator(".plm-Sessions-row", has_text="Describe the auks")
    expect(rows).to_have_count(0)

    panel.get_by_role("button", name="Import", exact=True).press("Enter")
    field = panel.get_by_role("textbox", name="Path of the file or folder")
    expect(field).to_be_focused()
    field.fill("nowhere.json")
    field.press("Enter")
    expect(panel.get_by_role("status").filter(has_text="nowhere.json")).to_be_visible()
    field.fill(path)
    field.press("Enter")
    expect(panel.get_by_text("1 new.")).to_be_visible()
    expect(rows).to_have_count(1)
    sample("pi_version_3.jsonl", lab.folder)
    field.fill("pi_version_3.jsonl")
    field.press("Enter")
    recording = panel.locator(".plm-Sessions-row", has_text="imported from pi")
    expect(recording.first).to_be_visible()
    page.set_viewport_size({"width": 720, "height": 900})
    checked(page, "files-import")
    assert seen.errors == []


@pytest.mark.soak  # with each commit labextension/tests/panel/panelModel.test.tsx sends words behind a new session
def test_what_is_sent_right_after_new_session_reaches_the_new_one(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    panel = begun(page, lab, "at-once.ipynb")

    page.evaluate(AT_ONCE, "Count to the number three")

    expect(panel.locator(".plm-Panel-name")).to_contain_text("Count to the number")
    expect(transcript_region(panel).get_by_text("Describe the auks")).to_have_count(0)
    at_rest(panel)
    expect(composer(panel)).to_be_focused()
    expect(composer(panel)).to_have_value("")
    assert seen.errors == []
