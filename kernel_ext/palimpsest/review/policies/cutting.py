"""Policies that drop old messages, whole, and call no model.

Rules and numbers follow spec/review.md 2.1, read from the projects at the versions named in each ``source``. A
call and its result are dropped together; system prompt and tools always stay.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

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
    BESIDE,
    decided,
    dropped,
    gone_range,
    shown_messages,
    start_of_newest,
    start_of_unanswered,
)
from palimpsest.review.policies.settings import Preset

DROPPED = "older messages that may be dropped"


@dataclass(frozen=True, kw_only=True)
class StrandsSlidingWindow(Preset):
    """Strands' sliding window: only the newest ``messages`` stay, and none of them is a result without its call."""

    preset: ClassVar[str] = "strands.sliding_window"
    source: ClassVar[str] = (
        "Strands Agents SDK 1.x, sliding_window_conversation_manager.py: window_size"
    )
    sticky: ClassVar[bool] = False
    messages: int = 40

    def start(self, facts: SessionFacts) -> int:  # noqa: ARG002
        """Return the first item that is shown: the first of all."""
        return 0

    def step(self, state: int, view: PolicyView) -> Decided:
        """Drop what is older than the newest messages."""
        first = max(state, start_of_newest(view, self.messages))
        shown = len(shown_messages(view, (0, state)))
        probe = Probe("messages", shown, self.messages, "messages")
        changes = dropped(view, range(state, first))
        state = max(state, min(first, start_of_unanswered(view)))
        return decided(state, changes, probe, DROPPED)


@dataclass(frozen=True, kw_only=True)
class KeepEnds(Preset):
    """OpenHands' recent events: the first ``first`` messages and the newest stay; the middle is dropped.

    Once there are more than ``most`` messages, so many are dropped that ``left`` are left over.
    """

    preset: ClassVar[str] = "openhands.recent"
    source: ClassVar[str] = "OpenHands 611629e, condenser/impl/recent_events_condenser.py"
    sticky: ClassVar[bool] = False
    first: int = 1
    most: int = 100
    left: int = 100

    def start(self, facts: SessionFacts) -> tuple[int, int]:  # noqa: ARG002
        """Return the range of items that are dropped: none."""
        return 0, 0

    def step(self, state: tuple[int, int], view: PolicyView) -> Decided:
        """Drop the middle where there are too many messages."""
        starts = shown_messages(view, state)
        probe = Probe("messages", len(starts), self.most, "messages")
        gone = middle(starts, self.first, max(1, self.left - self.first))
        if len(starts) <= self.most:
            return Decided(state, probe=probe)
        changes = dropped(view, gone)
        state = gone_range(view, state, [one.item for one in changes])
        return decided(state, changes, probe, DROPPED)


@dataclass(frozen=True, kw_only=True)
class OpenHandsAmortized(KeepEnds):
    """OpenHands' amortised forgetting: over ``most`` events, half of them are dropped, so it seldom acts."""

    preset: ClassVar[str] = "openhands.amortized"
    source: ClassVar[str] = "OpenHands 611629e, condenser/impl/amortized_forgetting_condenser.py"
    sticky: ClassVar[bool] = True
    left: int = 50


