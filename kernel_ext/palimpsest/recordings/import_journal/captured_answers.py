"""Join a recording with captures of its requests: each answer gets the data of its request.

An answer is known by the provider's id, by the ids of its calls, or by its text with its usage. A capture's request is
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
"""An answer without calls and without a known id is recognised by its text from this length on, with its usage."""
MAX_ANSWERS = 1_000_000
PARTLY_CAPTURED = (
    "Of {total:,} requests of session {session!r} {known:,} are in the capture: of the others the system prompt, the "
    "tools and the cache marks are not known."
)


def answer_names(answer: MessageRead) -> tuple[str, ...]:
    """Return the names by which an answer is recognised in another recording, the surest first."""
    calls = tuple(f"call {part.id}" for part in answer.parts if isinstance(part, Call) and part.id)
    own_name = (f"answer {answer.id}",) if answer.id else ()
    text, usage = text_of_parts(answer.parts), answer.usage
    if calls or usage is None or len(text) < MIN_TEXT_CHARS:
        return (*own_name, *calls)
    counts = f"{usage.prompt} {usage.output + usage.reasoning}"
    return (*own_name, f"text {fingerprint(text).hex()} {counts}")


@dataclass(slots=True)
class CapturedAnswers:
    """The captured data of requests, found by the names of their answers."""

    joined_answers: set[str] = field(default_factory=set)
    """The surest name of each captured answer that a recording has."""
    _sent_by_answer: dict[str, tuple[str, SentRead]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self._sent_by_answer)

    def add_requests(self, requests: Iterable[tuple[tuple[str, ...], SentRead]]) -> None:
        """Add the requests of a capture; of answers with the same name the first is kept."""
        for names, sent in requests:
            if len(self._sent_by_answer) >= MAX_ANSWERS:
                return
            for name in names:
                self._sent_by_answer.setdefault(name, (names[0], sent))

    def joined_values(self, values: Iterable[Recorded], report: Report) -> Iterator[Recorded]:
        """Yield a recording's values; each answer has the captured data of its request, where there is some."""
        join = _SessionJoin(self, "")
        for value in values:
            if isinstance(value, SessionBegin):
                yield from join.end(report)
                join = _SessionJoin(self, value.id)
                yield value
            elif isinstance(value, GapRead) and value.sentence == REQUESTS_NOT_RECORDED:
                join.gap = value
            elif isinstance(value, MessageRead) and value.role == "assistant":
                yield from join.answer(value)
            else:
                yield value
        yield from join.end(report)

    def find_sent(self, answer: MessageRead) -> SentRead | None:
        """Return the captured data of an answer's request, and count the request as joined."""
        for name in answer_names(answer):
            if name in self._sent_by_answer:
                surest_name, sent = self._sent_by_answer[name]
                self.joined_answers.add(surest_name)
                return sent
        return None


@dataclass(slots=True)
class _SessionJoin:
    captured: CapturedAnswers
    session: str
    gap: GapRead | None = None
    """The gap that says that the recording lacks data of its requests; it is held back until the first answer."""
    _sent_before: SentRead = field(default_factory=SentRead)
    _request_count: int = 0
    _joined_count: int = 0

    def answer(self, answer: MessageRead) -> Iterator[Recorded]:
        """Yield an answer; the gap precedes the first answer whose request was not captured."""
        sent = self.captured.find_sent(answer)
        self._request_count += answer.usage is not None or sent is not None
        if sent is None:
            yield from self._gap()
            yield answer
            return
        self.gap = None
        self._joined_count += 1
        before, self._sent_before = self._sent_before, sent
        yield replace(answer, captured_request=sent.changed_since(before))

    def _gap(self) -> Iterator[GapRead]:
        if self.gap is not None:
            yield self.gap
            self.gap = None

    def end(self, report: Report) -> Iterator[Recorded]:
        """Yield a gap that is still held back, and report a session whose requests were only partly captured."""
        yield from self._gap()
        if 0 < self._joined_count < self._request_count:
            report(
                "",
                PARTLY_CAPTURED.format(
                    total=self._request_count, session=self.session[:80], known=self._joined_count
                ),
            )
