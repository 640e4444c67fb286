"""A summary whose model calls a tool ends with an error, as in the recorded OpenCode, and nothing is cut.

OpenCode stops reading at the call and keeps nothing of it. Ours reads to the end, since that is paid for, and keeps the call
in the failed summary, where a reader sees it; it is not run. Beside the recorded cases are some after
the same rule, so that a recording without such a case has it, too.
"""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from tests.golden.data import recorded_cases
from tests.golden.test_processor import Case, event_of, is_replayable, is_summary_with_a_call
from tests.golden.upstream import ERRORS
from tests.harness.compacted_sessions import SUMMARY
from tests.harness.session import SessionHarness, ask

from palimpsest.context.visible_messages import marker
from palimpsest.model.interface import ModelRequest, StepFinished, StreamEvent
from palimpsest.model.script import calls, says
from palimpsest.testing import ScriptedModel
from palimpsest.transcript.messages import AssistantMessage, Message
from palimpsest.transcript.parts import TextPart, ToolPart
from palimpsest.transcript.session_record.events import SessionCompacted
from palimpsest.transcript.values import ModelInfo, ModelRef

INFO = ModelInfo(
    ref=ModelRef(provider="anthropic", name="claude-test"), window=200_000, output_limit=32_000
)
USAGE = {"inputTokens": 10, "outputTokens": 5}
TEXT: list[dict[str, Any]] = [
    {"type": "text-start", "id": "t1"},
    {"type": "text-delta", "id": "t1", "text": SUMMARY},
    {"type": "text-end", "id": "t1"},
]
CALL: list[dict[str, Any]] = [
    {"type": "tool-input-start", "id": "c1", "toolName": "bash"},
    {"type": "tool-input-end", "id": "c1"},
    {"type": "tool-call", "toolCallId": "c1", "toolName": "bash", "input": {"command": "ls"}},
]
STREAMS = {
    "call": CALL,
    "call_without_input_events": CALL[2:],
    "call_cut_off": CALL[:1],
    "text_then_call": TEXT + CALL,
    "call_then_text": CALL + TEXT,
}


def after_the_spec(name: str, stream: list[dict[str, Any]]) -> Case:
    """Return a case in the recordings' format."""
    words = "Tool call not allowed while generating summary: bash"
    error = {"name": "UnknownError", "data": {"message": words}}
    finish = {"type": "finish-step", "finishReason": "tool-calls", "usage": USAGE}
    return {
        "name": name,
        "summary": True,
        "asks": [],
        "permission": "allow",
        "stream": [[{"type": "start"}, {"type": "start-step"}, *stream, finish]],
        "result": "stop",
        "final": {"info": {"error": error}, "parts": []},
    }


CASES = [
    *recorded_cases("opencode", "processor", is_summary_with_a_call),
    *(pytest.param(after_the_spec(name, stream), id=name) for name, stream in STREAMS.items()),
]


class Recorded:
    """A model that answers prompts, and plays a recorded stream where a summary is asked for."""

    def __init__(self, case: Case) -> None:
        self._stream = case["stream"][0]

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        if request.purpose != "compaction":
            async for event in ScriptedModel(says("All is well. " * 30)).stream(request):
                yield event
            return
        for event in filter(None, map(event_of, self._stream)):
            yield event
            if isinstance(event, StepFinished):
                return


def summary(messages: tuple[Message, ...]) -> Message:
    return next(
        message
        for message in messages
        if isinstance(message.info, AssistantMessage) and message.info.summary
    )


@pytest.mark.parametrize("preset", ["opencode-1.1", "opencode-1.18"])
@pytest.mark.parametrize("case", CASES)
async def test_a_summary_with_a_call_fails_as_recorded(
    tmp_path: Path, case: Case, preset: str
) -> None:
    harness = SessionHarness(tmp_path, Recorded(case), info=INFO, policy=preset)
    session = await harness.session()
    await ask(session, "Go.")

    await session.compact()

    message = summary(session.snapshot().messages)
    assert not is_replayable(case)
    assert isinstance(message.info, AssistantMessage)
    assert message.info.error is not None
    assert message.info.error.type == ERRORS[case["final"]["info"]["error"]["name"]]
    assert "bash instead of writing the summary" in message.info.error.message
    [call] = [part for part in message.parts if isinstance(part, ToolPart)]
    assert call.state.status == "error"
    records = await harness.records(session)
    assert not [record for record in records if isinstance(record.event, SessionCompacted)]
    await session.close()


@pytest.mark.parametrize("preset", ["palimpsest", "openclaw-2026.2", "openclaw-2026.9"])
@pytest.mark.parametrize("words", ["", " \n", "summary"])
async def test_where_summaries_are_judged_the_words_beside_a_call_are(
    tmp_path: Path, words: str, preset: str
) -> None:
    text = SUMMARY if words == "summary" else words
    answer = says(text).calls("bash", command="ls") if text else calls("bash", command="ls")
    model = ScriptedModel(says("All is well. " * 300), answer, answer)
    harness = SessionHarness(tmp_path, model, info=INFO, policy=preset)
    session = await harness.session()
    await ask(session, "Go.")

    await session.compact()

    message = summary(session.snapshot().messages)
    assert isinstance(message.info, AssistantMessage)
    if words == "summary":
        assert message.info.error is None
        assert any(marker(one) for one in session.snapshot().messages)
        assert SUMMARY in [part.text for part in message.parts if isinstance(part, TextPart)]
    else:
        assert message.info.error is not None
        assert "bash instead of writing the summary" in message.info.error.message
    await session.close()
