"""A prompt that joins a running turn gets a reminder once, and keeps it byte for byte."""

import asyncio
from collections.abc import Callable
from itertools import count as numbers
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import MODEL, Builder
from tests.harness.session import SessionHarness, ask, until
from tests.sample_size import thinned

from palimpsest.context.conversion.part_conversion import neutral_messages
from palimpsest.context.engine_text.reminders import (
    STEERED_RULE,
    decide_reminders,
    last_step,
    with_reminders,
)
from palimpsest.context.policy_overrides import preset_policy
from palimpsest.context.reduction.applied_decisions import apply_decisions
from palimpsest.context.visible_messages import View
from palimpsest.model.script import calls, says
from palimpsest.recordings.reconstruction.redecision import redecide
from palimpsest.recordings.reconstruction.requests import rebuild_all
from palimpsest.render.content.decision_reasons import reason
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.context_values.policies import ReminderPolicy
from palimpsest.transcript.messages import Messages
from palimpsest.transcript.parts import TextPart, ToolPart

OURS = preset_policy("palimpsest").reminders
SEEDS = preset_policy("opencode-1.1").reminders


def new_ids() -> Callable[[], str]:
    found = numbers()
    return lambda: f"dec_{next(found)}"


def decide(
    messages: Messages, rule: ReminderPolicy = OURS, before: tuple[Decision, ...] = ()
) -> tuple[Decision, ...]:
    return before + decide_reminders(View(messages, before), rule, new_ids(), len)


def texts(messages: Messages) -> list[str]:
    return [
        part.text for message in messages for part in message.parts if isinstance(part, TextPart)
    ]


def turn(*said: str | TextPart, build: Builder | None = None) -> Messages:
    """Return a turn with one finished step and the prompts that joined it."""
    build = build or Builder()
    asked = build.user("do it")
    step = build.assistant(build.ran("bash", "ok"), to=asked, finish="tool-calls")
    return (asked, step, *(build.user(text, joins=True) for text in said))


def test_leaves_an_ordinary_prompt_alone() -> None:
    build = Builder()
    asked = build.user("do it")
    step = build.assistant(build.ran("bash", "ok"), to=asked, finish="tool-calls")

    assert decide((asked, step)) == ()
    assert decide((asked, step, build.user("and now this"))) == ()


def test_says_around_steered_words_why_they_come_now() -> None:
    messages = turn("and this")
    (decision,) = decide(messages)

    reminded = with_reminders(messages, (decision,))

    assert texts(reminded) == ["do it", f"{OURS.before}and this"]
    assert (decision.action, decision.rule) == ("wrap", STEERED_RULE)
    assert decision.tokens_after - decision.tokens_before == len(OURS.before)
    assert reason(decision) == "It was said while the model was at work, so the model is told that."


def test_only_the_words_of_a_message_get_one() -> None:
    build = Builder()
    told = build.text("It is late.", synthetic=True)
    steered = build.user("and this", told, joins=True)
    messages = (*turn(build=build), steered)

    reminded = with_reminders(messages, decide(messages))

    assert texts(reminded)[-2:] == [f"{OURS.before}and this", "It is late."]


def test_deciding_twice_changes_nothing_more() -> None:
    messages = turn("and this", "and that")
    once = decide(messages)

    assert len(once) == 2
    assert decide(messages, before=once) == once


def test_blank_ignored_and_the_engines_own_words_get_none() -> None:
    build = Builder()
    own, hidden = build.text("x", synthetic=True), build.text("x", ignored=True)

    assert decide(turn(own, hidden, " \n", build=build)) == ()


def test_what_was_sent_without_one_stays_without_one() -> None:
    build = Builder()
    messages = turn("and this", build=build)
    answered = (*messages, build.assistant("Both.", to=messages[-1]))

    assert decide(answered) == ()


