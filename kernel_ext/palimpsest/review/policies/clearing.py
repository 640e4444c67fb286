"""Policies that clear or mask old tool results and call no model.

Rules and numbers follow spec/review.md 2.1, read from the projects at the versions named in each ``source``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from palimpsest.review.policies.policy import (
    Change,
    Decided,
    PolicyView,
    Probe,
    SessionFacts,
    When,
)
from palimpsest.review.policies.settings import Preset

OPENCODE_CLEARED = "[Old tool result content cleared]"
OPENCODE_PROTECTED = frozenset({"skill"})
LANGCHAIN_CLEARED = "[cleared]"
MASKED = "<MASKED>"


@dataclass(frozen=True, kw_only=True)
class OpenCodePrune(Preset):
    """OpenCode's prune: at the end of a turn, results older than the newest ``protect`` tokens are cleared.

    Nothing is cleared below ``minimum`` tokens. The walk back stops at a result that is cleared already.
    """

    preset: ClassVar[str] = "opencode.prune"
    source: ClassVar[str] = "OpenCode 31e22f65, session/compaction.ts: PRUNE_PROTECT, PRUNE_MINIMUM"
    when: ClassVar[When] = "turn end"
    protect: int = 40_000
    minimum: int = 20_000
    turns: int = 2
    """The newest turns, whose results are kept."""

    def start(self, facts: SessionFacts) -> None:  # as every policy
        """Return no state: what is cleared is seen in the view."""

    def step(self, state: None, view: PolicyView) -> Decided:  # noqa: ARG002
        """Clear what lies beyond the protected tokens, if it is enough."""
        passed = freed = 0
        found: list[int] = []
        for index in reversed(view.outputs):
            item = view.item(index)
            if item.turn > view.turn - self.turns:
                continue
            if view.state(index) != "whole":
                break
            if item.tool in OPENCODE_PROTECTED or item.pinned:
                continue
            passed += view.weight(index)
            if passed > self.protect:
                freed += view.weight(index)
                found.append(index)
        probe = Probe("tokens of results that may be cleared", freed, self.minimum)
        if freed <= self.minimum:
            return Decided(None, probe=probe)
        return Decided(None, _cleared(found, OPENCODE_CLEARED), probe, fired=True)


@dataclass(frozen=True, kw_only=True)
class GeminiMask(Preset):
    """Gemini CLI's masking: results older than the newest ``protect`` tokens become a head, a tail and a file.

    Nothing is masked below ``minimum`` tokens; the latest turn is kept.
    """

    preset: ClassVar[str] = "gemini.mask"
    source: ClassVar[str] = "Gemini CLI 5411f11, services/toolOutputMaskingService.ts"
    protect: int = 50_000
    minimum: int = 30_000
    preview_chars: int = 500
    """Characters of head and of tail that stay."""

    def start(self, facts: SessionFacts) -> None:
        """Return no state: what is masked is seen in the view."""

    def step(self, state: None, view: PolicyView) -> Decided:  # noqa: ARG002
        """Mask what lies beyond the protected tokens, if it is enough."""
        passed = freed = 0
        found: list[int] = []
        for index in reversed(view.outputs):
            if view.state(index) != "whole" or view.item(index).pinned:
                continue
            weight = view.weight(index)
            passed += weight
            if passed > self.protect and view.item(index).turn < view.turn:
                freed += weight
                found.append(index)
        probe = Probe("tokens of results that may be masked", freed, self.minimum)
        if freed <= self.minimum:
            return Decided(None, probe=probe)
        changes = [
            Change(index, "masked", chars=min(view.item(index).chars, 2 * self.preview_chars + 60))
            for index in found
        ]
        return Decided(None, changes, probe, fired=True)


@dataclass(frozen=True, kw_only=True)
class SweAgentLastN(Preset):
    """SWE-agent's last n observations: all older ones are elided before every request.

    With ``polling`` over 1 the border moves in steps of so many observations, which spares the cache.
    """

    preset: ClassVar[str] = "sweagent.last_n"
    source: ClassVar[str] = "SWE-agent 3ea751c, agent/history_processors.py: LastNObservations"
    sticky: ClassVar[bool] = False
    n: int = 5
    polling: int = 1

    def start(self, facts: SessionFacts) -> int:  # noqa: ARG002
        """Return how many observations are elided: none."""
        return 0

    def step(self, state: int, view: PolicyView) -> Decided:
        """Elide the observations that are no longer among the newest."""
        outputs = view.outputs
        border = (len(outputs) // self.polling) * self.polling - self.n
        probe = Probe("observations", len(outputs), self.n, "observations")
        if border <= state:
            return Decided(state, probe=probe)
        gone = outputs[state:border]
        changes = [Change(one, "masked", _elided(view, one)) for one in gone]
        return Decided(border, changes, probe, fired=bool(changes))


@dataclass(frozen=True, kw_only=True)
class MaskWindow(Preset):
    """Observation masking: all but the newest ``n`` observations become a placeholder before every request."""

    preset: ClassVar[str] = "complexity_trap.mask"
    source: ClassVar[str] = "The Complexity Trap, arXiv 2508.21433 v3: M = 10"
    sticky: ClassVar[bool] = False
    n: int = 10
    placeholder: str = ""
    """Empty: the count of lines that SWE-agent writes."""

    def start(self, facts: SessionFacts) -> int:  # noqa: ARG002
        """Return how many observations are masked: none."""
        return 0

    def step(self, state: int, view: PolicyView) -> Decided:
        """Mask the observations that are no longer among the newest."""
        border = max(state, len(view.outputs) - self.n)
        probe = Probe("observations", len(view.outputs), self.n, "observations")
        gone = view.outputs[state:border]
        changes = [Change(one, "masked", self.placeholder or _elided(view, one)) for one in gone]
        return Decided(border, changes, probe, fired=bool(changes))


@dataclass(frozen=True, kw_only=True)
class OpenHandsMask(MaskWindow):
    """OpenHands' observation masking: all but the newest observations become ``<MASKED>``."""

    preset: ClassVar[str] = "openhands.observation_masking"
    source: ClassVar[str] = "OpenHands 611629e, condenser/impl/observation_masking_condenser.py"
    n: int = 100
    placeholder: str = MASKED


