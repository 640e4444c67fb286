"""The live loop and what-if fit requests by the same rules, in cases where they once differed."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.harness.replay_checks import replayed_as_it_was
from tests.harness.session import SessionHarness, ask
from tests.loop.context_management.test_fit_driver import SUMMARY, make_fit_harness, reads
from tests.recordings.decision_sessions import NO_PRUNE
from tests.recordings.decision_sessions import SCENES as RECORDED
from tests.sample_size import thinned
from tests.session.extensions.test_hooks import make_harness as hooked
from tests.session.runs.test_subagents import Cast
from tests.waiting import LAST_RESORT_SECONDS

from palimpsest.context.engine_text.reminders import STEERED_RULE
from palimpsest.context.policy_overrides import policy_with_changes
from palimpsest.context.presets import OPENCODE_1_18, PRESETS
from palimpsest.context.reduction.oversized_results import OVERSIZED_RULE as OVERSIZED
from palimpsest.context.request_assembly.fit import (
    DecisionBatch,
    Fit,
    ResultsShortened,
    SummaryNeeded,
)
from palimpsest.context_policies.whatif import request_fit as driver
from palimpsest.context_policies.whatif.exact_whatif import exact_whatif
from palimpsest.loop.context_management.fit_driver import SHORTENED_NOTICE
from palimpsest.model.script import calls, overflows, says
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.store.interface import Store
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.store.project_folder.lease import this_owner
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.context_values.decisions import PRUNE_RULE, Decision
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.errors import NotFound
from palimpsest.transcript.parts import CompactionPart, TextPart
from palimpsest.transcript.session_record.events import (
    DecisionMade,
    PartUpdated,
    Record,
    StepRequested,
)
from palimpsest.transcript.values import ModelInfo, ModelRef

Left = tuple[SessionHarness, LiveSession]


async def cut_after_refusals(tmp_path: Path) -> Left:
    """The provider refuses more often than compactions are allowed, so results are truncated instead."""
    once = policy_with_changes(NO_PRUNE, {"recovery.compactions": 0, "recovery.result_cap": 4_000})
    answers = [*reads(0, 1, 2, 3), overflows(), says("All is well."), says("Yes.")]
    harness, _ = make_fit_harness(tmp_path, *answers, window=34_000, policy=once)
    session = await harness.session()
    answer = await ask(session, "Read the logs.")
    assert answer.text == "All is well."
    await ask(session, "Sure?")
    return harness, session


async def full_since_the_turn_before(tmp_path: Path) -> Left:
    """The last answer of a turn reports a full window, and the turn had used all attempts."""
    once = policy_with_changes(OPENCODE_1_18, {"compact.max_attempts": 1})
    answers = [
        calls("read", path="log0.txt").reports(input=39_000, output=20),
        says(SUMMARY),
        says("Well.").reports(input=39_500, output=10),
        says(SUMMARY),
        says("Yes."),
        says("Yes."),
    ]
    harness, model = make_fit_harness(tmp_path, *answers, window=40_000, policy=once)
    session = await harness.session()
    await ask(session, "Read the log.")
    await ask(session, "Sure?")
    await ask(session, "Really?")
    assert [request.purpose for request in model.requests][3] == "compaction"
    return harness, session


async def narrower_with_a_model_for_summaries(tmp_path: Path) -> Left:
    """A model's known window shrinks between two turns, and another model summarises."""
    policy = policy_with_changes(NO_PRUNE, {"compact.model": "scripted/small"})
    answers = [*reads(0, 1, 2, 3), says("Well.").reports_nothing(), says(SUMMARY)]
    harness, model = make_fit_harness(
        tmp_path, *answers, *[says("Yes.")] * 2, window=60_000, policy=policy
    )
    session = await harness.session()
    await ask(session, "Read the logs.")
    harness.narrow(ModelInfo(ref=model.requests[0].model.ref, window=17_000, output_limit=1_000))
    await ask(session, "Sure?")
    await ask(session, "Really?")
    assert "compaction" in [request.purpose for request in model.requests]
    return harness, session


async def asked_by_a_hook(tmp_path: Path) -> Left:
    """A hook writes the whole requests."""

    def rewrite(event: Any) -> list[dict[str, Any]]:
        return [*event.messages[:-1], {"role": "user", "content": "Say boo."}]

    harness = hooked(tmp_path, ScriptedModel(says("Boo."), says("Boo.")), ("request", rewrite))
    session = await harness.session()
    await ask(session, "Hello")
    await ask(session, "Hello again")
    return harness, session


