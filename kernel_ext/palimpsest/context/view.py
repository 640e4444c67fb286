"""What a projection starts from: the messages, the decisions, and the texts kept in blobs."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from palimpsest.transcript.decisions import Decision
from palimpsest.transcript.messages import Messages
from palimpsest.transcript.parts import Part, ToolCompleted, ToolPart


@dataclass(frozen=True, slots=True)
class View:
    """A session at one moment, ready to be projected."""

    messages: Messages
    decisions: tuple[Decision, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    """Whole texts by sha256, for parts whose output is kept as a blob."""


def whole_output(part: Part, texts: Mapping[str, str]) -> str:
    """Return all that a completed call returned; the log's head and tail where the blob is gone."""
    match part:
        case ToolPart(state=ToolCompleted(blob=None, output=output)):
            return output
        case ToolPart(state=ToolCompleted(blob=blob, output=output)) if blob is not None:
            return texts.get(blob.sha256, output)
        case _:
            return ""


def blobs_needed(messages: Messages) -> dict[str, str | None]:
    """Name the blobs that a projection of these messages needs.

    The value is None for text, and the MIME type for an attachment, whose text in
    ``View.texts`` is a ``data:`` url.
    """
    found: dict[str, str | None] = {}
    for message in messages:
        for part in message.parts:
            match part:
                case ToolPart(state=ToolCompleted(blob=blob, attachments=attachments)):
                    if blob is not None:
                        found[blob.sha256] = None
                    for attachment in attachments:
                        if attachment.url.startswith("blob:"):
                            found[attachment.url.removeprefix("blob:")] = attachment.mime
                case _:
                    pass
    return found
