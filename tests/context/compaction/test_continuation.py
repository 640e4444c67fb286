"""After a compaction the agent is told to continue only when work is unfinished."""

import pytest
from tests.builders import Builder

from palimpsest.context.compaction.continuation import continuation_text, work_left
from palimpsest.context.compaction.plan import CompactionPlan
from palimpsest.context.policy_overrides import preset_policy
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.messages import Message
from palimpsest.transcript.parts import CompactionPart
from palimpsest.transcript.values import Todo

OPEN = Todo(content="Plot the masses")
RUNS = Todo(content="Clean the data", status="in_progress")
DONE = Todo(content="Read the file", status="completed")


@pytest.fixture
def build() -> Builder:
    return Builder()


def finished(message: Message, finish: str | None = "stop") -> Message:
    return message.model_copy(update={"info": message.info.model_copy(update={"finish": finish})})


def compacted(build: Builder) -> tuple[Message, Message]:
    """Return a compaction's marker and its summary."""
    marker = build.user(CompactionPart(id="prt_m", session_id="ses", message_id="msg", auto=True))
    summary = finished(build.assistant(build.text("We looked.")))
    info = summary.info.model_copy(update={"summary": True})
    return marker, summary.model_copy(update={"info": info})


def test_a_question_without_an_answer_is_left(build: Builder) -> None:
    assert work_left((build.user("How many?"),), ()) == "question"


@pytest.mark.parametrize("finish", [None, "tool-calls", "length", "unknown"])
def test_an_answer_cut_in_the_middle_is_left(build: Builder, finish: str | None) -> None:
    answer = finished(build.assistant(build.text("Half")), finish)

    assert work_left((build.user("How many?"), answer), ()) == "answer"


def test_results_that_nobody_looked_at_are_left(build: Builder) -> None:
    answer = finished(build.assistant(build.ran("list", "a.csv")))

    assert work_left((build.user("How many?"), answer), ()) == "answer"


def test_open_items_of_the_todo_list_are_left(build: Builder) -> None:
    whole = (build.user("How many?"), finished(build.assistant(build.text("Three."))))

    assert work_left(whole, (DONE, RUNS)) == "todo"
    assert work_left(whole, (OPEN,)) == "todo"
    assert work_left(whole, (DONE,)) is None


def test_nothing_is_left_after_a_whole_answer(build: Builder) -> None:
    whole = (build.user("How many?"), finished(build.assistant(build.text("Three."))))

    assert work_left(whole, ()) is None
    assert work_left((), (OPEN,)) is None


def test_compactions_are_no_part_of_the_conversation(build: Builder) -> None:
    whole = (build.user("How many?"), finished(build.assistant(build.text("Three."))))

    assert work_left((*whole, *compacted(build)), ()) is None
    assert work_left((build.user("How many?"), *compacted(build)), ()) == "question"


def test_a_question_that_the_summary_covers_is_quoted(build: Builder) -> None:
    question = build.user("How many?")
    covered, kept = CompactionPlan((question,)), CompactionPlan(())

    assert "How many?" in continuation_text(Policy(), covered, question, "question")
    assert "How many?" not in continuation_text(Policy(), kept, question, "question")


def test_what_is_open_on_the_todo_list_is_named(build: Builder) -> None:
    text = continuation_text(
        Policy(), CompactionPlan(()), build.user("How many?"), "todo", (DONE, OPEN, RUNS)
    )

    assert text.endswith("- Plot the masses\n- Clean the data")


def test_the_words_of_a_preset_are_its_own(build: Builder) -> None:
    chosen = preset_policy("opencode-1.1")

    assert continuation_text(chosen, CompactionPlan(()), build.user("x"), "todo", (OPEN,)) == (
        chosen.compact.continue_text
    )
