"""Read a block of a message's content in the form of Anthropic's messages, which several programs record."""

from collections.abc import Iterator
from typing import Any

from palimpsest.review.importing.json_fields import (
    identifier,
    inner,
    mappings,
    text,
    tool_input,
)
from palimpsest.review.importing.recorded import Call, Json, Media, Text, Thinking

AT_PROVIDER = frozenset({"server_tool_use", "mcp_tool_use"})


def block_part(block: Json) -> Text | Thinking | Media | Call | None:
    """Return a block as a part; None for one of another kind, such as a result."""
    match block.get("type"):
        case "text":
            return Text(text(block.get("text")))
        case "thinking":
            words = text(block.get("thinking"))
            signed = block.get("signature") or block.get("thinkingSignature")
            return Thinking(words, encrypted=bool(signed) and not words)
        case "redacted_thinking":
            return Thinking("", encrypted=True)
        case "tool_use" | "toolCall" | "server_tool_use" | "mcp_tool_use" as kind:
            return Call(
                identifier(block.get("id")),
                text(block.get("name")) or "unknown",
                tool_input(block.get("input", block.get("arguments"))),
                at_provider=kind in AT_PROVIDER,
            )
        case "image" | "document":
            kinds = (inner(block, "source", "media_type"), block.get("mimeType"))
            mime = next(filter(None, map(text, (*kinds, block.get("mediaType")))), "")
            data = text(block.get("data")) or text(inner(block, "source", "data"))
            name = text(block.get("title")) or None
            return Media(mime or "application/octet-stream", data or None, name)
        case _:
            return None


def content_parts(content: Any) -> Iterator[Text | Thinking | Media | Call]:
    """Yield the parts of a message, whose content may be a text."""
    if isinstance(content, str):
        yield Text(text(content))
    else:
        yield from filter(None, map(block_part, mappings(content)))


def said_parts(content: Any) -> tuple[Text | Media, ...]:
    """Return the texts, images and files of a message."""
    return tuple(one for one in content_parts(content) if isinstance(one, Text | Media))
