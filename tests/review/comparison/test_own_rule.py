"""The law of the own rule: an agent's preset acts where the agent was recorded to compact by itself.

What a recording does not state is assumed in a sentence; compactions that a person requested are counted separately.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.context_policies.made_timeline import TimelineMaker
from tests.context_policies.pi_session import pi_timeline
from tests.recordings.formats.imported import import_file
from tests.recordings.formats.sample_files import sample
from tests.sample_size import thinned

from palimpsest.context_policies.calibration.fit import fit_ruler
from palimpsest.context_policies.presets.summarising import PiCompact, Summarise
from palimpsest.context_policies.registry import get
from palimpsest.context_policies.replay.growing_replay import MAX_REQUESTS_BEHIND
from palimpsest.context_policies.replay.simulation import simulate
from palimpsest.model.tokenizer import counter
from palimpsest.recordings.timeline.journal_timeline import timeline_of
from palimpsest.review.comparison.own_rule import PRESET_OF_AGENT, OwnRule, own_rule
from palimpsest.transcript.timeline import Timeline, TimelineEvent
from palimpsest.transcript.values import Usage

SAMPLES = (
    "claude_code",
    "cline",
    "cline_subagent",
    "codex_rollout.jsonl",
    "codex_subagents",
    "gemini_cli.jsonl",
    "gemini_cli_subagent",
    "inspect_edit.eval",
    "inspect_plain.eval",
    "inspect_summary.eval",
    "openhands_subagents",
    "openhands_v0.jsonl",
    "openhands_v1",
    "pi_large_session.jsonl",
    "pi_version_3.jsonl",
    "claude_code_spotter",
)
"""Recordings of agents whose rule is a preset."""
GROWING = (
    "claude_code_spotter",
    "cline",
    "codex_rollout.jsonl",
    "gemini_cli.jsonl",
    "openhands_v1",
    "pi_large_session.jsonl",
)


@cache
def timelines_of(name: str) -> tuple[Timeline, ...]:
    """Return the sessions of a sample."""
    if name == "pi_large_session.jsonl":
        return (pi_timeline(),)  # as other files have it, with what they counted of it
    with TemporaryDirectory() as folder:
        return import_all(sample(name, Path(folder)))


def import_all(path: Path) -> tuple[Timeline, ...]:
    store, report = import_file(path)
    return tuple(timeline_of(store, session.id, counter) for session in report.sessions)


def found_in(timeline: Timeline) -> OwnRule:
    rule = own_rule(timeline)
    assert rule is not None
    return rule


@pytest.mark.parametrize("name", thinned(SAMPLES, 4))
def test_the_rule_acts_at_the_recorded_compactions_or_says_what_they_must_have_been(
    name: str,
) -> None:
    for timeline in timelines_of(name):
        rule = found_in(timeline)
        events = [event for event in timeline.events if event.kind.startswith("compact")]

        assert {*rule.found_at, *rule.missed, *rule.by_hand, *rule.unclear} == {
            event.request for event in events
        }
        assert rule.found_count == len(rule.found_at) == rule.recorded_count - len(rule.missed)
        for place in rule.unclear:
            assert any(f"before request {place + 1}" in words for words in rule.assumptions)
        if not rule.is_reproduced:
            assert any("settings are not recorded" in words for words in rule.assumptions)


def test_claude_codes_rule_finds_the_compaction_that_it_made_by_itself() -> None:
    """It was recorded at 167,701 tokens with the last answer; by characters / 4 the rule never acted."""
    [timeline] = [
        found for found in timelines_of("claude_code_spotter") if len(found.requests) == 143
    ]

    rule = found_in(timeline)

    assert (rule.recorded_count, rule.found_at, rule.unmatched_requests) == (1, (71,), ())
    assert rule.is_reproduced
    assert (rule.preset, rule.window, rule.threshold) == ("claude_code.auto", 200_000, 167_000)
    assert rule.sentence_end == "this agent's own rule found 1 of 1 compactions, at request 72"
    replay = simulate(timeline, get("claude_code.auto"), fit_ruler(timeline))
    assert replay.firing_requests == (71,)
    assert max(size.total for size in replay.sizes) <= 200_000


def test_a_compaction_that_a_person_asked_for_is_none_of_the_rules() -> None:
    [timeline] = [
        found for found in timelines_of("claude_code_spotter") if len(found.requests) == 217
    ]

    rule = found_in(timeline)

    assert (rule.recorded_count, rule.by_hand, rule.unmatched_requests) == (0, (138,), ())
    assert rule.sentence_end == "this agent's own rule had no automatic compaction to find"


def test_the_only_sample_of_pi_has_none_and_the_rule_does_not_act() -> None:
    [timeline] = timelines_of("pi_large_session.jsonl")

    rule = found_in(timeline)

    assert (rule.recorded_count, rule.unmatched_requests, rule.unclear) == (0, (), ())


def pi_session(folder: Path, answers: int) -> Timeline:
    """Return a recording of pi whose reported tokens are half as many again as its characters / 4."""
    rows: list[dict[str, Any]] = [
        {
            "type": "session",
            "version": 3,
            "id": "p1",
            "timestamp": "2026-08-01T10:00:00Z",
            "cwd": "/w",
        }
    ]
    last = None
    for number in range(answers):
        asked = {"role": "user", "content": [{"type": "text", "text": "abcd" * 1_000}]}
        said = {
            "role": "assistant",
            "content": [{"type": "text", "text": "wxyz" * 266}],
            "provider": "anthropic",
            "model": "claude-opus-4-5",
            "stopReason": "stop",
            "usage": {"input": 10, "output": 399, "cacheRead": 1_899 * number, "cacheWrite": 1_500},
        }
        for letter, message in (("u", asked), ("a", said)):
            name, parent = f"{letter}{number}", last
            rows.append({"type": "message", "id": name, "parentId": parent, "message": message})
            last = name
    path = folder / "pi.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    [timeline] = import_all(path)
    return timeline


def test_pis_rule_counts_reported_tokens(tmp_path: Path) -> None:
    """They pass 183,616 with the 97th answer, so that the rule acts before the next request."""
    timeline = pi_session(tmp_path, 100)

    replay = simulate(timeline, get("pi.compact"), fit_ruler(timeline))

    assert replay.firing_requests == (97,)
    assert max(size.total for size in replay.sizes) <= 200_000


# What a recording does not tell


def made_of(
    origin: str, sizes: list[int], *compactions: tuple[int, str], window: int = 0
) -> Timeline:
    """Return a recording of an agent by the reported tokens of its requests."""
    maker = TimelineMaker()
    maker.prompt("Look.")
    for _ in sizes[1:]:
        maker.answer("Well.")
        if origin == "pi":
            maker.prompt("Go on.")  # it looks at the end of turns
    timeline = maker.made()
    requests = tuple(
        replace(request, usage=Usage(input=size), window=window)
        for request, size in zip(timeline.requests, sizes, strict=True)
    )
    events = tuple(TimelineEvent(at, "compact", cause) for at, cause in compactions)
    return replace(timeline, origin=origin, requests=requests, events=events)


def test_the_window_of_a_recording_is_taken_where_it_has_one() -> None:
    """Codex records 95 per cent of the model's window, and compacts at 90 per cent of the whole."""
    sizes = [200_000, 243_000, 244_900, 20_000]

    rule = found_in(made_of("codex", sizes, (3, "automatic"), window=258_400))

    assert (rule.window, rule.threshold) == (272_000, 244_800)
    assert (rule.found_at, rule.assumptions) == ((3,), ())


