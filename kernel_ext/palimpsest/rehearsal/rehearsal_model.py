"""Stream the rehearsal model's answers word by word, as deltas like those of a provider's stream.

The same code as for a provider joins, counts and classifies them, so that overflow, cost, cache and failures
behave as with a real model; litellm is not imported.
"""

import asyncio
import hashlib
import json
import os
from collections.abc import AsyncGenerator
from contextlib import aclosing
from types import SimpleNamespace
from typing import Any

from palimpsest.model.adapter.answer_events import answer_events
from palimpsest.model.adapter.raw_stream import StreamTap
from palimpsest.model.adapter.usage import openai_report
from palimpsest.model.interface import ModelRequest, StreamEvent
from palimpsest.model.script import (
    Disconnect,
    EndEarly,
    Failure,
    Malformed,
    ModelAnswer,
    Pause,
    ProviderRun,
    Say,
    ScriptedCall,
    StreamError,
    Think,
)
from palimpsest.model.tokenizer import counter
from palimpsest.model.wire.provider_messages import sendable_messages
from palimpsest.rehearsal.parsing.conversation import Messages
from palimpsest.rehearsal.reply_rules import RehearsalReply, reply
from palimpsest.rehearsal.scenario import ScenarioPlayer, scenario_steps
from palimpsest.rehearsal.simulated_usage import UsageMeter
from palimpsest.transcript.errors import ModelFailed, UnknownError, UserError
from palimpsest.transcript.values import Usage

PROVIDER = "rehearsal"
DELAY_VARIABLE = "PALIMPSEST_REHEARSAL_DELAY"
DEFAULT_WORD_SECONDS = 0.005
"""The default wait after each word: about 200 words a second, so that streaming is visible but short."""
MAX_PAUSE_SECONDS = 3_600.0
"""The length of a scenario's pause without an end."""
CALL_KEY_CHARS = 12
"""Characters of the hash from which call ids are made."""
ESTIMATOR = "tiktoken/o200k_base"


class ScriptedFailure(Exception):
    """The failure of a provider that a scenario simulates; it is classified like a real one."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.status = failure.status
        self.message = failure.message
        self.headers = failure.headers


class Rehearsal:
    """The rehearsal model as a ``model.interface.Model``.

    Its speed is ``words_per_second`` in the request's parameters, else the seconds for each word in the
    environment variable ``PALIMPSEST_REHEARSAL_DELAY``, else about 200 words a second.
    """

    def __init__(self) -> None:
        self._player = ScenarioPlayer()
        self._meter: UsageMeter | None = None

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Stream the answer of the rules, or that of the scenario in the model's name."""
        return answer_events(request, self._stream_deltas)

    async def _stream_deltas(
        self, request: ModelRequest, tap: StreamTap
    ) -> AsyncGenerator[Any, None]:
        """Yield None, then the deltas of the answer; a stream that a scenario interrupts has no finish reason."""
        scenario_name = request.model.ref.name.removeprefix(f"{PROVIDER}/")
        messages = sendable_messages(request.messages, request.model)
        purpose = request.purpose
        try:
            steps = scenario_steps(scenario_name)
        except UserError as error:
            raise ModelFailed(UnknownError(message=str(error), explained=True)) from error
        if steps is None or purpose in {"title", "turn-summary", "compaction"}:
            answer = _scripted_answer(reply(messages, request.tools, purpose, request.parameters))
        else:
            answer = self._player.next(scenario_name, steps, request.session_id, messages)
        simulated_usage = self._usage_of(request, messages, answer)
        wait_seconds = answer.drip_seconds or word_seconds(request.parameters)
        is_started = False
        async with aclosing(
            _answer_deltas(answer, wait_seconds, call_key(messages), tap)
        ) as deltas:
            async for delta in deltas:
                if not is_started:
                    is_started = True
                    yield None
                yield delta
        if answer.usage != "none":
            usage = answer.usage if isinstance(answer.usage, Usage) else simulated_usage
            tap.usage = openai_report(usage) | {"cache_creation_input_tokens": usage.cache_write}

    def _usage_of(self, request: ModelRequest, messages: Messages, answer: ModelAnswer) -> Usage:
        if self._meter is None:
            self._meter = UsageMeter(counter(ESTIMATOR))
        texts = [action.text for action in answer.actions if isinstance(action, Say)]
        texts += [call.tool + call.raw for call in answer.actions if isinstance(call, ScriptedCall)]
        thoughts = [action.text for action in answer.actions if isinstance(action, Think)]
        return self._meter.usage(request, messages, "".join(texts), "".join(thoughts))


def word_seconds(parameters: dict[str, Any]) -> float:
    """Return the seconds to wait after each word."""
    words_per_second = parameters.get("words_per_second")
    if isinstance(words_per_second, int | float) and words_per_second > 0:
        return 1.0 / words_per_second
    try:
        return max(0.0, float(os.environ.get(DELAY_VARIABLE, DEFAULT_WORD_SECONDS)))
    except ValueError:
        return DEFAULT_WORD_SECONDS


def call_key(messages: Messages) -> str:
    """Return a hash of a request's messages, from which call ids are made."""
    text = json.dumps(messages, ensure_ascii=False, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:CALL_KEY_CHARS]


def _scripted_answer(rehearsal_reply: RehearsalReply) -> ModelAnswer:
    calls = [
        ScriptedCall(call.tool, json.dumps(call.input, ensure_ascii=False))
        for call in rehearsal_reply.tool_uses
    ]
    return ModelAnswer((Think(rehearsal_reply.reasoning), Say(rehearsal_reply.text), *calls))


async def _answer_deltas(
    answer: ModelAnswer, wait_seconds: float, id_key: str, tap: StreamTap
) -> AsyncGenerator[SimpleNamespace, None]:
    """Yield the deltas of a scripted answer, whose call ids contain ``id_key``; waits after each word."""
    if answer.failure is not None:
        raise ScriptedFailure(answer.failure)
    call_count = 0
    for action in answer.actions:
        match action:
            case Say() | Think():
                field_name = "content" if isinstance(action, Say) else "reasoning_content"
                for piece in answer.pieces(action.text):
                    yield SimpleNamespace(**{field_name: piece})
                    # Even a sleep of zero lets other tasks run, and a cancelled turn stops here.
                    await asyncio.sleep(wait_seconds)
            case ScriptedCall(tool=tool, raw=raw, id=call_id):
                call_count += 1
                function = SimpleNamespace(name=tool, arguments=raw)
                provider_call_id = call_id or f"call_{id_key}_{call_count}"
                yield SimpleNamespace(
                    tool_calls=[
                        SimpleNamespace(index=call_count, id=provider_call_id, function=function)
                    ]
                )
            case ProviderRun():
                pass  # the rehearsal model has no provider tools
            case Pause(seconds=seconds):
                await asyncio.sleep(MAX_PAUSE_SECONDS if seconds is None else seconds)
            case StreamError(message=message):
                raise ScriptedFailure(Failure(500, message))
            case Disconnect() | EndEarly() | Malformed():
                return
    tap.finish = answer.finish or ("tool_calls" if call_count else "stop")
    yield SimpleNamespace()
