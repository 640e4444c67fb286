"""The interface of a model that runs in this process, which the adapter streams like a provider's.

``LitellmModel.register_custom`` takes a ``StreamingHandler`` for ``<provider>/<name>``. Its answers
are joined, counted and classified by the same code as a provider's, so that overflow, cost, cache
and failures behave as with a real model. A handler yields four kinds of chunks, or raises.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Protocol

from palimpsest.transcript.values import ToolSpec, Usage


@dataclass(frozen=True, slots=True)
class CustomText:
    """More text of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class CustomReasoning:
    """More thinking."""

    text: str


@dataclass(frozen=True, slots=True)
class CustomCall:
    """One whole tool call."""

    name: str
    arguments: dict[str, Any] | str
    """The input object, or the JSON text as a model would write it, valid or not."""
    id: str | None = None
    """None lets the adapter number it: ``call_1``, ``call_2`` ... unique within the request's messages."""


@dataclass(frozen=True, slots=True)
class CustomFinish:
    """The real end of the answer; always the last chunk."""

    reason: str = "stop"
    """``stop``, ``tool_calls``, ``length`` or ``content_filter``."""
    usage: Usage | None = None
    """None lets the adapter estimate, as it does for a server that reports nothing."""


CustomChunk = CustomText | CustomReasoning | CustomCall | CustomFinish


class CustomFailure(Exception):
    """Raised by a handler to fail as a provider would; the adapter classifies it like any other failure.

    A context overflow is status 400 with a message such as "maximum context length is 8192 tokens".
    The message of a ``final`` failure says what to do; the request is not retried, whatever it contains.
    """

    def __init__(
        self,
        status: int,
        message: str,
        headers: dict[str, str] | None = None,
        *,
        final: bool = False,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers or {}
        self.final = final


class StreamingHandler(Protocol):
    """A model that runs in this process.

    Contract: ``stream`` is an async generator that yields chunks and ends with exactly one
    ``CustomFinish``; ending without it is treated as a broken connection. It raises
    ``CustomFailure`` to fail as a provider would. It may be closed at any chunk.
    """

    def stream(
        self,
        messages: tuple[dict[str, Any], ...],
        tools: tuple[ToolSpec, ...],
        parameters: dict[str, Any],
        session_id: str | None,
        purpose: str,
    ) -> AsyncIterator[CustomChunk]:
        """Answer the request.

        Args:
            messages: Provider messages in OpenAI's shape, system messages first.
            tools: The tools offered.
            parameters: ``temperature``, ``max_tokens``, ``reasoning_effort``, ``tool_choice``,
                and ``model``, the name after the provider.
            session_id: Distinguishes sessions.
            purpose: ``step``, ``title``, ``turn-summary``, ``compaction`` or ``subagent``.
        """
