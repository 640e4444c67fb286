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
from palimpsest.recordings.message_formats.request_comparison import message_hash
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

NO_USAGE_SENTENCE = "No tokens are recorded of most or all requests."
CUT_SENTENCE = "The requests were not recorded as such; one is cut at each answer."
SYSTEM_ROLES = frozenset({"system", "developer"})
PAIR_WITHOUT_ANSWER_SENTENCE = "Its response holds no answer; its request was read."
OTHER_CHOICES_SENTENCE = "Its response holds several answers; the first was read."
CHAT_ROLES = frozenset({*SYSTEM_ROLES, "user", "assistant", "tool", "function"})
MAX_FIRST_MESSAGE_CHARS = 400
"""Maximum characters of a list that breaks off, in which its first message's role is searched."""
FOREIGN_BLOCKS = frozenset({"tool_use", "tool_result", "thinking"})
"""Types of content blocks of other interfaces, whose calls would not be recognised here."""
FOREIGN_FIELDS = frozenset({"info", "sessionId"})
"""Fields of other formats that have a list of messages, too; an entry with one of them is not OpenAI's."""


class OpenAIChatImporter:
    """Reads a file with one conversation, request or pair per line, or with one document of them."""

    name = "openai-chat"
    title = "OpenAI chat"
    tried_on = "hand-made files"

    def recognises(self, head: Head) -> bool:
        """Return whether the first line, or the document, holds a list of messages that have roles."""
        text = document_text(head.start)
        if is_one_document(text):
            return _is_chat_document(text)
        beginning = object_beginning(text.split("\n", 1)[0])
        if beginning.object_at("request").fields:
            return _is_entry(beginning)
        messages = beginning.objects_at("messages")
        if not messages:
            return _begins_with_message(beginning.cut_text_of("messages"))
        return all(isinstance(message.get("role"), str) for message in messages)

    def read(self, path: Path, report: Report) -> Iterator[Recorded]:
        """Yield each conversation as a session."""
        reader: _ChatReader | None = None
        session_count = 0
        for place, entry in _entries(path, report):
            conversation, is_pair = _as_conversation(entry, place, report), _is_pair(entry)
            messages = [
                message
                for message in conversation.objects("messages")
                if isinstance(message.get("role"), str)
            ]
            if not messages:
                report(place, "It has no messages and was left out.")
                continue
            message_hashes = [message_hash(message) for message in messages]
            if reader is None or not reader.continues(message_hashes):
                session_count += 1
                reader = _ChatReader()
                yield self._session_begin(
                    conversation, messages, f"{recorded_name(path.stem)}-{session_count}"
                )
                answer_count = sum(message.get("role") == "assistant" for message in messages)
                if not is_pair or answer_count > 1:
                    yield GapRead(CUT_SENTENCE)
            yield from reader.read(conversation, messages, message_hashes)
        if reader is None:
            raise UserError(f"{str(path)!r} holds no messages of a chat.")

    def _session_begin(
        self, conversation: JsonValue, messages: list[JsonValue], session_id: str
    ) -> SessionBegin:
        metadata = conversation.at("metadata")
        system_texts = [
            text_of(message.get("content"))
            for message in messages
            if message.get("role") in SYSTEM_ROLES
        ]
        return SessionBegin(
            id=session_id,
            format=self.name,
            title=metadata.text("title"),
            created=conversation.time_ms("created"),
            model=full_model_name(conversation.get("model") or metadata.get("model")),
            system="\n\n".join(system_texts) if system_texts else None,
            tools=JsonValue(
                conversation.get("tools") or conversation.get("functions")
            ).tool_specs(),
        )


def _is_chat_document(text: str) -> bool:
    """Return whether a document is an entry, a list of entries, or a list of messages."""
    if text.startswith("{"):
        return _is_entry(object_beginning(text))
    items = list_beginning(text)
    if items and "role" in items[0]:
        return _are_messages(items) and _contain_answer(items)
    first_item = Beginning(items[0].fields()) if items else object_beginning(text[1:].lstrip())
    return _is_entry(first_item)


