"""How calls end, what is typed as a command, and long questions, as they are seen in a real JupyterLab."""

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.jupyterlab import Lab, PageErrors, choose_theme, photograph
from tests.e2e.test_composer import violations
from tests.e2e.test_panel import (
    BEGIN,
    RUN,
    at_rest,
    composer,
    open_scripted_notebook,
    send,
    transcript_region,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

CELL = ".jp-Notebook .plm-SegmentWidget"
LONG = "\\n".join(["# a comment"] * 60 + ["mark = 1"])


@pytest.mark.soak  # with each commit tests/e2e/test_narrow_panel.py has calls that failed and were refused
def test_a_failed_call_is_red_and_a_refused_one_grey_with_its_difference(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    answers = (
        "calls('python', code='1/0'), calls('bash', command='exit 3'), "
        "calls('write', path='notes.txt', content='one'), says('That is all.')"
    )
    panel = open_scripted_notebook(page, lab, "outcomes.ipynb", answers)
    send(panel, "work")
    told = transcript_region(panel)
    for _ in range(2):
        allow = panel.get_by_role("button", name="Allow once")
        expect(allow).to_be_enabled()
        allow.click()
    refuse = panel.get_by_role("button", name="Reject…")
    expect(told.locator(".plm-Tool-name", has_text="write")).to_be_visible()
    refuse.click()
    panel.get_by_role("textbox", name="What should it do instead?", exact=False).fill("Not now.")
    panel.get_by_role("button", name="Reject", exact=True).click()
    expect(told.get_by_text("That is all.")).to_be_visible()
    at_rest(panel)

    rows = told.locator(".plm-Tool")
    python, bash, write = (rows.filter(has_text=name).first for name in ("python", "bash", "write"))
    expect(python).to_contain_text("ZeroDivisionError: division by zero")
    expect(bash).to_contain_text("exit")
    expect(write).to_contain_text("Not now.")
    for row, state in ((python, "error"), (bash, "error"), (write, "refused")):
        expect(row.locator("[data-state]").first).to_have_attribute("data-state", state)
    photograph(page, "outcomes")
    write.get_by_role("button").first.click()
    expect(write.locator(".plm-Tool-input")).to_contain_text("+one")
    photograph(page, "outcomes-refused-open")
    assert violations(page) == []
    choose_theme(page, "JupyterLab Dark")
    page.set_viewport_size({"width": 760, "height": 800})
    photograph(page, "outcomes-dark-narrow")
    assert violations(page) == []
    page.set_viewport_size({"width": 1280, "height": 800})
    choose_theme(page, "JupyterLab Light")
    assert seen.errors == []


@pytest.mark.soak  # with each commit tests/e2e/test_slash_commands.py types commands, a wrong one too
def test_a_typed_command_runs_or_says_what_is_meant_and_is_never_sent(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    answers = "says('Hello.'), says('## Goal\\nKnow.\\n' + 'A summary of it. ' * 30)"
    panel = open_scripted_notebook(page, lab, "typed.ipynb", answers)
    send(panel, "Hi")
    expect(transcript_region(panel).get_by_text("Hello.")).to_be_visible()
    at_rest(panel)

    field = composer(panel)
    field.fill("/compcat")
    field.press("Enter")
    expect(panel.get_by_text("Did you mean /compact?", exact=False)).to_be_visible()
    expect(field).to_have_value("/compcat")
    photograph(page, "typed-misspelled")
    expect(panel.locator(".plm-TurnPrompt-text")).to_have_text(["Hi"])

    field.fill("/compact")
    field.press("Enter")
    # So little is not worth a summary, which the turn's card says.
    expect(transcript_region(panel).get_by_text("Not compacted").first).to_be_attached()
    expect(panel.get_by_text("Did you mean /compact?", exact=False)).to_have_count(0)
    expect(panel.locator(".plm-TurnPrompt-text")).to_have_text(["Hi"])
    at_rest(panel)
    photograph(page, "typed-compact")
    expect(panel.get_by_text("/compact", exact=True)).to_have_count(0)
    assert seen.errors == []


@pytest.mark.soak  # with each commit labextension/tests/views/parts/askedText.test.tsx closes one to buttons and keys, and tests/e2e/test_narrow_panel.py shows its end
def test_a_long_question_can_be_allowed_once_its_end_was_on_the_screen(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    answers = f"calls('python', code='{LONG}'), says('Done.')"
    panel = open_scripted_notebook(page, lab, "long.ipynb", answers)
    send(panel, "work")
    allow = panel.get_by_role("button", name="Allow once")
    expect(allow).to_be_disabled()
    photograph(page, "long-closed")
    allow.locator("xpath=..").press("1")
    expect(allow).to_be_disabled()
    assert violations(page) == []

    panel.get_by_role("button", name="Show the end").click()
    expect(allow).to_be_enabled()
    photograph(page, "long-open")
    allow.press("1")
    expect(transcript_region(panel).get_by_text("Done.")).to_be_visible()
    at_rest(panel)
    assert seen.errors == []


def test_a_deceptive_question_says_so_and_a_circle_is_answered_by_go_on_or_stop(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    bad = "p\\u0430ypal = 1  # \\u202e hidden \\x1b[2J"
    same = "calls('list', path='.'), " * 4
    answers = f"calls('python', code='{bad}'), {same} says('Done.')"
    panel = open_scripted_notebook(page, lab, "deceptive.ipynb", answers)
    send(panel, "work")
    warnings = panel.get_by_role("list", name="What could deceive you")
    expect(warnings.get_by_role("listitem").first).to_be_visible()
    photograph(page, "deceptive")
    assert violations(page) == []
    panel.get_by_role("button", name="Allow once").click()

    expect(panel.get_by_role("button", name="Go on", exact=True)).to_be_visible()
    expect(panel.get_by_role("button", name="Stop", exact=True).last).to_be_visible()
    photograph(page, "circle")
    panel.get_by_role("button", name="Go on", exact=True).click()
    expect(transcript_region(panel).get_by_text("Done.")).to_be_visible()
    at_rest(panel)
    assert seen.errors == []


@pytest.mark.soak  # with each commit the panel does
def test_a_cell_shows_the_same_ends(page: Page, lab: Lab, seen: PageErrors) -> None:
    answers = "calls('python', code='1/0'), says('It failed.')"
    open_scripted_notebook(page, lab, "outcomes-cell.ipynb", answers, "%%agent -y\nwork")
    page.evaluate(RUN, 1)
    cell = page.locator(CELL).last
    expect(cell.get_by_text("It failed.")).to_be_visible()
    row = page.locator(f"{CELL} .plm-Tool").first
    expect(row).to_contain_text("ZeroDivisionError: division by zero")
    photograph(page, "outcomes-cell")
    assert seen.errors == []


@pytest.mark.soak  # with each commit it is in the panel
def test_a_circle_is_answered_by_go_on_or_stop_in_a_cell_too(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    answers = "calls('list', path='.'), " * 4 + "says('Done.')"
    open_scripted_notebook(page, lab, "circle-cell.ipynb", answers, "%%agent\nwork")
    page.evaluate(BEGIN, 1)
    cell = page.locator(CELL)
    expect(cell.get_by_role("button", name="Go on", exact=True)).to_be_visible()
    expect(cell.get_by_role("button", name="Stop", exact=True).first).to_be_visible()
    expect(cell.get_by_role("button", name="Allow once")).to_have_count(0)
    photograph(page, "circle-cell")
    cell.get_by_role("button", name="Go on", exact=True).click()
    expect(cell.get_by_text("Done.").last).to_be_visible()
    assert seen.errors == []
