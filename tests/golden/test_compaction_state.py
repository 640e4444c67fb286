"""Whoever waits for a compaction is notified of its end, as in the recorded OpenClaw.

Whether a wait is rejected is compared, not the message, which is ours.
"""

import asyncio
from typing import Any

import pytest
from tests.golden.data import load
from tests.golden.openclaw import OLDEST
from tests.golden.openclaw_messages import flat
from tests.waiting import until

from palimpsest.context.policy_overrides import preset_policy
from palimpsest.loop.run_inputs.compaction_state import (
    CompactionState,
    MessagesSnapshot,
    action_at_time_limit,
    choose_snapshot,
    compaction_timed_out,
    is_answerable,
)
from palimpsest.transcript.context_values.neutral_messages import NeutralMessage, NeutralMessages
from palimpsest.transcript.errors import Aborted

PRESETS = {OLDEST: "openclaw-2026.2"}
"""Versions later than the oldest have the preset of the newest."""


def preset_of(version: str) -> str:
    return PRESETS.get(version, "openclaw-2026.9")


class Script:
    """Plays recorded events to a compaction state and reports the state after each."""

    def __init__(self, counted: Any) -> None:
        self.state = CompactionState(counted)
        self.waiting: asyncio.Task[None] | None = None

    async def play(self, step: Any) -> dict[str, Any]:
        match step:
            case {"end": end}:
                self.state.note_end(
                    will_retry=end["willRetry"],
                    has_summary="result" in end,
                    aborted=end.get("aborted", False),
                )
            case "start":
                self.state.note_start()
            case "agent_end":
                self.state.note_answer()
            case "wait":
                self.waiting = asyncio.create_task(self.state.wait_until_idle())
            case "waitThenStart":
                self.waiting = asyncio.create_task(self.state.wait_until_idle())
                self.state.note_start()
            case "unsub":
                self.state.close()
            case "tick":
                for _ in range(5):
                    await asyncio.sleep(0)
            case _:
                raise ValueError(step)
        if self.waiting is not None and not self.waiting.done() and step != "tick":
            # The recorded agent's wait begins at the call, a task's at the next turn of the loop.
            await asyncio.sleep(0)
        return {
            "step": step,
            "wait": self.seen(tick=step == "tick"),
            "isCompacting": self.state.active,
            "compactionCount": self.state.count,
        }

    def seen(self, *, tick: bool) -> str:
        """Return the state of the wait; its end is reported at the next tick, as in the recording."""
        if self.waiting is None:
            return "none"
        if not tick or not self.waiting.done():
            return "pending"
        return "rejected" if isinstance(self.waiting.exception(), Aborted) else "resolved"


def without_words(step: dict[str, Any]) -> dict[str, Any]:
    return step | {"wait": step["wait"].split(":")[0]}


async def test_every_recorded_script_is_waited_for_alike() -> None:
    cases = load("openclaw", "compactionRetryStateMachine")["cases"]
    for case in cases:
        for version, expected in case["expected"].items():
            script = Script(preset_policy(preset_of(version)).recovery.counted)
            ours = [await script.play(step) for step in case["input"]["steps"]]
            if script.waiting is not None:
                script.waiting.cancel()
                await asyncio.gather(script.waiting, return_exceptions=True)
            assert ours == [without_words(step) for step in expected], (case["name"], version)


def test_every_recorded_timeout_is_put_down_to_the_compaction_alike() -> None:
    for case in load("openclaw", "shouldFlagCompactionTimeout")["cases"]:
        given = case["input"]
        ours = compaction_timed_out(
            timed_out=given["isTimeout"],
            in_flight=given["isCompactionInFlight"],
            retrying=given["isCompactionPendingOrRetrying"],
        )
        assert set(case["expected"].values()) == {ours}, case["name"]


