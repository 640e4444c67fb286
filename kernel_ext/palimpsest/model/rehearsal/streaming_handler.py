"""Stream the rehearsal model's answers as a custom provider's, word by word."""

import asyncio
import hashlib
import json
import os
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
        if steps is None or purpose in {"title", "turn-summary", "compaction"}:
            answer = _scripted(reply(messages, tools, purpose, parameters))
        else:
            answer = self._player.next(name, steps, session_id, messages)
        if self._meter is None:
            self._meter = UsageMeter(counter(ESTIMATOR))
        actions = answer.actions
        text = "".join(one.text for one in actions if isinstance(one, Say))
        calls = "".join(one.tool + one.raw for one in actions if isinstance(one, ScriptedCall))
        thoughts = "".join(one.text for one in actions if isinstance(one, Think))
        usage = self._meter.usage(
            messages, tools, session_id, purpose, text=text + calls, thoughts=thoughts
        )
        async for chunk in _played(answer, word_seconds(parameters), usage, call_key(messages)):
            yield chunk


def word_seconds(parameters: dict[str, Any]) -> float:
    """Return how long to wait after each word."""
    pace = parameters.get("words_per_second")
    if isinstance(pace, int | float) and pace > 0:
        return 1.0 / pace
    try:
        return max(0.0, float(os.environ.get(DELAY_VARIABLE, WORD_SECONDS)))
    except ValueError:
        return WORD_SECONDS


def call_key(messages: Messages) -> str:
    """Return a short name for a request, the same for the same messages, to make call ids from."""
    text = json.dumps(messages, ensure_ascii=False, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _scripted(replied: RehearsalReply) -> ModelAnswer:
    calls = [
        ScriptedCall(call.tool, json.dumps(call.input, ensure_ascii=False))
        for call in replied.calls
    ]
    return ModelAnswer((Think(replied.thoughts), Say(replied.text), *calls))


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
                    # A sleep of zero still lets others run, and a cancelled turn stops here.
                    await asyncio.sleep(wait)
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
    told = answer.usage if isinstance(answer.usage, Usage) else usage
    reported = None if answer.usage == "none" else told
    yield CustomFinish(answer.finish or ("tool_calls" if calls else "stop"), reported)
