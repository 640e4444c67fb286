"""Policies that drop old messages, whole, and call no model.

A call and its result are dropped together; system prompt and tools always stay.
"""

from collections.abc import Sequence
from math import floor
from typing import ClassVar, Literal

from palimpsest.context_policies.interface.policy import Change, PolicyResult, PolicyView, Probe
from palimpsest.context_policies.interface.settings import Preset
from palimpsest.context_policies.items.measured import AtShare, Measure, Measured, in_own_tokens
from palimpsest.context_policies.items.reducible import (
    after_first_prompt,
    decided_with_reason,
    is_result,
    removal_changes,
    shown_chat,
    shown_events,
    shown_turns,
    tokens_in,
)

DROPPED = "older messages that may be dropped"
ROO_ANSWER = 8_192
"""Tokens that Roo Code reserves for an answer of unknown length."""
PASSES = 4
"""Maximum passes in which Inspect compacts one request, if a single pass is not enough."""
SYSTEM_EVENT = 1
"""Number of OpenHands' events before the first prompt: only the system prompt."""


class KeepEnds(Preset):
    """OpenHands' recent events: the first ``first`` events and the newest stay; the middle is dropped.

    The system prompt is the first event; the first prompt, the second event, always stays. Once there are more than
    ``most`` events, so many are dropped that ``left`` events remain.
    """

    preset = "openhands.recent"
    source = "OpenHands 611629e, condenser/impl/recent_events_condenser.py"
    sticky = False
    first: int = 1
    most: int = 100
    left: int = 100

    def step(self, state: None, view: PolicyView) -> PolicyResult:  # noqa: ARG002
        starts = shown_events(view)
        probe = Probe("events", SYSTEM_EVENT + len(starts), self.most, "events")
        if not probe.is_passed:
            return PolicyResult(None, probe=probe)
        removed = middle_items(starts, first_events(self.first), max(1, self.left - self.first))
        return decided_with_reason(None, removal_changes(view, removed), probe, DROPPED)


class OpenHandsAmortized(KeepEnds):
    """OpenHands' amortised forgetting: over ``most`` events, half of them are dropped, so it seldom acts."""

    preset = "openhands.amortized"
    source = "OpenHands 611629e, condenser/impl/amortized_forgetting_condenser.py"
    sticky = True
    left: int = 50


class AtOverflow(AtShare):
    """Common base of the rules that drop messages where a request is over its window."""

    candidates = DROPPED
    starts: ClassVar["staticmethod[[PolicyView], Sequence[int]]"] = staticmethod(shown_chat)
    """Returns the first item of each message, as the project counts messages."""

    def new_changes(self, view: PolicyView, probe: Probe) -> Sequence[Change]:
        """Drop the chosen messages."""
        threshold = floor(
            in_own_tokens(probe.threshold, view, probe)
        )  # below the size of the request
        return removal_changes(view, self.items_to_drop(view, self.starts(view), threshold))

    def items_to_drop(self, view: PolicyView, starts: Sequence[int], trigger: int) -> Sequence[int]:
        """Return the items to drop, given the first item of each message and the threshold in the policy's tokens."""
        raise NotImplementedError


