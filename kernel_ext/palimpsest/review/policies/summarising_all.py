"""Compactors that summarise everything before the newest answer: only the threshold differs.

Rules and numbers follow spec/review.md 2.2, read from the projects at the versions named in each ``source``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import ClassVar

from palimpsest.review.policies.cutting import ROO_ANSWER
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
    """Roo Code's condensing: over nine tenths of the window less the answer, a summary replaces the conversation.

    A profile may act earlier: at a share ``at`` of the window, from 0.05 on.
    """

    preset: ClassVar[str] = "roo.condense"
    source: ClassVar[str] = "Roo Code 3.x, core/context-management: TOKEN_BUFFER_PERCENTAGE 0.1"
    reserve: int = ROO_ANSWER
    """Tokens kept free for the answer: the model's ``maxTokens``, 8,192 where that is not known."""
    buffer: float = 0.1
    """Share of the window that is kept free beside them."""

    def limit(self, state: SummaryState, view: PolicyView) -> float:  # noqa: ARG002
        """Return the smaller of the profile's share and what the buffer and the answer leave."""
        left = max(0.0, (1 - self.buffer) * state.window - self.reserve)
        return min(ceil(self.at * state.window) - 1, left)  # at its share it acts already


@dataclass(frozen=True, kw_only=True)
class GooseCompact(SummariseAll):
    """Goose's compaction: over 80 per cent of the window a summary replaces all but the newest prompt."""

    preset: ClassVar[str] = "goose.compact"
    source: ClassVar[str] = "goose 1.x, context_mgmt: GOOSE_AUTO_COMPACT_THRESHOLD 0.8"
    at: float = 0.8

    def covered(self, state: SummaryState, view: PolicyView, cut: int) -> Sequence[int]:
        """Return all items but the newest prompt."""
        found = SummariseAll.covered(self, state, view, cut)
        newest = next((one for one in reversed(found) if view.item(one).kind == "user"), -1)
        return [one for one in found if one != newest]


@dataclass(frozen=True, kw_only=True)
class InspectSummary(SummariseAll):
    """Inspect's CompactionSummary: over nine tenths of the window a summary replaces all but the first prompt."""

    preset: ClassVar[str] = "inspect.compaction_summary"
    source: ClassVar[str] = "Inspect 499e615, model/_compaction: CompactionSummary, threshold 0.9"
    at: float = 0.9

    def covered(self, state: SummaryState, view: PolicyView, cut: int) -> Sequence[int]:  # noqa: ARG002
        """Return all items after the first prompt."""
        starts = shown_messages(view)
        first = next(
            (place for place, one in enumerate(starts) if view.item(one).kind == "user"), 0
        )
        return range(starts[first + 1], cut) if len(starts) > first + 1 else ()


PRESETS: tuple[type[Preset], ...] = (
    AnthropicCompact,
    AnthropicSdkCompaction,
    OpenAICompact,
    LearnClaudeCodeAuto,
    RooCondense,
    GooseCompact,
    InspectSummary,
)
