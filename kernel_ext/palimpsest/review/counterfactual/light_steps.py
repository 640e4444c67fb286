"""The steps of a replay over a timeline: sizes, decisions and summaries of each request, without its bytes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from palimpsest.context.budget.window_guard import window_refusal
from palimpsest.review.counterfactual.steps import Compaction, Step
from palimpsest.review.policies.engine_policies import EnginePolicy
from palimpsest.review.policies.engine_sizes import counted_requests
from palimpsest.review.policies.engine_state import EngineState
from palimpsest.review.policies.policy import (
    ContextPolicy,
    Decided,
    PolicyView,
    SessionFacts,
    When,
)
from palimpsest.review.replay.simulation import Simulation
from palimpsest.review.timeline.message_items import part_of
from palimpsest.transcript.context_values.decisions import Decision, DecisionAction
from palimpsest.transcript.timeline import Timeline, TimelineRequest, Transition
from palimpsest.transcript.values import ModelInfo, ModelRef

ACTIONS: dict[str, tuple[DecisionAction, str]] = {
    "truncated": ("truncate", "truncate"),
    "offloaded": ("truncate", "truncate"),
    "cleared": ("clear", "prune"),
    "masked": ("clear", "prune"),
    "out": ("drop", "drop"),
}
"""What each state is as a decision, and the beginning of its rule where the policy is no engine's."""
OWN_RULES = ("truncate", "prune/", "recover/")
"""Rules of the engine's deciders; what people decided holds under every policy and is not listed."""


class WatchedPolicy:
    """A policy of the engine whose states are kept, by request: they tell whether a request fits."""

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

    def step(self, state: Any, view: PolicyView) -> Decided:
        """Return what the policy decides."""
        decided = self.policy.step(state, view)
        self.states[view.request.index] = decided.state
        return decided


@dataclass(frozen=True)
class LightSteps:
    """Makes the steps of one side of a what-if.

    Responsibilities: count requests as the recording does; name decisions as the engine does; tell a summary
    that was recorded from one that was never written.
    """

    timeline: Timeline
    """As recorded."""
    simulation: Simulation
    differ: frozenset[int] = frozenset()
    """The requests that show something otherwise than the recorded ones."""
    policy: ContextPolicy | None = None
    states: Mapping[int, EngineState] = field(default_factory=dict)
    recorded: bool = False
    """The steps are those of the recording itself."""

    def steps(self) -> tuple[Step, ...]:
        """Return a step for each request."""
        tokens = self._tokens()
        return tuple(self._step(request, tokens) for request in self.timeline.requests)

    def _tokens(self) -> list[int]:
        """Return the tokens of each request, as the recording counted it where it was recorded here."""
        found = [round(one.total) for one in self.simulation.sizes]
        estimators = {one.estimator for one in self.timeline.requests} - {""}
        weighed = "" if self.recorded else self.simulation.ruler.estimator
        for estimator in estimators:
            counted = counted_requests(self.timeline, self._shown, estimator, weighed)
            for one in self.timeline.requests:
                if one.estimator == estimator:
                    found[one.index] = counted[one.index]
        return found

    def _step(self, request: TimelineRequest, tokens: Sequence[int]) -> Step:
        index = request.index
        size = self.simulation.sizes[index]
        before = self.simulation.sizes[index - 1].total if index else 0.0
        share = size.prefix / before if before else 0.0
        state = self.states.get(index)
        window, fits = request.window, True
        estimate, budget = tokens[index], max(request.window - request.reserve, 0)
        if state is not None:
            estimate, budget, fits = state.estimate, state.budget, state.fits
        elif window:
            fits = tokens[index] <= window
        otherwise = " otherwise" if index in self.differ else ""
        return Step(
            number=index + 1,
            seq=0,
            request_id=request.id,
            model=request.model,
            tokens=tokens[index],
            estimate=estimate,
            budget=budget,
            fits=fits or self.recorded,
            cached=round(share * tokens[index - 1]) if index else 0,
            sha256=f"{request.id}{otherwise}",
            decisions=tuple(self._decisions(index)),
            compactions=tuple(self._compactions(index, tokens)),
            refused=self._refused(request),
        )

    @property
    def _shown(self) -> Timeline:
        """What requests showed: as it was recorded, with its rules, or as it was replayed."""
        return self.timeline if self.recorded else self.simulation.timeline

    def _decisions(self, request: int) -> Iterator[Decision]:
        for one in self._shown.by_request.get(request, ()):
            rule = self._rule(one)
            if not rule:
                continue
            item = self.timeline.items[one.item]
            yield Decision(
                id="",
                action=ACTIONS[one.state][0],
                rule=rule,
                message_id=item.message,
                part_id=part_of(item),
                numbers=dict(one.numbers),
                tokens_before=self.timeline.weights(self.simulation.ruler.estimator)[one.item],
                tokens_after=one.tokens or 0,
            )

    def _rule(self, one: Transition) -> str:
        """Return the rule of a decider's decision; empty for what is none, or was decided by a person."""
        if one.state not in ACTIONS or self.timeline.items[one.item].kind in ("media", "summary"):
            return ""
        told = str(one.numbers.get("rule") or one.rule)
        if told.startswith(OWN_RULES):
            return told
        decided = not self.recorded and one.rule == self.simulation.policy
        if not decided or self.timeline.items[one.item].continues:
            return ""
        return f"{ACTIONS[one.state][1]}/{one.rule}"

    def _compactions(self, request: int, tokens: Sequence[int]) -> Iterator[Compaction]:
        those = self._shown.by_request.get(request, ())
        covered = {
            self.timeline.items[one.item].message for one in those if one.state == "summarised"
        }
        asked = round(self.simulation.sizes[request].summary_input) or (
            tokens[request - 1] if request else 0
        )
        made = partial(
            Compaction,
            tokens_before=asked,
            tokens_after=tokens[request],
            requested=asked,
            stand_in=False,
        )
        for one in those:
            item = self.timeline.items[one.item]
            written = item.kind == "summary" and one.state == "whole"
            stand_in = one.state == "summarised" and bool(one.tokens)
            if written or stand_in:
                yield made(item.message, len(covered), stand_in=stand_in)
        state = self.states.get(request)
        if state is not None and state.failed_at == request:
            yield made("", 0, good=False)
        if self.recorded and covered:
            for item in self.timeline.items:
                if item.kind == "summary" and item.entered == request:
                    yield made(item.message, len(covered))

    def _refused(self, request: TimelineRequest) -> str:
        if not isinstance(self.policy, EnginePolicy):
            return ""
        provider, _, name = request.model.partition("/")
        model = ModelInfo(
            ref=ModelRef(provider=provider, name=name or provider),
            window=self.policy.window or request.window,
            output_limit=request.output_limit,
        )
        return window_refusal(model, self.policy.engine.guard) or ""
