"""Policies that drop old messages, whole, and call no model.

A call and its result are dropped together; system prompt and tools always stay.
"""

from collections.abc import Sequence
from math import floor
from typing import ClassVar, Literal

from palimpsest.context_policies.interface.policy import Change, PolicyResult, PolicyView, Probe
from palimpsest.context_policies.interface.settings import Preset
from palimpsest.context_policies.items.measured import Measure, Measured, WindowShare, in_own_tokens
from palimpsest.context_policies.items.reducible import (
    after_first_prompt,
    decided_with_reason,
    is_result,
    removal_changes,
    shown_chat,
    shown_events,
    shown_merged_messages,
    tokens_in,
)

DROPPABLE = "older messages that may be dropped"
ROO_ANSWER_TOKENS = 8_192
"""Tokens that Roo Code reserves for an answer of unknown length."""
MAX_PASSES = 4
"""Maximum passes in which Inspect compacts one request, if a single pass is not enough."""
SYSTEM_EVENT_COUNT = 1
"""Number of OpenHands' events before the first prompt: only the system prompt."""


class KeepEnds(Preset):
    """OpenHands' recent events: the first events, ``keep_first`` of them, and the newest stay; the middle is dropped.

    The system prompt is the first event; the first prompt, the second event, always stays. Once there are more than
    ``max_events``, so many are dropped that ``events_left`` remain.
    """

    preset = "openhands.recent"
    source = "OpenHands 611629e, condenser/impl/recent_events_condenser.py"
    sticky = False
    keep_first: int = 1
    max_events: int = 100
    events_left: int = 100

    def step(self, state: None, view: PolicyView) -> PolicyResult:  # noqa: ARG002
        message_starts = shown_events(view)
        probe = Probe("events", SYSTEM_EVENT_COUNT + len(message_starts), self.max_events, "events")
        if not probe.is_passed:
            return PolicyResult(None, probe=probe)
        removed = middle_items(
            message_starts,
            first_event_count(self.keep_first),
            max(1, self.events_left - self.keep_first),
        )
        return decided_with_reason(None, removal_changes(view, removed), probe, DROPPABLE)


class OpenHandsAmortized(KeepEnds):
    """OpenHands' amortised forgetting: over ``max_events``, half of them are dropped, so it seldom acts."""

    preset = "openhands.amortized"
    source = "OpenHands 611629e, condenser/impl/amortized_forgetting_condenser.py"
    sticky = True
    events_left: int = 50


class AtOverflow(WindowShare):
    """Common base of the rules that drop messages where a request is over its window."""

    candidates_text = DROPPABLE
    list_message_starts: ClassVar["staticmethod[[PolicyView], Sequence[int]]"] = staticmethod(
        shown_chat
    )
    """Returns the first item of each message, as the project counts messages."""

    def new_changes(self, view: PolicyView, probe: Probe) -> Sequence[Change]:
        """Return the changes that drop the chosen messages."""
        # Rounded down, so that it is below the size of the request.
        max_tokens = floor(in_own_tokens(probe.threshold, view, probe))
        return removal_changes(
            view, self.items_to_drop(view, self.list_message_starts(view), max_tokens)
        )

    def items_to_drop(
        self, view: PolicyView, message_starts: Sequence[int], max_tokens: int
    ) -> Sequence[int]:
        """Return the items to drop, given the first item of each message and the tokens that may stay, in the policy's count."""
        raise NotImplementedError


