"""Count the tokens of a request and its answer, with a simulated prompt cache.

The prefix that a request shares with the newest request of any session, for the same purpose, counts as cached, so that
the cost of a changed system prompt or a cleared output is visible. As with a provider the content counts, not the session:
a fork begins with what its parent has sent.
"""

import json
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from palimpsest.model.interface import ModelRequest
from palimpsest.rehearsal.parsing.word_matching import shared_length
from palimpsest.transcript.values import ToolSpec, Usage

MAX_REMEMBERED_REQUESTS = 64
MIN_MEDIA_CHARS, MEDIA_HEAD_CHARS = 1_000, 100
"""A data URL longer than the first number is compared by its first characters only, as many as the second."""
MESSAGE_TOKENS = 4
"""The tokens that providers add to each message for its role and delimiters."""


class UsageMeter:
    """Counts the usage of requests, and remembers the newest one of each session."""

    def __init__(self, count: Callable[[str], int]) -> None:
        self._count = count
        self._pieces_by_session: OrderedDict[tuple[str, str], tuple[str, ...]] = OrderedDict()
        """The pieces of the newest request of each session and purpose, by both."""

    def usage(
        self,
        request: ModelRequest,
        messages: Sequence[dict[str, Any]],
        text: str,
        reasoning_text: str,
    ) -> Usage:
        """Return the tokens of a request with these messages and its answer, and remember the request."""
        session_id, purpose = request.session_id, request.purpose
        pieces = request_pieces(messages, request.tools)
        key = (session_id or "", purpose)
        comparable_pieces = [
            earlier_pieces
            for (_, earlier_purpose), earlier_pieces in self._pieces_by_session.items()
            if session_id and earlier_purpose == purpose
        ]
        cached_tokens = max(
            (self._shared_tokens(earlier_pieces, pieces) for earlier_pieces in comparable_pieces),
            default=0,
        )
        prompt_tokens = sum(self._piece_tokens(piece) for piece in pieces)
        if session_id:
            self._pieces_by_session[key] = pieces
            self._pieces_by_session.move_to_end(key)
            while len(self._pieces_by_session) > MAX_REMEMBERED_REQUESTS:
                self._pieces_by_session.popitem(last=False)
        output_tokens, reasoning_tokens = self._count(text), self._count(reasoning_text)
        total_tokens = prompt_tokens + output_tokens + reasoning_tokens
        return Usage(
            input=prompt_tokens - cached_tokens,
            output=output_tokens,
            reasoning=reasoning_tokens,
            cache_read=cached_tokens,
            total=total_tokens,
        )

    def _piece_tokens(self, piece: str) -> int:
        return self._count(piece) + MESSAGE_TOKENS

    def _shared_tokens(self, earlier_pieces: tuple[str, ...], pieces: tuple[str, ...]) -> int:
        """Return how many tokens of a common prefix two requests have."""
        shared_tokens = 0
        for earlier_piece, piece in zip(earlier_pieces, pieces, strict=False):
            if earlier_piece == piece:
                shared_tokens += self._piece_tokens(piece)
                continue
            return shared_tokens + self._count(piece[: shared_length(earlier_piece, piece)])
        return shared_tokens


def request_pieces(
    messages: Sequence[dict[str, Any]], tools: Sequence[ToolSpec]
) -> tuple[str, ...]:
    """Return the request as texts, without cache marks: one for the tools, and one for each message."""
    specs = [tool.model_dump() for tool in tools]
    pieces = [json.dumps(specs, ensure_ascii=False, sort_keys=True)] if tools else []
    return (
        *pieces,
        *(json.dumps(_without_cache_marks(message), ensure_ascii=False) for message in messages),
    )


def _without_cache_marks(value: Any) -> Any:
    """Return a value without cache marks, which move at every request, and without the bytes of images."""
    if isinstance(value, dict):
        return {k: _without_cache_marks(v) for k, v in value.items() if k != "cache_control"}
    if isinstance(value, list):
        blocks = [_without_cache_marks(item) for item in value]
        # A message with a cache mark has its plain text as a single text block.
        is_text = len(blocks) == 1 and isinstance(blocks[0], dict)
        return blocks[0]["text"] if is_text and set(blocks[0]) == {"type", "text"} else blocks
    if isinstance(value, str) and value.startswith("data:") and len(value) > MIN_MEDIA_CHARS:
        return value[:MEDIA_HEAD_CHARS]
    return value
