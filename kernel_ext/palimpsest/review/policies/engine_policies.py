"""The engine's own presets as policies over a timeline: what each would have shown of any agent's session.

Each holds a ``Policy`` as the live loop does, and decides by the same functions. Its numbers are those of the
policy, by their dotted names, such as ``prune.protect_tokens``.
"""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

from palimpsest.context.policy_overrides import (
    check_number,
    policy_numbers,
    policy_with_changes,
    read_number,
    value_text,
)
from palimpsest.context.presets import PRESETS as ENGINE
from palimpsest.review.policies.engine_compaction import (
    apply_history_limit,
    compact_by_hand,
    without_undone,
)
from palimpsest.review.policies.engine_fit import (
    compact_after_turn,
    make_it_fit,
    prune_after_turn,
)
from palimpsest.review.policies.engine_state import EngineState, first_state
from palimpsest.review.policies.engine_step import EngineStep
from palimpsest.review.policies.new_outputs import truncate_new_outputs
from palimpsest.review.policies.policy import Decided, PolicyView, SessionFacts, When
from palimpsest.review.policies.settings import Preset
from palimpsest.review.policies.summarising import SUMMARY_TOKENS
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.timeline import CHARS4

OURS = Policy().estimator


@dataclass(frozen=True, kw_only=True)
class EnginePolicy(Preset):
    """A context policy of the engine, with the numbers that were changed."""

    sticky: ClassVar[bool] = False
    when: ClassVar[When] = "both"
    sliders: ClassVar[tuple[str, ...]] = (
        "prune.protect_tokens",
        "compact.tail_maximum",
        "reserved",
    )
    window: int = 0
    """Tokens of context that are assumed; 0 takes the recorded window."""
    summary: int = SUMMARY_TOKENS
    """Tokens of a summary that was never written."""
    changes: tuple[tuple[str, Any], ...] = ()
    """The numbers that differ from the preset's, by their dotted names."""

    @cached_property
    def engine(self) -> Policy:
        """The policy as the live loop would have it."""
        changes = {**dict(self.changes), "estimator": self.estimator}
        return policy_with_changes(ENGINE[self.preset], changes)

    @property
    def name(self) -> str:
        """Its name, with the numbers that differ from the preset's, as ``policies.get`` reads it."""
        plain = Preset.name.fget(replace(self, changes=()))  # type: ignore[attr-defined]
        words = [f"{key}={shlex.quote(value_text(value))}" for key, value in self.changes]
        return " ".join([plain, *words])

    @classmethod
    def made(cls, numbers: Mapping[str, Any], more: Mapping[str, Any]) -> Self:
        """Return the policy with its own numbers and those of the engine's, by dotted names or as written."""
        base = policy_numbers(ENGINE[cls.preset])
        changes = {}
        for key, given in more.items():
            text = isinstance(given, str)
            value = read_number(f"{key}={given}")[1] if text else check_number(key, given)
            if value != base[key]:
                changes[key] = value
        return cls(**numbers, changes=tuple(sorted(changes.items())))

    @classmethod
    def of(
        cls, policy: Policy, *, window: int = 0, summary: int = SUMMARY_TOKENS
    ) -> "EnginePolicy":
        """Return a policy of the engine as one over a timeline."""
        preset = next(one for one in PRESETS if one.preset == policy.name)
        base = policy_numbers(ENGINE[policy.name])
        changes = {
            key: value
            for key, value in policy_numbers(policy).items()
            if value != base[key] and key != "estimator"
        }
        return preset(
            window=window,
            summary=summary,
            estimator=policy.estimator,
            changes=tuple(sorted(changes.items())),
        )

    def taking(self, other: Self, names: Mapping[str, Any]) -> Self:
        """Return this policy with some numbers of another one of the same preset."""
        own = [name for name in names if name in self.own_numbers()]
        found = super().taking(other, dict.fromkeys(own))
        theirs = dict(other.changes)
        changes = {key: value for key, value in self.changes if key not in names}
        changes |= {key: theirs[key] for key in names if key in theirs}
        return replace(found, changes=tuple(sorted(changes.items())))

    @classmethod
    def own_numbers(cls) -> Mapping[str, Any]:
        """Return the numbers that are fields of the preset, with their defaults."""
        return {key: one for key, one in super().own_numbers().items() if key != "changes"}

    @classmethod
    def more_numbers(cls) -> Mapping[str, Any]:
        """Return the numbers of the engine's policy, by dotted names, with the preset's values."""
        found = policy_numbers(ENGINE[cls.preset])
        return {key: value for key, value in found.items() if key != "estimator"}

    def start(self, facts: SessionFacts) -> EngineState:
        """Return the window, and that nothing is reduced."""
        return first_state(facts, self.window)

    def step(self, state: EngineState, view: PolicyView) -> Decided:
        """Decide what the live loop would have decided when a turn ended, or before a request."""
        step = EngineStep(self.engine, without_undone(state, view), view, self.summary)
        seen = truncate_new_outputs(step)
        compared = state.compared
        if step.at_turn_end:
            compact_after_turn(step)
            prune_after_turn(step)
            compact_by_hand(step)
            step.begin_turn()
        else:
            compact_by_hand(step)
            apply_history_limit(step)
            make_it_fit(step)
            compared = step.compared
            checked = step.checked
            step.state = step.state._replace(
                estimate=checked.tokens, budget=checked.budget, fits=checked.fits
            )
        step.state = step.state._replace(seen=seen, compared=compared, items=view.count)
        return step.decided(step.state)


