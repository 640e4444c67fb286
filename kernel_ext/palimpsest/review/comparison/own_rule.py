"""Check whether the recorded agent's own rule acts where the agent compacted by itself.

The agent's preset is applied to each recorded request, with the recorded or an assumed window; where its threshold is
passed, the request is compared with the recorded compactions. Assumptions are given in sentences.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from palimpsest.context_policies.calibration.fit import fit_ruler
from palimpsest.context_policies.interface.policy import (
    ContextPolicy,
    PolicyResult,
    PolicyView,
    Probe,
    SessionFacts,
    When,
)
from palimpsest.context_policies.interface.recorded_policy import RecordedPolicy, Transitions
from palimpsest.context_policies.items.measured import NOT_REPORTED_SIGNAL
from palimpsest.context_policies.presets.summarising import Summarise
from palimpsest.context_policies.prompt_cache.ruler import Ruler
from palimpsest.context_policies.registry import get
from palimpsest.context_policies.replay.growing_replay import GrowingReplay
from palimpsest.review.prices.assumed_windows import AssumedWindows, RecordedAgent, assumed_windows
from palimpsest.transcript.timeline import Timeline, TimelineRequest

MAX_NEIGHBOUR_DISTANCE = 1
"""Number of requests by which the rule may act earlier or later than the agent did."""
PRESET_OF_AGENT: Mapping[str, RecordedAgent] = {
    "claude-code": RecordedAgent(("claude_code.auto",), records_cause=True),
    "cline": RecordedAgent(("cline.compact",), records_cause=True, uses_model_windows=True),
    "codex": RecordedAgent(("codex.compact",), records_cause=False, window_share=0.95),
    "gemini-cli": RecordedAgent(("gemini.compress",), records_cause=False, uses_model_windows=True),
    "inspect": RecordedAgent(
        ("inspect.compaction_summary",), records_cause=False, uses_model_windows=True
    ),
    "opencode": RecordedAgent(("opencode.compact",), records_cause=True, uses_model_windows=True),
    "openhands": RecordedAgent(("openhands.llm_v1", "openhands.llm"), records_cause=True),
    "pi": RecordedAgent(("pi.compact",), records_cause=False, uses_model_windows=True),
}
"""The preset of each agent's own rule, by the name of the format. Codex records 95 per cent of the model's window
(``effective_context_window_percent``)."""


@dataclass(frozen=True, slots=True)
class OwnRule:
    """How well the recorded agent's own rule explains its recorded compactions; requests are numbered from 0."""

    preset: str
    """The rule with its numbers."""
    window: int
    """Tokens of the window that was used for the rule; 0 where its threshold is not a number of tokens."""
    threshold: float
    unit: str
    """Unit of the threshold, such as ``tokens``."""
    measured_value: str
    """Name of the value that was compared with the threshold, such as ``reported tokens of the request``."""
    recorded_count: int
    """Number of recorded automatic compactions."""
    found_at: tuple[int, ...]
    """Requests of the automatic compactions at which the rule acts, or at most one request away."""
    missed: tuple[int, ...]
    """Requests of the automatic compactions that the rule misses."""
    unmatched_requests: tuple[int, ...]
    """Requests at which the rule acts and the agent did not; of a run of requests, the first."""
    by_hand: tuple[int, ...]
    """Requests of compactions that the user requested."""
    unclear: tuple[int, ...]
    """Requests of compactions below the threshold for which the recording does not state who requested them."""
    assumptions: tuple[str, ...]
    """Assumptions about facts that the recording does not state, a sentence each."""
    cleared_at: tuple[int, ...] = ()
    """For a Palimpsest session: requests at which old results were cleared or shortened as the rule would do."""
    uncleared_at: tuple[int, ...] = ()
    """Requests at which a result was cleared that the rule would not clear."""

    @property
    def found_count(self) -> int:
        """The number of automatic compactions at which the rule acts."""
        return len(self.found_at)

    @property
    def is_reproduced(self) -> bool:
        """Whether the rule acts at all automatic compactions and clearings, and nowhere else."""
        return not self.missed and not self.unmatched_requests and not self.uncleared_at

    @property
    def sentence_end(self) -> str:
        """The result as the end of a sentence: ``this agent's own rule found 1 of 1 compactions, at request 62``."""
        clearings = len(self.cleared_at) + len(self.uncleared_at)
        text = "this agent's own rule"
        if self.recorded_count or not clearings:
            text += _found_text(self.found_at, self.recorded_count, "compaction")
        if clearings:
            text += " and" if self.recorded_count else ""
            text += _found_text(self.cleared_at, clearings, "clearing")
        if self.unmatched_requests:
            text += f", and acts where the agent did not, at request {_numbers_text(self.unmatched_requests)}"
        return text


