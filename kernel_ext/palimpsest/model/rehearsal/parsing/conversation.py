"""Read a request's messages back into turns: what was asked, called, returned and answered.

Input is a provider's message list in OpenAI's shape. The rehearsal model keeps no memory of
its own, so that an answer depends on nothing but the request, as with any other model.
"""

import json
import re
from dataclasses import dataclass
from itertools import starmap
from typing import Any

from palimpsest.lazy_patterns import lazy_pattern
from palimpsest.model.wire.provider_messages import MEDIA_NOTICE

Messages = tuple[dict[str, Any], ...]

COMPACTED = "What did we do so far?"
"""The user message under which the engine puts a compaction's summary."""
ENGINE_TAGS_PATTERN = "system-reminder|reminder|env|environment|variables|notebook|context|note"
_OPENING_ASIDE = lazy_pattern(
    rf"\A\s*<({ENGINE_TAGS_PATTERN})\b[^>]*>.*?</\1>\s*(?=\S)", re.DOTALL | re.IGNORECASE
)
_CLOSING_ASIDE = lazy_pattern(
    rf"(?<=\S)\s*\n\n<({ENGINE_TAGS_PATTERN})>(?:(?!</?\1>).)*</\1>\s*\Z", re.DOTALL | re.IGNORECASE
)
_STEERED = lazy_pattern(
    r"\A\s*<system-reminder>\nThe user sent the following message:\n(.*)\n\nPlease address .*</system-reminder>\s*\Z",
    re.DOTALL,
)
"""How an older agent marks a user message that came in the middle of a turn."""
_ASIDE = lazy_pattern(rf"\s*<({ENGINE_TAGS_PATTERN})\b[^>]*>.*</\1>\s*", re.DOTALL | re.IGNORECASE)
_HOW_TO_FIX = lazy_pattern(
    r"(?:\A|(?<=</notebook>))\s*Find what is wrong, and look at the data where that is needed\.[^\n]*\s*\Z"
)
"""What the engine asks for below the error that a prompt wants mended."""
_ERROR_NOTE = lazy_pattern(
    r"^<notebook>\nThe error that the user means\b.*?^</notebook>$", re.DOTALL | re.MULTILINE
)
_MEDIA_NOTE = lazy_pattern(r"\s*(\[|attached|figure|image|media)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call: which tool, with which input."""

    tool: str
    input: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Exchange:
    """A tool call and what it returned."""

    call: ToolUse
    output: str


@dataclass(frozen=True, slots=True)
class PastTurn:
    """A prompt and everything that followed until the next prompt."""

    prompt: str
    exchanges: tuple[Exchange, ...] = ()
    said: tuple[str, ...] = ()
    error_note: str = ""
    """What the engine told of the failed cell that the prompt means by ``@error``: data, as it was sent."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """The turns of a request, oldest first; the last one is being answered."""

    system: str
    turns: tuple[PastTurn, ...]

    @property
    def current(self) -> PastTurn:
        """The turn being answered."""
        return self.turns[-1] if self.turns else PastTurn("")

    @property
    def earlier(self) -> tuple[PastTurn, ...]:
        """The turns before it."""
        return self.turns[:-1]

    @property
    def summary(self) -> str:
        """What the latest compaction wrote, or nothing."""
        found = [turn.said[0] for turn in self.turns if turn.prompt == COMPACTED and turn.said]
        return found[-1] if found else ""


def read_conversation(messages: Messages) -> Conversation:
    """Group messages into turns."""
    system: list[str] = []
    turns: list[tuple[str, str, list[dict[str, Any]]]] = []
    after_tool = False
    for message in messages:
        role, content = message.get("role"), message.get("content")
        if role in {"system", "developer"}:
            system.append(text_of(content))
        elif role == "user":
            text = text_of(content)
            if not _is_engine_text(message, text, after_tool=after_tool) or not turns:
                turns.append((text, _error_note(content), []))
        else:
            turns = turns or [("", "", [])]
            turns[-1][2].append(message)
        after_tool = role == "tool"
    return Conversation("\n\n".join(system), tuple(starmap(_turn, turns)))


def _turn(prompt: str, error_note: str, answers: list[dict[str, Any]]) -> PastTurn:
    """Return a turn from what followed its prompt; a call without a result is left out."""
    calls: dict[str, ToolUse] = {}
    outputs: dict[str, str] = {}
    said: list[str] = []
    for message in answers:
        text = text_of(message.get("content"))
        if message.get("role") == "tool":
            outputs.setdefault(str(message.get("tool_call_id")), text)
            continue
        said += [text] if text.strip() else []
        for call in message.get("tool_calls") or ():
            function = call.get("function") or {}
            arguments = json_object(function.get("arguments"))
            calls[str(call.get("id"))] = ToolUse(str(function.get("name")), arguments)
    exchanges = tuple(Exchange(calls[one], outputs[one]) for one in calls if one in outputs)
    return PastTurn(prompt, exchanges, tuple(said), error_note)


def text_of(content: Any) -> str:
    """Return the text of a message's content, without what the engine wrote between tags."""
    if isinstance(content, str):
        return without_engine_text(content)
    if not isinstance(content, list):
        return ""
    texts = [block.get("text") or "" for block in content if isinstance(block, dict)]
    return "\n".join(said for text in texts if (said := without_engine_text(text)))


def without_engine_text(text: str) -> str:
    """Return the part of a text that the user wrote."""
    if steered := _STEERED.match(text):
        return steered[1]
    before = None
    while before != text:
        before, text = text, _HOW_TO_FIX.sub("", _CLOSING_ASIDE.sub("", text))
    return "" if _ASIDE.fullmatch(text) else _OPENING_ASIDE.sub("", text)


def _error_note(content: Any) -> str:
    """Return the newest note about a failed cell in a user message, or nothing."""
    blocks = content if isinstance(content, list) else [{"text": content}]
    texts = [block.get("text") for block in blocks if isinstance(block, dict)]
    found = [note for text in texts if isinstance(text, str) for note in _ERROR_NOTE.findall(text)]
    return found[-1] if found else ""


def _is_engine_text(message: dict[str, Any], text: str, *, after_tool: bool) -> bool:
    """Tell whether the engine wrote this user message: a reminder, or a tool's pictures."""
    content = message.get("content")
    if not text.strip():
        return bool(content)
    has_media = isinstance(content, list) and any(
        isinstance(block, dict) and block.get("type", "text") != "text" for block in content
    )
    if text.lstrip().startswith(MEDIA_NOTICE):
        return after_tool  # for a model without vision, text stands in the pictures' place
    return after_tool and has_media and bool(_MEDIA_NOTE.match(text))


def json_object(raw: Any) -> dict[str, Any]:
    """Return an object, or the one that a text of JSON holds; an empty one for anything else."""
    if isinstance(raw, dict):
        return raw
    try:
        parsed = json.loads(raw or "{}")
    except (TypeError, ValueError):
        return {}
    return parsed if isinstance(parsed, dict) else {}
