"""When a conversation no longer fits, the model gets a summary instead, and the transcript loses nothing."""

import asyncio
from pathlib import Path

import pytest
from tests.harness.compacted_sessions import (
    DEFAULT,
    LONG,
    SUMMARY,
    make_harness,
    markers,
    sent,
    summaries,
    talked,
)
from tests.harness.session import ask, until

from palimpsest.model.script import ModelAnswer, calls, fails, overflows, says, stalls
from palimpsest.recordings.reconstruction.requests import rebuild_all
from palimpsest.transcript.errors import AbortedError, ContextOverflowError
from palimpsest.transcript.messages import AssistantMessage
from palimpsest.transcript.session_record.events import DecisionMade, SessionCompacted


async def test_makes_room_before_a_request_that_would_not_fit(tmp_path: Path) -> None:
    harness, model, session = await talked(tmp_path, says(SUMMARY), says("It is 43.92."))

    answer = await ask(session, "What was the mean? " + "word " * 1_600)

    assert answer.error is None
    assert answer.text == "It is 43.92."
    assert [request.purpose for request in model.requests[2:]] == ["compaction", "step"]
    asked, after = sent(model, 2), sent(model, 3)
    assert "<conversation>\n[User]: First question" in asked
    assert model.requests[2].tools == ()
    assert "know the penguins" in after
    assert "What was the mean?" in after
    assert "First question" not in after
    # The transcript still has the whole text.
    messages = session.snapshot().messages
    assert LONG.strip() in str(messages)
    [summary] = summaries(messages)
    assert summary.error is None
    assert markers(messages)[0].auto
    records = await harness.records(session)
    assert [r.event for r in records if isinstance(r.event, SessionCompacted)]
    rebuilt = list(rebuild_all(harness.store, session.id, records))
    assert all(rebuilt_request.matches for rebuilt_request in rebuilt)
    assert [list(rebuilt_request.request.messages) for rebuilt_request in rebuilt] == [
        list(request.messages) for request in model.requests
    ]


async def test_keeps_the_newest_turns_word_for_word(tmp_path: Path) -> None:
    harness, model = make_harness(
        tmp_path, says(LONG), says(LONG), says("A short answer."), says(SUMMARY), says("Done.")
    )
    session = await harness.session()
    await ask(session, "First question")
    await ask(session, "Second question")
    await ask(session, "A short question")

    await ask(session, "And now? " + "word " * 1_600)

    after = sent(model, 4)
    assert after.index("know the penguins") < after.index("A short question")
    assert "A short answer." in after
    assert "Second question" not in after


async def test_a_question_that_the_summary_covers_is_said_again(tmp_path: Path) -> None:
    # Each is shown up to a quarter of the window.
    names = ["one.txt", "two.txt", "three.txt"]
    for name in names:
        (tmp_path / name).write_text("line of text\n" * 1_500)
    question = "How many lines has each file, and what do they say? " + "word " * 1_200
    harness, model = make_harness(
        tmp_path,
        *[calls("read", path=name) for name in names],
        says(SUMMARY),
        says("1,500 lines."),
    )
    session = await harness.session()

    answer = await ask(session, question)

    assert answer.text == "1,500 lines."
    assert [r.purpose for r in model.requests][-2:] == ["compaction", "step"]
    assert question in sent(model, len(model.requests) - 1)
    records = await harness.records(session)
    assert all(
        rebuilt_request.matches
        for rebuilt_request in rebuild_all(harness.store, session.id, records)
    )


async def test_makes_room_when_the_provider_refuses(tmp_path: Path) -> None:
    harness, _ = make_harness(
        tmp_path, says("One."), overflows(), says(SUMMARY), says("Now it fits.")
    )
    session = await harness.session()
    await ask(session, "First question " + "word " * 1_500)

    answer = await ask(session, "Second question")

    assert answer.text == "Now it fits."
    assert answer.error is None
    messages = session.snapshot().messages
    [marker] = markers(messages)
    assert marker.overflow
    failed = [
        m.info.error for m in messages if isinstance(m.info, AssistantMessage) and m.info.error
    ]
    assert isinstance(failed[0], ContextOverflowError)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (says("Too short."), "too short to be of use"),
        (says(SUMMARY + "word " * 9_000).in_pieces(4_000), "saved too little"),
        (fails(400, "No."), "No."),
    ],
)
async def test_a_summary_that_is_no_good_cuts_nothing(
    tmp_path: Path, answer: ModelAnswer, words: str
) -> None:
    harness, model, session = await talked(tmp_path, answer, says("Never sent."))

    result = await ask(session, "What was the mean? " + "word " * 1_600)

    assert result.error is not None
    assert words in result.error.message
    assert [request.purpose for request in model.requests][-1] == "compaction"
    [summary] = summaries(session.snapshot().messages)
    assert summary.error is not None
    assert not [r for r in await harness.records(session) if isinstance(r.event, SessionCompacted)]


async def test_a_summary_asked_for_again_says_that_there_is_room(tmp_path: Path) -> None:
    _, _, session = await talked(tmp_path, says(SUMMARY), says(SUMMARY))
    await session.compact()

    error = (await session.compact()).error

    assert error is not None
    assert error.message.startswith("The summary saved too little")
    assert error.message.endswith("There is room for all of it in the window of 8,000 tokens.")


