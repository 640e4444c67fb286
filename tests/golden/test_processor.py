"""Stream events become the parts that the recorded OpenCode made of them.

OpenCode runs its tools inside the stream, so their results come as events; here they come from our
tools as the same events. Cases that the processor alone decides are played into it; those that the
loop decides too (failures, retries, overflows) are played through the live loop. Intended
differences, each a rule over the case:

- a failed attempt's parts stay, marked, beside a part that says what failed, while upstream leaves
  an empty text part behind;
- a call repeated in a circle is guarded before it runs, in the loop, not by the processor, and
  one answer about a circle holds for as long as it goes on;
- a request ends with its first finish: what came after it belongs to no request of ours;
- a summary is written by a request of its own, whose overflow is its own error
  (``test_live_compaction``); one whose model calls a tool is played as a live compaction, and the call that
  ends it stays to be seen, not run;
- where nothing was said before, a refusal of length leaves nothing to summarise.
"""

from collections.abc import AsyncGenerator, Coroutine, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.golden.data import load, recorded_cases
from tests.golden.recorded_model import RecordedTool
from tests.golden.upstream import ERRORS
from tests.harness.session import SessionHarness, ask
from tests.harness.step import StepHarness

from palimpsest.context.visible_messages import marker
from palimpsest.loop.model_requests import request_failures
from palimpsest.model.errors.overflow_detection import is_overflow
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
    ToolCalled,
    ToolErred,
    ToolInputDelta,
    ToolInputEnded,
    ToolInputStarted,
    ToolReturned,
)
from palimpsest.processor.stream_processor import StreamProcessor
from palimpsest.tools.permission_rules.permissions import from_config
from palimpsest.tools.tool import Abort
from palimpsest.transcript.errors import (
    AbortedError,
    ApiError,
    ContextOverflowError,
    ErrorValue,
    ModelFailed,
    UnknownError,
)
from palimpsest.transcript.messages import AssistantMessage, Message
from palimpsest.transcript.parts import RetryPart, ToolPart
from palimpsest.transcript.session_record.events import (
    PermissionAsked,
    Record,
    SessionError,
    SessionStatus,
)
from palimpsest.transcript.values import Ask, ModelInfo, ModelRef, Reply, Usage

Case = dict[str, Any]


def is_replayable(case: Case) -> bool:
    """Return whether the processor alone decides the outcome of a case."""
    events = [event for attempt in case["stream"] for event in attempt]
    thrown = any("throw" in event or event["type"] == "error" for event in events)
    stops_early = case["result"] == "compact"
    if thrown or stops_early or is_stopped_in_a_circle(case):
        return False
    return not is_summary_with_a_call(case)


def is_summary_with_a_call(case: Case) -> bool:
    """Return whether the model that writes a summary calls a tool."""
    types = {event.get("type") for attempt in case["stream"] for event in attempt}
    return bool(case["summary"]) and bool(types & {"tool-input-start", "tool-call"})


def is_stopped_in_a_circle(case: Case) -> bool:
    """Return whether a person rejected a call that was repeated in a circle."""
    return bool(case["asks"]) and case["permission"] == "reject"


def usage(recorded: dict[str, Any]) -> Usage:
    cached = recorded.get("cachedInputTokens") or 0
    thought = recorded.get("reasoningTokens") or 0
    return Usage(
        input=max((recorded.get("inputTokens") or 0) - cached, 0),
        output=max((recorded.get("outputTokens") or 0) - thought, 0),
        reasoning=thought,
        cache_read=cached,
    )


def event_of(event: dict[str, Any]) -> StreamEvent | None:  # noqa: C901
    metadata = event.get("providerMetadata")
    match event["type"]:
        case "start-step":
            return StepStarted()
        case "text-start":
            return TextStarted(event["id"])
        case "text-delta":
            return TextDelta(event["id"], event["text"])
        case "text-end":
            return TextEnded(event["id"], metadata)
        case "reasoning-start":
            return ReasoningStarted(event["id"], metadata)
        case "reasoning-delta":
            return ReasoningDelta(event["id"], event["text"], metadata)
        case "reasoning-end":
            return ReasoningEnded(event["id"], metadata)
        case "tool-input-start":
            return ToolInputStarted(event["id"], event["toolName"])
        case "tool-input-delta":
            return ToolInputDelta(event["id"], event["delta"])
        case "tool-input-end":
            return ToolInputEnded(event["id"])
        case "tool-call":
            return ToolCalled(event["toolCallId"], event["toolName"], event["input"])
        case "tool-result":
            return ToolReturned(event["toolCallId"], event["output"])
        case "tool-error":
            return _erred(event)
        case "finish-step":
            return StepFinished(event["finishReason"], usage(event["usage"]))
        case _:
            return None


