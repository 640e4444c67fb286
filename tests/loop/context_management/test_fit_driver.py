"""A request is made to fit by the cheapest means first: pruning, then a summary, then truncated results."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.harness.session import SessionHarness, ask

from palimpsest.context.presets import PRESETS
from palimpsest.context.reduction.pruning import prune
from palimpsest.context.visible_messages import LazyTexts, View
from palimpsest.model.script import ModelAnswer, calls, overflows, says
from palimpsest.model.tokenizer import counter
from palimpsest.recordings.reconstruction.requests import policy_of, rebuild_all
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.store.session_state.state import State
from palimpsest.testing import ScriptedAnswer, ScriptedModel
from palimpsest.transcript.context_values.decisions import Decision, StepRequest
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.errors import ContextOverflowError
from palimpsest.transcript.messages import AssistantMessage
from palimpsest.transcript.session_record.events import DecisionMade, Record
from palimpsest.transcript.values import ModelInfo, ModelRef

CLEARED = "[Old tool result content cleared"
SUMMARY = "## Goal\n- read the logs\n\n## Numbers and facts\n- 0 errors\n" + "- none\n" * 40


def make_fit_harness(
    tmp_path: Path,
    *answers: ScriptedAnswer,
    window: int = 24_000,
    policy: str | Policy = "palimpsest",
    caching: bool = False,
    provider: str = "scripted",
) -> tuple[SessionHarness, ScriptedModel]:
    """Return a harness whose model has a small window, with eight files to read."""
    for number in range(8):
        lines = [f"{number} {line} all is well with this line of a log" for line in range(250)]
        (tmp_path / f"log{number}.txt").write_text("\n".join(lines) + "\n")
    info = ModelInfo(
        ref=ModelRef(provider=provider, name="model"),
        window=window,
        output_limit=2_000,
        caching=caching,
    )
    model = ScriptedModel(*answers)
    harness = SessionHarness(tmp_path, model, info=info)
    object.__setattr__(
        harness.services.rules, "policy", PRESETS[policy] if isinstance(policy, str) else policy
    )
    return harness, model


def reads(*numbers: int) -> list[ModelAnswer]:
    return [calls("read", path=f"log{number}.txt").reports_nothing() for number in numbers]


def sent(model: ScriptedModel, number: int) -> str:
    return str(model.requests[number].messages)


async def decisions(harness: SessionHarness, session: LiveSession, rule: str) -> list[DecisionMade]:
    records = await harness.records(session)
    events = [record.event for record in records if isinstance(record.event, DecisionMade)]
    return [event for event in events if event.decision.rule.startswith(rule)]


async def rebuilt(harness: SessionHarness, session: LiveSession, model: ScriptedModel) -> None:
    """Assert that every sent request is rebuilt from the log, to the byte."""
    found = list(rebuild_all(harness.store, session.id, await harness.records(session)))
    assert all(rebuilt_request.matches for rebuilt_request in found)
    assert [list(rebuilt_request.request.messages) for rebuilt_request in found] == [
        list(request.messages) for request in model.requests
    ]


def decide_again(harness: SessionHarness, records: Sequence[Record]) -> list[Decision]:
    """Repeat prune's decisions from the log alone: from the view before each, and its facts."""
    state = State()
    found: list[Decision] = []
    for record in records:
        event = record.event
        if isinstance(event, DecisionMade) and event.facts is not None:
            messages = state.messages()
            view = View(messages, state.decisions, LazyTexts(messages, harness.store.get_blob))
            found += prune(
                view,
                harness.services.rules.policy,
                event.facts,
                lambda: "dec",
                counter(harness.services.rules.policy.estimator),
            )
        state.apply(record)
    return found


async def test_old_outputs_are_cleared_in_the_middle_of_a_long_turn(tmp_path: Path) -> None:
    harness, model = make_fit_harness(tmp_path, *reads(0, 1, 2, 3, 4, 5), says("All is well."))
    session = await harness.session()

    answer = await ask(session, "Read the logs.")

    assert answer.text == "All is well."
    assert [request.purpose for request in model.requests] == ["step"] * 7
    assert CLEARED not in sent(model, 3)
    assert CLEARED in sent(model, 6)
    assert "5 249 all is well" in sent(model, 6)
    made = await decisions(harness, session, "prune/")
    assert made
    assert made[0].facts is not None
    assert made[0].facts.used_tokens
    await rebuilt(harness, session, model)
    # The transcript holds every line.
    assert "0 249 all is well" in str(session.snapshot().messages)


