"""A recorded session is replayed step by step."""

from tests.model.adapter_requests import info, request, run
from tests.model.replay_model import ReplayModel, recorded_steps

from palimpsest.model.interface import ModelRequest, StepStarted, StreamEvent, TextDelta
from palimpsest.model.script import calls, says
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.errors import AbortedError, UnknownError
from palimpsest.transcript.messages import AssistantMessage, Message, MessagePath, MessageTime
from palimpsest.transcript.parts import (
    Part,
    ReasoningPart,
    Span,
    StepFinishPart,
    StepStartPart,
    TextPart,
    ToolCompleted,
    ToolPart,
)
from palimpsest.transcript.values import ModelRef, Usage

IDS = {"session_id": "ses_1", "message_id": "msg_1"}
USAGE = Usage(input=5, output=3)


def assistant(*parts: Part, **fields: object) -> Message:
    values = {
        "id": "msg_1",
        "session_id": "ses_1",
        "parent_id": "msg_0",
        "time": MessageTime(created=0),
        "agent": "build",
        "model": ModelRef(provider="openai", name="gpt-4o"),
        "path": MessagePath(cwd="/", root="/"),
        **fields,
    }
    return Message(info=AssistantMessage.model_validate(values), parts=parts)


ANSWER = assistant(
    StepStartPart(id="prt_1", **IDS),
    ReasoningPart(id="prt_2", text="Hm.", metadata={"thinking_blocks": []}, **IDS),
    TextPart(id="prt_3", text="Let me look.", **IDS),
    ToolPart(
        id="prt_4",
        call_id="call_1",
        tool="python",
        state=ToolCompleted(input={"code": "1"}, output="1", time=Span(start=0, end=1)),
        **IDS,
    ),
    StepFinishPart(id="prt_5", reason="tool-calls", tokens=USAGE, **IDS),
)


async def played(model: ReplayModel, asked: ModelRequest) -> list[StreamEvent]:
    events, error = await run(asked, model)
    assert error is None
    return events


def said(events: list[StreamEvent]) -> list[str]:
    return [event.text for event in events if isinstance(event, TextDelta)]


async def test_repeats_what_a_scripted_model_said() -> None:
    asked = request(info("openai"))
    story = ScriptedModel(says("Look.").calls("python", code="1"), calls("list"), says("Done."))
    steps = [(await run(asked, story))[0] for _ in range(3)]
    model = ReplayModel(steps)

    assert [await played(model, asked) for _ in range(3)] == steps
    assert model.requests == [asked] * 3


async def test_a_recorded_message_becomes_the_events_that_made_it() -> None:
    (step,) = recorded_steps([ANSWER])
    events = await played(ReplayModel([step]), request(info("openai")))

    assert [type(event).__name__ for event in events] == [
        "StepStarted",
        *["ReasoningStarted", "ReasoningDelta", "ReasoningEnded"],
        *["TextStarted", "TextDelta", "TextEnded"],
        *["ToolInputStarted", "ToolInputDelta", "ToolInputEnded"],
        *["ToolCalled", "StepFinished"],
    ]
    assert said(events) == ["Let me look."]


def test_leaves_out_failed_attempts_failures_and_summaries() -> None:
    retried = assistant(
        StepStartPart(id="prt_1", **IDS),
        TextPart(id="prt_2", text="Half", **IDS),
        StepStartPart(id="prt_3", **IDS),
        TextPart(id="prt_4", text="Whole", **IDS),
        StepFinishPart(id="prt_5", reason="stop", tokens=USAGE, **IDS),
    )
    failed = assistant(*ANSWER.parts, error=AbortedError())
    summary = assistant(*ANSWER.parts, summary=True)

    (step,) = recorded_steps([retried, failed, summary])

    assert (said(list(step)), step[0]) == (["Whole"], StepStarted())


async def test_the_end_of_the_recording_is_said() -> None:
    _, error = await run(request(info("openai")), ReplayModel([]))

    assert error == UnknownError(message="The recording ends after 0 steps; this is request 1.")
