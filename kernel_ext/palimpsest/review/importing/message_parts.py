"""Make parts and fields of our messages from recorded ones.

Border: pure; values in, values out.
"""

import re
from typing import Any, TypeVar

from palimpsest.review.importing.open_calls import data_url
from palimpsest.review.importing.recorded import Call, Media, MessageRead, Text, Thinking
from palimpsest.transcript.errors import AbortedError, ErrorValue, UnknownError
from palimpsest.transcript.messages import AssistantMessage, UserMessage
from palimpsest.transcript.parts import FilePart, Part, ReasoningPart, Span, TextPart
from palimpsest.transcript.values import ModelRef

Info = TypeVar("Info", UserMessage, AssistantMessage)

IMPORTED = "imported"
"""Key of what is known of the origin: in the metadata of a session, and as an extra field of its messages."""
TITLE_CHARS = 80
UNKNOWN = "unknown"
_TAG = re.compile(r"</?[a-z]+(?:-[a-z]+)+>")
"""Tags that a program puts around a command, such as ``<command-name>``; they are no words of a title."""
NOTHING_SAID = "The recording does not say what went wrong."


def part_of(
    value: Text | Thinking | Media,
    base: dict[str, Any],
    time: int,
    *,
    synthetic: bool = False,
) -> Part:
    """Return a part of a message; ``base`` holds its ids, ``time`` is that of its message."""
    match value:
        case Text():
            return TextPart(**base, text=value.text, synthetic=synthetic or value.synthetic)
        case Thinking():
            known = {"encrypted": value.encrypted or None, "tokens": value.tokens}
            said = {name: one for name, one in known.items() if one is not None}
            metadata = {IMPORTED: said} if said else None
            span = Span(start=time, end=time)
            return ReasoningPart(**base, text=value.text, time=span, metadata=metadata)
        case Media(data=None):
            # A part that the model is not shown: what it saw here is not in the recording.
            named = f"[{value.name or value.mime}, which is not in the recording]"
            media = {"media": value.mime, "name": value.name}
            return TextPart(**base, text=named, ignored=True, metadata={IMPORTED: media})
        case Media():
            return FilePart(**base, mime=value.mime, filename=value.name, url=data_url(value))


def model_ref(name: str) -> ModelRef:
    """Return a recorded model's name as a reference; a part that is not recorded is ``unknown``."""
    provider, slash, model = name.partition("/")
    if not slash:
        return ModelRef(provider=UNKNOWN, name=name or UNKNOWN)
    return ModelRef(provider=provider or UNKNOWN, name=model or UNKNOWN)


def marked(info: Info, recorded: str, *, timed: bool, **said: Any) -> Info:
    """Return a message's info with the id of its recording, and what else is known of it."""
    note: dict[str, Any] = {"id": recorded, **({} if timed else {"timed": False})}
    note |= {name: one for name, one in said.items() if one is not None}
    return info.model_copy(update={IMPORTED: note})


def title_of(value: MessageRead) -> str:
    """Return the beginning of what the user wrote."""
    words = " ".join(
        part.text for part in value.parts if isinstance(part, Text) and not part.synthetic
    )
    words = _TAG.sub(" ", words[: TITLE_CHARS * 10])
    line = " ".join(words.split())
    return line if len(line) <= TITLE_CHARS else f"{line[: TITLE_CHARS - 1]}…"


def error_of(value: MessageRead) -> ErrorValue | None:
    """Return how an answer failed; None where it did not."""
    if value.finish == "aborted":
        return AbortedError(message=value.error) if value.error else AbortedError()
    if value.finish == "error" or value.error:
        return UnknownError(message=value.error or NOTHING_SAID)
    return None


def finish_of(value: MessageRead) -> str | None:
    """Return how an answer ended, by its content where that is not recorded; None for a stopped one."""
    if value.finish == "aborted":
        return None
    if value.finish:
        return value.finish
    if value.error:
        return "error"
    return "tool-calls" if any(isinstance(part, Call) for part in value.parts) else "stop"
