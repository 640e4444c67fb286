"""Read Kimi CLI's ``wire.jsonl``: the events of a session's turns and steps, and those of its subagents.

A step is a request: its parts and calls come first, then a status with its usage. The system prompt and the summaries of
compactions are read from the ``context.jsonl`` beside it, and from the earlier ones that Kimi CLI renames to
``context_1.jsonl`` and so on. A subagent's events are read from its own file, or where there is none, from its parent's.
"""

import re
from collections.abc import Callable, Collection, Container, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from palimpsest.recordings.format_parts.kimi_contexts import (
    KimiCompaction,
    KimiContexts,
    kimi_parts,
    message_key,
)
from palimpsest.recordings.message_formats.chat_messages import ARGUMENTS_KEY, CallIds
from palimpsest.recordings.reading.importer import Head, Report
from palimpsest.recordings.reading.json_fields import NO_VALUE, JsonValue
from palimpsest.recordings.reading.reading_budget import (
    BYTES_PER_PART,
    MAX_VALUE_BYTES,
    value_bytes,
)
from palimpsest.recordings.reading.recorded import (
    NO_TOOLS_SENTENCE,
    Call,
    CompactionRead,
    GapRead,
    Media,
    MessageRead,
    Recorded,
    RemovedRead,
    ResultRead,
    SessionBegin,
    Text,
    Thinking,
    UniqueGaps,
    media_of,
    text_of_parts,
)
from palimpsest.recordings.reading.sources import (
    discard_report,
    first_object,
    head_of,
    json_lines,
    report_beside,
)
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.strings.relative_paths import recorded_name
from palimpsest.transcript.values import Usage

WIRE_NAME = "wire.jsonl"
SUBAGENT_FOLDER = "subagents"
OTHER_ENTRIES = frozenset({"state.json", "tasks", "notifications", "meta.json"})
"""Entries of a session's folder that hold no messages."""
MAX_SUBAGENTS = 200
MAX_ENTRIES = 10_000
"""Maximum entries of a folder of subagents that are looked at."""
MAX_SEARCHED_CHARS = 2_000
"""Maximum characters of an output in which the id of the subagent that wrote it is searched."""
MAX_WINDOW_EVENTS = 200
"""Maximum events at a file's beginning that are searched for the context window."""
KEPT_MESSAGE_COUNT = 2
"""Number of newest messages that a compaction is taken to keep, where no context file says which."""
CLEARED_TEXT = "The context has been cleared."
"""The program's output after ``/clear``."""
AGENT_ID = re.compile(r"^agent_id: (\w{1,64})$", re.MULTILINE)
EVENT_TYPES = frozenset({"TurnBegin", "StepBegin", "StatusUpdate", "ContentPart", "ToolCall"})

NO_MODEL_SENTENCE = "The model is not in the recording."
NO_REMINDERS_SENTENCE = "Reminders that the program adds to requests are not in the recording."
NO_SUMMARY_USAGE_SENTENCE = "The request that wrote a summary has no recorded usage."
KEPT_UNKNOWN_SENTENCE = "The messages that a compaction kept are not known."
COMMAND_SENTENCE = "The prompt that a command stands for is not in the recording."
RETRIED_SENTENCE = "An attempt that failed and was sent again is not in the recording."
SIDE_QUESTION_SENTENCE = "Requests of side questions (/btw) are not in the recording."
WENT_BACK_SENTENCE = (
    "The agent went back to an earlier state of its context; what it took back is not recorded."
)
TIME_TRAVEL_TOOL = "SendDMail"
"""The tool with which an agent goes back to an earlier state of its context."""
TOO_LONG_SENTENCE = "An answer is longer than the limit; what came after was left out."
NESTED_SENTENCE = "The events of a subagent's own subagents were left out."
TOO_MANY_SENTENCE = f"It has more than {MAX_SUBAGENTS} subagents; the others were left out."


