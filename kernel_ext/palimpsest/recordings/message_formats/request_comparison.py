"""Find the messages that each recorded request adds, and the earlier messages that it changes.

A message is compared by the hash of its content as sent. A changed output is a reduction, an output that is sent whole
again is restored, and a message that is no longer sent was removed. These changes are yielded after the new messages of a
request, so that they take effect with its answer.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from palimpsest.recordings.message_formats.chat_messages import (
    content_parts,
    recorded_calls,
    text_of,
)
from palimpsest.recordings.message_formats.chat_stream import ChatStream, result_ids
from palimpsest.recordings.reading.json_fields import NO_VALUE, JsonValue, fingerprint
from palimpsest.recordings.reading.recorded import (
    GapRead,
    Recorded,
    ReducedRead,
    RemovedRead,
    ResultRead,
    Text,
)

CHANGED_SENTENCE = "A later request shows this message in another form, which is not kept."
INSERTED_SENTENCE = (
    "A request shows a message before others that were sent earlier; it was left out."
)
MAX_MESSAGES_AHEAD = 64
"""Maximum messages after a position in which a moved message is searched."""


@dataclass(slots=True)
class SentMessage:
    """A message that was sent, as it was sent last."""

    content_hash: bytes
    """The hash of the content as last sent; empty for a result that is left out."""
    role: str
    call_ids: tuple[str, ...]
    """The recorded ids of the calls of which it is the result."""
    imported_id: str
    """The imported id of the message, or of the call of which it is the result."""
    is_result: bool
    whole_text: str
    """The unshortened output of a result; empty for a message."""
    shown_text: str
    """The text as last sent."""


@dataclass(slots=True)
class RequestChanges:
    """A request's changes to the messages of earlier requests."""

    remaining_messages: list[SentMessage] = field(default_factory=list)
    reductions: list[ReducedRead] = field(default_factory=list)
    removed_ids: list[str] = field(default_factory=list)
    gaps: list[GapRead] = field(default_factory=list)


def message_hash(message: JsonValue) -> bytes:
    """Return the hash of a message's content as sent, without marks for a provider's cache."""
    parts = [
        part.text if isinstance(part, Text) else [part.mime, part.data, part.name]
        for part in content_parts(message.get("content"))
    ]
    fields = [message.get("role"), parts, list(recorded_calls(message)), result_ids(message)]
    return fingerprint(json.dumps(fields))