def test_a_prompt_above_the_window_proves_a_larger_one() -> None:
    rule = found_in(made_of("claude-code", [150_000, 200_500, 310_760, 320_000]))

    assert rule.window == 1_000_000
    assert rule.unmatched_requests == ()
    assert any(
        "310,760" not in sentence and "320,000" in sentence and "proves" in sentence
        for sentence in rule.assumptions
    )


def test_compactions_below_the_threshold_say_what_it_must_have_been() -> None:
    sizes = [90_000, 99_000, 101_000, 20_000, 98_000, 100_500, 21_000]

    rule = found_in(made_of("claude-code", sizes, (3, "automatic"), (6, "automatic")))

    assert (rule.recorded_count, rule.found_count, rule.missed) == (2, 0, (3, 6))
    assert rule.sentence_end == "this agent's own rule found 0 of 2 compactions"
    [told] = [sentence for sentence in rule.assumptions if "must have been" in sentence]
    assert "from 90,000 to" in told
    assert "below 100,5" in told


def test_what_began_a_compaction_is_not_guessed() -> None:
    """Pi does not record whether a person asked for it."""
    rule = found_in(made_of("pi", [100_000, 144_000, 20_000], (2, "automatic")))

    assert (rule.recorded_count, rule.unclear) == (0, (2,))
    assert any(
        "asked for, or the settings were others" in sentence for sentence in rule.assumptions
    )


