"""Read captured HTTP between an agent and its models: HAR 1.2, and the lines of claude-tap and claude-trace.

Every request holds its whole input: each message is yielded once, and a message that a later request lacks or shows
changed is a recorded fact. Requests that continue each other's answers form one session; all other traffic is counted
and named. The values contain no header, cookie or query of a request; of the headers only the client's version is kept.
"""

import re
from collections.abc import Collection, Iterator
from pathlib import Path

from palimpsest.recordings.captured_http.captured_requests import CapturedRequest
from palimpsest.recordings.captured_http.captured_sessions import sessions_of
from palimpsest.recordings.captured_http.exchanges import har_exchanges, line_exchanges
from palimpsest.recordings.captured_http.model_requests import RequestReader
from palimpsest.recordings.import_journal.captured_answers import answer_names
from palimpsest.recordings.reading.importer import Head, Report
from palimpsest.recordings.reading.recorded import MessageRead, Recorded, SentRead
from palimpsest.recordings.reading.sources import discard_report
from palimpsest.transcript.errors import UserError

MAX_SEARCHED_BYTES = 4_096
"""Maximum bytes at a file's beginning by which its form is recognised."""
_HAR_START = re.compile(rb'\A\s*\{\s*"log"\s*:\s*\{')
_HAR_FIELDS = (b'"creator"', b'"entries"')
_EXCHANGE_LINE = re.compile(rb'"request"\s*:\s*\{\s*"(?:timestamp|method|url|path)"\s*:')


class CapturedHttpImporter:
    """Reads the requests of a capture as sessions, or adds them to the transcript of the same session."""

    name = "captured-http"
    title = "Captured HTTP (HAR, claude-tap, claude-trace)"
    tried_on = "files of the real writer"

    def recognises(self, head: Head) -> bool:
        """Return whether a file begins like a HAR file, or with a line whose request has a time, method or address."""
        beginning = head.start[:MAX_SEARCHED_BYTES]
        if _HAR_START.match(beginning):
            return any(field in head.start for field in _HAR_FIELDS)
        return beginning.lstrip()[:1] == b"{" and _EXCHANGE_LINE.search(beginning) is not None

    def read(self, path: Path, report: Report) -> Iterator[Recorded]:
        """Yield each conversation as a session."""
        requests = _captured_requests(path, report)
        if not requests:
            raise UserError(f"{str(path)!r} holds no request to a model's interface that is known.")
        yield from sessions_of(requests, self.name, report)

    def sent_requests(self, path: Path) -> Iterator[tuple[tuple[str, ...], SentRead]]:
        """Yield the names of each request's answer, and what the request contained besides its messages."""
        for request in _captured_requests(path, discard_report):
            yield _answer_names(request), request.sent_parts

    def read_rest(
        self, path: Path, report: Report, joined_answers: Collection[str]
    ) -> Iterator[Recorded]:
        """Yield the sessions in which no answer has its first name, the most reliable one, in ``joined_answers``."""
        requests = _captured_requests(path, report)
        joined_indexes = [
            index
            for index, request in enumerate(requests)
            if any(name in joined_answers for name in _answer_names(request)[:1])
        ]
        yield from sessions_of(requests, self.name, report, joined_indexes)


def _captured_requests(path: Path, report: Report) -> list[CapturedRequest]:
    with path.open("rb") as file:
        is_har = _HAR_START.match(file.read(MAX_SEARCHED_BYTES)) is not None
    exchanges = har_exchanges(path, report) if is_har else line_exchanges(path, report)
    return RequestReader(report).requests(exchanges)


def _answer_names(request: CapturedRequest) -> tuple[str, ...]:
    return answer_names(MessageRead(request.id, "assistant", request.answer, usage=request.usage))
