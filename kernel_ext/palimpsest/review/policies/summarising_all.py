"""Compactors that summarise everything before the newest answer: only the threshold differs.

Rules and numbers follow spec/review.md 2.2, read from the projects at the versions named in each ``source``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from palimpsest.review.policies.policy import PolicyView, Probe
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
    trigger: int = 150_000


@dataclass(frozen=True, kw_only=True)
class AnthropicSdkCompaction(SummariseAll):
    """Anthropic's CompactionControl in its SDK, deprecated: the same on the client, over 100,000 tokens."""

    preset: ClassVar[str] = "anthropic_sdk.compaction_control"
    source: ClassVar[str] = "Anthropic SDK 2026, CompactionControl: context_token_threshold 100,000"
    trigger: int = 100_000


@dataclass(frozen=True, kw_only=True)
class OpenAICompact(SummariseAll):
    """OpenAI's compaction: over 240,000 tokens an encrypted item replaces the conversation."""

    preset: ClassVar[str] = "openai.compact"
    source: ClassVar[str] = "OpenAI Agents SDK 2026, sandbox default of compact_threshold: 240,000"
    trigger: int = 240_000


@dataclass(frozen=True, kw_only=True)
class LearnClaudeCodeAuto(SummariseAll):
    """Learn-claude-code's auto-compaction: over 50,000 tokens a summary replaces the conversation."""

    preset: ClassVar[str] = "learn_claude_code.auto"
    source: ClassVar[str] = "shareAI-lab/learn-claude-code, lesson s06: THRESHOLD = 50000"
    trigger: int = 50_000


@dataclass(frozen=True, kw_only=True)
class RooCondense(SummariseAll):
    """Roo Code's condensing: at the window less a tenth, a summary replaces the conversation.

    A profile may act earlier: ``at`` from 0.05 on.
    """

    preset: ClassVar[str] = "roo.condense"
    source: ClassVar[str] = "Roo Code 3.x, core/condense: TOKEN_BUFFER_PERCENTAGE 0.1"
    at: float = 0.9


@dataclass(frozen=True, kw_only=True)
class GooseCompact(SummariseAll):
    """Goose's compaction: over 80 per cent of the window a summary replaces the conversation."""

    preset: ClassVar[str] = "goose.compact"
    source: ClassVar[str] = "goose 1.x, GOOSE_AUTO_COMPACT_THRESHOLD 0.8"
    at: float = 0.8


@dataclass(frozen=True, kw_only=True)
class InspectSummary(SummariseAll):
    """Inspect's CompactionSummary: over nine tenths of the window a summary replaces all but the first prompt."""

    preset: ClassVar[str] = "inspect.compaction_summary"
    source: ClassVar[str] = "Inspect 499e615, model/_compaction: CompactionSummary, threshold 0.9"
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