@pytest.mark.parametrize("window", [16_000, 20_000, 32_000])
async def test_a_small_window_is_cleared_again_and_again_before_a_summary_is_asked_for(
    tmp_path: Path, window: int
) -> None:
    answers = [*reads(*range(8), *range(6)), says("All is well.")]
    harness, model = make_fit_harness(tmp_path, *answers, window=window)
    session = await harness.session()

    await ask(session, "Read the logs, twice.")

    assert [request.purpose for request in model.requests] == ["step"] * 15
    made = await decisions(harness, session, "prune/batch")
    assert len({event.decision.numbers["used_tokens"] for event in made}) > 1
    await rebuilt(harness, session, model)


async def test_what_was_pruned_is_decided_again_from_the_log(tmp_path: Path) -> None:
    harness, _ = make_fit_harness(tmp_path, *reads(0, 1, 2, 3, 4, 5), says("All is well."))
    session = await harness.session()
    await ask(session, "Read the logs.")

    again = decide_again(harness, await harness.records(session))

    made = [event.decision for event in await decisions(harness, session, "prune/")]
    assert made
    assert [decision.model_copy(update={"id": ""}) for decision in again] == [
        decision.model_copy(update={"id": ""}) for decision in made
    ]


async def test_a_cleared_output_stays_cleared_and_the_prefix_stays_the_same(
    tmp_path: Path,
) -> None:
    harness, model = make_fit_harness(
        tmp_path, *reads(0, 1, 2, 3, 4, 5), says("All is well."), says("Yes."), says("Yes.")
    )
    session = await harness.session()
    await ask(session, "Read the logs.")
    await ask(session, "Sure?")
    await ask(session, "Really?")

    *_, before, after = model.requests
    assert CLEARED in str(after.messages)
    assert list(after.messages)[: len(before.messages) - 1] == list(before.messages)[:-1]


async def test_a_cold_cache_is_used_to_clear_what_is_old(tmp_path: Path) -> None:
    harness, model = make_fit_harness(
        tmp_path,
        *reads(0, 1, 2, 3, 4, 5),
        says("All is well."),
        says("One."),
        says("Two."),
        says("Three."),
        window=40_000,
        caching=True,
    )
    session = await harness.session()
    await ask(session, "Read the logs.")
    await ask(session, "Sure?")
    assert CLEARED not in sent(model, 7)
    await ask(session, "Really?")
    assert CLEARED not in sent(model, 8)

    harness.clock.now += 6 * 60 * 1000
    await ask(session, "And now?")

    assert CLEARED in sent(model, 9)
    made = await decisions(harness, session, "prune/")
    assert made[0].facts is not None
    assert made[0].facts.cache_age_seconds == 360
    assert made[0].decision.numbers["cold"] is True
    await rebuilt(harness, session, model)


async def test_pruning_turned_off_compacts_instead(tmp_path: Path) -> None:
    base = PRESETS["palimpsest"]
    off = base.model_copy(update={"prune": base.prune.model_copy(update={"rule": "none"})})
    harness, model = make_fit_harness(
        tmp_path, *reads(0, 1, 2, 3, 4, 5), says(SUMMARY), says("Well."), policy=off
    )
    session = await harness.session()

    answer = await ask(session, "Read the logs.")

    assert answer.text == "Well."
    assert "compaction" in [request.purpose for request in model.requests]
    assert await decisions(harness, session, "prune/") == []
    await rebuilt(harness, session, model)


async def test_where_a_summary_fails_long_results_are_cut_and_the_work_goes_on(
    tmp_path: Path,
) -> None:
    base = PRESETS["palimpsest"]
    off = base.model_copy(update={"prune": base.prune.model_copy(update={"rule": "none"})})
    harness, model = make_fit_harness(
        tmp_path,
        *reads(0, 1, 2, 3, 4, 5),
        says("Too short."),
        says("All is well."),
        policy=off,
    )
    session = await harness.session()

    answer = await ask(session, "Read the logs.")

    assert (answer.text, answer.error) == ("All is well.", None)
    made = await decisions(harness, session, "recover/")
    assert made
    assert made[0].facts is not None
    assert "more characters were left out here to make room" in sent(model, -1)
    assert "Long tool outputs were shortened" in sent(model, -1)
    assert "Read the logs." in sent(model, -1)
    failed = [
        message.info
        for message in session.snapshot().messages
        if isinstance(message.info, AssistantMessage) and message.info.error is not None
    ]
    assert len(failed) == 1, "the failed summary is to be seen"
    await rebuilt(harness, session, model)


