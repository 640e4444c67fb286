"""Read the chunks of OpenAI's chat completions, in the dialects that servers speak.

A chunk that is not in the format raises TypeError, which is reported as an unreadable stream; unknown fields are
ignored. Border: pure; chunks in, deltas out; finish and usage go into the tap.
"""

from typing import Any

from palimpsest.model.adapter.raw_stream import StreamTap
from palimpsest.model.direct.deltas import CallPiece, Delta, Function
from palimpsest.model.errors.exception_details import StreamedError


def openai_delta(chunk: Any, tap: StreamTap) -> Delta | None:
    """Return the delta that a chunk adds to the answer; None for an empty one.

    Raises StreamedError for an error that the server sent in its stream.
    """
    if not isinstance(chunk, dict):
        raise TypeError("A chunk is no object.")
    if chunk.get("error"):
        raise StreamedError(chunk["error"])
    usage = chunk.get("usage")
    if usage is not None:
        tap.usage = usage
    tap.provider_calls.read_chunk(chunk)
    choices = chunk.get("choices")
    if not choices:
        if choices is None and isinstance(chunk.get("message"), str):
            # An error without the field for errors, as vLLM sends it.
            raise StreamedError(chunk)
        return None
    choice = choices[0]
    if not isinstance(choices, list) or not isinstance(choice, dict):
        raise TypeError("The choices of a chunk are no objects.")
    finish = choice.get("finish_reason")
    if finish:
        tap.finish = str(finish)
    delta = choice.get("delta")
    if isinstance(delta, dict):
        return _delta(delta)
    if finish and delta is None:
        return None
    raise TypeError("A choice has no delta.")


def _delta(delta: dict[str, Any]) -> Delta:
    calls = delta.get("tool_calls") or None
    if calls and not isinstance(calls, list):
        raise TypeError("The calls of a chunk are no list.")
    old_call = delta.get("function_call")
    reasoning = delta.get("reasoning_content") or delta.get("reasoning")
    content = delta.get("content")
    if isinstance(content, list):
        content, thinking_text = _part_texts(content)
        reasoning = reasoning or thinking_text
    return Delta(
        content,
        reasoning_content=reasoning,
        thinking_blocks=_thinking_blocks(delta.get("thinking_blocks")),
        tool_calls=calls and [_piece(call) for call in calls],
        function_call=_function(old_call) if isinstance(old_call, dict) else None,
        refusal=delta.get("refusal"),
    )


def _part_texts(content: list[Any]) -> tuple[str, str]:
    """Return the text and the thinking in a content that some servers send as a list of parts."""
    answer_texts, thinking_texts = [], []
    for part in content:
        if not isinstance(part, dict):
            continue
        thinking_part = part.get("thinking")
        if isinstance(thinking_part, list):
            thinking_texts.append(_part_texts(thinking_part)[0])
        elif isinstance(thinking_part, str):
            thinking_texts.append(thinking_part)
        elif isinstance(part.get("text"), str):
            answer_texts.append(part["text"])
    return "".join(answer_texts), "".join(thinking_texts)


def _thinking_blocks(blocks: Any) -> Any:
    """Return the signed thinking that a gateway passes on from Claude."""
    is_valid = isinstance(blocks, list) and all(isinstance(item, dict) for item in blocks)
    return blocks if is_valid else None


def _piece(call: Any) -> CallPiece:
    index = call.get("index") if isinstance(call, dict) else "none"
    if index is not None and not isinstance(index, int):
        raise TypeError("A piece of a call cannot be read.")
    function = call.get("function")
    stated_function = _function(function) if isinstance(function, dict) else None
    return CallPiece(index, call.get("id"), call.get("type"), stated_function)


def _function(function: dict[str, Any]) -> Function:
    return Function(function.get("name"), function.get("arguments"))