def test_every_recorded_run_is_extended_or_aborted_alike() -> None:
    for case in load("openclaw", "resolveRunTimeoutDuringCompaction")["cases"]:
        given = case["input"]
        ours = action_at_time_limit(
            in_flight=given["isCompactionInFlight"],
            retrying=given["isCompactionPendingOrRetrying"],
            extended=given["graceAlreadyUsed"],
        )
        assert set(case["expected"].values()) == {ours}, case["name"]


def messages_of(recorded: list[dict[str, Any]]) -> NeutralMessages:
    return tuple(
        one.model_copy(update={"metadata": {"excluded": source.get("excludeFromContext", False)}})
        for one, source in zip(flat(recorded), recorded, strict=True)
    )


def shown(snapshot: MessagesSnapshot[NeutralMessage]) -> dict[str, Any]:
    return {
        "messagesSnapshot": [
            (message.model_extra or {})["source"] for message in snapshot.messages
        ],
        "sessionIdUsed": snapshot.session_id,
        "source": snapshot.source,
    }


def test_every_recorded_snapshot_is_chosen_alike() -> None:
    for case in load("openclaw", "selectCompactionTimeoutSnapshot")["cases"]:
        given = case["input"]
        current = messages_of(given["currentSnapshot"])
        earlier = given["preCompactionSnapshot"]
        before = (
            None
            if earlier is None
            else MessagesSnapshot(
                messages_of(earlier), given["preCompactionSessionId"], "pre-compaction"
            )
        )
        for version, expected in case["expected"].items():
            # The preset follows the newest version; the middle one had the oldest's rule.
            rule = "openclaw-2026.9" if version == "v2026.9.6" else "openclaw-2026.2"
            ours = choose_snapshot(
                MessagesSnapshot(current, given["currentSessionId"], "current"),
                before,
                preset_policy(rule).recovery,
                timed_out=given["timedOutDuringCompaction"],
                answerable=is_answerable,
            )
            assert shown(ours) == expected, (case["name"], version)


async def test_a_compaction_that_begins_while_one_asks_is_waited_for() -> None:
    state = CompactionState()
    waiting = asyncio.create_task(state.wait_until_idle())
    await asyncio.sleep(0)
    state.note_start()
    for _ in range(3):
        await asyncio.sleep(0)
    assert not waiting.done()

    state.note_end(will_retry=False, has_summary=True)

    await waiting


async def test_a_wait_that_is_given_up_leaves_the_others_waiting() -> None:
    state = CompactionState()
    state.note_start()
    one, other = (asyncio.create_task(state.wait_until_idle()) for _ in range(2))
    await asyncio.sleep(0)

    one.cancel()
    await asyncio.gather(one, return_exceptions=True)
    state.note_end(will_retry=False, has_summary=True)
    await other

    assert one.cancelled()


async def test_waiting_goes_on_while_a_compaction_runs_and_ends_when_an_answer_never_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state = CompactionState()
    state.note_start()
    windows = 0
    wait = state.wait_until_idle

    async def counted() -> None:
        nonlocal windows
        windows += 1
        await wait()

    monkeypatch.setattr(state, "wait_until_idle", counted)
    running = asyncio.create_task(state.wait_for_compaction(0.01))
    await until(lambda: windows >= 4)
    assert not running.done()

    state.note_end(will_retry=True, has_summary=True)

    assert await running is False
    state.note_answer()
    assert await state.wait_for_compaction(0.01)


async def test_closing_wakes_who_waits_and_refuses_who_comes_later() -> None:
    state = CompactionState()
    state.note_start()
    waiting = asyncio.create_task(state.wait_until_idle())
    await asyncio.sleep(0)

    state.close()
    state.close()

    with pytest.raises(Aborted):
        await waiting
    with pytest.raises(Aborted):
        await state.wait_until_idle()


def test_a_copy_made_beside_a_compaction_is_not_taken() -> None:
    state = CompactionState()

    def copy_while_it_starts() -> str:
        state.note_start()
        return "half"

    assert state.copy_when_idle(lambda: "whole") == "whole"
    assert state.copy_when_idle(copy_while_it_starts) is None
    assert state.copy_when_idle(lambda: "late") is None
