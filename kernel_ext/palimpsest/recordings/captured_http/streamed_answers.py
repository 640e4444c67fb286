"""Put the events of a streamed answer together as the document that the provider sends without streaming.

The events are those of Anthropic's messages, OpenAI's chat completions and responses, and Gemini. Every function takes
events of any shape and never raises; ``is_whole`` is whether the provider's last event was among them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from palimpsest.model.wire.server_events import EventDecoder
from palimpsest.recordings.captured_http.exchanges import UnreadableBody, too_large
from palimpsest.recordings.reading.json_fields import NO_VALUE, JsonValue
from palimpsest.recordings.reading.recorded import Json
from palimpsest.store.bounded_json import BuildsTooMuch, BuiltSize

MAX_BLOCKS = 10_000
"""Maximum blocks, calls or items of one answer; those of real answers come to a few dozen."""
_PIECE_CHARS = 1 << 16
BROKEN_STREAM = "an event of its stream is no JSON"
_STREAM_HEADS = (b"data:", b"event:", b"id:", b"retry:", b":")
RESPONSE_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})


@dataclass(frozen=True, slots=True)
class WholeAnswer:
    """An answer as one document."""

    document: JsonValue = NO_VALUE
    is_whole: bool = True
    error: str = ""


def is_event_stream(content: bytes) -> bool:
    """Return whether a body begins like a stream of server-sent events."""
    return content[:64].lstrip(b"\xef\xbb\xbf \r\n").startswith(_STREAM_HEADS)


def stream_events(content: bytes) -> Iterator[Any]:
    """Yield the events of a stream; raises UnreadableBody where one is no JSON or too large."""
    decoder, size = EventDecoder(), BuiltSize()
    pieces = (content[at : at + _PIECE_CHARS] for at in range(0, len(content), _PIECE_CHARS))
    try:
        for piece in pieces:
            size.add(piece)
            yield from decoder.decode_piece(piece)
        yield from decoder.decode_rest()
    except BuildsTooMuch as error:
        raise UnreadableBody(too_large(error)) from error
    except (ValueError, RecursionError) as error:
        raise UnreadableBody(BROKEN_STREAM) from error


@dataclass(slots=True)
class _Pieces:
    """One block, message or call whose texts arrive in pieces."""

    fields: Json
    texts: dict[str, list[str]] = field(default_factory=dict)

    def add_piece(self, name: str, piece: Any) -> None:
        if isinstance(piece, str) and piece:
            self.texts.setdefault(name, []).append(piece)

    def joined_fields(self) -> Json:
        """Return the fields with their texts joined."""
        beginnings = {name: JsonValue(self.fields).text(name) for name in self.texts}
        joined = {name: beginnings[name] + "".join(texts) for name, texts in self.texts.items()}
        return {**self.fields, **joined}


_ANTHROPIC_TEXTS = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "input_json_delta": "partial_json",
}


def anthropic_answer(events: Iterable[Any]) -> WholeAnswer:
    """Return the message of Anthropic's events."""
    message, blocks, usage = Json(), dict[int, _Pieces](), Json()
    is_whole, error = False, ""
    for event in map(JsonValue, events):
        match event.get("type"):
            case "message_start":
                message = event.fields("message")
                usage = {**JsonValue(message).fields("usage")}
            case "content_block_start" if len(blocks) < MAX_BLOCKS:
                blocks[event.count("index")] = _Pieces(event.fields("content_block"))
            case "content_block_delta" if block := blocks.get(event.count("index")):
                delta = event.at("delta")
                if name := _ANTHROPIC_TEXTS.get(delta.text("type")):
                    block.add_piece(name, delta.get(name))
            case "message_delta":
                message = {**message, **event.fields("delta")}
                usage |= {
                    name: count
                    for name, count in event.fields("usage").items()
                    if count is not None
                }
            case "message_stop":
                is_whole = True
            case "error":
                error = event.text("error", "message") or event.as_text("error")
            case _:
                error = error or event.text("error", "message")
    content = [_with_input(blocks[index].joined_fields()) for index in sorted(blocks)]
    document = {**message, "content": content, "usage": usage} if message or content else None
    return WholeAnswer(JsonValue(document), is_whole, error)


