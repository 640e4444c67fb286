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
    node_of,
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

NOT_PRINTED = "The system prompt and the descriptions of the tools are not in the recording."
NO_PROMPT = "The prompt is not in the recording."
OUTPUT_BEGUN = (
    "The output tokens of this answer, and of others that are recorded like it, are those counted when it began; the "
    "recorded totals count whole answers."
)
CALLS_ONLY = "Of its answers only the calls were printed, and the last answer: texts beside calls are not in the recording."
WITH_SUBAGENTS = "The recorded totals count the requests of its subagents, too."
NO_SUMMARY = "The summary of a compaction is not in the recording."
ONLY_RESULT = "Only the last answer of the session is in the recording."
OWN_FIELDS = (b'"parent_tool_use_id"', b'"tools"', b'"total_cost_usd"')
"""Fields that only Claude Code prints: in its messages, its first record and its result."""
_STREAM_START = re.compile(rb'\s*(\[\s*)?\{\s*"type"\s*:\s*"system"\s*,\s*"subtype"\s*:\s*"init"')


def is_printed_by_claude(head: Head) -> bool:
    """Return whether a file begins with messages that ``claude -p`` printed; other programs lack its fields."""
    if b'"session_id"' not in head.start or not any(mark in head.start for mark in OWN_FIELDS):
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
    _has_message: bool = False
    _has_answer: bool = False
    _has_text: bool = False
    """Whether an answer with text was printed."""
    _awaits_answer: bool = True
    """Whether the newest answer has calls, so that another one follows."""
    _compaction: CompactionRead | None = None
    _turn: list[tuple[str, Usage | None]] = field(default_factory=list)
    """The first two answers of the turn, each with its usage when it began; None where its final usage is known."""
    _gaps: UniqueGaps = field(default_factory=UniqueGaps)
    _totals: ClaudeTotals = field(default_factory=ClaudeTotals)
    _answers: UnfinishedAnswers = field(init=False)

    def __post_init__(self) -> None:
        self._answers = UnfinishedAnswers(self._answer)

    def read(self, path: Path) -> Iterator[Recorded]:
        thread, begin = self._thread, self._index.begins[self._thread.session]
        self._model = begin.model
        if thread.call:
            begin = SessionBegin(
                thread.name,
                FORMAT,
                begin.format_version,
                directory=begin.directory,
                created=begin.created,
                parent=self._index.parent_of(thread),
                parent_call=thread.call,
            )
        yield begin
        yield GapRead(NOT_PRINTED)
        for number, record in printed_records(path, discard_report, thread.records):
            if self._index.session_and_call(record) == (thread.session, thread.call):
                yield from self._record(number, record)
            elif number == thread.result_record:
                yield from self._last_answer(record)
        yield from self._answers.finish()
        if self._compaction is not None:
            yield self._compaction

    def _record(self, number: int, record: JsonValue) -> Iterator[Recorded]:
        match record.get("type"):
            case "assistant":
                yield from self._assistant(number, record)
            case "user":
                yield from self._answers.in_order(*self._user(number, record))
            case "system":
                yield from self._answers.in_order(*self._boundary(number, record))
            case "result" if not self._thread.call:
                yield from self._answers.in_order(*self._result(number, record))
            case _:
                pass  # the progress of tasks, hooks and parts of answers that are printed whole, too

    # Answers

    def _assistant(self, number: int, record: JsonValue) -> Iterator[Recorded]:
        yield from self._answers.in_order(*self._missing_summary())
        if not self._has_message:
            yield from self._answers.in_order(*self._gaps.once(NO_PROMPT))
        node = node_of(number, record)
        self._answers.add(node, record)
        if number >= self._thread.last_records.get(node, 0):
            yield from self._answers.complete(node)
            if len(self._turn) < 2:
                self._turn.append((node, self._usage_at_begin(node, record)))
            if self._thread.call or len(self._turn) > 1:
                yield from self._unknown_output()

    def _usage_at_begin(self, node: str, record: JsonValue) -> Usage | None:
        """Return the usage that was counted when an answer began; None where its final usage is known."""
        message = record.at("message")
        is_known = node in self._thread.answer_ends or bool(message.get("stop_reason"))
        return None if is_known else usage_of(message.at("usage"))

    def _unknown_output(self) -> Iterator[Recorded]:
        """Yield, once, the gap about answers whose end was not printed."""
        node = next((node for node, usage in self._turn if usage is not None), None)
        if node is not None:
            yield from self._gaps.once(OUTPUT_BEGUN, node)

    def _end_turn(self, usage: Usage | None) -> Iterator[Recorded]:
        """Yield the usage of a turn as that of its only request, if both count the same tokens of the prompt."""
        names = ("input", "cache_read", "cache_write")
        node, first_usage = self._turn[0] if len(self._turn) == 1 else ("", None)
        if (
            usage
            and first_usage
            and all(getattr(usage, name) == getattr(first_usage, name) for name in names)
        ):
            yield UsageRead(node, usage)
        else:
            yield from self._unknown_output()
        self._turn = []

    def _answer(self, node: str, records: list[JsonValue]) -> MessageRead:
        self._model = model_of(records[-1].at("message")) or self._model
        answer = answer_of(node, records, self._model)
        has_calls = any(isinstance(part, Call) and not part.at_provider for part in answer.parts)
        usage, finish = self._thread.answer_ends.get(node, (answer.usage, None))
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
            yield from self._gaps.once(CALLS_ONLY)
        model = result.text("resolvedModel")
        yield MessageRead(
            f"{self._thread.call}/answer",
            "assistant",
            parts,
            record.time_ms("timestamp"),
            model=f"anthropic/{model}" if model else self._model,
            usage=usage_of(result.at("usage")),
            finish="stop",
        )

    # User messages, compactions and totals

    def _user(self, number: int, record: JsonValue) -> Iterator[Recorded]:
        content, time = record.get("message", "content"), record.time_ms("timestamp")
        blocks = result_blocks(record.at("message"))
        facts = record.small_facts("tool_use_result") if len(blocks) == 1 else {}
        for block in blocks:
            subagent = self._index.started_by(self._thread.session, block.text("tool_use_id"))
            yield from result_of(block, time, facts, None if subagent is None else subagent.name)
        parts = texts_and_media(content)
        if not parts:
            return
        is_synthetic = record.get("isSynthetic") is True
        if self._compaction is not None and is_synthetic:
            yield replace(self._compaction, summary=text_of_parts(parts))
            self._compaction = None
            return
        first = next((part.text for part in parts if isinstance(part, Text)), "")
        is_by_program = is_synthetic or bool(blocks) or first.lstrip().startswith(PROGRAM_TEXT)
        self._has_message = self._has_message or not is_by_program
        yield MessageRead(
            record.text("uuid") or f"m{number}",
            "user",
            parts,
            time,
            model=self._model,
            by_program=is_by_program,
        )

    def _boundary(self, number: int, record: JsonValue) -> Iterator[Recorded]:
        yield from self._missing_summary()
        metadata = record.at("compact_metadata")
        first_kept = metadata.text("preserved_segment", "head_uuid")
        node = record.text("uuid") or f"m{number}"
        self._compaction = compaction_of(record, node, self._index.message_of(first_kept), None)

    def _missing_summary(self) -> Iterator[Recorded]:
        if self._compaction is not None:
            yield self._compaction
            yield GapRead(NO_SUMMARY)
            self._compaction = None

    def _result(self, number: int, record: JsonValue) -> Iterator[Recorded]:
        text = record.text("result")
        has_failed = record.get("is_error") is True
        if not self._has_answer and (text or has_failed):
            self._has_answer = True
            yield from self._gaps.once(NO_PROMPT if has_failed else ONLY_RESULT)
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
            thread.call and thread.session == self._thread.session
            for thread in self._index.threads.values()
        ):
            yield from self._gaps.once(WITH_SUBAGENTS)
