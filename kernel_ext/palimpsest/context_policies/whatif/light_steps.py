"""The steps of a replay over a timeline: sizes, decisions and summaries of each request, without its bytes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from palimpsest.context.budget.window_guard import window_refusal
from palimpsest.context_policies.engine_presets.engine_policies import EnginePolicy
from palimpsest.context_policies.engine_presets.engine_state import EngineState
from palimpsest.context_policies.interface.policy import (
    ContextPolicy,
    PolicyResult,
    PolicyView,
    SessionFacts,
    When,
)
from palimpsest.context_policies.items.engine_sizes import request_token_counts
from palimpsest.context_policies.replay.simulation import Simulation
from palimpsest.context_policies.whatif.steps import Compaction, Step
from palimpsest.recordings.timeline.message_items import part_id_of
from palimpsest.transcript.context_values.decisions import Decision, DecisionAction
from palimpsest.transcript.timeline import Timeline, TimelineRequest, Transition
from palimpsest.transcript.values import ModelInfo, ModelRef

ACTION_BY_STATE: dict[str, tuple[DecisionAction, str]] = {
    "truncated": ("truncate", "truncate"),
    "offloaded": ("truncate", "truncate"),
    "cleared": ("clear", "prune"),
    "masked": ("clear", "prune"),
    "out": ("drop", "drop"),
}
"""For each item state, the action of a decision and the prefix of its rule, for policies that are not the engine's."""
ENGINE_RULE_PREFIXES = ("truncate", "prune/", "recover/")
"""Prefixes of the rules of the engine's deciders; the user's decisions apply under every policy and are not listed."""


class StateRecordingPolicy:
    """An engine policy that records its state at each request, which shows whether the request fits."""

    def __init__(self, policy: EnginePolicy, states: dict[int, EngineState]) -> None:
        self.policy = policy
        self.states = states
        self.name = policy.name
        self.source = policy.source
        self.estimator = policy.estimator
        self.when: When = policy.when

    def start(self, facts: SessionFacts) -> Any:
        """Return the policy's state before the first request."""
        return self.policy.start(facts)

    def step(self, state: Any, view: PolicyView) -> PolicyResult:
        """Return the policy's decision, and record its state."""
        policy_result = self.policy.step(state, view)
        self.states[view.request.index] = policy_result.state
        return policy_result


