"""A model that answers from a recorded session: each request gets the recorded answer of its step.

No provider is involved, so a session can be repeated with other tools or another policy. The transcript is
enough: the parts of an assistant message are turned back into stream events.
"""

import json
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence

from palimpsest.model.adapter.tool_call_joiner import tool_called
from palimpsest.model.interface import (
    ModelRequest,
    ReasoningDelta,
    ReasoningEnded,
    ReasoningStarted,
    StepFinished,
    StepStarted,
    StreamEvent,
    TextDelta,
    TextEnded,
    TextStarted,
    ToolInputDelta,
    ToolInputEnded,
    ToolInputStarted,
)
from palimpsest.transcript.errors import ModelFailed, UnknownError
from palimpsest.transcript.messages import AssistantMessage, Message
from palimpsest.transcript.parts import (
    Part,
    ReasoningPart,
    StepFinishPart,
    StepStartPart,
    TextPart,
    ToolPart,
)


class ReplayModel:
    """Plays recorded steps in order; ``requests`` holds the requests it received."""

    def __init__(self, steps: Iterable[Sequence[StreamEvent]]) -> None:
        self.requests: list[ModelRequest] = []
        self._steps = list(steps)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Play the next step."""
        at = len(self.requests)
        self.requests.append(request)
        if at >= len(self._steps):
            message = (
                f"The recording ends after {len(self._steps)} steps; this is request {at + 1}."
            )
            raise ModelFailed(UnknownError(message=message))
        for event in self._steps[at]:
            yield event


def recorded_steps(messages: Iterable[Message]) -> list[tuple[StreamEvent, ...]]:
    """Return the steps of a session; answers that failed or never finished are left out."""
    steps: list[tuple[StreamEvent, ...]] = []
    for message in messages:
        info = message.info
        if isinstance(info, AssistantMessage) and info.error is None and not info.summary:
            steps.extend(_steps_of(message.parts, info))
    return steps


def _steps_of(parts: Sequence[Part], info: AssistantMessage) -> Iterator[tuple[StreamEvent, ...]]:
    events: list[StreamEvent] = []
    calls: list[ToolPart] = []
    for part in parts:
        if isinstance(part, StepStartPart):
            # Parts of a failed attempt are not part of the answer.
            events, calls = [StepStarted()], []
        elif isinstance(part, StepFinishPart):
            yield (*events, *map(_called, calls), _finished(part, info))
            events, calls = [], []
        else:
            events.extend(_events_of(part))
            if isinstance(part, ToolPart):
                calls.append(part)


def _events_of(part: Part) -> Iterator[StreamEvent]:
    match part:
        case TextPart(synthetic=False):
            yield TextStarted(part.id)
            yield TextDelta(part.id, part.text)
            yield TextEnded(part.id, part.metadata)
        case ReasoningPart():
            yield ReasoningStarted(part.id)
            if part.text:
                yield ReasoningDelta(part.id, part.text)
            yield ReasoningEnded(part.id, part.metadata)
        case ToolPart():
            yield ToolInputStarted(part.call_id, part.tool)
            yield ToolInputDelta(part.call_id, _raw(part))
            yield ToolInputEnded(part.call_id)
        case _:
            return


def _called(part: ToolPart) -> StreamEvent:
    return tool_called(part.call_id, part.tool, _raw(part))


def _raw(part: ToolPart) -> str:
    return json.dumps(part.state.input, ensure_ascii=False)


def _finished(part: StepFinishPart, info: AssistantMessage) -> StepFinished:
    return StepFinished(part.reason or info.finish or "unknown", part.tokens, part.cost)