async def test_what_the_provider_refuses_again_and_again_ends_in_a_sentence(
    tmp_path: Path,
) -> None:
    harness, model = make_fit_harness(
        tmp_path,
        *reads(0, 1),
        overflows(),
        says(SUMMARY),
        overflows(),
        says("Too short."),
        *[overflows()] * 3,
        window=100_000,
    )
    session = await harness.session()

    answer = await ask(session, "Read the logs.")

    assert answer.error is not None
    assert "nothing was cut" in answer.error.message
    assert "%agent --new" in answer.error.message
    assert [request.purpose for request in model.requests][2:6] == ["step", "compaction"] * 2
    await rebuilt(harness, session, model)
    again = await ask(session, "Are you there?")
    assert again.messages


async def test_refusals_are_answered_by_as_many_summaries_as_the_policy_says(
    tmp_path: Path,
) -> None:
    base = PRESETS["palimpsest"]
    once = base.model_copy(update={"recovery": base.recovery.model_copy(update={"compactions": 1})})
    harness, model = make_fit_harness(
        tmp_path, *reads(0), overflows(), says(SUMMARY), overflows(), window=100_000, policy=once
    )
    session = await harness.session()

    answer = await ask(session, "Read the log.")

    assert isinstance(answer.error, ContextOverflowError)
    assert [request.purpose for request in model.requests] == ["step", "step", "compaction", "step"]
    await rebuilt(harness, session, model)


async def test_a_prompt_that_was_cut_in_silence_is_asked_again_after_a_summary(
    tmp_path: Path,
) -> None:
    harness, model = make_fit_harness(
        tmp_path,
        *reads(0, 1),
        says("All of it is well, I guess.").reports(input=61_000, output=10),
        says(SUMMARY),
        says("All is well."),
        window=60_000,
    )
    session = await harness.session()

    answer = await ask(session, "Read the logs.")

    assert (answer.text, answer.error) == ("All is well.", None)
    assert [request.purpose for request in model.requests][2:] == ["step", "compaction", "step"]
    errors = [message.info.error for message in answer.messages if message.info.error]
    assert [error.type for error in errors] == ["context-overflow"]
    assert "left out a part of the conversation without saying so" in errors[0].message
    await rebuilt(harness, session, model)


async def test_the_seeds_agent_prunes_when_its_turn_has_ended(tmp_path: Path) -> None:
    for number in range(8):
        (tmp_path / f"big{number}.txt").write_text((f"{number}" * 98 + "\n") * 500)
    big = [calls("read", path=f"big{number}.txt") for number in range(8)]
    harness, model = make_fit_harness(
        tmp_path,
        *big,
        says("Read."),
        says("Two."),
        says("Three."),
        says("Four."),
        window=400_000,
        policy="opencode-1.1",
    )
    session = await harness.session()

    await ask(session, "Read the eight files.")
    await ask(session, "Again?")
    assert await decisions(harness, session, "prune/") == []
    await ask(session, "And again?")

    made = await decisions(harness, session, "prune/opencode")
    assert len(made) == 5
    assert sum(event.facts is not None for event in made) == 1
    await ask(session, "And now?")
    assert sent(model, -1).count(CLEARED) == 5
    await rebuilt(harness, session, model)


async def test_the_newest_openclaw_cuts_results_before_it_asks_for_a_summary(
    tmp_path: Path,
) -> None:
    lines = [f"{line} a line of a very long log that nobody reads" for line in range(1_000)]
    (tmp_path / "long.txt").write_text("\n".join(lines))
    harness, model = make_fit_harness(
        tmp_path,
        calls("read", path="long.txt", limit=600).reports_nothing(),
        calls("read", path="log1.txt", limit=180).reports_nothing(),
        says("All is well."),
        window=32_000,
        policy="openclaw-2026.9",
    )
    session = await harness.session()

    answer = await ask(session, "Read the logs.")

    assert answer.text == "All is well."
    assert [request.purpose for request in model.requests] == ["step"] * 3
    made = await decisions(harness, session, "recover/")
    assert made
    assert "more characters truncated; rerun with narrower args" in sent(model, -1)
    assert (
        policy_of(harness.store, (await _requests(harness, session))[-1]).name == "openclaw-2026.9"
    )
    await rebuilt(harness, session, model)


async def _requests(harness: SessionHarness, session: LiveSession) -> list[StepRequest]:
    requests = rebuild_all(harness.store, session.id, await harness.records(session))
    return [rebuilt_request.record for rebuilt_request in requests]
