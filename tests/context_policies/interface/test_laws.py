"""Policies and pipelines keep to the laws on any session and see no future; a breach is named."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.context_policies.interface.checked_policy import CheckedPolicy
from tests.context_policies.made_timeline import Call, TimelineMaker
from tests.context_policies.presets.test_preset_laws import busy, cut_short, eager, timelines
from tests.sample_size import sample_size

from palimpsest.context_policies import registry
from palimpsest.context_policies.interface import laws
from palimpsest.context_policies.interface.laws import MAX_PLACEHOLDER_CHARS, PolicyBreach
from palimpsest.context_policies.interface.pipeline import Pipeline
from palimpsest.context_policies.interface.policy import (
    Change,
    ContextPolicy,
    PolicyResult,
    PolicyView,
    SessionFacts,
    When,
)
from palimpsest.context_policies.interface.recorded_policy import RecordedPolicy
from palimpsest.context_policies.prompt_cache.ruler import Ruler
from palimpsest.context_policies.replay.simulation import simulate
from palimpsest.transcript.timeline import CHARS4, Timeline, Transition

RULER = Ruler(unseen_tokens=100)
PAIRS = (
    ("opencode.prune", "pi.compact"),
    ("pi.compact", "sweagent.last_n"),
    ("sweagent.last_n", "opencode.prune"),
    ("strands.sliding_window", "anthropic.clear_tool_uses"),
)
ANY = settings(
    max_examples=sample_size(4, 500),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
)
BY_NAME = {preset.preset: preset for preset in registry.presets()}
POLICIES: list[ContextPolicy] = [
    *(eager(preset) for preset in registry.presets()),
    *(Pipeline.of(eager(BY_NAME[a]), eager(BY_NAME[b])) for a, b in PAIRS),
]


def decided(timeline: Timeline, policy: ContextPolicy) -> Sequence[Transition]:
    return simulate(timeline, policy, RULER).timeline.transitions


@pytest.mark.slow
@ANY
@given(timeline=timelines())
def test_every_policy_keeps_to_the_laws(timeline: Timeline) -> None:
    for policy in POLICIES:
        checked = CheckedPolicy(policy, placeholder=MAX_PLACEHOLDER_CHARS, pins=False)

        assert decided(timeline, checked) == decided(timeline, policy), policy.name


@pytest.mark.slow
@ANY
@given(timeline=timelines(), data=st.data())
def test_every_policy_decides_the_same_without_the_future(
    timeline: Timeline, data: st.DataObject
) -> None:
    if not timeline.requests:
        return
    requests = data.draw(st.integers(1, len(timeline.requests)))
    for policy in POLICIES:
        whole = [change for change in decided(timeline, policy) if change.request < requests]

        assert decided(cut_short(timeline, requests), policy) == tuple(whole), policy.name


@pytest.mark.slow
@ANY
@given(timeline=timelines(), data=st.data())
def test_what_a_person_pinned_or_reverted_stays_so_under_every_policy(
    timeline: Timeline, data: st.DataObject
) -> None:
    if not timeline.requests or not timeline.requests[-1].items:
        return
    item = data.draw(st.integers(0, timeline.requests[-1].items - 1))
    request = next(
        later_request.index for later_request in timeline.requests if later_request.items > item
    )
    by_hand = Transition(item=item, request=request, state="reverted", tokens=0, rule="user/revert")
    timeline = replace(timeline, transitions=(by_hand,))
    pinned = {pinned_item.index for pinned_item in timeline.items if pinned_item.pinned} - {item}
    for policy in POLICIES:
        seen = simulate(timeline, policy, RULER).timeline

        assert [change for change in seen.transitions if change.item in pinned] == [], policy.name
        for later in range(request, len(timeline.requests)):
            assert seen.state(item, later) == "reverted", policy.name


def test_the_laws_are_not_kept_by_doing_nothing() -> None:
    # A policy of the cache decides what was recorded, and of this session nothing was.
    deciding = [policy for policy in POLICIES if not isinstance(policy, RecordedPolicy)]

    assert [policy.name for policy in deciding if not decided(busy(), policy)] == []


@dataclass
class Scripted:
    """A policy that decides as a test says."""

    changes: Callable[[PolicyView], Sequence[Change]]
    state: Any = None
    sticky: bool = True
    name: str = "scripted"
    source: str = "a test"
    estimator: str = CHARS4
    when: When = "request"

    def start(self, facts: SessionFacts) -> None:
        """Return no state."""

    def step(self, state: Any, view: PolicyView) -> PolicyResult:  # noqa: ARG002
        """Decide as the test says."""
        return PolicyResult(self.state, self.changes(view))


def two_calls() -> Timeline:
    """Return a prompt (0), an answer (1) with two calls (2, 3), their results (4, 5), and a second answer."""
    maker = TimelineMaker()
    maker.prompt("Look at both. " * 10, pinned=True)
    maker.answer("Yes. " * 10, [Call("read", "a line\n" * 50), Call("bash", "a line\n" * 50)])
    maker.answer("Done.")
    maker.prompt("Good.")
    maker.answer("Bye.")
    return maker.made()


def at(number: int, *changes: Change) -> Callable[[PolicyView], Sequence[Change]]:
    return lambda view: changes if view.request.index == number else ()


def places(timeline: Timeline, kind: str) -> list[int]:
    return [item.index for item in timeline.items if item.kind == kind]


def broken(policy: ContextPolicy, timeline: Timeline | None = None) -> str:
    with pytest.raises(PolicyBreach) as raised:
        simulate(timeline or two_calls(), CheckedPolicy(policy), RULER)
    return str(raised.value)


def test_each_breach_names_policy_request_item_and_law() -> None:
    timeline = two_calls()
    (call, _), (result, _) = places(timeline, "call"), places(timeline, "output")
    user = places(timeline, "user")[0]
    future = len(timeline.items) - 1
    label = timeline.items[result].label
    named = f", item {result}" + (f" ({label})" if label else "")

    said = {
        laws.EXISTING_ITEM: broken(Scripted(at(1, Change(future, "cleared")))),
        laws.CALL_WITH_RESULT: broken(Scripted(at(1, Change(result, "out")))),
        laws.PIN_KEPT: broken(Scripted(at(1, Change(user, "cleared")))),
        laws.NOT_LONGER: broken(Scripted(at(1, Change(result, "masked", "x" * 9_999)))),
        laws.DECISION_KEPT: broken(Scripted(at(1, Change(result, "whole")))),
        laws.ALLOWED_STATE: broken(Scripted(at(1, Change(result, "reverted")))),
        laws.JSON_STATE: broken(Scripted(lambda _: (), state={1, 2})),
    }

    assert said[laws.NOT_LONGER] == (
        f"The policy 'scripted' breaks a law at request 2{named}: {laws.NOT_LONGER}."
    )
    for law, sentence in said.items():
        assert sentence.endswith(f": {law}."), sentence
    assert f"item {future}: " in said[laws.EXISTING_ITEM]
    assert broken(Scripted(at(1, Change(call, "out")))).endswith(f": {laws.CALL_WITH_RESULT}.")


def test_a_call_and_its_result_may_go_together() -> None:
    timeline = two_calls()
    call, result = places(timeline, "call")[0], places(timeline, "output")[0]
    both = Scripted(at(1, Change(call, "out"), Change(result, "out")))

    found = decided(timeline, CheckedPolicy(both))

    assert [(change.item, change.state) for change in found] == [(call, "out"), (result, "out")]


def test_a_call_that_waits_for_its_result_stays_and_one_that_was_given_up_may_go() -> None:
    maker = TimelineMaker()
    maker.prompt("Look.")
    maker.answer("Yes.", [Call("read", None)])
    maker.answer("No result came.")
    maker.answer("Still none.")
    timeline = maker.made()
    (call,) = places(timeline, "call")

    assert broken(Scripted(at(1, Change(call, "out"))), timeline).endswith(f": {laws.OPEN_CALL}.")
    assert decided(timeline, CheckedPolicy(Scripted(at(2, Change(call, "out")))))


def test_a_policy_that_counts_its_calls_does_not_decide_the_same_twice() -> None:
    asked: list[int] = []

    def changes(view: PolicyView) -> Sequence[Change]:
        asked.append(1)
        return [Change(output, "cleared") for output in view.outputs[: len(asked) % 2]]

    assert broken(Scripted(changes)).endswith(f": {laws.SAME_TWICE}.")
