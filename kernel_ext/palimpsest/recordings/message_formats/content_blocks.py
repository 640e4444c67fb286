"""Convert content blocks in the form of Anthropic's messages, which several programs record, into parts."""

from collections.abc import Iterator
from typing import Any

from palimpsest.recordings.reading.json_fields import JsonValue
from palimpsest.recordings.reading.recorded import Call, Media, MessagePart, Text, Thinking

PROVIDER_CALL_TYPES = frozenset({"server_tool_use", "mcp_tool_use"})


def block_part(block: JsonValue) -> MessagePart | None:
    """Return a block as a part; None for a block of another type, such as a result."""
    match block.get("type"):
        case "text":
            return Text(block.text("text"))
        case "thinking":
            thought = block.text("thinking")
            signature = block.get("signature") or block.get("thinkingSignature")
            return Thinking(thought, encrypted=bool(signature) and not thought)
        case "redacted_thinking":
            return Thinking("", encrypted=True)
        case "tool_use" | "toolCall" | "server_tool_use" | "mcp_tool_use" as block_type:
            return Call(
                block.id("id"),
                block.text("name") or "unknown",
                block.either("input", "arguments").tool_input(),
                at_provider=block_type in PROVIDER_CALL_TYPES,
            )
        case "image" | "document":
            mime = block.text("source", "media_type") or block.text("mimeType")
            mime = mime or block.text("mediaType") or "application/octet-stream"
            data = block.text("data") or block.text("source", "data")
            name = block.text("title") or None
            return Media(mime, data or None, name)
        case _:
            return None


def content_parts(content: Any) -> Iterator[MessagePart]:
    """Yield the parts of a message, whose content may be a text."""
    if isinstance(content, str):
        yield Text(JsonValue(content).text())
    else:
        yield from filter(None, map(block_part, JsonValue(content).objects()))


def texts_and_media(content: Any) -> tuple[Text | Media, ...]:
    """Return the texts, images and files of a message's content."""
    return tuple(part for part in content_parts(content) if isinstance(part, Text | Media))
