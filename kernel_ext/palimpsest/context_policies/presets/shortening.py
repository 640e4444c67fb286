"""Policies that shorten a single long result or prompt when it is new, or a few turns later, and call no model.

New items are shortened before their first request, so that no cached prefix breaks.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from palimpsest.context_policies.interface.policy import (
    Change,
    PolicyResult,
    PolicyView,
    Probe,
    SessionFacts,
)
from palimpsest.context_policies.interface.settings import Preset
from palimpsest.context_policies.items.measured import Measure, Measured
from palimpsest.context_policies.items.reducible import (
    decided_with_reason,
    is_reducible,
    newest_that_fit,
    restoring_changes,
    shortening_changes,
    shown_chat,
)
from palimpsest.context_policies.items.tool_calls import input_of
from palimpsest.transcript.timeline import ItemState
from palimpsest.transcript.values import CHARS_PER_TOKEN

FILE_NOTE_CHARS = 640
"""Characters of deepagents' note: the file with the whole text, and how it is read."""
LINE_NUMBER_CHARS = 8
"""Characters that a line's number and line break add."""
REFERENCE_NOTE_CHARS = 480
"""Characters of Strands' note: how the rest is requested, and its reference."""
TRIMMED = "[Trimmed: {tool} output \u2014 {chars} chars \u2192 {preview} char preview]\n..."
ARGUMENT_CUT = "...(argument truncated)"


class ShortenedResults(Preset):
    """A result over ``longest_chars`` shows its head and its tail, together ``kept_chars``, and a note."""

    longest_chars: int = 10_000
    """Characters up to which a result is shown whole."""
    kept_chars: int = 10_000
    note_chars: int = 60
    """Characters of the note between head and tail."""
    shown_state: ClassVar[ItemState] = "truncated"
    initial_state = 0
    """Number of results considered so far: none."""

    def step(self, state: int, view: PolicyView) -> PolicyResult:
        """Shorten the new results that are too long."""
        new_outputs = [index for index in view.outputs[state:] if is_reducible(view, index)]
        shown_chars = self.kept_chars + self.note_chars
        # A result barely over the limit becomes longer with the note, as in the agent itself.
        changes = [
            Change(index, self.shown_state, chars=shown_chars)
            for index in new_outputs
            if view.chars(index) > self.longest_chars
        ]
        longest_result = max((view.chars(index) for index in new_outputs), default=0)
        probe = Probe("characters of a result", longest_result, self.longest_chars, "characters")
        candidates_text = (
            f"results that {shown_chars} characters of head, tail and note would shorten"
        )
        return decided_with_reason(len(view.outputs), changes, probe, candidates_text)


class MiniSweAgentOutput(ShortenedResults):
    """Mini-SWE-agent shows 5,000 characters of head and of tail of a long output, and manages no history."""

    preset = "mini_swe_agent.output"
    source = "mini-swe-agent 2.4, config: observation_template, below 10,000 whole"
    longest_chars: int = 9_999
    """Characters up to which an output is shown whole; an output of 10,000 is not."""
    note_chars: int = 564


class SmolagentsOutput(ShortenedResults):
    """Smolagents shows 20,000 characters of an output: half of them from its head, half from its tail."""

    preset = "smolagents.output"
    source = "smolagents 1.x, utils.py: MAX_LENGTH_TRUNCATE_CONTENT"
    longest_chars: int = 20_000
    kept_chars: int = 20_000
    note_chars: int = 72


