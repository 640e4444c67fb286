"""The model's questions to a person, and its todo list, in cell and panel of a real JupyterLab."""

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.e2e.jupyterlab import (
    SAMPLED_THEMES,
    Lab,
    PageErrors,
    choose_theme,
    into_command_mode,
    photograph,
    seen_for_a_while,
)
from tests.e2e.running_notebook import begin
from tests.e2e.shared_browser import SIZE
from tests.e2e.test_panel import (
    AXE,
    BEGIN,
    VIOLATIONS,
    at_rest,
    composer,
    open_scripted_notebook,
    send,
    transcript_region,
)
from tests.e2e.test_saved_answer import POOR_CONTRAST
from tests.sample_size import sampled_cases

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

COLOUR = {
    "question": "Which colour should the bars of the chart have?",
    "header": "Colour",
    "options": [
        {"label": "Blue", "description": "as in the other charts of this notebook"},
        {"label": "By species", "description": "three colours and a legend"},
        {"label": "Grey"},
    ],
}
COLUMNS = {
    "question": "Which columns may I drop?",
    "options": [{"label": "year"}, {"label": "island"}, {"label": "sex"}],
    "multiple": True,
}
TODOS = [
    {"content": "Load the penguins", "status": "completed"},
    {"content": "Plot body mass by species", "status": "in_progress", "priority": "high"},
    {"content": "Compare the islands"},
    {"content": "Ask for the raw data", "status": "cancelled"},
]


def asks(*questions: object) -> str:
    return f"calls('question', questions={list(questions)!r})"


def interview(place: Locator) -> Locator:
    return place.locator("form.plm-QuestionForm")


@pytest.mark.parametrize("way", sampled_cases(("mouse", "keys", "words"), "keys"))
def test_a_question_is_answered_in_its_cell(
    page: Page, lab: Lab, seen: PageErrors, way: str
) -> None:
    notebook = begin(
        page,
        lab,
        f"asked-{way}",
        f"harness.script({asks(COLOUR)}, says('As you like.'))",
        "%%agent\nGo.",
    )
    notebook.run(1)
    notebook.run(2, wait=False)
    card = interview(notebook.cell(2))
    expect(card).to_be_visible()
    seen_for_a_while(page)
    option = card.get_by_role("button", name="Grey")
    assert option.evaluate("node => getComputedStyle(node).borderRadius") == "6px"
    for theme in SAMPLED_THEMES:
        choose_theme(page, theme)
        photograph(page, f"asked-cell-{theme.rpartition(' ')[2].lower()}")
        assert page.evaluate(POOR_CONTRAST) == []
    if way == "mouse":
        card.get_by_role("button", name="By species").click()
    elif way == "keys":
        into_command_mode(page)
        page.keyboard.press("2")
    else:
        field = card.get_by_role("textbox")
        field.fill("2 shades of green")
        field.press("Enter")
    notebook.ended()

    shown = notebook.cell(2).locator(".plm-Segment")
    expect(shown.get_by_text("As you like.")).to_be_visible()
    expect(interview(notebook.cell(2))).to_have_count(0)
    said = "2 shades of green" if way == "words" else "By species"
    shown.get_by_role("button", name=f"Colour: {said}").click()
    expect(shown.locator(".plm-QuestionAnswers dd")).to_have_text(said)
    assert page.locator("input.jp-Stdin-input").count() == 0
    assert f"-> {said}" in notebook.kept(2, "As you like.")["text/markdown"]
    photograph(page, f"asked-cell-{way}")
    assert seen.errors == []