def _erred(event: dict[str, Any]) -> ToolErred:
    error = event["error"]
    rejected = isinstance(error, dict) and "Rejected" in str(error.get("_tag"))
    words = "rejected" if rejected else str(error.get("message") if error else error)
    return ToolErred(event["toolCallId"], words, rejected=rejected)


def shape(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the parts reduced to what both sides have in common: types, texts, calls, states."""
    kept = []
    for part in parts:
        state = part.get("state") or {}
        fields = {
            "type": part["type"],
            "text": part.get("text"),
            "tool": part.get("tool"),
            "reason": part.get("reason"),
            "metadata": part.get("metadata") if part["type"] == "reasoning" else None,
            "status": state.get("status"),
            "input": state.get("input"),
            "output": state.get("output"),
            "interrupted": (state.get("metadata") or {}).get("interrupted"),
        }
        kept.append({name: value for name, value in fields.items() if value is not None})
    return [part for part in kept if part["type"] not in {"patch", "snapshot"}]


def test_recorded_streams_become_the_recorded_parts() -> None:
    cases = [case for case in load("opencode", "processor")["cases"] if is_replayable(case)]
    for case in cases:
        harness = StepHarness()
        processor = StreamProcessor(harness.log, harness.message, harness.truncate)
        finished: StepFinished | None = None
        for recorded in case["stream"][0]:
            event = event_of(recorded)
            if isinstance(event, StepFinished):
                finished = event
                processor.finish_step(event)
            if event is not None:
                processor.handle(event)
        processor.close()

        ours = harness.answer.model_dump(mode="json", exclude_none=True)
        harness.journal.close()

        expected = case["final"]
        assert shape(ours["parts"]) == shape(expected["parts"]), case["name"]
        if finished is not None:
            assert ours["info"]["finish"] == expected["info"]["finish"], case["name"]
        assert processor.is_rejected == _is_rejected(case), case["name"]
    assert cases


def _is_rejected(case: Case) -> bool:
    """Return whether a person rejected a call."""
    events = [event for attempt in case["stream"] for event in attempt]
    return any(_erred(event).rejected for event in events if event["type"] == "tool-error")


# Decided by the loop too


class Streams:
    """A model that plays one recorded attempt for each request."""

    def __init__(self, case: Case) -> None:
        self.states = {
            event["toolCallId"]: {"status": "completed", "title": "", **event["output"]}
            for attempt in case["stream"]
            for event in attempt
            if event.get("type") == "tool-result" and isinstance(event["output"], dict)
        }
        self._case = case
        self._attempts = list(case["stream"])

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        if request.purpose != "step" or not self._attempts:
            yield TextStarted("t")
            yield TextDelta("t", "All is well. " * 30)
            yield StepFinished("stop", Usage(input=10, output=5))
            return
        for recorded in self._attempts.pop(0):
            if "throw" in recorded or recorded["type"] == "error":
                raise ModelFailed(failure_of(recorded, self._case))
            if recorded["type"] in {"tool-result", "tool-error", "start-step"}:
                continue
            event = event_of(recorded)
            if event is not None:
                yield event
            if isinstance(event, StepFinished):
                return


def failure_of(event: dict[str, Any], case: Case) -> ErrorValue:
    thrown = event.get("throw")
    if thrown is None:
        told = case["final"]["info"]["error"]["data"]["message"]
        return UnknownError(message=told)
    message, status = thrown["message"], thrown.get("statusCode")
    if thrown["name"] == "AbortError":
        return AbortedError(message=message)
    if is_overflow(message, None, status, "opencode"):
        return ContextOverflowError(message=message)
    if thrown["name"] != "AI_APICallError":
        return UnknownError(message=message)
    return ApiError(
        message=message,
        status=status,
        retryable=thrown.get("isRetryable", False),
        headers=thrown.get("headers"),
    )


def is_decided_by_the_loop(case: Case) -> bool:
    return not is_replayable(case) and not case["asks"] and not case["summary"]


def asks(case: Case) -> bool:
    return bool(case["asks"])


def last_attempt(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the parts of the last attempt, without the start and finish of steps."""
    starts = [at for at, part in enumerate(parts) if part["type"] == "step-start"]
    kept = parts[starts[-1] :] if starts else parts
    return [part for part in kept if part["type"] not in {"step-start", "retry"}]


def our_parts(one: Message) -> list[dict[str, Any]]:
    parts = one.model_dump(mode="json", exclude_none=True)["parts"]
    standing = [part for part in parts if not (part.get("metadata") or {}).get("failed_attempt")]
    return last_attempt(shape(standing))


@pytest.mark.parametrize("case", recorded_cases("opencode", "processor", is_decided_by_the_loop))
async def test_failures_retries_and_overflows_end_as_recorded(
    tmp_path: Path, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def at_once(_abort: Abort, wait: Coroutine[Any, Any, None]) -> None:
        """Skip waits before retries; ``test_retry`` compares their length."""
        wait.close()

    monkeypatch.setattr(request_failures, "run_until_abort", at_once)
    model = Streams(case)
    info = ModelInfo(
        ref=ModelRef(provider="anthropic", name="claude-test"),
        window=case["limit"]["context"],
        output_limit=case["limit"]["output"],
    )
    rules = from_config({"*": "allow"}, home="/")
    harness = SessionHarness(tmp_path, model, info=info, policy="opencode-1.18", rules=rules)
    harness.services.agents.registry.register(RecordedTool("bash", model.states))
    session = await harness.session()

    answer = await ask(session, "Go.")

    messages = session.snapshot().messages
    first = next(message for message in messages if isinstance(message.info, AssistantMessage))
    assert our_parts(first) == last_attempt(shape(case["final"]["parts"]))
    error = case["final"]["info"].get("error")
    refused = _refused(case)
    assert _kind(first) == ("context-overflow" if refused else error and ERRORS[error["name"]])
    assert any(marker(message) for message in messages) == (
        case["result"] == "compact" and not refused
    )
    records = [record.event for record in await harness.records(session)]
    statuses = [event.status.type for event in records if isinstance(event, SessionStatus)]
    failed = [event for event in records if isinstance(event, SessionError)]
    assert [one.error.type for one in failed if one.message_id == first.id] == [
        ERRORS[event["payload"]["error"]["name"]]
        for event in case["events"]
        if event["type"] == "session.error"
    ]
    assert ("retry" in statuses) == (len(case["stream"]) > 1)
    retries = [part for part in first.parts if isinstance(part, RetryPart)]
    assert [part.attempt for part in retries] == list(range(1, len(case["stream"])))
    assert answer.steps >= 1
    await session.close()


def _kind(one: Message) -> str | None:
    info = one.info
    return info.error.type if isinstance(info, AssistantMessage) and info.error else None


def _refused(case: Case) -> bool:
    """Return whether the provider refuses the first prompt as too long, so nothing can be summarised."""
    return any(
        "throw" in event
        and is_overflow(
            event["throw"]["message"], None, event["throw"].get("statusCode"), "opencode"
        )
        for attempt in case["stream"]
        for event in attempt
    )


@pytest.mark.parametrize("case", recorded_cases("opencode", "processor", asks))
async def test_a_call_that_is_repeated_is_asked_about_as_recorded(
    tmp_path: Path, case: Case
) -> None:
    model = Streams(case)
    rules = from_config({"*": "allow", "doom_loop": "ask"}, home="/")
    harness = SessionHarness(tmp_path, model, policy="opencode-1.18", rules=rules)
    harness.services.agents.registry.register(RecordedTool("bash", model.states))
    session = await harness.session()
    asked: list[Ask] = []

    def reply(records: Sequence[Record]) -> None:
        for record in records:
            if isinstance(record.event, PermissionAsked):
                asked.append(record.event.ask)
                rejects = case["permission"] == "reject"
                session.reply(record.event.ask.id, Reply(answer="reject" if rejects else "once"))

    session.subscribe(reply)
    answer = await ask(session, "Go.")

    first = next(
        message
        for message in session.snapshot().messages
        if isinstance(message.info, AssistantMessage)
    )
    ours = [part.state.status for part in first.parts if isinstance(part, ToolPart)]
    theirs = [part["state"]["status"] for part in case["final"]["parts"] if part["type"] == "tool"]
    [about] = asked
    recorded = case["asks"][0]
    assert (about.permission, [*about.patterns], [*about.always]) == (
        recorded["permission"],
        recorded["patterns"],
        recorded["always"],
    )
    assert {"tool": about.tool, "input": about.input} == recorded["metadata"]
    assert ours == theirs
    assert (answer.stopped_by == "rejected") == (case["result"] == "stop")
    await session.close()
