"""Policies that clear old tool results, inputs of calls or reasoning, and call no model."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from palimpsest.context_policies.interface.policy import (
    Change,
    PolicyResult,
    PolicyView,
    Probe,
    nothing_to_reduce,
)
from palimpsest.context_policies.interface.settings import Preset
from palimpsest.context_policies.items.measured import Measure, Measured, WindowShare
from palimpsest.context_policies.items.reducible import (
    border_of_newest,
    call_of_result,
    decided_with_reason,
    is_shown,
    placeholder_changes,
    removal_changes,
)
from palimpsest.transcript.values import CHARS_PER_TOKEN

RESULT_CLEARED = "[Old tool result content cleared]"
OPENCODE_PROTECTED = frozenset({"skill"})
LANGCHAIN_CLEARED = "[cleared]"
INSPECT_CLEARED = "(Tool result removed)"


class OldResults(NamedTuple):
    """The results of old turns that OpenCode may clear, counted once; the places are indexes in ``PolicyView.outputs``."""

    first_cleared: int = 0
    """The first result after the newest one that is cleared already."""
    considered_until: int = 0
    """The end of the results that were counted."""
    tokens: int = 0
    """Tokens of the results that were counted."""
    border: int = 0
    """The first of the newest results, which are protected."""
    freed_tokens: int = 0
    """Tokens that clearing the results before the border would free."""
    changes: int | None = None
    """``PolicyView.changes`` when they were counted."""


class OpenCodePrune(Preset):
    """OpenCode's prune: at the end of a turn, results older than the newest ``protect`` tokens are cleared.

    Nothing is cleared below ``minimum`` tokens. The walk back stops at a result that is cleared already.
    """

    preset = "opencode.prune"
    source = "OpenCode 31e22f65, session/compaction.ts: PRUNE_PROTECT, PRUNE_MINIMUM"
    when = "turn end"
    initial_state = OldResults()
    """Nothing was counted."""
    protect: int = 40_000
    minimum: int = 20_000
    turns: int = 2
    """Number of newest turns whose results are kept."""
    failed: bool = True
    """Whether failed results are counted and cleared like others. OpenCode itself keeps them as errors and never clears them."""

    def step(self, state: OldResults, view: PolicyView) -> PolicyResult:
        counted = self._with_new_counts(state, view)
        probe = Probe("tokens of results that may be cleared", counted.freed_tokens, self.minimum)
        if counted.freed_tokens <= self.minimum:
            return PolicyResult(counted, probe=probe)
        old_outputs = [
            index
            for index in reversed(view.outputs[counted.first_cleared : counted.border])
            if self._may_clear(view, index)
        ]
        return PolicyResult(
            counted,
            placeholder_changes(view, old_outputs, "cleared", RESULT_CLEARED),
            probe,
            fired=True,
        )

    def _with_new_counts(self, state: OldResults, view: PolicyView) -> OldResults:
        """Return the counts with the results that became old since the last count, which holds while no item changes."""
        outputs, newest_old_turn = view.outputs, view.turn - self.turns
        if view.changes is None or view.changes != state.changes:
            first_place = self._place_after_cleared(view, newest_old_turn)
            state = OldResults(first_place, first_place, 0, first_place, 0, view.changes)
        first_cleared, considered_until, tokens, border, freed_tokens, changes = state
        while (
            considered_until < len(outputs)
            and view.item(outputs[considered_until]).turn <= newest_old_turn
        ):
            if self._may_clear(view, outputs[considered_until]):
                tokens += view.tokens(outputs[considered_until])
            considered_until += 1
        while border < considered_until and freed_tokens < tokens - self.protect:
            if self._may_clear(view, outputs[border]):
                freed_tokens += view.tokens(outputs[border])
            border += 1
        return OldResults(first_cleared, considered_until, tokens, border, freed_tokens, changes)

    def _place_after_cleared(self, view: PolicyView, newest_old_turn: int) -> int:
        """Return the place after the newest result of an old turn that is cleared, 0 where none is."""
        outputs = view.outputs
        for place in range(len(outputs) - 1, -1, -1):
            is_old = view.item(outputs[place]).turn <= newest_old_turn
            if is_old and view.state(outputs[place]) == "cleared":
                return place + 1
        return 0

    def _may_clear(self, view: PolicyView, index: int) -> bool:
        item = view.item(index)
        if (item.is_error and not self.failed) or item.pinned:
            return False
        return item.tool not in OPENCODE_PROTECTED and view.shows(index)


class ClearedUntil(NamedTuple):
    """How far results are cleared, and the tokens that clearing more would free."""

    first_uncleared: int = 0
    """Index in ``view.outputs`` of the first result that is not cleared."""
    considered_until: int = 0
    """Index in ``view.outputs`` up to which the results that are not cleared were counted."""
    candidate_count: int = 0
    """Number of counted results that may be cleared."""
    freed_tokens: int = 0
    """Tokens that clearing the candidates would free."""
    changes: int | None = None
    """``PolicyView.changes`` when they were counted."""


class ClearToolUses(Measured):
    """Anthropic's clear_tool_uses: above ``trigger`` tokens all but the ``keep_results`` newest results are cleared.

    Nothing is cleared where that would free fewer than ``at_least`` tokens. ``recomputed``: the server receives the whole
    history each time, so the rule applies to each request that is over the trigger before clearing.
    """

    preset = "anthropic.clear_tool_uses"
    source = "Anthropic API, clear_tool_uses_20250919 (beta context-management-2025-06-27)"
    token_source = (
        "Anthropic API, context editing: trigger of input_tokens, which the server counts"
    )
    later_items = "counted"
    initial_state = ClearedUntil()
    """Nothing is cleared and nothing was counted."""
    trigger: int = 100_000
    keep_results: int = 3
    at_least: int = 0
    clear_inputs: bool = False
    spared_tools: tuple[str, ...] = ()
    """Tools whose results stay."""
    recomputed: bool = False
    placeholder: str = RESULT_CLEARED

    def step(self, state: ClearedUntil, view: PolicyView) -> PolicyResult:
        value, signal = self.measured_size(view)
        if self.recomputed and view.total:
            value *= view.raw_total / view.total
        probe = Probe(signal, value, self.trigger)
        if not probe.is_passed:
            return PolicyResult(state, probe=probe)
        border = max(state.first_uncleared, border_of_newest(view, self.keep_results))
        # The counts stay valid as long as no other item changes.
        is_unchanged = view.changes is not None and view.changes == state.changes
        state = self._with_new_counts(
            state if is_unchanged else ClearedUntil(state.first_uncleared), border, view
        )
        if not state.candidate_count:
            candidates_text = f"results beyond the newest {self.keep_results} that may be cleared"
            return PolicyResult(state, probe=nothing_to_reduce(candidates_text, probe))
        if self.at_least and state.freed_tokens < self.at_least:
            signal = "tokens of results that may be cleared"
            probe = Probe(signal, state.freed_tokens, self.at_least, passed_before=probe)
            return PolicyResult(state, probe=probe)
        changes = self._clear(view, view.outputs[state.first_uncleared : border])
        return PolicyResult(ClearedUntil(border), changes, probe, fired=True)

    def _clear(self, view: PolicyView, result_indexes: Sequence[int]) -> list[Change]:
        """Return the changes that clear results, as far as they may be cleared."""
        old_results = [
            result_index
            for result_index in result_indexes
            if view.item(result_index).tool not in self.spared_tools
        ]
        changes = placeholder_changes(view, old_results, "cleared", self.placeholder)
        return changes + without_inputs(view, old_results) if self.clear_inputs else changes

    def _with_new_counts(self, counts: ClearedUntil, border: int, view: PolicyView) -> ClearedUntil:
        """Return how much clearing all old results would free, counting only those that became old since the last count."""
        new_results = view.outputs[max(counts.considered_until, counts.first_uncleared) : border]
        changes = self._clear(view, new_results)
        return ClearedUntil(
            counts.first_uncleared,
            border,
            counts.candidate_count + len(changes),
            counts.freed_tokens + tokens_freed_by(changes, view),
            view.changes,
        )


class LangChainClear(ClearToolUses):
    """LangChain's ClearToolUsesEdit: the same rule, made anew for each request and not stored.

    Results are cleared, oldest first, only until ``at_least`` tokens are free.
    """

    preset = "langchain.clear_tool_uses"
    source = "LangChain 1.x, agents/middleware/context_editing.py: ClearToolUsesEdit"
    token_source = (
        "LangChain 1.x, agents/middleware/context_editing.py: token_count_method approximate"
    )
    measure: Measure = "estimated"
    sticky = False
    recomputed: bool = True
    placeholder: str = LANGCHAIN_CLEARED

    def step(self, state: ClearedUntil, view: PolicyView) -> PolicyResult:
        if not self.at_least:
            return ClearToolUses.step(self, state, view)
        probe = Probe("tokens of the request", view.raw_total, self.trigger)
        if not probe.is_passed:
            return PolicyResult(state, probe=probe)
        border = max(state.first_uncleared, border_of_newest(view, self.keep_results))
        cleared_until, freed_tokens = state.first_uncleared, state.freed_tokens
        changes: list[Change] = []
        while cleared_until < border and freed_tokens < self.at_least:
            result_changes = self._clear(view, view.outputs[cleared_until : cleared_until + 1])
            freed_tokens += tokens_freed_by(result_changes, view)
            changes += result_changes
            cleared_until += 1
        candidates_text = f"results beyond the newest {self.keep_results} that may be cleared"
        return decided_with_reason(
            ClearedUntil(cleared_until, freed_tokens=freed_tokens), changes, probe, candidates_text
        )


class ClearThinking(Preset):
    """Anthropic's clear_thinking: reasoning is removed, except that of the ``keep_turns`` newest turns with reasoning."""

    preset = "anthropic.clear_thinking"
    source = "Anthropic API, clear_thinking_20251015 (beta context-management-2025-06-27)"
    sticky = False
    initial_state = (0, ())
    """Number of items considered so far, and the reasoning of the newest turns."""
    keep_turns: int = 1

    def step(self, state: tuple[int, tuple[int, ...]], view: PolicyView) -> PolicyResult:
        considered_count, newest_reasoning = state
        reasoning = [*newest_reasoning, *reasoning_in(view, considered_count, view.count)]
        turns = sorted({view.item(index).turn for index in reasoning if is_shown(view, index)})
        turns_that_stay = turns[-self.keep_turns :] if self.keep_turns else []
        changes = removal_changes(
            view, [index for index in reasoning if view.item(index).turn not in turns_that_stay]
        )
        remaining = {*reasoning} - {change.item for change in changes}
        probe = Probe("turns with reasoning", len(turns), self.keep_turns, "turns")
        candidates_text = "older ones whose reasoning may be dropped"
        return decided_with_reason(
            (view.count, tuple(sorted(remaining))), changes, probe, candidates_text
        )


