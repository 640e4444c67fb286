"""Compactors that summarise everything before the newest answer: only the threshold differs.

Rules and numbers follow spec/review.md 2.2, read from the projects at the versions named in each ``source``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from palimpsest.review.policies.measured import Measure
from palimpsest.review.policies.policy import PolicyView, Probe, Since
from palimpsest.review.policies.reducible import shown_messages
from palimpsest.review.policies.settings import Preset
from palimpsest.review.policies.summarising import CutAtTokens, SummaryState


@dataclass(frozen=True, kw_only=True)
class SummariseAll(CutAtTokens):
    """Over a share of the window, or a number of tokens, nothing stays word for word."""

    keep: int = 0
    trigger: int = 0
    """Tokens above which it acts; 0: the share of the window."""

    def probe(self, state: SummaryState, view: PolicyView) -> Probe:
        """Return the tokens of the request, and the threshold."""
        probe = CutAtTokens.probe(self, state, view)
        if not self.trigger:
            return probe
        return Probe(probe.signal, probe.value, self.trigger)


@dataclass(frozen=True, kw_only=True)
class AnthropicCompact(SummariseAll):
    """Anthropic's compaction on the server: over 150,000 tokens a summary replaces the conversation."""

    preset: ClassVar[str] = "anthropic.compact"
    source: ClassVar[str] = "Anthropic API, compact_20260112: input_tokens 150,000"
    counted: ClassVar[str] = (
        "Anthropic API, compact_20260112: input_tokens, which the server counts"
    )
    since: ClassVar[Since] = "counted"
    trigger: int = 150_000


@dataclass(frozen=True, kw_only=True)
class AnthropicSdkCompaction(SummariseAll):
    """Anthropic's CompactionControl in its SDK, deprecated: the same on the client, over 100,000 tokens."""

    preset: ClassVar[str] = "anthropic_sdk.compaction_control"
    source: ClassVar[str] = "Anthropic SDK 2026, CompactionControl: context_token_threshold 100,000"
    counted: ClassVar[str] = (
        "Anthropic SDK 2026, tool runner: usage of the last message, with its answer"
    )
    since: ClassVar[Since] = "nothing"
    trigger: int = 100_000


@dataclass(frozen=True, kw_only=True)
class OpenAICompact(SummariseAll):
    """OpenAI's compaction: over 240,000 tokens an encrypted item replaces the conversation."""

    preset: ClassVar[str] = "openai.compact"
    source: ClassVar[str] = "OpenAI Agents SDK 2026, sandbox default of compact_threshold: 240,000"
    counted: ClassVar[str] = "OpenAI Responses API 2026: compact_threshold, which the server counts"
    since: ClassVar[Since] = "counted"
    window: int = 272_000
    trigger: int = 240_000


@dataclass(frozen=True, kw_only=True)
class LearnClaudeCodeAuto(SummariseAll):
    """Learn-claude-code's auto-compaction: over 50,000 tokens a summary replaces the conversation."""

    preset: ClassVar[str] = "learn_claude_code.auto"
    source: ClassVar[str] = "shareAI-lab/learn-claude-code, lesson s06: THRESHOLD = 50000"
    counted: ClassVar[str] = (
        "shareAI-lab/learn-claude-code, lesson s06: estimate_tokens, a quarter of the characters"
    )
    measure: Measure = "estimated"
    trigger: int = 50_000


@dataclass(frozen=True, kw_only=True)
class RooCondense(SummariseAll):
    """Roo Code's condensing: at the window less a tenth, a summary replaces the conversation.

    A profile may act earlier: ``at`` from 0.05 on.
    """

    preset: ClassVar[str] = "roo.condense"
    source: ClassVar[str] = "Roo Code 3.x, core/condense: TOKEN_BUFFER_PERCENTAGE 0.1"
    counted: ClassVar[str] = (
        "Roo Code 3.x, core/task: getTokenUsage().contextTokens, with an estimate of the last message"
    )
    at: float = 0.9


@dataclass(frozen=True, kw_only=True)
class GooseCompact(SummariseAll):
    """Goose's compaction: over 80 per cent of the window a summary replaces the conversation."""

    preset: ClassVar[str] = "goose.compact"
    source: ClassVar[str] = "goose 1.x, GOOSE_AUTO_COMPACT_THRESHOLD 0.8"
    counted: ClassVar[str] = (
        "goose 1.x, context_mgmt/mod.rs: the total_tokens of the session, which the provider reported"
    )
    since: ClassVar[Since] = "nothing"
    at: float = 0.8


@dataclass(frozen=True, kw_only=True)
class InspectSummary(SummariseAll):
    """Inspect's CompactionSummary: over nine tenths of the window a summary replaces all but the first prompt."""

    preset: ClassVar[str] = "inspect.compaction_summary"
    source: ClassVar[str] = "Inspect 499e615, model/_compaction: CompactionSummary, threshold 0.9"
    counted: ClassVar[str] = (
        "Inspect 499e615, model/_compaction: count_tokens, which asks the provider"
    )
    since: ClassVar[Since] = "counted"
    at: float = 0.9

    def covered(self, state: SummaryState, view: PolicyView, cut: int) -> Sequence[int]:  # noqa: ARG002
        """Return all items after the first message."""
        starts = shown_messages(view)
        return range(starts[1], cut) if len(starts) > 1 else ()


PRESETS: tuple[type[Preset], ...] = (
    AnthropicCompact,
    AnthropicSdkCompaction,
    OpenAICompact,
    LearnClaudeCodeAuto,
    RooCondense,
    GooseCompact,
    InspectSummary,
)
