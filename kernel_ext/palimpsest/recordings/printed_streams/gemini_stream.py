"""Read the output of Gemini CLI with ``--output-format stream-json``, one event per line, or ``json``, one document.

Requests are printed one after the other without their tokens, and the result counts all of them together. A tool's
output is printed as it was displayed, which may be nothing. The document holds only the last answer and the statistics.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from palimpsest.recordings.printed_streams.printed_answers import PrintedAnswers
from palimpsest.recordings.printed_streams.printed_totals import sum_of_totals, totals_of_usages
from palimpsest.recordings.reading.importer import Head, Report
from palimpsest.recordings.reading.json_fields import JsonValue
from palimpsest.recordings.reading.recorded import (
    Call,
    GapRead,
    MessageRead,
    Recorded,
    ResultRead,
    SessionBegin,
    Text,
    TotalsRead,
)
from palimpsest.recordings.reading.sources import (
    MAX_HEAD_BYTES,
    first_object,
    json_field,
    json_lines,
)
from palimpsest.transcript.strings.relative_paths import recorded_name
from palimpsest.transcript.timeline import NO_TOTALS, RecordedTotals
from palimpsest.transcript.values import Usage

FORMAT = "gemini-cli"
EVENT_TYPES = frozenset({"message", "tool_use", "tool_result", "result"})
NOT_PRINTED_SENTENCE = "The system prompt, the tools, the thoughts and the tokens of single requests are not in the recording."
AS_DISPLAYED_SENTENCE = (
    "Results are recorded as they were displayed, not as the model was given them."
)
ONLY_LAST_SENTENCE = "Only the last answer is in the recording: the prompts, the other answers and the calls are not."
_DOCUMENT_START = re.compile(
    rb'\s*\{\s*(?P<id>"session_id"\s*:\s*"[^"\\]{0,200}"\s*,\s*)?"(response|stats)"\s*:'
)


def is_printed_by_gemini(head: Head) -> bool:
    """Return whether a file begins with events, or is a document, that Gemini CLI printed."""
    return _is_document(head) or _is_event(first_object(head))


def _is_event(record: JsonValue) -> bool:
    if record.get("type") == "init":
        return isinstance(record.get("session_id"), str) and "timestamp" in record
    has_own_field = any(name in record for name in ("tool_id", "delta", "stats"))
    return record.text("type") in EVENT_TYPES and "timestamp" in record and has_own_field


def _is_document(head: Head) -> bool:
    match = _DOCUMENT_START.match(head.start)
    if match is None:
        return False
    may_be_cut = match["id"] is not None and len(head.start) >= MAX_HEAD_BYTES
    return may_be_cut or b'"stats"' in head.start


def printed_chat(path: Path, head: Head, report: Report) -> Iterator[Recorded]:
    """Yield each printed chat as a session."""
    default_id = recorded_name(path.stem)
    if _is_document(head):
        yield from _document_values(path, default_id)
        return
    events = _ChatEvents(default_id)
    for _, record in json_lines(path, report):
        yield from events.read_event(record)
    yield from events.finish()


class _ChatEvents:
    """Reads the events of runs that were printed one after the other."""

    def __init__(self, default_id: str) -> None:
        """``default_id`` is the id of a chat whose first event is missing."""
        self._default_id = default_id
        self._session_id = ""
        self._answers = PrintedAnswers()
        self._totals_before = self._newest_totals = NO_TOTALS
        """The totals of the session's earlier runs, and of the newest run."""

    def read_event(self, record: JsonValue) -> Iterator[Recorded]:
        """Yield the values of the next event."""
        event_type, time_ms = record.text("type"), record.time_ms("timestamp")
        if event_type == "init" or not self._session_id:
            yield from self._begin_session(record, time_ms)
        answers = self._answers
        match event_type:
            case "message" if record.get("role") == "user":
                yield from answers.complete_answer()
                text = record.text("content")
                yield MessageRead(
                    answers.new_id(), "user", (Text(text),), time_ms, model=answers.model
                )
            case "message":
                yield from answers.add_piece(record.text("content"), time_ms)
            case "tool_use":
                tool = record.text("tool_name") or "unknown"
                call = Call(record.id("tool_id"), tool, record.tool_input("parameters"))
                yield from answers.add(call, time_ms)
            case "tool_result":
                output = record.text("output") or record.text("error", "message")
                is_error = record.get("status") == "error"
                result = ResultRead(record.id("tool_id"), output, is_error=is_error, ended=time_ms)
                yield from answers.add_result(result, is_recorded=bool(output))
            case "result":
                yield from self._read_result(record)
            case _:
                pass  # warnings for the screen

    def finish(self) -> Iterator[Recorded]:
        """Yield the answer that nothing follows."""
        yield from self._answers.complete_answer()

    def _begin_session(self, record: JsonValue, time_ms: int | None) -> Iterator[Recorded]:
        yield from self._answers.complete_answer()
        session_id = record.id("session_id") or self._default_id
        model = f"gemini/{name}" if (name := record.text("model")) else self._answers.model
        if session_id != self._session_id:
            self._session_id = session_id
            self._answers, self._totals_before = PrintedAnswers(), NO_TOTALS
            yield SessionBegin(session_id, FORMAT, created=time_ms, model=model)
            yield GapRead(NOT_PRINTED_SENTENCE)
            yield GapRead(AS_DISPLAYED_SENTENCE)
        else:
            self._totals_before = sum_of_totals(self._totals_before, self._newest_totals)
        self._answers.model, self._newest_totals = model, NO_TOTALS

    def _read_result(self, record: JsonValue) -> Iterator[Recorded]:
        if record.get("status") == "error":
            reason = record.text("error", "message") or "The run failed."
            yield from self._answers.complete_answer(finish="error", error=reason)
        else:
            yield from self._answers.complete_answer()
        stats = record.at("stats")
        self._newest_totals = RecordedTotals(
            input=stats.tokens("input_tokens") or None,
            cached=stats.tokens("cached") or None,
            output=stats.tokens("output_tokens") or None,
        )
        totals = sum_of_totals(self._totals_before, self._newest_totals)
        if totals != NO_TOTALS:
            yield TotalsRead(totals)


