"""Turn the conversations of a capture into sessions, without those whose requests another recording has."""

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
from palimpsest.recordings.reading.reading_budget import BYTES_PER_LOOK_UP, spend
from palimpsest.recordings.reading.recorded import (
    GapRead,
    MessageRead,
    Recorded,
    SentRead,
    SessionBegin,
    Text,
)

ONLY_CAPTURED_SENTENCE = "Left out were requests of its that no other recording has, of conversations that another one tells: {count:,}."
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
    joined_identities = {id(requests[index]) for index in joined_indexes}
    left_out_identities = {
        id(conversation)
        for conversation in conversations
        if any(id(request) in joined_identities for request in conversation.requests)
    }
    session_ids = _session_ids(conversations)
    for conversation in conversations:
        if id(conversation) not in left_out_identities:
            yield from _CapturedSession(conversation, session_ids, format_name).values(
                left_out_identities
            )
    only_captured_count = sum(
        id(request) not in joined_identities
        for conversation in conversations
        if id(conversation) in left_out_identities
        for request in conversation.requests
    )
    if joined_indexes:
        report("", JOINED_SENTENCE.format(count=len(joined_identities)))
    if only_captured_count:
        report("", ONLY_CAPTURED_SENTENCE.format(count=only_captured_count))


def _session_ids(conversations: Sequence[CapturedConversation]) -> dict[int, str]:
    """Return the id of each conversation's session, by the conversation's ``id()``: the provider's id of an answer."""
    session_ids: dict[int, str] = {}
    used_ids: set[str] = set()
    for number, conversation in enumerate(conversations, 1):
        first_request = conversation.requests[0]
        answer_id = next((request.id for request in conversation.requests if request.id), "")
        session_id = (
            answer_id or f"{first_request.created_ms or first_request.place}-{first_request.model}"
        )
        session_id = session_id if session_id not in used_ids else f"{session_id}#{number}"
        used_ids.add(session_id)
        session_ids[id(conversation)] = session_id
    return session_ids


@dataclass(slots=True)
class _CapturedSession:
    """Converts one conversation into a session's values."""

    conversation: CapturedConversation
    session_ids: dict[int, str]
    """The session ids of all conversations, by the conversation's ``id()``."""
    format_name: str
    _inputs: RepeatedInputs = field(default_factory=lambda: RepeatedInputs(captured=True))
    _whole_input: list[InputMessage] = field(default_factory=list)
    """The messages of the newest request, with the earlier ones that it did not repeat."""
    _sent_parts: SentRead = field(default_factory=SentRead)

    def values(self, left_out_identities: Collection[int]) -> Iterator[Recorded]:
        """Yield the session's values; ``left_out_identities`` are the ``id()`` of conversations that are not yielded."""
        conversation, first_request = self.conversation, self.conversation.requests[0]
        parent, call_id = conversation.parent, conversation.parent_call
        main_conversation = conversation.branch_of
        if main_conversation is not None and any(
            writer is conversation for writer in main_conversation.writer_by_request_index.values()
        ):
            parent, call_id, main_conversation = main_conversation, "", None
        has_parent_session = parent is not None and id(parent) not in left_out_identities
        has_main_session = (
            main_conversation is not None and id(main_conversation) not in left_out_identities
        )
        yield SessionBegin(
            self.session_ids[id(conversation)],
            self.format_name,
            created=first_request.created_ms,
            model=first_request.model,
            system="\n\n".join(first_request.system) or None,
            tools=JsonValue(first_request.tools).decoded().tool_specs() or None,
            parent=self.session_ids[id(parent)] if has_parent_session else None,
            parent_call=(call_id or None) if has_parent_session else None,
            branch_of=self.session_ids[id(main_conversation)] if has_main_session else None,
        )
        for index, request in enumerate(conversation.requests):
            reduction = None
            if (writer := conversation.writer_by_request_index.get(index)) is not None:
                writer_id = (
                    None if id(writer) in left_out_identities else self.session_ids[id(writer)]
                )
                reduction = RecordedReduction(written_by=writer_id)
            yield from self._request_values(request, reduction)

    def _request_values(
        self, request: CapturedRequest, reduction: RecordedReduction | None
    ) -> Iterator[Recorded]:
        if request.continued_answer_id and self._whole_input:
            self._whole_input = [*self._whole_input, *request.messages]
            spend(BYTES_PER_LOOK_UP * len(self._whole_input))
        else:
            self._whole_input = list(request.messages)
        for value in self._inputs.changes_of_input(
            self._whole_input, request.created_ms, reduction
        ):
            yield _with_author(value)
        answer = self._inputs.add_answer(self._answer(request))
        yield answer
        yield from self._inputs.add_results(request.results)
        for note in request.notes:
            yield GapRead(note, message=answer.id)
        if request.answer:
            self._whole_input.append(InputMessage("assistant", request.answer, request.results))

    def _answer(self, request: CapturedRequest) -> MessageRead:
        sent_before, self._sent_parts = self._sent_parts, request.sent_parts
        return MessageRead(
            request.id or request.place,
            "assistant",
            request.answer,
            request.created_ms,
            completed=request.completed_ms,
            model=request.model,
            effort=request.effort or None,
            client=request.client,
            cache_miss=request.cache_miss,
            usage=request.usage,
            finish=request.finish,
            error=request.error,
            captured_request=self._sent_parts.changed_since(sent_before),
        )


def _with_author(value: Recorded) -> Recorded:
    """Return a value; a user message that the client's program wrote is marked as such."""
    if not isinstance(value, MessageRead) or value.role != "user" or value.by_program:
        return value
    texts = [part for part in value.parts if isinstance(part, Text)]
    is_by_program = bool(texts) and all(text.synthetic for text in texts)
    return replace(value, by_program=is_by_program)
