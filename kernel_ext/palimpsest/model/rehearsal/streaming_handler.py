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
from palimpsest.model.rehearsal.simulated_usage import UsageMeter
from palimpsest.model.tokenizer import counter
from palimpsest.transcript.values import ToolSpec, Usage

PROVIDER = "rehearsal"
NAMES = ("", "rules", "rehearsal", "default")
UNKNOWN = "There is no rehearsal model {name!r}: use rehearsal/rules."
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
        self._meter: UsageMeter | None = None

    async def stream(
        self,
        messages: tuple[dict[str, Any], ...],
        tools: tuple[ToolSpec, ...],
        parameters: dict[str, Any],
        session_id: str | None,
        purpose: str,
    ) -> AsyncIterator[CustomChunk]:
        """Answer by the rules."""
        name = str(parameters.get("model", "")).removeprefix(f"{PROVIDER}/")
        if name not in NAMES:
            raise CustomFailure(404, UNKNOWN.format(name=name), final=True)
        answered = reply(messages, tools, purpose, parameters)
        usage = self._usage(messages, tools, session_id, purpose, answered)
        delay = word_seconds(parameters)
        async for chunk in _replied(answered, delay, usage, call_key(messages)):
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


async def _wait(seconds: float) -> None:
    # A sleep of zero still lets others run, and a cancelled turn stops here.
    await asyncio.sleep(seconds)