class RequestComparison:
    """Reads recorded requests in order, each message once; ``history`` has messages with their unshortened outputs."""

    def __init__(self, stream: ChatStream, history: list[JsonValue], rule: str = "") -> None:
        self._stream = stream
        self._history = list(reversed(history))
        self._rule = rule
        self._sent_messages: list[SentMessage] = []

    def read_request(
        self, messages: list[JsonValue], answer_count: int | None = None
    ) -> Iterator[Recorded]:
        """Yield a request's new messages, then its changes; the last ``answer_count`` new answers belong to requests."""
        message_hashes = list(map(message_hash, messages))
        changes, position = RequestChanges(), 0
        for index, sent_message in enumerate(self._sent_messages):
            position = self._skip_inserted(sent_message, message_hashes, position, changes)
            next_hashes = message_hashes[position : position + 2]
            if next_hashes and self._is_same(index, messages[position], next_hashes):
                self._keep_message(
                    sent_message, messages[position], message_hashes[position], changes
                )
                position += 1
            else:
                self._leave_out_message(sent_message, changes)
        self._sent_messages = changes.remaining_messages
        yield from self._add_messages(messages[position:], message_hashes[position:], answer_count)
        yield from changes.gaps
        yield from changes.reductions
        if changes.removed_ids:
            yield RemovedRead(tuple(changes.removed_ids))

    def read_rest_of_history(self, unrequested_count: int = 0) -> Iterator[Recorded]:
        """Yield the rest of the history; its last ``unrequested_count`` answers belong to no recorded request."""
        remaining_messages = list(reversed(self._history))
        answer_indexes = _answer_indexes(remaining_messages)
        requested_end = len(remaining_messages)
        if 0 < unrequested_count <= len(answer_indexes):
            requested_end = answer_indexes[-unrequested_count]
        yield from self.read_end(remaining_messages[:requested_end])
        yield from self.read_end(remaining_messages[requested_end:], 0)

    def read_end(
        self, messages: list[JsonValue], answer_count: int | None = None
    ) -> Iterator[Recorded]:
        """Yield messages that follow the last recorded request."""
        yield from self._add_messages(messages, list(map(message_hash, messages)), answer_count)

    def _skip_inserted(
        self, sent: SentMessage, message_hashes: list[bytes], position: int, changes: RequestChanges
    ) -> int:
        """Return the position of a message that was sent before, after messages that were inserted before it."""
        if position >= len(message_hashes) or message_hashes[position] == sent.content_hash:
            return position
        if any(s.content_hash == message_hashes[position] for s in self._sent_messages):
            return position
        hashes_ahead = message_hashes[position + 1 : position + 1 + MAX_MESSAGES_AHEAD]
        if sent.is_result or sent.content_hash not in hashes_ahead:
            return position
        changes.gaps.append(GapRead(INSERTED_SENTENCE, message=sent.imported_id))
        return position + 1 + hashes_ahead.index(sent.content_hash)

    def _is_same(self, index: int, message: JsonValue, next_hashes: list[bytes]) -> bool:
        """Return whether a message is the same as the one sent at an index, even in another form.

        ``next_hashes`` are the hashes of the message and of those after it.
        """
        sent, following_messages = (
            self._sent_messages[index],
            self._sent_messages[index + 1 : index + 1 + MAX_MESSAGES_AHEAD],
        )
        if next_hashes[0] == sent.content_hash:
            return True
        if message.get("role") != sent.role or any(
            later_message.content_hash == next_hashes[0] for later_message in following_messages
        ):
            return False
        has_same_follower = (
            bool(following_messages)
            and len(next_hashes) > 1
            and next_hashes[1] == following_messages[0].content_hash
        )
        if not sent.is_result:
            return has_same_follower
        call_ids = result_ids(message)
        return call_ids == sent.call_ids and (
            bool(call_ids) or has_same_follower or not following_messages
        )

    def _keep_message(
        self, sent: SentMessage, message: JsonValue, content_hash: bytes, changes: RequestChanges
    ) -> None:
        changes.remaining_messages.append(sent)
        if content_hash == sent.content_hash:
            return
        sent.content_hash = content_hash
        new_text = text_of(message.get("content"))
        if not sent.is_result:
            changes.gaps.append(GapRead(CHANGED_SENTENCE, message=sent.imported_id))
        elif new_text != sent.shown_text:
            sent.shown_text = new_text
            is_restored = new_text == sent.whole_text
            changes.reductions.append(
                ReducedRead(sent.imported_id, new_text, self._rule, restored=is_restored)
            )

    def _leave_out_message(self, sent: SentMessage, changes: RequestChanges) -> None:
        if not sent.is_result:
            changes.removed_ids.append(sent.imported_id)
            return
        changes.remaining_messages.append(sent)  # a result may be shown again
        if sent.content_hash:
            sent.content_hash, sent.shown_text = b"", ""
            changes.reductions.append(ReducedRead(sent.imported_id, "", self._rule))

    def _add_messages(
        self, messages: list[JsonValue], message_hashes: list[bytes], answer_count: int | None
    ) -> Iterator[Recorded]:
        answer_indexes = _answer_indexes(messages)
        if answer_count is not None:
            answer_indexes = answer_indexes[len(answer_indexes) - answer_count :]
        recorded_answer_indexes = set(answer_indexes)
        for index, message in enumerate(messages):
            whole_message = self._take_from_history(message, message_hashes[index])
            next_message = messages[index + 1] if index + 1 < len(messages) else NO_VALUE
            is_answer = index in recorded_answer_indexes and not message.get("is_demo")
            gaps, value = self._stream.read_message(
                whole_message, next_message, is_answer=is_answer
            )
            shown_text = text_of(message.get("content"))
            result = value if isinstance(value, ResultRead) else None
            self._sent_messages.append(
                SentMessage(
                    content_hash=message_hashes[index],
                    role=str(message.get("role")),
                    call_ids=result_ids(message),
                    imported_id=value.call if isinstance(value, ResultRead) else value.id,
                    is_result=result is not None,
                    whole_text=result.output if result else "",
                    shown_text=shown_text,
                )
            )
            yield from (*gaps, value)
            if result and shown_text != result.output:
                yield ReducedRead(result.call, shown_text, self._rule)

    def _take_from_history(self, message: JsonValue, content_hash: bytes) -> JsonValue:
        """Return a new message as the history has it, and take it from there; the message itself if it is not the next."""
        if not self._history:
            return message
        next_message = self._history[-1]
        call_ids = result_ids(message)
        if message_hash(next_message) == content_hash or (
            call_ids and call_ids == result_ids(next_message)
        ):
            return self._history.pop()
        return message


def _answer_indexes(messages: list[JsonValue]) -> list[int]:
    return [index for index, message in enumerate(messages) if message.get("role") == "assistant"]
