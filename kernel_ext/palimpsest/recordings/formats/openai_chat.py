"""Read ``{messages, tools, metadata}`` in the form of OpenAI's chat interface, from JSON lines or from one document.

An entry is a line, a document, or an item of a document's list: a whole conversation, a request with or without its
answer, or a pair ``{request, response}``. An entry that begins with all messages of the previous one continues its
session; each assistant message is the answer to a request. Tokens are recorded only where an entry has a ``usage`` for
its last answer.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from palimpsest.recordings.message_formats.chat_messages import full_model_name, text_of, usage_of
from palimpsest.recordings.message_formats.chat_stream import ChatStream
from palimpsest.recordings.message_formats.request_comparison import message_key
from palimpsest.recordings.reading.document_beginning import (
    Beginning,
    document_text,
    is_one_document,
    list_beginning,
    object_beginning,
)
from palimpsest.recordings.reading.importer import Head, Report
from palimpsest.recordings.reading.json_fields import NO_VALUE, JsonValue
from palimpsest.recordings.reading.recorded import GapRead, Recorded, SessionBegin
from palimpsest.recordings.reading.sources import head_of, json_document, json_lines, json_objects
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.strings.relative_paths import recorded_name

NO_USAGE = "No tokens are recorded of most or all requests."
CUT_SENTENCE = "The requests were not recorded as such; one is cut at each answer."
SYSTEM_ROLES = frozenset({"system", "developer"})
PAIR_WITHOUT_ANSWER = "Its response holds no answer; its request was read."
OTHER_CHOICES = "Its response holds several answers; the first was read."
CHAT_ROLES = frozenset({*SYSTEM_ROLES, "user", "assistant", "tool", "function"})
OTHER_BLOCKS = frozenset({"tool_use", "tool_result", "thinking"})
"""Types of content of other interfaces, whose calls are no calls here."""
OTHER_FIELDS = frozenset({"info", "sessionId"})
"""Fields of other formats that have a list of messages, too."""


class OpenAIChatImporter:
    """Reads a file with one conversation, request or pair per line, or with one document of them."""

    name = "openai-chat"
    title = "OpenAI chat"
    tried_on = "hand-made files"

    def recognises(self, head: Head) -> bool:
        """Return whether the first line, or the document, holds a list of messages that have roles."""
        text = document_text(head.start)
        if is_one_document(text):
            return _is_document(text)
        beginning = object_beginning(text.split("\n", 1)[0])
        if beginning.object_at("request").fields:
            return _is_entry(beginning)
        messages = beginning.objects_at("messages")
        if not messages:
            return _begins_with_message(beginning.cut_text_of("messages"))
        return all(isinstance(message.get("role"), str) for message in messages)

    def read(self, path: Path, report: Report) -> Iterator[Recorded]:
        """Yield each conversation as a session."""
        session: _Conversation | None = None
        session_count = 0
        for place, entry in _entries(path, report):
            line, is_pair = _as_line(entry, place, report), _is_pair(entry)
            messages = [
                message
                for message in line.objects("messages")
                if isinstance(message.get("role"), str)
            ]
            if not messages:
                report(place, "It has no messages and was left out.")
                continue
            message_keys = [message_key(message) for message in messages]
            if session is None or not session.continues(message_keys):
                session_count += 1
                session = _Conversation()
                yield self._begin(line, messages, f"{recorded_name(path.stem)}-{session_count}")
                answers = sum(message.get("role") == "assistant" for message in messages)
                if not is_pair or answers > 1:
                    yield GapRead(CUT_SENTENCE)
            yield from session.read(line, messages, message_keys)
        if session is None:
            raise UserError(f"{str(path)!r} holds no messages of a chat.")

    def _begin(self, line: JsonValue, messages: list[JsonValue], name: str) -> SessionBegin:
        metadata = line.at("metadata")
        system = [
            text_of(entry.get("content")) for entry in messages if entry.get("role") in SYSTEM_ROLES
        ]
        return SessionBegin(
            id=name,
            format=self.name,
            title=metadata.text("title"),
            created=line.time_ms("created"),
            model=full_model_name(line.get("model") or metadata.get("model")),
            system="\n\n".join(system) if system else None,
            tools=JsonValue(line.get("tools") or line.get("functions")).tool_specs(),
        )


def _is_document(text: str) -> bool:
    """Return whether a document is an entry, a list of entries, or a list of messages."""
    if text.startswith("{"):
        return _is_entry(object_beginning(text))
    items = list_beginning(text)
    if items and "role" in items[0]:
        return _are_messages(items) and _has_answer(items)
    first = Beginning(items[0].fields()) if items else object_beginning(text[1:].lstrip())
    return _is_entry(first)


def _is_entry(entry: Beginning) -> bool:
    """Return whether an object is a pair, or a conversation with an answer, as far as it can be seen."""
    if OTHER_FIELDS & entry.fields.keys():
        return False
    request = entry.object_at("request")
    is_pair = bool(request.fields or request.cut_name)
    if is_pair and ("system" in request.fields or not _may_have_response(entry)):
        return False
    holder = request if is_pair else entry
    messages = holder.objects_at("messages")
    if not messages:
        return _begins_with_message(holder.cut_text_of("messages"))
    is_complete = not (is_pair or holder.cut_text_of("messages"))
    return _are_messages(messages) and not (is_complete and not _has_answer(messages))


def _begins_with_message(text: str) -> bool:
    """Return whether a list that breaks off in its first item begins with a message."""
    start = "".join(text[:400].split())
    return start.startswith("[{") and '"role":' in start


def _may_have_response(entry: Beginning) -> bool:
    """Return whether the response of a pair has the form of OpenAI's, as far as it can be seen."""
    if "response" in entry.fields:
        response = entry.value("response")
        return "choices" in response or "error" in response
    return bool(entry.cut_name)


