"""Calls of an unfinished or invalid answer never run; a wait before a retry is shown and can be stopped."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from tests.harness.session import SessionHarness, ask, until

from palimpsest.model.interface import (
    ModelRequest,
    StepFinished,
    StreamEvent,
    ToolCalled,
    ToolReturned,
)
from palimpsest.model.script import ModelAnswer, calls, fails, says, thinks, writes
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.testing import ScriptedModel
from palimpsest.tools.permission_rules.permissions import from_config
from palimpsest.tools.tool import ToolContext, ToolOutcome
from palimpsest.transcript.errors import AbortedError, ApiError, OutputLengthError
from palimpsest.transcript.messages import AssistantMessage
from palimpsest.transcript.parts import Part, ReasoningPart, RetryPart, TextPart, ToolPart
from palimpsest.transcript.session_record.events import SessionStatus
from palimpsest.transcript.values import Usage

RULES = from_config({"*": "allow"}, home="/")


class Number(BaseModel):
    """One number."""

    number: int


class Count:
    """A tool that records its calls, and how many ran at once."""

    name = "count"
    description = "Counts."
    arguments = Number
    permission = "count"

    def __init__(self, *, concurrent: bool) -> None:
        self.concurrent = concurrent
        self.ran: list[int] = []
        self.at_once = 0
        self.together = 1
        """Each call waits until so many have started."""
        self._now = 0

    async def run(self, arguments: Any, _context: ToolContext) -> ToolOutcome:
        self.ran.append(arguments.number)
        self._now += 1
        self.at_once = max(self.at_once, self._now)
        await until(lambda: self.at_once >= self.together)
        self._now -= 1
        return ToolOutcome(title="counted", output=str(arguments.number))


async def counting(
    root: Path, *answers: ModelAnswer, concurrent: bool = True
) -> tuple[SessionHarness, LiveSession, ScriptedModel, Count]:
    model, tool = ScriptedModel(*answers), Count(concurrent=concurrent)
    harness = SessionHarness(root, model, rules=RULES)
    harness.services.agents.registry.register(tool)
    return harness, await harness.session(), model, tool


def parts(session: LiveSession) -> list[Part]:
    return [
        part
        for message in session.snapshot().messages
        if isinstance(message.info, AssistantMessage)
        for part in message.parts
    ]


def fast(monkeypatch: pytest.MonkeyPatch, seconds: float = 0.0) -> None:
    monkeypatch.setattr(
        "palimpsest.loop.model_requests.request_failures.delay_seconds", lambda *_: seconds
    )


async def test_a_call_of_a_stream_that_broke_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fast(monkeypatch)
    broken = thinks("Hm.").says("Let me count").calls("count", number=1).disconnects()
    _, session, model, tool = await counting(tmp_path, broken, says("Fine."))

    answer = await ask(session, "Count.")

    assert (answer.text, answer.error, tool.ran) == ("Fine.", None, [])
    assert model.requests[0].messages == model.requests[1].messages
    marked = [
        part
        for part in parts(session)
        if (getattr(part, "metadata", None) or {}).get("failed_attempt")
    ]
    assert [type(part) for part in marked] == [ReasoningPart, TextPart, ToolPart]
    unmarked = [
        part for part in parts(session) if isinstance(part, TextPart) and part not in marked
    ]
    assert [part.text for part in unmarked] == ["Fine."]


async def test_a_stream_that_ends_without_a_finish_is_an_error_that_keeps_its_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fast(monkeypatch)
    cut = says("Half of it").calls("count", number=1).ends_early()
    _, session, _, tool = await counting(tmp_path, *[cut] * 6)

    answer = await ask(session, "Count.")

    assert isinstance(answer.error, ApiError)
    assert "ended early" in answer.error.message
    assert answer.text == "Half of it"
    assert tool.ran == []
    assert [part.attempt for part in parts(session) if isinstance(part, RetryPart)] == [
        1,
        2,
        3,
        4,
        5,
    ]


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ('{"number": "many"}', "number"),
        ('{"count": 1}', "number is missing"),
        ('{"number": 1', "not valid JSON"),
        ("[1]", "must be a JSON object"),
    ],
)
async def test_arguments_that_do_not_validate_are_told_to_the_model_and_nothing_runs(
    tmp_path: Path, written: str, words: str
) -> None:
    _, session, model, tool = await counting(tmp_path, writes("count", written), says("Oh."))

    answer = await ask(session, "Count.")

    assert (answer.text, tool.ran) == ("Oh.", [])
    result = model.requests[1].messages[-1]
    assert result["role"] == "tool"
    assert words in str(result["content"])


async def test_a_call_that_the_length_limit_cut_is_not_run(tmp_path: Path) -> None:
    cut = writes("count", '{"number": 1').finishes("length")
    _, session, _, tool = await counting(tmp_path, cut)

    answer = await ask(session, "Count.")

    assert isinstance(answer.error, OutputLengthError)
    assert tool.ran == []


@pytest.mark.parametrize(("concurrent", "at_once"), [(True, 3), (False, 1)])
async def test_calls_run_at_the_same_time_where_the_tool_allows_it(
    tmp_path: Path, at_once: int, *, concurrent: bool
) -> None:
    three = calls("count", number=1).calls("count", number=2).calls("count", number=3)
    _, session, _, tool = await counting(tmp_path, three, says("Six."), concurrent=concurrent)
    tool.together = at_once

    await ask(session, "Count.")

    assert (tool.ran, tool.at_once) == ([1, 2, 3], at_once)


async def test_work_that_the_provider_did_itself_is_an_answer(tmp_path: Path) -> None:
    class Searches:
        async def stream(self, _request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
            yield ToolCalled("call_1", "web_search", {"query": "penguins"}, provider_executed=True)
            yield ToolReturned("call_1", "Many.")
            yield StepFinished("stop", Usage(input=1, output=1))

    session = await SessionHarness(tmp_path, Searches()).session()

    answer = await ask(session, "Look.")

    assert answer.error is None
    assert answer.steps == 1


async def test_a_wait_before_another_attempt_is_seen_and_stopped(tmp_path: Path) -> None:
    harness, session, model, _ = await counting(
        tmp_path, fails(429, retry_after=60), says("Never.")
    )
    turn = asyncio.create_task(ask(session, "Hello?"))
    await until(lambda: session.snapshot().status.type == "retry")

    (retry,) = [part for part in parts(session) if isinstance(part, RetryPart)]
    assert retry.time.end == retry.time.start + 60_000
    assert (retry.attempt, retry.error.status) == (1, 429)
    session.cancel()
    answer = await turn

    assert isinstance(answer.error, AbortedError)
    assert len(model.requests) == 1
    told = [
        record.event.status.type
        for record in await harness.records(session)
        if isinstance(record.event, SessionStatus)
    ]
    assert told == ["busy", "retry", "idle"]
