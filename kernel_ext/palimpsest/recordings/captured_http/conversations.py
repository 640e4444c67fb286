"""Group captured requests into conversations by finding the earlier request that each one continues.

A request continues the newest answer that it repeats. Where it repeats none, it may retry a failed request, continue an
answer by the provider's id, begin with the summary that another request wrote, or leave out the oldest messages. Of
several requests that continue the same answer, the one with the newest descendant stays in the conversation; the others
begin branches: a request for a summary, or messages that the user took back.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from palimpsest.recordings.captured_http.captured_requests import CapturedRequest, calls_in
from palimpsest.recordings.message_formats.repeated_inputs import Parts
from palimpsest.recordings.reading.json_fields import fingerprint
from palimpsest.recordings.reading.recorded import Text, text_of_parts

MIN_SUMMARY_LINE_CHARS = 40
"""Minimum characters of an answer's line that is recognised in a later prompt as part of a summary."""
MAX_SUMMARY_MESSAGES = 3
"""Maximum messages at a request's beginning that are searched for a summary."""
MAX_EQUAL_ANSWERS = 100
"""Maximum requests with equal answers that are tried as the predecessor of a request, the newest first."""
MIN_PROMPT_CHARS = 12
"""Minimum characters of a call's input that is recognised as the first prompt of a subagent."""


@dataclass(slots=True)
class CapturedConversation:
    """Requests of which each continues the one before."""

    requests: list[CapturedRequest]
    branch_of: "CapturedConversation | None" = None
    """The conversation off which it branches."""
    writer_by_request_index: dict[int, "CapturedConversation"] = field(default_factory=dict)
    """The conversation that wrote the summary at a request's beginning, by the request's index in ``requests``."""
    parent: "CapturedConversation | None" = None
    """The conversation that started it as a subagent."""
    parent_call: str = ""
    """The recorded id of the call that started it."""


def conversations_of(requests: Sequence[CapturedRequest]) -> list[CapturedConversation]:
    """Return the conversations of a capture's requests, which are in the order of their times."""
    predecessor_indexes, writer_indexes = _PredecessorSearch(requests).find_predecessors()
    newest_descendant_indexes = list(range(len(requests)))
    successor_indexes: dict[int | None, list[int]] = {}
    for index, predecessor_index in enumerate(predecessor_indexes):
        successor_indexes.setdefault(predecessor_index, []).append(index)
    for index, predecessor_index in reversed([*enumerate(predecessor_indexes)]):
        if predecessor_index is not None:
            newest_descendant_indexes[predecessor_index] = max(
                newest_descendant_indexes[predecessor_index], newest_descendant_indexes[index]
            )
    conversations: list[CapturedConversation] = []
    conversation_by_index: dict[int, CapturedConversation] = {}
    branch_starts: list[tuple[int, CapturedConversation | None]] = [
        (root_index, None) for root_index in reversed(successor_indexes.get(None, []))
    ]
    while branch_starts:
        index, branch_of = branch_starts.pop()
        conversation = CapturedConversation([], branch_of)
        conversations.append(conversation)
        request_index: int | None = index
        while request_index is not None:
            conversation_by_index[request_index] = conversation
            conversation.requests.append(requests[request_index])
            candidate_indexes = successor_indexes.get(request_index, [])
            continuation_index = max(
                candidate_indexes, key=newest_descendant_indexes.__getitem__, default=None
            )
            branch_starts += [
                (candidate_index, conversation)
                for candidate_index in candidate_indexes
                if candidate_index != continuation_index
            ]
            request_index = continuation_index
    for index, writer_index in writer_indexes.items():
        conversation = conversation_by_index[index]
        position = next(
            at for at, request in enumerate(conversation.requests) if request is requests[index]
        )
        if conversation_by_index[writer_index] is not conversation:
            conversation.writer_by_request_index[position] = conversation_by_index[writer_index]
    _find_parents(conversations)
    return conversations


