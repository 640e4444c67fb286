"""Join texts and calls, which an agent prints while it runs, into answers; results or tokens end an answer."""

from collections.abc import Iterator

from palimpsest.recordings.reading.recorded import (
    NO_ANSWER_SENTENCE,
    Call,
    GapRead,
    MessageRead,
    Recorded,
    ResultRead,
    Text,
    Thinking,
)
from palimpsest.transcript.values import Usage

NO_OUTPUT_SENTENCE = "The output of this call is not in the recording."
MAX_WAITING_RESULTS = 100
"""Maximum results that wait for the tokens of their request, which may never be printed."""
MAX_TEXT_CHARS = 16_000_000
"""Maximum characters of a text in pieces; its answer ends there, so that it is not stored without limit."""


class PrintedAnswers:
    """Makes answers of texts, calls and results in the order in which they were printed."""

    def __init__(self, *, ends_with_tokens: bool = False) -> None:
        """With ``ends_with_tokens`` a request's tokens are printed after the results of its calls, so results wait for them."""
        self.model = ""
        self.effort: str | None = None
        self._ends_with_tokens = ends_with_tokens
        self._message_count = 0
        self._parts: list[Text | Thinking | Call] = []
        self._text_pieces: list[str] = []
        """Pieces of the text that is being printed."""
        self._text_chars = 0
        self._created_ms: int | None = None
        self._waiting_results: list[Recorded] = []
        """Results that wait for their answer."""

    def new_id(self) -> str:
        """Return an id for the next message, another one at each call."""
        self._message_count += 1
        return f"m{self._message_count}"

    def add_piece(self, text: str, created_ms: int | None = None) -> Iterator[Recorded]:
        """Add a piece of a text, which later pieces may continue; yields the answer before it, if that has ended."""
        yield from self._begin_answer(created_ms)
        self._text_pieces.append(text)
        self._text_chars += len(text)
        if self._text_chars > MAX_TEXT_CHARS:
            yield from self.complete_answer()

    def add(
        self, part: Text | Thinking | Call, created_ms: int | None = None
    ) -> Iterator[Recorded]:
        """Add a part; yields the answer before it, if that has ended."""
        is_of_same_answer = (
            isinstance(part, Call) and 0 < len(self._waiting_results) < MAX_WAITING_RESULTS
        )
        if not is_of_same_answer:
            yield from self._begin_answer(created_ms)
        self._end_text()
        self._parts.append(part)

    def _begin_answer(self, created_ms: int | None) -> Iterator[Recorded]:
        if self._waiting_results:
            yield from self.complete_answer()
        if not self._parts and not self._text_pieces:
            self._created_ms = created_ms

    def _end_text(self) -> None:
        if self._text_pieces:
            self._parts.append(Text("".join(self._text_pieces)))
            self._text_pieces, self._text_chars = [], 0

    def add_result(self, result: ResultRead, *, is_recorded: bool = True) -> Iterator[Recorded]:
        """Add the result of a call; yields the answer before it and the result, unless results wait for the tokens.

        Unless the output ``is_recorded``, a gap says that it is missing.
        """
        values: list[Recorded] = [result]
        if not is_recorded:
            values.append(GapRead(NO_OUTPUT_SENTENCE, call=result.call))
        if self._ends_with_tokens:
            self._waiting_results += values
        else:
            yield from self.complete_answer()
            yield from values

    def complete_answer(
        self, usage: Usage | None = None, *, finish: str | None = None, error: str | None = None
    ) -> Iterator[Recorded]:
        """Yield the current answer, if there is one, and the results that waited for it."""
        self._end_text()
        if not (self._parts or self._waiting_results or usage or error):
            return
        has_calls = any(isinstance(part, Call) for part in self._parts)
        answer = MessageRead(
            self.new_id(),
            "assistant",
            tuple(self._parts),
            self._created_ms,
            model=self.model,
            effort=self.effort,
            usage=usage,
            finish=finish or ("tool-calls" if has_calls else "stop"),
            error=error,
        )
        waiting_results = self._waiting_results
        self._parts, self._waiting_results = [], []
        yield answer
        if not answer.parts and error is None:
            yield GapRead(NO_ANSWER_SENTENCE, message=answer.id)
        yield from waiting_results