async def little_room_for_an_answer(tmp_path: Path) -> Left:
    """A rule that estimates requests in its own way, near the end of the window."""
    policy = policy_with_changes(PRESETS["openclaw-2026.9"], {"overflow.output_cap": 100_000})
    lines = [f"{line} a line of a very long log that nobody reads" for line in range(1_000)]
    harness, _ = make_fit_harness(
        tmp_path, *reads(0, 1), says("Well."), says("Yes."), policy=policy
    )
    (tmp_path / "long.txt").write_text("\n".join(lines))
    harness.narrow(
        ModelInfo(
            ref=ModelRef(provider="scripted", name="model"), window=32_000, output_limit=31_000
        )
    )
    session = await harness.session()
    await ask(session, "Read the logs.")
    await ask(session, "Sure?")
    return harness, session


async def a_long_task_first(tmp_path: Path) -> Left:
    """The first prompt gives a task to a subagent, whose result is long."""
    long = "\n".join(f"{line} all is well with this line of a report" for line in range(3_000))
    model = Cast(says("Well."), says("Yes."), alpha=(says(long),))
    harness = SessionHarness(tmp_path, model)
    session = await harness.session()
    await ask(session, "@general alpha", yes=True)
    await ask(session, "Sure?")
    return harness, session


async def a_failed_summary_by_hand(tmp_path: Path) -> Left:
    """A manual compaction fails, under a rule that prunes after a turn."""
    for number in range(8):
        (tmp_path / f"big{number}.txt").write_text((f"{number}" * 98 + "\n") * 500)
    answers = [calls("read", path=f"big{number}.txt") for number in range(8)]
    harness, _ = make_fit_harness(
        tmp_path,
        *answers,
        says("Well."),
        says("Well."),
        says("Too short."),
        *[says("Well.")] * 3,
        window=400_000,
        policy=policy_with_changes(PRESETS["opencode-1.1"], {"compact.judge": True}),
    )
    session = await harness.session()
    await ask(session, "Read the eight files.")
    await ask(session, "Again?")
    await asyncio.wait_for(session.compact(), LAST_RESORT_SECONDS)
    await ask(session, "And now?")
    await ask(session, "And then?")
    return harness, session


async def a_turn_that_sends_nothing(tmp_path: Path) -> Left:
    """A prompt is refused before anything is sent, under a rule that prunes after a turn."""
    for number in range(8):
        (tmp_path / f"big{number}.txt").write_text((f"{number}" * 98 + "\n") * 500)
    answers = [calls("read", path=f"big{number}.txt") for number in range(8)]
    harness, _ = make_fit_harness(
        tmp_path, *answers, *[says("Well.")] * 4, window=400_000, policy="opencode-1.1"
    )
    session = await harness.session()
    await ask(session, "Read the eight files.")
    await ask(session, "Again?")
    wide = ModelInfo(
        ref=ModelRef(provider="scripted", name="model"), window=400_000, output_limit=2_000
    )
    harness.narrow(replace_window(wide, 100))
    strict = policy_with_changes(PRESETS["opencode-1.1"], {"guard.hard_minimum": 4_000})
    object.__setattr__(harness.services.rules, "policy", strict)
    refused = await ask(session, "And again?")
    assert refused.error is not None
    harness.narrow(wide)
    await ask(session, "And now?")
    await ask(session, "And then?")
    return harness, session


def replace_window(info: ModelInfo, window: int) -> ModelInfo:
    return info.model_copy(update={"window": window})


async def too_large_to_be_sent(tmp_path: Path) -> Left:
    """A prompt cannot be made to fit; outputs pruned for it stay pruned for the next, shorter one."""
    policy = policy_with_changes(Policy(), {"overflow.auto": False, "prune.protect_tokens": 6_000})
    answers = [*reads(0, 1, 2, 3), says("Well."), says("Yes."), *reads(4, 5), says("Yes.")]
    harness, model = make_fit_harness(tmp_path, *answers, window=40_000, policy=policy)
    session = await harness.session()
    await ask(session, "Read the logs.")
    refused = await ask(session, "Look at this: " + "word " * 80_000)
    assert refused.error is not None
    prompt = next(
        message for message in reversed(session.snapshot().messages) if message.info.role == "user"
    )
    session.edit_context("exclude", prompt.parts[0].id)
    await ask(session, "Sure?")
    await ask(session, "Read the others.")
    assert model.requests
    return harness, session


