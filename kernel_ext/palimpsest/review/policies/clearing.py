"""Policies that clear old tool results, inputs of calls or reasoning, and call no model."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from palimpsest.review.policies.measured import AtShare, Measure, Measured
from palimpsest.review.policies.policy import (
    Change,
    Decided,
    PolicyView,
    Probe,
    none_of,
)
from palimpsest.review.policies.reducible import (
    border_of_newest,
    call_of_result,
    decided,
    dropped,
    is_shown,
    replaced,
)
from palimpsest.review.policies.settings import Preset

RESULT_CLEARED = "[Old tool result content cleared]"
OPENCODE_PROTECTED = frozenset({"skill"})
LANGCHAIN_CLEARED = "[cleared]"
INSPECT_CLEARED = "(Tool result removed)"


class OpenCodePrune(Preset):
    """OpenCode's prune: at the end of a turn, results older than the newest ``protect`` tokens are cleared.

    Nothing is cleared below ``minimum`` tokens. The walk back stops at a result that is cleared already.
    """

    preset = "opencode.prune"
    source = "OpenCode 31e22f65, session/compaction.ts: PRUNE_PROTECT, PRUNE_MINIMUM"
    when = "turn end"
    protect: int = 40_000
    minimum: int = 20_000
    turns: int = 2
    """The newest turns, whose results are kept."""
    failed: bool = True
    """Results that failed count, too. OpenCode itself keeps them as errors and never clears them."""

    def step(self, state: None, view: PolicyView) -> Decided:  # noqa: ARG002
        passed = freed = 0
        found: list[int] = []
        for index in reversed(view.outputs):
            item = view.item(index)
            if item.turn > view.turn - self.turns:
                continue
            if view.state(index) == "cleared":
                break
            if item.is_error and not self.failed:
                continue
            if item.tool in OPENCODE_PROTECTED or item.pinned or not view.shows(index):
                continue
            passed += view.tokens(index)
            if passed > self.protect:
                freed += view.tokens(index)
                found.append(index)
        probe = Probe("tokens of results that may be cleared", freed, self.minimum)
        if freed <= self.minimum:
            return Decided(None, probe=probe)
        return Decided(None, replaced(view, found, "cleared", RESULT_CLEARED), probe, fired=True)


class ClearedUntil(NamedTuple):
    """How far results are cleared, and what clearing more of them would free."""

    cleared: int = 0
    """The place of the first result that is not cleared."""
    seen: int = 0
    """The place before which all that is not cleared was weighed."""
    able: int = 0
    """How many of these may be cleared."""
    freed: int = 0
    """The tokens that this would free."""
    changes: int | None = None
    """``PolicyView.changes`` when they were weighed."""


class ClearToolUses(Measured):
    """Anthropic's clear_tool_uses: above ``trigger`` tokens all but the newest ``keep`` results are cleared.

    With ``at_least`` nothing is cleared that would free fewer tokens. ``recomputed``: the server gets the whole
    history again, so that the rule holds for every request that is over the trigger before it.
    """

    preset = "anthropic.clear_tool_uses"
    source = "Anthropic API, clear_tool_uses_20250919 (beta context-management-2025-06-27)"
    counted = "Anthropic API, context editing: trigger of input_tokens, which the server counts"
    since = "counted"
    at_first = ClearedUntil()
    """Nothing is cleared and nothing was weighed."""
    trigger: int = 100_000
    keep: int = 3
    at_least: int = 0
    clear_inputs: bool = False
    excluded: tuple[str, ...] = ()
    """Tools whose results stay."""
    recomputed: bool = False
    placeholder: str = RESULT_CLEARED

    def step(self, state: ClearedUntil, view: PolicyView) -> Decided:
        value, signal = self.size(view)
        if self.recomputed and view.total:
            value *= view.raw_total / view.total
        probe = Probe(signal, value, self.trigger)
        if not probe.passed:
            return Decided(state, probe=probe)
        border = max(state.cleared, border_of_newest(view, self.keep))
        # What was weighed weighs the same, unless something was shown otherwise since.
        known = view.changes is not None and view.changes == state.changes
        state = self._weighed(state if known else ClearedUntil(state.cleared), border, view)
        if not state.able:
            able = f"results beyond the newest {self.keep} that may be cleared"
            return Decided(state, probe=none_of(able, probe))
        if self.at_least and state.freed < self.at_least:
            signal = "tokens of results that may be cleared"
            probe = Probe(signal, state.freed, self.at_least, after=probe)
            return Decided(state, probe=probe)
        changes = self._cleared(view, view.outputs[state.cleared : border])
        return Decided(ClearedUntil(border), changes, probe, fired=True)

    def _cleared(self, view: PolicyView, results: Sequence[int]) -> list[Change]:
        """Return what clears those of the results that may be cleared."""
        old = [one for one in results if view.item(one).tool not in self.excluded]
        changes = replaced(view, old, "cleared", self.placeholder)
        return changes + without_inputs(view, old) if self.clear_inputs else changes

    def _weighed(self, known: ClearedUntil, border: int, view: PolicyView) -> ClearedUntil:
        """Return what clearing all old results would free; only those that became old are looked at."""
        new = view.outputs[max(known.seen, known.cleared) : border]
        changes = self._cleared(view, new)
        freed = sum(view.tokens(one.item) - -(-one.length // 4) for one in changes)
        return ClearedUntil(
            known.cleared, border, known.able + len(changes), known.freed + freed, view.changes
        )


class LangChainClear(ClearToolUses):
    """LangChain's ClearToolUsesEdit: the same rule, made anew for each request and not stored.

    With ``at_least`` the oldest results are cleared only until so many tokens are freed.
    """

    preset = "langchain.clear_tool_uses"
    source = "LangChain 1.x, agents/middleware/context_editing.py: ClearToolUsesEdit"
    counted = "LangChain 1.x, agents/middleware/context_editing.py: token_count_method approximate"
    measure: Measure = "estimated"
    sticky = False
    recomputed: bool = True
    placeholder: str = LANGCHAIN_CLEARED

    def step(self, state: ClearedUntil, view: PolicyView) -> Decided:
        if not self.at_least:
            return ClearToolUses.step(self, state, view)
        probe = Probe("tokens of the request", view.raw_total, self.trigger)
        if not probe.passed:
            return Decided(state, probe=probe)
        border = max(state.cleared, border_of_newest(view, self.keep))
        place, freed = state.cleared, state.freed
        changes: list[Change] = []
        while place < border and freed < self.at_least:
            found = self._cleared(view, view.outputs[place : place + 1])
            freed += sum(view.tokens(one.item) - -(-one.length // 4) for one in found)
            changes += found
            place += 1
        able = f"results beyond the newest {self.keep} that may be cleared"
        return decided(ClearedUntil(place, freed=freed), changes, probe, able)


class ClearThinking(Preset):
    """Anthropic's clear_thinking: reasoning stays of the newest ``keep`` turns that have some, and of no other."""

    preset = "anthropic.clear_thinking"
    source = "Anthropic API, clear_thinking_20251015 (beta context-management-2025-06-27)"
    sticky = False
    at_first = (0, ())
    """How many items were looked at, and the reasoning of the newest turns."""
    keep: int = 1

    def step(self, state: tuple[int, tuple[int, ...]], view: PolicyView) -> Decided:
        seen, newest = state
        known = [*newest, *reasoning_in(view, seen, view.count)]
        turns = sorted({view.item(one).turn for one in known if is_shown(view, one)})
        kept = turns[-self.keep :] if self.keep else []
        changes = dropped(view, [one for one in known if view.item(one).turn not in kept])
        left = {*known} - {one.item for one in changes}
        probe = Probe("turns with reasoning", len(turns), self.keep, "turns")
        able = "older ones whose reasoning may be dropped"
        return decided((view.count, tuple(sorted(left))), changes, probe, able)


