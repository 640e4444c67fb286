"""Policies that shorten a single long result or prompt when it comes, or a few turns later, and call no model.

Rules and numbers follow spec/review.md 2.1 and 2.2, read from the projects at the versions named in each
``source``. What comes with a request is shortened before that request, so that no cached prefix breaks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from palimpsest.review.policies.measured import Measure, Measured, in_own_tokens
from palimpsest.review.policies.policy import (
    NO_LIMIT,
    Change,
    Decided,
    PolicyView,
    Probe,
    SessionFacts,
    Since,
)
from palimpsest.review.policies.reducible import (
    decided,
    is_reducible,
    is_shown,
    shortened,
    start_of_newest,
)
from palimpsest.review.policies.settings import Preset
from palimpsest.transcript.timeline import ItemState

FILE_NOTE_CHARS = 160
"""Characters of the note that says how long the whole is and in which file it lies."""


@dataclass(frozen=True, kw_only=True)
class ShortenedResults(Preset):
    """A result over ``longest`` characters shows its head and its tail, together ``kept`` characters, and a note."""

    longest: int = 10_000
    kept: int = 10_000
    note_chars: int = 60
    """Characters of the note between head and tail."""
    state: ClassVar[ItemState] = "truncated"

    def start(self, facts: SessionFacts) -> int:  # noqa: ARG002
        """Return how many results were looked at: none."""
        return 0

    def step(self, state: int, view: PolicyView) -> Decided:
        """Shorten the long ones of the new results."""
        new = [one for one in view.outputs[state:] if is_reducible(view, one)]
        size = self.kept + self.note_chars
        changes = [
            change
            for one in new
            if view.chars(one) > self.longest
            for change in shortened(view, one, size, self.state)
        ]
        longest = max((view.chars(one) for one in new), default=0)
        probe = Probe("characters of a result", longest, self.longest, "characters")
        able = f"results that {size} characters of head, tail and note would shorten"
        return decided(len(view.outputs), changes, probe, able)


@dataclass(frozen=True, kw_only=True)
class MiniSweAgentOutput(ShortenedResults):
    """Mini-SWE-agent shows 5,000 characters of head and of tail of a long output, and manages no history."""

    preset: ClassVar[str] = "mini_swe_agent.output"
    source: ClassVar[str] = "mini-swe-agent 1.x, config: action_observation_template, 10,000"
    note_chars: int = 220


@dataclass(frozen=True, kw_only=True)
class SmolagentsOutput(ShortenedResults):
    """Smolagents shows 20,000 characters of an output: half of them from its head, half from its tail."""

    preset: ClassVar[str] = "smolagents.output"
    source: ClassVar[str] = "smolagents 1.x, utils.py: MAX_LENGTH_TRUNCATE_CONTENT"
    longest: int = 20_000
    kept: int = 20_000
    note_chars: int = 85


@dataclass(frozen=True, kw_only=True)
class GeminiTruncate(ShortenedResults):
    """Gemini CLI shows 40,000 characters of a longer result and writes the whole to a file."""

    preset: ClassVar[str] = "gemini.truncate"
    source: ClassVar[str] = "Gemini CLI 5411f11, truncateToolOutputThreshold"
    longest: int = 40_000
    kept: int = 40_000
    note_chars: int = FILE_NOTE_CHARS
    state: ClassVar[ItemState] = "offloaded"


@dataclass(frozen=True, kw_only=True)
class DeepAgentsOffload(Preset):
    """Deepagents' offloading: results and prompts over a number of tokens go to a file.

    Their first and last lines stay.
    """

    preset: ClassVar[str] = "deepagents.offload"
    source: ClassVar[str] = "deepagents 23b83ad, middleware/filesystem.py"
    result_tokens: int = 20_000
    prompt_tokens: int = 50_000
    lines: int = 5
    """Lines of head and of tail that stay."""
    line_chars: int = 1_000
    """Characters of such a line that stay."""

    def start(self, facts: SessionFacts) -> int:  # noqa: ARG002
        """Return how many items were looked at: none."""
        return 0

    def step(self, state: int, view: PolicyView) -> Decided:
        """Offload the long ones of the new items."""
        changes: list[Change] = []
        highest = 0.0
        for one in range(state, view.count):
            limit = {"output": self.result_tokens, "user": self.prompt_tokens}.get(
                view.item(one).kind
            )
            if limit is None or not is_reducible(view, one):
                continue
            tokens = view.tokens(one)
            highest = max(highest, tokens * self.result_tokens / limit)
            if tokens > limit:
                changes += self._offload(view, one)
        probe = Probe("tokens of a result", highest, self.result_tokens)
        return decided(
            view.count, changes, probe, "results that their first and last lines shorten"
        )

    def _offload(self, view: PolicyView, index: int) -> list[Change]:
        lines = view.read(index).splitlines()
        ends = lines if len(lines) <= 2 * self.lines else lines[: self.lines] + lines[-self.lines :]
        size = sum(min(len(one), self.line_chars) + 1 for one in ends) + FILE_NOTE_CHARS
        return shortened(view, index, size, "offloaded")


@dataclass(frozen=True, kw_only=True)
class DeepAgentsTruncateArgs(Measured):
    """Deepagents' truncate_args: near the window long inputs of old calls that write or edit are cut."""

    preset: ClassVar[str] = "deepagents.truncate_args"
    source: ClassVar[str] = "deepagents 23b83ad, middleware/summarization.py: truncate_args"
    counted: ClassVar[str] = (
        "deepagents 23b83ad, middleware/summarization.py: its own count_tokens_approximately"
    )
    measure: Measure = "estimated"
    window: int = 200_000
    at: float = 0.85
    messages: int = 20
    """The newest messages, which are spared."""
    longest: int = 2_000
    """Characters up to which an input stays."""
    kept: int = 20
    tools: tuple[str, ...] = ("write_file", "edit_file", "write", "edit")

    def start(self, facts: SessionFacts) -> tuple[int, int]:
        """Return the window, the recorded one where none is assumed, and how many items were cut: none."""
        return self.window_of(facts), 0

    def step(self, state: tuple[int, int], view: PolicyView) -> Decided:
        """Cut the inputs where the request is over the threshold."""
        window, first = state
        if window <= 0:
            return Decided(state, probe=NO_LIMIT)
        probe = self.over(view, self.at * window)
        if not probe.passed:
            return Decided(state, probe=probe)
        until = max(first, start_of_newest(view, self.messages))
        changes = [
            change
            for one in range(first, until)
            if view.item(one).kind == "call"
            and view.item(one).tool.lower() in self.tools
            and view.item(one).chars > self.longest
            and view.state(one) == "whole"
            for change in shortened(view, one, self.kept + len("...(argument truncated)"))
        ]
        able = f"long inputs of calls that write before the newest {self.messages} messages"
        return decided((window, until), changes, probe, able)


