"""docs/teach.md says what the lessons compute and what the checks say, and its exam questions tell right from wrong."""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.lessons.answers.every_lesson import ANSWERS
from tests.lessons.lesson_notebook import notebook_cells, tags

import palimpsest
from palimpsest import policies
from palimpsest.lessons.lesson_list import LESSONS, lesson_plan

ROOT = Path(__file__).parents[2]
TAUGHT = (1, 2, 4, 5)
"""The lessons of the ninety minutes."""
WORDS_A_MINUTE = 200
PAGE = (ROOT / "docs" / "teach.md").read_text("utf-8")
ASKED = (
    (1, "share"),
    (1, "thumb"),
    (2, "share"),
    (3, "tenth"),
    (3, "acting"),
    (4, "losses"),
    (4, "share"),
    (5, "ten"),
    (6, "gone"),
    (7, "elsewhere"),
    (8, "fork"),
    (9, "new"),
)
"""The predictions of the page's first table, in its order."""


def table_below(heading: str) -> list[list[str]]:
    """Return the rows of the table below a heading, without its head."""
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def planned_minutes() -> dict[int, int]:
    """Return the minutes that the plan gives to each lesson, by its number."""
    minutes = dict.fromkeys(TAUGHT, 0)
    for span, lesson, *_ in table_below("90 minutes"):
        begin, end = map(int, span.split("\N{EN DASH}"))
        if lesson != "all":
            minutes[int(lesson)] += end - begin
    return minutes


def reading_minutes(lesson: int) -> float:
    """Return the minutes in which a lesson is read up to its first check, with the questions and what they mean."""
    plan = lesson_plan(lesson)
    words = [*plan.meaning, *(prediction.question for prediction in plan.predictions)]
    for cell in notebook_cells(plan):
        words.append("".join(cell["source"]))
        if "check" in tags(cell):
            break
    return len(" ".join(words).split()) / WORDS_A_MINUTE


def test_the_planned_and_the_reading_minutes_of_the_played_class_are_computed() -> None:
    rows = table_below("The ninety minutes, played through")

    assert [row[:3] for row in rows] == [
        [str(number), f"{planned_minutes()[number]}", f"{reading_minutes(number):.1f}"]
        for number in TAUGHT
    ]


def test_what_is_true_is_what_the_lessons_compute() -> None:
    """The truths of the answers are compared with the computation in test_lesson_answers.py."""
    rows = table_below("The questions, and what is true")

    assert [(row[0], row[2]) for row in rows] == [
        (
            str(number),
            lesson_plan(number).prediction(name).kind.value_text(ANSWERS[number].truths[name]),
        )
        for number, name in ASKED
    ]


def test_a_wrong_answer_gets_the_sentence_that_the_page_quotes() -> None:
    for number, _, sentence, _ in table_below("Typical wrong answers, and what they show"):
        said = [wrong.words for wrong in ANSWERS[int(number)].wrong]
        assert any(words in sentence for words in said), (number, sentence)


def test_the_minutes_follow_one_another_up_to_ninety() -> None:
    spans = [row[0].split("\N{EN DASH}") for row in table_below("90 minutes")]

    assert spans[0][0] == "0"
    assert [end for _, end in spans[:-1]] == [begin for begin, _ in spans[1:]]
    assert spans[-1][1] == "90"


@pytest.mark.parametrize("page", ["README.md", "docs/teach.md"])
def test_every_lesson_has_its_row_or_its_week(page: str) -> None:
    words = (ROOT / page).read_text("utf-8")
    if page == "README.md":
        for plan in LESSONS:
            assert f"[{plan.title}](notebooks/{plan.notebook}.ipynb)" in words
        return
    plain = " ".join(" ".join(row) for row in table_below("Four weeks"))
    assert {int(number) for number in re.findall(r"\b[1-9]\b", plain)} >= {
        plan.number for plan in LESSONS
    }


@cache
def exam() -> dict[str, Any]:
    """Return the names that the page's exam questions define."""
    names: dict[str, Any] = {}
    section = PAGE.partition("## An exam question of each kind")[2]
    for code in re.findall(r"```python\n(.*?)```", section, re.DOTALL):
        exec(code, names)  # the page's own code
    return names


def at(request: int | None) -> Any:
    """Return an inspector at a request."""
    return SimpleNamespace(place=SimpleNamespace(request=request))


def dearest(session: Any) -> int:
    rows = session.requests.to_dataframe().dropna(subset=["cost"])
    return int(rows.sort_values("cost").iloc[-1]["request"])


@palimpsest.policy
def newest_ten(view: Any) -> Any:
    """Make older long results short."""
    for index in view.outputs[:-10]:
        if view.chars(index) > 1_000:
            yield policies.truncate(index, 500)


EXAM: tuple[tuple[str, Callable[[], Any], Callable[[], Any]], ...] = (
    ("number", lambda: 69, lambda: 52),
    ("choice", lambda: 2, lambda: 3),
    (
        "order",
        lambda: ["sweagent.last_n", "raw", "openhands.recent"],
        lambda: ["openhands.recent", "sweagent.last_n", "raw"],
    ),
    ("square", lambda: at(72), lambda: at(71)),
    ("function", lambda: dearest, lambda: lambda _session: 11),
    ("policy", lambda: newest_ten, lambda: "sweagent.last_n"),
)


@pytest.mark.parametrize(("kind", "right", "wrong"), EXAM, ids=[kind for kind, *_ in EXAM])
def test_an_exam_question_tells_right_from_wrong(
    kind: str, right: Callable[[], Any], wrong: Callable[[], Any]
) -> None:
    check = exam()[f"check_{kind}"]

    assert check(right())
    assert not check(wrong())