def own_rule(timeline: Timeline, ruler: Ruler | None = None) -> OwnRule | None:
    """Return how the agent's own rule fits a recording; None where the agent has no preset, or without a request."""
    agent = PRESET_OF_AGENT.get(timeline.origin)
    if agent is None or not timeline.requests:
        return None
    fitted_ruler = ruler or fit_ruler(timeline)
    extended_timeline = with_coming_request(timeline)
    results = [
        _rule_result(extended_timeline, agent, preset, windows, fitted_ruler)
        for preset in agent.presets
        for windows in assumed_windows(extended_timeline, agent, preset)
    ]
    # Where a list of models and the preset have different windows, the one that explains more compactions is used.
    return max(results, key=lambda result: result.found_count)


def with_coming_request(timeline: Timeline) -> Timeline:
    """Return the recording with one more request, if the newest compaction comes after the last request."""
    request_count, last_request = len(timeline.requests), timeline.requests[-1]
    if all(event.request < request_count for event in timeline.events):
        return timeline
    item_count = len(timeline.items)
    coming_request = TimelineRequest(
        request_count,
        "",
        last_request.turn,
        item_count,
        (item_count, item_count),
        model=last_request.model,
    )
    return replace(timeline, requests=(*timeline.requests, coming_request), earlier={})


class _ProbedRecording(RecordedPolicy):
    """A policy that applies the rule at every recorded request, records its probe, and changes nothing."""

    def __init__(self, timeline: Timeline, rule: ContextPolicy, first_request: int = 0) -> None:
        super().__init__(first_request)
        self.estimator = rule.estimator
        self._rule = rule
        self._start_state = rule.start(SessionFacts(timeline, 0, 0))
        self.when: When = rule.when
        self.probes: dict[int, Probe | None] = {}
        """The rule's probe at each request, or at the end of the turn before if that passed the threshold."""

    def continued_on(self, timeline: Timeline, first_request: int) -> "_ProbedRecording":
        """Return a policy that contains this policy's probes so far, for a longer timeline."""
        continued = _ProbedRecording(timeline, self._rule, first_request)
        continued.probes = {**self.probes}
        return continued

    def step(self, state: Transitions, view: PolicyView) -> PolicyResult:
        """Record the rule's probe, then repeat the recorded decisions."""
        rule, start = self._rule, self._start_state
        # A step would also visit all items to find those to replace.
        if isinstance(rule, Summarise):
            probe: Probe | None = rule.probe(start, view)
        else:
            probe = rule.step(start, view).probe
        earlier_probe = _first_condition(self.probes.get(view.request.index))
        if earlier_probe is None or not earlier_probe.is_passed:
            self.probes[view.request.index] = probe
        if view.turn != view.request.turn:
            return PolicyResult(state)
        return super().step(state, view)