class DeepAgentsOffload(Preset):
    """Deepagents' offloading: results and prompts over a number of tokens go to a file.

    Their first and last lines stay, with their numbers. Results of ``spared_tools`` stay whole: these tools limit
    their results themselves.
    """

    preset = "deepagents.offload"
    source = "deepagents 23b83ad, middleware/filesystem.py"
    initial_state = 0
    """Number of items considered so far: none."""
    result_tokens: int = 20_000
    prompt_tokens: int = 50_000
    lines: int = 5
    """Lines of head and of tail that stay."""
    line_chars: int = 1_000
    """Characters that stay of each of these lines."""
    spared_tools: tuple[str, ...] = (
        "ls",
        "glob",
        "grep",
        "read_file",
        "edit_file",
        "write_file",
        "read",
        "edit",
        "write",
    )

    def step(self, state: int, view: PolicyView) -> PolicyResult:
        changes: list[Change] = []
        largest_scaled_tokens = 0.0
        max_tokens_by_kind = {"output": self.result_tokens, "user": self.prompt_tokens}
        for index in range(state, view.count):
            max_tokens = max_tokens_by_kind.get(view.item(index).kind)
            if max_tokens is None or not is_reducible(view, index):
                continue
            if view.item(index).tool.lower() in self.spared_tools:
                continue
            tokens = view.tokens(index)
            largest_scaled_tokens = max(
                largest_scaled_tokens, tokens * self.result_tokens / max_tokens
            )
            if tokens > max_tokens:
                lines = view.read(index).splitlines()
                is_short = len(lines) <= 2 * self.lines
                ends = lines if is_short else lines[: self.lines] + lines[-self.lines :]
                shown_chars = sum(
                    min(len(line), self.line_chars) + LINE_NUMBER_CHARS for line in ends
                )
                changes += shortening_changes(
                    view, [(index, shown_chars + FILE_NOTE_CHARS)], "offloaded"
                )
        probe = Probe("tokens of a result", largest_scaled_tokens, self.result_tokens)
        candidates_text = "results that their first and last lines shorten"
        return decided_with_reason(view.count, changes, probe, candidates_text)


class DeepAgentsTruncateArgs(Measured):
    """Deepagents' truncate_args: near the window the long inputs of old calls that write or edit are cut.

    The newest tenth of the window is spared, or the newest 20 messages where no window is known; each text of an
    input is cut separately. The rule is applied again to each request, to whole inputs.
    """

    preset = "deepagents.truncate_args"
    source = "deepagents 23b83ad, middleware/summarization.py: truncate_args"
    token_source = (
        "deepagents 23b83ad, middleware/summarization.py: its own count_tokens_approximately"
    )
    inclusive = True
    measure: Measure = "estimated"
    sticky = False
    window: int = 200_000
    """0 takes the recorded one; where none is known, messages are counted."""
    window_share: float = 0.85
    keep_share: float = 0.1
    """Share of the window whose newest messages are spared."""
    messages: int = 20
    """Number of newest messages that are spared where no window is known."""
    longest_chars: int = 2_000
    """Characters up to which a text of an input stays."""
    kept_chars: int = 20
    tools: tuple[str, ...] = ("write_file", "edit_file", "write", "edit")

    def start(self, facts: SessionFacts) -> tuple[int, int, tuple[int, ...]]:
        """Return the window, the number of items considered, and the calls that were cut: none."""
        return self.window_of(facts), 0, ()

    def step(self, state: tuple[int, int, tuple[int, ...]], view: PolicyView) -> PolicyResult:
        window, considered_until, cut_calls_before = state
        cut_before = [
            call_index for call_index in cut_calls_before if view.state(call_index) == "truncated"
        ]
        messages = shown_chat(view)
        probe = Probe("messages", len(messages), self.messages, "messages", inclusive=True)
        if window > 0:
            probe = self.probe_against(view, int(self.window_share * window))
            saved_tokens = sum(
                view.weight(call_index) - view.tokens(call_index) for call_index in cut_before
            )
            probe = replace(probe, value=probe.value + saved_tokens)
        first_spared = self._first_spared(view, messages, window) if probe.is_passed else 0
        if not first_spared:
            restored = restoring_changes(view, cut_before, "truncated")
            if not probe.is_passed:
                return PolicyResult((window, 0, ()), restored, probe)
            candidates_text = "messages older than those that are spared"
            return decided_with_reason((window, 0, ()), restored, probe, candidates_text)
        call_indexes = (
            index
            for index in range(considered_until, first_spared)
            if view.item(index).kind == "call"
            and view.item(index).tool.lower() in self.tools
            and view.state(index) == "whole"
        )
        changes = shortening_changes(
            view, ((call_index, self._cut_chars(view, call_index)) for call_index in call_indexes)
        )
        candidates_text = "long inputs of calls that write or edit before the newest messages"
        cut_calls = (*cut_calls_before, *(change.item for change in changes))
        return decided_with_reason(
            (window, max(considered_until, first_spared), cut_calls),
            changes,
            probe,
            candidates_text,
        )

    def _first_spared(self, view: PolicyView, messages: Sequence[int], window: int) -> int:
        """Return the first item that is spared; 0 where all are."""
        if window <= 0:
            return messages[-self.messages] if self.messages else view.count
        first = newest_that_fit(view, messages, int(self.keep_share * window))
        # If the newest message alone is larger, nothing is cut.
        return messages[first] if first < len(messages) else 0

    def _cut_chars(self, view: PolicyView, call_index: int) -> int:
        """Return the characters of a call with its long texts cut."""
        tool_input = input_of(view, call_index)
        long_texts = {
            name: text
            for name, text in tool_input.items()
            if isinstance(text, str) and len(text) > self.longest_chars
        }
        cut_texts = {
            name: text[: self.kept_chars] + ARGUMENT_CUT for name, text in long_texts.items()
        }
        return view.chars(call_index) - len(json.dumps(long_texts)) + len(json.dumps(cut_texts))


