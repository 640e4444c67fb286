"""Say again what a person pinned, where a request no longer holds it.

Border: pure. A compaction or the history limit leaves out whole messages; what is pinned in them
follows the summary as quoted text, never as a call with its result, so that pairs stay pairs
whatever is left out around them. Pictures and files are shown again as they are. A thought that a
person pinned by itself is quoted wherever no provider would give it back to the model, which is
where it has no signature.
"""

import json
from typing import assert_never

from palimpsest.context.conversion.part_conversion import is_signed
from palimpsest.context.reduction.applied_decisions import apply_decisions
from palimpsest.context.visible_messages.fold import summary_text
from palimpsest.context.visible_messages.view import View
from palimpsest.transcript.context_values.decisions import PIN
from palimpsest.transcript.context_values.effective_decisions import pinned_parts
from palimpsest.transcript.context_values.neutral_messages import (
    Block,
    MediaBlock,
    NeutralMessage,
    NeutralMessages,
    ReasoningBlock,
    TextBlock,
)
from palimpsest.transcript.messages import AssistantMessage, Message, Messages
from palimpsest.transcript.parts import (
    FilePart,
    NotedPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCompleted,
    ToolFailed,
    ToolPart,
    ToolPending,
    ToolRunning,
)

KEPT = "Kept at the user's request, from earlier in this conversation. {who}\n\n{text}"
USER_SAID = "The user said:"
YOU_SAID = "You said:"
YOU_THOUGHT = "You thought:"
SUMMARY_SAID = "An earlier summary said:"
RETURNED = "Your call {call} returned:"
FAILED = "Your call {call} failed:"
ATTACHED = "The user attached {name}."


def with_pinned_parts(messages: NeutralMessages, view: View) -> NeutralMessages:
    """Return the messages with every pinned part that they lack, after the summary if there is one."""
    pinned = pinned_parts(view.messages, view.decisions)
    shown = {
        block.part_id for message in messages for block in message.blocks if reaches_model(block)
    }
    missing = pinned - shown
    if not missing:
        return messages
    homes = tuple(
        message for message in view.messages if any(part.id in missing for part in message.parts)
    )
    blocks = tuple(
        block
        for home, applied in zip(homes, apply_decisions(homes, view), strict=True)
        for part in _of(home, applied)
        if part.id in missing
        for block in _quoted(part, home, view)
    )
    if not blocks:
        return messages
    at = _behind_summary(messages, view.messages)
    return (*messages[:at], NeutralMessage(role="user", blocks=blocks), *messages[at:])


def _of(home: Message, applied: Message) -> tuple[Part, ...]:
    """Return the parts of a message as they are shown; a thought needs no words beside it here."""
    shown = {part.id: part for part in applied.parts}
    return tuple(
        shown.get(part.id, part)
        for part in home.parts
        if part.id in shown or isinstance(part, ReasoningPart)
    )


def reaches_model(block: Block) -> bool:
    """Tell whether what stands in a request is said to the model: a thought may be kept from it."""
    return not isinstance(block, ReasoningBlock) or is_signed(block.metadata)


def _behind_summary(messages: NeutralMessages, transcript: Messages) -> int:
    """Return the place after the newest summary, else after the system messages."""
    summaries = {
        one.id for one in transcript if isinstance(one.info, AssistantMessage) and one.info.summary
    }
    places = [at for at, message in enumerate(messages) if message.message_id in summaries]
    if places:
        return places[-1] + 1
    return sum(message.role == "system" for message in messages)


def _quoted(part: Part, message: Message, view: View) -> tuple[Block, ...]:
    match part:
        case TextPart(text=text):
            said = text.strip() and not _is_draft(part, message)
            return (_said(part, _who(message), text),) if said else ()
        case ReasoningPart(text=text):
            said = text.strip() and _is_wanted(part, view)
            return (_said(part, YOU_THOUGHT, text),) if said else ()
        case ToolPart():
            return _quoted_call(part)
        case FilePart(mime=mime, url=url, filename=filename):
            name = ATTACHED.format(name=filename or "a file")
            media_block = MediaBlock(mime=mime, url=url, filename=filename, part_id=part.id)
            return (_said(part, name, ""), media_block)
        case _:
            return _quoted_words(part, message)


def _quoted_words(part: NotedPart, message: Message) -> tuple[Block, ...]:
    words = part.words_for_summary()
    return (_said(part, _who(message), words),) if words else ()


def _quoted_call(part: ToolPart) -> tuple[Block, ...]:
    match part.state:
        case ToolCompleted(output=output, attachments=attachments):
            media = tuple(
                MediaBlock(mime=one.mime, url=one.url, filename=one.filename, part_id=part.id)
                for one in attachments
            )
            return (_said(part, RETURNED.format(call=_call(part)), output), *media)
        case ToolFailed(error=error):
            return (_said(part, FAILED.format(call=_call(part)), error),)
        case ToolPending() | ToolRunning():
            return ()
        case _:
            assert_never(part.state)


def _who(message: Message) -> str:
    if not isinstance(message.info, AssistantMessage):
        return USER_SAID
    return SUMMARY_SAID if message.info.summary else YOU_SAID


def _is_draft(part: TextPart, message: Message) -> bool:
    """Tell whether a summary was written on the way to what the summary is."""
    return _who(message) == SUMMARY_SAID and part.text.strip() not in summary_text(message)


def _is_wanted(thought: ReasoningPart, view: View) -> bool:
    """Tell whether a person pinned this very thought: with its message, it goes where that goes."""
    return any(one.rule == PIN and one.part_id == thought.id for one in view.decisions)


def _said(part: Part, who: str, text: str) -> TextBlock:
    return TextBlock(text=KEPT.format(who=who, text=text).rstrip(), part_id=part.id)


def _call(part: ToolPart) -> str:
    given = json.dumps(part.state.input, ensure_ascii=False, separators=(",", ":"))
    return f"{part.tool}({given})"