class InspectEdit(WindowShare):
    """Inspect's CompactionEdit: near the window old reasoning is dropped and all but the newest results cleared."""

    preset = "inspect.compaction_edit"
    source = "Inspect 499e615, model/_compaction: CompactionEdit, threshold 0.9"
    token_source = "Inspect 499e615, model/_compaction: count_tokens, which asks the provider"
    later_items = "counted"
    candidates_text = "older results and reasoning that may be cleared"
    window_share: float = 0.9
    keep_results: int = 3
    """Number of newest results that stay."""
    keep_thinking: int = 1
    """Number of newest answers whose reasoning stays."""

    def new_changes(self, view: PolicyView, probe: Probe) -> Sequence[Change]:  # noqa: ARG002
        changes = removal_changes(view, reasoning_in(view, 0, self._thinking_border(view)))
        old_results = view.outputs[: border_of_newest(view, self.keep_results)]
        whole_results = (index for index in old_results if view.state(index) == "whole")
        return changes + placeholder_changes(view, whole_results, "cleared", INSPECT_CLEARED)

    def _thinking_border(self, view: PolicyView) -> int:
        """Return the index of the first item whose reasoning stays."""
        if self.keep_thinking <= 0:
            return view.count
        oldest_request = view.request.index - self.keep_thinking
        return view.timeline.requests[oldest_request].answer[0] if oldest_request >= 0 else 0


