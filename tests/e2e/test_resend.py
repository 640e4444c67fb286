"""A turn's prompt is sent again: as it was, otherwise answered, or changed; what is lost is shown before."""

import json

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
    wait_until_drawn,
)
from tests.e2e.test_panel import (
    AXE,
    COMMAND,
    RUN,
    VIOLATIONS,
    at_rest,
    book,
    composer,
    open_panel,
    open_scripted_notebook,
    send,
    transcript_region,
)
from tests.e2e.test_revert import two_turns
from tests.sample_size import SOAKING

from palimpsest.model.script import says
from palimpsest.testing import FaultServer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

EDIT = "Edit and resend"
RETRY = "Retry this turn"
RETRY_WITH = "Retry with another model or mode…"
BUTTONS = """place => [...place.querySelectorAll('.plm-TurnSummary-actions button')].map(one => {
  const { left, right, height } = one.getBoundingClientRect();
  const box = place.getBoundingClientRect();
  return [one.textContent, left >= box.left && right <= box.right, height >= 24];
})"""
"""Returns each button below a turn: its text, whether it is inside of the turn, and whether it is high enough."""


def button(panel: Locator, name: str, turn: int) -> Locator:
    """Return a button below a turn of the panel."""
    return transcript_region(panel).get_by_role("button", name=name, exact=True).nth(turn)


def prompts(panel: Locator) -> Locator:
    return panel.locator(".plm-TurnPrompt-text")


def look(page: Page, name: str) -> None:
    """Photograph the page, in the soak in every theme."""
    before = page.viewport_size or {"width": 1280, "height": 800}
    for width in (1440, 420) if SOAKING else (420,):
        page.set_viewport_size({"width": width, "height": 900})
        for theme in SAMPLED_THEMES:
            choose_theme(page, theme)
            wait_until_drawn(page)
            photograph(page, f"{name}-{theme.split()[-1].lower()}-{width}")
            assert page.evaluate(VIOLATIONS, "#jupyter-palimpsest-panel") == [], (theme, width)
    page.set_viewport_size(before)


def again_after_reload(page: Page) -> None:
    """Reload the page, and open the panel in it."""
    page.reload()
    page.locator(".jp-Notebook .jp-Cell").first.wait_for()
    expect(composer(open_panel(page))).to_be_visible()