def test_a_compaction_before_anything_was_reported_cannot_be_checked() -> None:
    rule = found_in(made_of("claude-code", [30_000, 40_000], (0, "automatic")))

    assert (rule.recorded_count, rule.unclear, rule.missed) == (0, (0,), ())
    assert any("cannot be checked" in sentence for sentence in rule.assumptions)


def test_a_compaction_after_the_last_request_is_found() -> None:
    rule = found_in(made_of("claude-code", [150_000, 166_000, 168_000], (3, "automatic")))

    assert rule.found_at == (3,)


def test_a_session_that_went_over_the_threshold_says_that_it_was_switched_off() -> None:
    rule = found_in(made_of("claude-code", [150_000, 170_000, 180_000, 199_000]))

    assert rule.unmatched_requests == (2,)
    assert not rule.is_reproduced
    assert "acts where the agent did not, at request 3" in rule.sentence_end
    assert any("higher or switched off" in sentence for sentence in rule.assumptions)


def test_an_agent_without_a_preset_has_no_own_rule() -> None:
    assert own_rule(made_of("mini-swe-agent", [1_000])) is None
    assert own_rule(Timeline(session="empty", origin="pi")) is None


REPORTING = {"claude-code": 167_000, "codex": 244_800, "pi": 183_616}


def growing_requests(threshold: int, steps: list[int], most: int) -> Iterator[tuple[int, bool]]:
    """Yield the tokens of requests that grow by steps, and whether the agent compacted before each.

    A provider answers none that is over its window, ``most``: such a prompt would prove a larger one.
    """
    size, compacts = 20_000, False
    for step in steps:
        size = 20_000 if compacts else min(size + step, most)
        yield size, compacts
        compacts = size > threshold


@pytest.mark.parametrize("origin", ["claude-code", "codex", "pi"])
@given(st.lists(st.integers(1_000, 30_000), min_size=2, max_size=40))
def test_every_compaction_by_the_rule_is_found(origin: str, steps: list[int]) -> None:
    """Whatever a session looks like: where the original would act, the preset acts, and nowhere else."""
    rows = [*growing_requests(REPORTING[origin], steps, 272_000 if origin == "codex" else 200_000)]
    acted = [(index, "automatic") for index, (_, compacts) in enumerate(rows) if compacts]

    window = 258_400 if origin == "codex" else 200_000
    rule = found_in(made_of(origin, [size for size, _ in rows], *acted, window=window))

    # The estimate of what came since is some tokens, so that a size just below the threshold passes it.
    close = [index for index, (size, _) in enumerate(rows) if 0 <= REPORTING[origin] - size < 100]
    assert rule.missed == ()
    assert rule.found_at == tuple(at for at, _ in acted)
    assert close or rule.unmatched_requests == ()


