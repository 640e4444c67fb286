"""Join a recording with captures of its requests: each answer gets the data of its request.

An answer is recognised by the provider's id, by the ids of its calls, or by its text with its usage. A capture's request is
shown once: with the recording that has its answer, or else in a session of the capture.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from palimpsest.recordings.reading.importer import Report
from palimpsest.recordings.reading.json_fields import fingerprint
from palimpsest.recordings.reading.recorded import (
    REQUESTS_NOT_RECORDED,
    Call,
    GapRead,
    MessageRead,
    Recorded,
    SentRead,
    SessionBegin,
    text_of_parts,
)

MIN_TEXT_CHARS = 12
"""Minimum characters of a text by which, with its usage, an answer without calls is recognised."""
MAX_ANSWER_NAMES = 1_000_000
"""Maximum names of captured answers that are stored; the requests of further answers are not joined."""
MAX_SHOWN_ID_CHARS = 80
"""Maximum characters of a session's id in a report."""
PARTLY_CAPTURED_SENTENCE = (
    "Of {total:,} requests of session {session!r} {known:,} are in the capture: of the others the system prompt, the "
    "tools and the cache marks are not known."
)


def answer_names(answer: MessageRead) -> tuple[str, ...]:
    """Return the names by which an answer is recognised in another recording, the surest first."""
    call_names = tuple(
        f"call {part.id}" for part in answer.parts if isinstance(part, Call) and part.id
    )
    id_name = (f"answer {answer.id}",) if answer.id else ()
    text, usage = text_of_parts(answer.parts), answer.usage
    if call_names or usage is None or len(text) < MIN_TEXT_CHARS:
        return (*id_name, *call_names)
    counts = f"{usage.prompt} {usage.output + usage.reasoning}"
    return (*id_name, f"text {fingerprint(text).hex()} {counts}")


@dataclass(slots=True)
class CapturedAnswers:
    """The captured data of requests, found by the names of their answers."""

    joined_answers: set[str] = field(default_factory=set)
    """The surest name of each captured answer that a recording has."""
    _sent_by_name: dict[str, tuple[str, SentRead]] = field(default_factory=dict)
    """For each name of an answer: the answer's surest name, and the captured data of its request."""

    def __bool__(self) -> bool:
        return bool(self._sent_by_name)

    def add_requests(self, requests: Iterable[tuple[tuple[str, ...], SentRead]]) -> None:
        """Add the requests of a capture; of answers with the same name the first is kept."""
        for names, sent_parts in requests:
            if len(self._sent_by_name) >= MAX_ANSWER_NAMES:
                return
            for name in names:
                self._sent_by_name.setdefault(name, (names[0], sent_parts))

    def joined_values(self, values: Iterable[Recorded], report: Report) -> Iterator[Recorded]:
        """Yield a recording's values; each answer has the captured data of its request, where there is some."""
        session_join = _SessionJoin(self, "")
        for value in values:
            if isinstance(value, SessionBegin):
                yield from session_join.end(report)
                session_join = _SessionJoin(self, value.id)
                yield value
            elif isinstance(value, GapRead) and value.sentence == REQUESTS_NOT_RECORDED:
                session_join.waiting_gap = value
            elif isinstance(value, MessageRead) and value.role == "assistant":
                yield from session_join.answer(value)
            else:
                yield value
        yield from session_join.end(report)

    def take_sent(self, answer: MessageRead) -> SentRead | None:
        """Return the captured data of an answer's request, and count the request as joined; None where there is none."""
        for name in answer_names(answer):
            if name in self._sent_by_name:
                surest_name, sent_parts = self._sent_by_name[name]
                self.joined_answers.add(surest_name)
                return sent_parts
        return None


@dataclass(slots=True)
class _SessionJoin:
    """Joins the answers of one session with the captured data of their requests."""

    captured: CapturedAnswers
    session_id: str
    waiting_gap: GapRead | None = None
    """The gap that says that the recording lacks data of its requests; it is held back until the first answer."""
    _sent_before: SentRead = field(default_factory=SentRead)
    _request_count: int = 0
    _joined_count: int = 0

    def answer(self, answer: MessageRead) -> Iterator[Recorded]:
        """Yield an answer; the gap precedes the first answer whose request was not captured."""
        sent_parts = self.captured.take_sent(answer)
        self._request_count += answer.usage is not None or sent_parts is not None
        if sent_parts is None:
            yield from self._release_gap()
            yield answer
            return
        self.waiting_gap = None
        self._joined_count += 1
        sent_before, self._sent_before = self._sent_before, sent_parts
        yield replace(answer, captured_request=sent_parts.changed_since(sent_before))

    def _release_gap(self) -> Iterator[GapRead]:
        if self.waiting_gap is not None:
            yield self.waiting_gap
            self.waiting_gap = None

    def end(self, report: Report) -> Iterator[Recorded]:
        """Yield a gap that is still held back, and report a session whose requests were only partly captured."""
        yield from self._release_gap()
        if 0 < self._joined_count < self._request_count:
            report(
                "",
                PARTLY_CAPTURED_SENTENCE.format(
                    total=self._request_count,
                    session=self.session_id[:MAX_SHOWN_ID_CHARS],
                    known=self._joined_count,
                ),
            )
