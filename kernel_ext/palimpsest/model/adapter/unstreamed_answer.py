"""Check that a response with status 200 is the requested stream, or convert it to one.

A stream passes unchanged. Some servers ignore ``stream`` and send the whole answer at once: it is
rewritten as the events of a stream in the same format for litellm. An error, a web page or anything else
is raised as ``NotAStream`` with the server's text.
"""

import json
import re
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterator
from contextlib import aclosing
from typing import Any

from palimpsest.model.errors.exception_details import NotAStream
from palimpsest.model.wire.server_events import MAX_EVENT_BYTES

LINE_BEGINNINGS = ("data", "event", "id", "retry", ":")
"""Beginnings of the lines of an event stream."""
BYTE_ORDER_MARK = "\ufeff"
"""The byte order mark that some servers send first."""
MIN_RECOGNISABLE_CHARS = 8
"""Fewest characters of the first line that are enough to recognise a stream."""
END_MARKER = re.compile(rb"data: ?\[DONE\]\s*$")
"""The end marker of a stream that was not cut."""
MAX_END_BYTES = 64
"""Number of newest bytes in which the end marker is looked for."""
IGNORED_LINE_BEGINNINGS = (b":", b"id:", b"retry:")
"""Beginnings of lines without content of the answer."""


def is_stream(first_bytes: bytes) -> bool:
    """Return whether the first bytes of an answer are enough to show that it is an event stream."""
    text = first_bytes.decode("utf-8", "ignore").lstrip(BYTE_ORDER_MARK).lstrip()
    return begins_stream(text) and (len(text) >= MIN_RECOGNISABLE_CHARS or "\n" in text)


def begins_stream(text: str) -> bool:
    """Return whether a text is the beginning of an event stream.

    >>> begins_stream("data: {"), begins_stream(": ping"), begins_stream('{"error": 1}')
    (True, True, False)
    """
    return text.lstrip(BYTE_ORDER_MARK).lstrip().startswith(LINE_BEGINNINGS)


async def checked_bytes(
    chunks: AsyncIterable[bytes], response: Any = None, on_end: Callable[[], None] = lambda: None
) -> AsyncGenerator[bytes, None]:
    """Yield the bytes of a stream, or of an unstreamed answer rewritten as one; raises NotAStream for anything else.

    ``on_end`` is called when the stream's end marker arrives.
    """
    pending_bytes = b""
    last_bytes = b""
    is_a_stream = False
    async for chunk in chunks:
        last_bytes = (last_bytes + chunk)[-MAX_END_BYTES:]
        if END_MARKER.search(last_bytes):
            on_end()
        pending_bytes += chunk
        is_a_stream = is_a_stream or is_stream(pending_bytes)
        if is_a_stream:
            lines, pending_bytes = _complete_lines(pending_bytes)
            yield lines
        elif len(pending_bytes) > MAX_EVENT_BYTES:
            break
    if is_a_stream:
        yield pending_bytes
        return
    text = pending_bytes.decode("utf-8", "replace")
    if text.strip():
        for line in stream_lines(text, response):
            yield f"{line}\n".encode()


def _complete_lines(received_bytes: bytes) -> tuple[bytes, bytes]:
    """Return the complete lines, and the incomplete rest.

    Event ids, retry delays and comments are left out: after an id, OpenAI's client takes each empty
    line as an event without data, and fails.
    """
    complete, end, rest = received_bytes.rpartition(b"\n")
    lines = (line for line in complete.split(b"\n") if not line.startswith(IGNORED_LINE_BEGINNINGS))
    return (b"\n".join(lines) + end if end else b""), rest


async def checked_lines(lines: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
    """Yield the lines of a stream, or of an unstreamed answer rewritten as one; raises NotAStream for anything else."""
    unchecked_lines: list[str] = []
    is_a_stream = False
    async with aclosing(lines):
        async for line in lines:
            if not isinstance(line, str):
                is_a_stream = True
            if not is_a_stream and not unchecked_lines and line.strip():
                is_a_stream = begins_stream(line) or _is_line_of_objects(line)
            if is_a_stream or not (unchecked_lines or line.strip()):
                yield line
                continue
            unchecked_lines.append(line)
        if unchecked_lines:
            for line in stream_lines("\n".join(unchecked_lines)):
                yield line


def stream_lines(text: str, response: Any = None) -> Iterator[str]:
    """Return an unstreamed answer as the lines of an equivalent stream."""
    value = _parsed_json(text)
    if isinstance(value, dict) and isinstance(value.get("choices"), list) and value["choices"]:
        return _openai_lines(value)
    if isinstance(value, dict) and isinstance(value.get("content"), list):
        return (line for event in _anthropic_events(value) for line in _named_event_lines(event))
    answers = value if isinstance(value, list) else [value]
    if answers and all(isinstance(answer, dict) and "candidates" in answer for answer in answers):
        return (line for answer in answers for line in _event_lines(answer))
    raise NotAStream(text, response)


def _parsed_json(text: str) -> Any:
    try:
        return json.loads(text.lstrip(BYTE_ORDER_MARK))
    except (ValueError, RecursionError):
        return None


def _is_line_of_objects(line: str) -> bool:
    """Return whether a line belongs to a stream with one JSON object in each line, such as Ollama's."""
    value = _parsed_json(line)
    return isinstance(value, dict) and "done" in value and "error" not in value


def _event_lines(value: Any) -> list[str]:
    return [f"data: {value if isinstance(value, str) else json.dumps(value)}", ""]


def _named_event_lines(event: dict[str, Any]) -> list[str]:
    return [f"event: {event['type']}", *_event_lines(event)]


def _openai_lines(value: dict[str, Any]) -> Iterator[str]:
    choice = value["choices"][0]
    message = dict(choice.get("message") or choice.get("delta") or {"content": choice.get("text")})
    calls = message.get("tool_calls")
    if isinstance(calls, list):
        message["tool_calls"] = [{"index": index, **call} for index, call in enumerate(calls)]
    chunk = {name: value.get(name) for name in ("id", "created", "model")}
    chunk["object"] = "chat.completion.chunk"
    finish = choice.get("finish_reason") or "stop"
    yield from _event_lines(chunk | {"choices": [{"index": 0, "delta": message}]})
    last_choice = {"index": 0, "delta": dict[str, Any](), "finish_reason": finish}
    yield from _event_lines({**chunk, "choices": [last_choice]})
    if value.get("usage"):
        yield from _event_lines(chunk | {"choices": [], "usage": value["usage"]})
    yield from _event_lines("[DONE]")


def _anthropic_events(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    first_message = {**value, "content": [], "stop_reason": None}
    yield {"type": "message_start", "message": first_message}
    for index, block in enumerate(value["content"]):
        start, deltas = _start_and_deltas(block)
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": value.get("stop_reason") or "end_turn", "stop_sequence": None},
        "usage": value.get("usage") or {},
    }
    yield {"type": "message_stop"}


def _start_and_deltas(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return a block of an answer as its start and the deltas that are added to it."""
    match block.get("type"):
        case "text":
            delta = {"type": "text_delta", "text": block.get("text") or ""}
            return {"type": "text", "text": ""}, [delta]
        case "thinking":
            thought = {"type": "thinking_delta", "thinking": block.get("thinking") or ""}
            signed = {"type": "signature_delta", "signature": block.get("signature") or ""}
            return {"type": "thinking", "thinking": "", "signature": ""}, [thought, signed]
        case "tool_use":
            input_json = json.dumps(block.get("input") or {})
            input_delta = {"type": "input_json_delta", "partial_json": input_json}
            return {**block, "input": {}}, [input_delta]
        case _:
            return block, []