class StrandsOffload(Preset):
    """Strands' ContextOffloader: a result over 2,500 tokens shows its first 1,000 and is stored elsewhere."""

    preset = "strands.offload"
    source = "Strands Agents SDK 1.x, ContextOffloader: 2,500 and 1,000 tokens"
    initial_state = 0
    """Number of results considered so far: none."""
    longest_tokens: int = 2_500
    kept_tokens: int = 1_000

    def step(self, state: int, view: PolicyView) -> PolicyResult:
        new_outputs = [index for index in view.outputs[state:] if is_reducible(view, index)]
        shown_chars = CHARS_PER_TOKEN * self.kept_tokens + REFERENCE_NOTE_CHARS
        long_results = (
            (index, shown_chars)
            for index in new_outputs
            if view.tokens(index) > self.longest_tokens
        )
        changes = shortening_changes(view, long_results, "offloaded")
        largest_tokens = max((view.tokens(index) for index in new_outputs), default=0)
        probe = Probe("tokens of a result", largest_tokens, self.longest_tokens)
        candidates_text = f"results that {self.kept_tokens} tokens and a note would shorten"
        return decided_with_reason(len(view.outputs), changes, probe, candidates_text)


class OpenAIAgentsTrimmer(Preset):
    """OpenAI Agents' ToolOutputTrimmer: results over 500 characters of older turns show the first 200."""

    preset = "openai_agents.tool_output_trimmer"
    source = "OpenAI Agents SDK, extensions/tool_output_trimmer.py"
    sticky = False
    initial_state = 0
    """Number of results considered so far: none."""
    turns: int = 2
    """Number of newest turns whose results stay."""
    longest_chars: int = 500
    preview: int = 200
    """Characters of a trimmed result that are shown."""

    def step(self, state: int, view: PolicyView) -> PolicyResult:
        border, outputs = state, view.outputs
        while border < len(outputs) and view.item(outputs[border]).turn <= view.turn - self.turns:
            border += 1
        long_results = [
            index for index in outputs[state:border] if view.item(index).chars > self.longest_chars
        ]
        sizes = ((index, self._trimmed_chars(view, index)) for index in long_results)
        changes = shortening_changes(view, sizes)
        probe = Probe("turns", view.turn, self.turns, "turns")
        candidates_text = f"results of over {self.longest_chars} characters in older turns"
        return decided_with_reason(border, changes, probe, candidates_text)

    def _trimmed_chars(self, view: PolicyView, index: int) -> int:
        tool, chars = view.item(index).tool or "unknown_tool", view.item(index).chars
        note = TRIMMED.format(tool=tool, chars=chars, preview=self.preview)
        return len(note) + self.preview
