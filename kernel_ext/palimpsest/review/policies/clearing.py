"""Policies that clear old tool results or reasoning and call no model.

Rules and numbers were read from the projects at the versions named in each ``source``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from palimpsest.review.policies.permitted import ABSENT
from palimpsest.review.policies.policy import Change, Decided, PolicyView, Probe, When
from palimpsest.review.policies.settings import ActsAt, Preset, window_of

OPENCODE_CLEARED = "[Old tool result content cleared]"
OPENCODE_PROTECTED = frozenset({"skill"})
LANGCHAIN_CLEARED = "[cleared]"
INSPECT_CLEARED = "(Tool result removed)"
MICRO_CLEARED = "[Previous: used {tool}]"
CALL_REACH = 400
"""How many items before its result a call is looked for."""


@dataclass(frozen=True, kw_only=True)
class OpenCodePrune(Preset):
    """OpenCode's prune: at the end of a turn, results older than the newest ``protect`` tokens are cleared.

    Nothing is cleared below ``minimum`` tokens. The walk back stops at a result that is cleared already.
    """

    preset: ClassVar[str] = "opencode.prune"
    source: ClassVar[str] = "OpenCode, session/compaction.ts: PRUNE_PROTECT, PRUNE_MINIMUM"
    version: ClassVar[str] = "31e22f65"
    when: ClassVar[When] = "turn end"
    acts_at: ClassVar[ActsAt] = "turn end"
    protect: int = 40_000
    minimum: int = 20_000
    turns: int = 2
    """The newest turns, whose results are kept."""

    def decide(self, state: int, view: PolicyView) -> Decided:
        """Clear what lies beyond the protected tokens, if it is enough."""
        passed = freed = 0
        found: list[int] = []
        for index in reversed(view.outputs):
            item = view.item(index)
            if item.turn > view.turn - self.turns:
                continue
            shown = view.state(index)
            if item.tool in OPENCODE_PROTECTED or item.pinned or shown in ABSENT:
                continue
            if shown == "cleared":
                break
            passed += view.tokens(index)
            if passed > self.protect:
                freed += view.tokens(index)
                found.append(index)
        probe = Probe("tokens of results that may be cleared", freed, self.minimum)
        if freed <= self.minimum:
            return Decided(state, probe=probe)
        return Decided(state, cleared(found, OPENCODE_CLEARED), probe, fired=True)


@dataclass(frozen=True, kw_only=True)
class ClearToolUses(Preset):
    """Anthropic's clear_tool_uses: above ``trigger`` tokens all but the newest ``keep`` results are cleared.

    With ``at_least`` nothing is cleared that would free fewer tokens. ``recomputed``: the server gets the whole
    history again, so that the rule holds for every request that is over the trigger before it.
    """

    preset: ClassVar[str] = "anthropic.clear_tool_uses"
    source: ClassVar[str] = "Anthropic API, context-management-2025-06-27: clear_tool_uses_20250919"
    version: ClassVar[str] = "20250919"
    acts_at: ClassVar[ActsAt] = "threshold"
    trigger: int = 100_000
    trigger_tool_uses: int = 0
    """Results that trigger it as well; 0 for none."""
    keep: int = 3
    at_least: int = 0
    clear_inputs: bool = False
    excluded: tuple[str, ...] = ()
    """Tools whose results stay."""
    recomputed: bool = False
    placeholder: str = OPENCODE_CLEARED

    def decide(self, state: int, view: PolicyView) -> Decided:
        """Clear what may be cleared where the request is over the trigger."""
        total = view.raw_total if self.recomputed else view.total
        probe = Probe("tokens of the request", total, self.trigger)
        border = max(state, len(view.outputs) - self.keep)
        many = 0 < self.trigger_tool_uses < len(view.outputs)
        if (total <= self.trigger and not many) or border == state:
            return Decided(state, probe=probe)
        gone = [
            one for one in view.outputs[state:border] if view.item(one).tool not in self.excluded
        ]
        freed = sum(view.tokens(one) - -(-len(self.placeholder) // 4) for one in gone)
        if self.at_least and freed < self.at_least:
            return Decided(state, probe=probe)
        changes = cleared(gone, self.placeholder)
        if self.clear_inputs and gone:
            groups = {view.item(one).group for one in gone}
            changes += [
                Change(index, "cleared")
                for index in range(max(0, gone[0] - CALL_REACH), gone[-1])
                if view.item(index).kind == "call" and view.item(index).group in groups
            ]
        return Decided(border, changes, probe, fired=True)


@dataclass(frozen=True, kw_only=True)
class LangChainClear(ClearToolUses):
    """LangChain's ClearToolUsesEdit: the same rule, made anew for each request and not stored."""

    preset: ClassVar[str] = "langchain.clear_tool_uses"
    source: ClassVar[str] = "LangChain, agents/middleware/context_editing.py: ClearToolUsesEdit"
    version: ClassVar[str] = "1.x"
    sticky: ClassVar[bool] = False
    recomputed: bool = True
    placeholder: str = LANGCHAIN_CLEARED


