"""Index the output of Claude Code: the records of each session and subagent, and the last record of each answer.

Only ids and figures are stored, no content.
"""

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from palimpsest.recordings.format_parts.claude_code_blocks import (
    FORMAT,
    MAX_VERSION_CHARS,
    result_blocks,
    usage_of,
)
from palimpsest.recordings.format_parts.claude_code_index import BOUNDARY_SUBTYPE
from palimpsest.recordings.reading.importer import Head, Report
from palimpsest.recordings.reading.json_fields import NO_VALUE, JsonValue
from palimpsest.recordings.reading.recorded import SessionBegin
from palimpsest.recordings.reading.sources import head_of, json_lines, json_objects
from palimpsest.transcript.values import Usage

MAX_THREADS = 200
"""Maximum sessions and subagents that are read; each requires another pass over the file."""
RECORD_TYPES = frozenset({"system", "assistant", "user", "stream_event", "result"})
_LIST_START = re.compile(rb'\s*\[\s*\{\s*"type"\s*:\s*"system"')


def is_list(head: Head) -> bool:
    """Return whether the records are one list."""
    return _LIST_START.match(head.start) is not None


def printed_records(
    path: Path, report: Report, wanted_numbers: Container[int] | None = None
) -> Iterator[tuple[int, JsonValue]]:
    """Yield a file's records, or only those of ``wanted_numbers``, with their numbers from 1: of lines or list items."""
    if not is_list(head_of(path)):
        yield from json_lines(path, report, wanted_numbers)
        return
    objects = json_objects(path, "item", report, "message")
    for number, (_, record) in enumerate(objects, 1):
        if wanted_numbers is None or number in wanted_numbers:
            yield number, record


@dataclass(slots=True)
class StreamThread:
    """The printed records of a session, or of one of its subagents."""

    session_id: str
    """The id of the session, as printed."""
    call_id: str
    """Id of the call that started the subagent; empty for the session itself."""
    agent_id: str = ""
    """Id of the subagent, where it is printed before its records."""
    last_record_by_answer: dict[str, int] = field(default_factory=dict)
    """The number of each answer's newest record, by the answer's id."""
    end_by_answer: dict[str, tuple[Usage | None, str | None]] = field(default_factory=dict)
    """Usage and finish reason of the answers whose end was printed."""
    begun_answer: tuple[str, JsonValue] = ("", NO_VALUE)
    """Id and usage of the answer whose events are being printed."""
    record_numbers: set[int] = field(default_factory=set)
    """The numbers of its records, without those of pieces of answers."""
    result_record_number: int = 0
    """The number of the record with the result of its call; also in ``record_numbers``."""

    @property
    def own_session_id(self) -> str:
        """Id of the session that the thread becomes."""
        return (
            f"{self.session_id}/{self.agent_id or self.call_id}"
            if self.call_id
            else self.session_id
        )


