"""A conversation that is too long for one summary is summarised in parts, each of which is recorded."""

import asyncio
import itertools
import re
from pathlib import Path

import pytest
from tests.harness.compacted_sessions import (
    DEFAULT,
    INFO,
    SUMMARY,
    assert_rebuilt,
    summaries,
    with_compact,
    words,
)
from tests.harness.session import SessionHarness, ask, until
from tests.sample_size import thinned
from tests.waiting import LAST_RESORT_SECONDS

from palimpsest.model.script import ModelAnswer, calls, fails, says, stalls
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.errors import AbortedError, ContextOverflowError
from palimpsest.transcript.messages import AssistantMessage
from palimpsest.transcript.session_record.events import DecisionMade, SessionCompacted

TURNS = 10
WIDE = INFO.model_copy(update={"window": 60_000})


def part(number: int) -> str:
    """Return the summary of one request, which differs by its number."""
    return SUMMARY + f"- part {number}\n"


async def grown(
    root: Path, *answers: ModelAnswer, policy: Policy = DEFAULT, turns: int = TURNS
) -> tuple[SessionHarness, ScriptedModel, LiveSession]:
    """Return a session of some 20,000 tokens whose model now has a window of 8,000."""
    said = [
        says(f"The mean of column {number} is 43.92. " * 100).in_pieces(4_000)
        for number in range(turns)
    ]
    model = ScriptedModel(*said, *answers)
    harness = SessionHarness(root, model, info=WIDE)
    object.__setattr__(harness.services.rules, "policy", policy)
    session = await harness.session()
    for number in range(turns):
        await ask(session, f"Question {number} " + "word " * 700)
    harness.narrow(INFO)
    return harness, model, session


def asked(model: ScriptedModel) -> list[str]:
    return [
        str(request.messages[-1]["content"])
        for request in model.requests
        if request.purpose == "compaction"
    ]


def questions(text: str) -> list[int]:
    return [int(found) for found in re.findall(r"\[User\]: Question (\d+)", text)]


async def test_each_part_goes_on_with_the_summary_of_those_before(tmp_path: Path) -> None:
    _, model, session = await grown(
        tmp_path, says(part(1)), says(part(2)), says(part(3)), says("It is 43.92.")
    )

    answer = await ask(session, "And now?")

    assert (answer.text, answer.error) == ("It is 43.92.", None)
    first, second, third = asked(model)
    told = [questions(text) for text in (first, second, third)]
    # Each message is summarised once, and the newest turns are kept unchanged.
    assert list(itertools.chain(*told)) == list(range(sum(map(len, told))))
    assert "<prior-summary>" not in first
    assert f"<prior-summary>\n{part(1).strip()}\n</prior-summary>" in second
    assert f"<prior-summary>\n{part(2).strip()}\n</prior-summary>" in third
    assert ["is told in the next part" in text for text in (first, second, third)] == [
        True,
        True,
        False,
    ]
    after = str(model.requests[-1].messages)
    assert "part 3" in after
    assert "part 2" not in after
    assert "Question 0" not in after
    assert "And now?" in after


async def test_every_part_is_rebuilt_from_the_log(tmp_path: Path) -> None:
    harness, model, session = await grown(
        tmp_path, says(part(1)), says(part(2)), says(part(3)), says("Done."), says("Yes.")
    )
    await ask(session, "And now?")
    await ask(session, "Sure?")

    records = await harness.records(session)
    stages = [
        record.event.decision.numbers["stage"]
        for record in records
        if isinstance(record.event, DecisionMade) and "stage" in record.event.decision.numbers
    ]
    assert stages == [1, 2, 3]
    await assert_rebuilt(harness, session, model)


@pytest.mark.soak  # with each commit each part goes on with the summary of those before, in this file; this adds what is kept of them
async def test_what_a_part_wrote_is_kept_as_a_draft(tmp_path: Path) -> None:
    _, _, session = await grown(
        tmp_path, says(part(1)), says(part(2)), says(part(3)), says("Done.")
    )
    await ask(session, "And now?")

    [message] = [
        message
        for message in session.snapshot().messages
        if isinstance(message.info, AssistantMessage) and message.info.summary
    ]
    assert [text[-7:].strip() for text in words(message)] == ["part 1", "part 2", "part 3"]
    ignored = [text_part.ignored for text_part in message.parts if text_part.type == "text"]
    assert ignored == [True, True, False]
    assert isinstance(message.info, AssistantMessage)
    steps = [finish.tokens.input for finish in message.parts if finish.type == "step-finish"]
    assert message.info.tokens.input == sum(steps)


async def test_a_call_and_its_result_are_told_in_one_part(tmp_path: Path) -> None:
    for number in range(12):
        (tmp_path / f"{number}.txt").write_text("a line of text\n" * 150)
    reads = [calls("read", path=f"{number}.txt") for number in range(12)]
    model = ScriptedModel(
        *reads,
        says("Read."),
        says("More."),
        *(says(part(number)) for number in range(1, 9)),
        says("Done."),
    )
    harness = SessionHarness(tmp_path, model, info=WIDE)
    object.__setattr__(harness.services.rules, "policy", with_compact(result_chars=20_000))
    session = await harness.session()
    await ask(session, "Read them. " + "word " * 700)
    await ask(session, "More. " + "word " * 1_000)
    harness.narrow(INFO.model_copy(update={"window": 5_000}))

    await ask(session, "And now?")

    texts = asked(model)
    assert len(texts) > 1
    for text in texts:
        assert text.count("[Assistant tool call]") == text.count("[Tool result]")
    assert sum(text.count("[Assistant tool call]") for text in texts) == 12


