"""The rehearsal model asks the user and keeps a todo list as the prompt says."""

from pathlib import Path
from typing import Any

import pytest
from tests.harness.rehearsal import RehearsalHarness

from palimpsest.transcript.errors import PermissionDenied
from palimpsest.transcript.values import Answers, Question, Todo


class Person:
    """Answers each question with its last option, or declines."""

    def __init__(self, *, declines: bool = False) -> None:
        self.declines = declines
        self.asked: list[Question] = []

    async def ask(self, questions: tuple[Question, ...], **_: Any) -> Answers:
        self.asked += questions
        if self.declines:
            raise PermissionDenied("The user chose not to answer.", stops=False)
        last = questions[0].options[-1:]
        return ((last[0].label if last else "a free word",),)


@pytest.mark.parametrize(
    ("prompt", "question", "labels"),
    [
        (
            "ask me which island: Biscoe, Dream or Torgersen",
            "Which island?",
            ["Biscoe", "Dream", "Torgersen"],
        ),
        ("Please ask me what to plot", "What to plot?", []),
        ("ask me", "What I shall do next?", []),
    ],
)
def test_asks_what_the_prompt_says(
    tmp_path: Path, prompt: str, question: str, labels: list[str]
) -> None:
    harness = RehearsalHarness(tmp_path)
    person = harness.extra["interview"] = Person()

    answer = harness.ask(prompt)

    assert answer.tools == ["question"]
    [asked] = person.asked
    assert (asked.question, [one.label for one in asked.options]) == (question, labels)
    assert answer.text == f"You said: **{labels[-1] if labels else 'a free word'}**."


def test_says_when_nobody_answered(tmp_path: Path) -> None:
    harness = RehearsalHarness(tmp_path)
    harness.extra["interview"] = Person(declines=True)

    assert "chose not to answer" in harness.ask("ask me which one: a or b").text


class Kept:
    """A todo list that keeps its last value."""

    todos: tuple[Todo, ...] = ()

    def replace(self, todos: tuple[Todo, ...]) -> None:
        self.todos = todos


@pytest.mark.parametrize(
    "prompt",
    [
        "todo list: load the data, plot it and write it up",
        "Make a to-do list for today:\n- load the data\n- plot it\n- write it up",
        "TODO: load the data; plot it; write it up",
    ],
)
def test_keeps_the_list_that_the_prompt_gives(tmp_path: Path, prompt: str) -> None:
    harness = RehearsalHarness(tmp_path)
    kept = harness.extra["todos"] = Kept()

    answer = harness.ask(prompt)

    assert answer.tools == ["todowrite"]
    assert [todo.content for todo in kept.todos] == ["load the data", "plot it", "write it up"]
    assert kept.todos[0].status == "in_progress"
    assert "The list has 3 items." in answer.text


@pytest.mark.parametrize("prompt", ["search for TODO: in the files", "find 'todo' in notes.txt"])
def test_a_search_for_the_word_stays_a_search(tmp_path: Path, prompt: str) -> None:
    (tmp_path / "notes.txt").write_text("TODO: faster\n")

    assert "todowrite" not in RehearsalHarness(tmp_path).ask(prompt).tools
