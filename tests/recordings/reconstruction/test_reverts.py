"""Sessions with reverts are rebuilt, decided again and replayed to equal results."""

import asyncio
from pathlib import Path

import pytest
from tests.harness.replay_checks import check_log_laws
from tests.harness.session import SessionHarness, ask, requested
from tests.loop.context_management.test_fit_driver import SUMMARY, make_fit_harness, reads
from tests.recordings.decision_sessions import NO_PRUNE, Scene
from tests.recordings.reconstruction.test_replay_laws import disk, folder, make_harness
from tests.sample_size import thinned
from tests.waiting import LAST_RESORT_SECONDS

from palimpsest.model.script import calls, says
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.store.session_state.live_window import live_window
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.messages import AssistantMessage, UserMessage
from palimpsest.transcript.parts import ToolPart


async def before_a_compaction(tmp_path: Path) -> tuple[SessionHarness, LiveSession]:
    """A turn is reverted, and then the rest is compacted."""
    answers = [*reads(0, 1), says("Well."), *reads(2), says("No."), says("More."), says(SUMMARY)]
    made, _ = make_fit_harness(tmp_path, *answers, says("Yes."), window=60_000)
    session = await made.session()
    await ask(session, "Read the logs.")
    await ask(session, "Read the wrong one.")
    await session.reverts.revert()
    await ask(session, "Say more.")
    await asyncio.wait_for(session.compact(), LAST_RESORT_SECONDS)
    await ask(session, "Sure?")
    return made, session


async def behind_a_compaction(tmp_path: Path) -> tuple[SessionHarness, LiveSession]:
    """The messages after a compaction are reverted; the summary stays."""
    answers = [*reads(0, 1), says("Well."), says(SUMMARY), says("No."), says("Yes."), says("Ok.")]
    made, _ = make_fit_harness(tmp_path, *answers, window=60_000)
    session = await made.session()
    await ask(session, "Read the logs.")
    await asyncio.wait_for(session.compact(), LAST_RESORT_SECONDS)
    await ask(session, "Sure?")
    await session.reverts.revert()
    await ask(session, "Really?")
    await ask(session, "Truly?")
    return made, session


async def over_a_compaction(tmp_path: Path) -> tuple[SessionHarness, LiveSession]:
    """A compaction is reverted with its turn: the model sees all messages again."""
    answers = [*reads(0, 1, 2, 3, 4, 5), says(SUMMARY), says("Well."), says("Yes."), says("Ok.")]
    made, _ = make_fit_harness(tmp_path, says("Hello."), *answers, policy=NO_PRUNE)
    session = await made.session()
    await ask(session, "Hi.")
    await ask(session, "Read the logs.")
    assert any(decision.action == "summarise" for decision in session.decisions())
    await session.reverts.revert()
    await ask(session, "Do something else.")
    await ask(session, "Sure?")
    return made, session


async def decided_about(tmp_path: Path) -> tuple[SessionHarness, LiveSession]:
    """Parts with pruning, a pin and an exclusion are reverted."""
    answers = [says("Hi."), *reads(0, 1, 2, 3, 4, 5), says("Well."), says("Ok."), says("Yes.")]
    made, _ = make_fit_harness(tmp_path, *answers)
    session = await made.session()
    await ask(session, "Hi.")
    await ask(session, "Read the logs.")
    parts = [p for m in session.snapshot().messages for p in m.parts if isinstance(p, ToolPart)]
    session.edit_context("pin", parts[-1].id)
    session.edit_context("exclude", parts[-2].id)
    assert {decision.action for decision in session.decisions()} >= {"clear", "pin", "drop"}
    await session.reverts.revert()
    await ask(session, "Do something else.")
    await ask(session, "Sure?")
    return made, session


async def in_a_message(tmp_path: Path) -> tuple[SessionHarness, LiveSession]:
    """A part in the middle of an answer is reverted, after one undone revert."""
    answers = [says("Let me look.").calls("bash", command="seq 1 9"), says("Nine."), says("Ok.")]
    made, _ = make_fit_harness(tmp_path, *answers, says("Yes."))
    session = await made.session()
    await ask(session, "Count.", yes=True)
    call = next(p for m in session.snapshot().messages for p in m.parts if isinstance(p, ToolPart))
    await session.reverts.revert(call.id)
    await session.reverts.unrevert()
    await session.reverts.revert(call.id)
    await ask(session, "Don't.")
    await ask(session, "Sure?")
    return made, session


