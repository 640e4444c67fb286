"""Count the tokens of a request and its answer, with a simulated prompt cache.

Cached is the prefix that a request shares with the one before it of the same session and purpose;
so the cost of a changed system prompt or a cleared output shows.
"""

import json
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from palimpsest.model.rehearsal.parsing.word_matching import shared_length
from palimpsest.transcript.values import ToolSpec, Usage

SESSIONS_REMEMBERED = 64
MESSAGE_TOKENS = 4
"""What providers add to a message for its role and its delimiters."""


class UsageMeter:
    """Counts usage for each session."""

    def __init__(self, count: Callable[[str], int]) -> None:
        self._count = count
        self._before: OrderedDict[tuple[str, str], tuple[str, ...]] = OrderedDict()

    def usage(
        self,
        messages: Sequence[dict[str, Any]],
        tools: Sequence[ToolSpec],
        session_id: str | None,
        purpose: str,
        *,
        text: str,
        thoughts: str,
    ) -> Usage:
        """Return the tokens of a request and its answer, and remember the request."""
        pieces = serialised(messages, tools)
        key = (session_id or "", purpose)
        before = self._before.get(key, ()) if session_id else ()
        cached = self._common(before, pieces)
        prompt = sum(self._tokens(piece) for piece in pieces)
        if session_id:
            self._before[key] = pieces
            self._before.move_to_end(key)
            while len(self._before) > SESSIONS_REMEMBERED:
                self._before.popitem(last=False)
        output, reasoning = self._count(text), self._count(thoughts)
        total = prompt + output + reasoning
        return Usage(
            input=prompt - cached,
            output=output,
            reasoning=reasoning,
            cache_read=cached,
            total=total,
        )

    def _tokens(self, piece: str) -> int:
        return self._count(piece) + MESSAGE_TOKENS

    def _common(self, before: tuple[str, ...], now: tuple[str, ...]) -> int:
        """Return the tokens that two requests share at their beginning."""
        shared = 0
        for one, other in zip(before, now, strict=False):
            if one == other:
                shared += self._tokens(other)
                continue
            return shared + self._count(other[: shared_length(one, other)])
        return shared


def serialised(messages: Sequence[dict[str, Any]], tools: Sequence[ToolSpec]) -> tuple[str, ...]:
    """Return the request as text: one piece for the tools, one for each message, without cache marks."""
    pieces = (
        [json.dumps([tool.model_dump() for tool in tools], ensure_ascii=False, sort_keys=True)]
        if tools
        else []
    )
    return (*pieces, *(json.dumps(_unmarked(message), ensure_ascii=False) for message in messages))


def _unmarked(value: Any) -> Any:
    """Drop cache marks, which move at every request, and the bytes of pictures."""
    if isinstance(value, dict):
        return {k: _unmarked(v) for k, v in value.items() if k != "cache_control"}
    if isinstance(value, list):
        blocks = [_unmarked(item) for item in value]
        # A cache mark turns plain text into a single block of text.
        is_text = len(blocks) == 1 and isinstance(blocks[0], dict)
        return blocks[0]["text"] if is_text and set(blocks[0]) == {"type", "text"} else blocks
    if isinstance(value, str) and value.startswith("data:") and len(value) > 1000:
        return value[:100]
    return value