def _document_values(path: Path, default_id: str) -> Iterator[Recorded]:
    """Yield the last answer, with its usage if there was only one request, and the totals of all requests."""
    models = json_field(path, "stats.models").fields()
    token_counts = [JsonValue(model).at("tokens") for model in models.values()]
    request_counts = [JsonValue(model).count("api", "totalRequests") for model in models.values()]
    only_model = next(iter(models)) if len(models) == 1 else ""
    model = f"gemini/{JsonValue(only_model).text()}" if only_model else ""
    yield SessionBegin(json_field(path, "session_id").id() or default_id, FORMAT, model=model)
    yield GapRead(ONLY_LAST_SENTENCE)
    response = json_field(path, "response").text()
    failure = json_field(path, "error").text("message")
    usages_or_none = (
        gemini_usage(counts, prompt_field="prompt", answer_field="candidates")
        for counts in token_counts
    )
    usages = [usage for usage in usages_or_none if usage is not None]
    yield MessageRead(
        "m1",
        "assistant",
        (Text(response),) if response else (),
        model=model,
        usage=usages[0] if sum(request_counts) == 1 and len(usages) == 1 else None,
        finish="error" if failure else "stop",
        error=failure or None,
    )
    totals = totals_of_usages(usages)._replace(requests=sum(request_counts) or None)
    if totals != NO_TOTALS:
        yield TotalsRead(totals)


def gemini_usage(
    counts: JsonValue, *, prompt_field: str = "input", answer_field: str = "output"
) -> Usage | None:
    """Return the usage in an object, given the names of its two fields of tokens; None where nothing was counted."""
    cached_tokens, prompt_tokens = counts.tokens("cached"), counts.tokens(prompt_field)
    if not (prompt_tokens or counts.tokens(answer_field)):
        return None
    return Usage(
        # Prompts of the provider's own tools are counted beside the prompt.
        input=max(0, prompt_tokens - cached_tokens) + counts.tokens("tool"),
        output=counts.tokens(answer_field),
        reasoning=counts.tokens("thoughts"),
        cache_read=cached_tokens,
    )
