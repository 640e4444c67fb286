"""Decide whether a turn continues after a compaction, and write the synthetic message that continues it.

Border: pure. A turn continues by itself only where work is left: a prompt without an answer, an answer cut in the
middle, open items on the todo list. The presets of systems that always continue do so here too.
"""

from collections.abc import Sequence
from typing import Literal

from palimpsest.context.compaction.plan import CompactionPlan
from palimpsest.context.visible_messages import marker
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.messages import AssistantMessage, Message, Messages, UserMessage
from palimpsest.transcript.parts import CompactionPart, TextPart, ToolFailed, ToolPart
from palimpsest.transcript.values import Todo

_MADE_ROOM = "Earlier messages were put into the summary above to make room. Go on "
CONTINUE = f"{_MADE_ROOM}with the request that is not answered yet."
CONTINUE_WITH = f"{_MADE_ROOM}with this request, which is not answered yet:\n\n{{request}}"
CONTINUE_TODO = f"{_MADE_ROOM}with what is still open on the todo list:\n\n{{items}}"
CONTINUE_FREELY = (
    f"{_MADE_ROOM}if there is a next step, or stop and ask if you are unsure how to proceed."
)

COMPLETE_FINISHES = frozenset({"stop", "content-filter"})
"""Finish reasons of a complete answer."""

Work = Literal["question", "answer", "todo"]
"""``question``: nothing was answered yet; ``answer``: an answer was cut in the middle."""


def work_left(messages_before: Messages, todos: Sequence[Todo]) -> Work | None:
    """Return the kind of work that the messages before a marker leave open; None when nothing is left."""
    newest_message = next(filter(_is_conversation, reversed(messages_before)), None)
    if newest_message is None:
        return None
    if isinstance(newest_message.info, UserMessage):
        return "question"
    if not _is_complete(newest_message, newest_message.info):
        return "answer"
    return "todo" if any(map(_is_open, todos)) else None


def continues_after_summary(
    compaction: CompactionPart, work_kind: Work | None, policy: Policy
) -> bool:
    """Return whether the turn continues after a summary; the user may request that even where no work is left."""
    always_continues = policy.compact.always_continue
    return compaction.goes_on or (compaction.auto and (work_kind is not None or always_continues))


def continuation_text(
    policy: Policy,
    plan: CompactionPlan,
    prompt: Message | None,
    work_kind: Work | None = None,
    todos: Sequence[Todo] = (),
    *,
    was_refused: bool = False,
) -> str:
    """Return the text of the synthetic message after a summary that makes the model continue.

    ``was_refused`` means that the provider had refused a request as too long.
    """
    compact = policy.compact
    if compact.continue_text:
        return (compact.refused_text if was_refused else "") + compact.continue_text
    if work_kind is None:
        return CONTINUE_FREELY
    if work_kind == "todo":
        items = "\n".join(f"- {todo.content}" for todo in todos if _is_open(todo))
        return CONTINUE_TODO.format(items=items)
    # Quoted as in the request for the summary, so that nothing is quoted that the user excluded.
    covered_prompts = [
        message for message in plan.summarised_messages if prompt and message.id == prompt.id
    ]
    parts = (part for message in covered_prompts for part in message.parts)
    texts = [part.text for part in parts if isinstance(part, TextPart)]
    return CONTINUE_WITH.format(request="\n\n".join(texts)) if texts else CONTINUE


def unanswered_prompt(messages_before: Messages) -> Message | None:
    """Return the user's newest message before a marker: the unanswered one where ``work_left`` finds a question."""
    for message in reversed(messages_before):
        if isinstance(message.info, UserMessage) and any(
            isinstance(part, TextPart) and not part.synthetic for part in message.parts
        ):
            return message
    return None


def _is_conversation(message: Message) -> bool:
    """Return whether a message is part of the conversation: neither a marker nor a summary."""
    if isinstance(message.info, AssistantMessage):
        return not message.info.summary
    return marker(message) is None


def _is_complete(message: Message, info: AssistantMessage) -> bool:
    if info.error is not None or info.finish not in COMPLETE_FINISHES:
        return False
    return not any(waits_for_answer(part) for part in message.parts if isinstance(part, ToolPart))


def waits_for_answer(part: ToolPart) -> bool:
    """Return whether a call's result needs an answer; False for a provider's call and an interrupted or failed one."""
    metadata = part.metadata or {}
    interrupted = isinstance(part.state, ToolFailed) and part.state.metadata.get("interrupted")
    return not (metadata.get("provider_executed") or metadata.get("failed_attempt") or interrupted)


def _is_open(todo: Todo) -> bool:
    return todo.status in ("pending", "in_progress")