def test_every_agent_of_the_table_has_its_preset() -> None:
    for agent in PRESET_OF_AGENT.values():
        for preset in agent.presets:
            assert get(preset).name == preset


# Compactions of several kinds, and windows that change


def test_an_act_of_the_rule_is_of_one_compaction() -> None:
    """The second was not the rule's: its request was small when it was made."""
    rule = found_in(
        made_of("claude-code", [168_000, 20_000, 21_000], (1, "automatic"), (2, "automatic"))
    )

    assert (rule.found_at, rule.missed) == ((1,), (2,))


def test_what_a_person_asked_for_is_no_act_beside_another_compaction() -> None:
    """The person compacted what was over the threshold; the compaction after it has another reason."""
    rule = found_in(
        made_of("claude-code", [168_000, 20_000, 21_000], (1, "by hand"), (2, "automatic"))
    )

    assert (rule.by_hand, rule.found_at, rule.missed) == ((1,), (), (2,))


@pytest.mark.parametrize("first", ["by hand", "automatic"])
def test_two_compactions_before_one_request_are_both_told(first: str) -> None:
    second = "automatic" if first == "by hand" else "by hand"

    rule = found_in(made_of("claude-code", [168_000, 20_000], (1, first), (1, second)))

    assert (rule.by_hand, rule.found_at) == ((1,), (1,))


def test_a_compaction_before_the_first_request_is_not_that_of_the_next() -> None:
    """The session was continued from another; that the second request is over the threshold says nothing of it."""
    sizes = [168_000, 169_000, 20_000]

    rule = found_in(made_of("claude-code", sizes, (0, "automatic"), (2, "automatic")))

    assert (rule.unclear, rule.found_at, rule.missed) == ((0,), (2,), ())


def test_compactions_by_both_are_told_apart() -> None:
    sizes = [100_000, 20_000, 167_500, 20_000, 90_000, 20_000, 168_000, 21_000]
    events = ((1, "by hand"), (3, "automatic"), (5, "by hand"), (7, "automatic"))

    rule = found_in(made_of("claude-code", sizes, *events))

    assert (rule.by_hand, rule.found_at, rule.missed, rule.unmatched_requests) == (
        (1, 5),
        (3, 7),
        (),
        (),
    )


def windowed(origin: str, rows: list[tuple[int, str, int]], *compactions: int) -> Timeline:
    """Return a recording by the reported tokens, the model and the recorded window of each request."""
    timeline = made_of(
        origin, [size for size, _, _ in rows], *((at, "automatic") for at in compactions)
    )
    requests = tuple(
        replace(request, model=model, window=window)
        for request, (_, model, window) in zip(timeline.requests, rows, strict=True)
    )
    return replace(timeline, requests=requests)


def test_each_model_has_its_recorded_window() -> None:
    small, large = ("small", 95_000), ("large", 258_400)
    rows = [
        (85_000, *small),
        (90_500, *small),
        (20_000, *small),
        (200_000, *large),
        (245_000, *large),
    ]

    rule = found_in(windowed("codex", [*rows, (20_000, *large)], 2, 5))

    assert (rule.found_at, rule.missed, rule.unmatched_requests, rule.assumptions) == (
        (2, 5),
        (),
        (),
        (),
    )


def test_a_model_may_be_given_a_longer_window_in_one_session() -> None:
    """At 200,000 it compacts at 167,000, and after it was switched to 1,000,000 it does not."""
    short, long = ("claude-opus-4-6", 200_000), ("claude-opus-4-6", 1_000_000)
    rows = [
        (160_000, *short),
        (167_500, *short),
        (20_000, *short),
        (190_000, *long),
        (400_000, *long),
    ]

    rule = found_in(windowed("claude-code", rows, 2))

    assert (rule.found_at, rule.missed, rule.unmatched_requests) == ((2,), (), ())
    assert rule.assumptions == ()


