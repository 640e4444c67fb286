"""Compaction rules that summarise everything before the newest answer: only the threshold differs."""

from collections.abc import Sequence
from dataclasses import replace

from palimpsest.context_policies.interface.policy import PolicyView, Probe
from palimpsest.context_policies.items.measured import Measure
from palimpsest.context_policies.items.reducible import after_first_prompt, shown_messages
from palimpsest.context_policies.presets.cutting import ROO_ANSWER_TOKENS
from palimpsest.context_policies.presets.summarising import CutAtTokens, SummaryState


class SummariseAll(CutAtTokens):
    """Over a share of the window, or a number of tokens, nothing stays word for word."""

    keep_tokens: int = 0
    trigger: int = 0
    """Tokens at or above which the rule acts; 0: the share of the window."""

    def threshold_tokens(self, window: int) -> float:
        """Return the tokens at or above which the rule acts: ``trigger``, or the share of the window."""
        return self.trigger or CutAtTokens.threshold_tokens(self, window)


class AnthropicCompact(SummariseAll):
    """Anthropic's compaction on the server: at 150,000 tokens a summary replaces the conversation.

    The API takes no trigger below 50,000.
    """

    preset = "anthropic.compact"
    source = "Anthropic API, compact_20260112: input_tokens 150,000, once that is reached"
    token_source = "Anthropic API, compact_20260112: input_tokens, which the server counts"
    later_items = "counted"
    inclusive = True
    trigger: int = 150_000


class AnthropicSdkCompaction(SummariseAll):
    """Anthropic's CompactionControl in its SDK, since removed: the same on the client, at 100,000 tokens."""

    preset = "anthropic_sdk.compaction_control"
    source = (
        "Anthropic SDK 0.84.0, lib/tools/_beta_runner.py: _check_and_compact, DEFAULT_THRESHOLD"
    )
    token_source = "Anthropic SDK 0.84.0, lib/tools/_beta_runner.py: usage of the last message, with its answer"
    later_items = "nothing"
    inclusive = True
    trigger: int = 100_000


class OpenAICompact(SummariseAll):
    """OpenAI's compaction: over 240,000 tokens an encrypted item replaces the conversation.

    That is the number of the Agents SDK for a model that it does not know; for a known model it is nine tenths of the
    window: ``trigger=0 at=0.9``.
    """

    preset = "openai.compact"
    source = (
        "OpenAI Agents SDK 0.24.0, sandbox/capabilities/compaction.py: _DEFAULT_COMPACT_THRESHOLD"
    )
    token_source = "OpenAI Responses API 2026: compact_threshold, which the server counts"
    later_items = "counted"
    window: int = 272_000
    trigger: int = 240_000


class LearnClaudeCodeAuto(SummariseAll):
    """Learn-claude-code's auto-compaction: over 50,000 tokens a summary replaces the conversation."""

    preset = "learn_claude_code.auto"
    source = "shareAI-lab/learn-claude-code, lesson s06: THRESHOLD = 50000"
    token_source = (
        "shareAI-lab/learn-claude-code, lesson s06: estimate_tokens, a quarter of the characters"
    )
    measure: Measure = "estimated"
    trigger: int = 50_000


class RooCondense(SummariseAll):
    """Roo Code's condensing: over nine tenths of the window less the answer, a summary replaces the conversation.

    A profile may act earlier: at a share ``window_share`` of the window, from 0.05 on, and then at that share already.
    """

    preset = "roo.condense"
    source = "Roo Code 3.x, core/context-management: TOKEN_BUFFER_PERCENTAGE 0.1"
    token_source = "Roo Code 3.x, core/task: getTokenUsage().contextTokens, with an estimate of the last message"
    reserve: int = ROO_ANSWER_TOKENS
    """Tokens reserved for the answer: the model's ``maxTokens``, 8,192 where that is not known."""
    buffer: float = 0.1
    """Share of the window that is reserved beside the answer."""

    def probe(self, state: SummaryState, view: PolicyView) -> Probe:
        """Return the probe against the smaller limit: the profile's share, or the window without buffer and answer."""
        limit = max(0.0, (1 - self.buffer) * state.window - self.reserve)
        share = self.window_share * state.window
        return replace(self.probe_against(view, min(share, limit)), inclusive=share <= limit)


class GooseCompact(SummariseAll):
    """Goose's compaction: over 80 per cent of the window a summary replaces all but the newest prompt."""

    preset = "goose.compact"
    source = "goose 1.x, context_mgmt: GOOSE_AUTO_COMPACT_THRESHOLD 0.8"
    token_source = "goose 1.x, context_mgmt/mod.rs: the total_tokens of the session, which the provider reported"
    later_items = "nothing"
    window_share: float = 0.8

    def covered_items(self, view: PolicyView, first_kept: int) -> Sequence[int]:
        covered_items = SummariseAll.covered_items(self, view, first_kept)
        newest_prompt = next(
            (index for index in reversed(covered_items) if view.item(index).kind == "user"), -1
        )
        return [index for index in covered_items if index != newest_prompt]


class InspectSummary(SummariseAll):
    """Inspect's CompactionSummary: over nine tenths of the window a summary replaces all but the first prompt."""

    preset = "inspect.compaction_summary"
    source = "Inspect 499e615, model/_compaction: CompactionSummary, threshold 0.9"
    token_source = "Inspect 499e615, model/_compaction: count_tokens, which asks the provider"
    later_items = "counted"
    window_share: float = 0.9

    def covered_items(self, view: PolicyView, first_kept: int) -> Sequence[int]:
        message_starts = shown_messages(view)
        first = after_first_prompt(view, message_starts)
        return range(message_starts[first], first_kept) if len(message_starts) > first else ()