@dataclass(frozen=True, kw_only=True)
class StrandsOffload(Preset):
    """Strands' ContextOffloader: a result over 2,500 tokens shows its first 1,000 and is stored elsewhere."""

    preset: ClassVar[str] = "strands.offload"
    source: ClassVar[str] = "Strands Agents SDK 1.x, ContextOffloader: 2,500 and 1,000 tokens"
    longest: int = 2_500
    kept: int = 1_000

    def start(self, facts: SessionFacts) -> int:  # noqa: ARG002
        """Return how many results were looked at: none."""
        return 0

    def step(self, state: int, view: PolicyView) -> Decided:
        """Offload the long ones of the new results."""
        new = [one for one in view.outputs[state:] if is_reducible(view, one)]
        changes = [
            change
            for one in new
            if view.tokens(one) > self.longest
            for change in shortened(view, one, 4 * self.kept + FILE_NOTE_CHARS, "offloaded")
        ]
        highest = max((view.tokens(one) for one in new), default=0)
        probe = Probe("tokens of a result", highest, self.longest)
        able = f"results that {self.kept} tokens and a note would shorten"
        return decided(len(view.outputs), changes, probe, able)


@dataclass(frozen=True, kw_only=True)
class StrandsTruncateResults(Measured):
    """Strands' first answer to an overflow: the oldest long results show 200 characters of head and of tail.

    It goes on until the request fits; only then does its sliding window drop messages.
    """

    preset: ClassVar[str] = "strands.truncate_results"
    source: ClassVar[str] = "Strands Agents SDK 1.x, sliding_window_conversation_manager.py"
    counted: ClassVar[str] = "Strands Agents SDK 1.x: the provider refuses the request as too long"
    since: ClassVar[Since] = "counted"
    window: int = 200_000
    at: float = 1.0
    """Share of the window; 0.7 is the proactive option."""
    kept: int = 400

    def start(self, facts: SessionFacts) -> tuple[int, int]:
        """Return the window, the recorded one where none is assumed, and how many results were looked at."""
        return self.window_of(facts), 0

    def step(self, state: tuple[int, int], view: PolicyView) -> Decided:
        """Shorten results, the oldest first, until the request fits."""
        window, seen = state
        if window <= 0:
            return Decided(state, probe=NO_LIMIT)
        trigger = self.at * window
        probe = self.over(view, trigger)
        total, most = view.total, in_own_tokens(trigger, view, probe)
        changes: list[Change] = []
        for one in view.outputs[seen:]:
            if total <= most:
                break
            seen += 1
            if view.state(one) == "whole":
                found = shortened(view, one, self.kept + len("... [truncated] ..."))
                total -= sum(view.tokens(one) - -(-change.length // 4) for change in found)
                changes += found
        return decided((window, seen), changes, probe, "results that may be shortened")


@dataclass(frozen=True, kw_only=True)
class OpenAIAgentsTrimmer(Preset):
    """OpenAI Agents' ToolOutputTrimmer: results over 500 characters of older turns show the first 200."""

    preset: ClassVar[str] = "openai_agents.tool_output_trimmer"
    source: ClassVar[str] = "OpenAI Agents SDK, extensions/tool_output_trimmer.py"
    sticky: ClassVar[bool] = False
    turns: int = 2
    """The newest turns, whose results stay."""
    longest: int = 500
    preview: int = 200

    def start(self, facts: SessionFacts) -> int:  # noqa: ARG002
        """Return how many results were looked at: none."""
        return 0

    def step(self, state: int, view: PolicyView) -> Decided:
        """Trim the long results of the turns that are no longer among the newest."""
        border, outputs = state, view.outputs
        changes: list[Change] = []
        while border < len(outputs) and view.item(outputs[border]).turn <= view.turn - self.turns:
            changes += self._trim(view, outputs[border])
            border += 1
        probe = Probe("turns", view.turn, self.turns, "turns")
        able = f"results of over {self.longest} characters in older turns"
        return decided(border, changes, probe, able)

    def _trim(self, view: PolicyView, index: int) -> list[Change]:
        item = view.item(index)
        if item.chars <= self.longest:
            return []
        note = f"[Trimmed: {item.tool} output, {item.chars} chars, {self.preview} chars preview]\n...\n"
        return shortened(view, index, len(note) + self.preview)


def last_lines(view: PolicyView, indexes: Sequence[int], budget: int, lines: int) -> list[Change]:
    """Return the changes that leave the last lines of results beyond a budget of tokens, the newest being whole."""
    passed = 0
    found: list[Change] = []
    for one in reversed(indexes):
        if not is_shown(view, one):
            continue
        passed += view.tokens(one)
        if passed > budget and is_reducible(view, one):
            text = "\n".join(view.read(one).splitlines()[-lines:])
            found += shortened(view, one, len(text) + FILE_NOTE_CHARS, "offloaded")
    return found


PRESETS: tuple[type[Preset], ...] = (
    MiniSweAgentOutput,
    SmolagentsOutput,
    GeminiTruncate,
    DeepAgentsOffload,
    DeepAgentsTruncateArgs,
    StrandsOffload,
    StrandsTruncateResults,
    OpenAIAgentsTrimmer,
)