class OpenHandsConversationWindow(AtOverflow):
    """OpenHands' conversation window: at an overflow the first prompt and the newest half of the events stay."""

    preset = "openhands.conversation_window"
    source = "OpenHands 611629e, condenser/impl/conversation_window_condenser.py"
    counted = "OpenHands 611629e: the provider refuses the request as too long"
    since = "counted"
    starts = staticmethod(shown_events)

    def items_to_drop(self, view: PolicyView, starts: Sequence[int], trigger: int) -> Sequence[int]:  # noqa: ARG002
        """Return the older half of the events after the first prompt."""
        first = after_first_prompt(view, starts)
        return middle_items(starts, first, max(1, (len(starts) - first) // 2))


class RooTruncate(AtOverflow):
    """Roo Code's sliding window: the first message and the newest half of the others stay.

    It acts over nine tenths of the window less the tokens of the answer. All results of one answer are one message.
    """

    preset = "roo.truncate"
    source = "Roo Code 3.x, core/context-management: TOKEN_BUFFER_PERCENTAGE, truncateConversation"
    counted = "Roo Code 3.x, core/task: getTokenUsage().contextTokens, with an estimate of the last message"
    starts = staticmethod(shown_turns)
    at: float = 0.9
    """Share of the window that may be used: the rest is a buffer."""
    reserve: int = ROO_ANSWER
    """Tokens reserved for the answer: the model's ``maxTokens``, 8,192 where that is not known."""
    share: float = 0.5
    """Share of the messages after the first that are dropped; 0.75 where it was forced."""

    def trigger(self, window: int) -> float:
        return max(0.0, self.at * window - self.reserve)

    def items_to_drop(self, view: PolicyView, starts: Sequence[int], trigger: int) -> Sequence[int]:  # noqa: ARG002
        count = int((len(starts) - 1) * self.share)
        return middle_items(starts, 1, len(starts) - 1 - (count - count % 2))


class InspectTrim(AtOverflow):
    """Inspect's CompactionTrim: near the window the first prompt and the newest 80 per cent of the rest stay."""

    preset = "inspect.compaction_trim"
    source = "Inspect 499e615, model/_compaction: CompactionTrim, threshold 0.9, preserve 0.8"
    counted = "Inspect 499e615, model/_compaction: count_tokens, which asks the provider"
    since = "counted"
    at: float = 0.9
    preserve: float = 0.8

    def items_to_drop(self, view: PolicyView, starts: Sequence[int], trigger: int) -> Sequence[int]:
        """Return the oldest messages after the first prompt; more passes drop more while the rest is too large."""
        first = after_first_prompt(view, starts)
        cut, total = first, view.total
        for _ in range(PASSES):
            removed = int((len(starts) - cut) * (1 - self.preserve))
            if (cut > first and total <= trigger) or not removed:
                break
            before = cut
            cut += removed
            while cut < len(starts) - 1 and is_result(view, starts[cut]):
                cut += 1  # a result goes with its call, which is removed
            total -= tokens_in(view, starts[before], starts[cut])
        return range(starts[first], starts[cut]) if cut > first else ()


class OpenAITruncation(AtOverflow):
    """OpenAI's truncation ``auto``: over the window, messages are dropped from the front until the rest fits."""

    preset = "openai.truncation"
    source = "OpenAI Responses API 2026: truncation=auto (disabled by default: an error)"
    counted = "OpenAI Responses API 2026: the server counts"
    since = "counted"

    def items_to_drop(self, view: PolicyView, starts: Sequence[int], trigger: int) -> Sequence[int]:
        return range(starts[0], first_that_fits(view, starts, trigger)) if starts else ()


class LangChainTrim(Measured):
    """LangChain's trim_messages: ``max_tokens`` tokens of the newest messages, or of the first ones, stay.

    The system prompt stays; with ``start_on`` the rest begins with that kind of message. There is no limit by
    default.
    """

    preset = "langchain.trim_messages"
    source = "LangChain 1.x, core/messages/utils.py: trim_messages"
    counted = "LangChain 1.x, core/messages/utils.py: trim_messages asks the token_counter that it is given"
    measure: Measure = "estimated"
    sticky = False
    max_tokens: int = 0
    """0: no limit."""
    strategy: Literal["last", "first"] = "last"
    start_on: str = ""
    """``user``: the remaining messages begin with a prompt."""

    def step(self, state: None, view: PolicyView) -> PolicyResult:  # noqa: ARG002
        if not self.max_tokens:
            return PolicyResult(None)
        probe = self.probe_against(view, self.max_tokens)
        if not probe.is_passed:
            return PolicyResult(None, probe=probe)
        starts = shown_chat(view)
        token_limit = round(in_own_tokens(self.max_tokens, view, probe))
        choose = self._last_that_fit if self.strategy == "last" else self._first_that_fit
        changes = choose(view, starts, token_limit)
        return decided_with_reason(None, changes, probe, DROPPED)

    def _last_that_fit(
        self, view: PolicyView, starts: Sequence[int], token_limit: int
    ) -> list[Change]:
        cut = first_that_fits(view, starts, token_limit)
        starts_of_kind = (
            item for item in starts if item >= cut and view.item(item).kind == self.start_on
        )
        if self.start_on:
            cut = next(starts_of_kind, view.count)
        return removal_changes(view, range(starts[0], cut)) if starts else []

    def _first_that_fit(
        self, view: PolicyView, starts: Sequence[int], token_limit: int
    ) -> list[Change]:
        total, until = view.total, len(starts)
        while until > 1 and total > token_limit:
            until -= 1
            end = starts[until + 1] if until + 1 < len(starts) else view.count
            total -= tokens_in(view, starts[until], end)
        return (
            removal_changes(view, range(starts[until], view.count)) if until < len(starts) else []
        )


def first_events(keep_first: int) -> int:
    """Return how many events after the system prompt stay at the beginning: at least the first prompt."""
    return max(1, keep_first - SYSTEM_EVENT)


def middle_items(starts: Sequence[int], first: int, newest: int) -> range:
    """Return the items between the first and the newest messages, given how many of each stay."""
    if first + newest >= len(starts) or newest < 1:
        return range(0)
    return range(starts[first], starts[len(starts) - newest])


def first_that_fits(view: PolicyView, starts: Sequence[int], token_limit: int) -> int:
    """Return the first item of the newest messages that fit; the last message always stays."""
    total, first = view.total, 0
    while first < len(starts) - 1 and total > token_limit:
        total -= tokens_in(view, starts[first], starts[first + 1])
        first += 1
    return starts[first] if starts else view.count
