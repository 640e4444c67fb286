"""Build the messages that a moved compaction would have added: marker, stand-in summary, continuation.

Border: pure. No model is called: the summary is a text of a stated size, marked as such, which is
enough to count later requests and what they share, and shows nothing about what a summary would retain.
"""

from palimpsest.context.budget.request_tokens import Count
from palimpsest.context.compaction.continuation import (
    continuation_text,
    continues,
    unanswered,
    work_left,
)
from palimpsest.context.compaction.plan import CompactionPlan
from palimpsest.context.visible_messages import CONTINUES
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.messages import (
    AssistantMessage,
    Message,
    MessagePath,
    Messages,
    MessageTime,
    Origin,
    UserMessage,
)
from palimpsest.transcript.parts import CompactionPart, FilePart, Part, TextPart
from palimpsest.transcript.values import ModelRef, Todo

SUMMARY_TOKENS = 1_500
"""Size of a stand-in, about what summaries of real sessions have (spec/review.md 2.4)."""
LEAST_SHARE = 0.5
"""A stand-in is at most this share of what it covers: a summary is shorter than the messages."""
WORDS = "[A stand-in for a summary of {messages} messages: no model wrote it, and only its size counts.]"
FILLER = " and"
"""A word of four characters that is one token, so that it weighs the same by either estimator."""


def bare_marker(
    name: str, user: UserMessage, now: int, *, auto: bool, overflow: bool = False
) -> Message:
    """Return a marker that requests a compaction after a user message."""
    info = UserMessage(
        id=name,
        session_id=user.session_id,
        time=MessageTime(created=now),
        agent=user.agent,
        model=user.model,
        origin=Origin(kind="engine"),
    )
    part = CompactionPart(
        id=f"{name}-part", session_id=user.session_id, message_id=name, auto=auto, overflow=overflow
    )
    return Message(info=info, parts=(part,))


def with_tail(marker: Message, tail_start_id: str | None) -> Message:
    """Return a marker that names where the tail begins."""
    parts = tuple(
        part.model_copy(update={"tail_start_id": tail_start_id})
        if isinstance(part, CompactionPart)
        else part
        for part in marker.parts
    )
    return marker.model_copy(update={"parts": parts})


def placeholder_summary(
    marker: Message,
    made: CompactionPlan,
    before: Messages,
    policy: Policy,
    model: ModelRef,
    todos: tuple[Todo, ...],
    text: str,
) -> Messages:
    """Return the messages that a compaction would have added, the second of them its summary.

    ``before`` are those before the marker.
    """
    info = marker.info
    assert isinstance(info, UserMessage)
    name = f"{info.id}-summary"
    summary = Message(
        info=AssistantMessage(
            id=name,
            session_id=info.session_id,
            parent_id=info.id,
            time=MessageTime(created=info.time.created, completed=info.time.created),
            agent=info.agent,
            model=model,
            path=MessagePath(cwd="", root=""),
            summary=True,
            finish="stop",
        ),
        parts=(_text(info, name, text),),
    )
    planned = with_tail(marker, made.tail_start_id)
    goes_on = _goes_on(info, marker, made, before, policy, todos)
    return (planned, summary) if goes_on is None else (planned, summary, goes_on)


def summary_text(made: CompactionPlan, weight: int, size: int, count: Count) -> str:
    """Return a text of ``size`` tokens, or fewer where the messages that it covers are small."""
    words = WORDS.format(messages=len(made.head))
    wanted = min(size, int(weight * LEAST_SHARE))
    lacking = max(wanted - count(words), 0)
    each = max(count(FILLER * 64) / 64, 0.01)
    return words + FILLER * round(lacking / each)


def _goes_on(
    info: UserMessage,
    marker: Message,
    made: CompactionPlan,
    before: Messages,
    policy: Policy,
    todos: tuple[Todo, ...],
) -> Message | None:
    asked = next(part for part in marker.parts if isinstance(part, CompactionPart))
    left = work_left(before, todos)
    if not continues(asked, left, policy):
        return None
    name = f"{info.id}-continue"
    said = info.model_copy(update={"id": name})
    if made.replay is not None:
        again = [_again(info, name, part) for part in made.replay.parts]
        return Message(info=said, parts=tuple(part for part in again if part is not None))
    words = continuation_text(policy, made, unanswered(before), left, todos, refused=asked.overflow)
    return Message(info=said, parts=(_text(info, name, words, {CONTINUES: True}),))


def _again(info: UserMessage, name: str, part: Part) -> Part | None:
    match part:
        case TextPart(text=text):
            return _text(info, name, text)
        case FilePart():
            return _text(info, name, f"[Attached {part.mime}: {part.filename or 'file'}]")
        case _:
            return None


def _text(
    info: UserMessage, message_id: str, text: str, metadata: dict[str, bool] | None = None
) -> TextPart:
    return TextPart(
        id=f"{message_id}-text",
        session_id=info.session_id,
        message_id=message_id,
        text=text,
        synthetic=True,
        metadata=metadata,
    )