@dataclass(frozen=True, kw_only=True)
class ClearThinking(Preset):
    """Anthropic's clear_thinking: the reasoning of all but the newest turns that have some leaves the request."""

    preset: ClassVar[str] = "anthropic.clear_thinking"
    source: ClassVar[str] = "Anthropic API, context-management-2025-06-27: clear_thinking_20251015"
    version: ClassVar[str] = "20251015"
    sticky: ClassVar[bool] = False
    changes_what: ClassVar[str] = "reasoning"
    thinking_turns: int = 1

    def decide(self, state: int, view: PolicyView) -> Decided:
        """Take the reasoning of older turns out."""
        gone, first, turns = old_reasoning(view, state, self.thinking_turns)
        probe = Probe("turns with reasoning", turns, self.thinking_turns, "turns")
        return Decided(first, [Change(one, "out") for one in gone], probe, fired=bool(gone))


@dataclass(frozen=True, kw_only=True)
class InspectEdit(Preset):
    """Inspect's CompactionEdit: over 0.9 of the window old reasoning leaves, and all but 3 results are cleared."""

    preset: ClassVar[str] = "inspect.compaction_edit"
    source: ClassVar[str] = "Inspect, model/_compaction: CompactionEdit"
    version: ClassVar[str] = "499e615"
    acts_at: ClassVar[ActsAt] = "threshold"
    changes_what: ClassVar[str] = "tool results, reasoning"
    window: int = 200_000
    at: float = 0.9
    keep: int = 3
    thinking_turns: int = 1

    def start(self, facts: object) -> tuple[int, int]:  # noqa: ARG002
        """Return how many results are cleared and how far reasoning is gone: none."""
        return 0, 0

    def decide(self, state: tuple[int, int], view: PolicyView) -> Decided:
        """Clear where the request is too large."""
        trigger = self.at * window_of(self.window, view)
        probe = Probe("tokens of the request", view.total, trigger)
        if not trigger or view.total <= trigger:
            return Decided(state, probe=probe)
        results, thinking = state
        gone, first, _ = old_reasoning(view, thinking, self.thinking_turns)
        border = max(results, len(view.outputs) - self.keep)
        changes = [Change(one, "out") for one in gone]
        changes += cleared(view.outputs[results:border], INSPECT_CLEARED)
        return Decided((border, first), changes, probe, fired=bool(changes))


@dataclass(frozen=True, kw_only=True)
class LearnClaudeCodeMicro(Preset):
    """The course's micro compaction: results over 100 characters, older than the newest three, name their tool only."""

    preset: ClassVar[str] = "learn_claude_code.micro"
    source: ClassVar[str] = "shareAI-lab/learn-claude-code, s06_context_compact.py: KEEP_RECENT"
    version: ClassVar[str] = "s06"
    keep: int = 3
    longest: int = 100
    """Characters above which a result is cleared."""

    def decide(self, state: int, view: PolicyView) -> Decided:
        """Clear the results that are no longer among the newest."""
        border = max(state, len(view.outputs) - self.keep)
        probe = Probe("results", len(view.outputs), self.keep, "results")
        changes = [
            Change(one, "cleared", MICRO_CLEARED.format(tool=view.item(one).tool))
            for one in view.outputs[state:border]
            if view.item(one).chars > self.longest
        ]
        return Decided(border, changes, probe, fired=bool(changes))


def cleared(items: Sequence[int], placeholder: str) -> list[Change]:
    """Return the decisions that clear items, with the same words in the place of each."""
    return [Change(index, "cleared", placeholder) for index in items]


def old_reasoning(view: PolicyView, first: int, turns: int) -> tuple[list[int], int, int]:
    """Return reasoning from an item on that is older than the newest turns, where to go on, and how many turns."""
    found = [one for one in range(first, view.count) if view.item(one).kind == "reasoning"]
    numbers = sorted({view.item(one).turn for one in found})
    if len(numbers) <= turns:
        return [], found[0] if found else view.count, len(numbers)
    oldest = numbers[-turns] if turns else view.turn + 1
    gone = [one for one in found if view.item(one).turn < oldest]
    kept = [one for one in found if view.item(one).turn >= oldest]
    return gone, kept[0] if kept else view.count, len(numbers)