def _are_messages(messages: list[JsonValue]) -> bool:
    """Return whether objects are messages of OpenAI's chat interface."""
    return all(
        message.text("role") in CHAT_ROLES
        and isinstance(message.get("content"), str | list | None)
        and ("content" in message or "tool_calls" in message or "function_call" in message)
        and not any(block.text("type") in OTHER_BLOCKS for block in message.objects("content"))
        for message in messages
    )


def _has_answer(messages: list[JsonValue]) -> bool:
    return any(message.get("role") == "assistant" for message in messages)


def _entries(path: Path, report: Report) -> Iterator[tuple[str, JsonValue]]:
    """Yield the entries of a file, each with its place."""
    text = document_text(head_of(path).start)
    if not is_one_document(text):
        for number, line in json_lines(path, report):
            yield f"line {number}", line
    elif text.startswith("{"):
        yield "document", json_document(path)
    elif any("role" in item for item in list_beginning(text)[:1]):
        yield "document", JsonValue({"messages": json_document(path).raw})
    else:
        yield from json_objects(path, "item", report, "item")


def _is_pair(entry: JsonValue) -> bool:
    return bool(entry.at("request"))


def _as_line(entry: JsonValue, place: str, report: Report) -> JsonValue:
    """Return an entry as a conversation: a pair's answer follows the messages of its request."""
    if not _is_pair(entry):
        return entry
    request, response = entry.at("request"), entry.at("response")
    choices = response.objects("choices")
    if not choices:
        report(place, PAIR_WITHOUT_ANSWER)
    elif len(choices) > 1:
        report(place, OTHER_CHOICES)
    answers = [{**choice.fields("message"), "role": "assistant"} for choice in choices[:1]]
    facts = ("model", "created", "usage", "service_tier")
    return JsonValue(
        {
            **entry.raw,
            **request.raw,
            **{name: response.get(name) for name in facts if response.get(name) is not None},
            "messages": [*request.list_at("messages"), *answers],
            "finish_reason": choices[0].get("finish_reason") if choices else None,
        }
    )


class _Conversation:
    """Reads the lines of one session, each message once."""

    def __init__(self) -> None:
        self._stream = ChatStream(self._facts)
        self._keys: list[bytes] = []
        self._line = NO_VALUE
        self._is_last_answer = False

    def continues(self, message_keys: list[bytes]) -> bool:
        """Return whether a line begins with all messages that were read."""
        return len(message_keys) > len(self._keys) and message_keys[: len(self._keys)] == self._keys

    def read(
        self, line: JsonValue, messages: list[JsonValue], message_keys: list[bytes]
    ) -> Iterator[Recorded]:
        """Yield the messages that a line adds."""
        new_messages = messages[len(self._keys) :]
        self._keys, self._line = message_keys, line
        answers = [message for message in new_messages if message.get("role") == "assistant"]
        for message in new_messages:
            if message.get("role") in SYSTEM_ROLES:
                continue
            self._is_last_answer = bool(answers) and message is answers[-1]
            gaps, entry = self._stream.read_message(message)
            yield from (*gaps, entry)
        if answers and usage_of(line.get("usage")) is None:
            yield from self._stream.gaps.once(NO_USAGE)

    def _facts(self, message: JsonValue) -> dict[str, Any]:
        """Return a line's facts about its last answer."""
        line = self._line if self._is_last_answer else NO_VALUE
        usage, tier = (message.get(name) or line.get(name) for name in ("usage", "service_tier"))
        return {
            "model": full_model_name(line.get("model")),
            "usage": usage_of(usage, tier),
            "finish": JsonValue(message.get("finish_reason") or line.get("finish_reason")).finish(),
        }
