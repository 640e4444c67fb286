"""Pins, exclusions and restores take effect with the next request, are in the log, and can be undone."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from tests.harness.session import SessionHarness, ask

from palimpsest.frontends.operation_text.session_head import head_of
from palimpsest.model.script import calls, overflows, says
from palimpsest.recordings.reconstruction.redecision import redecide
from palimpsest.recordings.reconstruction.requests import rebuild_all
from palimpsest.session.open_sessions.followed_session import FollowedSession
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.testing import ScriptedModel
from palimpsest.tools.permission_rules.permissions import from_config
from palimpsest.transcript.errors import NotFound, SessionHeld, UserError
from palimpsest.transcript.ids import short_id
from palimpsest.transcript.messages import AssistantMessage
from palimpsest.transcript.parts import ToolPart
from palimpsest.transcript.session_record.events import DecisionMade

SUMMARY = "## Goal\n- know the penguins\n\n## Numbers and facts\n- 43.92\n" + "- none\n" * 40
LONG = "The mean of bill_length_mm is 43.92. " * 100
Kernel = Callable[..., SessionHarness]


@pytest.fixture
async def kernel(tmp_path: Path) -> AsyncIterator[Kernel]:
    """A function that starts a kernel of the project on a real disk; all are closed at the end."""
    started: list[SessionHarness] = []
    (tmp_path / "a.csv").write_text("species,mass\nAdelie,3750\n")

    def start(model: ScriptedModel | None = None, kernel_id: str = "kernel-a") -> SessionHarness:
        store = JsonlStore(open_project_folder(tmp_path), heartbeat_seconds=0.1, watch_seconds=2.5)
        harness = SessionHarness(
            tmp_path, model or ScriptedModel(), store=store, kernel_id=kernel_id
        )
        started.append(harness)
        return harness

    yield start
    for harness in reversed(started):
        await harness.workspace.close()


def sent(model: ScriptedModel, number: int = -1) -> str:
    return "\n".join(str(message) for message in model.requests[number].messages)


def call(session: LiveSession) -> ToolPart:
    found = [p for m in session.snapshot().messages for p in m.parts if isinstance(p, ToolPart)]
    return found[0]


def summary_id(session: LiveSession) -> str:
    infos = [message.info for message in session.snapshot().messages]
    return [info.id for info in infos if isinstance(info, AssistantMessage) and info.summary][-1]


async def rebuilds(harness: SessionHarness, session: LiveSession, model: ScriptedModel) -> None:
    """Check that every request is rebuilt as the model received it, and every decision decided again."""
    rebuilt = list(rebuild_all(harness.store, session.id, await harness.records(session)))
    assert all(rebuilt_request.matches for rebuilt_request in rebuilt)
    assert [list(rebuilt_request.request.messages) for rebuilt_request in rebuilt] == [
        list(request.messages) for request in model.requests
    ]
    assert redecide(harness.store, session.id).differences == ()


READS = (calls("read", path="a.csv"), says(f"It lists penguins. {LONG}"))


async def test_an_output_left_out_is_in_no_later_request_and_comes_back(kernel: Kernel) -> None:
    model = ScriptedModel(*READS, says("One."), says("Two."))
    harness = kernel(model)
    session = await harness.session()
    await ask(session, "Read it")

    gone = session.edit_context("exclude", call(session).id)
    await ask(session, "And now?")
    without = sent(model)
    back = session.edit_context("restore", short_id(call(session).id))
    await ask(session, "And then?")

    assert "Adelie" not in without
    assert "tool" not in {message["role"] for message in model.requests[2].messages}
    assert "Adelie" in sent(model)
    assert gone.sentence == (
        "Left out the call read “a.csv”, from the next request on. %agent restore "
        f"{short_id(call(session).id)} brings it back."
    )
    assert [decision.rule for decision in (*gone.decisions, *back.decisions)] == [
        "user/exclude",
        "user/restore",
    ]
    assert gone.decisions[0].tokens_before > 0 == gone.decisions[0].tokens_after
    await rebuilds(harness, session, model)


async def test_a_pinned_output_survives_a_compaction_and_a_restart(kernel: Kernel) -> None:
    model = ScriptedModel(*READS, says("Two."), says("Three."), says(SUMMARY), says("Done."))
    harness = kernel(model)
    session = await harness.session()
    await ask(session, "Read it")
    await ask(session, "Two?")
    await ask(session, "Three?")
    session.edit_context("pin", "last")

    assert (await session.compact()).error is None
    await ask(session, "What was the mass?")
    after = sent(model)
    await rebuilds(harness, session, model)
    await harness.workspace.close()
    later = ScriptedModel(says("Still there."))
    again = kernel(later)
    reopened = await again.session()
    await ask(reopened, "And now?")

    assert "request, from earlier in this conversation. Your call read" in after
    assert "Adelie,3750" in after
    assert "Adelie,3750" in sent(later)
    assert all(
        rebuilt_request.matches
        for rebuilt_request in rebuild_all(again.store, reopened.id, await again.records(reopened))
    )


async def test_an_undone_compaction_shows_the_history_whole_again(kernel: Kernel) -> None:
    model = ScriptedModel(*READS, says("B."), says("C."), says(SUMMARY), says("D."), says("E."))
    harness = kernel(model)
    session = await harness.session()
    for words in ("First question", "Second question", "Third question"):
        await ask(session, words)
    await session.compact()
    await ask(session, "Fourth question")
    folded = sent(model)

    undone = session.edit_context("undo")
    await ask(session, "Fifth question")

    whole = sent(model)
    assert "First question" not in folded
    assert "know the penguins" in folded
    for words in ("First question", "Adelie,3750", "Third question", "Fourth question"):
        assert words in whole
    assert "know the penguins" not in whole
    assert "What did we do so far?" not in whole
    assert undone.decisions[0].message_id == summary_id(session)
    await rebuilds(harness, session, model)


async def compacted(kernel: Kernel) -> tuple[SessionHarness, LiveSession]:
    """A session of three turns that was compacted."""
    harness = kernel(ScriptedModel(*READS, says("B."), says("C."), says(SUMMARY)))
    session = await harness.session()
    for words in ("First question", "Second question", "Third question"):
        await ask(session, words)
    await session.compact()
    return harness, session


async def test_a_compaction_is_undone_after_a_restart_too(kernel: Kernel) -> None:
    harness, _ = await compacted(kernel)
    await harness.workspace.close()

    later = ScriptedModel(says("D."))
    again = kernel(later)
    reopened = await again.session()
    few = len(reopened.snapshot().messages)
    await asyncio.to_thread(reopened.edit_context, "restore", "summary")
    many = len(reopened.snapshot().messages)
    await ask(reopened, "Fourth question")
    await again.workspace.close()
    last = ScriptedModel(says("E."))
    third = kernel(last)
    await ask(await third.session(), "Fifth question")

    assert few < many
    assert "First question" in sent(later)
    assert "First question" in sent(last)
    records = await third.records(await third.session())
    assert all(
        rebuilt_request.matches
        for rebuilt_request in rebuild_all(third.store, reopened.id, records)
    )


async def test_an_undo_that_only_the_log_knows_is_read_again(kernel: Kernel) -> None:
    harness, session = await compacted(kernel)
    session.journal.checkpoint()
    await session.journal.flush()
    session.edit_context("undo")
    await session.journal.flush()

    state = harness.store.open_live(session.id)

    assert not state.is_partial
    assert any("First question" in str(message) for message in state.messages())


async def test_a_page_is_told_that_what_a_summary_stands_for_is_not_told(kernel: Kernel) -> None:
    """Otherwise a saved cell would show the covered messages as removed."""
    harness, session = await compacted(kernel)
    assert not head_of(session).partial
    await harness.workspace.close()

    reopened = await kernel(kernel_id="kernel-b").session()

    assert "First question" not in str(reopened.snapshot().messages)
    assert head_of(reopened).partial


async def test_nothing_is_compacted_by_itself_until_the_next_prompt(tmp_path: Path) -> None:
    undoes = (calls("undo"), overflows(), overflows(), says(SUMMARY), says("Room again."))
    model = ScriptedModel(says(LONG), says("B."), says("C."), says(SUMMARY), *undoes)
    harness = SessionHarness(tmp_path, model, rules=from_config({"*": "allow"}, home=str(tmp_path)))
    session = await harness.session()

    def undo() -> str:
        """Undo the compaction, as a person does while the turn runs."""
        return session.edit_context("undo").sentence

    harness.services.agents.registry.add(undo)
    for words in ("First question", "Second question", "Third question"):
        await ask(session, words)
    await session.compact()

    suspended = await ask(session, "Fourth question")
    whole = sent(model)
    later = await ask(session, "Fifth question")

    assert suspended.error is not None
    assert suspended.error.type == "context-overflow"
    assert "First question" in whole
    purposes = [request.purpose for request in model.requests]
    assert purposes == ["step"] * 3 + ["compaction"] + ["step"] * 3 + ["compaction", "step"]
    assert later.text == "Room again."


async def test_a_wish_takes_effect_while_a_turn_runs(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("species,mass\nAdelie,3750\n")
    model = ScriptedModel(*READS, calls("leave_out"), says("Done."))
    harness = SessionHarness(tmp_path, model, rules=from_config({"*": "allow"}, home=str(tmp_path)))
    session = await harness.session()
    await ask(session, "Read it")

    def leave_out() -> str:
        """Leave the first output out, as a person does while the turn runs."""
        session.edit_context("exclude", call(session).id)
        return "done"

    harness.services.agents.registry.add(leave_out)
    await ask(session, "Again")

    assert "Adelie" in sent(model, 2)
    assert "Adelie" not in sent(model, 3)
    await rebuilds(harness, session, model)


async def test_what_is_so_already_decides_nothing(kernel: Kernel) -> None:
    harness = kernel(ScriptedModel(*READS))
    session = await harness.session()
    await ask(session, "Read it")

    session.edit_context("pin", "last")
    again = session.edit_context("pin", "last")
    nothing = session.edit_context("restore", "last")

    assert again.sentence == "The call read “a.csv” is pinned already."
    assert nothing.sentence == "Nothing was taken out of the call read “a.csv”."
    assert again.decisions == nothing.decisions == ()
    records = await harness.records(session)
    assert [r.event.decision.rule for r in records if isinstance(r.event, DecisionMade)] == [
        "user/pin"
    ]


async def test_wrong_names_get_one_sentence(kernel: Kernel) -> None:
    harness = kernel(ScriptedModel(*READS))
    session = await harness.session()
    await ask(session, "Read it")

    with pytest.raises(NotFound, match="There is no part or message 'nonsense' in this session"):
        session.edit_context("pin", "nonsense")
    with pytest.raises(UserError, match=r"could be .* Give more of the id"):
        session.edit_context("pin", call(session).id[:8])
    with pytest.raises(UserError, match="There is no compaction to undo"):
        session.edit_context("undo")
    with pytest.raises(NotFound, match="There is no summary in this session yet"):
        session.edit_context("restore", "summary")


async def test_the_prompt_that_is_answered_is_left_out_once_there_is_a_newer_one(
    kernel: Kernel,
) -> None:
    model = ScriptedModel(says("One."), says("Two."))
    harness = kernel(model)
    session = await harness.session()
    await ask(session, "My password is hunter2")

    wish = session.edit_context("exclude", session.snapshot().messages[0].id)
    await ask(session, "And now?")

    assert "once there is a newer prompt" in wish.sentence
    assert "hunter2" not in sent(model)
    await rebuilds(harness, session, model)


async def test_what_is_left_out_is_in_no_summary_and_not_said_again(kernel: Kernel) -> None:
    model = ScriptedModel(*READS, says("Two."), says("Three."), says(SUMMARY), says("Four."))
    harness = kernel(model)
    session = await harness.session()
    for words in ("Read it, my password is hunter2", "Two?", "Three?"):
        await ask(session, words)
    session.edit_context("exclude", session.snapshot().messages[0].id)
    session.edit_context("exclude", "last")

    assert (await session.compact()).error is None
    await ask(session, "Four?")

    asked, after = sent(model, -2), sent(model)
    assert model.requests[-2].purpose == "compaction"
    assert "It lists penguins" in asked
    for hidden in ("hunter2", "Adelie", "a.csv"):
        assert hidden not in asked
        assert hidden not in after
    await rebuilds(harness, session, model)


async def test_a_session_of_another_kernel_is_not_changed(kernel: Kernel) -> None:
    harness = kernel(ScriptedModel(says("One.")))
    session = await harness.session()
    await ask(session, "Hello")
    other = kernel(kernel_id="kernel-b")

    followed = await other.workspace.open(session.id)

    assert isinstance(followed, FollowedSession)
    with pytest.raises(SessionHeld, match="Another kernel"):
        followed.edit_context("pin", "last")


async def test_a_restored_summary_gives_way_to_what_it_covers(kernel: Kernel) -> None:
    harness = kernel(ScriptedModel(says(LONG), says("B."), says("C."), says(SUMMARY)))
    session = await harness.session()
    for words in ("One", "Two", "Three"):
        await ask(session, words)
    await session.compact()

    session.edit_context("restore", "summary")
    assert (
        session.edit_context("restore", "summary").sentence == "That compaction is undone already."
    )
