"""Turn a scripted answer into the bytes of OpenAI's and Anthropic's streaming formats.

Pure: frames are bytes to send, or an action to perform between them (pause, disconnect, early end); the
server decides when. They follow the providers' public streaming formats.
"""

import json
from collections.abc import Iterator
from typing import Any

from palimpsest.model.adapter.usage import openai_report
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

Frame = bytes | Pause | Disconnect | EndEarly

ANTHROPIC_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}


def openai_error(failure: Failure) -> bytes:
    """Return the body of an error response in OpenAI's format."""
    error = {"message": failure.message, "type": failure.type, "param": None, "code": failure.code}
    return json.dumps({"error": error}).encode()


def anthropic_error(failure: Failure) -> bytes:
    """Return the body of an error response in Anthropic's format."""
    kind = failure.type or ANTHROPIC_ERROR_TYPES.get(failure.status, "api_error")
    return json.dumps(
        {"type": "error", "error": {"type": kind, "message": failure.message}}
    ).encode()


def mistral_error(failure: Failure) -> bytes:
    """Return the body of an error response in Mistral's format."""
    kind = failure.type or ("invalid_request_error" if failure.status < 500 else "server_error")
    error = {"object": "error", "message": failure.message, "type": kind, "code": failure.code}
    return json.dumps({**error, "param": None}).encode()


def _sse(value: Any, event: str | None = None) -> bytes:
    head = f"event: {event}\n" if event else ""
    return f"{head}data: {json.dumps(value)}\n\n".encode()


def _natural_finish(answer: ModelAnswer, finish_with_calls: str, finish_without_calls: str) -> str:
    if answer.finish is not None:
        return answer.finish
    return (
        finish_with_calls
        if any(isinstance(action, ScriptedCall) for action in answer.actions)
        else finish_without_calls
    )


def openai_frames(
    answer: ModelAnswer, model: str, prompt_chars: int, first_call: int = 1
) -> Iterator[Frame]:
    """Yield the frames of a chat completion stream; calls without an id count from ``first_call``."""
    writer = _OpenAIChunkWriter(answer, model, first_call)
    yield writer.chunk({"role": "assistant", "content": ""})
    for action in answer.actions:
        yield from writer.frames(action)
        if isinstance(action, Disconnect | EndEarly):
            return
    yield writer.chunk({}, finish=_natural_finish(answer, "tool_calls", "stop"))
    if answer.usage != "none":
        usage = answer.natural_usage(prompt_chars)
        yield writer.chunk(None, usage=openai_report(usage))
    yield b"data: [DONE]\n\n"


class _OpenAIChunkWriter:
    """Writes the chunks of one chat completion."""

    def __init__(self, answer: ModelAnswer, model: str, first_call: int) -> None:
        self._answer = answer
        self._model = model
        self._call_count = 0
        self._first_call_number = first_call

    def chunk(
        self,
        delta: dict[str, Any] | None,
        finish: str | None = None,
        usage: dict[str, Any] | None = None,
    ) -> bytes:
        if delta is None:
            choices = []
        else:
            choices = [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}]
        body: dict[str, Any] = {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": self._model,
            "choices": choices,
        }
        if usage is not None:
            body["usage"] = usage
        return _sse(body)

    def frames(self, action: Action) -> Iterator[Frame]:
        match action:
            case Say():
                for piece in self._answer.pieces(action.text):
                    yield self.chunk({"content": piece})
                if action.sources:
                    kind = "url_citation"
                    citations = [{"type": kind, kind: source} for source in action.sources]
                    yield self.chunk({"annotations": citations})
            case ProviderRun():
                raw = json.dumps(action.input)
                yield from self._call(ScriptedCall(action.tool, raw, action.id))
            case Think():
                for piece in self._answer.pieces(action.text):
                    yield self.chunk({"reasoning_content": piece})
            case ScriptedCall():
                yield from self._call(action)
            case Malformed():
                yield f"{action.line}\n\n".encode()
            case StreamError():
                yield _sse({"error": {"message": action.message, "code": action.code}})
            case _:
                yield action

    def _call(self, call: ScriptedCall) -> Iterator[Frame]:
        index, self._call_count = self._call_count, self._call_count + 1
        call_id = call.id or f"call_{self._first_call_number + index}"
        first = {"name": call.tool, "arguments": ""}
        head = {"index": index, "id": call_id, "type": "function", "function": first}
        yield self.chunk({"tool_calls": [head]})
        for piece in self._answer.pieces(call.raw):
            part = {"index": index, "function": {"arguments": piece}}
            yield self.chunk({"tool_calls": [part]})


