"""Read the requests to models among captured exchanges; all other exchanges are counted and named."""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from palimpsest.recordings.captured_http import anthropic_exchange, gemini_exchange, openai_exchange
from palimpsest.recordings.captured_http.captured_requests import CapturedRequest, SharedMessages
from palimpsest.recordings.captured_http.exchanges import (
    WEBSOCKET_METHOD,
    CapturedExchange,
    UnreadableBody,
)
from palimpsest.recordings.captured_http.streamed_answers import (
    WholeAnswer,
    anthropic_answer,
    chat_answer,
    gemini_answer,
    is_event_stream,
    responses_answer,
    stream_events,
)
from palimpsest.recordings.message_formats.chat_messages import full_model_name
from palimpsest.recordings.reading.importer import Report
from palimpsest.recordings.reading.json_fields import NO_VALUE, JsonValue
from palimpsest.transcript.redaction.secret_patterns import scrub
from palimpsest.transcript.visible_text import visible_line

MAX_STORED_BYTES = 256_000_000
"""Maximum bytes of different messages, system prompts and tools that are stored of one capture."""
MAX_NAMED_EXCHANGES = 8
"""Maximum kinds of other exchanges, by method and address, that are named; all are counted."""
MAX_NAME_CHARS = 80
MAX_SEGMENT_CHARS = 32
"""Maximum characters of a part of a path that is named; a longer one may be a key."""
COUNT_PATH = re.compile(r"(?:/count_tokens|:countTokens|/input_tokens)$")
"""Ends of the paths of calls that only count tokens, and so are no requests of a session."""
MAX_ERROR_CHARS = 500
MIN_ERROR_STATUS = 400
"""HTTP statuses from this one on are errors."""
TOO_MUCH_SENTENCE = (
    "The capture holds more than {most:,} MB of different messages: what follows was left out. Save fewer sessions in one "
    "capture."
)
COUNTING_CALLS_SENTENCE = (
    "Calls that only counted tokens are no requests and were left out: {count:,}."
)
OTHERS_SENTENCE = "Exchanges that are no requests to a model were left out: {names}."
CUT_SENTENCE = "The capture has only the beginning of the answer."
_HTTP_METHODS = ("GET", "POST", "PUT", "HEAD", "DELETE", "PATCH", "OPTIONS", "CONNECT")
_PROGRAM_VERSION = re.compile(r"\A[\w.-]{1,40}/(\d[\w.+-]{0,39})")


class Interface(NamedTuple):
    """How the exchanges of one provider's interface are read."""

    name: str
    path_end: "re.Pattern[str]"
    read_request: Callable[[CapturedRequest, JsonValue, SharedMessages], None]
    read_answer: Callable[[CapturedRequest, JsonValue], None]
    whole_answer: Callable[[Iterable[Any]], WholeAnswer]


INTERFACES = (
    Interface(
        "anthropic",
        re.compile(r"/v1/messages$"),
        anthropic_exchange.read_request,
        anthropic_exchange.read_answer,
        anthropic_answer,
    ),
    Interface(
        "chat",
        re.compile(r"/chat/completions$"),
        openai_exchange.read_chat_request,
        openai_exchange.read_chat_answer,
        chat_answer,
    ),
    Interface(
        "responses",
        re.compile(r"/responses$"),
        openai_exchange.read_responses_request,
        openai_exchange.read_responses_answer,
        responses_answer,
    ),
    Interface(
        "gemini",
        re.compile(r":(?:generateContent|streamGenerateContent)$"),
        gemini_exchange.read_request,
        gemini_exchange.read_answer,
        gemini_answer,
    ),
)


