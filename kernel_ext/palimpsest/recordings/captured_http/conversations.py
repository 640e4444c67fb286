"""Find which captured requests go on from which: the conversations of a capture, and what branches off them.

A request goes on from the newest answer that it repeats. Where it repeats none, it may try a failed request again, go on
from an answer by the provider's id, begin with the summary that another request wrote, or leave out the oldest messages.
Of the requests that go on from the same answer, the one with the newest descendant is the conversation; the others are
branches: a request for a summary, or what the user took back.
"""

from collections.abc import Iterator, Sequence
from dataclasses import field

from palimpsest.lazy_dataclasses import dataclass
from palimpsest.recordings.captured_http.captured_requests import CapturedRequest, calls_in
from palimpsest.recordings.message_formats.repeated_inputs import InputMessage, Parts
from palimpsest.recordings.reading.json_fields import fingerprint
from palimpsest.recordings.reading.recorded import Text, words_of

SUMMARY_LINE_CHARS = 40
"""A line of an answer that is as long as this is recognised in a later prompt as the summary."""
SUMMARY_MESSAGES = 3
"""Messages at the beginning of a request in which a summary is looked for."""
MOST_EQUAL = 100
"""Most requests with equal answers among which the one before is looked for, the newest first."""
PROMPT_CHARS = 12
"""A call's input that is as long as this is recognised as the first prompt of a subagent."""


@dataclass(slots=True)
class CapturedConversation:
    """Requests of which each goes on from the one before."""

    requests: list[CapturedRequest]
    branch_of: "CapturedConversation | None" = None
    """The conversation from whose answer it goes on, too."""
    summaries: dict[int, "CapturedConversation"] = field(default_factory=dict)
    """The conversation whose last request wrote the summary with which a request begins, by the request's index."""
    parent: "CapturedConversation | None" = None
    """The conversation that began it as a subagent."""
    parent_call: str = ""
    """The call that began it, as its id was recorded."""


def conversations_of(requests: Sequence[CapturedRequest]) -> list[CapturedConversation]:
    """Return the conversations of a capture's requests, which are in the order of their times."""
    parents, writers = _Links(requests).find_predecessors()
    newest = list(range(len(requests)))
    children: dict[int | None, list[int]] = {}
    for index, parent in enumerate(parents):
        children.setdefault(parent, []).append(index)
    for index, parent in reversed([*enumerate(parents)]):
        if parent is not None:
            newest[parent] = max(newest[parent], newest[index])
    conversations: list[CapturedConversation] = []
    of_request: dict[int, CapturedConversation] = {}
    open_starts: list[tuple[int, CapturedConversation | None]] = [
        (root, None) for root in reversed(children.get(None, []))
    ]
    while open_starts:
        index, branch_of = open_starts.pop()
        conversation = CapturedConversation([], branch_of)
        conversations.append(conversation)
        following: int | None = index
        while following is not None:
            of_request[following] = conversation
            conversation.requests.append(requests[following])
            candidates = children.get(following, [])
            main = max(candidates, key=lambda child: newest[child], default=None)
            open_starts += [(child, conversation) for child in candidates if child != main]
            following = main
    for index, writer in writers.items():
        conversation = of_request[index]
        position = next(
            at for at, request in enumerate(conversation.requests) if request is requests[index]
        )
        if of_request[writer] is not conversation:
            conversation.summaries[position] = of_request[writer]
    _find_parents(conversations)
    return conversations


