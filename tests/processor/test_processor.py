"""The processor turns stream events into parts, and closes every open part."""

from collections.abc import Iterator

import pytest
from tests.harness.step import StepHarness

from palimpsest.model.interface import (
    ReasoningDelta,
    ReasoningEnded,
    ReasoningStarted,
    StepFinished,
    StepStarted,
    TextDelta,
    TextEnded,
    TextStarted,
    ToolCalled,
    ToolErred,
    ToolInputDelta,
    ToolInputStarted,
    ToolReturned,
)
from palimpsest.processor.stream_processor import StreamProcessor
from palimpsest.tools.tool import ToolOutcome
from palimpsest.transcript.call_outcomes import ABORTED
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.errors import AbortedError, ApiError
from palimpsest.transcript.messages import AssistantMessage
from palimpsest.transcript.parts import (
    Attachment,
    ReasoningPart,
    StepFinishPart,
    TextPart,
    ToolCompleted,
    ToolFailed,
    ToolPart,
    ToolRunning,
)
from palimpsest.transcript.provider_calls import is_provider_call
from palimpsest.transcript.values import Usage

FINISHED = StepFinished("stop", Usage(input=100, output=20), cost=0.001)


@pytest.fixture
def harness() -> Iterator[StepHarness]:
    made = StepHarness()
    yield made
    made.journal.close()


def run(harness: StepHarness, *events: object) -> StreamProcessor:
    processor = StreamProcessor(
        harness.log, harness.message, harness.truncate, request_id="req_1", window=1_000
    )
    for event in events:
        processor.handle(event)  # type: ignore[arg-type]
    return processor


def kinds(harness: StepHarness) -> list[str]:
    return [part.type for part in harness.answer.parts]


def test_words_become_one_text_part_byte_for_byte(harness: StepHarness) -> None:
    run(
        harness,
        StepStarted(),
        TextStarted("t"),
        TextDelta("t", "Hel"),
        TextDelta("t", "lo  "),
        TextEnded("t"),
        FINISHED,
    ).close()

    assert kinds(harness) == ["step-start", "text", "step-finish"]
    text = harness.answer.parts[1]
    assert isinstance(text, TextPart)
    assert text.text == "Hello  "
    finish = harness.answer.parts[2]
    assert isinstance(finish, StepFinishPart)
    assert (finish.reason, finish.context_tokens, finish.window) == ("stop", 120, 1_000)


def test_deltas_are_seen_before_the_part_ends(harness: StepHarness) -> None:
    run(harness, TextStarted("t"), TextDelta("t", "half"))

    text = harness.answer.parts[0]
    assert isinstance(text, TextPart)
    assert text.text == "half"


def test_thinking_keeps_its_signature(harness: StepHarness) -> None:
    run(
        harness,
        ReasoningStarted("r"),
        ReasoningDelta("r", "hm "),
        ReasoningEnded("r", {"signature": "sig"}),
    )

    thought = harness.answer.parts[0]
    assert isinstance(thought, ReasoningPart)
    assert (thought.text, thought.metadata) == ("hm ", {"signature": "sig"})


def test_a_tool_call_goes_from_pending_to_completed(harness: StepHarness) -> None:
    image = Attachment(mime="image/png", url="data:image/png;base64,AA==")
    processor = run(
        harness,
        ToolInputStarted("c", "python"),
        ToolInputDelta("c", '{"code": "1'),
        ToolInputDelta("c", '+1"}'),
        ToolCalled("c", "python", {"code": "1+1"}),
    )
    assert [call.id for call in processor.take_tool_calls()] == ["c"]
    assert processor.take_tool_calls() == []
    processor.tool_began("c")
    processor.handle(ToolReturned("c", ToolOutcome("sum", "2", {"k": 1}, (image,))))

    part = harness.answer.parts[0]
    assert isinstance(part, ToolPart)
    assert isinstance(part.state, ToolCompleted)
    assert (part.state.input, part.state.output, part.state.title) == ({"code": "1+1"}, "2", "sum")
    assert part.state.attachments == (image,)


