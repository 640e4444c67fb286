"""Every preset keeps the laws of a policy, on any session."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.context_policies.made_timeline import Call, TimelineMaker
from tests.sample_size import sample_size, thinned

from palimpsest.context_policies import registry
from palimpsest.context_policies.engine_presets.engine_policies import EnginePolicy
from palimpsest.context_policies.interface.policy import ContextPolicy
from palimpsest.context_policies.interface.recorded_policy import RecordedPolicy
from palimpsest.context_policies.interface.settings import Preset
from palimpsest.context_policies.presets import (
    gemini,
    masking,
    shortening,
    summarising,
    summarising_messages,
)
from palimpsest.context_policies.prompt_cache.ruler import Ruler
from palimpsest.context_policies.registry import get
from palimpsest.context_policies.replay.simulation import Simulation, simulate
from palimpsest.review.comparison.policy_figures import verdict
from palimpsest.transcript.timeline import ItemState, Timeline, Transition

PRESETS = [
    preset_class
    for preset_class in registry.presets()
    if not issubclass(preset_class, EnginePolicy | RecordedPolicy)
]
WITHOUT_WINDOW = (
    summarising_messages.AiderHistory,  # has bounds of its own
    gemini.GeminiTruncate,  # takes its longest result
    shortening.DeepAgentsTruncateArgs,  # counts messages
)
"""Presets that act also where no window is known, as their projects do."""
RULER = Ruler(unseen_tokens=100)
PHRASE_BY_RULE: list[tuple[str, ItemState]] = [("undo", "reverted"), ("user/exclude", "out")]
"""What a person does to items, by the rules that a timeline calls it."""
GONE = {"out", "summarised", "reverted"}
EAGER = {
    "window": 3_000,
    "reserve": 200,
    "trigger": 1_500,
    "max_tokens": 1_500,
    "protect": 500,
    "minimum": 200,
    "at_least": 100,
    "keep_results": 2,
    "keep_turns": 2,
    "keep_texts": 2,
    "n": 2,
    "turns": 1,
    "messages": 4,
    "max_events": 8,
    "events_left": 4,
    "longest_chars": 300,
    "kept_chars": 200,
    "note_chars": 60,
    "result_tokens": 300,
    "prompt_tokens": 300,
    "summary": 30,
    "idle_seconds": 10,
    "ttl_seconds": 10,
    "least_chars": 100,
    "image_turns": 1,
    "interval": 2,
    "file_tokens": 100,
    "whole_result_tokens": 100,
    "min_keep_tokens": 50,
    "head": 50,
    "tail": 50,
    "soft": 0.05,
    "hard": 0.1,
}
"""Numbers so small that every rule acts within a few requests."""


ENGINE: dict[str, Any] = {
    "window": 3_000,
    "summary": 30,
    "reserved": 200,
    "prune.protect_tokens": 500,
    "prune.minimum_tokens": 200,
    "prune.protect_turns": 1,
    "prune.full_window": 3_000,
    "prune.keep_assistants": 2,
    "prune.min_prunable_chars": 100,
    "prune.soft_max_chars": 300,
    "prune.soft_head_chars": 50,
    "prune.soft_tail_chars": 50,
    "prune.soft_ratio": 0.05,
    "prune.hard_ratio": 0.1,
    "prune.ttl_seconds": 10,
    "compact.tail_minimum": 50,
    "compact.tail_maximum": 400,
    "compact.judge": False,
    "overflow.output_cap": 200,
    "truncate.window_share": None,
}
"""The same for the engine's own policies."""


