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
"""Minimum length of an answer's line that is recognised in a later prompt as part of a summary."""
SUMMARY_SEARCH_MESSAGES = 3
"""How many of a request's first messages are searched for a summary."""
MAX_EQUAL_ANSWERS = 100
"""Maximum requests with equal answers that are tried as the predecessor of a request, the newest first."""
MIN_PROMPT_CHARS = 12
"""Minimum length of a call's input that is recognised as the first prompt of a subagent."""


@dataclass(slots=True)
class CapturedConversation:
    """Requests each of which continues the one before."""

    requests: list[CapturedRequest]
    branch_of: "CapturedConversation | None" = None
    """The conversation off which it branches."""
    summaries: dict[int, "CapturedConversation"] = field(default_factory=dict)
    """The conversation that wrote the summary at the beginning of a request, by the request's index."""
    parent: "CapturedConversation | None" = None
    """The conversation that started it as a subagent."""
    parent_call: str = ""
    """The recorded id of the call that started it."""


def conversations_of(requests: Sequence[CapturedRequest]) -> list[CapturedConversation]:
    """Return the conversations of a capture's requests, which are in the order of their times."""
    predecessors, summary_writers = _Links(requests).find_predecessors()
    newest_descendants = list(range(len(requests)))
    successors: dict[int | None, list[int]] = {}
    for index, predecessor in enumerate(predecessors):
        successors.setdefault(predecessor, []).append(index)
    for index, predecessor in reversed([*enumerate(predecessors)]):
        if predecessor is not None:
            newest_descendants[predecessor] = max(
                newest_descendants[predecessor], newest_descendants[index]
            )
    conversations: list[CapturedConversation] = []
    by_request: dict[int, CapturedConversation] = {}
    branch_starts: list[tuple[int, CapturedConversation | None]] = [
        (root, None) for root in reversed(successors.get(None, []))
    ]
    while branch_starts:
        index, branch_of = branch_starts.pop()
        conversation = CapturedConversation([], branch_of)
        conversations.append(conversation)
        request_index: int | None = index
        while request_index is not None:
            by_request[request_index] = conversation
            conversation.requests.append(requests[request_index])
            candidates = successors.get(request_index, [])
            continuation = max(candidates, key=newest_descendants.__getitem__, default=None)
            branch_starts += [
                (candidate, conversation) for candidate in candidates if candidate != continuation
            ]
            request_index = continuation
    for index, writer in summary_writers.items():
        conversation = by_request[index]
        position = next(
            at for at, request in enumerate(conversation.requests) if request is requests[index]
        )
        if by_request[writer] is not conversation:
            conversation.summaries[position] = by_request[writer]
    _find_parents(conversations)
    return conversations