async def test_stops_while_it_is_summarising(tmp_path: Path) -> None:
    _, model, session = await talked(tmp_path, stalls())
    waiting = asyncio.create_task(ask(session, "What was the mean? " + "word " * 1_600))
    await until(lambda: len(model.requests) == 3)

    assert session.cancel()
    result = await waiting

    assert isinstance(result.error, AbortedError)
    [summary] = summaries(session.snapshot().messages)
    assert isinstance(summary.error, AbortedError)
    picture = session.snapshot().session
    assert picture is not None
    assert picture.time.compacting is None


async def test_a_second_summary_that_helps_no_more_ends_the_turn(tmp_path: Path) -> None:
    answers = [says("One."), overflows(), says(SUMMARY), overflows(), says(SUMMARY)]
    harness, model = make_harness(tmp_path, *answers)
    session = await harness.session()
    await ask(session, "First question " + "word " * 1_500)

    result = await ask(session, "Second question")

    assert result.error is not None
    assert "saved too little" in result.error.message
    assert [r.purpose for r in model.requests][1:] == ["step", "compaction", "step", "compaction"]


async def test_tries_no_more_often_than_the_policy_says(tmp_path: Path) -> None:
    base = DEFAULT
    compact = base.compact.model_copy(update={"max_attempts": 2, "judge": False})
    answers = [says("One."), *(overflows(), says(SUMMARY)) * 2, overflows()]
    harness, model = make_harness(
        tmp_path, *answers, policy=base.model_copy(update={"compact": compact})
    )
    session = await harness.session()
    await ask(session, "First question")

    result = await ask(session, "Second question")

    assert isinstance(result.error, ContextOverflowError)
    assert [r.purpose for r in model.requests].count("compaction") == 2


async def test_a_first_prompt_that_is_too_large_is_refused_before_anything_is_sent(
    tmp_path: Path,
) -> None:
    harness, model = make_harness(tmp_path)
    session = await harness.session()

    result = await ask(session, "word " * 40_000)

    assert isinstance(result.error, ContextOverflowError)
    assert model.requests == []


async def test_the_report_names_what_the_summary_lost(tmp_path: Path) -> None:
    harness, _, session = await talked(
        tmp_path, says(SUMMARY.replace("43.92", "some number")), says("It is 43.92.")
    )

    await ask(session, "What was the mean? " + "word " * 1_600)

    records = await harness.records(session)
    decisions = [r.event.decision for r in records if isinstance(r.event, DecisionMade)]
    [told] = [decision for decision in decisions if "retention" in decision.numbers]
    assert told.numbers["retention"]["numbers"]["names"] == ["43.92"]
    assert told.numbers["retention"]["identifiers"]["lost"] == 0
    assert told.tokens_after < told.tokens_before


async def test_is_off_where_the_policy_says_so(tmp_path: Path) -> None:
    base = DEFAULT
    off = base.model_copy(update={"overflow": base.overflow.model_copy(update={"auto": False})})
    _, model, session = await talked(tmp_path, policy=off)

    result = await ask(session, "What was the mean? " + "word " * 1_600)

    assert isinstance(result.error, ContextOverflowError)
    assert len(model.requests) == 2


async def test_the_next_compaction_merges_the_summary_before(tmp_path: Path) -> None:
    harness, model, session = await talked(
        tmp_path, says(SUMMARY), says(LONG), says(SUMMARY), says("Done.")
    )
    await ask(session, "Third question " + "word " * 1_600)

    answer = await ask(session, "Fourth question")

    assert answer.text == "Done."
    assert [r.purpose for r in model.requests][2:] == ["compaction", "step", "compaction", "step"]
    asked = sent(model, 4)
    assert f"<prior-summary>\n{SUMMARY.strip()}\n</prior-summary>" in asked
    assert "Third question" in asked
    assert "First question" not in asked
    records = await harness.records(session)
    assert all(
        rebuilt_request.matches
        for rebuilt_request in rebuild_all(harness.store, session.id, records)
    )


async def test_the_agent_for_summaries_may_have_words_of_its_own(tmp_path: Path) -> None:
    harness, model = make_harness(tmp_path, says(LONG), says(LONG), says(SUMMARY), says("Done."))
    scribe = harness.services.agents.known_agents["compaction"].model_copy(
        update={"prompt": "Sum it up in verse."}
    )
    object.__setattr__(
        harness.services.agents,
        "known_agents",
        {**harness.services.agents.known_agents, "compaction": scribe},
    )
    session = await harness.session()
    await ask(session, "First question")
    await ask(session, "Second question")

    await ask(session, "And now? " + "word " * 1_600)

    [asked] = [request for request in model.requests if request.purpose == "compaction"]
    assert asked.messages[0] == {"role": "system", "content": "Sum it up in verse."}
    rebuilt = list(rebuild_all(harness.store, session.id, await harness.records(session)))
    assert all(rebuilt_request.matches for rebuilt_request in rebuilt)
