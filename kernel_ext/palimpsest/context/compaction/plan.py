"""Plan a compaction: which messages are summarised, stay word for word, or must be repeated.

The rules are OpenCode's. A plan depends on the messages that the model sees (after the fold) and on token counts; it is
made once, and its only choice, where the tail begins, is written into the marker before the summary is requested, so
that a review need not plan again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from palimpsest.context.budget.request_tokens import Count, json_tokens, message_tokens
from palimpsest.context.conversion.part_conversion import neutral_messages
from palimpsest.context.visible_messages import (
    begins_at_user,
    good_summaries,
    marker,
    summary_text,
    turn_spans,
)
from palimpsest.transcript.context_values.neutral_messages import NeutralMessages
from palimpsest.transcript.context_values.policies import CompactPolicy, Policy
from palimpsest.transcript.messages import Message, Messages
from palimpsest.transcript.values import ModelRef

TAIL_DIVISOR = 4
"""Without a number in the policy a tail has the usable tokens divided by this number, within its limits."""
CountMessages = Callable[[Messages], int]
"""Estimates the tokens of messages as the model is sent them."""


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    """The messages that a compaction replaces, merges, keeps and repeats."""

    summarised_messages: Messages
    """The messages that the summary replaces."""
    previous_summary: str = ""
    """The previous summary, to be merged; empty when there is none, or it is one of the summarised messages."""
    tail_start_id: str | None = None
    """The first message that stays word for word; None when none does."""
    replay: Message | None = None
    """The user's message that did not fit: left out of the summary, and repeated after it."""


def completed_compactions(messages: Messages) -> list[tuple[int, int, str]]:
    """Return the completed compactions: index of the marker, index of the summary, and the summary's text."""
    summaries = good_summaries(messages)
    completed = []
    for marker_index, message in enumerate(messages):
        if message.id in summaries and marker(message) is not None:
            summary_index = summaries[message.id]
            completed.append((marker_index, summary_index, summary_text(messages[summary_index])))
    return completed


def compaction_plan(
    messages: Messages, policy: CompactPolicy, usable_tokens: int, count_tokens: CountMessages
) -> CompactionPlan:
    """Plan the compaction whose marker is the last message.

    ``usable_tokens`` are the tokens of the window that a request may fill.
    """
    history, previous_summary, replay = _split_history(messages, policy)
    tail_index = tail_start(history, policy, tail_budget(policy, usable_tokens), count_tokens)
    if tail_index is None:
        return CompactionPlan(history, previous_summary, None, replay)
    return CompactionPlan(history[:tail_index], previous_summary, history[tail_index].id, replay)


def recorded_plan(messages: Messages, policy: CompactPolicy) -> CompactionPlan:
    """Return the plan that was made, as the marker records it; the last message is the marker."""
    marker_part = marker(messages[-1])
    tail_start_id = marker_part.tail_start_id if marker_part is not None else None
    history, previous_summary, replay = _split_history(messages, policy)
    ids = [message.id for message in history]
    summarised_end = ids.index(tail_start_id) if tail_start_id in ids else len(history)
    return CompactionPlan(history[:summarised_end], previous_summary, tail_start_id, replay)


def message_counter(policy: Policy, model: ModelRef, count: Count) -> CountMessages:
    """Return a function that counts the tokens of messages with the policy's estimator."""
    return lambda messages: tail_tokens(neutral_messages(messages, model), policy, count)


def tail_tokens(tail_messages: NeutralMessages, policy: Policy, count: Count) -> int:
    """Return the tokens of messages as a tail's tokens are counted, with the policy's estimator."""
    if policy.estimator == "chars/4":
        return json_tokens(tail_messages)
    return sum(message_tokens(message, count) for message in tail_messages)


def tail_budget(policy: CompactPolicy, usable_tokens: int) -> int:
    """Return the tokens that may stay word for word."""
    if policy.tail_tokens is not None:
        return policy.tail_tokens
    return min(policy.tail_maximum, max(policy.tail_minimum, usable_tokens // TAIL_DIVISOR))


def tail_start(
    messages: Messages, policy: CompactPolicy, budget: int, count_tokens: CountMessages
) -> int | None:
    """Return the index where the tail begins: whole turns, newest first, then the end of one that fits.

    None also where the tail would be everything, since nothing would be summarised.
    """
    spans = turn_spans(messages)
    return tail_start_of_spans(
        spans, policy, budget, lambda start, end: count_tokens(messages[start:end])
    )


def tail_start_of_spans(
    spans: Sequence[tuple[int, int]],
    policy: CompactPolicy,
    budget: int,
    count_tokens: Callable[[int, int], int],
) -> int | None:
    """Return the index of the message where the tail begins, given where turns begin and end.

    ``count_tokens`` returns the tokens of the messages from one index up to another.
    """
    if policy.tail_turns is not None:
        spans = spans[len(spans) - policy.tail_turns :] if policy.tail_turns else []
    start: int | None = None
    tokens_left = budget
    for span_start, span_end in reversed(spans):
        span_tokens = count_tokens(span_start, span_end)
        if span_tokens > tokens_left:
            start = _cut_within_turn(span_start + 1, span_end, tokens_left, count_tokens) or start
            break
        tokens_left -= span_tokens
        start = span_start
    return start or None


def _cut_within_turn(
    start: int, span_end: int, max_tokens: int, count_tokens: Callable[[int, int], int]
) -> int | None:
    """Return the index of the earliest message of a turn from which on the rest of the turn fits."""
    if max_tokens <= 0:
        return None
    indexes = range(start, span_end)
    return next((index for index in indexes if count_tokens(index, span_end) <= max_tokens), None)


def _split_history(
    messages: Messages, policy: CompactPolicy
) -> tuple[Messages, str, Message | None]:
    """Return the history before the marker, the summary to merge, and the prompt to repeat."""
    history, marker_part = messages[:-1], marker(messages[-1])
    replay: Message | None = None
    previous_summary = ""
    if policy.replay and marker_part is not None and marker_part.overflow:
        history, replay = _without_newest_prompt(history)
    if policy.merge_summary:
        history, previous_summary = _without_summaries(history)
    return history, previous_summary, replay


def _without_newest_prompt(messages: Messages) -> tuple[Messages, Message | None]:
    """Leave out the newest user prompt and what followed it, if there is an earlier prompt."""
    for index in range(len(messages) - 1, -1, -1):
        if begins_at_user(messages[index]):
            earlier_messages = messages[:index]
            if any(map(begins_at_user, earlier_messages)):
                return earlier_messages, messages[index]
            break
    return messages, None


def _without_summaries(messages: Messages) -> tuple[Messages, str]:
    """Return the messages without completed compactions, and the text of the newest summary."""
    compactions = completed_compactions(messages)
    hidden_indexes = {
        index
        for marker_index, summary_index, _ in compactions
        for index in (marker_index, summary_index)
    }
    remaining = tuple(
        message for index, message in enumerate(messages) if index not in hidden_indexes
    )
    return remaining, compactions[-1][2] if compactions else ""