class StreamIndex:
    """The sessions and subagents of a file, with the facts that are printed after the answers that they belong to."""

    def __init__(self, default_session_id: str) -> None:
        """``default_session_id`` is the id of a session whose records hold none."""
        self.threads: dict[tuple[str, str], StreamThread] = {}
        """The threads, by the ids of ``session_and_call_ids``."""
        self.has_left_out_threads = False
        self.begin_by_session: dict[str, SessionBegin] = {}
        """The facts of each session, by its id."""
        self._session_id = default_session_id
        self._message_by_uuid: dict[str, str] = {}
        """The id of each record's message, by the record's uuid."""
        self._caller_by_call: dict[str, str] = {}
        """For each call, the call that started the thread in which it was made; empty for the session itself."""

    def session_and_call_ids(self, record: JsonValue) -> tuple[str, str]:
        """Return the ids of a record's session, and of its subagent's call; the latter is empty for the session itself."""
        return record.id("session_id") or self._session_id, record.text("parent_tool_use_id")

    def message_id_of_record(self, uuid: str) -> str:
        """Return the id of the message that a record belongs to; empty for an unknown record."""
        return self._message_by_uuid.get(uuid, "")

    def thread_of_call(self, session_id: str, call_id: str) -> StreamThread | None:
        """Return the thread of the subagent that a call started; None where it started none."""
        return self.threads.get((session_id, call_id)) if call_id else None

    def parent_session_id_of(self, thread: StreamThread) -> str:
        """Return the id of the session in which a subagent's call was made."""
        parent = self.threads.get((thread.session_id, self._caller_by_call.get(thread.call_id, "")))
        return thread.session_id if parent is None or parent is thread else parent.own_session_id

    def add(self, number: int, record: JsonValue) -> None:
        """Add the record with this number."""
        record_type = record.text("type")
        if record_type not in RECORD_TYPES:
            return
        self._session_id, call_id = self.session_and_call_ids(record)
        self._add_begin(record)
        if record_type == "system":
            self._add_system_record(number, record, call_id)
            return
        thread = self._thread_or_none(self._session_id, call_id)
        if thread is None:
            return
        if record_type != "stream_event":
            thread.record_numbers.add(number)
        match record_type:
            case "assistant":
                self._add_assistant_message(thread, number, record)
            case "user":
                for block in result_blocks(record.at("message")):
                    subagent = self.thread_of_call(self._session_id, block.text("tool_use_id"))
                    if subagent is not None:
                        subagent.result_record_number = subagent.result_record_number or number
                        subagent.record_numbers.add(subagent.result_record_number)
            case "stream_event":
                _add_event(thread, record.at("event"))
            case _:
                pass  # the second pass reads results

    def _add_system_record(self, number: int, record: JsonValue, call_id: str) -> None:
        if record.get("subtype") == "task_started" and (
            started_call_id := record.text("tool_use_id")
        ):
            thread = self._thread_or_none(self._session_id, started_call_id)
            if thread is not None:
                thread.agent_id = thread.agent_id or record.id("task_id")
        elif record.get("subtype") == BOUNDARY_SUBTYPE:
            thread = self._thread_or_none(self._session_id, call_id)
            if thread is not None:
                thread.record_numbers.add(number)

    def _thread_or_none(self, session_id: str, call_id: str) -> StreamThread | None:
        thread_key = session_id, call_id
        if thread_key not in self.threads:
            if len(self.threads) >= MAX_THREADS:
                self.has_left_out_threads = True
                return None
            self.threads[thread_key] = StreamThread(session_id, call_id)
        return self.threads[thread_key]

    def _add_begin(self, record: JsonValue) -> None:
        begin = self.begin_by_session.get(self._session_id)
        if begin is None:
            begin = self.begin_by_session[self._session_id] = SessionBegin(self._session_id, FORMAT)
        if record.get("subtype") == "init" and not begin.format_version:
            model = record.text("model")
            tool_names = [t for t in record.list_at("tools") if isinstance(t, str)]
            begin = replace(
                begin,
                format_version=record.text("claude_code_version")[:MAX_VERSION_CHARS],
                directory=record.text("cwd"),
                model=f"anthropic/{model}" if model else "",
                tools=JsonValue([{"name": tool_name} for tool_name in tool_names]).tool_specs()
                if tool_names
                else None,
                permissions=record.text("permissionMode")[:MAX_VERSION_CHARS],
            )
        if begin.created is None:
            begin = replace(begin, created=record.time_ms("timestamp"))
        self.begin_by_session[self._session_id] = begin

    def _add_assistant_message(self, thread: StreamThread, number: int, record: JsonValue) -> None:
        message = record.at("message")
        message_id = message_id_of(number, record)
        self._message_by_uuid[record.text("uuid")] = message_id
        for block in message.objects("content"):
            if call_id := block.id("id"):
                self._caller_by_call[call_id] = thread.call_id
        thread.last_record_by_answer[message_id] = number


def message_id_of(number: int, record: JsonValue) -> str:
    """Return the id of the message that a record belongs to."""
    return record.id("message", "id") or record.text("uuid") or f"m{number}"


def _add_event(thread: StreamThread, event: JsonValue) -> None:
    """Add an event of an answer; the last event holds the final usage, often only its output tokens."""
    match event.get("type"):
        case "message_start":
            thread.begun_answer = event.id("message", "id"), event.at("message", "usage")
        case "message_delta" if thread.begun_answer[0]:
            message_id, usage_at_begin = thread.begun_answer
            usage_fields = usage_at_begin.fields() | {
                field: value for field, value in event.fields("usage").items() if value is not None
            }
            usage = usage_of(JsonValue(usage_fields))
            thread.end_by_answer[message_id] = usage, event.finish("delta", "stop_reason")
        case _:
            pass
