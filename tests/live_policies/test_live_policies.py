"""A person's own policy acts in a live session: its decisions are journaled, rebuilt without it, and kept to the laws."""

import functools
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.harness.replay_checks import check_log_laws
from tests.harness.session import SessionHarness, ask, until
from tests.loop.context_management.test_fit_driver import make_fit_harness, reads, sent
from tests.sample_size import thinned

import palimpsest
from palimpsest import policies
from palimpsest.context.policy_overrides import policy_with_changes
from palimpsest.context_policies.interface.policy import Change, ContextPolicy
from palimpsest.context_policies.own_policies.past_view import PastView
from palimpsest.context_policies.prompt_cache.ruler import Ruler
from palimpsest.context_policies.replay.simulation import simulate
from palimpsest.live_policies.live_stage import live_policy
from palimpsest.model.script import calls, says
from palimpsest.model.tokenizer import counter
from palimpsest.recordings.timeline.journal_timeline import timeline_of
from palimpsest.review.tables.explanation import explanation
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.errors import ConfigError
from palimpsest.transcript.session_record.events import DecisionMade
from palimpsest.transcript.user_notices import user_notice_text

NO_PRUNE = policy_with_changes(Policy(), {"prune.rule": "none"})
CLEARED = "[Old tool result content cleared]"


@palimpsest.policy
def newest_two(view: PastView) -> Iterator[Change]:
    for index in view.outputs[:-2]:
        yield policies.clear(index)


def make(tmp_path: Path, *answers: Any) -> tuple[SessionHarness, ScriptedModel]:
    harness, model = make_fit_harness(tmp_path, *answers, window=90_000, policy=NO_PRUNE)
    object.__setattr__(harness.services.rules, "policy_stage", live_policy)
    return harness, model


async def own(harness: SessionHarness, session: LiveSession) -> list[Decision]:
    records = await harness.records(session)
    events = [record.event for record in records if isinstance(record.event, DecisionMade)]
    return [event.decision for event in events if event.decision.rule.startswith("policy/")]


def notices(session: LiveSession) -> list[str]:
    parts = [part for message in session.snapshot().messages for part in message.parts]
    return [words for part in parts if (words := user_notice_text(part)) and "policy" in words]


async def test_what_it_decides_is_sent_so_and_the_log_is_rebuilt_without_it(tmp_path: Path) -> None:
    harness, model = make(tmp_path, *reads(0, 1, 2, 3), says("Well."))
    session = await harness.session()

    await session.use_policy(newest_two)
    await ask(session, "Read the logs.")

    assert [sent(model, number).count(CLEARED) for number in range(5)] == [0, 0, 0, 1, 2]
    made = await own(harness, session)
    assert [(decision.action, decision.rule) for decision in made] == [
        ("clear", "policy/newest_two")
    ] * 2
    assert all(decision.tokens_before > 1_000 and decision.tokens_after < 10 for decision in made)
    check_log_laws(harness.store, session.id)
    recorded = session.snapshot().session
    assert recorded is not None
    assert recorded.own_policy is not None
    assert recorded.own_policy.name == "newest_two"
    assert "view.outputs[:-2]" in recorded.own_policy.text
    assert recorded.own_policy.sha256 == newest_two.digest


@pytest.mark.parametrize(
    "policy",
    thinned(
        [
            newest_two,
            policies.get("sweagent.last_n", n=2),
            policies.get("openai_agents.tool_output_trimmer", turns=1),
            policies.get("opencode.prune", protect=2_000, minimum=100, turns=1),
            newest_two
            | policies.get("openhands.recent", keep_first=1, max_events=8, events_left=8),
        ],
        5,
    ),
    ids=lambda preset: preset.name,
)
async def test_a_live_session_decides_as_the_whatif_of_its_log(
    tmp_path: Path, policy: ContextPolicy
) -> None:
    def answers() -> list[Any]:
        return [*reads(0, 1, 2, 3), says("Well."), *reads(4, 5), says("So."), says("Done.")]

    raw, _ = make(tmp_path, *answers())
    live, _ = make(tmp_path, *answers())
    without, session = await raw.session(), await live.session()
    await session.use_policy(policy)
    for prompt in ("Read the logs.", "And the others.", "Well?"):
        await ask(without, prompt)
        await ask(session, prompt)

    await without.journal.flush()
    await session.journal.flush()
    expected = simulate(timeline_of(raw.store, without.id, counter), policy, Ruler()).timeline
    replayed = timeline_of(live.store, session.id, counter)

    def shown(timeline: Any) -> list[list[str | None]]:
        return [
            [timeline.state(item.index, request.index) for item in timeline.items]
            for request in timeline.requests
        ]

    assert any(state not in ("whole", None) for row in shown(replayed) for state in row)
    assert shown(replayed) == shown(expected)
    check_log_laws(live.store, session.id)


