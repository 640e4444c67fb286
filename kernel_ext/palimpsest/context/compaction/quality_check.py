"""Accept or reject a summary before it replaces history, and report what it lost.

Border: pure. A summary that is too short, or that saves too little, is rejected and cuts nothing. A good
one gets a report of names that occur in the messages it covers, but neither in it nor in the tail
(DESIGN.md 4).
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from palimpsest.context.budget.request_tokens import Count
from palimpsest.context.compaction.audit import missing_from_summary, split_at_tail
from palimpsest.context.compaction.loss_report import loss_report
from palimpsest.context.compaction.names import NAMES_VERSION
from palimpsest.context.compaction.summary_grade import summary_grade
from palimpsest.context.compaction.summary_request import RULE, messages_seen_at
from palimpsest.context.conversion.transcript_text import serialize
from palimpsest.context.request_assembly.projection import Projection, project
from palimpsest.context.visible_messages import View, marker, messages_before, summary_text
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.messages import AssistantMessage, Message, UserMessage
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
ROOM = "There is room for all of it in the window of {window:,} tokens."
NO_LIMIT = "There is room for all of it, since the settings give this model no limit."


LACKING = (
    "The summary was not used, and nothing was cut, since it lacks what the work needs. {lacks} Name another "
    "model for summaries with compaction.model in the settings, or begin a new session with %agent --new."
)


@dataclass(frozen=True, slots=True)
class RejectedSummary:
    """Why a summary was rejected."""

    problem: str
    """A sentence for the user, with what to do."""
    lacks: tuple[str, ...] = ()
    """What the summary must contain when it is written again; empty where that would not help."""


def rejected_summary(
    view: View,
    message: AssistantMessage,
    policy: Policy,
    model: ModelInfo,
    count: Count,
    before: int,
) -> RejectedSummary | None:
    """Return why a summary is rejected; None for a good one.

    ``before`` is the token count of the messages before the marker.
    """
    compact = policy.compact
    text = _text(view, message)
    if not compact.judge:
        return None
    if len(text) < compact.min_summary_chars:
        return RejectedSummary(USELESS.format(chars=len(text)))
    seen = messages_seen_at(view, message.parent_id, policy)
    lacking = missing_from_summary(text, seen, compact) if compact.audit else ()
    if lacking:
        return RejectedSummary(LACKING.format(lacks=" ".join(lacking)), lacking)
    after = _projected(_with_good(view, message), policy, model, count).total
    if after > compact.max_share_after * before:
        asked = next((one for one in view.messages if one.id == message.parent_id), None)
        mark = marker(asked) if asked is not None else None
        by_hand = mark is not None and not mark.auto
        roomy = by_hand and 2 * before < model.capacity
        helps = _room(model) if roomy else NO_ROOM
        return RejectedSummary(SAVES_LITTLE.format(before=before, after=after, helps=helps))
    return None


def summary_report(
    view: View,
    message: AssistantMessage,
    policy: Policy,
    model: ModelInfo,
    count: Count,
    before: int,
    name: str,
    *,
    graded: bool = True,
    names: int = NAMES_VERSION,
) -> Decision | RejectedSummary:
    """Return the report of a good summary as a decision, or why it is rejected.

    ``before`` is the token count of the messages before the marker; ``name`` becomes the decision's id. Without
    ``graded`` the report is that of sessions from before summaries were graded; ``names`` is the version of the rules
    by which a grade finds names.
    """
    rejected = rejected_summary(view, message, policy, model, count, before)
    if rejected is not None:
        return rejected
    text, compact = _text(view, message), policy.compact
    shown = _projected(_with_good(view, message), policy, model, count)
    covered, beside = split_at_tail(messages_seen_at(view, message.parent_id, policy))
    if graded:
        said = messages_before(view.messages, message.parent_id)
        numbers = summary_grade(
            _projected(dataclasses.replace(view, messages=said), policy, model, count).messages,
            frozenset(part.id for one in covered for part in one.parts),
            text,
            [one for one in shown.messages if one.message_id != message.id],
            _spoken(covered),
            names,
        )
    else:
        kept = text + serialize(beside, compact.result_chars)
        numbers = {"retention": loss_report(serialize(covered, compact.result_chars), kept)}
    return Decision(
        id=name,
        action="summarise",
        rule=RULE,
        message_id=message.id,
        numbers=numbers,
        tokens_before=before,
        tokens_after=shown.total,
    )


def _spoken(messages: Sequence[Message]) -> frozenset[str]:
    """Return the parts that are a person's own words: neither the engine's, nor what it wrote beside a prompt."""
    return frozenset(
        part.id
        for message in messages
        if isinstance(message.info, UserMessage) and not message.info.by_engine
        for part in message.parts
        if isinstance(part, TextPart) and not part.synthetic
    )


def _text(view: View, message: AssistantMessage) -> str:
    written = next((one for one in view.messages if one.id == message.id), None)
    return summary_text(written) if written is not None else ""


def _with_good(view: View, message: AssistantMessage) -> View:
    """Return the view as it is once the summary counts."""
    done = message.model_copy(update={"finish": "stop", "error": None})
    messages = tuple(
        one.model_copy(update={"info": done}) if one.id == message.id else one
        for one in view.messages
    )
    return dataclasses.replace(view, messages=messages)


def _room(model: ModelInfo) -> str:
    return ROOM.format(window=model.window) if model.window else NO_LIMIT


def messages_tokens(view: View, policy: Policy, model: ModelInfo, count: Count) -> int:
    """Return the tokens that messages take in a request, without system prompt and tools."""
    return _projected(view, policy, model, count).total


def _projected(view: View, policy: Policy, model: ModelInfo, count: Count) -> Projection:
    return project(view, system=(), tools=(), model=model, policy=policy, count=count)
