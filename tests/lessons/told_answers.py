"""Finds in what a notebook shows whatever tells the answer to a prediction: its number, or numbers of the sentence on it."""

import html
import json
import re
from collections.abc import Iterator
from typing import Any

from tests.lessons.lesson_notebook import RunNotebook, notebook_cells, tags

from palimpsest.lessons.lesson_plan import LessonPlan, LessonSessions, Prediction

NUMBER = re.compile(r"(?<![\w.,-])\d[\d,]*(?:\.\d+)?(?!\w|[.,]\d)")
TAG = re.compile(r"<[^>]*>")
MIN_DIGITS = 3
"""Digits of a number that stands in the sentence on an answer by no accident."""
MIN_TRUTH = 10
"""A smaller whole number stands in many places, whatever it counts."""
CODE_OF_WIDGETS = ("module", "_esm", "_css", "key")


def shown_numbers(text: str) -> Iterator[tuple[float, int]]:
    """Yield each number of a text with the number of its decimals."""
    for found in NUMBER.findall(text):
        yield float(found.replace(",", "")), len(found.partition(".")[2])


def source_texts(plan: LessonPlan) -> dict[str, str]:
    """Return what stands in each cell of a lesson's notebook, by its id, without the folded solutions."""
    return {
        cell["id"]: "".join(cell["source"])
        for cell in notebook_cells(plan)
        if "solution" not in tags(cell)
    }


def asked_words(plan: LessonPlan, sessions: LessonSessions) -> str:
    """Return a lesson's questions, their bounds, and how long its sessions are."""
    asked = [f"{prediction.question} {prediction.kind}" for prediction in plan.predictions]
    lengths = [f"{len(sessions[name].timeline.requests)}" for name in plan.recordings]
    return " ".join([*asked, *lengths])


def known_words(plan: LessonPlan, sessions: LessonSessions) -> str:
    """Return what a learner knows before predicting: the notebook, its questions, their bounds, how long its sessions are."""
    return " ".join([*source_texts(plan).values(), asked_words(plan, sessions)])


def telling_numbers(
    prediction: Prediction, sessions: LessonSessions, words: str
) -> set[tuple[float, int]]:
    """Return the numbers that tell an answer, each with its decimals, without those in ``words``, which are known."""
    truth = prediction.truth(sessions)
    sentence = prediction.surprise(sessions, truth)
    telling = {
        (number, decimals)
        for number, decimals in shown_numbers(sentence)
        if len(f"{number:.{decimals}f}".replace(".", "")) >= MIN_DIGITS
    }
    if isinstance(truth, int | float) and truth >= MIN_TRUTH:
        telling |= {(round(truth), 0), (round(truth, 1), 1)}
    return telling - set(shown_numbers(words))


def told_numbers(text: str, telling: set[tuple[float, int]]) -> set[str]:
    """Return which of the telling numbers stand in a text, also with more decimals or as a share of 1."""
    told = set()
    for number, decimals in shown_numbers(text):
        for known, digits in telling:
            forms = [(number, decimals)]
            if 0 < number < 1 and decimals:
                forms.append((100 * number, decimals - 2))
            if any(round(form, digits) == known and at >= digits for form, at in forms):
                told.add(f"{known:.{digits}f}")
    return told


def shown_texts(run: RunNotebook) -> dict[str, str]:
    """Return all that each cell of a notebook shows, by its id, and what is saved of its widgets."""
    cells = {
        cell: "\n".join(map(_visible_text, value.get("outputs", ())))
        for cell, value in run.cells.items()
    }
    return cells | {"widgets": _widget_text(run.metadata)}


def _visible_text(output: Any) -> str:
    """Return all that an output shows, in each of its forms."""
    data = output.get("data", {})
    page = html.unescape(TAG.sub(" ", data.get("text/html", "")))
    forms = (data.get("text/plain", ""), data.get("text/markdown", ""), page)
    return "\n".join([output.get("text", ""), *forms])


def _widget_text(metadata: Any) -> str:
    """Return what a saved notebook holds of its widgets, without their code."""
    states = metadata.get("widgets", {}).get("application/vnd.jupyter.widget-state+json", {})
    values = [
        {name: value for name, value in model["state"].items() if name not in CODE_OF_WIDGETS}
        for model in states.get("state", {}).values()
        if model["model_module"] != "@jupyter-widgets/base"
    ]
    return html.unescape(TAG.sub(" ", json.dumps(values)))
