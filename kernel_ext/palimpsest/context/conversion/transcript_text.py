"""Serialize messages of a session as one text, for a model that is to summarise it.

As in OpenCode, there is a line for each text, call and output, with its author in brackets, and tool outputs are
truncated. Decisions are already applied to the messages, so a cleared output shows its placeholder.
"""

import json
from collections.abc import Iterable, Sequence
from typing import assert_never

from palimpsest.context.conversion.part_conversion import FAILED_ATTEMPT
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
from palimpsest.transcript.user_notices import is_hidden_from_models

TRUNCATED_NOTE = "\n[truncated]"


def serialize_messages(messages: Messages, result_chars: int) -> str:
    """Return messages as one text; empty ones are left out."""
    texts = (serialize_message(message, result_chars) for message in messages)
    return "\n\n".join(text for text in texts if text)


def serialize_message(message: Message, result_chars: int) -> str:
    """Return one message as lines, each tool output cut to ``result_chars`` characters."""
    if isinstance(message.info, AssistantMessage):
        lines = [line for part in message.parts for line in _answer_lines(part, result_chars)]
    else:
        lines = list(_user_lines(message.parts))
    return "\n".join(lines)


def _user_lines(parts: Sequence[Part]) -> Iterable[str]:
    texts = [part.text for part in parts if isinstance(part, TextPart) and not part.ignored]
    if any(texts):
        yield "[User]: " + "\n".join(filter(None, texts))
    for part in parts:
        match part:
            case FilePart():
                yield _attachment_line(part.mime, part.filename)
            case TextPart() | ReasoningPart() | ToolPart():
                pass  # written above, or only in answers
            case _:
                yield from _noted_lines(part, "User")


def _answer_lines(part: Part, result_chars: int) -> Iterable[str]:
    if (getattr(part, "metadata", None) or {}).get(FAILED_ATTEMPT) or is_hidden_from_models(part):
        return
    match part:
        case TextPart(text=text):
            yield from (f"[Assistant]: {text}",) if text else ()
        case ReasoningPart(text=text):
            yield from (f"[Assistant reasoning]: {text}",) if text else ()
        case ToolPart():
            yield from _call_lines(part, result_chars)
        case FilePart():
            pass
        case _:
            yield from _noted_lines(part, "Assistant")


def _noted_lines(part: NotedPart, speaker: str) -> Iterable[str]:
    text = part.words_for_summary()
    if text:
        yield f"[{speaker}]: {text}"


def _call_lines(part: ToolPart, result_chars: int) -> Iterable[str]:
    input_json = json.dumps(part.state.input, ensure_ascii=False, separators=(",", ":"))
    yield f"[Assistant tool call]: {part.tool}({input_json})"
    match part.state:
        case ToolCompleted(output=output, attachments=attachments):
            yield f"[Tool result]: {_truncated(output, result_chars)}"
            for attachment in attachments:
                yield _attachment_line(attachment.mime, attachment.filename)
        case ToolFailed(error=error):
            yield f"[Tool error]: {error}"
        case ToolPending() | ToolRunning():
            pass
        case _:
            assert_never(part.state)


def _truncated(text: str, max_chars: int) -> str:
    return text if len(text) <= max_chars else text[:max_chars] + TRUNCATED_NOTE


def _attachment_line(mime: str, name: str | None) -> str:
    return f"[Attached {mime}: {name or 'file'}]"
