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
_PIECE_BYTES = 1 << 16
MAX_BLANK_BYTES = 64
"""Maximum bytes at a stream's beginning in which its first field is searched after blanks."""
BROKEN_STREAM = "an event of its stream is no JSON"
_STREAM_STARTS = (b"data:", b"event:", b"id:", b"retry:", b":")
RESPONSE_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})


@dataclass(frozen=True, slots=True)
class WholeAnswer:
    """An answer as one document."""

    document: JsonValue = NO_VALUE
    is_whole: bool = True
    """Whether the provider's last event was read."""
    error: str = ""
    """The error that an event reported; empty where none did."""


def is_event_stream(content: bytes) -> bool:
    """Return whether a body begins like a stream of server-sent events."""
    return content[:MAX_BLANK_BYTES].lstrip(b"\xef\xbb\xbf \r\n").startswith(_STREAM_STARTS)


def stream_events(content: bytes) -> Iterator[Any]:
    """Yield the events of a stream; raises UnreadableBody where one is no JSON or too large."""
    decoder, built_size = EventDecoder(), BuiltSize()
    pieces = (
        content[start : start + _PIECE_BYTES] for start in range(0, len(content), _PIECE_BYTES)
    )
    try:
        for piece in pieces:
            built_size.add(piece)
            yield from decoder.decode_piece(piece)
        yield from decoder.decode_rest()
    except BuildsTooMuch as error:
        raise UnreadableBody(too_large(error)) from error
    except (ValueError, RecursionError) as error:
        raise UnreadableBody(BROKEN_STREAM) from error


@dataclass(slots=True)
class _JoinedTexts:
    """One block, message or call whose texts arrive in pieces."""

    fields: Json
    pieces_by_field: dict[str, list[str]] = field(default_factory=dict)

    def add_piece(self, field_name: str, piece: Any) -> None:
        if isinstance(piece, str) and piece:
            self.pieces_by_field.setdefault(field_name, []).append(piece)

    def joined_fields(self) -> Json:
        """Return the fields with their texts joined."""
        beginnings = {f: JsonValue(self.fields).text(f) for f in self.pieces_by_field}
        joined_texts = {
            field_name: beginnings[field_name] + "".join(pieces)
            for field_name, pieces in self.pieces_by_field.items()
        }
        return {**self.fields, **joined_texts}


_FIELD_OF_DELTA = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "input_json_delta": "partial_json",
}


def anthropic_answer(events: Iterable[Any]) -> WholeAnswer:
    """Return the message that Anthropic's events form."""
    message, blocks, usage = Json(), dict[int, _JoinedTexts](), Json()
    is_whole, error = False, ""
    for event in map(JsonValue, events):
        match event.get("type"):
            case "message_start":
                message = event.fields("message")
                usage = {**JsonValue(message).fields("usage")}
            case "content_block_start" if len(blocks) < MAX_BLOCKS:
                blocks[event.count("index")] = _JoinedTexts(event.fields("content_block"))
            case "content_block_delta" if block := blocks.get(event.count("index")):
                delta = event.at("delta")
                if field_name := _FIELD_OF_DELTA.get(delta.text("type")):
                    block.add_piece(field_name, delta.get(field_name))
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
    """Return the completion that OpenAI's chunks form."""
    document, calls = Json(), dict[int, _JoinedTexts]()
    message = _JoinedTexts({"role": "assistant"})
    finish, error = "", ""
    for chunk in map(JsonValue, events):
        error = error or chunk.text("error", "message")
        for field_name in ("id", "model", "usage", "service_tier"):
            if chunk.get(field_name) is not None:
                document[field_name] = chunk.get(field_name)
        choice = chunk.first_entry("choices")
        finish = choice.text("finish_reason") or finish
        delta = choice.at("delta")
        for field_name in ("content", "reasoning_content", "reasoning", "refusal"):
            message.add_piece(field_name, delta.get(field_name))
        for position, call in enumerate(delta.objects("tool_calls")):
            index = call.integer("index")
            index = position if index is None else index
            if index not in calls and len(calls) < MAX_BLOCKS:
                calls[index] = _JoinedTexts(
                    {"id": call.get("id"), "name": call.get("function", "name")}
                )
            if index in calls:
                calls[index].add_piece("arguments", call.get("function", "arguments"))
    if not document and not message.pieces_by_field and not calls:
        return WholeAnswer(NO_VALUE, is_whole=False, error=error)
    answer = message.joined_fields()
    if calls:
        joined_calls = [calls[index].joined_fields() for index in sorted(calls)]
        answer["tool_calls"] = [
            {
                "id": call_fields["id"],
                "function": {
                    "name": call_fields["name"],
                    "arguments": call_fields.get("arguments"),
                },
            }
            for call_fields in joined_calls
        ]
    document["choices"] = [{"message": answer, "finish_reason": finish}]
    return WholeAnswer(JsonValue(document), bool(finish), error)


def responses_answer(events: Iterable[Any]) -> WholeAnswer:
    """Return the response that OpenAI's events form; some servers leave the output out of the last event."""
    response, items, is_whole, error = Json(), dict[int, Json](), False, ""
    for event in map(JsonValue, events):
        event_type = event.get("type")
        if event_type == "response.created":
            response = event.fields("response")
        elif event_type == "response.output_item.done" and len(items) < MAX_BLOCKS:
            items[event.count("output_index")] = event.fields("item")
        elif event_type in RESPONSE_ENDS:
            response, is_whole = event.fields("response"), True
        elif event_type == "error":
            error = event.text("message") or event.text("error", "message")
    if not response and not items:
        return WholeAnswer(NO_VALUE, is_whole=False, error=error)
    if items and not response.get("output"):
        response = {**response, "output": [items[index] for index in sorted(items)]}
    return WholeAnswer(JsonValue(response), is_whole, error)


def gemini_answer(events: Iterable[Any]) -> WholeAnswer:
    """Return the answer that Gemini's chunks form: the parts of the first candidate, one after the other."""
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
