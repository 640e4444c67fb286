"""A summary that fails its check is requested again once, and hides nothing if it fails again."""

from pathlib import Path

import pytest
from tests.harness.compacted_sessions import (
    DEFAULT,
    LONG,
    SUMMARY,
    assert_rebuilt,
    make_harness,
    markers,
    sent,
    summaries,
    talked,
    with_compact,
    with_recovery,
)
from tests.harness.replay_checks import check_log_laws
from tests.harness.session import ask
from tests.loop.context_management.test_fit_driver import make_fit_harness, reads

from palimpsest.model.interface import ModelRequest
from palimpsest.model.script import ModelAnswer, fails, says
from palimpsest.render.content.outline import REJECTED_TITLE, ReasoningItem, outline_message
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.transcript.parts import TextPart

REFUSAL = (
    "I'm sorry, but I can't help with summarising this conversation. It seems to contain material that I "
    "am not able to process in this context, and I would rather not repeat it here. If there is anything "
    "else that you would like to talk about, such as penguins in general, please let me know, and I will "
    "gladly do so."
)
"""A recorded refusal: 290 characters and more, so not too short."""
PROSE = "We talked about penguins for a while and everything went well in the end. " * 12


def rejected(session: LiveSession) -> list[TextPart]:
    """Return the texts of summaries that failed the check."""
    return [
        part
        for message in session.snapshot().messages
        for part in message.parts
        if isinstance(part, TextPart) and "rejected" in (part.metadata or {})
    ]


@pytest.mark.parametrize(("bad", "lack"), [(REFUSAL, "It refuses"), (PROSE, "It has no headings")])
async def test_a_summary_that_lacks_something_is_written_again(
    tmp_path: Path, bad: str, lack: str
) -> None:
    harness, model, session = await talked(tmp_path, says(bad), says(SUMMARY), says("It is 43.92."))

    answer = await ask(session, "What was the mean? " + "word " * 1_600)

    assert answer.text == "It is 43.92."
    assert [request.purpose for request in model.requests][2:] == [
        "compaction",
        "compaction",
        "step",
    ]
    assert lack not in sent(model, 2)
    assert lack in sent(model, 3)
    [aside] = rejected(session)
    assert aside.text == bad
    assert aside.ignored
    assert "know the penguins" in sent(model, 4)
    assert bad[:40] not in sent(model, 4)
    [summary] = [
        message
        for message in session.snapshot().messages
        if getattr(message.info, "summary", False)
    ]
    titles = [item.title for item in outline_message(summary) if isinstance(item, ReasoningItem)]
    assert REJECTED_TITLE in titles
    await assert_rebuilt(harness, session, model)
    check_log_laws(harness.store, session.id)


async def test_two_that_lack_something_cut_nothing_and_say_what_was_missing(tmp_path: Path) -> None:
    harness, model, session = await talked(
        tmp_path, says(REFUSAL), says(REFUSAL), says("Never sent.")
    )

    answer = await ask(session, "What was the mean? " + "word " * 1_600)

    assert answer.stopped_by == "compaction"
    assert answer.error is not None
    assert answer.text == ""
    assert "nothing was cut" in answer.error.message
    assert "It refuses" in answer.error.message
    assert "compaction.model" in answer.error.message
    assert [request.purpose for request in model.requests][2:] == ["compaction"] * 2
    shown = [
        part.text
        for message in session.snapshot().messages
        for part in message.parts
        if isinstance(part, TextPart)
    ]
    assert LONG in shown
    await assert_rebuilt(harness, session, model)
    check_log_laws(harness.store, session.id)


async def test_a_second_summary_in_a_turn_that_failed_one_is_asked_for_once(tmp_path: Path) -> None:
    """However often summaries fail, a turn sends at most three requests for them."""
    policy = with_recovery(DEFAULT, truncations=9)
    left = [*reads(*range(8)), *reads(*range(8)), *reads(*range(8)), *reads(*range(8))]

    def answer(request: ModelRequest) -> ModelAnswer:
        return says(REFUSAL) if request.purpose == "compaction" else left.pop(0)

    harness, model = make_fit_harness(tmp_path, *[answer] * 60, policy=policy)
    session = await harness.session()

    answered = await ask(session, "Read the logs.", yes=True)

    assert answered.error is not None
    assert [asked.purpose for asked in model.requests].count("compaction") == 3
    check_log_laws(harness.store, session.id)


async def test_by_hand_what_was_asked_last_must_be_told(tmp_path: Path) -> None:
    policy = with_compact(DEFAULT, tail_turns=0)
    harness, model = make_harness(
        tmp_path,
        says(LONG),
        says(LONG),
        says(SUMMARY),
        says(SUMMARY + "- asked: which islands were visited by expeditions\n"),
        policy=policy,
    )
    session = await harness.session()
    await ask(session, "First question")
    await ask(session, "Which islands did expeditions visit?")

    answer = await session.compact()

    assert answer.error is None
    assert (
        "Which islands did expeditions visit?" in sent(model, 3).rpartition("could not be used")[2]
    )
    assert [summary.error for summary in summaries(session.snapshot().messages)] == [None]
    check_log_laws(harness.store, session.id)


async def test_names_that_people_wrote_must_be_there(tmp_path: Path) -> None:
    policy = with_compact(DEFAULT, tail_turns=0)
    named = SUMMARY + "- files: data/islands.csv, mean_by_island\n"
    harness, model = make_harness(
        tmp_path, says(LONG), says(LONG), says(SUMMARY), says(named), policy=policy
    )
    session = await harness.session()
    await ask(session, "Load data/islands.csv into mean_by_island")
    await ask(session, "Know the penguins: bill length, please")

    await session.compact()

    told_again = sent(model, 3).rpartition("could not be used")[2]
    assert "data/islands.csv" in told_again
    assert "mean_by_island" in told_again
    assert len(markers(session.snapshot().messages)) == 1
    check_log_laws(harness.store, session.id)


async def test_a_failure_of_the_second_request_keeps_the_history(tmp_path: Path) -> None:
    harness, model, session = await talked(
        tmp_path, says(REFUSAL), fails(400, "No."), says("Never.")
    )

    answer = await ask(session, "What was the mean? " + "word " * 1_600)

    assert answer.error is not None
    assert "No." in answer.error.message
    assert len(model.requests) == 4
    check_log_laws(harness.store, session.id)


async def test_a_policy_may_do_without(tmp_path: Path) -> None:
    policy = with_compact(DEFAULT, audit=False)
    _, model, session = await talked(tmp_path, says(PROSE), says("It is 43.92."), policy=policy)

    answer = await ask(session, "What was the mean? " + "word " * 1_600)

    assert answer.text == "It is 43.92."
    assert [request.purpose for request in model.requests][2:] == ["compaction", "step"]