def test_a_prompt_is_changed_and_its_turn_goes_only_when_it_is_sent(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    panel = two_turns(page, lab, "resend-edit.ipynb")
    page.add_script_tag(path=AXE)
    composer(panel).fill("My draft")
    button(panel, EDIT, 0).press("Enter")

    expect(composer(panel)).to_be_focused()
    expect(composer(panel)).to_have_value("Write a poem")
    mark = panel.get_by_role("group", name="The prompt that is changed")
    expect(mark).to_contain_text("Editing the prompt “Write a poem”.")
    expect(mark).to_contain_text("1 later turn and 2 files go when it is sent.")
    mark.get_by_role("button", name="What goes").press("Enter")
    expect(mark.get_by_text("is deleted")).to_have_count(2)
    look(page, "resend-edit")
    mark.get_by_role("button", name="Cancel").press("Enter")
    expect(composer(panel)).to_have_value("My draft")
    expect(mark).to_have_count(0)
    expect(prompts(panel)).to_have_text(["Write a poem", "Make it longer"])
    assert (lab.folder / "poem.txt").is_file()

    button(panel, EDIT, 0).press("Enter")
    expect(mark).to_contain_text("2 files")
    composer(panel).fill("Write a song")
    if SOAKING:  # in each run labextension/tests/views/drafts/editedTurn.test.tsx reloads
        again_after_reload(page)
    expect(composer(panel)).to_have_value("Write a song")
    expect(panel.get_by_role("group", name="The prompt that is changed")).to_contain_text("2 files")
    assert (lab.folder / "poem.txt").is_file()
    composer(panel).press("Enter")

    expect(transcript_region(panel).get_by_text("Instead.")).to_be_visible()
    at_rest(panel)
    expect(prompts(panel)).to_have_text(["Write a song"])
    expect(composer(panel)).to_have_value("My draft")
    assert not (lab.folder / "poem.txt").exists()
    assert not (lab.folder / "data.csv").exists()
    assert seen.errors == []


@pytest.mark.soak  # with each commit tests/frontends/test_turns_in_a_kernel.py sends one again in its place; this adds the dialog
def test_an_earlier_turn_is_tried_again_in_its_place(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    panel = two_turns(page, lab, "resend-retry.ipynb")
    page.add_script_tag(path=AXE)
    button(panel, RETRY, 0).press("Enter")
    dialog = page.get_by_role("dialog", name="Retry this turn?")
    expect(dialog.get_by_text("6 messages are reverted:")).to_be_visible()
    expect(dialog.get_by_text("is deleted")).to_have_count(2)
    dialog.get_by_role("button", name="Cancel").press("Enter")
    expect(dialog).to_have_count(0)
    expect(button(panel, RETRY, 0)).to_be_focused()
    assert (lab.folder / "poem.txt").is_file()

    button(panel, RETRY, 0).press("Enter")
    expect(dialog.get_by_text("is deleted")).to_have_count(2)
    look(page, "resend-retry")
    if SOAKING:
        again_after_reload(page)
        button(panel, RETRY, 0).press("Enter")
    again = dialog.get_by_role("button", name="Retry", exact=True)
    expect(again).to_be_enabled()
    again.press("Enter")
    expect(transcript_region(panel).get_by_text("Instead.")).to_be_visible()
    expect(dialog).to_have_count(0)
    at_rest(panel)
    expect(prompts(panel)).to_have_text(["Write a poem"])
    assert not (lab.folder / "poem.txt").exists()
    assert seen.errors == []


@pytest.mark.soak  # with each commit tests/frontends/test_turns_in_a_kernel.py tries again as it was; this adds the dialog with another model and mode
def test_another_model_in_another_mode_tries_it_again(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    with FaultServer(*(says(f"Answer {number}.") for number in range(3))) as server:
        chosen = {"titles": False, "models": {"openai/other": {"window": 90000, "output": 900}}}
        settings = {
            "OPENAI_BASE_URL": f"{server.url}/v1",
            "OPENAI_API_KEY": "none",
            "OPENAI_MODEL": "fault",
            "PALIMPSEST_CONFIG_CONTENT": json.dumps(chosen),
        }
        code = f"import os\nos.environ |= {settings!r}\n%load_ext palimpsest\n%agent status"
        open_notebook(page, lab, book(lab, "resend-model.ipynb", code))
        page.evaluate(READY)
        panel = open_panel(page)
        page.evaluate(RUN, 0)
        send(panel, "How many?")
        expect(transcript_region(panel).get_by_text("Answer 0.")).to_be_visible()
        at_rest(panel)

        # What loses nothing but the answer asks nothing.
        button(panel, RETRY, 0).press("Enter")
        expect(transcript_region(panel).get_by_text("Answer 1.")).to_be_visible()
        at_rest(panel)
        button(panel, RETRY_WITH, 0).press("Enter")
        dialog = page.get_by_role("dialog", name="Retry this turn?")
        dialog.get_by_role("combobox", name="Model").select_option("openai/other")
        dialog.get_by_role("combobox", name="Permission mode").select_option("plan")
        photograph(page, "resend-with")
        again = dialog.get_by_role("button", name="Retry", exact=True)
        expect(again).to_be_enabled()
        again.press("Enter")
        expect(transcript_region(panel).get_by_text("Answer 2.")).to_be_visible()
        at_rest(panel)

        expect(prompts(panel)).to_have_text(["How many?"])
        asked = [body["model"] for body in server.bodies]
        assert asked == ["fault", "fault", "other"]
        expect(panel.get_by_role("button", name="plan")).to_be_visible()
    assert seen.errors == []


@pytest.mark.soak  # with each commit tests/e2e/test_narrow_panel.py looks for what is cut; this adds the order of the keys
def test_what_is_below_a_turn_is_reached_in_a_narrow_panel(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    panel = open_scripted_notebook(
        page, lab, "resend-narrow.ipynb", "calls('list', path='.'), says('Some files.')"
    )
    send(panel, "What is here?")
    expect(transcript_region(panel).get_by_text("Some files.")).to_be_visible()
    at_rest(panel)
    turn = panel.locator(".plm-Turn").last
    for width in (1440, 420, 320):
        page.set_viewport_size({"width": width, "height": 700})
        page.evaluate(COMMAND, "jupyter-palimpsest:open-panel")
        button(panel, "Copy the answer", 0).focus()
        wait_until_drawn(page)
        photograph(page, f"resend-narrow-{width}")
        drawn = turn.evaluate(BUTTONS)
        assert drawn == [
            [name, True, True]
            for name in ("Copy", "Inspect", "Retry", "", "Edit", "Fork", "Revert")
        ], width
        reached = [page.evaluate("document.activeElement.textContent")]
        for _ in drawn[1:]:
            page.keyboard.press("Tab")
            reached.append(page.evaluate("document.activeElement.textContent"))
        assert reached == [name for name, *_ in drawn], width
    assert seen.errors == []
