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
    path: Path, report: Report, wanted: Container[int] | None = None
) -> Iterator[tuple[int, JsonValue]]:
    """Yield the records of a file, or only the ``wanted`` ones, with their numbers from 1: of lines or list items."""
    if not is_list(head_of(path)):
        yield from json_lines(path, report, wanted)
        return
    objects = json_objects(path, "item", report, "message")
    for number, (_, record) in enumerate(objects, 1):
        if wanted is None or number in wanted:
            yield number, record


@dataclass(slots=True)
class StreamThread:
    """The printed records of a session, or of one of its subagents."""

    session: str
    """The printed id of the session."""
    call: str
    """The call that started the subagent; empty for the session itself."""
    agent: str = ""
    """Id of the subagent, where it is printed before its records."""
    last_records: dict[str, int] = field(default_factory=dict)
    """The number of each answer's newest record, by the answer's id."""
    answer_ends: dict[str, tuple[Usage | None, str | None]] = field(default_factory=dict)
    """Usage and finish reason of the answers whose end was printed."""
    begun_answer: tuple[str, JsonValue] = ("", NO_VALUE)
    """Id and usage of the answer whose events are being printed."""
    records: set[int] = field(default_factory=set)
    """The numbers of its records, without those of pieces of answers."""
    result_record: int = 0
    """The number of the record with the result of its call; also in ``records``."""

    @property
    def name(self) -> str:
        """Id of the session that the thread becomes."""
        return f"{self.session}/{self.agent or self.call}" if self.call else self.session


class StreamIndex:
    """The sessions and subagents of a file, with the facts that are printed after the answers that they belong to."""

    def __init__(self, name: str) -> None:
        """``name`` is the id of a session whose records hold none."""
        self.threads: dict[tuple[str, str], StreamThread] = {}
        self.has_left_out_threads = False
        self.begins: dict[str, SessionBegin] = {}
        """The facts of each session, by its id."""
        self._session = name
        self._messages: dict[str, str] = {}
        """The message of each record, by uuid."""
        self._callers: dict[str, str] = {}
        """The call of the thread in which each call was made; empty for the session itself."""

    def session_and_call(self, record: JsonValue) -> tuple[str, str]:
        """Return the session of a record, and the call that started its subagent; empty for the session itself."""
        return record.id("session_id") or self._session, record.text("parent_tool_use_id")

    def message_of(self, uuid: str) -> str:
        """Return the id of the message that a record belongs to; empty for an unknown record."""
        return self._messages.get(uuid, "")

    def started_by(self, session: str, call: str) -> StreamThread | None:
        """Return the thread of the subagent that a call started."""
        return self.threads.get((session, call)) if call else None

    def parent_of(self, thread: StreamThread) -> str:
        """Return the session in which a subagent's call was made."""
        parent = self.threads.get((thread.session, self._callers.get(thread.call, "")))
        return thread.session if parent is None or parent is thread else parent.name

    def add(self, number: int, record: JsonValue) -> None:
        """Add the next record."""
        kind = record.text("type")
        if kind not in RECORD_TYPES:
            return
        self._session, call = self.session_and_call(record)
        self._add_begin(record)
        if kind == "system":
            self._add_system_record(number, record, call)
            return
        thread = self._thread(self._session, call)
        if thread is None:
            return
        if kind != "stream_event":
            thread.records.add(number)
        match kind:
            case "assistant":
                self._add_assistant_message(thread, number, record)
            case "user":
                for block in result_blocks(record.at("message")):
                    subagent = self.started_by(self._session, block.text("tool_use_id"))
                    if subagent is not None:
                        subagent.result_record = subagent.result_record or number
                        subagent.records.add(subagent.result_record)
            case "stream_event":
                _add_event(thread, record.at("event"))
            case _:
                pass  # the second pass reads results

    def _add_system_record(self, number: int, record: JsonValue, call: str) -> None:
        if record.get("subtype") == "task_started" and (started := record.text("tool_use_id")):
            thread = self._thread(self._session, started)
            if thread is not None:
                thread.agent = thread.agent or record.id("task_id")
        elif record.get("subtype") == BOUNDARY_SUBTYPE:
            thread = self._thread(self._session, call)
            if thread is not None:
                thread.records.add(number)

    def _thread(self, session: str, call: str) -> StreamThread | None:
        key = session, call
        if key not in self.threads:
            if len(self.threads) >= MAX_THREADS:
                self.has_left_out_threads = True
                return None
            self.threads[key] = StreamThread(session, call)
        return self.threads[key]

    def _add_begin(self, record: JsonValue) -> None:
        begin = self.begins.get(self._session)
        if begin is None:
            begin = self.begins[self._session] = SessionBegin(self._session, FORMAT)
        if record.get("subtype") == "init" and not begin.format_version:
            model = record.text("model")
            names = [name for name in record.list_at("tools") if isinstance(name, str)]
            begin = replace(
                begin,
                format_version=record.text("claude_code_version")[:MAX_VERSION_CHARS],
                directory=record.text("cwd"),
                model=f"anthropic/{model}" if model else "",
                tools=JsonValue([{"name": name} for name in names]).tool_specs() if names else None,
                permissions=record.text("permissionMode")[:MAX_VERSION_CHARS],
            )
        if begin.created is None:
            begin = replace(begin, created=record.time_ms("timestamp"))
        self.begins[self._session] = begin

    def _add_assistant_message(self, thread: StreamThread, number: int, record: JsonValue) -> None:
        message = record.at("message")
        node = node_of(number, record)
        self._messages[record.text("uuid")] = node
        for block in message.objects("content"):
            if name := block.id("id"):
                self._callers[name] = thread.call
        thread.last_records[node] = number


def node_of(number: int, record: JsonValue) -> str:
    """Return the id of the message that a record belongs to."""
    return record.id("message", "id") or record.text("uuid") or f"m{number}"


def _add_event(thread: StreamThread, event: JsonValue) -> None:
    """Add an event of an answer; the last event holds the final usage, often only its output tokens."""
    match event.get("type"):
        case "message_start":
            thread.begun_answer = event.id("message", "id"), event.at("message", "usage")
        case "message_delta" if thread.begun_answer[0]:
            node, usage_at_begin = thread.begun_answer
            usage_fields = usage_at_begin.fields() | {
                name: value for name, value in event.fields("usage").items() if value is not None
            }
            usage = usage_of(JsonValue(usage_fields))
            thread.answer_ends[node] = usage, event.finish("delta", "stop_reason")
        case _:
            pass
