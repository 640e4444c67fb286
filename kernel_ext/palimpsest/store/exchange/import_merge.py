"""Build the events that write an imported session's messages, or their changes since the last import.

Border: values in, events out; long texts are put into the given store as blobs.
"""

import base64
import binascii
import hashlib
from collections.abc import Iterator
from contextlib import suppress
from itertools import takewhile
from typing import Any

from palimpsest.store.blobs.blob_storage import keep_attachment, keep_output
from palimpsest.store.interface import Store
from palimpsest.store.session_state.state import State
from palimpsest.transcript.context_values.decisions import Decision, OwnRule
from palimpsest.transcript.context_values.policies import PrunePolicy
from palimpsest.transcript.messages import Message
from palimpsest.transcript.parts import Part, ToolCompleted, ToolPart
from palimpsest.transcript.session_record.events import (
    DecisionMade,
    Event,
    MessageRemoved,
    MessageUpdated,
    PartRemoved,
    PartUpdated,
)
from palimpsest.transcript.values import CHARS_PER_TOKEN

IMPORT_RULE: OwnRule = "import"
"""The rule of the decision for an output that was already cleared in the source."""


def with_blobs(store: Store, part: Part) -> Part:
    """Return a part with its long output and attachments moved to blobs of the store."""
    if part.type == "file":
        return part.model_copy(update={"url": _blob_url(store, part.url, part.mime)})
    if part.type != "tool" or part.state.status != "completed":
        return part
    output, blob = keep_output(store, part.state.output)
    if blob is None and not part.state.attachments and part.state.blob is None:
        return part
    attachments = tuple(
        attachment.model_copy(update={"url": _blob_url(store, attachment.url, attachment.mime)})
        for attachment in part.state.attachments
    )
    changes = {"output": output, "blob": blob, "attachments": attachments}
    return part.model_copy(update={"state": part.state.model_copy(update=changes)})


def _blob_url(store: Store, url: str, mime: str) -> str:
    """Return a blob url for a base64 ``data:`` url if an export can restore it byte for byte."""
    head, comma, encoded = url.partition(",")
    if comma and head == f"data:{mime};base64":
        with suppress(binascii.Error, ValueError):
            if base64.b64encode(base64.b64decode(encoded)).decode() == encoded:
                return keep_attachment(store, url)
    return url


def message_events(message: Message) -> Iterator[Event]:
    """Yield the events of a new message."""
    yield MessageUpdated(info=message.info)
    for part in message.parts:
        yield PartUpdated(part=part)
        if _cleared_at_ms(part) is not None:
            yield DecisionMade(decision=_clear_decision(part))


def _cleared_at_ms(part: Part | None) -> Any:
    state = part.state if isinstance(part, ToolPart) else None
    return getattr(state.time, "compacted", None) if isinstance(state, ToolCompleted) else None


def _clear_decision(part: Part) -> Decision:
    output = ""
    if isinstance(part, ToolPart) and isinstance(part.state, ToolCompleted):
        output = part.state.output
    placeholder = PrunePolicy().placeholder
    return Decision(
        id=f"dec_{hashlib.sha256(part.id.encode()).hexdigest()[:26]}",
        action="clear",
        rule=IMPORT_RULE,
        message_id=part.message_id,
        part_id=part.id,
        numbers={"text": placeholder},
        tokens_before=len(output) // CHARS_PER_TOKEN,
        tokens_after=len(placeholder) // CHARS_PER_TOKEN,
    )


def events_of_update(state: State, new_messages: tuple[Message, ...]) -> Iterator[Event]:
    """Yield the events that turn the session's messages into the new ones, in their order."""
    old_messages = state.messages()
    pairs = zip(old_messages, new_messages, strict=False)
    common_pairs = list(takewhile(lambda pair: pair[0].id == pair[1].id, pairs))
    for message in old_messages[len(common_pairs) :]:
        yield MessageRemoved(message_id=message.id)
    for old_message, new_message in common_pairs:
        yield from _updates_of_message(old_message, new_message)
    for message in new_messages[len(common_pairs) :]:
        yield from message_events(message)


def _updates_of_message(old_message: Message, new_message: Message) -> Iterator[Event]:
    if old_message.info != new_message.info:
        yield MessageUpdated(info=new_message.info)
    parts_before = {part.id: part for part in old_message.parts}
    new_ids = {part.id for part in new_message.parts}
    for part_id in parts_before:
        if part_id not in new_ids:
            yield PartRemoved(message_id=old_message.id, part_id=part_id)
    for part in new_message.parts:
        if parts_before.get(part.id) != part:
            yield PartUpdated(part=part)
            if (
                _cleared_at_ms(part) is not None
                and _cleared_at_ms(parts_before.get(part.id)) is None
            ):
                yield DecisionMade(decision=_clear_decision(part))
