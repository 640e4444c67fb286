"""Turn a scripted answer into the bytes of Gemini's streaming format.

Pure, like ``openai_anthropic_wire``. Gemini streams whole parts: texts, thoughts and function calls, each
in a response of its own; the finish reason and the usage are in the last one.
"""

import json
from collections.abc import Iterator
from typing import Any

from palimpsest.model.script import (
    Action,
    Disconnect,
    EndEarly,
    Failure,
    Malformed,
    ModelAnswer,
    ProviderRun,
    Say,
    ScriptedCall,
    StreamError,
    Think,
)
from palimpsest.testing.openai_anthropic_wire import Frame
from palimpsest.transcript.values import Usage

STATUS_NAMES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}


def gemini_error(failure: Failure) -> bytes:
    """Return the body of an error response in Gemini's format."""
    error = {
        "code": failure.status,
        "message": failure.message,
        "status": failure.code or STATUS_NAMES.get(failure.status, "UNKNOWN"),
    }
    return json.dumps({"error": error}).encode()


def gemini_frames(
    answer: ModelAnswer, model: str, prompt_chars: int, _first_call: int = 1
) -> Iterator[Frame]:
    """Yield the frames of a ``streamGenerateContent`` response."""
    for action in answer.actions:
        yield from _action_frames(answer, action, model)
        if isinstance(action, Disconnect | EndEarly):
            return
    usage = _usage_fields(answer.natural_usage(prompt_chars))
    yield _sse([], model, finish=answer.finish or "STOP", usage=usage)


def _action_frames(answer: ModelAnswer, action: Action, model: str) -> Iterator[Frame]:
    match action:
        case Say():
            yield from (_sse([{"text": piece}], model) for piece in answer.pieces(action.text))
            if action.sources:
                chunks = [{"web": {"uri": o["url"], "title": o["title"]}} for o in action.sources]
                yield _sse([], model, grounding={"groundingChunks": chunks})
        case ProviderRun():
            # The parts of code that Gemini runs, and its printed output.
            code = {"language": "PYTHON", "code": str(action.input.get("code", ""))}
            yield _sse([{"executableCode": code}], model)
            output = {"outcome": "OUTCOME_OK", "output": action.result}
            yield _sse([{"codeExecutionResult": output}], model)
        case Think():
            for piece in answer.pieces(action.text):
                yield _sse([{"text": piece, "thought": True}], model)
        case ScriptedCall():
            yield _sse([_call_part(action, answer)], model)
        case Malformed():
            yield f"{action.line}\n\n".encode()
        case StreamError():
            failure = Failure(500, action.message)
            yield b"data: " + gemini_error(failure) + b"\n\n"
        case _:
            yield action


def _call_part(call: ScriptedCall, answer: ModelAnswer) -> dict[str, Any]:
    try:
        arguments = json.loads(call.raw)
    except ValueError:
        # Gemini sends arguments as objects, so incomplete JSON can only become an empty one.
        arguments = {}
    function_call: dict[str, Any] = {"name": call.tool, "args": arguments}
    if call.id:
        function_call["id"] = call.id
    thoughts = (action for action in answer.actions if isinstance(action, Think))
    signatures = [thought.signature for thought in thoughts if thought.signature]
    first_call = next(action for action in answer.actions if isinstance(action, ScriptedCall))
    part: dict[str, Any] = {"functionCall": function_call}
    if signatures and call is first_call:
        part["thoughtSignature"] = signatures[-1]
    return part


def _usage_fields(usage: Usage) -> dict[str, Any]:
    return {
        "promptTokenCount": usage.prompt,
        "candidatesTokenCount": usage.output,
        "thoughtsTokenCount": usage.reasoning,
        "cachedContentTokenCount": usage.cache_read,
        "totalTokenCount": usage.prompt + usage.output + usage.reasoning,
    }


def _sse(
    parts: list[dict[str, Any]],
    model: str,
    finish: str | None = None,
    usage: dict[str, Any] | None = None,
    grounding: dict[str, Any] | None = None,
) -> bytes:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if grounding is not None:
        candidate["groundingMetadata"] = grounding
    if finish is not None:
        candidate["finishReason"] = finish
    value: dict[str, Any] = {"candidates": [candidate], "modelVersion": model}
    if usage is not None:
        value["usageMetadata"] = usage
    return f"data: {json.dumps(value)}\n\n".encode()