async def test_a_threshold_of_reported_tokens_is_passed_live_where_the_whatif_passes_it(
    tmp_path: Path,
) -> None:
    """The texts are a few thousand tokens; the provider reports 50,000 of the third request."""

    def answers() -> list[Any]:
        reported = (5_000, 8_000, 50_000)
        asked = [
            calls("read", path=f"log{place}.txt").reports(input=tokens, output=10)
            for place, tokens in enumerate(reported)
        ]
        return [*asked, says("Well.").reports(input=30_000, output=10)]

    policy = policies.get("anthropic.clear_tool_uses", trigger=40_000, keep_results=1)
    raw, _ = make(tmp_path, *answers())
    live, model = make(tmp_path, *answers())
    without, session = await raw.session(), await live.session()
    await session.use_policy(policy)
    for live_session in (without, session):
        await ask(live_session, "Read the logs.")
        await live_session.journal.flush()

    replay = simulate(timeline_of(raw.store, without.id, counter), policy, Ruler())
    estimated = policies.get(policy, measure="estimated")

    assert [sent(model, number).count(CLEARED) for number in range(4)] == [0, 0, 0, 2]
    assert replay.firing_requests == (3,)
    assert not simulate(replay.timeline, estimated, Ruler()).firing_requests


async def test_system_prompt_and_tools_are_as_large_live_as_in_the_log(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Be brief.")
    sizes = []

    @palimpsest.policy
    def measures(view: PastView) -> Iterator[Change]:
        sizes.append([(view.item(index).kind, view.tokens(index)) for index in view.shown_items])
        yield from ()

    harness, _ = make(tmp_path, says("Well."))
    session = await harness.session()
    await session.use_policy(measures)
    await ask(session, "Read the logs.")
    await session.journal.flush()
    live = sizes[0]

    sizes.clear()
    simulate(timeline_of(harness.store, session.id, counter), measures, Ruler())

    assert {"system", "tools"} < {kind for kind, _ in live}
    assert live == sizes[0]


async def test_what_it_no_longer_says_is_whole_again(tmp_path: Path) -> None:
    @palimpsest.policy
    def odd_requests(view: PastView) -> Iterator[Change]:
        if view.request.index % 2:
            yield from (policies.truncate(index, 100) for index in view.outputs)

    harness, model = make(tmp_path, *reads(0, 1, 2), says("Well."))
    session = await harness.session()
    await session.use_policy(odd_requests)
    await ask(session, "Read the logs.")

    last = "249 all is well"
    assert [sent(model, number).count(last) for number in range(4)] == [0, 0, 2, 0]
    assert [decision.action for decision in await own(harness, session)] == [
        "truncate",
        "restore",
        "truncate",
        "truncate",
        "truncate",
    ]
    check_log_laws(harness.store, session.id)


async def test_a_persons_pins_and_restores_hold(tmp_path: Path) -> None:
    harness, model = make(
        tmp_path, *reads(0, 1, 2, 3), says("Well."), *reads(4), says("So."), says("Ok.")
    )
    session = await harness.session()
    await ask(session, "Read the logs.")
    tools = [
        part.id
        for message in session.snapshot().messages
        for part in message.parts
        if part.type == "tool"
    ]
    session.edit_context("pin", tools[0])
    await session.use_policy(newest_two)
    await ask(session, "And another.")
    assert sent(model, 6).count(CLEARED) == 2

    session.edit_context("restore", tools[1])
    await ask(session, "Well?")

    assert sent(model, 7).count(CLEARED) == 1
    assert notices(session) == []
    assert {decision.part_id for decision in await own(harness, session)} == {tools[1], tools[2]}
    check_log_laws(harness.store, session.id)
    timeline = timeline_of(harness.store, session.id, counter)
    item = next(
        transition.item for transition in timeline.transitions if transition.rule == "user/restore"
    )
    assert "by the policy newest_two, ~" in explanation(timeline, item, 6)
    assert "as the user restored it; from request 6 on it had been" in explanation(
        timeline, item, 7
    )


def fails(view: PastView) -> Iterator[Change]:
    if view.outputs:
        raise ValueError("no such column")
    yield from ()


def breaks(view: PastView) -> Iterator[Change]:
    yield from (policies.drop(index) for index in view.outputs)


def never_ends(view: PastView) -> Iterator[Change]:
    while view.outputs:
        pass
    yield from ()


def summarises(view: PastView) -> Iterator[Change]:
    for index in range(view.count):
        if view.item(index).kind in ("call", "output"):
            yield Change(index, "summarised", tokens=3)


def cuts_calls(view: PastView) -> Iterator[Change]:
    calls = (index for index in range(view.count) if view.item(index).kind == "call")
    yield from (policies.mask(index, "x") for index in calls)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (fails, "ValueError: no such column"),
        (breaks, "breaks a law at request 2, item 4.*a call goes only together with its result"),
        (never_ends, "longer than 0.2 seconds"),
        (summarises, "summary, which only a model can write"),
        (cuts_calls, "only results of calls and notes about cells can be shortened"),
    ],
)
async def test_one_that_fails_is_off_for_the_turn_and_one_sentence_says_so(
    tmp_path: Path, function: Any, words: str
) -> None:
    harness, model = make(tmp_path, *reads(0, 1), says("Well."), says("Again."))
    seconds = 0.2 if function is never_ends else 60.0
    stage = functools.partial(live_policy, max_seconds=seconds)
    object.__setattr__(harness.services.rules, "policy_stage", stage)
    session = await harness.session()
    await session.use_policy(palimpsest.policy(function))

    await ask(session, "Read the logs.")

    assert len(model.requests) == 3
    assert await own(harness, session) == []
    (notice,) = notices(session)
    assert notice.startswith(
        f"Your policy {function.__name__} is switched off until the next prompt."
    )
    assert re.search(words, notice)
    await ask(session, "Well?")
    assert len(notices(session)) == 2
    check_log_laws(harness.store, session.id)


