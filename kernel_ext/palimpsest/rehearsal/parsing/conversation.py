"""Parse a request's messages into turns: each prompt with its tool calls, their outputs and the answers.

The input is a message list in OpenAI's format. The rehearsal model keeps no memory of its own, so that an
answer depends only on the request, as with any other model.
"""

import json
import re
from dataclasses import dataclass
from itertools import starmap
from typing import Any

from palimpsest.lazy_patterns import lazy_pattern
from palimpsest.model.wire.provider_messages import MEDIA_NOTICE

Messages = tuple[dict[str, Any], ...]

SUMMARY_PROMPT = "What did we do so far?"
"""The user message to which a compaction's summary is the answer."""
ENGINE_TAGS_PATTERN = "system-reminder|reminder|env|environment|variables|notebook|context|note"
_OPENING_NOTE = lazy_pattern(
    rf"\A\s*<({ENGINE_TAGS_PATTERN})\b[^>]*>.*?</\1>\s*(?=\S)", re.DOTALL | re.IGNORECASE
)
_CLOSING_NOTE = lazy_pattern(
    rf"(?<=\S)\s*\n\n<({ENGINE_TAGS_PATTERN})>(?:(?!</?\1>).)*</\1>\s*\Z", re.DOTALL | re.IGNORECASE
)
_STEERING_MESSAGE = lazy_pattern(
    r"\A\s*<system-reminder>\nThe user sent the following message:\n(.*)\n\nPlease address .*</system-reminder>\s*\Z",
    re.DOTALL,
)
"""How an older agent wraps a user message that was sent in the middle of a turn."""
_NOTE = lazy_pattern(rf"\s*<({ENGINE_TAGS_PATTERN})\b[^>]*>.*</\1>\s*", re.DOTALL | re.IGNORECASE)
_HOW_TO_FIX = lazy_pattern(
    r"(?:\A|(?<=</notebook>))\s*Find what is wrong, and look at the data where that is needed\.[^\n]*\s*\Z"
)
"""The instruction that the engine adds below the error that a prompt asks to correct."""
_ERROR_NOTE = lazy_pattern(
    r"^<notebook>\nThe error that the user means\b.*?^</notebook>$", re.DOTALL | re.MULTILINE
)
_MEDIA_NOTE = lazy_pattern(r"\s*(\[|attached|figure|image|media)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call: the tool's name and its input."""

    tool: str
    input: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Exchange:
    """A tool call and its output."""

    tool_use: ToolUse
    output: str


@dataclass(frozen=True, slots=True)
class PastTurn:
    """A prompt, with the tool calls and answers up to the next prompt."""

    prompt: str
    exchanges: tuple[Exchange, ...] = ()
    answers: tuple[str, ...] = ()
    error_note: str = ""
    """The engine's note about the failed cell that ``@error`` in the prompt refers to."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """The turns of a request, oldest first; the model answers the last one."""

    turns: tuple[PastTurn, ...]

    @property
    def current(self) -> PastTurn:
        """The turn that the model answers now."""
        return self.turns[-1] if self.turns else PastTurn("")

    @property
    def earlier(self) -> tuple[PastTurn, ...]:
        """The turns before the current one."""
        return self.turns[:-1]

    @property
    def summary(self) -> str:
        """The summary of the latest compaction; empty without one."""
        summaries = [
            turn.answers[0] for turn in self.turns if turn.prompt == SUMMARY_PROMPT and turn.answers
        ]
        return summaries[-1] if summaries else ""


def read_conversation(messages: Messages) -> Conversation:
    """Group a request's messages into turns."""
    turn_parts: list[tuple[str, str, list[dict[str, Any]]]] = []
    is_after_tool = False
    for message in messages:
        role, content = message.get("role"), message.get("content")
        if role == "user":
            text = text_of(content)
            if not _is_engine_text(message, text, is_after_tool=is_after_tool) or not turn_parts:
                turn_parts.append((text, _error_note(content), []))
        elif role not in {"system", "developer"}:
            turn_parts = turn_parts or [("", "", [])]
            turn_parts[-1][2].append(message)
        is_after_tool = role == "tool"
    return Conversation(tuple(starmap(_past_turn, turn_parts)))


def _past_turn(prompt: str, error_note: str, later_messages: list[dict[str, Any]]) -> PastTurn:
    """Return the turn of a prompt and the messages after it; a call without a result is left out."""
    calls_by_id: dict[str, ToolUse] = {}
    outputs_by_id: dict[str, str] = {}
    answer_texts: list[str] = []
    for message in later_messages:
        text = text_of(message.get("content"))
        if message.get("role") == "tool":
            outputs_by_id.setdefault(str(message.get("tool_call_id")), text)
            continue
        answer_texts += [text] if text.strip() else []
        for call in message.get("tool_calls") or ():
            function = call.get("function") or {}
            arguments = json_object(function.get("arguments"))
            calls_by_id[str(call.get("id"))] = ToolUse(str(function.get("name")), arguments)
    exchanges = tuple(
        Exchange(calls_by_id[call_id], outputs_by_id[call_id])
        for call_id in calls_by_id
        if call_id in outputs_by_id
    )
    return PastTurn(prompt, exchanges, tuple(answer_texts), error_note)


def text_of(content: Any) -> str:
    """Return the text of a message's content, without the engine's tagged notes."""
    if isinstance(content, str):
        return without_engine_text(content)
    if not isinstance(content, list):
        return ""
    texts = [block.get("text") or "" for block in content if isinstance(block, dict)]
    return "\n".join(filter(None, map(without_engine_text, texts)))


def without_engine_text(text: str) -> str:
    """Return the part of a text that the user wrote."""
    if steering_match := _STEERING_MESSAGE.match(text):
        return steering_match[1]
    previous_text = None
    while previous_text != text:
        previous_text, text = text, _HOW_TO_FIX.sub("", _CLOSING_NOTE.sub("", text))
    return "" if _NOTE.fullmatch(text) else _OPENING_NOTE.sub("", text)


def _error_note(content: Any) -> str:
    """Return the newest note about a failed cell in a user message; empty without one."""
    blocks = content if isinstance(content, list) else [{"text": content}]
    texts = [block.get("text") for block in blocks if isinstance(block, dict)]
    notes = [note for text in texts if isinstance(text, str) for note in _ERROR_NOTE.findall(text)]
    return notes[-1] if notes else ""


def _is_engine_text(message: dict[str, Any], text: str, *, is_after_tool: bool) -> bool:
    """Return whether the engine wrote this user message: a reminder, or a tool's images."""
    content = message.get("content")
    if not text.strip():
        return bool(content)
    has_media = isinstance(content, list) and any(
        isinstance(block, dict) and block.get("type", "text") != "text" for block in content
    )
    if text.lstrip().startswith(MEDIA_NOTICE):
        return is_after_tool  # A model without vision gets this text instead of the images.
    return is_after_tool and has_media and bool(_MEDIA_NOTE.match(text))


def json_object(value_or_text: Any) -> dict[str, Any]:
    """Return a value that is a dict, or the dict that its JSON text holds; an empty dict for anything else."""
    if isinstance(value_or_text, dict):
        return value_or_text
    try:
        value = json.loads(value_or_text or "{}")
    except (TypeError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