@dataclass(frozen=True)
class LightSteps:
    """Builds the steps of one side of a what-if, counted as in the recording, with the engine's decision names."""

    timeline: Timeline
    """The recorded timeline."""
    simulation: Simulation
    differing_requests: frozenset[int] = frozenset()
    """The requests that differ from the recorded ones."""
    policy: ContextPolicy | None = None
    states: Mapping[int, EngineState] = field(default_factory=dict)
    is_recorded: bool = False
    """Whether this side is the recorded session."""

    def steps(self) -> tuple[Step, ...]:
        """Return a step for each request."""
        tokens = self._request_tokens()
        return tuple(self._step(request, tokens) for request in self.timeline.requests)

    def _request_tokens(self) -> list[int]:
        """Return the tokens of each request; by the recording's estimator, if the session was recorded here."""
        tokens = [round(size.total) for size in self.simulation.sizes]
        estimators = {request.estimator for request in self.timeline.requests} - {""}
        weight_estimator = "" if self.is_recorded else self.simulation.ruler.estimator
        for estimator in estimators:
            token_counts = request_token_counts(
                self.timeline, self._shown_timeline, estimator, weight_estimator
            )
            for request in self.timeline.requests:
                if request.estimator == estimator:
                    tokens[request.index] = token_counts[request.index]
        return tokens

    def _step(self, request: TimelineRequest, tokens: Sequence[int]) -> Step:
        index = request.index
        size = self.simulation.sizes[index]
        previous_total = self.simulation.sizes[index - 1].total if index else 0.0
        prefix_share = size.prefix / previous_total if previous_total else 0.0
        state = self.states.get(index)
        window, fits = request.window, True
        estimate, budget = tokens[index], max(request.window - request.reserve, 0)
        if state is not None:
            estimate, budget, fits = state.estimated_tokens, state.estimate_limit, state.fits
        elif window:
            fits = tokens[index] <= window
        difference_mark = " otherwise" if index in self.differing_requests else ""
        return Step(
            number=index + 1,
            seq=0,
            request_id=request.id,
            model=request.model,
            tokens=tokens[index],
            estimate=estimate,
            budget=budget,
            fits=fits or self.is_recorded,
            cached=round(prefix_share * tokens[index - 1]) if index else 0,
            sha256=f"{request.id}{difference_mark}",
            decisions=tuple(self._decisions(index)),
            compactions=tuple(self._compactions(index, tokens)),
            refused=self._refusal(request),
        )

    @property
    def _shown_timeline(self) -> Timeline:
        """The timeline whose transitions the steps show: the recorded or the replayed one."""
        return self.timeline if self.is_recorded else self.simulation.timeline

    def _decisions(self, request_index: int) -> Iterator[Decision]:
        weights = self.timeline.weights(self.simulation.ruler.estimator)
        for transition in self._shown_timeline.by_request.get(request_index, ()):
            rule = self._rule(transition)
            if not rule:
                continue
            item = self.timeline.items[transition.item]
            yield Decision(
                id="",
                action=ACTION_BY_STATE[transition.state][0],
                rule=rule,
                message_id=item.message,
                part_id=part_id_of(item),
                numbers=dict(transition.numbers),
                tokens_before=weights[transition.item],
                tokens_after=transition.tokens or 0,
            )

    def _rule(self, transition: Transition) -> str:
        """Return the rule of a decider's decision; empty for other transitions, and for the user's decisions."""
        item = self.timeline.items[transition.item]
        if transition.state not in ACTION_BY_STATE or item.kind in ("media", "summary"):
            return ""
        rule = str(transition.numbers.get("rule") or transition.rule)
        if rule.startswith(ENGINE_RULE_PREFIXES):
            return rule
        is_by_policy = not self.is_recorded and transition.rule == self.simulation.policy_name
        if not is_by_policy or item.continues:
            return ""
        return f"{ACTION_BY_STATE[transition.state][1]}/{transition.rule}"

    def _compactions(self, request_index: int, tokens: Sequence[int]) -> Iterator[Compaction]:
        transitions = self._shown_timeline.by_request.get(request_index, ())
        covered_message_ids = {
            self.timeline.items[transition.item].message
            for transition in transitions
            if transition.state == "summarised"
        }
        requested_tokens = round(self.simulation.sizes[request_index].summary_input) or (
            tokens[request_index - 1] if request_index else 0
        )
        new_compaction = partial(
            Compaction,
            tokens_before=requested_tokens,
            tokens_after=tokens[request_index],
            requested_tokens=requested_tokens,
            stand_in=False,
        )
        for transition in transitions:
            item = self.timeline.items[transition.item]
            is_recorded_summary = item.kind == "summary" and transition.state == "whole"
            stand_in = transition.state == "summarised" and bool(transition.tokens)
            if is_recorded_summary or stand_in:
                yield new_compaction(item.message, len(covered_message_ids), stand_in=stand_in)
        state = self.states.get(request_index)
        if state is not None and state.failed_at == request_index:
            yield new_compaction("", 0, succeeded=False)
        if self.is_recorded and covered_message_ids:
            for item in self.timeline.items:
                if item.kind == "summary" and item.entered == request_index:
                    yield new_compaction(item.message, len(covered_message_ids))

    def _refusal(self, request: TimelineRequest) -> str:
        if not isinstance(self.policy, EnginePolicy):
            return ""
        provider, _, name = request.model.partition("/")
        model = ModelInfo(
            ref=ModelRef(provider=provider, name=name or provider),
            window=self.policy.window or request.window,
            output_limit=request.output_limit,
        )
        return window_refusal(model, self.policy.engine.guard) or ""
