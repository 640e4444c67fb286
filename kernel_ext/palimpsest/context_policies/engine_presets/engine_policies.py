"""The engine's own presets as policies over a timeline of any agent's session.

Each is made from its row in ``context/presets.py``, and decides by the functions of the live loop. Its numbers are
those of the policy, by their dotted names, such as ``prune.protect_tokens``.
"""

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, ClassVar, Self

from palimpsest.context.budget.request_tokens import usable_tokens
from palimpsest.context.budget.window_guard import DEFAULT_WINDOW
from palimpsest.context.policy_overrides import (
    check_number,
    policy_differences,
    policy_numbers,
    policy_with_changes,
    read_number,
    value_text,
)
from palimpsest.context.presets import LISTED_PRESETS, ListedPreset
from palimpsest.context.request_assembly.fit import FitAttempts
from palimpsest.context_policies.engine_presets.engine_compaction import (
    apply_history_limit,
    compact_by_hand,
    without_undone_compactions,
)
from palimpsest.context_policies.engine_presets.engine_fit import (
    compact_after_turn,
    make_it_fit,
    prune_after_turn,
    truncate_new_outputs,
)
from palimpsest.context_policies.engine_presets.engine_state import EngineState
from palimpsest.context_policies.engine_presets.engine_step import EngineStep
from palimpsest.context_policies.interface.policy import (
    ContextPolicy,
    PolicyResult,
    PolicyView,
    SessionFacts,
)
from palimpsest.context_policies.interface.settings import Preset
from palimpsest.context_policies.summary_size import SUMMARY_TOKENS
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.timeline import Timeline
from palimpsest.transcript.values import ModelInfo, ModelRef


class EnginePolicy(Preset):
    """A context policy of the engine, with the numbers that were changed."""

    sticky = False
    when = "both"
    engine_preset: ClassVar[Policy] = Policy()
    """The engine's preset."""
    window: int = 0
    """Assumed window in tokens; 0 takes the recorded window."""
    summary: int = SUMMARY_TOKENS
    """Tokens of a placeholder summary."""
    changes: tuple[tuple[str, Any], ...] = ()
    """The numbers that differ from the preset's, by their dotted names."""

    @cached_property
    def engine(self) -> Policy:
        """The policy as the live loop uses it."""
        changes = {**dict(self.changes), "estimator": self.estimator}
        return policy_with_changes(self.engine_preset, changes)

    @property
    def name(self) -> str:
        """The policy's name, with the numbers that differ from the preset's, as ``policies.get`` reads it."""
        preset_name = Preset.name.fget(replace(self, changes=()))  # type: ignore[attr-defined]
        number_texts = [f"{key}={shlex.quote(value_text(value))}" for key, value in self.changes]
        return " ".join([preset_name, *number_texts])

    def with_numbers(self, numbers: Mapping[str, Any], engine_numbers: Mapping[str, Any]) -> Self:
        """Return the policy with other ``numbers``, its own fields, and ``engine_numbers`` by dotted names, as values or text."""
        preset_numbers, changes = policy_numbers(self.engine_preset), dict(self.changes)
        for key, value in engine_numbers.items():
            is_text = isinstance(value, str)
            changes[key] = read_number(f"{key}={value}")[1] if is_text else check_number(key, value)
        differing = ((key, value) for key, value in changes.items() if value != preset_numbers[key])
        return replace(self, **numbers, changes=tuple(sorted(differing)))

    @classmethod
    def of(
        cls, policy: Policy, *, window: int = 0, summary: int = SUMMARY_TOKENS
    ) -> "EnginePolicy":
        """Return an engine policy as a policy over a timeline; raises ConfigError for an unknown preset."""
        changes = {key: value for key, (_, value) in policy_differences(policy).items()}
        changes.pop("estimator", None)
        return PRESET_BY_NAME[policy.name](
            window=window,
            summary=summary,
            estimator=policy.estimator,
            changes=tuple(sorted(changes.items())),
        )

    @classmethod
    def own_numbers(cls) -> Mapping[str, Any]:
        """Return the numbers that are fields of the preset, with their defaults."""
        return {key: value for key, value in super().own_numbers().items() if key != "changes"}

    @classmethod
    def other_numbers(cls) -> Mapping[str, Any]:
        """Return the numbers of the engine's policy, by dotted names, with the preset's values."""
        numbers = policy_numbers(cls.engine_preset)
        return {key: value for key, value in numbers.items() if key != "estimator"}

    def __reduce__(self) -> tuple[Any, ...]:
        build = partial(EnginePolicy.of, self.engine, window=self.window, summary=self.summary)
        return build, ()

    def start(self, facts: SessionFacts) -> EngineState:
        """Return the initial state: nothing is reduced, and without an assumed window each request has its recorded one."""
        has_system_item = any(item.kind == "system" for item in facts.timeline.items)
        return EngineState(self.own_window_of(facts), facts.unseen_tokens if has_system_item else 0)

    def step(self, state: EngineState, view: PolicyView) -> PolicyResult:
        """Make the decisions of the live loop at the end of a turn, or before a request."""
        step = EngineStep(self.engine, without_undone_compactions(state, view), view, self.summary)
        output_count = truncate_new_outputs(step)
        tokens_as_recorded = state.tokens_as_recorded
        if step.at_turn_end:
            compact_after_turn(step)
            prune_after_turn(step)
            compact_by_hand(step)
            step.attempts = FitAttempts()
        else:
            compact_by_hand(step)
            apply_history_limit(step)
            make_it_fit(step)
            tokens_as_recorded = step.tokens_as_recorded
            budget_check = step.budget_check
            step.state = step.state._replace(
                used_tokens=step.total,
                estimated_tokens=budget_check.tokens,
                estimate_limit=budget_check.budget,
                fits=budget_check.fits,
            )
        step.state = step.state._replace(
            considered_outputs=output_count,
            tokens_as_recorded=tokens_as_recorded,
            item_count=view.count,
        )
        return step.policy_result(step.state)


def usable_window_sentences(
    policies: Iterable[ContextPolicy | None], timeline: Timeline, assumed_window: int = 0
) -> tuple[str, ...]:
    """Return a sentence on the usable window of each engine policy, where the model's longest answer is not known."""
    first_request = timeline.requests[0]
    facts = SessionFacts(timeline, assumed_window or first_request.window, 0, assumed_window)
    sentences = []
    for given_policy in policies:
        policy = getattr(given_policy, "policy", given_policy)
        if isinstance(policy, EnginePolicy) and not first_request.output_limit:
            window = policy.window_of(facts) or DEFAULT_WINDOW
            overflow = policy.engine.overflow
            model = ModelInfo(
                ref=ModelRef(provider="recorded", name=first_request.model or "model"),
                window=window,
                output_limit=overflow.output_cap,
            )
            sentences.append(
                f"{policy.name} works in {usable_tokens(model, overflow):,} of {window:,} tokens: the rest is kept free for the "
                "answer, whose longest is not known."
            )
    return tuple(sentences)


def _preset_class(listed: ListedPreset) -> type[EnginePolicy]:
    policy = listed.policy
    attributes = {
        "__doc__": listed.summary,
        "__module__": __name__,
        "__annotations__": {"estimator": str},
        "preset": policy.name,
        "source": listed.source,
        "token_source": listed.token_source,
        "sliders": listed.sliders,
        "engine_preset": policy,
        "estimator": policy.estimator,
    }
    return type("EnginePreset", (EnginePolicy,), attributes)


PRESETS = tuple(map(_preset_class, LISTED_PRESETS))
PRESET_BY_NAME = {preset.preset: preset for preset in PRESETS}
