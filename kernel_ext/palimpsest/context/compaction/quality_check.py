"""Accept or reject a summary before it replaces history, and report what it lost.

Border: pure. A summary that is too short, or that saves too little, is rejected and cuts nothing. A good summary gets a
report of the names that occur in the covered messages, but neither in the summary nor in the tail.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from palimpsest.context.budget.request_tokens import Count
from palimpsest.context.compaction.audit import split_at_tail, summary_defects
from palimpsest.context.compaction.loss_report import loss_report
from palimpsest.context.compaction.names import NAMES_VERSION
from palimpsest.context.compaction.summary_grade import summary_grade
from palimpsest.context.compaction.summary_request import COMPACT_RULE, messages_seen_at
from palimpsest.context.conversion.transcript_text import serialize_messages
from palimpsest.context.request_assembly.projection import Projection, project
from palimpsest.context.visible_messages import View, marker, place_of, summary_text, turn_spans
from palimpsest.paused_collection import collection_paused
from palimpsest.transcript.context_values.decisions import Decision, pinned_part_ids
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.messages import AssistantMessage, Message, Messages, UserMessage
from palimpsest.transcript.parts import TextPart
from palimpsest.transcript.values import ModelInfo

USELESS = (
    "The summary was too short to be of use ({chars} characters), so nothing was cut. Try again, name "
    "another model, or begin a new session with %agent --new."
)
SAVES_LITTLE = "The summary saved too little ({before:,} tokens before, {after:,} after), so nothing was cut. {helps}"
NO_ROOM = (
    "Begin a new session with %agent --new, or choose a model with a larger window with --model."
)
ROOM_SENTENCE = "There is room for all of it in the window of {window:,} tokens."
NO_LIMIT = "There is room for all of it, since the settings give this model no limit."
LACKING_SENTENCE = (
    "The summary was not used, and nothing was cut, since it lacks what the work needs. {lacks} Name another "
    "model for summaries with compaction.model in the settings, or begin a new session with %agent --new."
)


@dataclass(frozen=True, slots=True)
class RejectedSummary:
    """Why a summary was rejected."""

    problem: str
    """A sentence for the user, with what to do."""
    missing_contents: tuple[str, ...] = ()
    """The missing contents, for a second attempt; empty where that would not help."""


@collection_paused()
def rejected_summary(
    view: View,
    message: AssistantMessage,
    policy: Policy,
    model: ModelInfo,
    count: Count,
    tokens_before: int,
) -> RejectedSummary | None:
    """Return why a summary is rejected; None for a good one.

    ``tokens_before`` is the token count of the messages before the marker.
    """
    marker_message = view.messages[place_of(view.messages, message.parent_id)]
    summary = _written_summary(view, message, policy, model, count)
    return _find_rejection(summary, marker_message, policy, model, tokens_before)


class _WrittenSummary(NamedTuple):
    """A summary, the messages that it covers, and the next request with it."""

    text: str
    covered_messages: Messages
    """The messages up to its marker, which comes last."""
    next_request: Projection


def _written_summary(
    view: View, message: AssistantMessage, policy: Policy, model: ModelInfo, count: Count
) -> _WrittenSummary:
    index = place_of(view.messages, message.id)
    finished_info = message.model_copy(update={"finish": "stop", "error": None})
    summary = view.messages[index].model_copy(update={"info": finished_info})
    messages = (*view.messages[:index], summary, *view.messages[index + 1 :])
    return _WrittenSummary(
        summary_text(summary),
        messages_seen_at(view, message.parent_id, policy),
        _project_view(dataclasses.replace(view, messages=messages), policy, model, count),
    )


def _find_rejection(
    summary: _WrittenSummary,
    marker_message: Message,
    policy: Policy,
    model: ModelInfo,
    tokens_before: int,
) -> RejectedSummary | None:
    compact, text = policy.compact, summary.text
    if not compact.judge:
        return None
    if len(text) < compact.min_summary_chars:
        return RejectedSummary(USELESS.format(chars=len(text)))
    defects = summary_defects(text, summary.covered_messages, compact) if compact.audit else ()
    if defects:
        return RejectedSummary(LACKING_SENTENCE.format(lacks=" ".join(defects)), defects)
    tokens_after = summary.next_request.total
    if tokens_after > compact.max_share_after * tokens_before:
        marker_part = marker(marker_message)
        is_manual = marker_part is not None and not marker_part.auto
        advice = NO_ROOM
        if is_manual and 2 * tokens_before < model.capacity:
            advice = ROOM_SENTENCE.format(window=model.window) if model.window else NO_LIMIT
        problem = SAVES_LITTLE.format(before=tokens_before, after=tokens_after, helps=advice)
        return RejectedSummary(problem)
    return None


@collection_paused()
def summary_report(
    view: View,
    message: AssistantMessage,
    policy: Policy,
    model: ModelInfo,
    count: Count,
    tokens_before: int,
    decision_id: str,
    *,
    is_graded: bool = True,
    names_version: int = NAMES_VERSION,
    has_kept_numbers: bool = True,
) -> Decision | RejectedSummary:
    """Return the report of a good summary as a decision, or why it is rejected.

    ``tokens_before`` is the token count of the messages before the marker; ``decision_id`` becomes the decision's id. Without
    ``is_graded`` the report is that of sessions from before summaries were graded; ``names_version`` is the version of the rules
    by which a grade finds names; ``has_kept_numbers`` adds the numbers of what stays unchanged, which earlier reports lack.
    """
    index = place_of(view.messages, message.parent_id)
    summary = _written_summary(view, message, policy, model, count)
    rejection = _find_rejection(summary, view.messages[index], policy, model, tokens_before)
    if rejection is not None:
        return rejection
    text, next_request, compact = summary.text, summary.next_request, policy.compact
    covered_messages, kept_messages = split_at_tail(summary.covered_messages)
    if is_graded:
        view_before = dataclasses.replace(view, messages=view.messages[:index])
        numbers = summary_grade(
            # Only their content matters here, so tokens are not counted.
            _project_view(view_before, policy, model, lambda _text: 0).messages,
            frozenset(part.id for earlier in covered_messages for part in earlier.parts),
            text,
            [other for other in next_request.messages if other.message_id != message.id],
            _user_part_ids(covered_messages),
            names_version,
        )
    else:
        kept_text = text + serialize_messages(kept_messages, compact.result_chars)
        covered_text = serialize_messages(covered_messages, compact.result_chars)
        numbers = {"retention": loss_report(covered_text, kept_text)}
    if has_kept_numbers:
        numbers |= {"kept": _kept_numbers(view, covered_messages, kept_messages, next_request)}
    return Decision(
        id=decision_id,
        action="summarise",
        rule=COMPACT_RULE,
        message_id=message.id,
        numbers=numbers,
        tokens_before=tokens_before,
        tokens_after=next_request.total,
    )


def _kept_numbers(
    view: View, covered_messages: Messages, kept_messages: Messages, next_request: Projection
) -> dict[str, int]:
    """Return the turns of the tail, their tokens, and the number of pinned parts among the covered messages."""
    tail_ids = {message.id for message in kept_messages if marker(message) is None}
    tokens = (
        shown_tokens
        for message, shown_tokens in zip(next_request.messages, next_request.tokens, strict=True)
        if message.message_id in tail_ids
    )
    pinned_ids = pinned_part_ids(view.messages, view.decisions)
    return {
        "turns": len(turn_spans(kept_messages)),
        "tokens": sum(tokens),
        "pinned": sum(
            part.id in pinned_ids for message in covered_messages for part in message.parts
        ),
    }


def _user_part_ids(messages: Sequence[Message]) -> frozenset[str]:
    """Return the ids of the parts that the user wrote, without the engine's prompts and notes."""
    return frozenset(
        part.id
        for message in messages
        if isinstance(message.info, UserMessage) and not message.info.by_engine
        for part in message.parts
        if isinstance(part, TextPart) and not part.synthetic
    )


def messages_tokens(view: View, policy: Policy, model: ModelInfo, count: Count) -> int:
    """Return the tokens of messages in a request, without system prompt and tools."""
    return _project_view(view, policy, model, count).total


def _project_view(view: View, policy: Policy, model: ModelInfo, count: Count) -> Projection:
    return project(view, system=(), tools=(), model=model, policy=policy, count=count)
