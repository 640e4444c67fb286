"""Policies one after the other: each sees what those before it leave, counted by its own estimator.

What each of them decided is kept apart, in layers: an item shows the decision of the last that has one about
it, and one that an earlier policy took out is not there for the later ones.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from palimpsest.review.policies.policy import (
    Change,
    ContextPolicy,
    Decided,
    Layer,
    PolicyView,
    Probe,
    SessionFacts,
    When,
    with_changes,
)
from palimpsest.review.policies.recorded_policy import RecordedPolicy
from palimpsest.review.policies.stage_view import StageView
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.timeline import GONE_STATES


@dataclass(frozen=True)
class Pipeline:
    """A policy made of others, in order: ``a | b``."""

    stages: tuple[ContextPolicy, ...]

    def __post_init__(self) -> None:
        """Refuse what repeats the recorded requests; raises UserError."""
        alone = next((one for one in self.stages if isinstance(one, RecordedPolicy)), None)
        if alone is not None:
            raise UserError(
                f"The policy {alone.name!r} repeats the recorded requests, so that no other stands beside it: compare it"
                " alone, and give lifetime= to keep the requests of another policy longer."
            )

    @classmethod
    def of(cls, *policies: ContextPolicy) -> "Pipeline":
        """Return one pipeline of policies and of the stages of pipelines among them."""
        return cls(
            tuple(
                stage
                for one in policies
                for stage in (one.stages if isinstance(one, Pipeline) else (one,))
            )
        )

    def __or__(self, other: ContextPolicy) -> "Pipeline":
        """Return this pipeline with another policy behind it."""
        return Pipeline.of(self, other)

    @property
    def name(self) -> str:
        """The names of its policies, as ``policies.get`` reads them."""
        return " | ".join(stage.name for stage in self.stages)

    @property
    def source(self) -> str:
        """Where its rules come from, one after the other."""
        return "; ".join(stage.source for stage in self.stages)

    @property
    def estimator(self) -> str:
        """How the first policy counts; each other by its own."""
        return self.stages[0].estimator

    @property
    def when(self) -> When:
        """When its policies decide: ``both`` where they differ."""
        first, *others = {stage.when for stage in self.stages}
        return "both" if others else first

    @property
    def sticky(self) -> bool:
        """Whether the decisions of all its policies hold until they are replaced."""
        return all(getattr(stage, "sticky", True) for stage in self.stages)

    def start(self, facts: SessionFacts) -> dict[str, Any]:
        """Return the states of its policies, and that none shows anything otherwise."""
        return {
            "states": tuple(stage.start(facts) for stage in self.stages),
            "layers": tuple({} for _ in self.stages),
        }

    def step(self, state: Mapping[str, Any], view: PolicyView) -> Decided:
        """Let each policy decide on what those before it leave."""
        states, layers = list(state["states"]), list(state["layers"])
        moment = "request" if view.turn == view.request.turn else "turn end"
        over: dict[int, Change] = {}
        probes: list[Probe | None] = []
        fired = False
        idle: Counter[str] = Counter()
        for place, stage in enumerate(self.stages):
            if stage.when not in (moment, "both"):
                continue
            seen = StageView(view, dict(over), stage.estimator, self.estimator)
            decided = stage.step(states[place], seen)
            states[place] = decided.state
            fired = fired or decided.fired
            idle.update(decided.idle)
            probes.append(decided.held_by)
            if decided.changes:
                layers[place] = with_changes(layers[place], decided.changes)
                for change in decided.changes:
                    over[change.item] = _effective(change.item, layers)
        new = {"states": tuple(states), "layers": tuple(layers)}
        known = [one for one in probes if one is not None]
        nearest = max(known, key=lambda one: one.nearness, default=None)
        return Decided(new, tuple(over.values()), nearest, fired=fired, idle=idle)


def _effective(item: int, layers: list[Layer]) -> Change:
    """Return what all layers together show of an item."""
    found = Change(item, "whole")
    for layer in layers:
        found = layer.get(item, found)
        if found.state in GONE_STATES:
            break
    return found