class OpenHandsConversationWindow(AtOverflow):
    """OpenHands' conversation window: at an overflow the first prompt and the newest half of the events stay."""

    preset = "openhands.conversation_window"
    source = "OpenHands 611629e, condenser/impl/conversation_window_condenser.py"
    token_source = "OpenHands 611629e: the provider refuses the request as too long"
    later_items = "counted"
    list_message_starts = staticmethod(shown_events)

    def items_to_drop(
        self,
        view: PolicyView,
        message_starts: Sequence[int],
        max_tokens: int,  # noqa: ARG002
    ) -> Sequence[int]:
        """Return the older half of the events after the first prompt."""
        first_droppable = after_first_prompt(view, message_starts)
        return middle_items(
            message_starts, first_droppable, max(1, (len(message_starts) - first_droppable) // 2)
        )


class RooTruncate(AtOverflow):
    """Roo Code's sliding window: the first message and the newest half of the others stay.

    It acts over nine tenths of the window less the tokens of the answer. All results of one answer are one message.
    """

    preset = "roo.truncate"
    source = "Roo Code 3.x, core/context-management: TOKEN_BUFFER_PERCENTAGE, truncateConversation"
    token_source = "Roo Code 3.x, core/task: getTokenUsage().contextTokens, with an estimate of the last message"
    list_message_starts = staticmethod(shown_merged_messages)
    window_share: float = 0.9
    """Share of the window that may be used: the rest is a buffer."""
    reserve: int = ROO_ANSWER_TOKENS
    """Tokens reserved for the answer: the model's ``maxTokens``, 8,192 where that is not known."""
    share: float = 0.5
    """Share of the messages after the first that are dropped; 0.75 where it was forced."""

    def threshold_tokens(self, window: int) -> float:
        return max(0.0, self.window_share * window - self.reserve)

    def items_to_drop(
        self,
        view: PolicyView,  # noqa: ARG002
        message_starts: Sequence[int],
        max_tokens: int,  # noqa: ARG002
    ) -> Sequence[int]:
        drop_count = int((len(message_starts) - 1) * self.share)
        return middle_items(
            message_starts, 1, len(message_starts) - 1 - (drop_count - drop_count % 2)
        )


class InspectTrim(AtOverflow):
    """Inspect's CompactionTrim: near the window the first prompt and the newest 80 per cent of the rest stay."""

    preset = "inspect.compaction_trim"
    source = "Inspect 499e615, model/_compaction: CompactionTrim, threshold 0.9, preserve 0.8"
    token_source = "Inspect 499e615, model/_compaction: count_tokens, which asks the provider"
    later_items = "counted"
    window_share: float = 0.9
    preserve: float = 0.8
    """Share of the messages after the first prompt that stay."""

    def items_to_drop(
        self, view: PolicyView, message_starts: Sequence[int], max_tokens: int
    ) -> Sequence[int]:
        """Return the oldest messages after the first prompt; more passes drop more while the rest is too large."""
        first_droppable = after_first_prompt(view, message_starts)
        drop_until, remaining_tokens = first_droppable, view.total
        for _ in range(MAX_PASSES):
            removed_count = int((len(message_starts) - drop_until) * (1 - self.preserve))
            if (
                drop_until > first_droppable and remaining_tokens <= max_tokens
            ) or not removed_count:
                break
            previous_end = drop_until
            drop_until += removed_count
            while drop_until < len(message_starts) - 1 and is_result(
                view, message_starts[drop_until]
            ):
                drop_until += 1  # a result goes with its call, which is removed
            remaining_tokens -= tokens_in(
                view, message_starts[previous_end], message_starts[drop_until]
            )
        if drop_until == first_droppable:
            return ()
        return range(message_starts[first_droppable], message_starts[drop_until])


class OpenAITruncation(AtOverflow):
    """OpenAI's truncation ``auto``: over the window, messages are dropped from the front until the rest fits."""

    preset = "openai.truncation"
    source = "OpenAI Responses API 2026: truncation=auto (disabled by default: an error)"
    token_source = "OpenAI Responses API 2026: the server counts"
    later_items = "counted"

    def items_to_drop(
        self, view: PolicyView, message_starts: Sequence[int], max_tokens: int
    ) -> Sequence[int]:
        return (
            range(message_starts[0], first_fitting_item(view, message_starts, max_tokens))
            if message_starts
            else ()
        )


class LangChainTrim(Measured):
    """LangChain's trim_messages: ``max_tokens`` tokens of the newest messages, or of the first ones, stay.

    The system prompt stays; with ``start_on`` the rest begins with that kind of message. There is no limit by
    default.
    """

    preset = "langchain.trim_messages"
    source = "LangChain 1.x, core/messages/utils.py: trim_messages"
    token_source = "LangChain 1.x, core/messages/utils.py: trim_messages asks the token_counter that it is given"
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
        message_starts = shown_chat(view)
        token_limit = round(in_own_tokens(self.max_tokens, view, probe))
        choose_changes = (
            self._changes_keeping_newest if self.strategy == "last" else self._changes_keeping_first
        )
        changes = choose_changes(view, message_starts, token_limit)
        return decided_with_reason(None, changes, probe, DROPPABLE)

    def _changes_keeping_newest(
        self, view: PolicyView, message_starts: Sequence[int], token_limit: int
    ) -> list[Change]:
        first_kept = first_fitting_item(view, message_starts, token_limit)
        starts_of_kind = (
            index
            for index in message_starts
            if index >= first_kept and view.item(index).kind == self.start_on
        )
        if self.start_on:
            first_kept = next(starts_of_kind, view.count)
        return removal_changes(view, range(message_starts[0], first_kept)) if message_starts else []

    def _changes_keeping_first(
        self, view: PolicyView, message_starts: Sequence[int], token_limit: int
    ) -> list[Change]:
        remaining_tokens, kept_count = view.total, len(message_starts)
        while kept_count > 1 and remaining_tokens > token_limit:
            kept_count -= 1
            end = (
                message_starts[kept_count + 1]
                if kept_count + 1 < len(message_starts)
                else view.count
            )
            remaining_tokens -= tokens_in(view, message_starts[kept_count], end)
        if kept_count == len(message_starts):
            return []
        return removal_changes(view, range(message_starts[kept_count], view.count))


def first_event_count(keep_first: int) -> int:
    """Return how many events after the system prompt stay at the beginning: at least the first prompt."""
    return max(1, keep_first - SYSTEM_EVENT_COUNT)


def middle_items(message_starts: Sequence[int], first_count: int, newest_count: int) -> range:
    """Return the items between the first and the newest messages, given how many of each stay."""
    if first_count + newest_count >= len(message_starts) or newest_count < 1:
        return range(0)
    return range(message_starts[first_count], message_starts[len(message_starts) - newest_count])


def first_fitting_item(view: PolicyView, message_starts: Sequence[int], token_limit: int) -> int:
    """Return the first item of the newest messages that fit; the last message always stays."""
    remaining_tokens, first_message = view.total, 0
    while first_message < len(message_starts) - 1 and remaining_tokens > token_limit:
        remaining_tokens -= tokens_in(
            view, message_starts[first_message], message_starts[first_message + 1]
        )
        first_message += 1
    return message_starts[first_message] if message_starts else view.count