SCENES: dict[str, Scene] = {
    scene.__name__: scene
    for scene in (
        before_a_compaction,
        behind_a_compaction,
        over_a_compaction,
        decided_about,
        in_a_message,
    )
}


@pytest.mark.parametrize("name", thinned(SCENES, 6))
async def test_what_was_taken_back_changes_no_law(tmp_path: Path, name: str) -> None:
    made, session = await SCENES[name](tmp_path)
    await session.journal.flush()

    check_log_laws(made.store, session.id)


@pytest.mark.parametrize("name", thinned(SCENES, 2, 1))
async def test_no_request_holds_what_was_taken_back_before_it(tmp_path: Path, name: str) -> None:
    made, session = await SCENES[name](tmp_path)
    removed: set[str] = set()

    for record in await made.records(session):
        event = record.event
        if event.type == "message.removed":
            removed.add(event.message_id)
        elif event.type == "message.part.removed":
            removed.add(event.part_id)
        elif event.type == "step.requested":
            named = {
                name
                for item in event.request.items
                for name in (item.message_id, *item.part_ids)
                if name
            }
            assert not named & removed
    assert removed


async def test_taking_back_a_compaction_shows_the_history_whole_after_a_restart(
    tmp_path: Path,
) -> None:
    folder(tmp_path)
    answers = [calls("read", path="log0.txt"), says("Well."), says(SUMMARY), says("Sure.")]
    first = make_harness(tmp_path, ScriptedModel(*answers), disk(tmp_path), Policy(), window=60_000)
    session = await first.session()
    await ask(session, "Read the log.")
    await ask_compaction(session)
    await first.workspace.close()

    second = make_harness(
        tmp_path, ScriptedModel(says("Ok.")), disk(tmp_path), Policy(), window=60_000
    )
    session = await second.session()
    marker = next(
        m.info.parent_id
        for m in session.snapshot().messages
        if isinstance(m.info, AssistantMessage) and m.info.summary
    )
    await session.reverts.revert(marker)
    await session.reverts.cleanup()
    await second.workspace.close()

    third = make_harness(
        tmp_path, ScriptedModel(says("Ok.")), disk(tmp_path), Policy(), window=60_000
    )
    session = await third.session()
    await ask(session, "And?")
    request = requested(await third.records(session))[-1].request
    names = {item.message_id for item in request.items}
    users = [m.id for m in session.snapshot().messages if isinstance(m.info, UserMessage)]
    assert set(users) <= names
    assert (
        session.journal.read_state(lambda state: live_window(state).checkpoint_fields["messages"])
        == 5
    )
    check_log_laws(third.store, session.id)
    await third.workspace.close()


async def ask_compaction(session: LiveSession) -> None:
    await asyncio.wait_for(session.compact(), LAST_RESORT_SECONDS)


async def test_a_fork_of_a_session_with_a_revert_has_it_too(tmp_path: Path) -> None:
    folder(tmp_path)
    model = ScriptedModel(*[says(word) for word in ("One.", "Two.", "Forked.", "Mine.")])
    made = make_harness(tmp_path, model, disk(tmp_path), Policy())
    session = await made.session()
    await ask(session, "one?")
    await ask(session, "two?")
    await session.reverts.revert()
    await session.journal.flush()

    fork = await made.workspace.fork(session.id)
    assert isinstance(fork, LiveSession)
    await ask(fork, "forked?")
    await session.reverts.unrevert()
    await ask(session, "mine?")

    def said(session_at: LiveSession) -> list[str]:
        return [p.text for m in session_at.snapshot().messages for p in m.parts if p.type == "text"]

    assert [text for text in said(fork) if "Two." in text or "two?" in text] == []
    assert "Two." in said(session)
    for session_at in (fork, session):
        await session_at.journal.flush()
        check_log_laws(made.store, session_at.id)
    await made.workspace.close()
