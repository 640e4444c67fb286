"""Stream the rehearsal model's answers as a custom provider's, word by word."""

import asyncio
import hashlib
import json
import os
import re
from collections.abc import AsyncIterator
from typing import Any

from palimpsest.model.custom_provider import (
    CustomCall,
    CustomChunk,
    CustomFailure,
    CustomFinish,
    CustomReasoning,
    CustomText,
)
from palimpsest.model.rehearsal.parsing.conversation import Messages
from palimpsest.model.rehearsal.reply_rules import RehearsalReply, reply
from palimpsest.model.rehearsal.scenario import ScenarioPlayer, scenario
from palimpsest.model.rehearsal.simulated_usage import UsageMeter
from palimpsest.model.script import (
    Disconnect,
    EndEarly,
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
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.values import ToolSpec, Usage

PROVIDER = "rehearsal"
DELAY_VARIABLE = "PALIMPSEST_REHEARSAL_DELAY"
WORD_SECONDS = 0.005
"""About 200 words a second: pleasant to watch, without a noticeable wait."""
ESTIMATOR = "tiktoken/o200k_base"
_WORD = re.compile(r"\s*\S+|\s+")


class Rehearsal:
    """The embedded model, as a ``StreamingHandler``.

    The pace is ``words_per_second`` in the request's parameters, else seconds for each word in
    the environment's ``PALIMPSEST_REHEARSAL_DELAY``, else about 200 words a second.
    """

    def __init__(self) -> None:
        self._player = ScenarioPlayer()
        self._meter: UsageMeter | None = None

    async def stream(
        self,
        messages: tuple[dict[str, Any], ...],
        tools: tuple[ToolSpec, ...],
        parameters: dict[str, Any],
        session_id: str | None,
        purpose: str,
    ) -> AsyncIterator[CustomChunk]:
        """Answer by the rules, or by the scenario that the model's name names."""
        name = str(parameters.get("model", "")).removeprefix(f"{PROVIDER}/")
        try:
            steps = scenario(name)
        except UserError as error:
            raise CustomFailure(404, str(error), final=True) from error
        delay = word_seconds(parameters)
        if steps is None or purpose in {"title", "turn-summary", "compaction"}:
            answered = reply(messages, tools, purpose, parameters)
            usage = self._usage(messages, tools, session_id, purpose, answered)
            async for chunk in _replied(answered, delay, usage, call_key(messages)):
                yield chunk
            return
        answer = self._player.next(name, steps, session_id, messages)
        usage = self._usage(messages, tools, session_id, purpose, _as_reply(answer))
        async for chunk in _played(answer, delay, usage, call_key(messages)):
            yield chunk

    def _usage(
        self,
        messages: Messages,
        tools: tuple[ToolSpec, ...],
        session_id: str | None,
        purpose: str,
        answered: RehearsalReply,
    ) -> Usage:
        if self._meter is None:
            self._meter = UsageMeter(counter(ESTIMATOR))
        calls = "".join(
            call.tool + json.dumps(call.input, ensure_ascii=False) for call in answered.calls
        )
        return self._meter.usage(
            messages,
            tools,
            session_id,
            purpose,
            text=answered.text + calls,
            thoughts=answered.thoughts,
        )


def word_seconds(parameters: dict[str, Any]) -> float:
    """Return how long to wait after each word."""
    pace = parameters.get("words_per_second")
    if isinstance(pace, int | float) and pace > 0:
        return 1.0 / pace
    try:
        return max(0.0, float(os.environ.get(DELAY_VARIABLE, WORD_SECONDS)))
    except ValueError:
        return WORD_SECONDS


def pieces(text: str) -> list[str]:
    """Split text into words, each with the space before it; joined they give the text again."""
    return _WORD.findall(text)


def call_key(messages: Messages) -> str:
    """Return a short name for a request, the same for the same messages, to make call ids from."""
    text = json.dumps(messages, ensure_ascii=False, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


async def _replied(
    answered: RehearsalReply, delay: float, usage: Usage, key: str
) -> AsyncIterator[CustomChunk]:
    for piece in pieces(answered.thoughts):
        yield CustomReasoning(piece)
        await _wait(delay)
    for piece in pieces(answered.text):
        yield CustomText(piece)
        await _wait(delay)
    for at, call in enumerate(answered.calls):
        yield CustomCall(call.tool, call.input, f"call_{key}_{at + 1}")
    yield CustomFinish("tool_calls" if answered.calls else "stop", usage)


async def _played(
    answer: ModelAnswer, delay: float, usage: Usage, key: str
) -> AsyncIterator[CustomChunk]:
    """Play a script's answer; a broken stream ends without a finish."""
    if answer.failure is not None:
        raise CustomFailure(answer.failure.status, answer.failure.message, answer.failure.headers)
    wait = answer.drip_seconds or delay
    calls = 0
    for action in answer.actions:
        match action:
            case Say() | Think():
                kind = CustomText if isinstance(action, Say) else CustomReasoning
                for piece in answer.pieces(action.text):
                    yield kind(piece)
                    await _wait(wait)
            case ScriptedCall(tool=tool, raw=raw, id=call_id):
                calls += 1
                yield CustomCall(tool, raw, call_id or f"call_{key}_{calls}")
            case ProviderRun():
                pass  # the rehearsal's provider has no tools
            case Pause(seconds=seconds):
                await asyncio.sleep(3600.0 if seconds is None else seconds)
            case StreamError(message=message):
                raise CustomFailure(500, message)
            case Disconnect() | EndEarly() | Malformed():
                return
    reported = _reported(answer, usage)
    yield CustomFinish(answer.finish or ("tool_calls" if calls else "stop"), reported)


def _reported(answer: ModelAnswer, usage: Usage) -> Usage | None:
    if isinstance(answer.usage, Usage):
        return answer.usage
    return None if answer.usage == "none" else usage


def _as_reply(answer: ModelAnswer) -> RehearsalReply:
    """Return a scripted answer as a reply, to count its tokens."""
    said = "".join(action.text for action in answer.actions if isinstance(action, Say))
    raw = "".join(
        action.tool + action.raw for action in answer.actions if isinstance(action, ScriptedCall)
    )
    thought = "".join(action.text for action in answer.actions if isinstance(action, Think))
    return RehearsalReply(thought, said + raw)


async def _wait(seconds: float) -> None:
    # A sleep of zero still lets others run, and a cancelled turn stops here.
    await asyncio.sleep(seconds)