@dataclass(frozen=True, kw_only=True)
class ClearToolUses(Preset):
    """Anthropic's clear_tool_uses: above ``trigger`` tokens all but the newest ``keep`` results are cleared.

    With ``at_least`` nothing is cleared that would free fewer tokens. ``recomputed``: the server gets the whole
    history again, so that the rule holds for every request that is over the trigger before it.
    """

    preset: ClassVar[str] = "anthropic.clear_tool_uses"
    source: ClassVar[str] = (
        "Anthropic API, clear_tool_uses_20250919 (beta context-management-2025-06-27)"
    )
    trigger: int = 100_000
    keep: int = 3
    at_least: int = 0
    clear_inputs: bool = False
    excluded: tuple[str, ...] = ()
    recomputed: bool = False
    placeholder: str = OPENCODE_CLEARED

    def start(self, facts: SessionFacts) -> int:  # noqa: ARG002
        """Return how many results are cleared: none."""
        return 0

    def step(self, state: int, view: PolicyView) -> Decided:
        """Clear what may be cleared where the request is over the trigger."""
        total = view.raw_total if self.recomputed else view.total
        probe = Probe("tokens of the request", total, self.trigger)
        border = max(state, len(view.outputs) - self.keep)
        if total <= self.trigger or border == state:
            return Decided(state, probe=probe)
        gone = [
            one for one in view.outputs[state:border] if view.item(one).tool not in self.excluded
        ]
        freed = sum(view.weight(one) - -(-len(self.placeholder) // 4) for one in gone)
        if self.at_least and freed < self.at_least:
            return Decided(state, probe=probe)
        changes = _cleared(gone, self.placeholder)
        if self.clear_inputs:
            groups = {view.item(one).group for one in gone}
            first = view.item(gone[0]).index
            changes = [
                *changes,
                *(
                    Change(index, "cleared")
                    for index in range(max(0, first - 1_000), view.count)
                    if view.item(index).kind == "call" and view.item(index).group in groups
                ),
            ]
        return Decided(border, changes, probe, fired=True)


@dataclass(frozen=True, kw_only=True)
class LangChainClear(ClearToolUses):
    """LangChain's ClearToolUsesEdit: the same rule, made anew for each request and not stored."""

    preset: ClassVar[str] = "langchain.clear_tool_uses"
    source: ClassVar[str] = "LangChain 1.x, agents/middleware/context_editing.py: ClearToolUsesEdit"
    sticky: ClassVar[bool] = False
    recomputed: bool = True
    placeholder: str = LANGCHAIN_CLEARED


def _cleared(items: Sequence[int], placeholder: str) -> list[Change]:
    return [Change(index, "cleared", placeholder) for index in items]


def _elided(view: PolicyView, index: int) -> str:
    """Return SWE-agent's text for an elided observation, which counts its lines."""
    lines = view.read(index).count("\n") + 1
    return f"Old environment output: ({lines} lines omitted)"


PRESETS: tuple[type[Preset], ...] = (
    OpenCodePrune,
    GeminiMask,
    SweAgentLastN,
    MaskWindow,
    OpenHandsMask,
    ClearToolUses,
    LangChainClear,
)