def _is_entry(entry: Beginning) -> bool:
    """Return whether an object is a pair, or a conversation with an answer, as far as it can be seen."""
    if FOREIGN_FIELDS & entry.fields.keys():
        return False
    request = entry.object_at("request")
    is_pair = bool(request.fields or request.cut_name)
    if is_pair and ("system" in request.fields or not _may_have_response(entry)):
        return False
    request_or_entry = request if is_pair else entry
    messages = request_or_entry.objects_at("messages")
    if not messages:
        return _begins_with_message(request_or_entry.cut_text_of("messages"))
    is_complete = not (is_pair or request_or_entry.cut_text_of("messages"))
    return _are_messages(messages) and not (is_complete and not _contain_answer(messages))


def _begins_with_message(text: str) -> bool:
    """Return whether a list that breaks off in its first item begins with a message."""
    start = "".join(text[:MAX_FIRST_MESSAGE_CHARS].split())
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
        and not any(block.text("type") in FOREIGN_BLOCKS for block in message.objects("content"))
        for message in messages
    )


def _contain_answer(messages: list[JsonValue]) -> bool:
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


def _as_conversation(entry: JsonValue, place: str, report: Report) -> JsonValue:
    """Return an entry as a conversation: a pair's answer follows the messages of its request."""
    if not _is_pair(entry):
        return entry
    request, response = entry.at("request"), entry.at("response")
    choices = response.objects("choices")
    if not choices:
        report(place, PAIR_WITHOUT_ANSWER_SENTENCE)
    elif len(choices) > 1:
        report(place, OTHER_CHOICES_SENTENCE)
    answers = [{**choice.fields("message"), "role": "assistant"} for choice in choices[:1]]
    fact_names = ("model", "created", "usage", "service_tier")
    return JsonValue(
        {
            **entry.raw,
            **request.raw,
            **{
                field: response.get(field)
                for field in fact_names
                if response.get(field) is not None
            },
            "messages": [*request.list_at("messages"), *answers],
            "finish_reason": choices[0].get("finish_reason") if choices else None,
        }
    )


class _ChatReader:
    """Reads the entries of one session, each message once."""

    def __init__(self) -> None:
        self._stream = ChatStream(self._answer_facts)
        self._read_hashes: list[bytes] = []
        self._conversation = NO_VALUE
        self._is_last_answer = False

    def continues(self, message_hashes: list[bytes]) -> bool:
        """Return whether an entry begins with all messages that were read, and has more."""
        return (
            len(message_hashes) > len(self._read_hashes)
            and message_hashes[: len(self._read_hashes)] == self._read_hashes
        )

    def read(
        self, conversation: JsonValue, messages: list[JsonValue], message_hashes: list[bytes]
    ) -> Iterator[Recorded]:
        """Yield the messages that an entry adds."""
        new_messages = messages[len(self._read_hashes) :]
        self._read_hashes, self._conversation = message_hashes, conversation
        new_answers = [message for message in new_messages if message.get("role") == "assistant"]
        for message in new_messages:
            if message.get("role") in SYSTEM_ROLES:
                continue
            self._is_last_answer = bool(new_answers) and message is new_answers[-1]
            gaps, value = self._stream.read_message(message)
            yield from (*gaps, value)
        if new_answers and usage_of(conversation.get("usage")) is None:
            yield from self._stream.gaps.once(NO_USAGE_SENTENCE)

    def _answer_facts(self, message: JsonValue) -> dict[str, Any]:
        """Return the facts of a conversation's entry about its last answer; for other messages, only their own."""
        conversation = self._conversation if self._is_last_answer else NO_VALUE
        usage, tier = (
            message.get(field) or conversation.get(field) for field in ("usage", "service_tier")
        )
        return {
            "model": full_model_name(conversation.get("model")),
            "usage": usage_of(usage, tier),
            "finish": JsonValue(
                message.get("finish_reason") or conversation.get("finish_reason")
            ).finish(),
        }
