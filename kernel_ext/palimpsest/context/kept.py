"""Say again what a person pinned, where a request no longer holds it.

Border: pure. A compaction or the history limit leaves out whole messages; what is pinned in them
follows the summary as quoted text, never as a call with its result, so that pairs stay pairs
whatever is left out around them. Pictures and files are shown again as they are.
"""

import json

from palimpsest.context.apply import apply
from palimpsest.context.standing import pinned_parts
from palimpsest.context.view import View
from palimpsest.transcript.flat import Block, FlatMessage, FlatMessages, MediaBlock, TextBlock
from palimpsest.transcript.messages import AssistantMessage, Message, Messages
from palimpsest.transcript.parts import (
    FilePart,
    Part,
    TextPart,
    ToolCompleted,
    ToolFailed,
    ToolPart,
)

KEPT = "Kept at the user's request, from earlier in this conversation. {who}\n\n{text}"
USER_SAID = "The user said:"
YOU_SAID = "You said:"
RETURNED = "Your call {call} returned:"
FAILED = "Your call {call} failed:"
ATTACHED = "The user attached {name}."


def with_pinned(messages: FlatMessages, view: View) -> FlatMessages:
    """Return the messages with every pinned part that they lack, after the summary if there is one."""
    pinned = pinned_parts(view.messages, view.decisions)
    shown = {block.part_id for message in messages for block in message.blocks}
    missing = pinned - shown
    if not missing:
        return messages
    homes = tuple(
        message for message in view.messages if any(part.id in missing for part in message.parts)
    )
    blocks = tuple(
        block
        for message in apply(homes, view)
        for part in message.parts
        if part.id in missing
        for block in _quoted(part, message)
    )
    if not blocks:
        return messages
    at = _behind_summary(messages, view.messages)
    return (*messages[:at], FlatMessage(role="user", blocks=blocks), *messages[at:])


def _behind_summary(messages: FlatMessages, transcript: Messages) -> int:
    """Return the place after the newest summary, else after the system messages."""
    summaries = {
        one.id for one in transcript if isinstance(one.info, AssistantMessage) and one.info.summary
    }
    places = [at for at, message in enumerate(messages) if message.message_id in summaries]
    if places:
        return places[-1] + 1
    return sum(message.role == "system" for message in messages)


def _quoted(part: Part, message: Message) -> tuple[Block, ...]:
    match part:
        case TextPart(text=text) if text.strip():
            who = YOU_SAID if isinstance(message.info, AssistantMessage) else USER_SAID
            return (_said(part, who, text),)
        case ToolPart(state=ToolCompleted(output=output, attachments=attachments)):
            media = tuple(
                MediaBlock(mime=one.mime, url=one.url, filename=one.filename, part_id=part.id)
                for one in attachments
            )
            return (_said(part, RETURNED.format(call=_call(part)), output), *media)
        case ToolPart(state=ToolFailed(error=error)):
            return (_said(part, FAILED.format(call=_call(part)), error),)
        case FilePart(mime=mime, url=url, filename=filename):
            name = ATTACHED.format(name=filename or "a file")
            media_block = MediaBlock(mime=mime, url=url, filename=filename, part_id=part.id)
            return (_said(part, name, ""), media_block)
        case _:
            return ()


def _said(part: Part, who: str, text: str) -> TextBlock:
    return TextBlock(text=KEPT.format(who=who, text=text).rstrip(), part_id=part.id)


def _call(part: ToolPart) -> str:
    given = json.dumps(part.state.input, ensure_ascii=False, separators=(",", ":"))
    return f"{part.tool}({given})"
