"""Find in recorded requests what each adds to the one before, and what it shows in another form.

A message is compared by the hash of what a provider is sent of it. An output in another form is a
reduction, one that came back is restored, and a message that is no longer sent was removed. These follow
what is new in a request, so that they hold from its answer on and not for the answer before.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from palimpsest.review.importers.chat_messages import content_parts, recorded_calls, text_of
from palimpsest.review.importers.chat_stream import ChatStream, result_ids
from palimpsest.review.importing.json_fields import NOTHING, JsonValue, fingerprint
from palimpsest.review.importing.recorded import (
    GapRead,
    Recorded,
    ReducedRead,
    RemovedRead,
    ResultRead,
    Text,
)

CHANGED = "A later request shows this message in another form, which is not kept."
INSERTED = "A request shows a message before others that were sent earlier; it was left out."
LOOK_AHEAD = 64
"""Messages that are searched for one that stands further on."""


@dataclass(slots=True)
class Sent:
    """A message that was sent: what it became, and how it was last shown."""

    key: bytes
    role: str
    ids: tuple[str, ...]
    name: str
    is_result: bool
    whole: str
    shown: str


@dataclass(slots=True)
class Changes:
    """What a request shows otherwise than those before it."""

    kept: list[Sent] = field(default_factory=list)
    reduced: list[ReducedRead] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    gaps: list[GapRead] = field(default_factory=list)


def message_key(message: JsonValue) -> bytes:
    """Return the hash of what a provider is sent of a message; marks for its cache are left out."""
    parts = [
        one.text if isinstance(one, Text) else [one.mime, one.data, one.name]
        for one in content_parts(message.get("content"))
    ]
    told = [message.get("role"), parts, list(recorded_calls(message)), result_ids(message)]
    return fingerprint(json.dumps(told))


class RequestComparison:
    """Reads recorded requests in order, each message once.

    ``history`` has the outputs as they were before anything was shortened, in order, where that is known.
    """

    def __init__(self, stream: ChatStream, history: list[JsonValue], rule: str = "") -> None:
        self._stream = stream
        self._history = list(reversed(history))
        self._rule = rule
        self._sent: list[Sent] = []

    def request(self, messages: list[JsonValue], answers: int | None = None) -> Iterator[Recorded]:
        """Yield what is new in a request, then what it shows in another form.

        Only the last ``answers`` of its new assistant messages are answers of requests; None means all.
        """
        keys = [message_key(one) for one in messages]
        changes, at = Changes(), 0
        for place, sent in enumerate(self._sent):
            at = self._past_inserted(sent, keys, at, changes)
            if at < len(keys) and self._is_same(place, messages[at], keys[at : at + 2]):
                self._show(sent, messages[at], keys[at], changes)
                at += 1
            else:
                self._leave_out(sent, changes)
        self._sent = changes.kept
        yield from self._add(messages[at:], keys[at:], answers)
        yield from changes.gaps
        yield from changes.reduced
        if changes.removed:
            yield RemovedRead(tuple(changes.removed))

    def rest_of_history(self, unasked: int = 0) -> Iterator[Recorded]:
        """Yield what the history has after the last request; its last answers may be unasked ones."""
        rest = list(reversed(self._history))
        last = [at for at, one in enumerate(rest) if one.get("role") == "assistant"]
        cut = last[-unasked] if 0 < unasked <= len(last) else len(rest)
        yield from self.end(rest[:cut])
        yield from self.end(rest[cut:], 0)

    def end(self, messages: list[JsonValue], answers: int | None = None) -> Iterator[Recorded]:
        """Yield messages that follow the last recorded request."""
        yield from self._add(messages, [message_key(one) for one in messages], answers)

    def _past_inserted(self, sent: Sent, keys: list[bytes], at: int, changes: Changes) -> int:
        """Return the place of a message that was sent before, past messages that now stand before it."""
        if at >= len(keys) or keys[at] == sent.key:
            return at
        if any(one.key == keys[at] for one in self._sent):
            return at
        ahead = keys[at + 1 : at + 1 + LOOK_AHEAD]
        if sent.is_result or sent.key not in ahead:
            return at
        changes.gaps.append(GapRead(INSERTED, message=sent.name))
        return at + 1 + ahead.index(sent.key)

    def _is_same(self, place: int, message: JsonValue, keys: list[bytes]) -> bool:
        """Return whether a message is the one that was sent at a place, in whatever form."""
        sent, following = self._sent[place], self._sent[place + 1 : place + 1 + LOOK_AHEAD]
        if keys[0] == sent.key:
            return True
        if message.get("role") != sent.role or any(one.key == keys[0] for one in following):
            return False
        goes_on = bool(following) and len(keys) > 1 and keys[1] == following[0].key
        if not sent.is_result:
            return goes_on
        ids = result_ids(message)
        return ids == sent.ids and (bool(ids) or goes_on or not following)

    def _show(self, sent: Sent, message: JsonValue, key: bytes, changes: Changes) -> None:
        changes.kept.append(sent)
        if key == sent.key:
            return
        sent.key = key
        now = text_of(message.get("content"))
        if not sent.is_result:
            changes.gaps.append(GapRead(CHANGED, message=sent.name))
        elif now != sent.shown:
            sent.shown = now
            restored = now == sent.whole
            changes.reduced.append(ReducedRead(sent.name, now, self._rule, restored=restored))

    def _leave_out(self, sent: Sent, changes: Changes) -> None:
        if not sent.is_result:
            changes.removed.append(sent.name)
            return
        changes.kept.append(sent)  # it may be shown again
        if sent.key:
            sent.key, sent.shown = b"", ""
            changes.reduced.append(ReducedRead(sent.name, "", self._rule))

    def _add(
        self, messages: list[JsonValue], keys: list[bytes], answers: int | None
    ) -> Iterator[Recorded]:
        spoken = [at for at, one in enumerate(messages) if one.get("role") == "assistant"]
        asked = set(spoken if answers is None else spoken[len(spoken) - answers :])
        for at, message in enumerate(messages):
            whole = self._whole(message, keys[at])
            following = messages[at + 1] if at + 1 < len(messages) else NOTHING
            is_answer = at in asked and not message.get("is_demo")
            gaps, told = self._stream.read(whole, following, is_answer=is_answer)
            shown = text_of(message.get("content"))
            result = told if isinstance(told, ResultRead) else None
            self._sent.append(
                Sent(
                    key=keys[at],
                    role=str(message.get("role")),
                    ids=result_ids(message),
                    name=told.call if isinstance(told, ResultRead) else told.id,
                    is_result=result is not None,
                    whole=result.output if result else "",
                    shown=shown,
                )
            )
            yield from (*gaps, told)
            if result and shown != result.output:
                yield ReducedRead(result.call, shown, self._rule)

    def _whole(self, message: JsonValue, key: bytes) -> JsonValue:
        """Return a new message as the history has it; the message itself where it is not there next."""
        if not self._history:
            return message
        known = self._history[-1]
        ids = result_ids(message)
        if message_key(known) == key or (ids and ids == result_ids(known)):
            return self._history.pop()
        return message