def _with_input(block: Json) -> Json:
    """Return a block with the input of its call, which arrives as pieces of JSON."""
    text = block.pop("partial_json", None)
    return block if text is None else {**block, "input": text}


def chat_answer(events: Iterable[Any]) -> WholeAnswer:
    """Return the completion of OpenAI's chunks."""
    document, message, calls = Json(), _Pieces({"role": "assistant"}), dict[int, _Pieces]()
    finish, error = "", ""
    for chunk in map(JsonValue, events):
        error = error or chunk.text("error", "message")
        for name in ("id", "model", "usage", "service_tier"):
            if chunk.get(name) is not None:
                document[name] = chunk.get(name)
        choice = chunk.first_entry("choices")
        finish = choice.text("finish_reason") or finish
        delta = choice.at("delta")
        for name in ("content", "reasoning_content", "reasoning", "refusal"):
            message.add_piece(name, delta.get(name))
        for position, call in enumerate(delta.objects("tool_calls")):
            index = call.integer("index")
            index = position if index is None else index
            if index not in calls and len(calls) < MAX_BLOCKS:
                calls[index] = _Pieces({"id": call.get("id"), "name": call.get("function", "name")})
            if index in calls:
                calls[index].add_piece("arguments", call.get("function", "arguments"))
    if not document and not message.texts and not calls:
        return WholeAnswer(NO_VALUE, is_whole=False, error=error)
    answer = message.joined_fields()
    if calls:
        parts = [calls[index].joined_fields() for index in sorted(calls)]
        answer["tool_calls"] = [
            {
                "id": part["id"],
                "function": {"name": part["name"], "arguments": part.get("arguments")},
            }
            for part in parts
        ]
    document["choices"] = [{"message": answer, "finish_reason": finish}]
    return WholeAnswer(JsonValue(document), bool(finish), error)


def responses_answer(events: Iterable[Any]) -> WholeAnswer:
    """Return the response of OpenAI's events; some servers leave the output out of the last one."""
    response, items, is_whole, error = Json(), dict[int, Json](), False, ""
    for event in map(JsonValue, events):
        kind = event.get("type")
        if kind == "response.created":
            response = event.fields("response")
        elif kind == "response.output_item.done" and len(items) < MAX_BLOCKS:
            items[event.count("output_index")] = event.fields("item")
        elif kind in RESPONSE_ENDS:
            response, is_whole = event.fields("response"), True
        elif kind == "error":
            error = event.text("message") or event.text("error", "message")
    if not response and not items:
        return WholeAnswer(NO_VALUE, is_whole=False, error=error)
    if items and not response.get("output"):
        response = {**response, "output": [items[index] for index in sorted(items)]}
    return WholeAnswer(JsonValue(response), is_whole, error)


def gemini_answer(events: Iterable[Any]) -> WholeAnswer:
    """Return the answer of Gemini's chunks: the parts of the first candidate, one after the other."""
    document, parts, finish, error = Json(), list[Json](), "", ""
    for event in map(JsonValue, events):
        chunk = event.at("response") or event
        error = error or chunk.text("error", "message")
        document |= {name: value for name, value in chunk.fields().items() if name != "candidates"}
        candidate = chunk.first_entry("candidates")
        finish = candidate.text("finishReason") or finish
        parts += [part.fields() for part in candidate.objects("content", "parts")]
        del parts[MAX_BLOCKS:]
    if not parts and not document:
        return WholeAnswer(NO_VALUE, is_whole=False, error=error)
    candidate_fields = {"content": {"role": "model", "parts": parts}, "finishReason": finish}
    return WholeAnswer(
        JsonValue({**document, "candidates": [candidate_fields]}), bool(finish), error
    )