def anthropic_frames(
    answer: ModelAnswer, model: str, prompt_chars: int, first_call: int = 1
) -> Iterator[Frame]:
    """Yield the frames of a messages stream; calls without an id count from ``first_call``."""
    usage = answer.natural_usage(prompt_chars)
    writer = _AnthropicBlockWriter(answer, first_call)
    usage_at_start = {
        "input_tokens": usage.input,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation_input_tokens": usage.cache_write,
        "output_tokens": 1,
    }
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage_at_start,
    }
    yield _sse({"type": "message_start", "message": message}, "message_start")
    for action in answer.actions:
        yield from writer.frames(action)
        if isinstance(action, Disconnect | EndEarly):
            return
    finish = _natural_finish(answer, "tool_use", "end_turn")
    end_event = {
        "type": "message_delta",
        "delta": {"stop_reason": finish, "stop_sequence": None},
        "usage": {"output_tokens": usage.output + usage.reasoning},
    }
    yield _sse(end_event, "message_delta")
    yield _sse({"type": "message_stop"}, "message_stop")


def anthropic_run_blocks(run: ProviderRun) -> list[dict[str, Any]]:
    """Return the blocks of a tool that Anthropic runs: its call, and its result where it has come."""
    call = {"type": run.kind, "id": run.id, "name": run.tool, "input": run.input}
    if run.kind == "mcp_tool_use":
        call["server_name"] = "scripted"
    result_prefix = "mcp" if run.kind == "mcp_tool_use" else run.tool
    result = {"type": f"{result_prefix}_tool_result", "tool_use_id": run.id, "content": run.result}
    return ([call] if run.kind else []) + ([result] if run.result is not None else [])


class _AnthropicBlockWriter:
    """Writes the content blocks of one message."""

    def __init__(self, answer: ModelAnswer, first_call: int) -> None:
        self._answer = answer
        self._block_index = -1
        self._call_count = first_call - 1

    def _start(self, block: dict[str, Any]) -> bytes:
        self._block_index += 1
        value = {"type": "content_block_start", "index": self._block_index, "content_block": block}
        return _sse(value, "content_block_start")

    def _delta(self, delta: dict[str, Any]) -> bytes:
        value = {"type": "content_block_delta", "index": self._block_index, "delta": delta}
        return _sse(value, "content_block_delta")

    def _stop(self) -> bytes:
        return _sse(
            {"type": "content_block_stop", "index": self._block_index}, "content_block_stop"
        )

    def frames(self, action: Action) -> Iterator[Frame]:
        match action:
            case Say():
                yield from self._say(action)
            case ProviderRun():
                yield from self._run(action)
            case Think():
                yield from self._think(action)
            case ScriptedCall():
                yield from self._call(action)
            case Malformed():
                yield f"{action.line}\n\n".encode()
            case StreamError():
                error = {"type": action.code, "message": action.message}
                yield _sse({"type": "error", "error": error}, "error")
            case _:
                yield action

    def _say(self, action: Say) -> Iterator[Frame]:
        yield self._start({"type": "text", "text": ""})
        for piece in self._answer.pieces(action.text):
            yield self._delta({"type": "text_delta", "text": piece})
        for source in action.sources:
            yield self._delta({"type": "citations_delta", "citation": source})
        yield self._stop()

    def _run(self, action: ProviderRun) -> Iterator[Frame]:
        for block in anthropic_run_blocks(action):
            input_json = json.dumps(block.get("input", {}))
            yield self._start({**block, "input": {}} if "input" in block else block)
            for piece in self._answer.pieces(input_json) if "input" in block else ():
                yield self._delta({"type": "input_json_delta", "partial_json": piece})
            yield self._stop()

    def _think(self, think: Think) -> Iterator[Frame]:
        if think.redacted is not None:
            yield self._start({"type": "redacted_thinking", "data": think.redacted})
            yield self._stop()
            return
        yield self._start({"type": "thinking", "thinking": "", "signature": ""})
        for piece in self._answer.pieces(think.text):
            yield self._delta({"type": "thinking_delta", "thinking": piece})
        if think.signature:
            yield self._delta({"type": "signature_delta", "signature": think.signature})
        yield self._stop()

    def _call(self, call: ScriptedCall) -> Iterator[Frame]:
        self._call_count += 1
        call_id = call.id or f"toolu_{self._call_count}"
        yield self._start({"type": "tool_use", "id": call_id, "name": call.tool, "input": {}})
        for piece in self._answer.pieces(call.raw):
            yield self._delta({"type": "input_json_delta", "partial_json": piece})
        yield self._stop()