def test_the_recorded_agent_takes_it_off_after_the_next_answer() -> None:
    build = Builder()
    messages = turn("and this", build=build)
    first = decide(messages, SEEDS)
    answered = (
        *messages,
        build.assistant(build.ran("bash", "ok"), to=messages[-1], finish="tool-calls"),
    )

    then = decide(answered, SEEDS, first)

    assert texts(with_reminders(messages, first))[-1] == f"{SEEDS.before}and this{SEEDS.after}"
    assert texts(with_reminders(answered, then)) == ["do it", "and this"]
    assert decide(answered, SEEDS, then) == then


@pytest.mark.parametrize("name", ["opencode-1.18", "openclaw-2026.2", "openclaw-2026.9"])
def test_other_recorded_agents_send_words_as_they_are(name: str) -> None:
    assert decide(turn("and this"), preset_policy(name).reminders) == ()


@given(st.lists(st.text(max_size=20), max_size=5))
def test_what_was_decided_shows_the_same_bytes_however_the_session_goes_on(said: list[str]) -> None:
    """A reminder is permanent: its first text is sent again in every later request."""
    build = Builder()
    messages: Messages = turn(build=build)
    decisions: tuple[Decision, ...] = ()
    sent: list[str] = []
    for text in said:
        messages = (*messages, build.user(text, joins=True))
        decisions = decide(messages, OURS, decisions)
        shown = texts(apply_decisions(messages, View(messages, decisions)))
        assert shown[: len(sent)] == sent
        sent = shown
        messages = (*messages, build.assistant(build.ran("bash", "ok"), to=messages[0]))


def test_the_last_step_is_told_by_the_user_or_by_the_assistant() -> None:
    assert last_step(3, OURS).role == "user"
    assert last_step(3, SEEDS).role == "assistant"
    assert "step limit of 3" in last_step(3, SEEDS).text


@pytest.mark.parametrize(("rule", "role"), [(OURS, "user"), (SEEDS, "assistant")])
def test_the_last_step_is_sent_in_its_name(rule: ReminderPolicy, role: str) -> None:
    build = Builder()
    last = last_step(3, rule)
    part = build.text(last.text, synthetic=True, metadata=last.metadata)

    (message,) = neutral_messages((build.user(part),), MODEL)

    assert message.role == role


def said_by_users(request: Any) -> list[str]:
    return [str(m["content"]) for m in request.messages if m["role"] == "user"]


@pytest.mark.parametrize("preset", thinned(["palimpsest", "opencode-1.1", "opencode-1.18"], 3))
async def test_a_live_turn_reminds_and_every_request_is_rebuilt(
    tmp_path: Path, preset: str
) -> None:
    slow = calls("bash", command="sleep 0.3")
    model = ScriptedModel(slow, calls("list"), says("Both."), says("Later."))
    harness = SessionHarness(tmp_path, model, policy=preset)
    session = await harness.session()

    first = asyncio.create_task(ask(session, "first", yes=True))
    await until(
        lambda: any(isinstance(p, ToolPart) for m in session.snapshot().messages for p in m.parts)
    )
    await ask(session, "and this", delivery="steer")
    await first
    await ask(session, "later")

    rule = preset_policy(preset).reminders
    around = "and this" if rule.steered == "plain" else f"{rule.before}and this{rule.after}"
    after = "and this" if rule.steered == "until-answered" else around
    assert said_by_users(model.requests[1]) == ["first", around]
    assert said_by_users(model.requests[2]) == ["first", after]
    assert said_by_users(model.requests[3]) == ["first", after, "later"]
    rebuilt = list(rebuild_all(harness.store, session.id, await harness.records(session)))
    assert len(rebuilt) == 4
    assert all(rebuilt_request.matches for rebuilt_request in rebuilt)
    again = redecide(harness.store, session.id)
    reminders = [occasion for occasion in again.occasions if occasion.decider == "remind"]
    assert again.is_same, again.text
    expected = {"plain": 0, "once": 1, "until-answered": 2}[rule.steered]
    assert sum(len(reminder.recorded_decisions) for reminder in reminders) == expected