class LearnClaudeCodeMicro(Preset):
    """Learn-claude-code's micro compaction: older results over 100 characters become the name of their tool.

    Results of ``spared_tools``, which read files, stay.
    """

    preset = "learn_claude_code.micro"
    source = "shareAI-lab/learn-claude-code, lesson s06: KEEP_RECENT, PRESERVE_RESULT_TOOLS"
    initial_state = 0
    """Number of results considered so far: none."""
    keep_results: int = 3
    longest_chars: int = 100
    """Characters up to which a result stays."""
    spared_tools: tuple[str, ...] = ("read_file", "read")

    def step(self, state: int, view: PolicyView) -> PolicyResult:
        border = max(state, border_of_newest(view, self.keep_results))
        changes: list[Change] = []
        for index in view.outputs[state:border]:
            item = view.item(index)
            if item.chars > self.longest_chars and item.tool.lower() not in self.spared_tools:
                text = f"[Previous: used {item.tool}]"
                changes += placeholder_changes(view, [index], "cleared", text)
        probe = Probe("results", view.shown_outputs, self.keep_results, "results")
        candidates_text = (
            f"results of over {self.longest_chars} characters beyond the newest {self.keep_results}"
        )
        return decided_with_reason(border, changes, probe, candidates_text)


def tokens_freed_by(placeholders: Iterable[Change], view: PolicyView) -> int:
    """Return the tokens that replacing items by placeholders would free."""
    return sum(
        view.tokens(change.item) - -(-change.length // CHARS_PER_TOKEN) for change in placeholders
    )


def without_inputs(view: PolicyView, result_indexes: Iterable[int]) -> list[Change]:
    """Return the changes that show the calls of some results without their inputs."""
    changes: list[Change] = []
    for result_index in result_indexes:
        call_index = call_of_result(view, result_index)
        if call_index is not None:
            changes += placeholder_changes(
                view, [call_index], "cleared", f"{view.item(call_index).tool}{{}}"
            )
    return changes


def reasoning_in(view: PolicyView, start: int, end: int) -> list[int]:
    """Return the reasoning items in a range of items."""
    return [index for index in range(start, end) if view.item(index).kind == "reasoning"]
