"""Read the output of ``claude -p --output-format stream-json``, one message per line, or of ``json --verbose``.

Records with the same message id form one answer. Records of a subagent have the id of the call that started it; only its
answers with calls are printed, and its last answer as the result of that call. The usage in an answer's records was
counted when the answer began: its final output tokens are known from ``stream_event`` records, or from ``result`` where
a turn has one request. ``result`` holds the tokens of its turn, and the cost and ``modelUsage`` of everything so far,
with subagents.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from palimpsest.recordings.format_parts.claude_code_blocks import (
    FORMAT,
    PROGRAM_TEXT,
    UnfinishedAnswers,
    answer_of,
    compaction_of,
    model_of,
    result_blocks,
    result_of,
    usage_of,
)
from palimpsest.recordings.message_formats.content_blocks import content_parts, texts_and_media
from palimpsest.recordings.printed_streams.claude_code_stream_index import (
    RECORD_TYPES,
    StreamIndex,
    StreamThread,
    is_list,
    message_id_of,
    printed_records,
)
from palimpsest.recordings.printed_streams.printed_totals import ClaudeTotals
from palimpsest.recordings.reading.importer import Head, Report
from palimpsest.recordings.reading.json_fields import JsonValue
from palimpsest.recordings.reading.recorded import (
    Call,
    CompactionRead,
    GapRead,
    MessageRead,
    Recorded,
    SessionBegin,
    Text,
    TotalsRead,
    UniqueGaps,
    UsageRead,
    text_of_parts,
)
from palimpsest.recordings.reading.sources import discard_report, first_object
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.strings.relative_paths import recorded_name
from palimpsest.transcript.timeline import NO_TOTALS
from palimpsest.transcript.values import Usage

NOT_PRINTED_SENTENCE = (
    "The system prompt and the descriptions of the tools are not in the recording."
)
NO_PROMPT_SENTENCE = "The prompt is not in the recording."
OUTPUT_BEGUN_SENTENCE = (
    "The output tokens of this answer, and of others that are recorded like it, are those counted when it began; the "
    "recorded totals count whole answers."
)
CALLS_ONLY_SENTENCE = "Of its answers only the calls were printed, and the last answer: texts beside calls are not in the recording."
WITH_SUBAGENTS_SENTENCE = "The recorded totals count the requests of its subagents, too."
NO_SUMMARY_SENTENCE = "The summary of a compaction is not in the recording."
ONLY_RESULT_SENTENCE = "Only the last answer of the session is in the recording."
OWN_FIELDS = (b'"parent_tool_use_id"', b'"tools"', b'"total_cost_usd"')
"""Fields that only Claude Code prints: in its messages, its first record and its result."""
_STREAM_START = re.compile(rb'\s*(\[\s*)?\{\s*"type"\s*:\s*"system"\s*,\s*"subtype"\s*:\s*"init"')


def is_printed_by_claude(head: Head) -> bool:
    """Return whether a file begins with messages that ``claude -p`` printed; other programs lack its fields."""
    if b'"session_id"' not in head.start or not any(name in head.start for name in OWN_FIELDS):
        return False
    if _STREAM_START.match(head.start) or is_list(head):
        return True
    record = first_object(head)
    return record.text("type") in RECORD_TYPES and isinstance(record.get("session_id"), str)


def printed_sessions(path: Path, report: Report) -> Iterator[Recorded]:
    """Yield each printed session, then its subagents."""
    index = StreamIndex(recorded_name(path.stem))
    for number, record in printed_records(path, report):
        index.add(number, record)
    if not index.threads:
        raise UserError(f"{path.name!r} holds no message of Claude Code.")
    if index.has_left_out_threads:
        report("", f"Only the first {len(index.threads)} of its sessions and subagents were read.")
    for thread in index.threads.values():
        yield from _ThreadReader(index, thread).read(path)


@dataclass(slots=True)
class _ThreadReader:
    """Reads the records of one session or subagent in their order."""

    _index: StreamIndex
    _thread: StreamThread
    _model: str = ""
    _has_prompt: bool = False
    _has_answer: bool = False
    _has_text: bool = False
    """Whether an answer with text was printed."""
    _awaits_answer: bool = True
    """Whether the newest answer has calls, so that another one follows."""
    _compaction: CompactionRead | None = None
    _turn_answers: list[tuple[str, Usage | None]] = field(default_factory=list)
    """Ids of the turn's first two answers, each with its usage when it began; None where the final usage is known."""
    _gaps: UniqueGaps = field(default_factory=UniqueGaps)
    _totals: ClaudeTotals = field(default_factory=ClaudeTotals)
    _answers: UnfinishedAnswers = field(init=False)

    def __post_init__(self) -> None:
        self._answers = UnfinishedAnswers(self._make_answer)

    def read(self, path: Path) -> Iterator[Recorded]:
        thread, begin = self._thread, self._index.begin_by_session[self._thread.session_id]
        self._model = begin.model
        if thread.call_id:
            begin = SessionBegin(
                thread.own_session_id,
                FORMAT,
                begin.format_version,
                directory=begin.directory,
                created=begin.created,
                parent=self._index.parent_session_id_of(thread),
                parent_call=thread.call_id,
            )
        yield begin
        yield GapRead(NOT_PRINTED_SENTENCE)
        for number, record in printed_records(path, discard_report, thread.record_numbers):
            if self._index.session_and_call_ids(record) == (thread.session_id, thread.call_id):
                yield from self._read_record(number, record)
            elif number == thread.result_record_number:
                yield from self._last_answer(record)
        yield from self._answers.finish()
        if self._compaction is not None:
            yield self._compaction

    def _read_record(self, number: int, record: JsonValue) -> Iterator[Recorded]:
        match record.get("type"):
            case "assistant":
                yield from self._read_answer_record(number, record)
            case "user":
                yield from self._answers.in_order(*self._read_user_record(number, record))
            case "system":
                yield from self._answers.in_order(*self._read_boundary(number, record))
            case "result" if not self._thread.call_id:
                yield from self._answers.in_order(*self._read_result(number, record))
            case _:
                pass  # progress of tasks, hooks, and pieces of answers, which are also printed whole

    # Answers

    def _read_answer_record(self, number: int, record: JsonValue) -> Iterator[Recorded]:
        yield from self._answers.in_order(*self._compaction_without_summary())
        if not self._has_prompt:
            yield from self._answers.in_order(*self._gaps.once(NO_PROMPT_SENTENCE))
        message_id = message_id_of(number, record)
        self._answers.add(message_id, record)
        if number >= self._thread.last_record_by_answer.get(message_id, 0):
            yield from self._answers.complete(message_id)
            if len(self._turn_answers) < 2:
                self._turn_answers.append((message_id, self._usage_at_begin(message_id, record)))
            if self._thread.call_id or len(self._turn_answers) > 1:
                yield from self._unknown_output_gap()

    def _usage_at_begin(self, message_id: str, record: JsonValue) -> Usage | None:
        """Return the usage that was counted when an answer began; None where its final usage is known."""
        message = record.at("message")
        is_known = message_id in self._thread.end_by_answer or bool(message.get("stop_reason"))
        return None if is_known else usage_of(message.at("usage"))

    def _unknown_output_gap(self) -> Iterator[Recorded]:
        """Yield, once, the gap about answers whose end was not printed."""
        message_id = next(
            (message_id for message_id, usage in self._turn_answers if usage is not None), None
        )
        if message_id is not None:
            yield from self._gaps.once(OUTPUT_BEGUN_SENTENCE, message_id)

    def _end_turn(self, usage: Usage | None) -> Iterator[Recorded]:
        """End a turn; yield its usage as that of its only request, if both count the same tokens of the prompt."""
        fields = ("input", "cache_read", "cache_write")
        message_id, first_usage = (
            self._turn_answers[0] if len(self._turn_answers) == 1 else ("", None)
        )
        if (
            usage
            and first_usage
            and all(
                getattr(usage, field_name) == getattr(first_usage, field_name)
                for field_name in fields
            )
        ):
            yield UsageRead(message_id, usage)
        else:
            yield from self._unknown_output_gap()
        self._turn_answers = []

    def _make_answer(self, message_id: str, records: list[JsonValue]) -> MessageRead:
        self._model = model_of(records[-1].at("message")) or self._model
        answer = answer_of(message_id, records, self._model)
        has_calls = any(isinstance(part, Call) and not part.at_provider for part in answer.parts)
        usage, finish = self._thread.end_by_answer.get(message_id, (answer.usage, None))
        self._has_answer, self._awaits_answer = True, has_calls
        self._has_text = self._has_text or any(isinstance(part, Text) for part in answer.parts)
        finish = answer.finish or finish or ("tool-calls" if has_calls else None)
        return replace(answer, usage=usage, finish=finish)

    def _last_answer(self, record: JsonValue) -> Iterator[Recorded]:
        """Yield the last answer of a subagent, which is printed as the result of its call."""
        result = record.at("tool_use_result")
        parts = tuple(content_parts(result.get("content")))
        if not parts or not self._awaits_answer:
            return
        yield from self._answers.finish()
        if self._has_answer and not self._has_text:
            yield from self._gaps.once(CALLS_ONLY_SENTENCE)
        model = result.text("resolvedModel")
        yield MessageRead(
            f"{self._thread.call_id}/answer",
            "assistant",
            parts,
            record.time_ms("timestamp"),
            model=f"anthropic/{model}" if model else self._model,
            usage=usage_of(result.at("usage")),
            finish="stop",
        )

    # User messages, compactions and totals

    def _read_user_record(self, number: int, record: JsonValue) -> Iterator[Recorded]:
        content, time_ms = record.get("message", "content"), record.time_ms("timestamp")
        blocks = result_blocks(record.at("message"))
        facts = record.small_facts("tool_use_result") if len(blocks) == 1 else {}
        for block in blocks:
            subagent = self._index.thread_of_call(
                self._thread.session_id, block.text("tool_use_id")
            )
            yield from result_of(
                block, time_ms, facts, None if subagent is None else subagent.own_session_id
            )
        parts = texts_and_media(content)
        if not parts:
            return
        is_synthetic = record.get("isSynthetic") is True
        if self._compaction is not None and is_synthetic:
            yield replace(self._compaction, summary=text_of_parts(parts))
            self._compaction = None
            return
        first_text = next((part.text for part in parts if isinstance(part, Text)), "")
        is_by_program = is_synthetic or bool(blocks) or first_text.lstrip().startswith(PROGRAM_TEXT)
        self._has_prompt = self._has_prompt or not is_by_program
        yield MessageRead(
            record.text("uuid") or f"m{number}",
            "user",
            parts,
            time_ms,
            model=self._model,
            by_program=is_by_program,
        )

    def _read_boundary(self, number: int, record: JsonValue) -> Iterator[Recorded]:
        yield from self._compaction_without_summary()
        metadata = record.at("compact_metadata")
        first_kept_uuid = metadata.text("preserved_segment", "head_uuid")
        message_id = record.text("uuid") or f"m{number}"
        self._compaction = compaction_of(
            record, message_id, self._index.message_id_of_record(first_kept_uuid), None
        )

    def _compaction_without_summary(self) -> Iterator[Recorded]:
        if self._compaction is not None:
            yield self._compaction
            yield GapRead(NO_SUMMARY_SENTENCE)
            self._compaction = None

    def _read_result(self, number: int, record: JsonValue) -> Iterator[Recorded]:
        text = record.text("result")
        has_failed = record.get("is_error") is True
        if not self._has_answer and (text or has_failed):
            self._has_answer = True
            yield from self._gaps.once(NO_PROMPT_SENTENCE if has_failed else ONLY_RESULT_SENTENCE)
            yield MessageRead(
                record.text("uuid") or f"m{number}",
                "assistant",
                (Text(text),) if text else (),
                model=self._model,
                finish="error" if has_failed else None,
                error=(text or record.text("subtype")) if has_failed else None,
            )
        yield from self._end_turn(usage_of(record.at("usage")))
        totals = self._totals.totals_after(record)
        if totals == NO_TOTALS:
            return
        yield TotalsRead(totals)
        if any(
            thread.call_id and thread.session_id == self._thread.session_id
            for thread in self._index.threads.values()
        ):
            yield from self._gaps.once(WITH_SUBAGENTS_SENTENCE)
