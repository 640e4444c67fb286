"""The reported size of a request: the usage of the last answer and what came since, and the ruler after a difference."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.context_policies.made_timeline import Call, TimelineMaker

from palimpsest.context_policies.interface.policy import (
    Change,
    LaterItems,
    PolicyResult,
    PolicyView,
    SessionFacts,
)
from palimpsest.context_policies.items.measured import (
    NOT_REPORTED_SIGNAL,
    REPORTED_SIGNAL,
    Measured,
)
from palimpsest.context_policies.prompt_cache.ruler import Ruler
from palimpsest.context_policies.registry import get, presets
from palimpsest.context_policies.replay.simulation import Simulation, simulate
from palimpsest.transcript.timeline import Timeline
from palimpsest.transcript.values import Usage

RULER = Ruler(unseen_tokens=500, factor=1.5, is_fitted=True)
RESULT_CHARS = 400
"""Characters of a result; the estimate of its tokens is a quarter."""


def session(*prompts: int | None, output: int = 40) -> Timeline:
    """Return a session whose requests reported prompts of so many tokens; None reported nothing."""
    maker = TimelineMaker()
    maker.prompt("x" * RESULT_CHARS)
    for number in range(len(prompts) - 1):
        maker.answer("y" * 80, [Call("read", "z" * RESULT_CHARS, (("path", str(number)),))])
    made = maker.made()
    requests = tuple(
        request
        if timeline is None
        else replace(request, usage=Usage(input=timeline, output=output))
        for request, timeline in zip(made.requests, prompts, strict=True)
    )
    return replace(made, requests=requests)


class Asking:
    """Asks at each request what is reported of it, and clears results at the requests that it is told."""

    name, source, estimator = "asking", "a test", "chars/4"
    when = "request"

    def __init__(
        self, *clears: int, answer: bool = True, later_items: LaterItems = "estimated"
    ) -> None:
        self.clears = clears
        self.answer, self.later_items = answer, later_items
        self.found: list[int | None] = []

    def start(self, facts: SessionFacts) -> None:
        """Return no state."""

    def step(self, state: None, view: PolicyView) -> PolicyResult:  # noqa: ARG002
        """Note the tokens, and clear the newest result but one."""
        self.found.append(view.reported(answer=self.answer, later_items=self.later_items))
        if view.request.index not in self.clears:
            return PolicyResult(None)
        return PolicyResult(None, [Change(view.outputs[0], "cleared", "gone")], fired=True)


def counts_of(timeline: Timeline, policy: Asking) -> list[int | None]:
    simulate(timeline, policy, RULER)  # type: ignore[arg-type]  # its state is no value
    return policy.found


def test_it_is_the_last_usage_with_its_answer_and_an_estimate_of_what_came_since() -> None:
    counts = counts_of(session(1_000, 2_000, 3_000), Asking())

    assert counts == [None, 1_000 + 40 + 100, 2_000 + 40 + 100]


def test_what_an_original_leaves_out_is_left_out() -> None:
    timeline = session(1_000, 2_000, 3_000)

    assert counts_of(timeline, Asking(later_items="nothing")) == [None, 1_040, 2_040]
    assert counts_of(timeline, Asking(answer=False, later_items="nothing")) == [None, 1_000, 2_000]


def test_what_a_server_counts_is_scaled_as_the_usage_is() -> None:
    """The prompt is 150 tokens by 100 estimated ones, so the result of 100 counts as 150."""
    assert counts_of(session(150, 600), Asking(later_items="counted")) == [None, 150 + 40 + 150]


def test_a_request_without_usage_is_estimated_beside_the_last_one_with() -> None:
    counts = counts_of(session(1_000, None, 3_000), Asking())

    call = len('read{"path": "1"}')
    assert counts == [None, 1_140, 1_140 + -(-(80 + call) // 4) + 100]


def test_after_the_first_difference_the_ruler_counts() -> None:
    timeline = session(1_000, 2_000, 3_000, 4_000)
    policy = Asking(1)
    replay = simulate(timeline, policy, RULER)  # type: ignore[arg-type]

    assert replay.facts_until == 1
    assert policy.found[:2] == [None, 1_140]
    assert policy.found[2] == round(replay.sizes[1].total + 40 + 100)
    assert policy.found[3] == round(replay.sizes[2].total + 40 + 100)


def test_where_nothing_is_reported_the_estimate_stands_and_the_sentence_says_so() -> None:
    replay = simulate(session(None, None), get("pi.compact window=20000"), RULER)

    assert replay.probes[-1].probe.signal == NOT_REPORTED_SIGNAL


def test_a_measure_can_be_chosen_and_is_told() -> None:
    timeline = session(90_000, 160_000, 199_000)
    reported, estimated = (
        simulate(timeline, get(f"pi.compact{more}"), RULER) for more in ("", " measure=estimated")
    )

    assert [probe.probe.signal for probe in reported.probes][-1] == REPORTED_SIGNAL
    assert not estimated.firing_requests
    assert "measure=estimated" in estimated.policy_name


MEASURED = [preset for preset in presets() if "measure" in preset.own_numbers()]


@pytest.mark.parametrize("preset", MEASURED, ids=lambda preset: preset.preset)
def test_each_preset_with_a_threshold_of_tokens_says_where_its_original_counts(
    preset: type[Measured],
) -> None:
    assert preset.token_source
    assert preset.own_numbers()["measure"] in ("reported", "estimated")


def test_all_presets_that_weigh_the_request_state_their_measure() -> None:
    """A preset that looks at tokens of the whole request is one of those that state a measure."""
    timeline = session(*range(50_000, 250_000, 20_000))
    replays: dict[str, Simulation] = {
        preset.preset: simulate(timeline, get(preset.preset), RULER) for preset in presets()
    }
    weigh = {
        name
        for name, replay in replays.items()
        if any("tokens of the request" in probe.probe.signal for probe in replay.probes)
    }

    stating = {preset.preset for preset in presets() if preset.token_source}
    assert weigh <= stating
    assert len(MEASURED) > 20


@given(
    st.lists(st.one_of(st.none(), st.integers(1, 10**6)), min_size=1, max_size=12),
    st.sets(st.integers(1, 11), max_size=3),
)
def test_a_report_of_the_future_changes_nothing(
    prompts: list[int | None], clears: set[int]
) -> None:
    """What is reported of a request is known from the next one on, and from no earlier."""
    clears = {clear for clear in clears if clear < len(prompts)}
    whole = counts_of(session(*prompts), Asking(*clears))
    for until in range(1, len(prompts)):
        other = [*prompts[:until], *([7] * (len(prompts) - until))]
        assert counts_of(session(*other), Asking(*clears))[: until + 1] == whole[: until + 1]
