"""Policies that shorten long results, when they come or a little later, and call no model.

A result that is shortened when it comes is never sent whole, so that this breaks no cache. Rules and numbers were
read from the projects at the versions named in each ``source``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from palimpsest.review.policies.policy import Change, Decided, PolicyView, Probe
from palimpsest.review.policies.settings import ActsAt, Preset
from palimpsest.transcript.timeline import ItemState

NOTE_CHARS = 120
"""Characters of the sentence that says what was left out; the projects' own have 60 to 200."""
PREVIEW_LINE_CHARS = 1_000


@dataclass(frozen=True, kw_only=True)
class TrimResults(Preset):
    """A result over ``longest`` characters is shortened to a head and a tail when it comes."""

    acts_at: ClassVar[ActsAt] = "result"
    becomes: ClassVar[ItemState] = "truncated"
    longest: int = 10_000
    head: int = 5_000
    tail: int = 5_000

    def decide(self, state: int, view: PolicyView) -> Decided:
        """Shorten the results that are new."""
        new = view.outputs[state:]
        longest = max((view.item(one).chars for one in new), default=0)
        probe = Probe("characters of a new result", longest, self.longest, "characters")
        changes = [
            Change(one, self.becomes, chars=min(view.item(one).chars, self.left(view, one)))
            for one in new
            if view.item(one).chars > self.longest
        ]
        return Decided(len(view.outputs), changes, probe, fired=bool(changes))

    def left(self, view: PolicyView, index: int) -> int:  # noqa: ARG002
        """Return the characters that are left of a long result, with the note."""
        return self.head + self.tail + NOTE_CHARS


@dataclass(frozen=True, kw_only=True)
class MiniSweAgent(TrimResults):
    """mini-swe-agent's only rule: a result over 10,000 characters is shown as head, tail and a count."""

    preset: ClassVar[str] = "mini_swe_agent.truncate"
    source: ClassVar[str] = "mini-swe-agent, config/default.yaml: observation_template"
    version: ClassVar[str] = "2.x"


@dataclass(frozen=True, kw_only=True)
class SmolAgents(TrimResults):
    """smolagents' only rule without a model: a result over 20,000 characters is shown as head and tail."""

    preset: ClassVar[str] = "smolagents.truncate"
    source: ClassVar[str] = "smolagents, utils.py: MAX_LENGTH_TRUNCATE_CONTENT"
    version: ClassVar[str] = "1.x"
    longest: int = 20_000
    head: int = 10_000
    tail: int = 10_000


@dataclass(frozen=True, kw_only=True)
class GeminiTruncate(TrimResults):
    """Gemini CLI's truncation: a result over 40,000 characters becomes a head, a tail and a file."""

    preset: ClassVar[str] = "gemini.truncate"
    source: ClassVar[str] = "Gemini CLI, core/coreToolScheduler.ts: truncateToolOutputThreshold"
    version: ClassVar[str] = "5411f11"
    longest: int = 40_000
    head: int = 8_000
    tail: int = 32_000


@dataclass(frozen=True, kw_only=True)
class StrandsOffload(TrimResults):
    """Strands' ContextOffloader: a result over 2,500 tokens becomes a preview of 1,000 and a reference."""

    preset: ClassVar[str] = "strands.offload"
    source: ClassVar[str] = (
        "Strands Agents SDK, ContextOffloader: max_result_tokens, preview_tokens"
    )
    version: ClassVar[str] = "1.x"
    becomes: ClassVar[ItemState] = "offloaded"
    longest: int = 10_000
    head: int = 4_000
    tail: int = 0


@dataclass(frozen=True, kw_only=True)
class DeepAgentsOffload(TrimResults):
    """deepagents' offload: a result over 20,000 tokens becomes a file, its first and its last five lines.

    A person's message over 50,000 tokens is offloaded, too.
    """

    preset: ClassVar[str] = "deepagents.offload"
    source: ClassVar[str] = "deepagents, middleware/filesystem.py: tool_token_limit_before_evict"
    version: ClassVar[str] = "23b83ad"
    changes_what: ClassVar[str] = "tool results, prompts"
    becomes: ClassVar[ItemState] = "offloaded"
    longest: int = 80_000
    head: int = 5
    """Lines, as ``tail``."""
    tail: int = 5
    longest_prompt: int = 200_000
    """Characters above which a person's message is offloaded."""

    def start(self, facts: object) -> tuple[int, int]:  # noqa: ARG002
        """Return how many results and items were looked at: none."""
        return 0, 0

    def decide(self, state: tuple[int, int], view: PolicyView) -> Decided:  # type: ignore[override]
        """Offload the results and prompts that are new."""
        results, seen = state
        decided = super().decide(results, view)
        prompts = [
            Change(one, self.becomes, chars=min(view.item(one).chars, self.left(view, one)))
            for one in range(seen, view.count)
            if view.item(one).kind == "user" and view.item(one).chars > self.longest_prompt
        ]
        changes = [*decided.changes, *prompts]
        return Decided((decided.state, view.count), changes, decided.probe, fired=bool(changes))

    def left(self, view: PolicyView, index: int) -> int:
        """Return the characters of the first and last lines, each cut to 1,000, with the note."""
        lines = view.read(index).splitlines()
        ends: Sequence[str] = lines
        if len(lines) > self.head + self.tail:
            ends = [*lines[: self.head], *lines[len(lines) - self.tail :]]
        return sum(min(len(one), PREVIEW_LINE_CHARS) + 1 for one in ends) + NOTE_CHARS


@dataclass(frozen=True, kw_only=True)
class OpenAiTrimmer(Preset):
    """OpenAI Agents' trimmer: results over 500 characters, older than two turns, are cut to a preview of 200."""

    preset: ClassVar[str] = "openai_agents.tool_output_trimmer"
    source: ClassVar[str] = (
        "OpenAI Agents SDK, extensions/tool_output_trimmer.py: ToolOutputTrimmer"
    )
    version: ClassVar[str] = "0.x"
    sticky: ClassVar[bool] = False
    recent_turns: int = 2
    longest: int = 500
    preview: int = 200

    def decide(self, state: int, view: PolicyView) -> Decided:
        """Cut what is no longer in a recent turn."""
        until = state
        while (
            until < len(view.outputs)
            and view.item(view.outputs[until]).turn <= view.turn - self.recent_turns
        ):
            until += 1
        probe = Probe("turns", view.turn, self.recent_turns, "turns")
        changes = [
            Change(one, "truncated", chars=min(view.item(one).chars, self.preview + NOTE_CHARS))
            for one in view.outputs[state:until]
            if view.item(one).chars > self.longest
        ]
        return Decided(until, changes, probe, fired=bool(changes))
