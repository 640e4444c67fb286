"""Compaction rules that cut by messages or turns: a summary of stated size replaces the older ones.

An event of a project is counted as a message of the provider.
"""

from collections.abc import Sequence
from math import ceil

from palimpsest.context_policies.interface.policy import Change, PolicyResult, PolicyView, Probe
from palimpsest.context_policies.interface.settings import Preset
from palimpsest.context_policies.items.measured import in_own_tokens
from palimpsest.context_policies.items.reducible import (
    is_result,
    newest_that_fit,
    shown_chat,
    shown_events,
    shown_merged_messages,
    shown_messages,
    tokens_in,
    with_partners,
)
from palimpsest.context_policies.presets.cutting import (
    SYSTEM_EVENT_COUNT,
    first_event_count,
    middle_items,
)
from palimpsest.context_policies.presets.summarising import (
    CutAtTokens,
    Summarise,
    SummaryState,
    gain_probe,
)
from palimpsest.context_policies.summary_size import SUMMARY_TOKENS

MAX_UNSPLIT_MESSAGES = 4
"""Maximum messages before the cut with which aider summarises everything."""
MIN_STRANDS_SHARE = 0.1
MAX_STRANDS_SHARE = 0.8


class OpenHandsLlm(Summarise):
    """OpenHands' LLM condenser: over 100 events a summary replaces the middle, and half of the events stay.

    Events are the system prompt, messages, calls, results and the summary. The first prompt stays in any case.
    """

    preset = "openhands.llm"
    source = "OpenHands 611629e, condenser/impl/llm_summarizing_condenser.py"
    keep_first: int = 1
    """Number of first events that stay; the system prompt is one."""
    max_events: int = 100

    def probe(self, state: SummaryState, view: PolicyView) -> Probe:
        has_summary = state.summary_place >= 0 and view.state(state.summary_place) == "summarised"
        count = SYSTEM_EVENT_COUNT + has_summary + len(shown_events(view))
        return Probe("events", count, self.max_events, "events")

    def first_to_keep(self, state: SummaryState, view: PolicyView) -> int:  # noqa: ARG002
        """Return the first item of the newest half."""
        newest_count = max(1, self.max_events // 2 - self.keep_first - 1)
        return middle_items(
            shown_events(view), first_event_count(self.keep_first), newest_count
        ).stop

    def covered_items(self, view: PolicyView, first_kept: int) -> Sequence[int]:
        message_starts = shown_events(view)
        first_covered = first_event_count(self.keep_first)
        return (
            range(message_starts[first_covered], first_kept)
            if len(message_starts) > first_covered
            else ()
        )


class OpenHandsLlmV1(OpenHandsLlm):
    """OpenHands' condenser in its SDK: over 240 events, with the first two and half of the events staying."""

    preset = "openhands.llm_v1"
    source = "OpenHands SDK 1.x (611629e), LLMSummarizingCondenser: 240, keep_first 2"
    keep_first: int = 2
    max_events: int = 240


class LangChainSummarise(Summarise):
    """LangChain's summarisation: at a number of tokens, the newest 20 messages stay."""

    preset = "langchain.summarization"
    source = "LangChain 1.x, SummarizationMiddleware: keep 20 messages; the trigger is its guide's example"
    token_source = "LangChain 1.x, agents/middleware/summarization.py: _should_summarize_based_on_reported_tokens"
    later_items = "nothing"
    inclusive = True
    trigger: int = 4_000
    messages: int = 20
    """Number of newest messages that stay."""

    def probe(self, state: SummaryState, view: PolicyView) -> Probe:  # noqa: ARG002
        return self.probe_against(view, self.trigger)

    def first_to_keep(self, state: SummaryState, view: PolicyView) -> int:  # noqa: ARG002
        """Return the first of the newest messages; where that is a result, the message with its call."""
        message_starts = shown_chat(view)
        return before_results(view, message_starts, len(message_starts) - self.messages)


class DeepAgentsSummariseMessages(LangChainSummarise):
    """Deepagents' summarisation for a model of unknown window: at 170,000 tokens the newest six messages stay."""

    preset = "deepagents.summarization_messages"
    source = "deepagents 23b83ad, middleware/summarization.py: 170,000 and 6"
    token_source = "LangChain 1.x, agents/middleware/summarization.py: _should_summarize_based_on_reported_tokens"
    trigger: int = 170_000
    messages: int = 6


class DeepAgentsSummarise(CutAtTokens):
    """Deepagents' summarisation: at 85 per cent of the window, a tenth of the window stays."""

    preset = "deepagents.summarization"
    source = "deepagents 23b83ad, middleware/summarization.py: fractions 0.85, 0.10"
    token_source = "LangChain 1.x, agents/middleware/summarization.py: _should_summarize_based_on_reported_tokens"
    later_items = "nothing"
    inclusive = True
    window_share: float = 0.85
    keep_share: float = 0.10

    def threshold_tokens(self, window: int) -> float:
        return int(CutAtTokens.threshold_tokens(self, window))

    def tokens_to_keep(self, state: SummaryState, view: PolicyView) -> float:  # noqa: ARG002
        return self.keep_share * state.window

    def first_to_keep(self, state: SummaryState, view: PolicyView) -> int:
        """Return the first of the newest messages that fit into the tokens to keep; it is never a result."""
        message_starts = shown_chat(view)
        start_index = newest_that_fit(view, message_starts, int(self.tokens_to_keep(state, view)))
        return before_results(view, message_starts, min(start_index, len(message_starts) - 1))


class ClineCompact(CutAtTokens):
    """Cline's compaction: at nine tenths of nine tenths of the window, the newest 20,000 tokens stay.

    The newest turn stays whole, and so it never acts within a first turn that is longer. Its newest SDK estimates the
    whole request instead, by a third of its characters as JSON: ``measure=estimated``.
    """

    preset = "cline.compact"
    source = "Cline SDK 21cb8d2, context/compaction-shared.ts: findCutIndex, 0.9 of 0.9, 20,000"
    token_source = "Cline: the totals of the last API request, with its answer"
    estimate_factor = 4 / 3
    inclusive = True
    window_share: float = 0.81

    def first_to_keep(self, state: SummaryState, view: PolicyView) -> int:  # noqa: ARG002
        """Return the message at which the newest tokens to keep begin, or the newest prompt if that is older."""
        message_starts = shown_merged_messages(view)
        passed_tokens, end, start_index = 0, view.count, len(message_starts)
        while start_index > 0 and passed_tokens < self.keep_tokens:
            start_index -= 1
            passed_tokens += tokens_in(view, message_starts[start_index], end)
            end = message_starts[start_index]
        later = range(len(message_starts) - 1, 0, -1)
        prompts = (number for number in later if view.item(message_starts[number]).kind == "user")
        start_index = min(start_index, next(prompts, start_index))
        while 0 < start_index < len(message_starts) and is_result(
            view, message_starts[start_index]
        ):
            start_index -= 1
        return message_starts[start_index] if start_index < len(message_starts) else view.count


class StrandsSummarise(Summarise):
    """Strands' summarising manager: at an overflow the oldest 30 per cent of the messages are summarised.

    This is repeated until the request fits. All results of one answer are one message.
    """

    preset = "strands.summarizing"
    source = "Strands Agents SDK 1.x, summarizing_conversation_manager.py: summary_ratio 0.3"
    token_source = "Strands Agents SDK 1.x: the provider refuses the request as too long"
    later_items = "counted"
    share: float = 0.3
    messages: int = 10
    """Number of newest messages that stay."""

    def first_to_keep(self, state: SummaryState, view: PolicyView) -> int:
        """Return the first item after the oldest share of the messages."""
        message_starts = shown_merged_messages(view)
        summarised_share = max(MIN_STRANDS_SHARE, min(MAX_STRANDS_SHARE, self.share))
        start_index, summary_count, remaining_tokens = 0, int(state.summary_place >= 0), view.total
        max_tokens = in_own_tokens(
            self.threshold_tokens(state.window), view, self.probe(state, view)
        )
        while remaining_tokens > max_tokens:
            messages = summary_count + len(message_starts) - start_index  # the summary is one
            count = (
                min(max(1, int(messages * summarised_share)), messages - self.messages)
                - summary_count
            )
            end = start_index + count
            while 0 < end < len(message_starts) and is_result(view, message_starts[end]):
                end += 1
            if count <= 0 or end >= len(message_starts):
                break
            freed_tokens = (
                tokens_in(view, message_starts[start_index], message_starts[end])
                + summary_count * self.summary
            )
            remaining_tokens += self.summary - freed_tokens
            start_index, summary_count = end, 1
        return message_starts[start_index] if start_index else 0


class LettaSlidingWindow(Summarise):
    """Letta's sliding window: over the window the oldest 40 per cent of the messages are summarised.

    That is ``share`` and ``share_step``; another tenth is added until the rest is below 70 per cent of the window. The
    remaining messages begin with an answer. Where no answer remains, the summary replaces everything.
    """

    preset = "letta.sliding_window"
    source = "Letta 0.16, services/summarizer/summarizer_sliding_window.py: sliding_window_percentage 0.3"
    token_source = "Letta 0.16, agents: the provider refuses the request as too long"
    later_items = "counted"
    window_share: float = 1.0
    """Share of the window above which it acts; 0.9 for models of the GPT-5 family."""
    share: float = 0.3
    share_step: float = 0.1

    def first_to_keep(self, state: SummaryState, view: PolicyView) -> int:
        """Return the newest answer within the share to be removed, at which the rest begins; without one, the end."""
        message_starts = shown_chat(view)
        # The system prompt and the summary are messages, too.
        fixed_messages = 1 + (state.summary_place >= 0)
        kept_tokens = (1 - self.share) * state.window
        tokens_to_keep = in_own_tokens(kept_tokens, view, self.probe(state, view))
        share = self.share
        while share < 1 and self.share_step > 0:
            share += self.share_step
            end = round(share * (fixed_messages + len(message_starts))) - fixed_messages
            older = range(min(end, len(message_starts) - 1), -1, -1)
            start_index = next(
                (index for index in older if _is_answer(view, message_starts[index])), None
            )
            if start_index is None or share >= 1:
                continue
            if view.total - tokens_in(view, 0, message_starts[start_index]) < tokens_to_keep:
                return (
                    message_starts[start_index]
                    if start_index < len(message_starts) - 1
                    else view.count
                )
        return view.count


class AiderHistory(CutAtTokens):
    """Aider's chat history: over a sixteenth of the window, within bounds, the newest half of it stays.

    The summarised messages end with an answer; of four messages or fewer none stays.
    """

    preset = "aider.history"
    source = "aider 0.86, history.py: max_chat_history_tokens, depth 3"
    when = "turn end"
    least_tokens: int = 1_024
    most_tokens: int = 8_192
    keep_share: float = 0.5

    def probe(self, state: SummaryState, view: PolicyView) -> Probe:
        summary = self.summary if state.summary_place >= 0 else 0
        total_tokens = summary + tokens_in(view, 0, view.count)
        return Probe("tokens of the conversation", total_tokens, self._max_history_tokens(state))

    def tokens_to_keep(self, state: SummaryState, view: PolicyView) -> float:  # noqa: ARG002
        return self.keep_share * self._max_history_tokens(state)

    def first_to_keep(self, state: SummaryState, view: PolicyView) -> int:
        """Return the first of the newest messages that fit, moved back so that an answer comes before it."""
        message_starts = shown_messages(view)
        summary_count = int(state.summary_place >= 0)  # the summary is a message, too
        start_index = newest_that_fit(
            view, message_starts, ceil(self.tokens_to_keep(state, view)) - 1
        )
        while (
            start_index + summary_count > 1
            and start_index > 0
            and not _is_answer(view, message_starts[start_index - 1])
        ):
            start_index -= 1
        if start_index + summary_count <= MAX_UNSPLIT_MESSAGES or start_index >= len(
            message_starts
        ):
            return view.count
        return message_starts[start_index]

    def _max_history_tokens(self, state: SummaryState) -> int:
        return max(self.least_tokens, min(self.most_tokens, state.window // 16))


class GoogleAdkCompaction(Preset):
    """Google ADK's compaction: after every three invocations a separate summary replaces their events.

    ADK's overlap lets the next summary read the turns before it again; they are removed from the request all the same, so
    the overlap is not a number here.
    """

    preset = "google_adk.compaction"
    source = "Google ADK 1.x, EventsCompactionConfig: compaction_interval; 3 is its guide's example"
    when = "turn end"
    initial_state = 0
    """The turn after which the rule last acted: none."""
    interval: int = 3
    """Number of turns after which a summary is written."""
    summary: int = SUMMARY_TOKENS
    """Tokens of the summary."""

    def step(self, state: int, view: PolicyView) -> PolicyResult:
        turn_count = view.turn - state
        probe = Probe(
            "turns since the last summary", turn_count, self.interval, "turns", inclusive=True
        )
        if not probe.is_passed:
            return PolicyResult(state, probe=probe)
        covered_items = with_partners(view, range(view.count))
        freed_tokens = sum(view.tokens(index) for index in covered_items)
        if freed_tokens <= self.summary:
            return PolicyResult(view.turn, probe=gain_probe(freed_tokens, self.summary, probe))
        changes = [
            Change(index, "summarised", tokens=0 if position else self.summary)
            for position, index in enumerate(covered_items)
        ]
        return PolicyResult(view.turn, changes, probe, fired=True)


def before_results(view: PolicyView, message_starts: Sequence[int], start_index: int) -> int:
    """Return the first item of the message at an index; for a result, of the message with its call."""
    if start_index < 0:
        return 0
    while start_index > 0 and is_result(view, message_starts[start_index]):
        start_index -= 1
    return message_starts[start_index]


def _is_answer(view: PolicyView, start: int) -> bool:
    """Return whether a message that begins with an item is an answer of the model."""
    return view.item(start).kind in ("assistant", "reasoning", "call")