def test_partial_output_that_grows_is_journaled_as_words(harness: StepHarness) -> None:
    processor = run(harness, ToolCalled("c", "bash", {"command": "x"}))
    processor.tool_progress("c", None, {"output": "one\n"})
    processor.tool_progress("c", None, {"output": "one\ntwo\n"})

    part = harness.answer.parts[0]
    assert isinstance(part, ToolPart)
    assert isinstance(part.state, ToolRunning)
    assert part.state.metadata["output"] == "one\ntwo\n"
    harness.journal.flush_sync()
    deltas = [r for r in harness.store.read("ses_test") if r.event.type == "message.part.delta"]
    assert [getattr(r.event, "delta", "") for r in deltas] == ["two\n"]


def test_a_call_the_provider_ran_is_not_handed_out(harness: StepHarness) -> None:
    processor = run(harness, ToolCalled("c", "search", {}, provider_executed=True))

    assert processor.take_tool_calls() == []
    processor.handle(ToolReturned("c", {"a": 1}))
    part = harness.answer.parts[0]
    assert isinstance(part, ToolPart)
    assert isinstance(part.state, ToolCompleted)
    assert part.state.output == '{"a":1}'


def test_a_call_of_the_provider_is_its_own_as_soon_as_it_begins(harness: StepHarness) -> None:
    run(harness, ToolInputStarted("c", "search", provider_executed=True))

    part = harness.answer.parts[0]
    assert isinstance(part, ToolPart)
    # Where the answer is cut off now, no result of ours is sent for it.
    assert is_provider_call(part)


def test_a_rejection_is_remembered(harness: StepHarness) -> None:
    processor = run(harness, ToolCalled("c", "bash", {}), ToolErred("c", "no", rejected=True))

    assert processor.is_rejected
    part = harness.answer.parts[0]
    assert isinstance(part, ToolPart)
    assert isinstance(part.state, ToolFailed)


def test_closing_interrupts_what_is_open_and_keeps_what_was_said(harness: StepHarness) -> None:
    processor = run(
        harness,
        TextStarted("t"),
        TextDelta("t", "par"),
        ToolInputStarted("a", "bash"),
        ToolInputDelta("a", '{"comm'),
        ToolCalled("b", "bash", {"command": "x"}),
    )
    processor.tool_progress("b", None, {"output": "so far"})
    processor.close(AbortedError())

    text, pending, running = harness.answer.parts
    assert isinstance(text, TextPart)
    assert text.text == "par"
    assert text.time is not None
    assert text.time.end is not None
    assert isinstance(pending, ToolPart)
    assert isinstance(pending.state, ToolFailed)
    assert pending.state.metadata == {"interrupted": True, "raw": '{"comm'}
    assert isinstance(running, ToolPart)
    assert isinstance(running.state, ToolFailed)
    assert running.state.error == ABORTED
    assert running.state.metadata == {"interrupted": True, "output": "so far"}
    info = harness.answer.info
    assert isinstance(info, AssistantMessage)
    assert info.error == AbortedError()
    assert info.time.completed is not None


def test_a_failed_attempt_stays_marked(harness: StepHarness) -> None:
    processor = run(harness, StepStarted(), TextStarted("t"), TextDelta("t", "par"))
    processor.discard_attempt(1)
    for event in (TextStarted("t"), TextDelta("t", "full"), TextEnded("t"), FINISHED):
        processor.handle(event)
    processor.close()

    texts = [part for part in harness.answer.parts if isinstance(part, TextPart)]
    assert [(part.text, part.metadata) for part in texts] == [
        ("par", {"failed_attempt": 1}),
        ("full", None),
    ]


def test_an_unknown_finish_is_called_unknown(harness: StepHarness) -> None:
    processor = run(harness, StepStarted())
    processor.finish_step(StepFinished("rested", Usage()))
    processor.close(ApiError(message="x"))

    info = harness.answer.info
    assert isinstance(info, AssistantMessage)
    assert info.finish == "unknown"


def test_a_truncation_is_journaled_as_a_decision() -> None:
    decision = Decision(id="dec_1", action="truncate", rule="truncate", part_id="p")
    harness = StepHarness(lambda *_: decision)
    run(harness, ToolCalled("c", "bash", {}), ToolReturned("c", "long"))

    assert harness.journal.read_state(lambda state: state.decisions) == (decision,)
    harness.journal.close()
