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