class _PredecessorSearch:
    """Finds the earlier request that each request continues."""

    def __init__(self, requests: Sequence[CapturedRequest]) -> None:
        self._requests = requests
        self._indexes_by_answer: dict[bytes, list[int]] = {}
        """The indexes of requests, by the hash of their answer."""
        self._index_by_answer_id: dict[str, int] = {}
        self._failed_index_by_messages: dict[tuple[bytes, ...], int] = {}
        """The index of the newest request without an answer, by the hashes of its messages."""
        self._summary_lines: list[tuple[str, int]] = []
        """The longest line of each answer, by which it is recognised as a summary, and its request's index."""
        self._newest_index_by_thread: dict[tuple[str, ...], int] = {}

    def find_predecessors(self) -> tuple[list[int | None], dict[int, int]]:
        """Return each request's predecessor, and by each request that begins with a summary its writer, all as indexes."""
        predecessor_indexes: list[int | None] = []
        writer_indexes: dict[int, int] = {}
        for index, request in enumerate(self._requests):
            predecessor_index = self._predecessor_index(request)
            writer_index = self._summary_writer_index(request, predecessor_index)
            if writer_index is not None and writer_index != predecessor_index:
                writer_indexes[index] = writer_index
                if predecessor_index is None:
                    index_before_summary = predecessor_indexes[writer_index]
                    predecessor_index = (
                        index_before_summary if index_before_summary is not None else writer_index
                    )
            if predecessor_index is None:
                predecessor_index = self._newest_index_of_thread(request)
            predecessor_indexes.append(predecessor_index)
            self._store_request(request, index)
        return predecessor_indexes, writer_indexes

    def _store_request(self, request: CapturedRequest, index: int) -> None:
        if request.id:
            self._index_by_answer_id[request.id] = index
        if request.has_failed:
            self._failed_index_by_messages[tuple(request.message_hashes)] = index
        else:
            self._indexes_by_answer.setdefault(answer_key(request.answer), []).append(index)
            line = max(text_of_parts(request.answer).split("\n"), key=len).strip()
            if len(line) >= MIN_SUMMARY_LINE_CHARS:
                self._summary_lines.append((line, index))
        if thread_key := _thread_key(request):
            self._newest_index_by_thread[thread_key] = index

    def _predecessor_index(self, request: CapturedRequest) -> int | None:
        if request.continued_answer_id in self._index_by_answer_id:
            return self._index_by_answer_id[request.continued_answer_id]
        for message in reversed(request.messages):
            if message.role != "assistant" or not message.parts:
                continue
            for index in self._indexes_by_answer.get(answer_key(message.parts), [])[
                :-MAX_EQUAL_ANSWERS:-1
            ]:
                if _may_belong_together(self._requests[index], request):
                    return self._newest_attempt_index(index, request)
        message_hashes = tuple(request.message_hashes)
        for length in (len(message_hashes), len(message_hashes) - 1, len(message_hashes) - 2):
            failed_index = (
                self._failed_index_by_messages.get(message_hashes[:length]) if length > 0 else None
            )
            if failed_index is not None and _may_belong_together(
                self._requests[failed_index], request
            ):
                return failed_index
        return None

    def _newest_attempt_index(self, index: int, request: CapturedRequest) -> int:
        """Return the index of the newest failed request with the same messages, which is retried; else ``index``."""
        failed_index = self._failed_index_by_messages.get(tuple(request.message_hashes))
        return failed_index if failed_index is not None and failed_index > index else index

    def _summary_writer_index(
        self, request: CapturedRequest, predecessor_index: int | None
    ) -> int | None:
        """Return the index of the request whose answer is the summary in a request's first messages."""
        earlier_hashes: set[bytes] = set()
        if predecessor_index is not None:
            earlier_hashes.update(self._requests[predecessor_index].message_hashes)
        first_messages = zip(request.messages, request.message_hashes, strict=True)
        texts = [
            text_of_parts(message.parts)
            for message, message_hash in islice(first_messages, MAX_SUMMARY_MESSAGES)
            if message.role == "user" and message_hash not in earlier_hashes
        ]
        if not texts:
            return None
        for line, index in reversed(self._summary_lines):
            if any(line in text for text in texts) and _may_belong_together(
                self._requests[index], request
            ):
                return index
        return None

    def _newest_index_of_thread(self, request: CapturedRequest) -> int | None:
        """Return the index of a thread's newest request, if the client named the thread or repeats a message."""
        newest_index = self._newest_index_by_thread.get(_thread_key(request))
        if newest_index is None:
            return None
        is_named = request.interface == "responses" and bool(request.conversation_id)
        earlier_hashes = set(self._requests[newest_index].message_hashes[1:])
        if is_named or any(m in earlier_hashes for m in request.message_hashes):
            return newest_index
        return None


def _thread_key(request: CapturedRequest) -> tuple[str, ...]:
    """Return the key of a request's thread: interface, client's id, system prompt and tools."""
    return (request.interface, request.conversation_id, *request.system, request.tools)


def _may_belong_together(earlier: CapturedRequest, request: CapturedRequest) -> bool:
    """Return whether two requests may belong to one conversation by their interface and the client's own ids."""
    conversation_ids = earlier.conversation_id, request.conversation_id
    return earlier.interface == request.interface and (
        not all(conversation_ids) or conversation_ids[0] == conversation_ids[1]
    )


def answer_key(parts: Parts) -> bytes:
    """Return the hash by which an answer is recognised in a later request: its calls, or its text."""
    call_ids = [call.id for call in calls_in(parts) if call.id and not call.at_provider]
    if call_ids:
        return fingerprint("\0".join(["calls", *call_ids]))
    call_texts = [f"{call.tool} {call.input}" for call in calls_in(parts)]
    return fingerprint("\0".join(["text", text_of_parts(parts).strip(), *call_texts]))


def _find_parents(conversations: Sequence[CapturedConversation]) -> None:
    """Set the parents of the conversations that are subagents: an input of the parent's call is their first prompt.

    Where several calls have the same input, the first conversation belongs to the first call, and so on.
    """
    calls_by_input = _calls_by_input(conversations)
    for conversation in conversations:
        if conversation.branch_of is not None:
            continue
        for text in _first_prompts(conversation):
            callers = calls_by_input.get(text, [])
            if callers and callers[0][0] is not conversation:
                conversation.parent, conversation.parent_call = callers[0]
                if len(callers) > 1:
                    del callers[0]
                break


def _calls_by_input(
    conversations: Sequence[CapturedConversation],
) -> dict[str, list[tuple[CapturedConversation, str]]]:
    """Return calls, as conversation and id, by each text in their inputs of at least ``MIN_PROMPT_CHARS``."""
    calls_by_input: dict[str, list[tuple[CapturedConversation, str]]] = {}
    for conversation in conversations:
        for request in conversation.requests:
            for call in calls_in(request.answer):
                for value in call.input.values():
                    if isinstance(value, str) and len(value) >= MIN_PROMPT_CHARS:
                        calls_by_input.setdefault(value.strip(), []).append((conversation, call.id))
    return calls_by_input


def _first_prompts(conversation: CapturedConversation) -> Iterator[str]:
    first_request = conversation.requests[0]
    message = next((message for message in first_request.messages if message.role == "user"), None)
    parts = message.parts if message is not None else ()
    return (part.text.strip() for part in parts if isinstance(part, Text) and not part.synthetic)
