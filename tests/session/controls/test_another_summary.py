"""A person who sees the grade of a new summary asks for another one before any request uses it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.harness.compacted_sessions import (
    SUMMARY,
    assert_rebuilt,
    markers,
    summaries,
    words,
)
from tests.harness.session import SessionHarness, ask, requested, until
from tests.recordings.timeline.held_parts import differences
from tests.session.controls.test_postponed_after_restart import reopened
from tests.session.controls.test_step_mode import LONG, PRICED, held
from tests.waiting import LAST_RESORT_SECONDS

from palimpsest.model.script import says
from palimpsest.render.content.decision_reasons import reason
from palimpsest.render.reports.held_request import held_request_text
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.context_values.decisions import REDO, UNDO, Decision
from palimpsest.transcript.context_values.proposed_request import ProposedRequest
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.session_record.events import DecisionMade

BETTER = SUMMARY + "\n- It is in rows.csv.\n"


def made(session: LiveSession) -> list[Decision]:
    """Return the decisions that undo a compaction."""
    return [decision for decision in session.decisions() if decision.rule == UNDO]


async def next_held(session: LiveSession, before: ProposedRequest) -> ProposedRequest:
    """Wait until another request than this one is held."""
    found = await until(lambda: [held for held in session.held if held.id != before.id])
    return found[0]


async def summarised(
    tmp_path: Path, *answers: Any, focus: str | None = None
) -> tuple[SessionHarness, ScriptedModel, LiveSession, "asyncio.Task[Any]", ProposedRequest]:
    """Return a session whose next request would be the first to use a summary, and is held."""
    model = ScriptedModel(says(f"It is in rows.csv. {LONG}"), says(LONG), says(SUMMARY), *answers)
    harness = SessionHarness(tmp_path, model, info=PRICED)
    session = await harness.session()
    await ask(session, "Where is it?")
    await ask(session, "Say more.")
    await asyncio.wait_for(session.compact(focus), LAST_RESORT_SECONDS)
    session.step_mode.switch(is_on=True)
    answering = asyncio.ensure_future(ask(session, "Sure?"))
    return harness, model, session, answering, await held(session)


async def test_the_other_summary_is_held_graded_beside_the_first_and_used(tmp_path: Path) -> None:
    harness, model, session, answering, first = await summarised(
        tmp_path, says(BETTER), says("Yes."), focus="the files"
    )
    spent = session.control.spent.cost
    assert first.new_summary is not None
    assert first.older_summary is None
    assert made(session) == []

    assert session.step_mode.another_summary(first.id)
    asked = await next_held(session, first)

    assert len(model.requests) == 3
    assert asked.purpose == "compaction"
    assert asked.older_summary is not None
    assert asked.older_summary.message_id == first.new_summary.message_id
    assert [reason(decision) for decision in made(session)] == [
        "A person put this summary aside and asked for another."
    ]
    assert session.control.spent.cost == spent
    session.step_mode.release(asked.id)
    second = await next_held(session, asked)

    assert second.purpose == "step"
    assert second.new_summary is not None
    assert second.older_summary == asked.older_summary
    assert second.new_summary.numbers["retention"]["paths"]["lost"] == 0
    assert second.older_summary.numbers["retention"]["paths"]["names"] == ["rows.csv"]
    text = held_request_text(second)
    assert "It would be the first to use a new summary:" in text
    assert text.index("new summary") < text.index("The summary that you put aside for it:")
    session.step_mode.release(second.id)
    # Decided, it is not asked about again, though the turn has not gone on yet.
    assert session.step_mode.held == ()
    answer = await answering

    assert answer.text == "Yes."
    assert session.held == ()
    sent = str(model.requests[-1].messages)
    assert sent.count("## Goal") == 1
    assert "It is in rows.csv" in sent
    assert "Sure?" in sent
    # Both summaries were asked for the same messages, and both stay in the log with what they cost.
    before, after = (str(model.requests[at].messages) for at in (2, 3))
    assert "It is in rows.csv" in before
    assert "It is in rows.csv" in after
    assert "## Goal\n- know the penguins" not in after
    kept = summaries(session.snapshot().messages)
    assert [summary.error for summary in kept] == [None, None]
    assert all(summary.cost for summary in kept)
    assert [marker.focus for marker in markers(session.snapshot().messages)] == ["the files"] * 2
    await assert_rebuilt(harness, session, model)


async def test_nothing_is_journaled_until_it_is_asked_for(tmp_path: Path) -> None:
    harness, _, session, answering, first = await summarised(tmp_path, says("Yes."))
    before = len(await harness.records(session))
    session.control.set_budget(tokens=10_000_000)
    await until(lambda: session.held[0].version > first.version)

    new = (await harness.records(session))[before:]

    assert not any(isinstance(record.event, DecisionMade) for record in new)
    session.step_mode.release(first.id)
    await answering
    assert made(session) == []


async def test_it_is_asked_for_again_and_again(tmp_path: Path) -> None:
    harness, model, session, answering, proposal = await summarised(
        tmp_path, says(BETTER), says(SUMMARY), says("Yes.")
    )
    for _ in range(2):
        assert session.step_mode.another_summary(proposal.id)
        asked = await next_held(session, proposal)
        session.step_mode.release(asked.id)
        proposal = await next_held(session, asked)

    assert proposal.older_summary is not None
    assert proposal.older_summary.message_id == summaries(session.snapshot().messages)[1].id
    session.step_mode.release(proposal.id)
    assert (await answering).text == "Yes."
    assert len(made(session)) == 2
    assert str(model.requests[-1].messages).count("## Goal") == 1
    await assert_rebuilt(harness, session, model)


async def test_where_no_other_comes_the_turn_goes_on_with_the_whole_conversation(
    tmp_path: Path,
) -> None:
    harness, model, session, answering, first = await summarised(
        tmp_path, says("No."), says("Yes.")
    )
    assert session.step_mode.another_summary(first.id)
    asked = await next_held(session, first)
    session.step_mode.release(asked.id)
    whole = await next_held(session, asked)

    assert whole.new_summary is None
    assert whole.tokens > first.tokens + 500
    session.step_mode.release(whole.id)
    assert (await answering).text == "Yes."
    texts = [text for message in session.snapshot().messages for text in words(message)]
    assert any("No other summary came" in text for text in texts)
    await assert_rebuilt(harness, session, model)


async def test_a_stop_while_the_other_is_held_leaves_the_whole_conversation(
    tmp_path: Path,
) -> None:
    harness, model, session, answering, first = await summarised(tmp_path, says("Whole."))
    session.step_mode.another_summary(first.id)
    await next_held(session, first)
    session.cancel("Stopped.")
    answer = await answering
    assert answer.error is not None
    session.step_mode.switch(is_on=False)

    await ask(session, "And now?")

    assert "It is in rows.csv" in str(model.requests[-1].messages)
    assert "## Goal" not in str(model.requests[-1].messages)
    await assert_rebuilt(harness, session, model)


async def test_a_request_without_a_new_summary_says_so_and_a_late_one_is_late(
    tmp_path: Path,
) -> None:
    harness = SessionHarness(tmp_path, ScriptedModel(says("Here.")))
    session = await harness.session()
    session.step_mode.switch(is_on=True)
    answering = asyncio.ensure_future(ask(session, "Hello."))
    proposal = await held(session)

    with pytest.raises(UserError, match="not the first to use a new summary"):
        session.step_mode.another_summary(proposal.id)
    session.step_mode.release(proposal.id)
    await answering
    assert not session.step_mode.another_summary(proposal.id)
    assert len(requested(await harness.records(session))) == 1


def redone(session: LiveSession) -> list[str]:
    """Return the reasons of what a person decided about summaries."""
    return [reason(decision) for decision in session.decisions() if decision.rule in (UNDO, REDO)]


ASIDE = "A person put this summary aside and asked for another."
BACK = "A person took this summary back, which had been put aside."
SWAPPED = "A person put this summary aside and took the one before it back."


async def test_the_first_is_used_after_all_while_the_other_is_held(tmp_path: Path) -> None:
    harness, model, session, answering, first = await summarised(tmp_path, says("Yes."))
    with pytest.raises(UserError, match="none to take back"):
        session.step_mode.older_summary(first.id)
    session.step_mode.another_summary(first.id)
    asked = await next_held(session, first)
    before = len(await harness.records(session))

    assert session.step_mode.older_summary(asked.id)
    again = await next_held(session, asked)

    assert (again.purpose, len(model.requests)) == ("step", 3)
    assert again.new_summary is not None
    assert again.older_summary is None
    assert first.new_summary is not None
    assert again.new_summary.message_id == first.new_summary.message_id
    assert redone(session) == [ASIDE, BACK]
    new = (await harness.records(session))[before:]
    assert not requested(new)
    session.step_mode.release(again.id)
    assert (await answering).text == "Yes."
    sent = str(model.requests[-1].messages)
    assert sent.count("## Goal") == 1
    assert "It is in rows.csv" not in sent
    assert "Sure?" in sent
    await assert_rebuilt(harness, session, model)


async def test_both_are_written_and_each_takes_the_place_of_the_other(tmp_path: Path) -> None:
    harness, model, session, answering, proposal = await summarised(
        tmp_path, says(BETTER), says("Yes."), says("And more.")
    )
    session.step_mode.another_summary(proposal.id)
    asked = await next_held(session, proposal)
    session.step_mode.release(asked.id)
    second = await next_held(session, asked)
    first_id, second_id = (summary.id for summary in summaries(session.snapshot().messages))
    sizes = []
    for new, old in ((first_id, second_id), (second_id, first_id), (first_id, second_id)):
        assert session.step_mode.older_summary(second.id)
        second = await next_held(session, second)
        assert second.new_summary is not None
        assert second.older_summary is not None
        assert (second.new_summary.message_id, second.older_summary.message_id) == (new, old)
        sizes.append(second.tokens)

    assert sizes[0] == sizes[2] != sizes[1]
    assert redone(session) == [ASIDE, SWAPPED, BACK, SWAPPED, BACK, SWAPPED, BACK]
    assert "older uses the summary that was put aside" in held_request_text(second)
    session.step_mode.release(second.id)
    assert (await answering).text == "Yes."
    session.step_mode.switch(is_on=False)
    await ask(session, "And then?")
    for request in model.requests[-2:]:
        assert str(request.messages).count("## Goal") == 1
        assert "It is in rows.csv" not in str(request.messages)
    await assert_rebuilt(harness, session, model)
    assert differences(harness.store, session.id) == []


async def test_where_no_other_came_the_first_can_still_be_used(tmp_path: Path) -> None:
    harness, model, session, answering, proposal = await summarised(
        tmp_path, says("No."), says("Yes.")
    )
    session.step_mode.another_summary(proposal.id)
    asked = await next_held(session, proposal)
    session.step_mode.release(asked.id)
    whole = await next_held(session, asked)
    assert whole.older_summary is not None
    assert "The summary that you put aside:" in held_request_text(whole)

    assert session.step_mode.older_summary(whole.id)
    again = await next_held(session, whole)

    assert again.tokens < whole.tokens - 400
    session.step_mode.release(again.id)
    assert (await answering).text == "Yes."
    assert "## Goal" in str(model.requests[-1].messages)
    await assert_rebuilt(harness, session, model)


async def test_what_was_put_aside_is_taken_back_over_a_restart(tmp_path: Path) -> None:
    harness, model, session, answering, first = await summarised(tmp_path, says("Yes."))
    session.step_mode.another_summary(first.id)
    await next_held(session, first)
    session = await reopened(harness, session)
    assert (await answering).error is not None
    answering = asyncio.ensure_future(ask(session, "Once more."))
    proposal = await held(session)
    assert proposal.older_summary is not None

    session.step_mode.older_summary(proposal.id)
    again = await next_held(session, proposal)
    session.step_mode.release(again.id)

    assert (await answering).text == "Yes."
    assert "## Goal" in str(model.requests[-1].messages)
    await assert_rebuilt(harness, session, model)