async def ended_before_its_summary_was_asked_for(tmp_path: Path) -> Left:
    """The known window shrinks, and the kernel ends before the log records it."""
    answers = [*reads(0, 1, 2, 3), says("Well.").reports_nothing(), says(SUMMARY)]
    harness, model = make_fit_harness(
        tmp_path, *answers, says("Yes."), window=60_000, policy=NO_PRUNE
    )
    session = await harness.session()
    await ask(session, "Read the logs.")
    wide = harness.info("scripted/model")
    harness.narrow(replace_window(wide, 17_000))
    await ask(session, "Sure?")
    assert [request.purpose for request in model.requests][-2] == "compaction"
    records = await harness.records(session)
    cut = next(
        index
        for index, record in enumerate(records)
        if isinstance(record.event, StepRequested) and record.event.request.purpose == "compaction"
    )
    store = CutStore(harness.store)
    writer = store.acquire(session.id, this_owner("kernel-that-ended"), create=True)
    writer.append(records[:cut])
    writer.close()
    later = SessionHarness(
        tmp_path, ScriptedModel(says("Yes.")), store=store, info=wide, policy="palimpsest"
    )
    object.__setattr__(later.services.rules, "policy", NO_PRUNE)
    again = await later.workspace.open(session.id)
    assert isinstance(again, LiveSession)
    await ask(again, "Really?")
    return later, again


class CutStore(MemoryStore):
    """A store with a kernel's records up to its end; blobs are read from the kernel's store."""

    def __init__(self, before: Store) -> None:
        super().__init__()
        self._before = before

    def get_blob(self, sha256: str) -> bytes:
        try:
            return super().get_blob(sha256)
        except NotFound:
            return self._before.get_blob(sha256)


SCENES: dict[str, Callable[[Path], Awaitable[Left]]] = {
    scene.__name__: scene
    for scene in (
        cut_after_refusals,
        full_since_the_turn_before,
        narrower_with_a_model_for_summaries,
        asked_by_a_hook,
        little_room_for_an_answer,
        a_long_task_first,
        a_failed_summary_by_hand,
        a_turn_that_sends_nothing,
        too_large_to_be_sent,
        ended_before_its_summary_was_asked_for,
    )
}


@pytest.mark.parametrize("name", thinned(SCENES, 5))
async def test_the_own_policy_gives_what_the_loop_sent(tmp_path: Path, name: str) -> None:
    harness, session = await SCENES[name](tmp_path)
    await session.journal.flush()

    whatif = replayed_as_it_was(harness.store, session.id)

    assert len(whatif.other.steps) > 1


UNTOLD = {ended_before_its_summary_was_asked_for.__name__}
"""Sessions whose log shows that a request was made to fit, and not why."""


def journaled(records: Sequence[Record]) -> list[str]:
    """Return the fit events of the live loop, in order, as its log shows them."""
    outcomes: list[str] = []
    known: set[str] = set()
    for record in records:
        match record.event:
            case DecisionMade(decision=decision) if is_fitted(decision):
                outcomes.append(comparable(decision))
            case PartUpdated(part=CompactionPart(auto=True) as part) if part.id not in known:
                known.add(part.id)
                outcomes.append(f"summarise, overflow: {part.overflow}")
            case PartUpdated(part=TextPart(text=text)) if text == SHORTENED_NOTICE:
                outcomes.append("shortened")
            case _:
                pass
    return outcomes


def is_fitted(decision: Decision) -> bool:
    """Return whether a decision was made to fit a request; truncation happens when a tool ends."""
    return decision.rule in (OVERSIZED, STEERED_RULE) or decision.rule.startswith(PRUNE_RULE)


def comparable(decision: Decision) -> str:
    return decision.model_copy(update={"id": ""}).model_dump_json()


def listened(outcomes: list[str], make: Callable[..., Fit[Any]]) -> Callable[..., Fit[Any]]:
    """Wrap a fit generator so that its events are recorded."""

    def listening(*given: Any) -> Fit[Any]:
        running, outcome = make(*given), None
        while True:
            try:
                sent = running.send(outcome)
            except StopIteration as ended:
                return ended.value
            match sent:
                case DecisionBatch(decisions=decisions):
                    outcomes.extend(map(comparable, decisions))
                case SummaryNeeded(overflow=overflow):
                    outcomes.append(f"summarise, overflow: {overflow}")
                case ResultsShortened():
                    outcomes.append("shortened")
            outcome = yield sent

    return listening


@pytest.mark.parametrize(
    "name", thinned([name for name in [*RECORDED, *SCENES] if name not in UNTOLD], 6)
)
async def test_a_recorded_session_yields_again_what_was_journaled_in_the_same_order(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness, session = await (RECORDED | SCENES)[name](tmp_path)
    records = await harness.records(session)
    outcomes: list[str] = []
    monkeypatch.setattr(driver, "fit_request", listened(outcomes, driver.fit_request))
    monkeypatch.setattr(driver, "prune_after_turn", listened(outcomes, driver.prune_after_turn))

    exact_whatif(harness.store, session.id)

    assert outcomes == journaled(records)