class KimiCliImporter:
    """Reads a ``wire.jsonl``, or the folder of a session."""

    name = "kimi-cli"
    title = "Kimi CLI"
    tried_on = "files of the real writer"

    def recognises(self, head: Head) -> bool:
        """Return whether a file begins like a ``wire.jsonl``, or a folder holds one."""
        if head.names:
            wire = head.path / WIRE_NAME
            is_file = WIRE_NAME in head.names and wire.is_file() and not wire.is_symlink()
            return is_file and _is_wire(head_of(wire))
        return _is_wire(head)

    def own_files(self, names: Collection[str]) -> Collection[str]:
        """Return the entries of a session's folder that belong to it."""
        contexts = (name for name in names if name.startswith("context"))
        return {WIRE_NAME, SUBAGENT_FOLDER, *OTHER_ENTRIES, *contexts}

    def read(self, path: Path, report: Report) -> Iterator[Recorded]:
        """Yield the session's values, then its subagents' in the order in which they began."""
        wire = path / WIRE_NAME if path.is_dir() else path
        has_folder = wire.name == WIRE_NAME
        session_id = recorded_name(wire.absolute().parent.name if has_folder else wire.stem)
        contexts = KimiContexts.of_folder(wire.parent, report) if has_folder else KimiContexts()
        file_by_agent = _subagent_files(wire.parent) if has_folder else {}
        begin = SessionBegin(
            session_id, self.name, window=_window_in(_events(wire, discard_report))
        )
        session = _KimiSession(begin, contexts, file_by_agent)
        yield from session.read(_events(wire, report))
        if not session.has_events:
            raise UserError(f"{str(path)!r} holds no event of Kimi CLI.")
        for agent_id in file_by_agent:
            session.call_by_subagent.setdefault(agent_id, session.call_by_named_agent.get(agent_id))
        for number, (agent_id, call_id) in enumerate(session.call_by_subagent.items()):
            if number == MAX_SUBAGENTS:
                report(wire.name, TOO_MANY_SENTENCE)
                return
            begin = SessionBegin(
                session.subagent_session_id(agent_id),
                self.name,
                window=begin.window,
                parent=session_id,
                parent_call=call_id,
            )
            if file := file_by_agent.get(agent_id):
                subagent_report = report_beside(report, file.parent.name)
                contexts = KimiContexts.of_folder(file.parent, subagent_report)
                events = _events(file, subagent_report)
            else:
                contexts, events = KimiContexts(), _subagent_events(wire, agent_id)
            yield from _KimiSession(begin, contexts).read(events)


def _is_wire(head: Head) -> bool:
    first = first_object(head)
    if first.text("type") == "metadata" and "protocol_version" in first:
        return True
    message = first.at("message")
    return "timestamp" in first and message.text("type") in EVENT_TYPES and "payload" in message


def _subagent_files(folder: Path) -> dict[str, Path]:
    """Return the subagents' files below a session's folder by the subagents' ids; links are not followed."""
    subagents_folder = folder / SUBAGENT_FOLDER
    if subagents_folder.is_symlink() or not subagents_folder.is_dir():
        return {}
    entries = sorted(
        entry for entry, _ in zip(subagents_folder.iterdir(), range(MAX_ENTRIES), strict=False)
    )
    files = ((entry.name, entry / WIRE_NAME) for entry in entries if not entry.is_symlink())
    return {
        agent_id: file
        for agent_id, file in files
        if file.is_file() and not file.is_symlink() and file.stat().st_size
    }


@dataclass(frozen=True, slots=True)
class _Event:
    """An event with its time in milliseconds since 1970."""

    type: str
    payload: JsonValue
    time_ms: int | None


def _events(path: Path, report: Report) -> Iterator[_Event]:
    for _, record in json_lines(path, report):
        message = record.at("message")
        if event_type := message.text("type"):
            yield _Event(event_type, message.at("payload"), record.time_ms("timestamp"))


def _window_in(events: Iterator[_Event]) -> int | None:
    """Return the context window from the first status that has it; None where no early one has."""
    for event, _ in zip(events, range(MAX_WINDOW_EVENTS), strict=False):
        if window := event.payload.integer("max_context_tokens"):
            return window
    return None


def _subagent_events(path: Path, agent_id: str) -> Iterator[_Event]:
    """Yield the events of one subagent from its parent's file."""
    for event in _events(path, discard_report):
        if event.type == "SubagentEvent" and _subagent_id(event.payload) == agent_id:
            inner = event.payload.at("event")
            yield _Event(inner.text("type"), inner.at("payload"), event.time_ms)


def _parent_call_id(payload: JsonValue) -> str:
    return payload.id("parent_tool_call_id") or payload.id("task_tool_call_id")


def _subagent_id(payload: JsonValue) -> str:
    """Return the id of a subagent: in older versions, which record none, the id of its call."""
    return payload.id("agent_id") or _parent_call_id(payload)


