"""Where the compactors of the field cut that count messages or turns: a summary of stated size replaces the rest.

The summary is a placeholder, as in ``summarising``. Rules and numbers were read from the projects at the versions
named in each ``source``.
"""

from dataclasses import dataclass
from typing import ClassVar

from palimpsest.review.policies.permitted import FIXED
from palimpsest.review.policies.policy import Decided, PolicyView, Probe, When
from palimpsest.review.policies.settings import ActsAt, window_of
from palimpsest.review.policies.summarising import CutRule


@dataclass(frozen=True, kw_only=True)
class CutAtMessages(CutRule):
    """Over a share of the window a summary replaces all but the newest ``keep`` messages."""

    window: int = 200_000
    at: float = 0.8
    keep: int = 20
    """Messages that stay word for word."""

    def signal(self, view: PolicyView) -> Probe:
        """Compare the request with the window."""
        return Probe("tokens of the request", view.total, window_of(self.window, view) * self.at)

    def cut(self, first: int, view: PolicyView) -> int:
        """Return the first item that stays: never a result, whose call would be gone."""
        return _newest_messages(view, first, self.keep)


@dataclass(frozen=True, kw_only=True)
class LangChainSummarization(CutAtMessages):
    """LangChain's SummarizationMiddleware: over a threshold the newest 20 messages stay.

    LangChain sets no threshold; 0.8 of the window is the example of its documentation.
    """

    preset: ClassVar[str] = "langchain.summarization"
    source: ClassVar[str] = "LangChain, agents/middleware/summarization.py: keep"
    version: ClassVar[str] = "1.x"


@dataclass(frozen=True, kw_only=True)
class DeepAgentsSummarization(CutAtMessages):
    """deepagents' summarization where the window is not known: over 170,000 tokens the newest 6 messages stay."""

    preset: ClassVar[str] = "deepagents.summarization"
    source: ClassVar[str] = "deepagents, middleware/summarization.py"
    version: ClassVar[str] = "23b83ad"
    window: int = 170_000
    at: float = 1.0
    keep: int = 6


@dataclass(frozen=True, kw_only=True)
class OpenHandsLlm(CutRule):
    """OpenHands' summarizing condenser: over 100 events the first and the newest half stay.

    An event is a message here: a result is one, an answer with its calls is one.
    """

    preset: ClassVar[str] = "openhands.llm"
    source: ClassVar[str] = "OpenHands, condenser/impl/llm_summarizing_condenser.py"
    version: ClassVar[str] = "611629e"
    changes_what: ClassVar[str] = "the middle of the session"
    most: int = 100
    """Events (240 in the second version)."""
    keep_first: int = 1
    """Events at the beginning that stay (2 in the second version)."""

    def signal(self, view: PolicyView) -> Probe:
        """Count the messages."""
        return Probe("messages", len(_blocks(view, 0)), self.most, "messages")

    def cut(self, first: int, view: PolicyView) -> int:
        """Return the first item of the newest half."""
        keep = self.most // 2 - self.keep_first - 1
        return _newest_messages(view, first, keep)

    def covered(self, first: int, cut: int, view: PolicyView) -> list[int]:
        """Return the items between the first messages and the cut."""
        head = frozenset(_blocks(view, 0)[: self.keep_first])
        return [one for one in range(first, cut) if view.item(one).block not in head]


@dataclass(frozen=True, kw_only=True)
class StrandsSummarizing(CutRule):
    """Strands' summarizing manager: when a request does not fit, the oldest 0.3 of the messages are summarised.

    The newest 10 messages always stay.
    """

    preset: ClassVar[str] = "strands.summarizing"
    source: ClassVar[str] = "Strands Agents SDK, summarizing_conversation_manager.py"
    version: ClassVar[str] = "1.x"
    acts_at: ClassVar[ActsAt] = "overflow"
    window: int = 200_000
    ratio: float = 0.3
    preserve_recent: int = 10

    def signal(self, view: PolicyView) -> Probe:
        """Compare the request with the window."""
        return Probe("tokens of the request", view.total, window_of(self.window, view))

    def cut(self, first: int, view: PolicyView) -> int:
        """Return the first item after the oldest messages."""
        messages = len(_blocks(view, first))
        gone = min(max(1, int(messages * self.ratio)), messages - self.preserve_recent)
        return _newest_messages(view, first, messages - gone) if gone > 0 else first


