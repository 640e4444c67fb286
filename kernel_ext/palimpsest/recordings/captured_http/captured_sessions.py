"""Turn the conversations of a capture into sessions, and return what a capture adds to another recording's requests."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from palimpsest.recordings.captured_http.captured_requests import CapturedRequest
from palimpsest.recordings.captured_http.conversations import CapturedConversation, conversations_of
from palimpsest.recordings.message_formats.repeated_inputs import (
    InputMessage,
    RecordedReduction,
    RepeatedInputs,
)
from palimpsest.recordings.reading.importer import Report
from palimpsest.recordings.reading.json_fields import JsonValue
from palimpsest.recordings.reading.reading_budget import LOOK_BYTES, spend
from palimpsest.recordings.reading.recorded import (
    GapRead,
    MessageRead,
    Recorded,
    SentRead,
    SessionBegin,
    Text,
)

ONLY_CAPTURED = "Left out were requests of its that no other recording has, of conversations that another one tells: {count:,}."
JOINED_SENTENCE = (
    "Requests of its that are shown with another recording, which has their answers: {count:,}."
)


def sessions_of(
    requests: Sequence[CapturedRequest],
    format_name: str,
    report: Report,
    joined_indexes: Collection[int] = (),
) -> Iterator[Recorded]:
    """Yield the sessions of a capture, without the conversations that have a request in ``joined_indexes``.

    ``joined_indexes`` are indexes in ``requests``: another recording has these requests, and their conversations.
    """
    conversations = conversations_of(requests)
    joined_requests = {id(requests[index]) for index in joined_indexes}
    left_out = {
        id(conversation)
        for conversation in conversations
        if any(id(request) in joined_requests for request in conversation.requests)
    }
    names = _session_names(conversations)
    for conversation in conversations:
        if id(conversation) not in left_out:
            yield from _CapturedSession(conversation, names, format_name).values(left_out)
    only_captured = sum(
        id(request) not in joined_requests
        for conversation in conversations
        if id(conversation) in left_out
        for request in conversation.requests
    )
    if joined_indexes:
        report("", JOINED_SENTENCE.format(count=len(joined_requests)))
    if only_captured:
        report("", ONLY_CAPTURED.format(count=only_captured))


def _session_names(conversations: Sequence[CapturedConversation]) -> dict[int, str]:
    """Return the id of each conversation's session: the provider's id of its first answer."""
    names: dict[int, str] = {}
    used_names: set[str] = set()
    for number, conversation in enumerate(conversations, 1):
        first = conversation.requests[0]
        base = next((request.id for request in conversation.requests if request.id), "")
        name = base or f"{first.created or first.place}-{first.model}"
        name = name if name not in used_names else f"{name}#{number}"
        used_names.add(name)
        names[id(conversation)] = name
    return names


@dataclass(slots=True)
class _CapturedSession:
    conversation: CapturedConversation
    names: dict[int, str]
    """The session ids of all conversations, by the conversation's identity."""
    format_name: str
    _inputs: RepeatedInputs = field(default_factory=lambda: RepeatedInputs(captured=True))
    _whole_input: list[InputMessage] = field(default_factory=list)
    """The messages of the newest request, with the earlier ones that it did not repeat."""
    _sent_parts: SentRead = field(default_factory=SentRead)

    def values(self, left_out: Collection[int]) -> Iterator[Recorded]:
        """Yield the session; ``left_out`` are the identities of the conversations that are not yielded."""
        conversation, first_request = self.conversation, self.conversation.requests[0]
        parent, call = conversation.parent, conversation.parent_call
        main = conversation.branch_of
        if main is not None and any(writer is conversation for writer in main.summaries.values()):
            parent, call, main = main, "", None
        has_parent_session = parent is not None and id(parent) not in left_out
        has_main_session = main is not None and id(main) not in left_out
        yield SessionBegin(
            self.names[id(conversation)],
            self.format_name,
            created=first_request.created,
            model=first_request.model,
            system="\n\n".join(first_request.system) or None,
            tools=JsonValue(first_request.tools).decoded().tool_specs() or None,
            parent=self.names[id(parent)] if has_parent_session else None,
            parent_call=(call or None) if has_parent_session else None,
            branch_of=self.names[id(main)] if has_main_session else None,
        )
        for index, request in enumerate(conversation.requests):
            reduction = None
            if (writer := conversation.summaries.get(index)) is not None:
                name = None if id(writer) in left_out else self.names[id(writer)]
                reduction = RecordedReduction(written_by=name)
            yield from self._request(request, reduction)

    def _request(
        self, request: CapturedRequest, reduction: RecordedReduction | None
    ) -> Iterator[Recorded]:
        if request.continued_answer and self._whole_input:
            self._whole_input = [*self._whole_input, *request.messages]
            spend(LOOK_BYTES * len(self._whole_input))
        else:
            self._whole_input = list(request.messages)
        for value in self._inputs.changes_of_input(self._whole_input, request.created, reduction):
            yield _with_author(value)
        answer = self._inputs.answer(self._answer(request))
        yield answer
        yield from self._inputs.results(request.results)
        for note in request.notes:
            yield GapRead(note, message=answer.id)
        if request.answer:
            self._whole_input.append(InputMessage("assistant", request.answer, request.results))

    def _answer(self, request: CapturedRequest) -> MessageRead:
        parts_before, self._sent_parts = self._sent_parts, request.sent_parts
        return MessageRead(
            request.id or request.place,
            "assistant",
            request.answer,
            request.created,
            completed=request.completed,
            model=request.model,
            effort=request.effort or None,
            client=request.client,
            cache_miss=request.cache_miss,
            usage=request.usage,
            finish=request.finish,
            error=request.error,
            captured_request=self._sent_parts.changed_since(parts_before),
        )


def _with_author(value: Recorded) -> Recorded:
    """Return a value; a user message that the client's program wrote is marked as such."""
    if not isinstance(value, MessageRead) or value.role != "user" or value.by_program:
        return value
    texts = [part for part in value.parts if isinstance(part, Text)]
    is_by_program = bool(texts) and all(text.synthetic for text in texts)
    return replace(value, by_program=is_by_program)