@pytest.mark.soak  # with each commit labextension/tests/views/parts/questionForm.test.tsx has several, and tests/e2e/test_step_mode.py reloads in mid-turn
def test_several_questions_survive_a_reload(page: Page, lab: Lab) -> None:
    notebook = begin(
        page,
        lab,
        "asked-reload",
        f"harness.script({asks(COLOUR, COLUMNS)}, says('As you like.'))",
        "%%time\n%agent Go.",
    )
    notebook.run(1)
    notebook.run(2, wait=False)
    expect(interview(notebook.cell(2))).to_be_visible()
    notebook.save()
    page.reload()
    card = interview(notebook.cell(2))
    card.wait_for()
    expect(card.get_by_role("button", name="Answer")).to_be_disabled()

    card.get_by_role("button", name="Grey").click()
    columns = card.get_by_role("group", name="Which columns may I drop?")
    columns.get_by_role("button", name="sex").click()
    columns.get_by_role("button", name="year").click()
    columns.get_by_role("textbox").fill("and bill depth")
    photograph(page, "asked-several")
    card.get_by_role("button", name="Answer").click()

    expect(notebook.cell(2).get_by_text("As you like.")).to_be_visible()
    notebook.cell(2).get_by_role("button", name="2 questions").click()
    answers = notebook.cell(2).locator(".plm-QuestionAnswers dd")
    expect(answers).to_have_text(["Grey", "year", "sex", "and bill depth"])
    data = notebook.kept(2, "As you like.")
    assert "-> year, sex, and bill depth" in data["text/markdown"]


@pytest.mark.soak  # with each commit labextension/tests/views/parts/questionForm.test.tsx does, and the cell above asks
def test_the_panel_asks_by_name_and_key_and_shows_what_is_to_do(
    page: Page, lab: Lab, seen: PageErrors
) -> None:
    done = [{**one, "status": "completed"} for one in TODOS]
    answers = (
        f"says('First a plan. ').calls('todowrite', todos={TODOS!r}), {asks(COLOUR)}, "
        f"{asks(COLUMNS)}, calls('todowrite', todos={done!r}), says('All done.')"
    )
    panel = open_scripted_notebook(page, lab, "asked-panel.ipynb", answers)
    send(panel, "Make the chart.")

    card = interview(panel)
    expect(card.get_by_role("group", name=COLOUR["question"])).to_be_visible()
    strip = panel.locator(".plm-TodoStrip")
    expect(strip).to_contain_text("1 of 3 done")
    expect(strip).to_contain_text("Plot body mass by species")
    heard = panel.get_by_role("log", name="What the agent does")
    expect(heard).to_contain_text("The agent waits for you: Which colour")
    strip.get_by_role("button").click()
    expect(strip.get_by_role("list", name="To do").get_by_role("listitem")).to_have_count(4)
    page.add_script_tag(path=AXE)
    for theme in SAMPLED_THEMES:
        choose_theme(page, theme)
        photograph(page, f"asked-panel-{theme.rpartition(' ')[2].lower()}")
        assert page.evaluate(POOR_CONTRAST) == []
        assert page.evaluate(VIOLATIONS, ".plm-Panel") == []
    strip.get_by_role("button").click()
    panel.get_by_role("button", name="Put the todo list away").click()
    expect(strip).to_have_count(0)
    page.set_viewport_size({"width": 420, "height": 800})
    photograph(page, "todos-away")
    page.set_viewport_size(SIZE)  # type: ignore[arg-type]
    panel.get_by_role("button", name="Show the todo list: 1 of 3 done").click()
    expect(strip).to_contain_text("1 of 3 done")

    transcript_region(panel).press("3")
    expect(card.get_by_role("group", name="Which columns may I drop?")).to_be_visible()
    card.get_by_role("button", name="Skip").click()

    expect(transcript_region(panel).get_by_text("All done.")).to_be_visible()
    at_rest(panel)
    expect(strip).to_have_count(0)
    transcript_region(panel).get_by_role("button", name="wrote its todo list").click()
    transcript_region(panel).get_by_role("button", name="4 of 4 done").click()
    expect(transcript_region(panel).locator(".plm-TodoItems")).to_be_visible()
    expect(composer(panel)).to_be_enabled()
    photograph(page, "asked-panel-done")
    assert seen.errors == []


@pytest.mark.soak  # with each commit tests/e2e/test_panel.py stops another question
def test_a_stop_ends_a_question(page: Page, lab: Lab, seen: PageErrors) -> None:
    panel = open_scripted_notebook(
        page, lab, "asked-stop.ipynb", f"{asks(COLOUR)}, says('not reached')", "%%agent\nGo."
    )
    page.evaluate(BEGIN, 1)
    expect(interview(panel)).to_be_visible()

    panel.get_by_role("button", name="Stop", exact=True).click()

    expect(interview(panel)).to_have_count(0)
    expect(transcript_region(panel).get_by_text("not reached")).to_have_count(0)
    at_rest(panel)
    assert seen.errors == []
