"""Every policy keeps to the laws on any session, and sees no future; a breach is named."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.review.policies.generated_timelines import Growing, prefix, reverted, timelines

from palimpsest.review.policies import registry
from palimpsest.review.policies.laws import PLACEHOLDER_CHARS, CheckedPolicy
from palimpsest.review.policies.policy import ContextPolicy
from palimpsest.review.policies.settings import Preset
from palimpsest.review.replay.ruler import Ruler
from palimpsest.review.replay.simulation import simulate
from palimpsest.transcript.timeline import Timeline, Transition

RULER = Ruler(unseen=1_600)
EAGER: dict[str, Any] = {
    "protect": 500,
    "minimum": 100,
    "trigger": 5_000,
    "window": 20_000,
    "reserve": 100,
    "n": 2,
    "most": 8,
    "left": 4,
    "messages": 5,
    "keep": 1,
    "summary": 10,
    "longest": 400,
    "head": 100,
    "tail": 100,
    "least_chars": 100,
}
"""Numbers with which a short session is enough for a policy to act; those that a preset has are used."""
PIPELINES = (
    "opencode.prune | pi.compact",
    "pi.compact | sweagent.last_n",
    "sweagent.last_n | opencode.prune",
    "strands.sliding_window | anthropic.clear_tool_uses",
)
ANY = settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


def eager(preset: type[Preset]) -> Preset:
    """Return a preset with numbers small enough for a short session, where its own allow them."""
    known = preset.__dataclass_fields__
    numbers = {
        name: value
        for name, value in EAGER.items()
        if name in known and type(known[name].default) is type(value)
    }
    return preset(**numbers)


def eager_pipeline(text: str) -> ContextPolicy:
    """Return a pipeline of eager presets."""
    return registry.get(" | ".join(eager(type(one)).name for one in stages(text)))


def stages(text: str) -> Sequence[Any]:
    return registry.get(text).stages  # type: ignore[attr-defined]  # a pipeline


POLICIES = [
    pytest.param(one, id=one.name.split()[0] + (" eager" if " " in one.name else ""))
    for preset in registry.presets()
    for one in dict.fromkeys((preset(), eager(preset)))
] + [pytest.param(eager_pipeline(text), id=text) for text in PIPELINES]


def decided(timeline: Timeline, one: ContextPolicy) -> Sequence[Transition]:
    return simulate(timeline, one, RULER).timeline.transitions


@pytest.mark.slow
@pytest.mark.parametrize("one", POLICIES)
@ANY
@given(timeline=timelines())
def test_every_policy_keeps_to_the_laws(one: ContextPolicy, timeline: Timeline) -> None:
    checked = CheckedPolicy(one, placeholder=PLACEHOLDER_CHARS, pins=False)

    assert decided(timeline, checked) == decided(timeline, one)


@pytest.mark.slow
@pytest.mark.parametrize("one", POLICIES)
@ANY
@given(timeline=timelines(), data=st.data())
def test_every_policy_decides_the_same_without_the_future(
    one: ContextPolicy, timeline: Timeline, data: st.DataObject
) -> None:
    requests = data.draw(st.integers(1, len(timeline.requests)))

    whole = [change for change in decided(timeline, one) if change.request < requests]

    assert decided(prefix(timeline, requests), one) == tuple(whole)


@pytest.mark.slow
@pytest.mark.parametrize("one", POLICIES)
@ANY
@given(timeline=timelines(), data=st.data())
def test_what_a_person_pinned_or_reverted_stays_so_under_every_policy(
    one: ContextPolicy, timeline: Timeline, data: st.DataObject
) -> None:
    item = data.draw(st.integers(0, timeline.requests[-1].items - 1))
    request = next(one.index for one in timeline.requests if one.items > item)
    timeline = reverted(timeline, item, request)

    seen = simulate(timeline, one, RULER).timeline

    for pinned in (one.index for one in timeline.items if one.pinned and one.index != item):
        assert [change for change in seen.transitions if change.item == pinned] == []
    for later in range(request, len(timeline.requests)):
        assert seen.state(item, later) == "reverted"


@pytest.mark.parametrize("preset", registry.presets(), ids=lambda one: one.preset)
def test_every_preset_acts_on_some_session(preset: type[Preset]) -> None:
    """Else the laws would be kept by doing nothing."""
    growing = Growing()
    for number in range(1, 8):
        growing.add("user", number, 200)
        for _ in range(4):
            growing.answer(number, 4_000, [("read", 9_000, True), ("bash", 1, True)])
    timeline = Timeline("long", items=tuple(growing.items), requests=tuple(growing.requests))

    assert simulate(timeline, eager(preset), RULER).fired
