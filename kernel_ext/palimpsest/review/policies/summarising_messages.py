"""Where the compactors of the field cut by messages or turns: a summary of stated size replaces the older ones.

Rules and numbers follow spec/review.md 2.2, read from the projects at the versions named in each ``source``. An
event of a project is counted as a message of the provider.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from palimpsest.review.policies.cutting import middle, tokens_in
from palimpsest.review.policies.measured import in_own_tokens
from palimpsest.review.policies.policy import (
    Change,
    Decided,
    PolicyView,
    Probe,
    SessionFacts,
    Since,
    When,
)
from palimpsest.review.policies.reducible import shown_messages, with_partners
from palimpsest.review.policies.settings import Preset
from palimpsest.review.policies.summarising import (
    SUMMARY_TOKENS,
    CutAtTokens,
    Summarise,
    SummaryState,
    enough_to_summarise,
)


@dataclass(frozen=True, kw_only=True)
class OpenHandsLlm(Summarise):
    """OpenHands' LLM condenser: over 100 events a summary replaces the middle, and half of the events stay."""

    preset: ClassVar[str] = "openhands.llm"
    source: ClassVar[str] = "OpenHands 611629e, condenser/impl/llm_summarizing_condenser.py"
    first: int = 1
    """The first messages, which stay."""
    most: int = 100

    def probe(self, state: SummaryState, view: PolicyView) -> Probe:
        """Return how many messages there are, and how many there may be."""
        return Probe("messages", len(shown_messages(view, state.gone)), self.most, "messages")

    def cut(self, state: SummaryState, view: PolicyView) -> int:
        """Return the first item of the newest half."""
        return self._middle(state, view).stop

    def covered(self, state: SummaryState, view: PolicyView, cut: int) -> Sequence[int]:
        """Return what lies between the first messages and the newest half."""
        starts = shown_messages(view, state.gone)
        return range(starts[self.first], cut) if len(starts) > self.first else ()

    def _middle(self, state: SummaryState, view: PolicyView) -> range:
        starts = shown_messages(view, state.gone)
        return middle(starts, self.first, max(1, self.most // 2 - self.first - 1))


@dataclass(frozen=True, kw_only=True)
class OpenHandsLlmV1(OpenHandsLlm):
    """OpenHands' condenser in its SDK: over 240 events, with the first two and half of the events staying."""

    preset: ClassVar[str] = "openhands.llm_v1"
    source: ClassVar[str] = (
        "OpenHands SDK 1.x (611629e), LLMSummarizingCondenser: 240, keep_first 2"
    )
    first: int = 2
    most: int = 240


@dataclass(frozen=True, kw_only=True)
class LangChainSummarise(Summarise):
    """LangChain's summarisation: over a number of tokens, the newest 20 messages stay."""

    preset: ClassVar[str] = "langchain.summarization"
    source: ClassVar[str] = (
        "LangChain 1.x, SummarizationMiddleware: keep 20 messages; the trigger is its guide's example"
    )
    counted: ClassVar[str] = (
        "LangChain 1.x, agents/middleware/summarization.py: _should_summarize_based_on_reported_tokens"
    )
    since: ClassVar[Since] = "nothing"
    trigger: int = 4_000
    messages: int = 20

    def probe(self, state: SummaryState, view: PolicyView) -> Probe:  # noqa: ARG002
        """Return the tokens of the request, and the threshold."""
        return self.over(view, self.trigger)

    def cut(self, state: SummaryState, view: PolicyView) -> int:
        """Return the first of the newest messages."""
        return middle(shown_messages(view, state.gone), 0, self.messages).stop


@dataclass(frozen=True, kw_only=True)
class DeepAgentsSummariseMessages(LangChainSummarise):
    """Deepagents' summarisation for a model of unknown window: over 170,000 tokens the newest six messages stay."""

    preset: ClassVar[str] = "deepagents.summarization_messages"
    source: ClassVar[str] = "deepagents 23b83ad, middleware/summarization.py: 170,000 and 6"
    counted: ClassVar[str] = (
        "LangChain 1.x, agents/middleware/summarization.py: _should_summarize_based_on_reported_tokens"
    )
    trigger: int = 170_000
    messages: int = 6


@dataclass(frozen=True, kw_only=True)
class StrandsSummarise(Summarise):
    """Strands' summarising manager: at an overflow the oldest 30 per cent of the messages are summarised."""

    preset: ClassVar[str] = "strands.summarizing"
    source: ClassVar[str] = (
        "Strands Agents SDK 1.x, summarizing_conversation_manager.py: summary_ratio 0.3"
    )
    counted: ClassVar[str] = "Strands Agents SDK 1.x: the provider refuses the request as too long"
    since: ClassVar[Since] = "counted"
    share: float = 0.3
    messages: int = 10
    """The newest messages, which stay."""

    def cut(self, state: SummaryState, view: PolicyView) -> int:
        """Return the first item after the oldest share of the messages."""
        starts = shown_messages(view, state.gone)
        count = min(max(1, int(len(starts) * self.share)), len(starts) - self.messages)
        return starts[count] if count > 0 else 0


@dataclass(frozen=True, kw_only=True)
class LettaSlidingWindow(Summarise):
    """Letta's sliding window: near the window the oldest 30 per cent of the messages are summarised.

    A tenth more is taken until the rest is below 70 per cent of the window.
    """

    preset: ClassVar[str] = "letta.sliding_window"
    source: ClassVar[str] = "Letta 0.16, services/summarizer: sliding_window_percentage 0.3"
    counted: ClassVar[str] = "Letta 0.16, agents: the usage of the last step"
    since: ClassVar[Since] = "nothing"
    at: float = 0.9
    share: float = 0.3
    more: float = 0.1

    def cut(self, state: SummaryState, view: PolicyView) -> int:
        """Return the first item after the share that has to go."""
        starts = shown_messages(view, state.gone)
        goal = in_own_tokens((1 - self.share) * state.window, view, self.probe(state, view))
        share, cut = self.share, 0
        while share < 1 and starts:
            cut = starts[int(len(starts) * share)]
            if view.total - tokens_in(view, 0, cut) <= goal:
                break
            share += self.more
        return cut


@dataclass(frozen=True, kw_only=True)
class AiderHistory(CutAtTokens):
    """Aider's chat history: over a sixteenth of the window, within bounds, the newest half of it stays."""

    preset: ClassVar[str] = "aider.history"
    source: ClassVar[str] = "aider 0.86, history.py: max_chat_history_tokens, depth 3"
    when: ClassVar[When] = "turn end"
    least_tokens: int = 1_024
    most_tokens: int = 8_192
    keep_share: float = 0.5

    def probe(self, state: SummaryState, view: PolicyView) -> Probe:
        """Return the tokens of the conversation, and the threshold."""
        return Probe(
            "tokens of the conversation", tokens_in(view, 0, view.count), self._limit(state)
        )

    def kept(self, state: SummaryState, view: PolicyView) -> float:  # noqa: ARG002
        """Return half of the limit."""
        return self.keep_share * self._limit(state)

    def _limit(self, state: SummaryState) -> int:
        return max(self.least_tokens, min(self.most_tokens, state.window // 16))


@dataclass(frozen=True, kw_only=True)
class GoogleAdkCompaction(Preset):
    """Google ADK's compaction: after every three invocations a summary of its own replaces their events.

    ADK's overlap lets the next summary read the turns before it once more; they are gone from the request
    all the same, so that it is no number here.
    """

    preset: ClassVar[str] = "google_adk.compaction"
    source: ClassVar[str] = (
        "Google ADK 1.x, EventsCompactionConfig: compaction_interval; 3 is its guide's example"
    )
    when: ClassVar[When] = "turn end"
    interval: int = 3
    summary: int = SUMMARY_TOKENS

    def start(self, facts: SessionFacts) -> int:  # noqa: ARG002
        """Return the turn after which it acted last: none."""
        return 0

    def step(self, state: int, view: PolicyView) -> Decided:
        """Summarise the turns since the last time where there are enough of them."""
        turns = view.turn - state
        probe = Probe("turns since the last summary", turns, self.interval - 1, "turns")
        if turns < self.interval:
            return Decided(state, probe=probe)
        leaving = with_partners(view, range(view.count))
        freed = sum(view.tokens(one) for one in leaving)
        if freed <= self.summary:
            return Decided(view.turn, probe=enough_to_summarise(freed, self.summary, probe))
        changes = [
            Change(one, "summarised", tokens=0 if place else self.summary)
            for place, one in enumerate(leaving)
        ]
        return Decided(view.turn, changes, probe, fired=True)


PRESETS: tuple[type[Preset], ...] = (
    OpenHandsLlm,
    OpenHandsLlmV1,
    LangChainSummarise,
    DeepAgentsSummariseMessages,
    StrandsSummarise,
    LettaSlidingWindow,
    AiderHistory,
    GoogleAdkCompaction,
)