class _Links:
    """Finds the earlier request that each request continues."""

    def __init__(self, requests: Sequence[CapturedRequest]) -> None:
        self._requests = requests
        self._by_answer: dict[bytes, list[int]] = {}
        """The indexes of requests, by the hash of their answer."""
        self._by_id: dict[str, int] = {}
        self._by_messages: dict[tuple[bytes, ...], int] = {}
        """The newest request without an answer, by its messages."""
        self._summary_lines: list[tuple[str, int]] = []
        """The longest line of each answer, by which it is recognised as a summary, and its request's index."""
        self._by_thread: dict[tuple[str, ...], int] = {}

    def find_predecessors(self) -> tuple[list[int | None], dict[int, int]]:
        """Return the predecessor of each request, and by request the one that wrote the summary with which it begins."""
        predecessors: list[int | None] = []
        summary_writers: dict[int, int] = {}
        for index, request in enumerate(self._requests):
            predecessor = self._predecessor(request)
            writer = self._summary_writer(request, predecessor)
            if writer is not None and writer != predecessor:
                summary_writers[index] = writer
                if predecessor is None:
                    before_summary = predecessors[writer]
                    predecessor = before_summary if before_summary is not None else writer
            if predecessor is None:
                predecessor = self._newest_of_thread(request)
            predecessors.append(predecessor)
            self._store_request(request, index)
        return predecessors, summary_writers

    def _store_request(self, request: CapturedRequest, index: int) -> None:
        if request.id:
            self._by_id[request.id] = index
        if request.has_failed:
            self._by_messages[tuple(request.message_hashes)] = index
        else:
            self._by_answer.setdefault(answer_key(request.answer), []).append(index)
            line = max(text_of_parts(request.answer).split("\n"), key=len).strip()
            if len(line) >= MIN_SUMMARY_LINE_CHARS:
                self._summary_lines.append((line, index))
        if thread := _thread_of(request):
            self._by_thread[thread] = index

    def _predecessor(self, request: CapturedRequest) -> int | None:
        if request.continued_answer in self._by_id:
            return self._by_id[request.continued_answer]
        for message in reversed(request.messages):
            if message.role != "assistant" or not message.parts:
                continue
            for index in self._by_answer.get(answer_key(message.parts), [])[:-MAX_EQUAL_ANSWERS:-1]:
                if _may_belong_together(self._requests[index], request):
                    return self._newest_attempt(index, request)
        keys = tuple(request.message_hashes)
        for length in (len(keys), len(keys) - 1, len(keys) - 2):
            failed = self._by_messages.get(keys[:length]) if length > 0 else None
            if failed is not None and _may_belong_together(self._requests[failed], request):
                return failed
        return None

    def _newest_attempt(self, index: int, request: CapturedRequest) -> int:
        """Return the newest failed request with the same messages, which this one retries; else ``index``."""
        failed = self._by_messages.get(tuple(request.message_hashes))
        return failed if failed is not None and failed > index else index

    def _summary_writer(self, request: CapturedRequest, predecessor: int | None) -> int | None:
        """Return the request whose answer is the summary in this one's first messages."""
        earlier_keys: set[bytes] = set()
        if predecessor is not None:
            earlier_keys.update(self._requests[predecessor].message_hashes)
        first_messages = zip(request.messages, request.message_hashes, strict=True)
        texts = [
            text_of_parts(message.parts)
            for message, key in islice(first_messages, SUMMARY_SEARCH_MESSAGES)
            if message.role == "user" and key not in earlier_keys
        ]
        if not texts:
            return None
        for line, index in reversed(self._summary_lines):
            if any(line in text for text in texts) and _may_belong_together(
                self._requests[index], request
            ):
                return index
        return None

    def _newest_of_thread(self, request: CapturedRequest) -> int | None:
        """Return the newest request of the same thread, if the client named the thread or repeats a message."""
        newest_request = self._by_thread.get(_thread_of(request))
        if newest_request is None:
            return None
        is_named = request.interface == "responses" and bool(request.conversation)
        earlier_keys = set(self._requests[newest_request].message_hashes[1:])
        if is_named or any(key in earlier_keys for key in request.message_hashes):
            return newest_request
        return None


def _thread_of(request: CapturedRequest) -> tuple[str, ...]:
    """Return the key of a request's thread: interface, client's id, system prompt and tools."""
    return (request.interface, request.conversation, *request.system, request.tools)


def _may_belong_together(earlier: CapturedRequest, request: CapturedRequest) -> bool:
    """Return whether two requests may belong to one conversation by their interface and the client's own ids."""
    ids = earlier.conversation, request.conversation
    return earlier.interface == request.interface and (not all(ids) or ids[0] == ids[1])


def answer_key(parts: Parts) -> bytes:
    """Return the hash by which an answer is recognised in a later request: its calls, or its text."""
    calls = [call.id for call in calls_in(parts) if call.id and not call.at_provider]
    if calls:
        return fingerprint("\0".join(["calls", *calls]))
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
    """Return the calls with each long enough text in their input, as conversation and id of the call."""
    calls_by_input: dict[str, list[tuple[CapturedConversation, str]]] = {}
    for conversation in conversations:
        for request in conversation.requests:
            for call in calls_in(request.answer):
                for value in call.input.values():
                    if isinstance(value, str) and len(value) >= MIN_PROMPT_CHARS:
                        calls_by_input.setdefault(value.strip(), []).append((conversation, call.id))
    return calls_by_input


def _first_prompts(conversation: CapturedConversation) -> Iterator[str]:
    first = conversation.requests[0]
    message = next((message for message in first.messages if message.role == "user"), None)
    parts = message.parts if message is not None else ()
    return (part.text.strip() for part in parts if isinstance(part, Text) and not part.synthetic)
