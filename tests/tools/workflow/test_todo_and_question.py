"""todowrite replaces the whole list; question returns the user's answers."""

from dataclasses import dataclass, field

import pytest
from tests.harness.tools import ToolHarness

from palimpsest.tools.tool import Abort
from palimpsest.transcript.errors import PermissionDenied, UserError
from palimpsest.transcript.values import Answers, Question, QuestionOption, Todo


@dataclass
class Kept:
    """A todo list that keeps its last value."""

    lists: list[tuple[Todo, ...]] = field(default_factory=list)

    def replace(self, todos: tuple[Todo, ...]) -> None:
        self.lists.append(todos)


@dataclass
class Person:
    """A user with scripted answers."""

    answers: Answers
    asked: list[tuple[Question, ...]] = field(default_factory=list)

    async def ask(
        self, questions: tuple[Question, ...], *, message_id: str, call_id: str, abort: Abort
    ) -> Answers:
        assert (message_id, call_id, abort.is_set()) == ("msg_1", "call_1", False)
        self.asked.append(questions)
        return self.answers


async def test_returns_the_list_it_was_given(harness: ToolHarness) -> None:
    kept = harness.extra["todos"] = Kept()

    outcome = await harness.call(
        "todowrite",
        todos=[
            {"content": "Load the data", "status": "completed"},
            {"content": "Plot\nthe masses", "status": "in_progress", "priority": "high"},
            {"content": "Write it up"},
            {"content": "Ask Ada", "status": "cancelled"},
        ],
    )

    assert outcome.title == "1 of 3 done"
    assert outcome.output.splitlines() == [
        "[x] Load the data",
        "[>] Plot the masses (high priority)",
        "[ ] Write it up",
        "[-] Ask Ada",
    ]
    assert kept.lists == [
        (
            Todo(content="Load the data", status="completed"),
            Todo(content="Plot the masses", status="in_progress", priority="high"),
            Todo(content="Write it up"),
            Todo(content="Ask Ada", status="cancelled"),
        )
    ]
    assert harness.user.asked == []


async def test_an_empty_list_is_a_list(harness: ToolHarness) -> None:
    kept = harness.extra["todos"] = Kept()

    outcome = await harness.call("todowrite", todos=[])

    assert (outcome.title, outcome.output) == ("nothing to do", "The todo list is empty.")
    assert kept.lists == [()]


@pytest.mark.parametrize(
    ("todos", "words"),
    [
        ([{"content": " "}], "what is to do"),
        ([{"content": "x" * 501}], "what is to do"),
        ([{"content": "x"}] * 101, "more than 100 items"),
        ([{"content": "x", "status": "done"}], "'pending', 'in_progress', 'completed' or 'cancel"),
        ("load", "valid list"),
    ],
)
async def test_a_list_that_cannot_be_kept_says_why(
    harness: ToolHarness, todos: object, words: str
) -> None:
    kept = harness.extra["todos"] = Kept()

    with pytest.raises(UserError, match=words):
        await harness.call("todowrite", todos=todos)

    assert kept.lists == []


async def test_brings_back_what_was_chosen_and_said(harness: ToolHarness) -> None:
    person = harness.extra["interview"] = Person((("SQLite",), ("mass", "year", "island too"), ()))

    outcome = await harness.call(
        "question",
        questions=[
            {
                "question": "Which database?",
                "header": "Database",
                "options": [{"label": "SQLite", "description": "One file"}, {"label": "DuckDB"}],
            },
            {
                "question": "Which columns?",
                "options": [{"label": "mass"}, {"label": "year"}],
                "multiple": True,
            },
            {"question": "Anything else?", "multiple": True},
        ],
    )

    assert person.asked[0][0] == Question(
        question="Which database?",
        header="Database",
        options=(
            QuestionOption(label="SQLite", description="One file"),
            QuestionOption(label="DuckDB"),
        ),
    )
    assert not person.asked[0][2].multiple
    assert outcome.title == "3 questions"
    assert outcome.output == (
        "Which database?\n-> SQLite\n\nWhich columns?\n-> mass, year, island too\n\n"
        "Anything else?\n-> (no answer)"
    )
    assert outcome.metadata == {"answers": [["SQLite"], ["mass", "year", "island too"], []]}


async def test_the_title_tells_the_answer(harness: ToolHarness) -> None:
    harness.extra["interview"] = Person((("SQLite",),))

    outcome = await harness.call(
        "question", questions=[{"question": "Which database?", "header": "Database"}]
    )

    assert outcome.title == "Database: SQLite"


@pytest.mark.parametrize(
    ("questions", "words"),
    [
        ([], "one to 8 questions"),
        ([{"question": "Why?"}] * 9, "one to 8 questions"),
        ([{"question": "Why?", "options": [{"label": "a"}, {"label": "a "}]}], "same label"),
        ([{"question": "Why?", "options": [{"label": ""}]}], "no words"),
        ([{"question": " "}], "no words"),
        ([{"question": "Why?", "options": [{"label": str(i)} for i in range(13)]}], "at most 12"),
    ],
)
async def test_questions_that_cannot_be_asked_say_why(
    harness: ToolHarness, questions: object, words: str
) -> None:
    person = harness.extra["interview"] = Person(())

    with pytest.raises(UserError, match=words):
        await harness.call("question", questions=questions)

    assert person.asked == []


async def test_without_a_person_the_model_is_told_to_go_on(harness: ToolHarness) -> None:
    with pytest.raises(UserError, match="Go on with your best judgement"):
        await harness.call("question", questions=[{"question": "Why?"}])


async def test_a_rule_can_forbid_asking(harness: ToolHarness) -> None:
    harness.extra["interview"] = Person(())
    harness.user.rules = {"question": "deny"}

    with pytest.raises(PermissionDenied):
        await harness.call("question", questions=[{"question": "Why?"}])
