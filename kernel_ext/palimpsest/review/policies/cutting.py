"""Policies that drop old messages, whole, and call no model.

Rules and numbers were read from the projects at the versions named in each ``source``.
"""

from dataclasses import dataclass
from typing import ClassVar

from palimpsest.review.policies.permitted import FIXED
from palimpsest.review.policies.policy import Change, Decided, PolicyView, Probe
from palimpsest.review.policies.settings import ActsAt, Preset, window_of
from palimpsest.transcript.timeline import TimelineItem

STRANDS_RESULT_CHARS = 400
"""What Strands leaves of a result before it drops messages: 200 characters at each end."""


@dataclass(frozen=True, kw_only=True)
class StrandsSlidingWindow(Preset):
    """Strands' sliding window: only the newest ``messages`` stay, and none of them is a result without its call."""

    preset: ClassVar[str] = "strands.sliding_window"
    source: ClassVar[str] = "Strands Agents SDK, sliding_window_conversation_manager.py: per_turn"
    version: ClassVar[str] = "1.x"
    sticky: ClassVar[bool] = False
    changes_what: ClassVar[str] = "whole messages"
    messages: int = 40

    def decide(self, state: int, view: PolicyView) -> Decided:
        """Drop what is older than the newest messages."""
        newest = view.item(view.count - 1).block
        first = state
        while first < view.count and view.item(first).block <= newest - self.messages:
            first += 1
        while first < view.count and view.item(first).kind == "output":
            first += 1
        probe = Probe("messages", newest, self.messages, "messages")
        if first <= state:
            return Decided(state, probe=probe)
        changes = [Change(one, "out") for one in range(state, first)]
        return Decided(first, changes, probe, fired=True)


@dataclass(frozen=True, kw_only=True)
class StrandsOverflow(Preset):
    """Strands' sliding window as it comes: when a request does not fit, results are cut, then old messages dropped.

    The results are cut to 200 characters at each end; only where none is left to cut, the newest 40 messages stay.
    """

    preset: ClassVar[str] = "strands.overflow"
    source: ClassVar[str] = "Strands Agents SDK, sliding_window_conversation_manager.py"
    version: ClassVar[str] = "1.x"
    acts_at: ClassVar[ActsAt] = "overflow"
    changes_what: ClassVar[str] = "tool results, whole messages"
    window: int = 200_000
    messages: int = 40

    def decide(self, state: int, view: PolicyView) -> Decided:
        """Cut the oldest result that is long, or drop messages."""
        window = window_of(self.window, view)
        probe = Probe("tokens of the request", view.total, window)
        if not window or view.total <= window:
            return Decided(state, probe=probe)
        total, changes = view.total, list[Change]()
        for one in view.outputs:
            if total <= window:
                break
            if view.state(one) == "whole" and view.item(one).chars > STRANDS_RESULT_CHARS:
                changes.append(Change(one, "truncated", chars=STRANDS_RESULT_CHARS))
                total += STRANDS_RESULT_CHARS // 4 - view.tokens(one)
        if changes:
            return Decided(state, changes, probe, fired=True)
        newest = view.item(view.count - 1).block
        gone = [
            one
            for one in range(state, view.count)
            if view.item(one).block <= newest - self.messages
        ]
        until = gone[-1] + 1 if gone else state
        return Decided(until, [Change(one, "out") for one in gone], probe, fired=bool(gone))


@dataclass(frozen=True, kw_only=True)
class KeepEnds(Preset):
    """OpenHands' recent events: the first message and the newest ones stay; what lies between is dropped.

    Once ``most`` messages are passed, so many are dropped that ``left`` are left over.
    """

    preset: ClassVar[str] = "openhands.recent"
    source: ClassVar[str] = "OpenHands, condenser/impl/recent_events_condenser.py"
    version: ClassVar[str] = "611629e"
    sticky: ClassVar[bool] = False
    changes_what: ClassVar[str] = "whole messages"
    first: int = 1
    most: int = 100
    left: int = 100

    def start(self, facts: object) -> tuple[int, int]:  # noqa: ARG002
        """Return the border of what is dropped, as an item and as a message: none."""
        return 0, 0

    def decide(self, state: tuple[int, int], view: PolicyView) -> Decided:
        """Drop the middle where there are too many messages."""
        item, border = state
        last = view.item(view.count - 1)
        messages = _number(last) - border + (self.first if border else 0)
        probe = Probe("messages", messages, self.most, "messages")
        if messages <= self.most:
            return Decided(state, probe=probe)
        border = _number(last) - (self.left - self.first)
        until = item
        while until < view.count and _number(view.item(until)) <= border:
            until += 1
        while until < view.count and view.item(until).kind == "output":
            until += 1
        if until <= item:
            return Decided(state, probe=probe)
        changes = [
            Change(one, "out") for one in range(item, until) if _number(view.item(one)) > self.first
        ]
        return Decided((until, _number(view.item(until - 1))), changes, probe, fired=bool(changes))


@dataclass(frozen=True, kw_only=True)
class OpenHandsAmortized(KeepEnds):
    """OpenHands' amortised forgetting: over ``most`` events, half of them are dropped, so it seldom acts."""

    preset: ClassVar[str] = "openhands.amortized"
    source: ClassVar[str] = "OpenHands, condenser/impl/amortized_forgetting_condenser.py"
    acts_at: ClassVar[ActsAt] = "threshold"
    sticky: ClassVar[bool] = True
    left: int = 50