def eager(preset: type[Preset]) -> ContextPolicy:
    """Return a preset with small numbers."""
    if issubclass(preset, EnginePolicy):
        return get(preset.preset, **ENGINE)
    small: dict[str, Any] = {
        field.name: EAGER[field.name] for field in fields(preset) if field.name in EAGER
    }
    whole: Any = preset()
    if isinstance(whole, shortening.StrandsOffload):
        small["kept_tokens"] = 20  # its note alone has 480 characters
        small["longest_tokens"] = 200
    if isinstance(whole, masking.SweAgentClosedWindow):
        small["results"] = True
    if isinstance(whole, summarising.CutAtTokens):
        small["keep_tokens"] = 300 if whole.keep_tokens else 0
    return cast("ContextPolicy", replace(whole, **small))


LONG = st.integers(200, 3_000).map(lambda n: "some words of it\n" * (n // 16))
CALLS = st.builds(
    Call,
    tool=st.sampled_from(["read", "bash", "edit", "browse", "skill"]),
    result=st.one_of(LONG, LONG, LONG, st.none()),
    given=st.sampled_from(["a.py", "b.py"]).map(lambda name: (("path", name), ("text", "x" * 400))),
    failed=st.booleans(),
)
ANSWERS = st.tuples(LONG, st.lists(CALLS, max_size=3), LONG, st.sampled_from([1, 1, 1, 20, 4_000]))
TURNS = st.tuples(LONG, st.booleans(), st.lists(ANSWERS, max_size=4))


@st.composite
def timelines(draw: st.DrawFn) -> Timeline:
    maker = TimelineMaker()
    maker.system(draw(LONG))
    for words, pinned, answers in draw(st.lists(TURNS, min_size=1, max_size=5)):
        maker.prompt(words, media="picture-of-a-window.png" * 4, pinned=pinned)
        for said, calls, thought, pause in answers:
            maker.answer(said, calls, reasoning=thought, pause=pause)
    return maker.made()


def busy() -> Timeline:
    """Return a session in which every rule with small numbers has something to do."""
    maker = TimelineMaker()
    maker.system("You help." * 30)
    view = "[File: /a.py (90 lines total)]\n" + "1: a line\n" * 60
    for turn in range(6):
        maker.prompt("Do it. " * 40, media="picture-of-a-window.png" * 4)
        for step in range(4):
            calls = [
                Call("read", view, (("path", f"{step % 2}.py"),)),
                Call(
                    "bash",
                    "one\n" * 300 + "<diff>some</diff>",
                    (("command", "make all " * 9),),
                    turn % 2 > 0,
                ),
                Call("write", "Done. " * 60, (("path", f"{step % 2}.py"), ("text", "x" * 400))),
                Call("browse", "a page " * 90, (("url", "b"),)),
            ]
            maker.answer("Well. " * 40, calls, reasoning="Hm. " * 60, pause=20 if step else 1)
    return maker.made()


def decisions(replay: Simulation, until: int) -> list[object]:
    return [transition for transition in replay.timeline.transitions if transition.request < until]


def cut_short(timeline: Timeline, requests: int) -> Timeline:
    """Return the session as it was before a request: nothing of it is there that came later."""
    kept = timeline.requests[:requests]
    end = kept[-1].items
    kept = (*kept[:-1], replace(kept[-1], answer=(end, end)))
    return replace(timeline, items=timeline.items[:end], requests=kept, _weights={})


@pytest.mark.parametrize("preset", thinned(PRESETS, 3), ids=lambda preset: preset.preset)
def test_a_preset_acts_on_a_busy_session_and_keeps_the_laws(preset: type[Preset]) -> None:
    timeline = busy()
    replay = keeps_the_laws(timeline, eager(preset), until=len(timeline.requests) // 2)

    assert replay.firing_requests
    assert replay.timeline.transitions


@pytest.mark.parametrize(
    "preset",
    [
        preset_class
        for preset_class in PRESETS
        if "window" in {field.name for field in fields(preset_class)}
        and preset_class not in WITHOUT_WINDOW
    ],
    ids=lambda preset: preset.preset,
)
def test_a_preset_takes_the_recorded_window_and_without_one_does_nothing(
    preset: type[Preset],
) -> None:
    policy: Any = eager(preset)
    numbers = {"window": 0}
    if "trigger" in {field.name for field in fields(preset)}:
        numbers["trigger"] = 0
    if hasattr(policy, "image_turns"):
        numbers["image_turns"] = 100
    if hasattr(policy, "max_events"):
        numbers["max_events"] = 0
    policy = replace(policy, **numbers)

    assert not simulate(busy(), policy, RULER).firing_requests
    if "trigger" not in numbers and "max_events" not in numbers:
        assert simulate(busy(), policy, RULER, window=3_000).firing_requests


@st.composite
def edited(draw: st.DrawFn) -> Timeline:
    """Return a session of which a person took back or left out some items."""
    timeline = draw(timelines())
    moves = [
        Transition(item.index, draw(st.integers(item.entered, last)), state, tokens=0, rule=rule)
        for item in timeline.items
        for last in [len(timeline.requests) - 1]
        if item.kind != "system" and item.entered <= last and draw(st.integers(0, 3)) == 0
        for rule, state in [draw(st.sampled_from(PHRASE_BY_RULE))]
    ]
    return replace(
        timeline, transitions=tuple(sorted(moves, key=lambda transition: transition.request))
    )


@pytest.mark.slow
@settings(
    max_examples=sample_size(4, 60),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(timeline=edited())
def test_a_preset_acts_exactly_where_its_probe_passed_the_threshold(timeline: Timeline) -> None:
    for preset in registry.presets():
        if issubclass(preset, RecordedPolicy):
            continue  # it repeats what was recorded, and looks at nothing
        for policy in (eager(preset), get(preset.preset)):
            replay = simulate(timeline, policy, RULER)
            passed = [probe.request for probe in replay.probes if probe.probe.is_passed]

            assert bool(passed) == bool(replay.firing_requests), policy.name
            assert passed[:1] == [*replay.firing_requests][:1], policy.name
            assert ("Never acted" in verdict(replay)) == bool(
                replay.probes and not replay.firing_requests
            ), policy.name


@settings(max_examples=sample_size(40, 600))
@given(preset=st.sampled_from(PRESETS), timeline=timelines(), share=st.floats(0, 1))
def test_presets_keep_the_laws_on_any_session(
    preset: type[Preset], timeline: Timeline, share: float
) -> None:
    until = 1 + round(share * (len(timeline.requests) - 1))

    keeps_the_laws(timeline, eager(preset), until=until)


def keeps_the_laws(timeline: Timeline, policy: ContextPolicy, until: int) -> Simulation:
    """Check that a replay is the same again, sees no future, never grows and keeps requests valid."""
    replay = simulate(timeline, policy, RULER)
    raw = simulate(timeline, None, RULER)

    assert simulate(timeline, policy, RULER) == replay
    begun = simulate(cut_short(timeline, until), policy, RULER)
    assert decisions(begun, until) == decisions(replay, until)
    for mine, whole in zip(replay.sizes, raw.sizes, strict=True):
        assert mine.total <= whole.total
    for request in timeline.requests:
        shown = {
            item.index: replay.timeline.state(item.index, request.index) or ""
            for item in timeline.items[: request.items]
        }
        keeps_what_it_must(timeline, shown, request.index)
    return replay


def keeps_what_it_must(timeline: Timeline, shown: Mapping[int, str], request: int) -> None:
    """Check one request: calls with results, nothing pinned reduced, the system prompt and the newest there."""
    groups: dict[str, dict[str, bool]] = defaultdict(dict)
    newest = timeline.items[len(shown) - 1].block
    for index, state in shown.items():
        item = timeline.items[index]
        if item.group:
            groups[item.group][item.kind] = state not in GONE
        if item.pinned or item.kind == "system":
            assert state == "whole"
        before = timeline.requests[request - 1].items if request else index + (item.block < newest)
        if index >= before and item.kind in ("user", "assistant"):
            assert state not in GONE
    for group in groups.values():
        if len(group) == 2:
            assert group["call"] == group["output"]