@dataclass(frozen=True, kw_only=True)
class AtOverflow(Measured):
    """What the rules have in common that drop messages where a request is over its window."""

    window: int = 200_000
    """0 takes the recorded one."""
    at: float = 1.0
    """Share of the window above which it acts."""

    def start(self, facts: SessionFacts) -> tuple[int, int, int]:
        """Return the window, the recorded one where none is assumed, and the range that is dropped: none."""
        return self.window_of(facts), 0, 0

    def step(self, state: tuple[int, int, int], view: PolicyView) -> Decided:
        """Drop messages where the request is too large."""
        window, *gone = state
        trigger = self.at * window
        if trigger <= 0:
            return Decided(state, probe=NO_LIMIT)
        probe = self.over(view, trigger)
        if not probe.passed:
            return Decided(state, probe=probe)
        known = (gone[0], gone[1])
        own = round(in_own_tokens(trigger, view, probe))
        changes = dropped(view, self.chosen(view, shown_messages(view, known), own))
        known = gone_range(view, known, [one.item for one in changes])
        return decided((window, *known), changes, probe, DROPPED)

    def chosen(self, view: PolicyView, starts: Sequence[int], trigger: int) -> Sequence[int]:
        """Return the items that are dropped, given the first item of each message and the threshold in own tokens."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class OpenHandsConversationWindow(AtOverflow):
    """OpenHands' conversation window: at an overflow the first prompt and the newest half of the events stay."""

    preset: ClassVar[str] = "openhands.conversation_window"
    source: ClassVar[str] = "OpenHands 611629e, condenser/impl/conversation_window_condenser.py"
    counted: ClassVar[str] = "OpenHands 611629e: the provider refuses the request as too long"
    since: ClassVar[Since] = "counted"

    def chosen(self, view: PolicyView, starts: Sequence[int], trigger: int) -> Sequence[int]:  # noqa: ARG002
        """Return the older half without what comes first, up to the first prompt."""
        first = 1 + next(
            (place for place, one in enumerate(starts) if view.item(one).kind == "user"), 0
        )
        return middle(starts, first, max(1, (len(starts) - first) // 2))


@dataclass(frozen=True, kw_only=True)
class RooTruncate(AtOverflow):
    """Roo Code's sliding window: the first message stays, and of the others the newest half."""

    preset: ClassVar[str] = "roo.truncate"
    source: ClassVar[str] = (
        "Roo Code 3.x, core/context-management: TOKEN_BUFFER_PERCENTAGE, truncateConversation"
    )
    counted: ClassVar[str] = (
        "Roo Code 3.x, core/task: getTokenUsage().contextTokens, with an estimate of the last message"
    )
    at: float = 0.9
    """The window less a buffer of a tenth."""
    share: float = 0.5
    """Of the messages after the first; 0.75 where it was forced."""

    def chosen(self, view: PolicyView, starts: Sequence[int], trigger: int) -> Sequence[int]:  # noqa: ARG002
        """Return an even number of the oldest messages after the first."""
        count = int((len(starts) - 1) * self.share)
        return middle(starts, 1, len(starts) - 1 - (count - count % 2))


@dataclass(frozen=True, kw_only=True)
class InspectTrim(AtOverflow):
    """Inspect's CompactionTrim: near the window the first prompt stays, and of the rest the newest 80 per cent."""

    preset: ClassVar[str] = "inspect.compaction_trim"
    source: ClassVar[str] = (
        "Inspect 499e615, model/_compaction: CompactionTrim, threshold 0.9, preserve 0.8"
    )
    counted: ClassVar[str] = (
        "Inspect 499e615, model/_compaction: count_tokens, which asks the provider"
    )
    since: ClassVar[Since] = "counted"
    at: float = 0.9
    preserve: float = 0.8

    def chosen(self, view: PolicyView, starts: Sequence[int], trigger: int) -> Sequence[int]:  # noqa: ARG002
        """Return the oldest messages after the first."""
        return middle(starts, 1, max(1, int((len(starts) - 1) * self.preserve)))


@dataclass(frozen=True, kw_only=True)
class OpenAITruncation(AtOverflow):
    """OpenAI's truncation ``auto``: over the window, messages are dropped from the front until the rest fits."""

    preset: ClassVar[str] = "openai.truncation"
    source: ClassVar[str] = (
        "OpenAI Responses API 2026: truncation=auto (disabled by default: an error)"
    )
    counted: ClassVar[str] = "OpenAI Responses API 2026: the server counts"
    since: ClassVar[Since] = "counted"

    def chosen(self, view: PolicyView, starts: Sequence[int], trigger: int) -> Sequence[int]:
        """Return the oldest messages beyond the window."""
        return range(starts[0], fitting(view, starts, trigger)) if starts else ()


@dataclass(frozen=True, kw_only=True)
class LangChainTrim(Measured):
    """LangChain's trim_messages: so many tokens stay of the newest messages, or of the first ones.

    The system prompt stays; with ``start_on`` the rest begins with that kind of message. There is no limit by
    default.
    """

    preset: ClassVar[str] = "langchain.trim_messages"
    source: ClassVar[str] = "LangChain 1.x, core/messages/utils.py: trim_messages"
    counted: ClassVar[str] = (
        "LangChain 1.x, core/messages/utils.py: trim_messages asks the token_counter that it is given"
    )
    measure: Measure = "estimated"
    sticky: ClassVar[bool] = False
    max_tokens: int = 0
    """0: no limit."""
    strategy: Literal["last", "first"] = "last"
    start_on: str = ""
    """``user``: what stays begins with a prompt."""

    def start(self, facts: SessionFacts) -> None:
        """Return no state: what is dropped is seen in the view."""

    def step(self, state: None, view: PolicyView) -> Decided:  # noqa: ARG002
        """Drop what is beyond the limit."""
        if not self.max_tokens:
            return Decided(None)
        probe = self.over(view, self.max_tokens)
        if not probe.passed:
            return Decided(None, probe=probe)
        starts = shown_messages(view)
        most = round(in_own_tokens(self.max_tokens, view, probe))
        chosen = self._last if self.strategy == "last" else self._first
        changes = chosen(view, starts, most)
        return decided(None, changes, probe, DROPPED)

    def _last(self, view: PolicyView, starts: Sequence[int], most: int) -> list[Change]:
        cut = fitting(view, starts, most)
        wanted = [one for one in starts if one >= cut and view.item(one).kind == self.start_on]
        if self.start_on and wanted:
            cut = wanted[0]
        return dropped(view, range(starts[0], cut)) if starts else []

    def _first(self, view: PolicyView, starts: Sequence[int], most: int) -> list[Change]:
        total, until = view.total, len(starts)
        while until > 1 and total > most:
            until -= 1
            end = starts[until + 1] if until + 1 < len(starts) else view.count
            total -= tokens_in(view, starts[until], end)
        return dropped(view, range(starts[until], view.count)) if until < len(starts) else []


def middle(starts: Sequence[int], first: int, newest: int) -> range:
    """Return the items between the first and the newest so many messages."""
    if first + newest >= len(starts) or newest < 1:
        return range(0)
    return range(starts[first], starts[len(starts) - newest])


def fitting(view: PolicyView, starts: Sequence[int], most: int) -> int:
    """Return the first item that stays so that the newest messages fit; the last message always stays."""
    total, place = view.total, 0
    while place < len(starts) - 1 and total > most:
        total -= tokens_in(view, starts[place], starts[place + 1])
        place += 1
    return starts[place] if starts else view.count


def tokens_in(view: PolicyView, first: int, until: int) -> int:
    """Return the tokens of the shown items of a range, without system prompt and tools."""
    shown = view.shown_items
    return sum(
        view.tokens(one)
        for one in shown[bisect_left(shown, first) : bisect_left(shown, until)]
        if view.item(one).kind not in BESIDE
    )


PRESETS: tuple[type[Preset], ...] = (
    StrandsSlidingWindow,
    KeepEnds,
    OpenHandsAmortized,
    OpenHandsConversationWindow,
    RooTruncate,
    InspectTrim,
    OpenAITruncation,
    LangChainTrim,
)
