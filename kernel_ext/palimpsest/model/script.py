"""Script a model's answers, request by request, for tests and lessons.

One ``ModelAnswer`` is one request's answer: text, thinking, tool calls and optional faults at an
exact place. ``ScriptedModel`` plays it without HTTP, ``FaultServer`` over HTTP, so that a test
of the loop and a test of the wire format read alike:

    says("Let me look.").calls("python", code="df.head()"), says("Three columns.")
"""

import json
import re
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from palimpsest.transcript.values import Usage


@dataclass(frozen=True, slots=True)
class Say:
    """Text of the answer."""

    text: str
    sources: tuple[dict[str, Any], ...] = ()
    """Its citations in the provider's format: Anthropic's citations, elsewhere ``url`` and ``title``."""


@dataclass(frozen=True, slots=True)
class Think:
    """Thinking before text or calls."""

    text: str
    signature: str | None = "sig-1"
    redacted: str | None = None
    """When set, the thinking is withheld and this is its encrypted form."""


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """A tool call; ``raw`` is the JSON text as the model writes it, valid or not."""

    tool: str
    raw: str
    id: str | None = None
    """None numbers the calls: ``call_1``, ``call_2`` ..."""


@dataclass(frozen=True, slots=True)
class ProviderRun:
    """A tool that the provider runs itself, in the middle of the answer."""

    tool: str
    input: dict[str, Any]
    result: Any
    """The result's content in the provider's format; None where the result comes with a later answer."""
    id: str
    kind: str = "server_tool_use"
    """Anthropic's type of the call; an empty one sends the result of a call of an earlier answer."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing is sent for some seconds; None means forever."""

    seconds: float | None


@dataclass(frozen=True, slots=True)
class Disconnect:
    """The connection breaks here."""


@dataclass(frozen=True, slots=True)
class EndEarly:
    """The body ends here without a connection error, but also without a finish."""


@dataclass(frozen=True, slots=True)
class Malformed:
    """A line that is not JSON."""

    line: str = 'data: {"choices": [{"delta": {"cont'


@dataclass(frozen=True, slots=True)
class StreamError:
    """An error object in the middle of the stream."""

    message: str
    code: str = "server_error"


Action = (
    Say
    | Think
    | ScriptedCall
    | ProviderRun
    | Pause
    | Disconnect
    | EndEarly
    | Malformed
    | StreamError
)


