"""Read the output of ``codex exec --json`` since 0.44: events of threads, turns and items, one per line.

Neither requests nor the model are printed. The tokens of ``turn.completed`` are totals of the whole thread so far, also
of the turns before it was resumed, so that no turn's own tokens are known. ``codex_exec_events`` reads older versions.
"""

from collections.abc import Iterator
from pathlib import Path

from palimpsest.recordings.format_parts.codex_items import FORMAT
from palimpsest.recordings.message_formats.content_blocks import texts_and_media
from palimpsest.recordings.printed_streams.codex_exec_events import OldEvents, is_old_event
from palimpsest.recordings.printed_streams.printed_answers import PrintedAnswers
from palimpsest.recordings.reading.importer import Head, Report
from palimpsest.recordings.reading.json_fields import JsonValue
from palimpsest.recordings.reading.recorded import (
    Call,
    GapRead,
    Recorded,
    ResultRead,
    SessionBegin,
    Text,
    Thinking,
    TotalsRead,
    media_of,
    text_of_parts,
)
from palimpsest.recordings.reading.sources import discard_report, first_object, json_lines
from palimpsest.transcript.strings.relative_paths import recorded_name
from palimpsest.transcript.timeline import NO_TOTALS, RecordedTotals

BEGIN_EVENTS = frozenset({"thread.started", "session.created"})
EVENT_TYPES = frozenset({"turn.started", "item.started", "item.updated", "item.completed"})
IGNORED_ITEM_TYPES = frozenset({"error"})
"""Types of items that are for the screen only."""
PLAN_TYPE = "todo_list"
NO_PROMPTS_SENTENCE = (
    "The prompts, the model, the system prompt and the tools are not in the recording."
)
NO_REQUESTS_SENTENCE = "The requests are not recorded as such, nor their tokens; one is taken to begin where a text or a call follows a result."
WHOLE_THREAD_SENTENCE = (
    "The recorded totals are those of the whole thread: earlier runs of it are counted, too."
)


def is_printed_by_codex(head: Head) -> bool:
    """Return whether a file begins with events that ``codex exec --json`` printed."""
    record = first_object(head)
    record_type = record.text("type")
    if record_type in BEGIN_EVENTS:
        return bool(_thread_id(record))
    return (
        record_type in EVENT_TYPES and (record_type == "turn.started" or "item" in record)
    ) or is_old_event(record)


def printed_threads(path: Path, report: Report) -> Iterator[Recorded]:
    """Yield each printed thread as a session."""
    is_old = next((is_old_event(record) for _, record in json_lines(path, discard_report)), False)
    default_id = recorded_name(path.stem)
    events = OldEvents(default_id, path) if is_old else _ThreadEvents(default_id, report)
    for number, record in json_lines(path, report):
        yield from events.read_event(number, record)
    yield from events.finish()


def _thread_id(record: JsonValue) -> str:
    return record.id("thread_id") or record.id("session_id")