@dataclass(slots=True)
class _Step:
    """A request whose answer is being read."""

    begun_ms: int | None
    parts: list[Any] = field(default_factory=list)
    arguments: dict[int, list[str]] = field(default_factory=dict)
    """The pieces of a call's arguments by the call's place among the parts."""
    results: list[ResultRead] = field(default_factory=list)
    byte_count: int = 0

    def add_size(self, byte_count: int) -> bool:
        """Add the size of a further part in bytes; return whether the answer stays within its limit."""
        self.byte_count += byte_count + BYTES_PER_PART
        return self.byte_count <= MAX_VALUE_BYTES


class _KimiSession:
    """Reads the events of one session in order."""

    def __init__(
        self, begin: SessionBegin, contexts: KimiContexts, agents_with_file: Container[str] = ()
    ) -> None:
        """``agents_with_file`` are the ids of the subagents that have a file of their own."""
        self._begin = begin
        self._contexts = contexts
        self._agents_with_file = agents_with_file
        self._call_ids = CallIds()
        self._context_ids: list[str] = []
        """Ids of the messages that requests still contain."""
        self._ids_since_clear: list[str] = []
        """Ids of all messages and compactions since the context was last cleared."""
        self._id_by_content: dict[bytes, str] = {}
        """The id of the newest message with each content."""
        self._message_count = 0
        self._pending_removal: RemovedRead | None = None
        """The removal of a cleared context's messages, which is yielded only when another prompt is sent."""
        self._compaction_count = 0
        self._next_compaction_index = 0
        """Index of the context files' compaction that is expected next."""
        self._prompt: tuple[JsonValue, int | None] | None = None
        """The turn's prompt and its time, until its first step shows that it is sent."""
        self._command_output = ""
        self._step: _Step | None = None
        self._context_tokens: int | None = None
        self._gaps = UniqueGaps()
        self.has_events = False
        self.call_by_subagent: dict[str, str | None] = {}
        """Id of the call that started each subagent, by the subagent's id, in the order in which they began."""
        self.call_by_named_agent: dict[str, str] = {}
        """Id of the first call whose result names a subagent, by the subagent's id."""

    def subagent_session_id(self, agent_id: str) -> str:
        """Return the session id of a subagent."""
        return f"{self._begin.id}.{agent_id}"

    def read(self, events: Iterator[_Event]) -> Iterator[Recorded]:
        """Yield the session's values."""
        for event in events:
            if not self.has_events:
                self.has_events = True
                yield replace(self._begin, created=event.time_ms, system=self._contexts.system)
                yield from (
                    GapRead(NO_MODEL_SENTENCE),
                    GapRead(NO_TOOLS_SENTENCE),
                    GapRead(NO_REMINDERS_SENTENCE),
                )
            if handler := self._handlers.get(event.type):
                yield from handler(self, event.payload, event.time_ms)
        yield from self._finish_answer(None)

    # Turns and steps

    def _begin_turn(self, payload: JsonValue, time_ms: int | None) -> Iterator[Recorded]:
        yield from self._end_turn()
        self._prompt = payload.at("user_input"), time_ms

    def _add_user_input(self, payload: JsonValue, time_ms: int | None) -> Iterator[Recorded]:
        yield from self._finish_answer(None)
        yield self._user_message(payload.at("user_input"), time_ms)

    def _begin_step(self, _payload: JsonValue, time_ms: int | None) -> Iterator[Recorded]:
        yield from self._finish_answer(None)
        yield from self._send_prompt()
        self._step = _Step(time_ms)

    def _retry_step(self, _payload: JsonValue, time_ms: int | None) -> Iterator[Recorded]:
        self._step = _Step(time_ms) if self._step else None
        yield from self._gaps.once(RETRIED_SENTENCE)

    def _interrupt_step(self, _payload: JsonValue, time_ms: int | None) -> Iterator[Recorded]:
        yield from self._finish_answer(time_ms, finish="aborted")

    def _note_side_question(self, _payload: JsonValue, _time_ms: int | None) -> Iterator[Recorded]:
        yield from self._gaps.once(SIDE_QUESTION_SENTENCE)

    # Messages

    def _user_message(self, content: JsonValue, time_ms: int | None) -> MessageRead:
        return self._next_message("user", tuple(kimi_parts(content.raw)), created=time_ms)

    def _next_message(self, role: Any, parts: tuple[Any, ...], **facts: Any) -> MessageRead:
        self._message_count += 1
        message = MessageRead(f"m{self._message_count}", role, parts, **facts)
        self._context_ids.append(message.id)
        self._ids_since_clear.append(message.id)
        call_ids = [part.id for part in parts if isinstance(part, Call)]
        self._id_by_content[message_key(role, text_of_parts(parts, ""), call_ids)] = message.id
        return message

    def _send_prompt(self) -> Iterator[Recorded]:
        """Yield the turn's prompt, once its first step shows that it is sent."""
        if self._prompt is None:
            return
        if self._pending_removal is not None:
            yield self._pending_removal
            self._context_ids, self._ids_since_clear, self._pending_removal = [], [], None
        (content, time_ms), self._prompt = self._prompt, None
        message = self._user_message(content, time_ms)
        yield message
        if text_of_parts(message.parts).startswith("/"):
            yield GapRead(COMMAND_SENTENCE, message=message.id)

    def _end_turn(
        self, _payload: JsonValue = NO_VALUE, _time_ms: int | None = None
    ) -> Iterator[Recorded]:
        """Yield the open answer; a prompt without a step is dropped, since it was a command or was blocked."""
        yield from self._finish_answer(None)
        if self._prompt is not None and self._command_output == CLEARED_TEXT and self._context_ids:
            self._pending_removal = RemovedRead(
                tuple(self._ids_since_clear), created=self._prompt[1]
            )
        self._prompt, self._command_output, self._step = None, "", None

    # Answers

    def _add_content(self, payload: JsonValue, _time_ms: int | None) -> Iterator[Recorded]:
        parts = [*kimi_parts([payload.raw])]
        if self._step is None:
            if len(self._command_output) <= len(CLEARED_TEXT):
                self._command_output += text_of_parts(parts, "")
        elif self._step.add_size(sum(value_bytes(part) for part in parts)):
            self._step.parts += parts
        else:
            yield from self._gaps.once(TOO_LONG_SENTENCE)

    def _add_call(self, payload: JsonValue, _time_ms: int | None) -> Iterator[Recorded]:
        function = payload.at("function")
        arguments, tool = function.as_text("arguments"), function.text("name") or "unknown"
        if self._step is None:
            return
        if not self._step.add_size(len(arguments) + len(tool)):
            yield from self._gaps.once(TOO_LONG_SENTENCE)
            return
        if tool == TIME_TRAVEL_TOOL:
            yield from self._gaps.once(WENT_BACK_SENTENCE)
        self._step.arguments[len(self._step.parts)] = [arguments]
        self._step.parts.append(Call(self._call_ids.new_id(payload.id("id")), tool, {}))

    def _add_arguments(self, payload: JsonValue, _time_ms: int | None) -> Iterator[Recorded]:
        piece = payload.text("arguments_part")
        if self._step is None or not self._step.arguments:
            return
        if self._step.add_size(len(piece)):
            self._step.arguments[max(self._step.arguments)].append(piece)
        else:
            yield from self._gaps.once(TOO_LONG_SENTENCE)

    def _read_status(self, payload: JsonValue, time_ms: int | None) -> Iterator[Recorded]:
        context_tokens = payload.integer("context_tokens")
        self._context_tokens = self._context_tokens if context_tokens is None else context_tokens
        if usage := payload.at("token_usage"):
            yield from self._finish_answer(time_ms, usage=_usage_of(usage))
        elif payload.text("message_id"):
            yield from self._finish_answer(time_ms)

    def _finish_answer(
        self, time_ms: int | None, *, usage: Usage | None = None, finish: str | None = None
    ) -> Iterator[Recorded]:
        """Yield the answer of the current step, if one is open, then the results that came before its end."""
        step, self._step = self._step, None
        if step is None or not (step.parts or usage):
            return
        for index, pieces in step.arguments.items():
            tool_input = JsonValue("".join(pieces)).tool_input(name=ARGUMENTS_KEY)
            step.parts[index] = replace(step.parts[index], input=tool_input)
        yield self._next_message(
            "assistant",
            tuple(step.parts),
            created=step.begun_ms,
            completed=time_ms,
            usage=usage,
            finish=finish or ("tool-calls" if step.arguments else "stop"),
        )
        yield from step.results

    # Results

    def _add_result(self, payload: JsonValue, time_ms: int | None) -> Iterator[Recorded]:
        recorded_id = payload.id("tool_call_id")
        call_id = self._call_ids.take_call_of_result(recorded_id) if recorded_id else None
        if call_id is None:
            yield GapRead("A result was recorded without its call.")
            return
        value = payload.at("return_value")
        is_error, message = value.get("is_error") is True, value.text("message")
        system_text = f"ERROR: {message}" if is_error else message
        parts: list[Text | Thinking | Media] = []
        if system_text:
            parts.append(Text(f"<system>{system_text}</system>"))
        parts += kimi_parts(value.get("output"))
        output = text_of_parts(parts, "")
        match = AGENT_ID.search(output[:MAX_SEARCHED_CHARS])
        agents_of_call = (
            agent_id
            for agent_id, caller_id in self.call_by_subagent.items()
            if caller_id == recorded_id
        )
        started_id = match[1] if match else next(agents_of_call, None)
        is_known = started_id in self.call_by_subagent or started_id in self._agents_with_file
        if started_id:
            self.call_by_named_agent.setdefault(started_id, call_id)
        result = ResultRead(
            call_id,
            output,
            is_error=is_error,
            ended=time_ms,
            media=media_of(parts),
            session=self.subagent_session_id(started_id) if started_id and is_known else None,
        )
        if self._step is None:
            yield result
        elif self._step.add_size(value_bytes(result)):
            self._step.results.append(result)
        else:
            yield from self._gaps.once(TOO_LONG_SENTENCE)

    def _add_subagent(self, payload: JsonValue, _time_ms: int | None) -> Iterator[Recorded]:
        if self._begin.parent is not None:
            yield from self._gaps.once(NESTED_SENTENCE)
            return
        agent_id, call_id = _subagent_id(payload), _parent_call_id(payload)
        if agent_id and len(self.call_by_subagent) <= MAX_SUBAGENTS:
            self.call_by_subagent.setdefault(agent_id, self._call_ids.newest_call_id(call_id))

    # Compactions

    def _read_compaction(self, _payload: JsonValue, time_ms: int | None) -> Iterator[Recorded]:
        self._compaction_count += 1
        compaction_id = f"c{self._compaction_count}"
        recorded_compaction, keeps_from = self._take_recorded_compaction()
        is_command = self._prompt is not None
        yield CompactionRead(
            compaction_id,
            None if recorded_compaction is None else recorded_compaction.summary,
            keeps_from=keeps_from,
            created=time_ms,
            is_automatic=not is_command,
            tokens_before=self._context_tokens,
            tokens_after=None if recorded_compaction is None else recorded_compaction.tokens_after,
        )
        yield from self._gaps.once(NO_SUMMARY_USAGE_SENTENCE)
        if recorded_compaction is None:
            yield from self._gaps.once(KEPT_UNKNOWN_SENTENCE)
        start_index = self._context_ids.index(keeps_from) if keeps_from else len(self._context_ids)
        self._context_ids = [compaction_id, *self._context_ids[start_index:]]
        self._ids_since_clear.append(compaction_id)
        if self._step is not None:
            self._step.begun_ms = time_ms

    def _take_recorded_compaction(self) -> tuple[KimiCompaction | None, str | None]:
        """Return the next compaction of the context files, and the id of the first message that it kept.

        A compaction is recognised by the messages that it kept, since a context file may be missing.
        """
        compactions = self._contexts.compactions
        for number in range(self._next_compaction_index, len(compactions)):
            compaction = compactions[number]
            kept_ids = (self._id_by_content.get(key) for key in compaction.kept_keys)
            keeps_from = next((m for m in kept_ids if m in self._context_ids), None)
            if keeps_from or not compaction.kept_keys:
                self._next_compaction_index = number + 1
                return compaction, keeps_from
        return None, next(iter(self._context_ids[-KEPT_MESSAGE_COUNT:]), None)

    _handlers: ClassVar[
        dict[str, Callable[["_KimiSession", JsonValue, int | None], Iterator[Recorded]]]
    ] = {
        "TurnBegin": _begin_turn,
        "SteerInput": _add_user_input,
        "StepBegin": _begin_step,
        "ContentPart": _add_content,
        "ToolCall": _add_call,
        "ToolCallPart": _add_arguments,
        "StatusUpdate": _read_status,
        "ToolResult": _add_result,
        "StepRetry": _retry_step,
        "StepInterrupted": _interrupt_step,
        "CompactionEnd": _read_compaction,
        "TurnEnd": _end_turn,
        "SubagentEvent": _add_subagent,
        "BtwEnd": _note_side_question,
    }


def _usage_of(usage: JsonValue) -> Usage:
    return Usage(
        input=usage.tokens("input_other"),
        output=usage.tokens("output"),
        cache_read=usage.tokens("input_cache_read"),
        cache_write=usage.tokens("input_cache_creation"),
    )