class InspectEdit(AtShare):
    """Inspect's CompactionEdit: near the window old reasoning is dropped and all but the newest results cleared."""

    preset = "inspect.compaction_edit"
    source = "Inspect 499e615, model/_compaction: CompactionEdit, threshold 0.9"
    counted = "Inspect 499e615, model/_compaction: count_tokens, which asks the provider"
    since = "counted"
    able = "older results and reasoning that may be cleared"
    at: float = 0.9
    keep: int = 3
    """The newest results, which stay."""
    keep_thinking: int = 1
    """The newest answers whose reasoning stays."""

    def changed(self, view: PolicyView, probe: Probe) -> Sequence[Change]:  # noqa: ARG002
        changes = dropped(view, reasoning_in(view, 0, self._thinking_border(view)))
        old = view.outputs[: border_of_newest(view, self.keep)]
        whole = (one for one in old if view.state(one) == "whole")
        return changes + replaced(view, whole, "cleared", INSPECT_CLEARED)

    def _thinking_border(self, view: PolicyView) -> int:
        """Return the first item of the newest answers whose reasoning stays."""
        answers = view.timeline.requests[: view.request.index]
        oldest = len(answers) - self.keep_thinking
        if oldest >= len(answers):
            return view.count
        return answers[oldest].answer[0] if oldest >= 0 else 0


class LearnClaudeCodeMicro(Preset):
    """Learn-claude-code's micro compaction: older results over 100 characters become the name of their tool.

    What was read from a file stays.
    """

    preset = "learn_claude_code.micro"
    source = "shareAI-lab/learn-claude-code, lesson s06: KEEP_RECENT, PRESERVE_RESULT_TOOLS"
    at_first = 0
    """How many results were looked at: none."""
    keep: int = 3
    longest: int = 100
    """Characters up to which a result stays."""
    spared: tuple[str, ...] = ("read_file", "read")

    def step(self, state: int, view: PolicyView) -> Decided:
        border = max(state, border_of_newest(view, self.keep))
        changes: list[Change] = []
        for one in view.outputs[state:border]:
            item = view.item(one)
            if item.chars > self.longest and item.tool.lower() not in self.spared:
                text = f"[Previous: used {view.item(one).tool}]"
                changes += replaced(view, [one], "cleared", text)
        probe = Probe("results", view.shown_outputs, self.keep, "results")
        able = f"results of over {self.longest} characters beyond the newest {self.keep}"
        return decided(border, changes, probe, able)


def without_inputs(view: PolicyView, results: Iterable[int]) -> list[Change]:
    """Return the changes that show the calls of some results without their inputs."""
    found: list[Change] = []
    for one in results:
        call = call_of_result(view, one)
        if call is not None:
            found += replaced(view, [call], "cleared", f"{view.item(call).tool}{{}}")
    return found


def reasoning_in(view: PolicyView, first: int, until: int) -> list[int]:
    """Return the pieces of reasoning in a range of items."""
    return [one for one in range(first, until) if view.item(one).kind == "reasoning"]
