"""Stream events become the parts that the recorded agent made of them.

The recorded agent runs its tools inside the stream, so their results come as events; here they
come from our tools as the same events. Differences on purpose, each a rule over the case:

- a failed attempt's parts stay, marked, while upstream leaves an empty text part behind;
- a call repeated in a circle is guarded before it runs, in the loop, not by the processor;
- an overflow is routed by the loop, from the same numbers.
"""

import json
from typing import Any

from tests.golden.data import load
from tests.processor.desk import Bench

from palimpsest.model.model import (
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
from palimpsest.processor.processor import Processor
from palimpsest.transcript.values import Usage

Case = dict[str, Any]


def is_replayable(case: Case) -> bool:
    """Say whether the processor alone decides the outcome of a case."""
    events = [event for attempt in case["stream"] for event in attempt]
    thrown = any("throw" in event or event["type"] == "error" for event in events)
    stops_early = case["result"] == "compact"
    return not thrown and not stops_early and not case["asks"] and not case["summary"]


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
    """Keep what both sides mean alike: kinds, words, calls, states."""
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
        bench = Bench()
        processor = Processor(bench.desk, bench.message)
        finished: StepFinished | None = None
        for recorded in case["stream"][0]:
            event = event_of(recorded)
            if isinstance(event, StepFinished):
                finished = event
                processor.reported(event)
            if event is not None:
                processor.handle(event)
        processor.close()

        ours = bench.answer.model_dump(mode="json", exclude_none=True)
        bench.journal.close()

        expected = case["final"]
        assert shape(ours["parts"]) == shape(expected["parts"]), case["name"]
        if finished is not None:
            assert ours["info"]["finish"] == expected["info"]["finish"], case["name"]
        assert processor.rejected == ("reject" in json.dumps(case["name"])), case["name"]
    assert len(cases) >= 10
