"""Pipelines of policies: each policy sees the result of those before it, counted by its own estimator.

The decisions of each policy are a layer: an item is shown as the last policy decided about it, and an
item that an earlier policy removed does not exist for the later policies.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from palimpsest.context_policies.interface.policy import (
    Change,
    ContextPolicy,
    Layer,
    PolicyResult,
    PolicyView,
    Probe,
    SessionFacts,
    When,
    with_changes,
)
from palimpsest.context_policies.interface.recorded_policy import RecordedPolicy
from palimpsest.context_policies.interface.stage_view import StageView
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.timeline import GONE_STATES


@dataclass(frozen=True)
class Pipeline:
    """A policy made of others, in order: ``a | b``."""

    stages: tuple[ContextPolicy, ...]

    def __post_init__(self) -> None:
        """Raise UserError for a stage that repeats the recorded requests."""
        recorded_stage = next(
            (stage for stage in self.stages if isinstance(stage, RecordedPolicy)), None
        )
        if recorded_stage is not None:
            raise UserError(
                f"The policy {recorded_stage.name!r} repeats the recorded requests, so that no other stands beside it: compare it"
                " alone, and give lifetime= to keep the requests of another policy longer."
            )

    @classmethod
    def of(cls, *policies: ContextPolicy) -> "Pipeline":
        """Return one pipeline of policies, in which pipelines are replaced by their stages."""
        return cls(
            tuple(
                stage
                for policy in policies
                for stage in (policy.stages if isinstance(policy, Pipeline) else (policy,))
            )
        )

    def __or__(self, other: ContextPolicy) -> "Pipeline":
        """Return this pipeline with another policy at its end."""
        return Pipeline.of(self, other)

    @property
    def name(self) -> str:
        """The names of the pipeline's policies, in the form that ``policies.get`` reads."""
        return " | ".join(stage.name for stage in self.stages)

    @property
    def source(self) -> str:
        """The sources of its policies, one after the other."""
        return "; ".join(stage.source for stage in self.stages)

    @property
    def estimator(self) -> str:
        """The estimator of the first policy; each other counts by its own."""
        return self.stages[0].estimator

    @property
    def when(self) -> When:
        """When its policies decide: ``both`` where they differ."""
        first, *others = {stage.when for stage in self.stages}
        return "both" if others else first

    @property
    def sticky(self) -> bool:
        """Whether the decisions of all its policies stay in effect until they are replaced."""
        return all(getattr(stage, "sticky", True) for stage in self.stages)

    def start(self, facts: SessionFacts) -> dict[str, Any]:
        """Return the initial states of the policies, with empty layers."""
        return {
            "states": tuple(stage.start(facts) for stage in self.stages),
            "layers": tuple({} for _ in self.stages),
        }

    def step(self, state: Mapping[str, Any], view: PolicyView) -> PolicyResult:
        """Let each policy decide on the result of those before it."""
        states, layers = list(state["states"]), list(state["layers"])
        moment_name = "request" if view.turn == view.request.turn else "turn end"
        changes: dict[int, Change] = {}
        probes: list[Probe | None] = []
        has_fired = False
        ineffective_counts: Counter[str] = Counter()
        for position, stage in enumerate(self.stages):
            if stage.when not in (moment_name, "both"):
                continue
            stage_view = StageView(view, dict(changes), stage.estimator, self.estimator)
            stage_result = stage.step(states[position], stage_view)
            states[position] = stage_result.state
            has_fired = has_fired or stage_result.fired
            ineffective_counts.update(stage_result.ineffective_counts)
            probes.append(stage_result.reported_probe)
            if stage_result.changes:
                layers[position] = with_changes(layers[position], stage_result.changes)
                for change in stage_result.changes:
                    changes[change.item] = _combined_change(change.item, layers)
        new_state = {"states": tuple(states), "layers": tuple(layers)}
        known_probes = [probe for probe in probes if probe is not None]
        nearest = max(known_probes, key=lambda probe: probe.nearness, default=None)
        return PolicyResult(
            new_state,
            tuple(changes.values()),
            nearest,
            fired=has_fired,
            ineffective_counts=ineffective_counts,
        )


def _combined_change(item: int, layers: list[Layer]) -> Change:
    change = Change(item, "whole")
    for layer in layers:
        change = layer.get(item, change)
        if change.state in GONE_STATES:
            break
    return change