def test_a_request_without_a_window_has_that_of_its_model() -> None:
    """It acts at 67,000, before and after the one request whose window is recorded."""
    rows = [(67_500, "m", 0), (20_000, "m", 100_000), (67_500, "m", 0), (20_000, "m", 0)]

    rule = found_in(windowed("claude-code", rows, 1, 3))

    assert (rule.window, rule.found_at, rule.assumptions) == (100_000, (1, 3), ())


@given(
    st.lists(
        st.tuples(st.integers(5_000, 40_000), st.sampled_from(["", "", "", "by hand"])),
        min_size=2,
        max_size=30,
    )
)
def test_compactions_by_hand_change_nothing_of_the_others(steps: list[tuple[int, str]]) -> None:
    """Whatever a person had compacted before: where the original would act then, the preset acts."""
    size, asked, acted, sizes = 20_000, [], [], []
    for index, (step, cause) in enumerate(steps):
        if sizes and size > 167_000 + 100:
            acted.append((index, "automatic"))
            size = 20_000
        elif sizes and cause:
            asked.append((index, cause))
            size = 20_000
        else:
            size = min(size + step, 166_000 if size + step <= 167_100 else 200_000)
        sizes.append(size)

    rule = found_in(made_of("claude-code", sizes, *acted, *asked, window=200_000))

    assert rule.found_at == tuple(index for index, _ in acted)
    assert rule.missed == ()
    assert {*rule.by_hand} == {index for index, _ in asked}


class ProbedRequests:
    """The requests at which a rule of pi looked."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.indexes: list[int] = []
        probe = PiCompact.probe

        def noting_probe(rule: PiCompact, state: Any, view: Any) -> Any:
            self.indexes.append(view.request.index)
            return probe(rule, state, view)

        patch.setattr(PiCompact, "probe", noting_probe)


def shortened(timeline: Timeline, requests: int, earlier: dict[str, Any]) -> Timeline:
    """Return a recording as it was when it had fewer requests."""
    return replace(
        timeline,
        requests=timeline.requests[:requests],
        transitions=tuple(
            transition for transition in timeline.transitions if transition.request < requests
        ),
        events=tuple(event for event in timeline.events if event.request < requests),
        earlier=earlier,
    )


@given(st.data())
def test_a_recording_that_grows_has_the_rule_of_one_that_is_read_whole(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(GROWING))
    timeline = max(timelines_of(name), key=lambda timeline: len(timeline.requests))
    cuts = st.integers(1, len(timeline.requests))
    earlier: dict[str, Any] = {}
    ruler = fit_ruler(timeline)

    for requests in sorted(data.draw(st.lists(cuts, min_size=2, max_size=5))):
        grown = own_rule(shortened(timeline, requests, earlier), ruler)

        assert grown == own_rule(shortened(timeline, requests, {}), ruler)


def test_of_a_recording_that_grows_the_rule_looks_at_what_is_new(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    [timeline] = timelines_of("pi_large_session.jsonl")
    count, earlier = len(timeline.requests), {}
    own_rule(shortened(timeline, count - 1, earlier), fit_ruler(timeline))
    looks = ProbedRequests(monkeypatch)

    own_rule(shortened(timeline, count, earlier), fit_ruler(timeline))

    assert count > 3 * MAX_REQUESTS_BEHIND
    assert min(looks.indexes) >= count - 1 - MAX_REQUESTS_BEHIND


def test_what_a_summary_would_replace_is_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else each request over the threshold costs a walk through all that came before it."""
    [timeline] = [
        found for found in timelines_of("claude_code_spotter") if len(found.requests) == 143
    ]

    monkeypatch.setattr(Summarise, "covered_items", None)

    assert found_in(timeline).found_at == (71,)
