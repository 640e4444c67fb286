"""A fake model and fake tools that play a recording.

The live loop sends requests to this model and runs these tools; everything else is our own code.
"""

from collections.abc import AsyncGenerator, Callable
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter
from tests.golden.upstream import ERRORS, NAMES
from tests.harness.session import until

from palimpsest.model.interface import (
    ModelRequest,
    StepFinished,
    StepStarted,
    StreamEvent,
    TextDelta,
    TextEnded,
    TextStarted,
    ToolCalled,
    ToolReturned,
)
from palimpsest.tools.tool import ToolContext, ToolOutcome
from palimpsest.transcript.errors import (
    Aborted,
    ContextOverflowError,
    ErrorValue,
    ModelFailed,
    UserError,
)
from palimpsest.transcript.values import Usage

VALUES: TypeAdapter[ErrorValue] = TypeAdapter(ErrorValue)
TOO_LONG = "prompt is too long: 250000 tokens > 200000 maximum"


def error_of(recorded: dict[str, Any]) -> ErrorValue:
    """Return a recorded error as our error value."""
    data = {NAMES.get(name, name): value for name, value in recorded["data"].items()}
    kind = ERRORS[recorded["name"]]
    data.setdefault("message", "")
    return VALUES.validate_python({"type": kind, **data})


class Anything(BaseModel):
    """Tool arguments of any shape, which are ignored."""

    model_config = ConfigDict(extra="allow")


class RecordedTool:
    """A tool that returns the recorded result of a call."""

    description = "Does what was recorded."
    arguments = Anything
    concurrent = True

    def __init__(self, name: str, states: dict[str, dict[str, Any]]) -> None:
        self.name = name
        self.permission = name
        self._states = states

    async def run(self, _arguments: Any, context: ToolContext) -> ToolOutcome:
        state = self._states[context.call_id]
        if state["status"] == "completed":
            return ToolOutcome(
                title=state.get("title", ""),
                output=state["output"],
                metadata=state.get("metadata") or {},
            )
        if (state.get("metadata") or {}).get("interrupted"):
            raise Aborted("recorded")
        raise UserError(state["error"])


class RecordedModel:
    """Answers the n-th request with the n-th recorded step; ``requests`` holds the requests it received."""

    def __init__(self, script: list[dict[str, Any]]) -> None:
        self.requests: list[ModelRequest] = []
        self.states: dict[str, dict[str, Any]] = {}
        """The recorded result of each call."""
        self.holds: set[int] = set()
        """Numbers of requests whose answers wait until ``heard`` is true."""
        self.heard: Callable[[], bool] = lambda: True
        self.tools = {
            part["tool"]
            for step in script
            for part in step.get("parts") or ()
            if part["type"] == "tool"
        }
        self.subagent_prompts: set[str] = set()
        """Prompts of subagents, which answer in a session of their own."""
        self._script = script

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Play the step of this request; titles and subagents' answers are not in the recordings."""
        if request.purpose == "title" or self._is_subagent(request):
            yield StepStarted()
            for event in _words("t", "A title, or what another agent found"):
                yield event
            yield StepFinished("stop", Usage(input=1, output=1))
            return
        self.requests.append(request)
        if len(self.requests) in self.holds:
            await until(self.heard)
        step = self._script[min(len(self.requests), len(self._script)) - 1]
        if step.get("error"):
            raise ModelFailed(error_of(step["error"]))
        if step.get("finish") is None:
            raise ModelFailed(ContextOverflowError(message=TOO_LONG))
        yield StepStarted()
        for number, part in enumerate(step.get("parts") or ()):
            for event in self._part(str(number), part):
                yield event
        yield StepFinished(step["finish"], _usage(step.get("tokens") or {}))

    def _is_subagent(self, request: ModelRequest) -> bool:
        first = next(message for message in request.messages if message["role"] != "system")
        content = first.get("content")
        text = content if isinstance(content, str) else (content or [{}])[0].get("text", "")
        return text in self.subagent_prompts

    def _part(self, number: str, part: dict[str, Any]) -> list[StreamEvent]:
        if part["type"] == "text":
            return _words(number, part["text"])
        if part["type"] == "tool":
            call_id = f"{part['callID']}_{len(self.requests)}"
            self.states[call_id] = part["state"]
            there = bool((part.get("metadata") or {}).get("providerExecuted"))
            call = ToolCalled(
                call_id, part["tool"], part["state"]["input"], provider_executed=there
            )
            returned = ToolReturned(call_id, part["state"].get("output", ""))
            return [call, returned] if there else [call]
        raise AssertionError(f"a recorded step writes a part {part['type']!r}")


def _words(number: str, text: str) -> list[StreamEvent]:
    return [TextStarted(number), TextDelta(number, text), TextEnded(number)]


def _usage(tokens: dict[str, Any]) -> Usage:
    cache = tokens.get("cache") or {}
    return Usage(
        input=tokens.get("input", 0),
        output=tokens.get("output", 0),
        reasoning=tokens.get("reasoning", 0),
        cache_read=cache.get("read", 0),
        cache_write=cache.get("write", 0),
    )