async def test_a_message_too_large_for_any_request_is_left_out_with_a_note(tmp_path: Path) -> None:
    model = ScriptedModel(
        says("One."),
        says("Two. " + "word " * 600).in_pieces(4_000),
        says("Three. " + "word " * 600).in_pieces(4_000),
        *(says(part(number)) for number in range(1, 5)),
        says("Done."),
    )
    harness = SessionHarness(tmp_path, model, info=WIDE)
    object.__setattr__(harness.services.rules, "policy", DEFAULT)
    session = await harness.session()
    await ask(session, "Take this: " + "penguin " * 9_000)
    await ask(session, "And two?")
    await ask(session, "And three? " + "word " * 2_000)
    harness.narrow(INFO)

    answer = await ask(session, "And now?")

    assert answer.error is None
    texts = asked(model)
    assert "[A message of the user is left out: about 18," in texts[0]
    assert "penguin" not in "".join(texts).replace("penguins", "")
    assert "And two?" in "".join(texts)


@pytest.mark.parametrize("which", thinned([1, 2, 3], 3))
@pytest.mark.parametrize(
    ("fault", "sentence"),
    [(says("No."), "too short to be of use"), (fails(400, "Not today."), "Not today.")],
)
async def test_a_part_that_fails_cuts_nothing(
    tmp_path: Path, which: int, fault: ModelAnswer, sentence: str
) -> None:
    good = [says(part(number)) for number in range(1, which)]
    harness, model, session = await grown(tmp_path, *good, fault)

    answer = await ask(session, "And now?")

    assert answer.error is not None
    assert sentence in answer.error.message
    assert len(asked(model)) == which
    assert not [r for r in await harness.records(session) if isinstance(r.event, SessionCompacted)]
    [summary] = summaries(session.snapshot().messages)
    assert summary.error is not None
    await assert_whole(harness, session, model)


@pytest.mark.parametrize("which", thinned([1, 2, 3], 2, 1))
async def test_is_stopped_in_the_middle_of_any_part(tmp_path: Path, which: int) -> None:
    good = [says(part(number)) for number in range(1, which)]
    harness, model, session = await grown(tmp_path, *good, says("## Goal\n- know").stalls())
    waiting = asyncio.create_task(ask(session, "And now?"))
    await until(lambda: len(asked(model)) == which)
    await until(lambda: "- know" in str(session.snapshot().messages[-1].parts[-1]))

    session.cancel()
    answer = await waiting

    assert isinstance(answer.error, AbortedError)
    assert model.close_count == 1
    await assert_whole(harness, session, model)


async def assert_whole(harness: SessionHarness, session: LiveSession, model: ScriptedModel) -> None:
    """Assert that the next request has the whole history, and nothing of the failed summary."""
    harness.narrow(WIDE)
    model.script(says("Here."))
    answer = await ask(session, "Still there?")
    assert answer.text == "Here."
    seen = str(model.requests[-1].messages)
    assert all(f"Question {number} " in seen for number in range(TURNS))
    assert "## Goal" not in seen
    assert "What did we do so far?" not in seen


async def test_more_parts_than_the_policy_allows_are_refused_before_anything_is_sent(
    tmp_path: Path,
) -> None:
    _, model, session = await grown(tmp_path, says("Never sent."), policy=with_compact(stages=2))

    answer = await ask(session, "And now?")

    assert isinstance(answer.error, ContextOverflowError)
    assert "too long to be summarised" in answer.error.message
    assert asked(model) == []


async def test_a_policy_without_parts_explains(tmp_path: Path) -> None:
    _, model, session = await grown(tmp_path, says("Never sent."), policy=with_compact(stages=1))

    answer = await ask(session, "And now?")

    assert isinstance(answer.error, ContextOverflowError)
    assert asked(model) == []


async def test_summaries_that_grow_too_long_themselves_end_it(tmp_path: Path) -> None:
    long = says(SUMMARY + "- a fact worth keeping\n" * 900).in_pieces(4_000)
    _, model, session = await grown(tmp_path, long, says("Never sent."))

    answer = await ask(session, "And now?")

    assert isinstance(answer.error, ContextOverflowError)
    assert len(asked(model)) == 1


async def test_tries_again_from_the_beginning(tmp_path: Path) -> None:
    harness, model, session = await grown(
        tmp_path,
        says(part(1)),
        fails(400, "Not today."),
        *(says(part(number)) for number in (1, 2, 3)),
        says("Done."),
    )
    await ask(session, "And now?")

    answer = await asyncio.wait_for(session.retry(), LAST_RESORT_SECONDS)

    assert (answer.text, answer.error) == ("Done.", None)
    texts = asked(model)
    assert texts[2] == texts[0]
    assert "<prior-summary>" not in texts[2]
    assert "Question 0" not in str(model.requests[-1].messages)
    assert "What did we do so far?" in str(model.requests[-1].messages)
    await assert_rebuilt(harness, session, model)


async def test_nobody_waits_for_a_part_that_stalls_for_ever(tmp_path: Path) -> None:
    recovery = DEFAULT.recovery.model_copy(update={"compaction_seconds": 0.1})
    policy = DEFAULT.model_copy(update={"recovery": recovery})
    harness, model, session = await grown(tmp_path, says(part(1)), stalls(), policy=policy)

    answer = await ask(session, "And now?")

    assert answer.error is not None
    assert "did not come within 0.1 seconds" in answer.error.message
    assert model.close_count == 1
    await assert_whole(harness, session, model)
