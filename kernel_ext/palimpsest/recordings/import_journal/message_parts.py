"""Convert the parts and fields of recorded messages into those of Palimpsest's messages.

Border: pure; values in, values out.
"""

import re
from functools import lru_cache
from typing import Any

from palimpsest.recordings.import_journal.open_calls import data_url
from palimpsest.recordings.reading.recorded import Call, Media, MessageRead, Text, Thinking
from palimpsest.transcript.errors import AbortedError, ErrorValue, UnknownError
from palimpsest.transcript.parts import FilePart, Part, ReasoningPart, Span, TextPart
from palimpsest.transcript.values import ModelRef

IMPORT_NOTE_KEY = "imported"
"""Key of the notes about the recording, in a session's metadata and as an extra field of its messages."""
MAX_TITLE_CHARS = 80
MAX_SEARCHED_CHARS = 10 * MAX_TITLE_CHARS
"""Maximum characters of a user's text from which a title is made: tags in it are left out."""
UNKNOWN_NAME = "unknown"
_TAG_PATTERN = re.compile(r"</?[a-z]+(?:-[a-z]+)+>")
"""Tags that a program puts around a command, such as ``<command-name>``; they are left out of titles."""
NO_REASON_SENTENCE = "The recording does not say what went wrong."


def part_of(
    value: Text | Thinking | Media, ids: dict[str, Any], time_ms: int, *, synthetic: bool = False
) -> Part:
    """Return a part of a message; ``ids`` are the fields with its ids, ``time_ms`` is the time of the message."""
    match value:
        case Text():
            return TextPart(**ids, text=value.text, synthetic=synthetic or value.synthetic)
        case Thinking():
            recorded_facts = {"encrypted": value.encrypted or None, "tokens": value.tokens}
            known_facts = {name: fact for name, fact in recorded_facts.items() if fact is not None}
            metadata = {IMPORT_NOTE_KEY: known_facts} if known_facts else None
            span = Span(start=time_ms, end=time_ms)
            return ReasoningPart(**ids, text=value.text, time=span, metadata=metadata)
        case Media(data=None):
            # The content is not in the recording, so this part is not shown to the model.
            text = f"[{value.name or value.mime}, which is not in the recording]"
            media_facts = {"media": value.mime, "name": value.name}
            return TextPart(**ids, text=text, ignored=True, metadata={IMPORT_NOTE_KEY: media_facts})
        case Media():
            return FilePart(**ids, mime=value.mime, filename=value.name, url=data_url(value))


@lru_cache(maxsize=256)
def model_ref(name: str, effort: str | None = None) -> ModelRef:
    """Return a reference to a recorded model; a provider or name that is not recorded is ``unknown``."""
    provider, slash, model = name.partition("/")
    if not slash:
        provider, model = UNKNOWN_NAME, name
    return ModelRef(provider=provider or UNKNOWN_NAME, name=model or UNKNOWN_NAME, variant=effort)


def recording_note(recorded_id: str, *, has_time: bool, **facts: Any) -> dict[str, Any]:
    """Return the field of a message's info with a note: the message's recorded id, and further recorded facts."""
    note: dict[str, Any] = {"id": recorded_id, **({} if has_time else {"timed": False})}
    note |= {name: value for name, value in facts.items() if value is not None}
    return {IMPORT_NOTE_KEY: note}


def title_of(value: MessageRead) -> str:
    """Return a session's title: the beginning of the user's text."""
    user_texts = [
        part.text for part in value.parts if isinstance(part, Text) and not part.synthetic
    ]
    beginning = " ".join(user_texts)[:MAX_SEARCHED_CHARS]
    line = " ".join(_TAG_PATTERN.sub(" ", beginning).split())
    return line if len(line) <= MAX_TITLE_CHARS else f"{line[: MAX_TITLE_CHARS - 1]}…"


def error_of(value: MessageRead) -> ErrorValue | None:
    """Return the error of an answer; None where the answer did not fail."""
    if value.finish == "aborted":
        return AbortedError(message=value.error) if value.error else AbortedError()
    if value.finish == "error" or value.error:
        return UnknownError(message=value.error or NO_REASON_SENTENCE)
    return None


def finish_of(value: MessageRead) -> str | None:
    """Return an answer's finish reason, from its content where none is recorded; None for an aborted answer."""
    if value.finish == "aborted":
        return None
    if value.finish:
        return value.finish
    if value.error:
        return "error"
    return "tool-calls" if any(isinstance(part, Call) for part in value.parts) else "stop"