class _Links:
    """Finds for each request the earlier one from whose answer it goes on."""

    def __init__(self, requests: Sequence[CapturedRequest]) -> None:
        self._requests = requests
        self._of_answer: dict[bytes, list[int]] = {}
        """The requests with an answer, by the hash that a later request has of it."""
        self._by_id: dict[str, int] = {}
        self._by_messages: dict[tuple[bytes, ...], int] = {}
        """The newest request without an answer, by its messages."""
        self._summary_lines: list[tuple[str, int]] = []
        self._by_thread: dict[tuple[str, ...], int] = {}

    def find_predecessors(self) -> tuple[list[int | None], dict[int, int]]:
        """Return each request's predecessor, and the requests that wrote the summaries with which others begin."""
        parents: list[int | None] = []
        writers: dict[int, int] = {}
        for index, request in enumerate(self._requests):
            parent = self._predecessor(request)
            writer = self._summary_writer(request, parent)
            if writer is not None and writer != parent:
                writers[index] = writer
                if parent is None:
                    parent = parents[writer] if parents[writer] is not None else writer
            if parent is None:
                parent = self._of_thread(request)
            parents.append(parent)
            self._store_request(request, index)
        return parents, writers

    def _store_request(self, request: CapturedRequest, index: int) -> None:
        if request.id:
            self._by_id[request.id] = index
        if request.has_failed:
            self._by_messages[tuple(request.keys)] = index
        else:
            self._of_answer.setdefault(answer_key(request.answer), []).append(index)
            line = max(words_of(request.answer).split("\n"), key=len).strip()
            if len(line) >= SUMMARY_LINE_CHARS:
                self._summary_lines.append((line, index))
        if thread := _thread_of(request):
            self._by_thread[thread] = index

    def _predecessor(self, request: CapturedRequest) -> int | None:
        if request.follows in self._by_id:
            return self._by_id[request.follows]
        for message in reversed(request.messages):
            if message.role != "assistant" or not message.parts:
                continue
            for index in self._of_answer.get(answer_key(message.parts), [])[:-MOST_EQUAL:-1]:
                if _may_be_one(self._requests[index], request):
                    return self._after_failures(index, request)
        keys = tuple(request.keys)
        for length in (len(keys), len(keys) - 1, len(keys) - 2):
            failed = self._by_messages.get(keys[:length]) if length > 0 else None
            if failed is not None and _may_be_one(self._requests[failed], request):
                return failed
        return None

    def _after_failures(self, index: int, request: CapturedRequest) -> int:
        """Return the newest failed request with the same messages, which this one tries again; else ``index``."""
        failed = self._by_messages.get(tuple(request.keys))
        return failed if failed is not None and failed > index else index

    def _summary_writer(self, request: CapturedRequest, parent: int | None) -> int | None:
        """Return the request whose answer stands in this one's first messages as a summary."""
        known = set(self._requests[parent].keys) if parent is not None else set()
        texts = [
            _prompt_text(message)
            for message, key in zip(
                request.messages[:SUMMARY_MESSAGES], request.keys[:SUMMARY_MESSAGES], strict=True
            )
            if message.role == "user" and key not in known
        ]
        if not texts:
            return None
        for line, index in reversed(self._summary_lines):
            if any(line in text for text in texts) and _may_be_one(self._requests[index], request):
                return index
        return None

    def _of_thread(self, request: CapturedRequest) -> int | None:
        """Return the newest request of the same thread of which this one left out messages, or repeats some."""
        before = self._by_thread.get(_thread_of(request))
        if before is None:
            return None
        is_named = request.interface == "responses" and bool(request.conversation)
        earlier = set(self._requests[before].keys[1:])
        return before if is_named or any(key in earlier for key in request.keys) else None


def _thread_of(request: CapturedRequest) -> tuple[str, ...]:
    """Return what the requests of one thread of a client have in common."""
    return (request.interface, request.conversation, *request.system, request.tools)


def _may_be_one(before: CapturedRequest, request: CapturedRequest) -> bool:
    """Return whether two requests may belong to one conversation by their interface and the client's own ids."""
    ids = before.conversation, request.conversation
    return before.interface == request.interface and (not all(ids) or ids[0] == ids[1])


def answer_key(parts: Parts) -> bytes:
    """Return the hash by which an answer is recognised in a later request: its calls, or its text."""
    calls = [call.id for call in calls_in(parts) if call.id and not call.at_provider]
    if calls:
        return fingerprint("\0".join(["calls", *calls]))
    named = [f"{call.tool} {call.input}" for call in calls_in(parts)]
    return fingerprint("\0".join(["text", words_of(parts).strip(), *named]))


def _prompt_text(message: InputMessage) -> str:
    return "\n".join(part.text for part in message.parts if isinstance(part, Text))


def _find_parents(conversations: Sequence[CapturedConversation]) -> None:
    """Find the conversations that other ones began as subagents: the input of a call is the first prompt.

    Where several calls have the same input, the first conversation belongs to the first of them, and so on.
    """
    prompts: dict[str, list[tuple[CapturedConversation, str]]] = {}
    for conversation in conversations:
        for request in conversation.requests:
            for call in calls_in(request.answer):
                for value in call.input.values():
                    if isinstance(value, str) and len(value) >= PROMPT_CHARS:
                        prompts.setdefault(value.strip(), []).append((conversation, call.id))
    for conversation in conversations:
        if conversation.branch_of is not None:
            continue
        for text in _first_prompts(conversation):
            callers = prompts.get(text, [])
            if callers and callers[0][0] is not conversation:
                conversation.parent, conversation.parent_call = callers[0]
                del callers[: len(callers) > 1]
                break


def _first_prompts(conversation: CapturedConversation) -> Iterator[str]:
    first = conversation.requests[0]
    message = next((given for given in first.messages if given.role == "user"), None)
    parts = message.parts if message is not None else ()
    return (part.text.strip() for part in parts if isinstance(part, Text) and not part.synthetic)