@dataclass(frozen=True, slots=True)
class Failure:
    """The request is refused before anything is streamed."""

    status: int
    message: str
    headers: dict[str, str] = field(default_factory=dict)
    code: str | None = None
    type: str | None = None


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """A scripted answer to one request; each method that adds something returns a new answer."""

    actions: tuple[Action, ...] = ()
    failure: Failure | None = None
    finish: str | None = None
    """The provider's finish reason; None takes the reason that fits the content."""
    usage: Usage | Literal["natural", "none"] = "natural"
    drip_seconds: float = 0.0
    """Pause between two pieces."""
    chunk_chars: int | None = None
    """Characters in a piece; None sends single words."""

    def _with_action(self, action: Action) -> "ModelAnswer":
        return replace(self, actions=(*self.actions, action))

    def says(self, text: str) -> "ModelAnswer":
        """Add text."""
        return self._with_action(Say(text))

    def thinks(
        self, text: str, *, signature: str | None = "sig-1", redacted: str | None = None
    ) -> "ModelAnswer":
        """Add thinking."""
        return self._with_action(Think(text, signature, redacted))

    def calls(self, tool: str, *, call_id: str | None = None, **arguments: Any) -> "ModelAnswer":
        """Add a tool call."""
        return self.writes(tool, json.dumps(arguments, ensure_ascii=False), call_id=call_id)

    def writes(self, tool: str, raw: str, *, call_id: str | None = None) -> "ModelAnswer":
        """Add a tool call with exactly this input, valid JSON or not."""
        return self._with_action(ScriptedCall(tool, raw, call_id))

    def cites(self, text: str, *sources: dict[str, Any]) -> "ModelAnswer":
        """Add text with its citations, in the provider's format."""
        return self._with_action(Say(text, sources))

    def runs(
        self,
        tool: str,
        result: Any = None,
        *,
        call_id: str | None = None,
        kind: str = "server_tool_use",
        **arguments: Any,
    ) -> "ModelAnswer":
        """Add a tool that the provider runs itself, with its result in the provider's format."""
        number = sum(isinstance(action, ProviderRun) for action in self.actions) + 1
        call_id = call_id or f"srvtoolu_{number}"
        return self._with_action(ProviderRun(tool, arguments, result, call_id, kind))

    def pauses(self, seconds: float) -> "ModelAnswer":
        """Send nothing for some seconds."""
        return self._with_action(Pause(seconds))

    def stalls(self) -> "ModelAnswer":
        """Send nothing more, and keep the connection open."""
        return self._with_action(Pause(None))

    def disconnects(self) -> "ModelAnswer":
        """Break the connection here."""
        return self._with_action(Disconnect())

    def ends_early(self) -> "ModelAnswer":
        """End the body here, without a finish."""
        return self._with_action(EndEarly())

    def malformed(self) -> "ModelAnswer":
        """Send a line that is not JSON."""
        return self._with_action(Malformed())

    def errs(self, message: str, code: str = "server_error") -> "ModelAnswer":
        """Send an error object in the stream."""
        return self._with_action(StreamError(message, code))

    def finishes(self, reason: str) -> "ModelAnswer":
        """Finish with this reason, in the provider's format: ``length``, or Anthropic's ``max_tokens``."""
        return replace(self, finish=reason)

    def drips(self, seconds: float) -> "ModelAnswer":
        """Wait some seconds between two pieces."""
        return replace(self, drip_seconds=seconds)

    def in_pieces(self, chars: int) -> "ModelAnswer":
        """Send pieces with this number of characters."""
        return replace(self, chunk_chars=chars)

    def reports(self, **tokens: int) -> "ModelAnswer":
        """Report this usage, in tokens: ``input``, ``output``, ``reasoning``, ``cache_read``, ``cache_write``."""
        return replace(self, usage=Usage.model_validate(tokens))

    def reports_nothing(self) -> "ModelAnswer":
        """Report no usage."""
        return replace(self, usage="none")

    def pieces(self, text: str) -> list[str]:
        """Split text into the pieces in which this answer sends it."""
        chars = self.chunk_chars
        if chars is None:
            return re.findall(r"\s*\S+\s*|\s+", text)
        return [text[index : index + chars] for index in range(0, len(text), chars)]

    def natural_usage(self, prompt_chars: int) -> Usage:
        """Return the configured usage, else an estimate: four characters a token, in input and output."""
        if isinstance(self.usage, Usage):
            return self.usage
        chars = sum(len(action.text) for action in self.actions if isinstance(action, Say))
        chars += sum(len(action.raw) for action in self.actions if isinstance(action, ScriptedCall))
        thinking = sum(len(action.text) for action in self.actions if isinstance(action, Think))
        input_tokens, output_tokens = max(1, prompt_chars // 4), max(1, chars // 4)
        return Usage(input=input_tokens, output=output_tokens, reasoning=thinking // 4)


_EMPTY = ModelAnswer()
says, thinks, stalls = _EMPTY.says, _EMPTY.thinks, _EMPTY.stalls
calls, writes = _EMPTY.calls, _EMPTY.writes
"""Each begins an answer, as the method of that name continues one."""


def fails(
    status: int,
    message: str | None = None,
    *,
    retry_after: float | str | None = None,
    retry_after_ms: int | None = None,
    code: str | None = None,
    type: str | None = None,  # noqa: A002 - the provider's own word
) -> ModelAnswer:
    """Refuse the request before anything is streamed.

    Args:
        status: The HTTP status, such as 429.
        message: The provider's error message; None takes the usual message for the status.
        retry_after: The header: seconds, or an HTTP date.
        retry_after_ms: The header of some providers: milliseconds.
        code: The provider's own code, such as ``insufficient_quota``.
        type: The provider's own kind of error, such as ``invalid_request_error``.
    """
    headers: dict[str, str] = {}
    if retry_after is not None:
        headers["retry-after"] = str(retry_after)
    if retry_after_ms is not None:
        headers["retry-after-ms"] = str(retry_after_ms)
    text = message if message is not None else STATUS_WORDS.get(status, f"status {status}")
    return ModelAnswer(failure=Failure(status, text, headers, code, type))


def overflows(wording: Literal["openai", "anthropic"] = "openai") -> ModelAnswer:
    """Refuse the request because it does not fit the window, with either provider's error message."""
    if wording == "openai":
        return fails(
            400,
            "This model's maximum context length is 8192 tokens. However, your messages "
            "resulted in 9000 tokens. Please reduce the length of the messages.",
            code="context_length_exceeded",
            type="invalid_request_error",
        )
    return fails(
        400, "prompt is too long: 210000 tokens > 200000 maximum", type="invalid_request_error"
    )


def unauthorized() -> ModelAnswer:
    """Refuse the key."""
    return fails(401, "Incorrect API key provided.", code="invalid_api_key")


def out_of_quota() -> ModelAnswer:
    """Refuse because the account is empty: status 429, but waiting does not help."""
    return fails(
        429,
        "You exceeded your current quota, please check your plan and billing details.",
        code="insufficient_quota",
        type="insufficient_quota",
    )


STATUS_WORDS = {
    400: "Bad request.",
    401: "Invalid key.",
    403: "Forbidden.",
    404: "No such model.",
    408: "Request timeout.",
    413: "Request entity too large.",
    429: "Rate limit reached.",
    500: "Internal server error.",
    502: "Bad gateway.",
    503: "Service unavailable.",
    529: "Overloaded.",
}
