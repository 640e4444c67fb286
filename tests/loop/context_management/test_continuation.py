"""After an automatic compaction, the agent is told to continue only when work is unfinished."""

from pathlib import Path

from tests.harness.compacted_sessions import (
    DEFAULT,
    SUMMARY,
    assert_rebuilt,
    make_harness,
    markers,
    sent,
)
from tests.harness.session import ask

from palimpsest.model.script import calls, says
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.session_record.events import TodoUpdated
from palimpsest.transcript.values import Todo

LONG = "The mean of bill_length_mm is 43.92. " * 120
FULL = says(LONG).reports(input=7_500, output=100)
"""A complete answer whose reported usage nearly fills the window."""


def reported(*, always: bool = False) -> Policy:
    """Return a policy that compacts by reported tokens; with ``always`` it also continues a finished turn."""
    compact = DEFAULT.compact.model_copy(update={"always_continue": always, "tail_turns": 0})
    overflow = DEFAULT.overflow.model_copy(update={"rule": "opencode-1.18"})
    return DEFAULT.model_copy(update={"overflow": overflow, "compact": compact})


async def test_stops_where_nothing_is_left_to_do(tmp_path: Path) -> None:
    harness, model = make_harness(tmp_path, says("One."), FULL, says(SUMMARY), policy=reported())
    session = await harness.session()
    await ask(session, "First question")

    answer = await ask(session, "Second question")

    assert answer.error is None
    assert answer.text == LONG
    assert [request.purpose for request in model.requests] == ["step", "step", "compaction"]
    assert markers(session.snapshot().messages)[0].auto
    await assert_rebuilt(harness, session, model)


async def test_goes_on_with_what_is_open_on_the_todo_list(tmp_path: Path) -> None:
    answers = [says("One."), FULL, says(SUMMARY), says("Plotted.")]
    harness, model = make_harness(tmp_path, *answers, policy=reported())
    session = await harness.session()
    await ask(session, "First question")
    open_, done = Todo(content="Plot the masses"), Todo(content="Read it", status="completed")
    session.journal.append(TodoUpdated(todos=(open_, done)))

    answer = await ask(session, "Second question")

    assert (answer.text, answer.error) == ("Plotted.", None)
    after = sent(model, 3)
    assert "still open on the todo list:\n\n- Plot the masses" in after
    assert "- Read it" not in after
    await assert_rebuilt(harness, session, model)


async def test_goes_on_with_the_list_that_the_model_wrote_itself(tmp_path: Path) -> None:
    todos = [{"content": "Plot the masses", "status": "in_progress"}, {"content": "Read it"}]
    answers = [calls("todowrite", todos=todos), says("One."), FULL, says(SUMMARY), says("Plotted.")]
    harness, model = make_harness(tmp_path, *answers, policy=reported(), few=False)
    session = await harness.session()
    await ask(session, "First question")

    answer = await ask(session, "Second question")

    assert (answer.text, answer.error) == ("Plotted.", None)
    assert "still open on the todo list:\n\n- Plot the masses\n- Read it" in sent(model, 4)
    await assert_rebuilt(harness, session, model)


async def test_goes_on_with_an_answer_that_was_cut(tmp_path: Path) -> None:
    half = says(LONG).finishes("length").reports(input=7_500, output=100)
    harness, model = make_harness(
        tmp_path, says("One."), half, says(SUMMARY), says("Done."), policy=reported()
    )
    session = await harness.session()
    await ask(session, "First question")

    answer = await ask(session, "Second question")

    assert (answer.text, answer.error) == ("Done.", None)
    assert "Go on with this request, which is not answered yet:\n\nSecond question" in sent(
        model, 3
    )


async def test_goes_on_always_where_the_policy_says_so(tmp_path: Path) -> None:
    answers = [says("One."), FULL, says(SUMMARY), says("Nothing more to do.")]
    harness, _ = make_harness(tmp_path, *answers, policy=reported(always=True))
    session = await harness.session()
    await ask(session, "First question")

    answer = await ask(session, "Second question")

    assert answer.text == "Nothing more to do."


async def test_one_that_a_person_asked_for_ends_with_the_summary(tmp_path: Path) -> None:
    harness, model = make_harness(tmp_path, says(LONG * 4), says(SUMMARY))
    session = await harness.session()
    await ask(session, "First question")
    session.journal.append(TodoUpdated(todos=(Todo(content="Plot the masses"),)))

    answer = await session.compact()

    assert (answer.text, answer.error) == (SUMMARY, None)
    assert len(model.requests) == 2