def _rule_result(
    timeline: Timeline, agent: RecordedAgent, preset: str, windows: AssumedWindows, ruler: Ruler
) -> OwnRule:
    """Return how the rule fits: the requests at which it acts are compared with the recorded compactions."""
    rule_by_window = {
        window: get(preset, window=window) if window else get(preset)
        for window in {*windows.by_request}
    }
    probes = _probe_by_request(timeline, windows.by_request, rule_by_window, ruler)
    passed_requests = {
        request for request, probe in enumerate(probes) if probe is not None and probe.is_passed
    }
    by_hand_requests, automatic_requests = compactions_of(timeline)
    probed_requests = [
        request for request in automatic_requests if _probe_at(probes, request) is not None
    ]
    by_hand_alone = {*by_hand_requests}.difference(automatic_requests)
    matched_requests = matched_compactions(probed_requests, passed_requests - by_hand_alone)
    unclear_requests = tuple(
        request
        for request in automatic_requests
        if request not in matched_requests
        and (not agent.records_cause or request not in probed_requests)
    )
    clear_requests = tuple(
        request for request in automatic_requests if request not in unclear_requests
    )
    near_compactions = map(neighbours, (*by_hand_requests, *automatic_requests))
    unmatched_requests = first_of_runs(passed_requests.difference(*near_compactions))
    conditions = [condition for condition in probes if condition is not None]
    newest_condition = conditions[-1] if conditions else None
    rule_result = OwnRule(
        preset=rule_by_window[max(rule_by_window)].name,
        window=max(rule_by_window),
        threshold=max((condition.threshold for condition in conditions), default=0.0),
        unit=newest_condition.unit if newest_condition is not None else "tokens",
        measured_value=newest_condition.signal if newest_condition is not None else "",
        recorded_count=len(clear_requests),
        found_at=tuple(request for request in clear_requests if request in matched_requests),
        missed=tuple(request for request in clear_requests if request not in matched_requests),
        unmatched_requests=unmatched_requests,
        by_hand=by_hand_requests,
        unclear=unclear_requests,
        assumptions=windows.sentences,
    )
    further_sentences = [
        *_unclear_sentences(rule_result, probes),
        *_threshold_sentences(rule_result, probes, (*by_hand_requests, *automatic_requests)),
    ]
    return replace(rule_result, assumptions=(*windows.sentences, *further_sentences))


def _probe_by_request(
    timeline: Timeline,
    window_by_request: Sequence[int],
    rule_by_window: Mapping[int, ContextPolicy],
    ruler: Ruler,
) -> list[Probe | None]:
    """Return the rule's probe at each request, with its threshold at the window of the request's model."""
    probes_by_window = {}
    for window, rule in rule_by_window.items():
        key = f"own rule {rule.name} {window}"
        growing_replay: GrowingReplay | None = timeline.earlier.get(key)
        if growing_replay is None or growing_replay.ruler != ruler:
            growing_replay = GrowingReplay(
                ruler, _ProbedRecording(timeline, rule), measures_sizes=False
            )
            timeline.earlier[key] = growing_replay
        replay = growing_replay.replay(timeline)
        replay.advance(len(timeline.requests))
        assert isinstance(replay.policy, _ProbedRecording)
        probes_by_window[window] = replay.policy.probes
    return [
        _first_condition(probes_by_window[window_by_request[request.index]].get(request.index))
        for request in timeline.requests
    ]


def _first_condition(probe: Probe | None) -> Probe | None:
    """Return the probe of the rule's threshold; None where there is none, and before any tokens were reported."""
    while probe is not None and probe.passed_before is not None:
        probe = probe.passed_before
    if probe is None or not probe.threshold or probe.signal == NOT_REPORTED_SIGNAL:
        return None
    return probe


