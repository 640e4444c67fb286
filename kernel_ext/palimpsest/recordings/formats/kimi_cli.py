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
from palimpsest.recordings.message_formats.chat_messages import ARGUMENTS_KEY, CallNames
from palimpsest.recordings.reading.importer import Head, Report
from palimpsest.recordings.reading.json_fields import NO_VALUE, JsonValue
from palimpsest.recordings.reading.reading_budget import MAX_VALUE_BYTES, PART_BYTES, value_bytes
from palimpsest.recordings.reading.recorded import (
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
WINDOW_EVENTS = 200
"""First events that are searched for the context window."""
KEPT_MESSAGES = 2
"""Messages of the user and of the model that a compaction keeps, where no context file says which."""
CLEARED_TEXT = "The context has been cleared."
"""The program's output after ``/clear``."""
AGENT_ID = re.compile(r"^agent_id: (\w{1,64})$", re.MULTILINE)
EVENT_TYPES = frozenset({"TurnBegin", "StepBegin", "StatusUpdate", "ContentPart", "ToolCall"})

NO_MODEL = "The model is not in the recording."
NO_TOOLS = "The tools that were offered are not in the recording."
NO_REMINDERS = "Reminders that the program adds to requests are not in the recording."
NO_SUMMARY_USAGE = "The request that wrote a summary has no recorded usage."
KEPT_UNKNOWN = "The messages that a compaction kept are not known."
COMMAND_SENTENCE = "The prompt that a command stands for is not in the recording."
RETRIED_SENTENCE = "An attempt that failed and was sent again is not in the recording."
SIDE_QUESTION = "Requests of side questions (/btw) are not in the recording."
WENT_BACK = (
    "The agent went back to an earlier state of its context; what it took back is not recorded."
)
TIME_TRAVEL = "SendDMail"
"""The tool with which an agent goes back to an earlier state of its context."""
TOO_LONG = "An answer is longer than the limit; what came after was left out."
NESTED_SENTENCE = "The events of a subagent's own subagents were left out."
TOO_MANY = f"It has more than {MAX_SUBAGENTS} subagents; the others were left out."


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
        """Yield the session, then its subagents in the order in which they began."""
        wire = path / WIRE_NAME if path.is_dir() else path
        has_folder = wire.name == WIRE_NAME
        name = recorded_name(wire.absolute().parent.name if has_folder else wire.stem)
        contexts = KimiContexts.of_folder(wire.parent, report) if has_folder else KimiContexts()
        files = _subagent_files(wire.parent) if has_folder else {}
        begin = SessionBegin(name, self.name, window=_window_in(_events(wire, discard_report)))
        session = _KimiSession(begin, contexts, files)
        yield from session.read(_events(wire, report))
        if not session.has_events:
            raise UserError(f"{str(path)!r} holds no event of Kimi CLI.")
        for agent in files:
            session.children.setdefault(agent, session.call_of_agent.get(agent))
        for number, (child, call) in enumerate(session.children.items()):
            if number == MAX_SUBAGENTS:
                report(wire.name, TOO_MANY)
                return
            begin = SessionBegin(
                session.child_id(child),
                self.name,
                window=begin.window,
                parent=name,
                parent_call=call,
            )
            if file := files.get(child):
                child_report = report_beside(report, file.parent.name)
                contexts = KimiContexts.of_folder(file.parent, child_report)
                events = _events(file, child_report)
            else:
                contexts, events = KimiContexts(), _events_of_child(wire, child)
            yield from _KimiSession(begin, contexts).read(events)


def _is_wire(head: Head) -> bool:
    first = first_object(head)
    if first.text("type") == "metadata" and "protocol_version" in first:
        return True
    message = first.at("message")
    return "timestamp" in first and message.text("type") in EVENT_TYPES and "payload" in message


def _subagent_files(folder: Path) -> dict[str, Path]:
    """Return the subagents' files below a session's folder by the subagents' ids; links are not followed."""
    parent = folder / SUBAGENT_FOLDER
    if parent.is_symlink() or not parent.is_dir():
        return {}
    entries = sorted(entry for entry, _ in zip(parent.iterdir(), range(10_000), strict=False))
    files = ((entry.name, entry / WIRE_NAME) for entry in entries if not entry.is_symlink())
    return {
        name: file
        for name, file in files
        if file.is_file() and not file.is_symlink() and file.stat().st_size
    }


@dataclass(frozen=True, slots=True)
class _Event:
    kind: str
    payload: JsonValue
    time: int | None


def _events(path: Path, report: Report) -> Iterator[_Event]:
    for _, record in json_lines(path, report):
        message = record.at("message")
        if kind := message.text("type"):
            yield _Event(kind, message.at("payload"), record.time_ms("timestamp"))


def _window_in(events: Iterator[_Event]) -> int | None:
    """Return the context window from the first status that has it; None where no early one has."""
    for event, _ in zip(events, range(WINDOW_EVENTS), strict=False):
        if window := event.payload.integer("max_context_tokens"):
            return window
    return None


def _events_of_child(path: Path, name: str) -> Iterator[_Event]:
    """Yield the events of one subagent from its parent's file."""
    for event in _events(path, discard_report):
        if event.kind == "SubagentEvent" and _child_name(event.payload) == name:
            inner = event.payload.at("event")
            yield _Event(inner.text("type"), inner.at("payload"), event.time)


def _parent_call(payload: JsonValue) -> str:
    return payload.id("parent_tool_call_id") or payload.id("task_tool_call_id")


def _child_name(payload: JsonValue) -> str:
    """Return the id of a subagent; older versions only have the id of its call."""
    return payload.id("agent_id") or _parent_call(payload)


@dataclass(slots=True)
class _Step:
    """A request whose answer is being read."""

    begun_ms: int | None
    parts: list[Any] = field(default_factory=list)
    arguments: dict[int, list[str]] = field(default_factory=dict)
    """The pieces of a call's arguments by the call's place among the parts."""
    results: list[ResultRead] = field(default_factory=list)
    size: int = 0

    def add_size(self, size: int) -> bool:
        """Add the size of a further part in bytes; return whether the answer stays within its limit."""
        self.size += size + PART_BYTES
        return self.size <= MAX_VALUE_BYTES


class _KimiSession:
    """Reads the events of one session in order."""

    def __init__(
        self, begin: SessionBegin, contexts: KimiContexts, agents: Container[str] = ()
    ) -> None:
        """``agents`` are the subagents that have a file of their own."""
        self._begin = begin
        self._contexts = contexts
        self._agents = agents
        self._calls = CallNames()
        self._ids: list[str] = []
        """Ids of the messages that requests still contain."""
        self._ids_since_clear: list[str] = []
        """Ids of all messages and compactions since the context was last cleared."""
        self._ids_by_content: dict[bytes, str] = {}
        """The id of the newest message with each content."""
        self._count = 0
        self._cleared: RemovedRead | None = None
        """The removal of a cleared context's messages, which is yielded only when another prompt is sent."""
        self._compactions = 0
        self._passed_compactions = 0
        """Number of compactions of the context files that were passed."""
        self._prompt: tuple[JsonValue, int | None] | None = None
        """The turn's prompt, until its first step shows that it is sent."""
        self._command_output = ""
        self._step: _Step | None = None
        self._context_tokens: int | None = None
        self._gaps = UniqueGaps()
        self.has_events = False
        self.children: dict[str, str | None] = {}
        """The call that started each subagent, by the subagent's id, in the order in which they began."""
        self.call_of_agent: dict[str, str] = {}

    def child_id(self, name: str) -> str:
        """Return the session id of a subagent."""
        return f"{self._begin.id}.{name}"

    def read(self, events: Iterator[_Event]) -> Iterator[Recorded]:
        """Yield the session's values."""
        for event in events:
            if not self.has_events:
                self.has_events = True
                yield replace(self._begin, created=event.time, system=self._contexts.system)
                yield from (GapRead(NO_MODEL), GapRead(NO_TOOLS), GapRead(NO_REMINDERS))
            if handler := self._handlers.get(event.kind):
                yield from handler(self, event.payload, event.time)
        yield from self._finish_answer(None)

    # Turns and steps

    def _begin_turn(self, payload: JsonValue, time: int | None) -> Iterator[Recorded]:
        yield from self._end_turn()
        self._prompt = payload.at("user_input"), time

    def _steer(self, payload: JsonValue, time: int | None) -> Iterator[Recorded]:
        yield from self._finish_answer(None)
        yield self._user(payload.at("user_input"), time)

    def _begin_step(self, _payload: JsonValue, time: int | None) -> Iterator[Recorded]:
        yield from self._finish_answer(None)
        yield from self._send_prompt()
        self._step = _Step(time)

    def _retry_step(self, _payload: JsonValue, time: int | None) -> Iterator[Recorded]:
        self._step = _Step(time) if self._step else None
        yield from self._gaps.once(RETRIED_SENTENCE)

    def _interrupt_step(self, _payload: JsonValue, time: int | None) -> Iterator[Recorded]:
        yield from self._finish_answer(time, finish="aborted")

    def _side_question(self, _payload: JsonValue, _time: int | None) -> Iterator[Recorded]:
        yield from self._gaps.once(SIDE_QUESTION)

    # Messages

    def _user(self, content: JsonValue, time: int | None) -> MessageRead:
        return self._message("user", tuple(kimi_parts(content.raw)), created=time)

    def _message(self, role: Any, parts: tuple[Any, ...], **facts: Any) -> MessageRead:
        self._count += 1
        message = MessageRead(f"m{self._count}", role, parts, **facts)
        self._ids.append(message.id)
        self._ids_since_clear.append(message.id)
        calls = [part.id for part in parts if isinstance(part, Call)]
        self._ids_by_content[message_key(role, text_of_parts(parts, ""), calls)] = message.id
        return message

    def _send_prompt(self) -> Iterator[Recorded]:
        """Yield the turn's prompt, once its first step shows that it is sent."""
        if self._prompt is None:
            return
        if self._cleared is not None:
            yield self._cleared
            self._ids, self._ids_since_clear, self._cleared = [], [], None
        (content, time), self._prompt = self._prompt, None
        message = self._user(content, time)
        yield message
        if text_of_parts(message.parts).startswith("/"):
            yield GapRead(COMMAND_SENTENCE, message=message.id)

    def _end_turn(
        self, _payload: JsonValue = NO_VALUE, _time: int | None = None
    ) -> Iterator[Recorded]:
        """Yield the open answer; a prompt without a step is dropped, since it was a command or was blocked."""
        yield from self._finish_answer(None)
        if self._prompt is not None and self._command_output == CLEARED_TEXT and self._ids:
            self._cleared = RemovedRead(tuple(self._ids_since_clear), created=self._prompt[1])
        self._prompt, self._command_output, self._step = None, "", None

    # Answers

    def _add_content(self, payload: JsonValue, _time: int | None) -> Iterator[Recorded]:
        parts = [*kimi_parts([payload.raw])]
        if self._step is None:
            if len(self._command_output) <= len(CLEARED_TEXT):
                self._command_output += text_of_parts(parts, "")
        elif self._step.add_size(sum(value_bytes(part) for part in parts)):
            self._step.parts += parts
        else:
            yield from self._gaps.once(TOO_LONG)

    def _add_call(self, payload: JsonValue, _time: int | None) -> Iterator[Recorded]:
        function = payload.at("function")
        arguments, tool = function.as_text("arguments"), function.text("name") or "unknown"
        if self._step is None:
            return
        if not self._step.add_size(len(arguments) + len(tool)):
            yield from self._gaps.once(TOO_LONG)
            return
        if tool == TIME_TRAVEL:
            yield from self._gaps.once(WENT_BACK)
        self._step.arguments[len(self._step.parts)] = [arguments]
        self._step.parts.append(Call(self._calls.new_id(payload.id("id")), tool, {}))

    def _add_arguments(self, payload: JsonValue, _time: int | None) -> Iterator[Recorded]:
        piece = payload.text("arguments_part")
        if self._step is None or not self._step.arguments:
            return
        if self._step.add_size(len(piece)):
            self._step.arguments[max(self._step.arguments)].append(piece)
        else:
            yield from self._gaps.once(TOO_LONG)

    def _status(self, payload: JsonValue, time: int | None) -> Iterator[Recorded]:
        context_tokens = payload.integer("context_tokens")
        self._context_tokens = self._context_tokens if context_tokens is None else context_tokens
        if usage := payload.at("token_usage"):
            yield from self._finish_answer(time, usage=_usage_of(usage))
        elif payload.text("message_id"):
            yield from self._finish_answer(time)

    def _finish_answer(
        self, time: int | None, *, usage: Usage | None = None, finish: str | None = None
    ) -> Iterator[Recorded]:
        """Yield the answer of the current step, if one is open, then the results that came before its end."""
        step, self._step = self._step, None
        if step is None or not (step.parts or usage):
            return
        for index, pieces in step.arguments.items():
            tool_input = JsonValue("".join(pieces)).tool_input(name=ARGUMENTS_KEY)
            step.parts[index] = replace(step.parts[index], input=tool_input)
        yield self._message(
            "assistant",
            tuple(step.parts),
            created=step.begun_ms,
            completed=time,
            usage=usage,
            finish=finish or ("tool-calls" if step.arguments else "stop"),
        )
        yield from step.results

    # Results

    def _result(self, payload: JsonValue, time: int | None) -> Iterator[Recorded]:
        recorded_id = payload.id("tool_call_id")
        call = self._calls.call_of_result(recorded_id) if recorded_id else None
        if call is None:
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
        match = AGENT_ID.search(output[:2_000])
        started_agents = (child for child, caller in self.children.items() if caller == recorded_id)
        agent = match[1] if match else next(started_agents, None)
        is_known = agent in self.children or agent in self._agents
        if agent:
            self.call_of_agent.setdefault(agent, call)
        result = ResultRead(
            call,
            output,
            is_error=is_error,
            ended=time,
            media=media_of(parts),
            session=self.child_id(agent) if agent and is_known else None,
        )
        if self._step is None:
            yield result
        elif self._step.add_size(value_bytes(result)):
            self._step.results.append(result)
        else:
            yield from self._gaps.once(TOO_LONG)

    def _subagent(self, payload: JsonValue, _time: int | None) -> Iterator[Recorded]:
        if self._begin.parent is not None:
            yield from self._gaps.once(NESTED_SENTENCE)
            return
        name, call = _child_name(payload), _parent_call(payload)
        if name and len(self.children) <= MAX_SUBAGENTS:
            self.children.setdefault(name, self._calls.newest_call(call))

    # Compactions

    def _compaction(self, _payload: JsonValue, time: int | None) -> Iterator[Recorded]:
        self._compactions += 1
        name = f"c{self._compactions}"
        recorded_compaction, keeps_from = self._recorded_compaction()
        is_command = self._prompt is not None
        yield CompactionRead(
            name,
            None if recorded_compaction is None else recorded_compaction.summary,
            keeps_from=keeps_from,
            created=time,
            is_automatic=not is_command,
            tokens_before=self._context_tokens,
            tokens_after=None if recorded_compaction is None else recorded_compaction.tokens_after,
        )
        yield from self._gaps.once(NO_SUMMARY_USAGE)
        if recorded_compaction is None:
            yield from self._gaps.once(KEPT_UNKNOWN)
        start = self._ids.index(keeps_from) if keeps_from else len(self._ids)
        self._ids = [name, *self._ids[start:]]
        self._ids_since_clear.append(name)
        if self._step is not None:
            self._step.begun_ms = time

    def _recorded_compaction(self) -> tuple[KimiCompaction | None, str | None]:
        """Return the next compaction of the context files, and the first message that it kept.

        A compaction is recognised by the messages that it kept, since a context file may be missing.
        """
        compactions = self._contexts.compactions
        for number in range(self._passed_compactions, len(compactions)):
            compaction = compactions[number]
            kept_ids = (self._ids_by_content.get(key) for key in compaction.kept_keys)
            keeps_from = next((message for message in kept_ids if message in self._ids), None)
            if keeps_from or not compaction.kept_keys:
                self._passed_compactions = number + 1
                return compaction, keeps_from
        return None, next(iter(self._ids[-KEPT_MESSAGES:]), None)

    _handlers: ClassVar[
        dict[str, Callable[["_KimiSession", JsonValue, int | None], Iterator[Recorded]]]
    ] = {
        "TurnBegin": _begin_turn,
        "SteerInput": _steer,
        "StepBegin": _begin_step,
        "ContentPart": _add_content,
        "ToolCall": _add_call,
        "ToolCallPart": _add_arguments,
        "StatusUpdate": _status,
        "ToolResult": _result,
        "StepRetry": _retry_step,
        "StepInterrupted": _interrupt_step,
        "CompactionEnd": _compaction,
        "TurnEnd": _end_turn,
        "SubagentEvent": _subagent,
        "BtwEnd": _side_question,
    }


def _usage_of(usage: JsonValue) -> Usage:
    return Usage(
        input=usage.tokens("input_other"),
        output=usage.tokens("output"),
        cache_read=usage.tokens("input_cache_read"),
        cache_write=usage.tokens("input_cache_creation"),
    )
