"""Redact secrets in structured values: events, parts, inputs and outputs.

Border: pure; ``scrub`` is passed in. What providers signed or encrypted, ids and hashes stay as they
are: they are no text, and one changed character would invalidate them. A block whose signed text held
a secret loses its signature instead.
"""

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel

from palimpsest.transcript.redaction.secret_patterns import is_secret_field
from palimpsest.transcript.redaction.text import REDACTED
from palimpsest.transcript.session_record.events import Checkpoint, Event, StepRequested

Scrub = Callable[[str], str]

KEPT = frozenset({"id", "call_id", "role", "type", "status", "mime", "sha256", "hash", "snapshot", "share"})  # fmt: skip
"""Our fields that hold no text; ``share`` holds the unguessable name of a shared page."""

OPAQUE = frozenset({"data", "encrypted_content", "signature", "thought_signature", "thought_signatures"})  # fmt: skip
"""Provider data that must be sent back unchanged."""

THOUGHTS = "thinking_blocks"


def redacted_event(event: Event, scrub: Scrub) -> Event:
    """Return the event without secrets; the same one where there are none."""
    match event:
        case Checkpoint():
            # It repeats the records before it, which are redacted.
            return event
        case StepRequested():
            parameters = redacted_value(event.request.parameters, scrub)
            if parameters is event.request.parameters:
                return event
            request = event.request.model_copy(update={"parameters": parameters})
            return event.model_copy(update={"request": request})
        case _:
            found: Event = redacted_value(event, scrub)
            return found


def redacted_value(value: Any, scrub: Scrub) -> Any:
    """Return the value without secrets; the same object where there are none."""
    match value:
        case str():
            found = value if value.startswith(("data:", "blob:")) else scrub(value)
            return value if found == value else found
        case BaseModel():
            return _model(value, scrub)
        case Mapping():
            return _mapping(value, scrub)
        case list() | tuple():
            items = [redacted_value(one, scrub) for one in value]
            same = all(new is old for new, old in zip(items, value, strict=True))
            return value if same else type(value)(items)
        case _:
            return value


def _model(value: BaseModel, scrub: Scrub) -> BaseModel:
    update: dict[str, Any] = {}
    for name, held in _fields(value):
        if name in KEPT or name.endswith("_id"):
            continue
        new = _provided(held, scrub) if name == "metadata" else redacted_value(held, scrub)
        if new is not held:
            update[name] = new
    return value.model_copy(update=update) if update else value


def _fields(value: BaseModel) -> list[tuple[str, Any]]:
    return [*value.__dict__.items(), *(value.__pydantic_extra__ or {}).items()]


def _mapping(value: Mapping[str, Any], scrub: Scrub) -> Mapping[str, Any]:
    update: dict[str, Any] = {}
    for name, held in value.items():
        if isinstance(held, str) and is_secret_field(name, held):
            new: Any = REDACTED
        else:
            new = held if name in OPAQUE else redacted_value(held, scrub)
        if new is not held:
            update[name] = new
    names = {name: _name(name, scrub) for name in value}
    if any(new is not old for old, new in names.items()):
        return {names[name]: update.get(name, held) for name, held in value.items()}
    return {**value, **update} if update else value


def _name(name: Any, scrub: Scrub) -> Any:
    found = scrub(name) if isinstance(name, str) else name
    return name if found == name else found


def _provided(metadata: Any, scrub: Scrub) -> Any:
    """Redact a provider's metadata of a part; a thinking block that changes loses its signature."""
    if not isinstance(metadata, Mapping) or not isinstance(metadata.get(THOUGHTS), list | tuple):
        return redacted_value(metadata, scrub)
    rest = redacted_value({k: v for k, v in metadata.items() if k != THOUGHTS}, scrub)
    blocks = [_thought(block, scrub) for block in metadata[THOUGHTS]]
    return {**rest, THOUGHTS: blocks}


def _thought(block: Any, scrub: Scrub) -> Any:
    found = redacted_value(block, scrub)
    if found is block or not isinstance(found, dict):
        return block
    return {name: held for name, held in found.items() if name != "signature"}
