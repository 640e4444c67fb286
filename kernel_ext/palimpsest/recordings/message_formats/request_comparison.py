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
LOOK_AHEAD = 64
"""Number of messages in which a moved message is searched for."""


@dataclass(slots=True)
class SentMessage:
    """A message that was sent: its imported id, and its text as last sent."""

    key: bytes
    role: str
    ids: tuple[str, ...]
    name: str
    is_result: bool
    whole_text: str
    shown_text: str


@dataclass(slots=True)
class Changes:
    """A request's changes to the messages of earlier requests."""

    remaining_messages: list[SentMessage] = field(default_factory=list)
    reductions: list[ReducedRead] = field(default_factory=list)
    removed_names: list[str] = field(default_factory=list)
    gaps: list[GapRead] = field(default_factory=list)


def message_key(message: JsonValue) -> bytes:
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

    def request(self, messages: list[JsonValue], answers: int | None = None) -> Iterator[Recorded]:
        """Yield a request's new messages, of which the last ``answers`` assistant messages answer requests, then its changes."""
        message_keys = list(map(message_key, messages))
        changes, position = Changes(), 0
        for index, sent_message in enumerate(self._sent_messages):
            position = self._skip_inserted(sent_message, message_keys, position, changes)
            next_keys = message_keys[position : position + 2]
            if next_keys and self._is_same(index, messages[position], next_keys):
                self._show_again(sent_message, messages[position], message_keys[position], changes)
                position += 1
            else:
                self._leave_out(sent_message, changes)
        self._sent_messages = changes.remaining_messages
        yield from self._add_messages(messages[position:], message_keys[position:], answers)
        yield from changes.gaps
        yield from changes.reductions
        if changes.removed_names:
            yield RemovedRead(tuple(changes.removed_names))

    def rest_of_history(self, unrequested: int = 0) -> Iterator[Recorded]:
        """Yield the history after the last request; its last ``unrequested`` answers belong to no recorded request."""
        remaining_messages = list(reversed(self._history))
        answer_indexes = _answer_indexes(remaining_messages)
        requested_end = len(remaining_messages)
        if 0 < unrequested <= len(answer_indexes):
            requested_end = answer_indexes[-unrequested]
        yield from self.end(remaining_messages[:requested_end])
        yield from self.end(remaining_messages[requested_end:], 0)

    def end(self, messages: list[JsonValue], answers: int | None = None) -> Iterator[Recorded]:
        """Yield messages that follow the last recorded request."""
        yield from self._add_messages(messages, list(map(message_key, messages)), answers)

    def _skip_inserted(
        self, sent: SentMessage, message_keys: list[bytes], position: int, changes: Changes
    ) -> int:
        """Return the position of a message that was sent before, skipping messages that were inserted before it."""
        if position >= len(message_keys) or message_keys[position] == sent.key:
            return position
        if any(sent_message.key == message_keys[position] for sent_message in self._sent_messages):
            return position
        keys_ahead = message_keys[position + 1 : position + 1 + LOOK_AHEAD]
        if sent.is_result or sent.key not in keys_ahead:
            return position
        changes.gaps.append(GapRead(INSERTED_SENTENCE, message=sent.name))
        return position + 1 + keys_ahead.index(sent.key)

    def _is_same(self, index: int, message: JsonValue, message_keys: list[bytes]) -> bool:
        """Return whether a message is the same as the one sent at an index, even in another form."""
        sent, following_messages = (
            self._sent_messages[index],
            self._sent_messages[index + 1 : index + 1 + LOOK_AHEAD],
        )
        if message_keys[0] == sent.key:
            return True
        if message.get("role") != sent.role or any(
            later.key == message_keys[0] for later in following_messages
        ):
            return False
        has_same_follower = (
            bool(following_messages)
            and len(message_keys) > 1
            and message_keys[1] == following_messages[0].key
        )
        if not sent.is_result:
            return has_same_follower
        ids = result_ids(message)
        return ids == sent.ids and (bool(ids) or has_same_follower or not following_messages)

    def _show_again(
        self, sent: SentMessage, message: JsonValue, key: bytes, changes: Changes
    ) -> None:
        changes.remaining_messages.append(sent)
        if key == sent.key:
            return
        sent.key = key
        shown_now = text_of(message.get("content"))
        if not sent.is_result:
            changes.gaps.append(GapRead(CHANGED_SENTENCE, message=sent.name))
        elif shown_now != sent.shown_text:
            sent.shown_text = shown_now
            is_restored = shown_now == sent.whole_text
            changes.reductions.append(
                ReducedRead(sent.name, shown_now, self._rule, restored=is_restored)
            )

    def _leave_out(self, sent: SentMessage, changes: Changes) -> None:
        if not sent.is_result:
            changes.removed_names.append(sent.name)
            return
        changes.remaining_messages.append(sent)  # a result may be shown again
        if sent.key:
            sent.key, sent.shown_text = b"", ""
            changes.reductions.append(ReducedRead(sent.name, "", self._rule))

    def _add_messages(
        self, messages: list[JsonValue], message_keys: list[bytes], answers: int | None
    ) -> Iterator[Recorded]:
        answer_indexes = _answer_indexes(messages)
        if answers is not None:
            answer_indexes = answer_indexes[len(answer_indexes) - answers :]
        recorded_answers = set(answer_indexes)
        for index, message in enumerate(messages):
            whole_message = self._from_history(message, message_keys[index])
            following = messages[index + 1] if index + 1 < len(messages) else NO_VALUE
            is_answer = index in recorded_answers and not message.get("is_demo")
            gaps, entry = self._stream.read_message(whole_message, following, is_answer=is_answer)
            shown_text = text_of(message.get("content"))
            result = entry if isinstance(entry, ResultRead) else None
            self._sent_messages.append(
                SentMessage(
                    key=message_keys[index],
                    role=str(message.get("role")),
                    ids=result_ids(message),
                    name=entry.call if isinstance(entry, ResultRead) else entry.id,
                    is_result=result is not None,
                    whole_text=result.output if result else "",
                    shown_text=shown_text,
                )
            )
            yield from (*gaps, entry)
            if result and shown_text != result.output:
                yield ReducedRead(result.call, shown_text, self._rule)

    def _from_history(self, message: JsonValue, key: bytes) -> JsonValue:
        """Return a new message as the history has it; the message itself where it is not the history's next message."""
        if not self._history:
            return message
        next_message = self._history[-1]
        ids = result_ids(message)
        if message_key(next_message) == key or (ids and ids == result_ids(next_message)):
            return self._history.pop()
        return message


def _answer_indexes(messages: list[JsonValue]) -> list[int]:
    return [index for index, message in enumerate(messages) if message.get("role") == "assistant"]
