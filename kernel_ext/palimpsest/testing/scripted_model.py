"""A fake model that gives scripted answers, without HTTP.

It records the requests, since the request a model receives is the strongest thing to assert in a test.
Answers are built by the functions of ``palimpsest.testing``; an answer that depends on the request is a
function of it.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from types import SimpleNamespace

from palimpsest.model.adapter import usage
from palimpsest.model.adapter.provider_calls import ProviderCalls
from palimpsest.model.adapter.stream_joiner import StreamJoiner
from palimpsest.model.errors.classification import early_end_error, overflow_error, refusal_code
from palimpsest.model.errors.explanations import auth_sentence
from palimpsest.model.errors.overflow_detection import is_overflow
from palimpsest.model.errors.retry import HOPELESS_CODES
from palimpsest.model.interface import ModelRequest, StepFinished, StepStarted, StreamEvent
from palimpsest.model.script import (
    Action,
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
from palimpsest.model.wire.provider_messages import prompt_text
from palimpsest.testing.answer_functions import call_answer_function
from palimpsest.testing.openai_anthropic_wire import anthropic_run_blocks
from palimpsest.transcript.context_values.policies import Refusals
from palimpsest.transcript.errors import ApiError, AuthError, ErrorValue, ModelFailed, UnknownError
from palimpsest.transcript.provider_profile.profile import model_family
from palimpsest.transcript.provider_profile.provider_table import Family
from palimpsest.transcript.values import Usage

ScriptedAnswer = ModelAnswer | Callable[[ModelRequest], ModelAnswer]
"""An answer, or a function that returns it for a request; it runs on a thread of its own, and may wait."""

RETRYABLE_STATUSES = frozenset({408, 409, 429})
MIN_SERVER_ERROR_STATUS = 500
UNAUTHORIZED_STATUS = 401


class ScriptedModel:
    """Gives answers in order, one for each request, whatever model the request names.

    A failure in an answer, and a request after the last one, is raised as ``ModelFailed`` with the error
    value that the adapter would create for it; a session turns it into ``answer.error``.
    """

    def __init__(self, *answers: ScriptedAnswer) -> None:
        self.requests: list[ModelRequest] = []
        """The requests, in order: ``messages`` in OpenAI's format, ``tools``, ``model``, ``parameters``."""
        self.close_count = 0
        """Number of answers that were closed before their end."""
        self._answers: list[ScriptedAnswer] = list(answers)
        self._call_count = 0

    def script(self, *answers: ScriptedAnswer) -> "ScriptedModel":
        """Add answers for further requests; returns the model."""
        self._answers.extend(answers)
        return self

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Yield the events of the next answer; raises ModelFailed."""
        self.requests.append(request)
        answer = await self._next_answer(request)
        if answer.failure is not None:
            provider = request.model.ref.provider
            raise ModelFailed(error_of(answer.failure, provider, request.refusals))
        try:
            async for event in self._stream_actions(answer, request):
                yield event
        except (GeneratorExit, asyncio.CancelledError):
            self.close_count += 1
            raise

    async def _stream_actions(
        self, answer: ModelAnswer, request: ModelRequest
    ) -> AsyncGenerator[StreamEvent, None]:
        has_provider_runs = any(isinstance(action, ProviderRun) for action in answer.actions)
        provider_calls = ProviderCalls() if has_provider_runs else None
        tool_names = {tool.name: tool.name for tool in request.tools}
        joiner = StreamJoiner(model_family(request.model.ref), tool_names, provider_calls)
        yield StepStarted()
        for action in answer.actions:
            if isinstance(action, Pause):
                await (asyncio.Event().wait() if action.seconds is None else _sleep(action.seconds))
            if provider_calls is not None and isinstance(action, ProviderRun):
                _read_provider_run(provider_calls, action)
            for delta in self._deltas(answer, action, model_family(request.model.ref)):
                await _sleep(answer.drip_seconds)
                for event in joiner.delta_events(delta):
                    yield event
        finish = answer.finish or "stop"
        for event in joiner.end_stream(finish):
            yield event
        token_usage = self._usage(answer, joiner, request)
        yield StepFinished(
            joiner.finish_reason(finish), token_usage, token_usage.cost(request.model.price)
        )

    def _usage(self, answer: ModelAnswer, joiner: StreamJoiner, request: ModelRequest) -> Usage:
        prompt = prompt_text(request.messages, request.tools)
        if answer.usage == "none":
            return usage.with_estimates(
                prompt, joiner.written_text, "".join(joiner.reasoning), lambda text: len(text) // 4
            )
        return answer.natural_usage(len(prompt))

    async def _next_answer(self, request: ModelRequest) -> ModelAnswer:
        if not self._answers:
            message = f"The script has no answer for request {len(self.requests)}."
            raise ModelFailed(UnknownError(message=message))
        scripted_answer = self._answers.pop(0)
        if isinstance(scripted_answer, ModelAnswer):
            return scripted_answer
        return await call_answer_function(scripted_answer, request)

    def _deltas(self, answer: ModelAnswer, action: Action, family: Family) -> list[SimpleNamespace]:
        match action:
            case Say():
                return [SimpleNamespace(content=piece) for piece in answer.pieces(action.text)]
            case Think():
                return list(_reasoning_deltas(answer, action, is_signed=family == "anthropic"))
            case ScriptedCall():
                return self._call_deltas(answer, action)
            case Disconnect() | Malformed():
                message = "The connection broke in the middle of the answer."
                raise ModelFailed(ApiError(message=message, retryable=True))
            case EndEarly():
                raise ModelFailed(early_end_error())
            case StreamError():
                raise ModelFailed(ApiError(message=action.message, retryable=True))
            case ProviderRun():
                return [SimpleNamespace()]
            case Pause():
                return []

    def _call_deltas(self, answer: ModelAnswer, call: ScriptedCall) -> list[SimpleNamespace]:
        self._call_count += 1
        index = self._call_count
        head = SimpleNamespace(name=call.tool, arguments="")
        deltas = [SimpleNamespace(index=index, id=call.id or f"call_{index}", function=head)]
        for piece in answer.pieces(call.raw):
            fragment = SimpleNamespace(name=None, arguments=piece)
            deltas.append(SimpleNamespace(index=index, id=None, function=fragment))
        return [SimpleNamespace(tool_calls=[delta]) for delta in deltas]


def error_of(failure: Failure, provider: str, refusals: Refusals = "union") -> ErrorValue:
    """Return the error value that the adapter would create for this error response."""
    if failure.status == UNAUTHORIZED_STATUS:
        return AuthError(provider=provider, message=auth_sentence(provider, failure.message))
    if is_overflow(failure.message, failure.code, failure.status, refusals):
        return overflow_error(failure.message, refusals)
    code = refusal_code(failure.message, failure.code, refusals)
    has_retryable_status = (
        failure.status in RETRYABLE_STATUSES or failure.status >= MIN_SERVER_ERROR_STATUS
    )
    return ApiError(
        message=failure.message,
        status=failure.status,
        retryable=code not in HOPELESS_CODES and has_retryable_status,
        headers=dict(failure.headers) or None,
        metadata={"code": code} if code else None,
    )


def _reasoning_deltas(
    answer: ModelAnswer, think: Think, *, is_signed: bool
) -> Iterator[SimpleNamespace]:
    """Yield the deltas of reasoning as the provider sends them: only Anthropic signs it."""
    if not is_signed:
        for piece in answer.pieces(think.text):
            yield SimpleNamespace(reasoning_content=piece)
        return
    if think.redacted is not None:
        block = {"type": "redacted_thinking", "data": think.redacted}
        yield SimpleNamespace(thinking_blocks=[block])
        return
    for piece in answer.pieces(think.text):
        block = {"type": "thinking", "thinking": piece}
        yield SimpleNamespace(reasoning_content=piece, thinking_blocks=[block])
    if think.signature:
        block = {"type": "thinking", "thinking": "", "signature": think.signature}
        yield SimpleNamespace(thinking_blocks=[block])


def _read_provider_run(provider_calls: ProviderCalls, run: ProviderRun) -> None:
    """Pass a tool run of the provider to ``provider_calls``, as Anthropic's blocks."""
    for block in anthropic_run_blocks(run):
        provider_calls.read_chunk({"type": "content_block_start", "content_block": block})
        provider_calls.read_chunk({"type": "content_block_stop"})


async def _sleep(seconds: float) -> None:
    if seconds:
        await asyncio.sleep(seconds)