@dataclass(frozen=True, kw_only=True)
class DropShare(Preset):
    """Over a share of the window the oldest messages are dropped, until ``left`` of the messages remain.

    The first messages stay, and a result is never left without its call.
    """

    changes_what: ClassVar[str] = "whole messages"
    acts_at: ClassVar[ActsAt] = "threshold"
    window: int = 200_000
    at: float = 0.9
    left: float = 0.8
    """Share of the messages, without the first, that stays."""
    first: int = 1

    def decide(self, state: int, view: PolicyView) -> Decided:
        """Drop the oldest messages where the request is too large."""
        trigger = self.at * window_of(self.window, view)
        probe = Probe("tokens of the request", view.total, trigger)
        if not trigger or view.total <= trigger:
            return Decided(state, probe=probe)
        begin = max(state, _after_first(view, self.first))
        blocks = sorted({view.item(one).block for one in range(begin, view.count)})
        drop = frozenset(blocks[: self._number_to_drop(len(blocks))])
        until = begin
        while until < view.count and view.item(until).block in drop:
            until += 1
        while until < view.count and view.item(until).kind == "output":
            until += 1
        changes = [Change(one, "out") for one in range(begin, until)]
        return Decided(max(state, until), changes, probe, fired=bool(changes))

    def _number_to_drop(self, messages: int) -> int:
        return round(messages * (1 - self.left))


@dataclass(frozen=True, kw_only=True)
class InspectTrim(DropShare):
    """Inspect's CompactionTrim: over 0.9 of the window the oldest messages go, until 0.8 of them are left."""

    preset: ClassVar[str] = "inspect.compaction_trim"
    source: ClassVar[str] = "Inspect, model/_compaction: CompactionTrim, threshold, preserve"
    version: ClassVar[str] = "499e615"


@dataclass(frozen=True, kw_only=True)
class RooTruncate(DropShare):
    """Roo Code's truncation: without the 10 per cent kept free, an even half of the messages is hidden."""

    preset: ClassVar[str] = "roo.truncate"
    source: ClassVar[str] = "Roo Code, core/context-management: TOKEN_BUFFER_PERCENTAGE"
    version: ClassVar[str] = "3.x"
    left: float = 0.5

    def _number_to_drop(self, messages: int) -> int:
        dropped = int(messages * (1 - self.left))
        return dropped - dropped % 2


@dataclass(frozen=True, kw_only=True)
class OpenHandsConversationWindow(DropShare):
    """OpenHands' conversation window: when a request does not fit, the first prompt and the newest half stay."""

    preset: ClassVar[str] = "openhands.conversation_window"
    source: ClassVar[str] = "OpenHands, condenser/impl/conversation_window_condenser.py"
    version: ClassVar[str] = "611629e"
    acts_at: ClassVar[ActsAt] = "overflow"
    at: float = 1.0
    left: float = 0.5


@dataclass(frozen=True, kw_only=True)
class DropToFit(Preset):
    """The oldest messages are dropped until the request has at most ``most`` tokens."""

    changes_what: ClassVar[str] = "whole messages"
    most: int = 200_000
    start_on_user: bool = False
    """What stays begins with a person's message."""

    def decide(self, state: int, view: PolicyView) -> Decided:
        """Drop from the front what does not fit."""
        most = window_of(self.most, view)
        probe = Probe("tokens of the request", view.total, most)
        if not most or view.total <= most:
            return Decided(state, probe=probe)
        total, until = view.total, state
        while until < view.count - 1 and (total > most or not self._may_begin(view, until)):
            total -= 0 if view.item(until).kind in FIXED else view.tokens(until)
            until += 1
        changes = [Change(one, "out") for one in range(state, until)]
        return Decided(until, changes, probe, fired=bool(changes))

    def _may_begin(self, view: PolicyView, index: int) -> bool:
        item = view.item(index)
        begins = index == 0 or view.item(index - 1).block != item.block
        return begins and item.kind != "output" and (not self.start_on_user or item.kind == "user")


@dataclass(frozen=True, kw_only=True)
class OpenAiTruncation(DropToFit):
    """OpenAI's ``truncation="auto"``: what does not fit is dropped from the front; by default it is an error."""

    preset: ClassVar[str] = "openai.truncation"
    source: ClassVar[str] = "OpenAI Responses API: truncation"
    version: ClassVar[str] = "2025"
    acts_at: ClassVar[ActsAt] = "overflow"
    sticky: ClassVar[bool] = False


@dataclass(frozen=True, kw_only=True)
class LangChainTrim(DropToFit):
    """LangChain's trim_messages with ``strategy="last"``: at most so many tokens, beginning with a person's message.

    LangChain sets no number; 100,000 is ours. What was dropped stays so, since the history only grows.
    """

    preset: ClassVar[str] = "langchain.trim_messages"
    source: ClassVar[str] = "LangChain, langchain_core/messages/utils.py: trim_messages"
    version: ClassVar[str] = "1.x"
    sticky: ClassVar[bool] = False
    most: int = 100_000
    start_on_user: bool = True


def _number(item: TimelineItem) -> int:
    """Return the number of an item's message, from 1."""
    return item.block


def _after_first(view: PolicyView, first: int) -> int:
    """Return the item after the first messages of the conversation."""
    blocks: set[int] = set()
    for index in range(view.count):
        item = view.item(index)
        if item.kind in FIXED:
            continue
        blocks.add(item.block)
        if len(blocks) > first:
            return index
    return view.count
