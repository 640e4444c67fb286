"""Build the messages that a moved compaction would have added: marker, placeholder summary, continuation.

Border: pure. No model is called: the summary is a text of a stated size, marked as such, which is
enough to count later requests and their common prefixes, but does not show what a summary would retain.
"""

from palimpsest.context.budget.request_tokens import Count
from palimpsest.context.compaction.continuation import (
    continuation_text,
    continues_after_summary,
    unanswered_prompt,
    work_left,
)
from palimpsest.context.compaction.plan import CompactionPlan
from palimpsest.context.visible_messages import CONTINUES_KEY
from palimpsest.context_policies.engine_presets.engine_compaction import MAX_PLACEHOLDER_SHARE
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

PLACEHOLDER_TEXT = "[A stand-in for a summary of {messages} messages: no model wrote it, and only its size counts.]"
FILLER_WORD = " and"
"""A word of four characters that is one token, so that both estimators count it the same."""
FILLER_SAMPLE = 64
"""Number of filler words from which the tokens of one are computed."""
MIN_FILLER_TOKENS = 0.01


def automatic_marker(
    marker_id: str, user: UserMessage, created_ms: int, *, overflow: bool
) -> Message:
    """Return a marker by which the loop requests a compaction after a user message."""
    info = UserMessage(
        id=marker_id,
        session_id=user.session_id,
        time=MessageTime(created=created_ms),
        agent=user.agent,
        model=user.model,
        origin=Origin(kind="engine"),
    )
    part = CompactionPart(
        id=f"{marker_id}-part",
        session_id=user.session_id,
        message_id=marker_id,
        auto=True,
        overflow=overflow,
    )
    return Message(info=info, parts=(part,))


def with_tail(marker: Message, tail_start_id: str | None) -> Message:
    """Return a marker with the message at which the tail begins."""
    parts = tuple(
        part.model_copy(update={"tail_start_id": tail_start_id})
        if isinstance(part, CompactionPart)
        else part
        for part in marker.parts
    )
    return marker.model_copy(update={"parts": parts})


def placeholder_summary(
    marker: Message,
    plan: CompactionPlan,
    messages_before: Messages,
    policy: Policy,
    model: ModelRef,
    todos: tuple[Todo, ...],
    text: str,
) -> Messages:
    """Return the messages that a compaction after ``messages_before`` would have added; the second is its summary."""
    info = marker.info
    assert isinstance(info, UserMessage)
    summary_id = f"{info.id}-summary"
    summary = Message(
        info=AssistantMessage(
            id=summary_id,
            session_id=info.session_id,
            parent_id=info.id,
            time=MessageTime(created=info.time.created, completed=info.time.created),
            agent=info.agent,
            model=model,
            path=MessagePath(cwd="", root=""),
            summary=True,
            finish="stop",
        ),
        parts=(_text_part(info, summary_id, text),),
    )
    marker_and_summary = (with_tail(marker, plan.tail_start_id), summary)
    continuation = _continuation_message(info, marker, plan, messages_before, policy, todos)
    return marker_and_summary if continuation is None else (*marker_and_summary, continuation)


def placeholder_text(
    plan: CompactionPlan, covered_tokens: int, max_tokens: int, count: Count
) -> str:
    """Return a placeholder text of ``max_tokens``, or of fewer where the covered messages are small."""
    beginning = PLACEHOLDER_TEXT.format(messages=len(plan.summarised_messages))
    target_tokens = min(max_tokens, int(covered_tokens * MAX_PLACEHOLDER_SHARE))
    missing_tokens = max(target_tokens - count(beginning), 0)
    tokens_per_filler = max(count(FILLER_WORD * FILLER_SAMPLE) / FILLER_SAMPLE, MIN_FILLER_TOKENS)
    return beginning + FILLER_WORD * round(missing_tokens / tokens_per_filler)


def _continuation_message(
    info: UserMessage,
    marker: Message,
    plan: CompactionPlan,
    messages_before: Messages,
    policy: Policy,
    todos: tuple[Todo, ...],
) -> Message | None:
    compaction_part = next(part for part in marker.parts if isinstance(part, CompactionPart))
    open_work = work_left(messages_before, todos)
    if not continues_after_summary(compaction_part, open_work, policy):
        return None
    message_id = f"{info.id}-continue"
    copied_info = info.model_copy(update={"id": message_id})
    if plan.replay is not None:
        repeated_parts = [_repeated_part(info, message_id, part) for part in plan.replay.parts]
        return Message(info=copied_info, parts=tuple(filter(None, repeated_parts)))
    prompt, was_refused = unanswered_prompt(messages_before), compaction_part.overflow
    text = continuation_text(policy, plan, prompt, open_work, todos, was_refused=was_refused)
    return Message(
        info=copied_info, parts=(_text_part(info, message_id, text, {CONTINUES_KEY: True}),)
    )


def _repeated_part(info: UserMessage, message_id: str, part: Part) -> Part | None:
    match part:
        case TextPart(text=text):
            return _text_part(info, message_id, text)
        case FilePart():
            text = f"[Attached {part.mime}: {part.filename or 'file'}]"
            return _text_part(info, message_id, text)
        case _:
            return None


def _text_part(
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