@dataclass(frozen=True, kw_only=True)
class PalimpsestPolicy(EnginePolicy):
    """Our own: long results keep head and tail, old ones are cleared in batches near the budget, then a summary."""

    preset: ClassVar[str] = "palimpsest"
    source: ClassVar[str] = "palimpsest, context/presets.py: the default policy"
    sliders: ClassVar[tuple[str, ...]] = (
        "prune.start_share",
        "prune.protect_tokens",
        "prune.minimum_tokens",
    )
    estimator: str = OURS


@dataclass(frozen=True, kw_only=True)
class OpenCodeOlder(EnginePolicy):
    """OpenCode's older engine: old results are cleared after turns, and a full window is summarised whole."""

    preset: ClassVar[str] = "opencode-1.1"
    source: ClassVar[str] = "OpenCode 1.1, as the engine's preset has it"
    sliders: ClassVar[tuple[str, ...]] = (
        "prune.protect_tokens",
        "prune.minimum_tokens",
        "prune.protect_turns",
    )
    estimator: str = CHARS4


@dataclass(frozen=True, kw_only=True)
class OpenCodeNewer(EnginePolicy):
    """OpenCode's newer engine: nothing is cleared, and a full window is summarised up to a tail of turns."""

    preset: ClassVar[str] = "opencode-1.18"
    source: ClassVar[str] = "OpenCode 1.18, as the engine's preset has it"
    estimator: str = CHARS4


@dataclass(frozen=True, kw_only=True)
class OpenClawOlder(EnginePolicy):
    """OpenClaw's older engine: with a cold cache old results are trimmed for one request, then cleared."""

    preset: ClassVar[str] = "openclaw-2026.2"
    source: ClassVar[str] = "OpenClaw 2026.2, as the engine's preset has it"
    sliders: ClassVar[tuple[str, ...]] = (
        "prune.soft_ratio",
        "prune.hard_ratio",
        "prune.ttl_seconds",
    )
    estimator: str = OURS


@dataclass(frozen=True, kw_only=True)
class OpenClawNewer(EnginePolicy):
    """OpenClaw's newer engine: as the older one, but trims stay, and a weighted estimate is checked beforehand."""

    preset: ClassVar[str] = "openclaw-2026.9"
    source: ClassVar[str] = "OpenClaw 2026.9, as the engine's preset has it"
    sliders: ClassVar[tuple[str, ...]] = (
        "prune.soft_ratio",
        "prune.hard_ratio",
        "overflow.safety_margin",
    )
    estimator: str = OURS


PRESETS: tuple[type[EnginePolicy], ...] = (
    PalimpsestPolicy,
    OpenCodeOlder,
    OpenCodeNewer,
    OpenClawOlder,
    OpenClawNewer,
)