class _ThreadEvents:
    """Reads the events of threads that were printed one after the other."""

    def __init__(self, default_id: str, report: Report) -> None:
        """``default_id`` is the id of a thread whose first event is missing."""
        self._default_id = default_id
        self._report = report
        self._current_thread_id = ""
        self._run_count = 0
        """Number of runs of ``codex exec`` that began."""
        self._answers = PrintedAnswers()
        self._open_calls: dict[str, None] = {}
        """Ids of the calls that have begun and not ended."""
        self._plan_count = 0
        self._has_totals = False

    def read_event(self, number: int, record: JsonValue) -> Iterator[Recorded]:
        """Yield the values of the next event."""
        record_type = record.text("type")
        if record_type in BEGIN_EVENTS or not self._current_thread_id:
            yield from self._begin_session(
                _thread_id(record) if record_type in BEGIN_EVENTS else ""
            )
        match record_type:
            case "item.started" | "item.updated" | "item.completed":
                yield from self._read_item(record.at("item"), record_type, f"line {number}")
            case "turn.completed":
                yield from self._answers.complete_answer()
                yield from self._read_totals(record.at("usage"))
            case "turn.failed":
                reason = record.text("error", "message") or "The turn failed."
                yield from self._answers.complete_answer(finish="error", error=reason)
            case _:
                pass  # for the screen only

    def finish(self) -> Iterator[Recorded]:
        """Yield the answer that nothing follows."""
        yield from self._answers.complete_answer()

    def _begin_session(self, thread_id: str) -> Iterator[Recorded]:
        yield from self._answers.complete_answer()
        self._run_count += 1
        self._open_calls = {}
        if self._current_thread_id and self._current_thread_id == thread_id:
            return  # the thread was resumed
        self._current_thread_id = thread_id or self._default_id
        self._answers, self._has_totals = PrintedAnswers(), False
        yield SessionBegin(self._current_thread_id, FORMAT)
        yield GapRead(NO_PROMPTS_SENTENCE)
        yield GapRead(NO_REQUESTS_SENTENCE)

    def _read_totals(self, usage: JsonValue) -> Iterator[Recorded]:
        totals = RecordedTotals(
            input=usage.tokens("input_tokens") or None,
            cached=usage.tokens("cached_input_tokens") or None,
            output=usage.tokens("output_tokens") or None,
        )
        if totals == NO_TOTALS:
            return
        yield TotalsRead(totals)
        if not self._has_totals:
            self._has_totals = True
            yield GapRead(WHOLE_THREAD_SENTENCE)

    def _read_item(self, item: JsonValue, event_type: str, place: str) -> Iterator[Recorded]:
        item_type = item.text("type") or item.text("item_type")
        text = item.text("text")
        if item_type == PLAN_TYPE:
            yield from self._read_plan(item, event_type)
        elif item_type in ("agent_message", "assistant_message", "plan", "reasoning"):
            if event_type == "item.completed":
                part = Thinking(text) if item_type == "reasoning" else Text(text)
                yield from self._answers.add(part)
        elif (
            call := _call_of(item, item_type, f"{self._run_count}.{item.id('id') or place}")
        ) is not None:
            yield from self._read_call(call, item, item_type, event_type)
        elif item_type not in IGNORED_ITEM_TYPES:
            unknown_sentence = (
                f"It is of the kind {item_type!r}, which is not known, and was left out."
            )
            self._report(place, unknown_sentence)

    def _read_call(
        self, call: Call, item: JsonValue, item_type: str, event_type: str
    ) -> Iterator[Recorded]:
        if call.id not in self._open_calls:
            self._open_calls[call.id] = None
            yield from self._answers.add(call)
        if event_type == "item.completed":
            del self._open_calls[call.id]
            result, is_recorded = _result_of(item, item_type, call.id)
            yield from self._answers.add_result(result, is_recorded=is_recorded)

    def _read_plan(self, item: JsonValue, event_type: str) -> Iterator[Recorded]:
        """Yield the call that made or changed the plan; it is printed once more when the turn ends."""
        if event_type == "item.completed":
            return
        self._plan_count += 1
        call = Call(f"plan.{self._plan_count}", "update_plan", {"items": item.list_at("items")})
        yield from self._answers.add(call)
        yield from self._answers.add_result(ResultRead(call.id, ""), is_recorded=False)


def _call_of(item: JsonValue, item_type: str, call_id: str) -> Call | None:
    """Return the call that an item is; None for another item."""
    match item_type:
        case "command_execution":
            return Call(call_id, "shell", {"command": item.text("command")})
        case "file_change":
            return Call(call_id, "apply_patch", {"changes": item.list_at("changes")})
        case "mcp_tool_call":
            tool = f"{item.text('server')}__{item.text('tool')}"
            return Call(call_id, tool, item.tool_input("arguments", name="arguments"))
        case "collab_tool_call":
            arguments = {
                "prompt": item.text("prompt"),
                "agents": item.list_at("receiver_thread_ids"),
            }
            return Call(call_id, item.text("tool") or item_type, arguments)
        case "web_search":
            return Call(call_id, item_type, {"query": item.text("query")}, at_provider=True)
        case _:
            return None


def _result_of(item: JsonValue, item_type: str, call_id: str) -> tuple[ResultRead, bool]:
    """Return the result of a call, and whether its output was printed."""
    has_failed = item.text("status") in ("failed", "declined")
    match item_type:
        case "command_execution":
            exit_code = item.get("exit_code")
            facts = {"exit_code": exit_code} if isinstance(exit_code, int) else {}
            output = item.text("aggregated_output")
            return ResultRead(call_id, output, is_error=has_failed, metadata=facts), True
        case "mcp_tool_call":
            content = texts_and_media(item.get("result", "content"))
            output = text_of_parts(content) or item.text("error", "message")
            is_recorded = bool(output or content) or item.at("result").raw is not None
            media = media_of(content)
            return ResultRead(call_id, output, is_error=has_failed, media=media), is_recorded
        case "collab_tool_call" if states := item.fields("agents_states"):
            output = JsonValue(states).as_text()
            return ResultRead(call_id, output, is_error=has_failed), True
        case _:
            return ResultRead(call_id, "", is_error=has_failed), item_type == "web_search"