async def test_default_ends_it_and_shows_whole_what_it_cleared(tmp_path: Path) -> None:
    harness, model = make(tmp_path, *reads(0, 1, 2, 3), says("Well."), says("So."))
    session = await harness.session()
    await session.use_policy(newest_two)
    await session.use_policy("prune.protect_tokens=5000")
    await ask(session, "Read the logs.")
    assert CLEARED in sent(model, 4)

    await session.use_policy("default")
    await ask(session, "Well?")

    assert CLEARED not in sent(model, 5)
    recorded = session.snapshot().session
    assert recorded is not None
    assert recorded.own_policy is None
    check_log_laws(harness.store, session.id)


async def test_a_name_chooses_one_and_what_is_none_is_refused(tmp_path: Path) -> None:
    harness, _ = make(tmp_path, says("Well."))
    session = await harness.session()

    await session.use_policy("sweagent.last_n", "n=3")
    record = session.snapshot().session
    assert record is not None
    assert record.own_policy is not None
    assert record.own_policy.name == "sweagent.last_n n=3"
    await session.use_policy("newest_two")
    assert session.policy_stage is not None
    assert session.policy_stage.record.name == "newest_two"

    with pytest.raises(ConfigError, match=r"'pi.compact' replaces messages by a summary"):
        await session.use_policy("pi.compact")
    with pytest.raises(ConfigError, match="is no context policy"):
        await session.use_policy(len)
    with pytest.raises(ConfigError, match="one policy of your own"):
        await session.use_policy(newest_two, newest_two)
    assert session.policy_stage.record.name == "newest_two"


async def test_no_log_runs_it_after_a_restart_but_its_decisions_hold(tmp_path: Path) -> None:
    def start(*answers: Any) -> tuple[SessionHarness, ScriptedModel]:
        model = ScriptedModel(*answers)
        store = JsonlStore(open_project_folder(tmp_path), heartbeat_seconds=0.1, watch_seconds=2.5)
        harness = SessionHarness(tmp_path, model, store=store)
        object.__setattr__(harness.services.rules, "policy", NO_PRUNE)
        object.__setattr__(harness.services.rules, "policy_stage", live_policy)
        return harness, model

    make(tmp_path)
    first, _ = start(*reads(0, 1, 2, 3), says("Well."))
    session = await first.session()
    await session.use_policy(newest_two)
    await ask(session, "Read the logs.")
    await first.workspace.close()
    second, model = start(*reads(4), says("Well."))
    session = await second.session()

    await ask(session, "Another.")

    assert not session.own_policy_acts
    assert [sent(model, number).count(CLEARED) for number in range(2)] == [2, 2]
    await session.use_policy(newest_two)
    assert session.own_policy_acts
    await session.journal.flush()
    check_log_laws(second.store, session.id)
    await second.workspace.close()


async def test_a_function_that_never_ends_is_stopped(tmp_path: Path) -> None:
    harness, _ = make(tmp_path, *reads(0), says("Well."))
    stage = functools.partial(live_policy, max_seconds=0.1)
    object.__setattr__(harness.services.rules, "policy_stage", stage)
    session = await harness.session()
    await session.use_policy(palimpsest.policy(never_ends))

    await ask(session, "Read a log.")

    await until(lambda: all(thread.name != "palimpsest-policy" for thread in threading.enumerate()))


async def test_what_it_decided_for_a_request_is_not_in_a_fork_at_that_request(
    tmp_path: Path,
) -> None:
    harness, model = make(tmp_path, *reads(0, 1, 2), says("Well."), says("From the fork."))
    session = await harness.session()
    await session.use_policy(newest_two)
    await ask(session, "Read the logs.")
    assert len(await own(harness, session)) == 1

    fork = await harness.workspace.fork(session.id, request=4, notebook="b.ipynb")
    assert isinstance(fork, LiveSession)
    answer = await fork.loop()

    assert answer.text == "From the fork."
    assert await own(harness, fork) == []
    assert sent(model, 4).count(CLEARED) == 0