@dataclass(frozen=True, kw_only=True)
class LettaSlidingWindow(StrandsSummarizing):
    """Letta's sliding window: at 0.9 of the window the oldest 0.3 of the messages are summarised."""

    preset: ClassVar[str] = "letta.sliding_window"
    source: ClassVar[str] = "Letta, services/summarizer: sliding_window_percentage"
    version: ClassVar[str] = "0.x"
    acts_at: ClassVar[ActsAt] = "threshold"
    at: float = 0.9
    preserve_recent: int = 1

    def signal(self, view: PolicyView) -> Probe:
        """Compare the request with the window."""
        return Probe("tokens of the request", view.total, window_of(self.window, view) * self.at)


@dataclass(frozen=True, kw_only=True)
class AiderSummary(CutRule):
    """aider's chat summary: when the turns so far pass 1,024 to 8,192 tokens, their newest half stays.

    The limit is a sixteenth of the window within these bounds. aider has no calls of tools; here they count as text.
    """

    preset: ClassVar[str] = "aider.summary"
    source: ClassVar[str] = "aider, models.py: max_chat_history_tokens; history.py: ChatSummary"
    version: ClassVar[str] = "0.86"
    when: ClassVar[When] = "turn end"
    acts_at: ClassVar[ActsAt] = "turn end"
    window: int = 200_000
    least: int = 1_024
    most: int = 8_192

    def signal(self, view: PolicyView) -> Probe:
        """Compare the conversation so far with the limit."""
        tokens = sum(_tokens(view, one) for one in range(view.count))
        return Probe("tokens of finished turns", tokens, self._limit(view))

    def cut(self, first: int, view: PolicyView) -> int:
        """Return the first item of the newest half of the limit."""
        kept, cut = 0, view.count
        while cut > first and kept + view.tokens(cut - 1) <= self._limit(view) / 2:
            cut -= 1
            kept += view.tokens(cut)
        while cut < view.count and view.item(cut).kind == "output":
            cut += 1
        return cut

    def _limit(self, view: PolicyView) -> float:
        return max(self.least, min(self.most, window_of(self.window, view) / 16))


@dataclass(frozen=True, kw_only=True)
class AdkCompaction(CutRule):
    """Google ADK's compaction: every ``interval`` turns a summary replaces the turns since the last one.

    ADK sets no numbers; 3 is the example of its documentation. Turns that overlap are read again by the summariser and do
    not stay in the request.
    """

    preset: ClassVar[str] = "google_adk.compaction"
    source: ClassVar[str] = "Google ADK, EventsCompactionConfig: compaction_interval"
    version: ClassVar[str] = "1.x"
    when: ClassVar[When] = "turn end"
    acts_at: ClassVar[ActsAt] = "turn end"
    interval: int = 3

    def decide(self, state: tuple[int, int], view: PolicyView) -> Decided:
        """Put each summary where its turns were, behind the earlier ones."""
        decided = super().decide((state[0], -1), view)
        return Decided((decided.state[0], -1), decided.changes, decided.probe, fired=decided.fired)

    def signal(self, view: PolicyView) -> Probe:
        """Count the turns that no summary covers."""
        turns = {
            view.item(one).turn
            for one in range(view.count)
            if view.item(one).turn and view.state(one) == "whole"
        }
        return Probe("turns since the last summary", len(turns), self.interval - 1, "turns")

    def cut(self, first: int, view: PolicyView) -> int:  # noqa: ARG002
        """Return the end of the turn."""
        return view.count


def _tokens(view: PolicyView, index: int) -> int:
    return 0 if view.item(index).kind in FIXED else view.tokens(index)


def _blocks(view: PolicyView, first: int) -> list[int]:
    """Return the messages from an item on that are still there, oldest first."""
    return sorted(
        {
            view.item(one).block
            for one in range(first, view.count)
            if view.item(one).kind not in FIXED
            and view.state(one) not in ("out", "summarised", "reverted")
        }
    )


def _newest_messages(view: PolicyView, first: int, keep: int) -> int:
    """Return the first item of the newest messages: never a result, whose call would be gone."""
    blocks = _blocks(view, first)
    if len(blocks) <= keep:
        return first
    border = blocks[-keep] if keep > 0 else blocks[-1] + 1
    cut = first
    while cut < view.count and view.item(cut).block < border:
        cut += 1
    while cut < view.count and view.item(cut).kind == "output":
        cut += 1
    return cut