def compactions_of(
    timeline: Timeline, *, with_failed: bool = True
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the requests before which the user requested a compaction, and those before which the agent compacted.

    Both may happen before one request. Without ``with_failed``, only compactions that replaced messages are counted.
    """
    compactions = {
        (event.request, event.cause == "by hand")
        for event in timeline.events
        if event.kind == "compact" or (with_failed and event.kind.startswith("compact"))
    }
    by_hand = tuple(sorted(request for request, is_by_hand in compactions if is_by_hand))
    return by_hand, tuple(sorted(request for request, is_by_hand in compactions if not is_by_hand))


def matched_compactions(
    compactions: Sequence[int], acting_requests: Iterable[int]
) -> frozenset[int]:
    """Return the compactions at which a rule acts, or at most one request away; each acting request matches one of them."""
    unmatched_acts = {*acting_requests}
    matched_requests = set()
    for offsets in ((0,), (-MAX_NEIGHBOUR_DISTANCE, MAX_NEIGHBOUR_DISTANCE)):
        for request in compactions:
            near_acts = [
                request + offset for offset in offsets if request + offset in unmatched_acts
            ]
            if request not in matched_requests and near_acts:
                matched_requests.add(request)
                unmatched_acts.discard(near_acts[0])
    return frozenset(matched_requests)


def neighbours(request: int) -> range:
    """Return the requests that are close enough to a request to count as the same."""
    return range(request - MAX_NEIGHBOUR_DISTANCE, request + MAX_NEIGHBOUR_DISTANCE + 1)


def first_of_runs(requests: Iterable[int]) -> tuple[int, ...]:
    """Return the first request of each run of consecutive requests."""
    all_requests = {*requests}
    return tuple(sorted(request for request in all_requests if request - 1 not in all_requests))


def _unclear_sentences(result: OwnRule, probes: Sequence[Probe | None]) -> Iterator[str]:
    for request in result.unclear:
        probe = _probe_at(probes, request)
        if probe is None:
            yield f"Nothing was reported before the compaction before request {request + 1}, so that it cannot be checked."
            continue
        yield (
            f"What began the compaction before request {request + 1} is not recorded; at {probe.value:,.0f} {result.unit} it is below "
            f"the threshold of {probe.threshold:,.0f}: it was asked for, or the settings were others."
        )


def _threshold_sentences(
    result: OwnRule, probes: Sequence[Probe | None], compactions: Iterable[int]
) -> Iterator[str]:
    """Yield a sentence on the possible thresholds of a session whose compactions the rule does not explain."""
    if result.is_reproduced:
        return
    near_compactions = {near for request in compactions for near in neighbours(request)}
    highest_below = _highest_value(probes, {*range(len(probes))} - near_compactions)
    rule_text = (
        f"the rule's is {result.threshold:,.0f} {result.unit}, and its settings are not recorded."
    )
    values_above = [
        _highest_value(probes, neighbours(request))
        for request in (*result.found_at, *result.missed)
    ]
    lowest_above = min(values_above, default=None)
    if lowest_above is None:
        yield f"Up to {highest_below:,.0f} {result.unit} it did not compact, so its threshold was higher or switched off; {rule_text}"
    elif highest_below < lowest_above:
        yield f"Its threshold must have been from {highest_below:,.0f} to below {lowest_above:,.0f} {result.unit}; {rule_text}"
    else:
        yield f"No threshold fits all of its compactions and no other request; {rule_text}"


def _probe_at(probes: Sequence[Probe | None], request: int) -> Probe | None:
    return probes[request] if request < len(probes) else None


def _highest_value(probes: Sequence[Probe | None], requests: Iterable[int]) -> float:
    chosen_probes = (probes[request] for request in requests if 0 <= request < len(probes))
    return max((probe.value for probe in chosen_probes if probe is not None), default=0.0)


def _found_text(requests: Sequence[int], total_count: int, noun: str) -> str:
    """Return how many of the recorded compactions or clearings a rule explains, as a part of a sentence."""
    if not total_count:
        return f" had no automatic {noun} to find"
    text = f" found {len(requests)} of {total_count} {noun}s"
    if not requests:
        return text
    return f"{text}, at request{'' if len(requests) == 1 else 's'} {_numbers_text(requests)}"


def _numbers_text(requests: Sequence[int]) -> str:
    return ", ".join(f"{request + 1:,}" for request in requests)