class RequestReader:
    """Reads the requests to models of one capture, in the order in which they were sent."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._shared = SharedMessages()
        self._other_exchanges: Counter[str] = Counter()
        self._counting_call_count = 0
        self._read_answer_keys: set[tuple[str, str]] = set()
        """The id of each answer with the time of its request: a file may hold an exchange twice."""

    def requests(self, exchanges: Iterable[CapturedExchange]) -> list[CapturedRequest]:
        """Return the requests to models among exchanges; report what was left out."""
        requests: list[CapturedRequest] = []
        for exchange in exchanges:
            if (request := self._read_request(exchange)) is not None:
                requests.append(request)
            if self._shared.stored_bytes > MAX_STORED_BYTES:
                self._report(
                    exchange.place, TOO_MUCH_SENTENCE.format(most=MAX_STORED_BYTES // 1_000_000)
                )
                break
        self._report_others()
        requests.sort(key=lambda request: request.created_ms or 0)
        return requests

    def _read_request(self, exchange: CapturedExchange) -> CapturedRequest | None:
        interface = _interface_of(exchange)
        if interface is None:
            if exchange.method == "POST" and COUNT_PATH.search(exchange.path):
                self._counting_call_count += 1
            else:
                self._other_exchanges[_exchange_name(exchange)] += 1
            return None
        request = CapturedRequest(
            interface.name,
            exchange.place,
            created_ms=exchange.started_ms,
            completed_ms=exchange.ended_ms,
            client=_version_of(exchange.headers.text("user-agent")),
        )
        try:
            body = exchange.request.json()
        except UnreadableBody as error:
            self._report(exchange.place, f"The request cannot be read and was left out: {error}.")
            return None
        if not any(field in body for field in ("messages", "input", "contents", "request")):
            self._report(exchange.place, "The request holds no messages and was left out.")
            return None
        request.model = _model_name(exchange, body)
        request.conversation_id = _conversation_id(exchange, body)
        interface.read_request(request, body, self._shared)
        self._read_answer(request, exchange, interface)
        answer_key = request.id, str(exchange.started_ms)
        if request.id and answer_key in self._read_answer_keys:
            self._report(exchange.place, "The capture holds this exchange twice; it counts once.")
            return None
        self._read_answer_keys.add(answer_key)
        return request

    def _read_answer(
        self, request: CapturedRequest, exchange: CapturedExchange, interface: Interface
    ) -> None:
        try:
            answer = _whole_answer(exchange, interface)
        except UnreadableBody as error:
            self._report(exchange.place, f"The answer cannot be read and was left out: {error}.")
            answer = WholeAnswer(error=f"The answer in the capture cannot be read: {error}.")
        document = answer.document
        request.id = document.id("id")
        request.model = full_model_name(document.text("model")) or request.model
        has_failed = exchange.status >= MIN_ERROR_STATUS or document.get("type") == "error"
        if has_failed or (answer.error and not document):
            reason = document.text("error", "message") or answer.error
            reason = reason or f"The server answered with status {exchange.status}."
            request.error, request.finish = reason[:MAX_ERROR_CHARS], "error"
            return
        interface.read_answer(request, document)
        if answer.error:
            request.error, request.finish = answer.error[:MAX_ERROR_CHARS], "error"
        elif not answer.is_whole:
            request.error, request.finish = CUT_SENTENCE, "aborted"
        if interface.name == "gemini":
            request.model = full_model_name(request.model)

    def _report_others(self) -> None:
        if self._counting_call_count:
            self._report("", COUNTING_CALLS_SENTENCE.format(count=self._counting_call_count))
        named_kinds = self._other_exchanges.most_common(MAX_NAMED_EXCHANGES)
        name_list = ", ".join(f"{count:,} {name}" for name, count in named_kinds)
        if unnamed_count := len(self._other_exchanges) - len(named_kinds):
            unnamed_exchange_count = self._other_exchanges.total() - sum(
                count for _, count in named_kinds
            )
            name_list += f", and {unnamed_exchange_count:,} to {unnamed_count:,} more places"
        if name_list:
            self._report("", OTHERS_SENTENCE.format(names=name_list))


def _interface_of(exchange: CapturedExchange) -> Interface | None:
    interfaces = (interface for interface in INTERFACES if interface.path_end.search(exchange.path))
    return next(interfaces, None) if exchange.method == "POST" else None


def _whole_answer(exchange: CapturedExchange, interface: Interface) -> WholeAnswer:
    """Return the answer as one document; raises UnreadableBody."""
    if exchange.events:
        return interface.whole_answer(exchange.events)
    response = exchange.response
    if response.unreadable_reason:
        raise UnreadableBody(response.unreadable_reason)
    if response.value is None and not response.content.strip():
        return WholeAnswer(NO_VALUE, is_whole=exchange.status >= MIN_ERROR_STATUS)
    if response.value is None and is_event_stream(response.content):
        return interface.whole_answer(stream_events(response.content))
    if exchange.status >= MIN_ERROR_STATUS:
        try:
            return WholeAnswer(response.json())
        except UnreadableBody:
            return WholeAnswer()
    document = response.json()
    if isinstance(document.raw, list):  # Gemini streams a list where no events are asked for
        return interface.whole_answer(document.raw)
    return WholeAnswer(document)


def _model_name(exchange: CapturedExchange, body: JsonValue) -> str:
    name = body.text("model")
    if not name and "/models/" in exchange.path:  # Gemini's is in the path
        name = exchange.path.rpartition("/models/")[2].partition(":")[0]
    return full_model_name(name[:MAX_NAME_CHARS])


def _conversation_id(exchange: CapturedExchange, body: JsonValue) -> str:
    headers = exchange.headers
    session_id = headers.text("x-claude-code-session-id") or headers.text("session_id")
    session_id = session_id or body.id("prompt_cache_key")
    session_id = session_id or anthropic_exchange.session_id_of(body)[:MAX_NAME_CHARS]
    return "/".join(
        piece for piece in (session_id, headers.text("x-claude-code-agent-id")) if piece
    )


def _version_of(user_agent: str) -> str:
    """Return the version of the program that sent a request."""
    match = _PROGRAM_VERSION.match(user_agent)
    return match[1] if match else ""


def _exchange_name(exchange: CapturedExchange) -> str:
    """Return the name of an exchange in a report: method, host and path, without anything that could be a key."""
    segments = [
        segment if len(segment) <= MAX_SEGMENT_CHARS else "…"
        for segment in exchange.path.split("/")
    ]
    method = exchange.method if exchange.method in (*_HTTP_METHODS, WEBSOCKET_METHOD) else "?"
    name = visible_line(scrub(f"{method} {exchange.host}{'/'.join(segments)}"))
    return name if len(name) <= MAX_NAME_CHARS else f"{name[: MAX_NAME_CHARS - 1]}…"
