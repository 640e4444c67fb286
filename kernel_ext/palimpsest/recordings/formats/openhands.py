"""Read conversations of OpenHands: the SDK's event logs (V1), and evaluation outputs from before it (V0).

A conversation of the SDK is a folder with ``base_state.json`` and one file for each event in ``events/``, or a list of
such events; its subagents are such folders inside it. All actions with the same ``llm_response_id`` are one answer. A
condensation lists the events that it forgets, so the replaced messages are known exactly.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from palimpsest.recordings.format_parts.openhands_instance import event_session, instance_session
from palimpsest.recordings.format_parts.openhands_subagents import (
    MAX_LEVELS,
    MAX_SUBAGENTS,
    SUBAGENT_FOLDER,
    SubagentCalls,
    SubagentFolder,
    subagent_folders,
)
from palimpsest.recordings.format_parts.openhands_v0 import (
    EventIndex,
    ReportedRequest,
    compaction_of_forgotten,
    reported_requests,
)
from palimpsest.recordings.reading.importer import Head, Report
from palimpsest.recordings.reading.json_fields import NO_VALUE, JsonValue, media_at
from palimpsest.recordings.reading.recorded import (
    OTHER_SYSTEM_SENTENCE,
    Call,
    CompactionRead,
    GapRead,
    MessagePart,
    MessageRead,
    Recorded,
    RemovedRead,
    ResultRead,
    SessionBegin,
    Text,
    Thinking,
    media_of,
    text_of_parts,
)
from palimpsest.recordings.reading.sources import head_of, json_document, json_items, json_lines
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.strings.relative_paths import recorded_name
from palimpsest.transcript.values import ToolSpec

MAX_EVENTS = 200_000
"""Maximum events that are read of one conversation."""
MAX_EARLY_BYTES = 400
"""Maximum bytes at a file's beginning in which an instance's first fields are searched."""
MAX_FIRST_EVENT_BYTES = 20_000
"""Maximum bytes at a file's beginning in which the first event's source is searched."""
BASE_STATE = "base_state.json"
EVENTS_FOLDER = "events"
"""Name of the folder inside a conversation's folder that holds its events; they may also be beside its state."""
OTHER_BRANCH_SENTENCE = "An event before this one is missing, or it belongs to another branch."


class OpenHandsImporter:
    """Reads conversations of OpenHands, V0 and V1."""

    name = "openhands"
    title = "OpenHands"
    tried_on = "files of the real writer"

    def recognises(self, head: Head) -> bool:
        """Return whether a folder contains events, or a file begins with an instance or with events."""
        if head.names:
            has_events = any(_is_event_file(name) for name in head.names)
            return has_events or (BASE_STATE in head.names and EVENTS_FOLDER in head.names)
        beginning = head.start.lstrip()
        if beginning.startswith(b"{"):
            early = beginning[:MAX_EARLY_BYTES]
            return b'"instance_id"' in early and (
                b'"agent_class"' in beginning
                or b'"history"' in beginning
                or b'"test_result"' in early
            )
        return (
            beginning.startswith(b"[")
            and b'"source"' in beginning[:MAX_FIRST_EVENT_BYTES]
            and _begins_with_events(beginning)
        )

    def own_files(self, names: Collection[str]) -> Collection[str]:
        """Return the entries with events, with subagents, and with the state of the conversation."""
        return {BASE_STATE, EVENTS_FOLDER, SUBAGENT_FOLDER, *filter(_is_event_file, names)}

    def read(self, path: Path, report: Report) -> Iterator[Recorded]:
        """Yield each conversation of a folder, an output file or a list of events."""
        if path.is_dir():
            yield from _folder_values(path, report)
            return
        if head_of(path).start.lstrip().startswith(b"{"):
            has_history = False
            for number, instance in json_lines(path, report):
                if "history" in instance:
                    has_history = True
                    yield from instance_session(instance, f"line {number}", report)
                else:
                    report(f"line {number}", "It is no instance with a history.")
            if not has_history:
                raise UserError(f"{str(path)!r} holds no conversation of OpenHands.")
            return
        events = JsonValue([*json_items(path, "item", report, share_limit=True)]).objects()
        if not events:
            raise UserError(f"{str(path)!r} holds no events of OpenHands.")
        begin = SessionBegin(recorded_name(path.stem), self.name, "v0")
        if any("kind" in event for event in events):
            yield from _conversation_values(events, NO_VALUE, begin, SubagentCalls())
        else:
            yield from event_session(events, begin, NO_VALUE, report)


def _is_event_file(name: str) -> bool:
    return name.startswith("event-") and name.endswith(".json")


def _begins_with_events(start: bytes) -> bool:
    is_v1 = b'"kind"' in start and (b"Event" in start or b'"parent_id"' in start)
    return is_v1 or (b'"action"' in start and b'"args"' in start)


def _folder_values(path: Path, report: Report) -> Iterator[Recorded]:
    """Yield the conversation of a folder, then its subagents, level by level."""
    waiting_conversations: list[tuple[Path, SubagentFolder | None, str | None, int]] = [
        (path, None, None, 0)
    ]
    remaining_count = MAX_SUBAGENTS
    while waiting_conversations:
        folder, subagent, call_id, level = waiting_conversations.pop(0)

        def folder_report(place_inside: str, sentence: str, folder: Path = folder) -> None:
            relative_path = "/".join(folder.relative_to(path).parts)
            report("/".join(piece for piece in (relative_path, place_inside) if piece), sentence)

        has_state = (folder / BASE_STATE).is_file()
        state = _read_event_file(folder / BASE_STATE, folder_report) if has_state else NO_VALUE
        session_id = subagent.id if subagent else state.id("id") or path.name
        subagents = subagent_folders(
            folder, session_id, remaining_count, _read_event_file, folder_report
        )
        if subagents and level >= MAX_LEVELS:
            folder_report("", f"Its subagents are deeper than {MAX_LEVELS} levels; left out.")
            subagents = []
        remaining_count -= len(subagents)
        subagent_calls = SubagentCalls(subagents)
        begin = SessionBegin(
            session_id,
            "openhands",
            parent=subagent.parent_id if subagent else None,
            parent_call=call_id,
        )
        try:
            yield from _conversation_values(
                _read_events(folder, folder_report), state, begin, subagent_calls
            )
        except UserError as error:
            if subagent is None:
                raise
            folder_report("", str(error))
        waiting_conversations += [
            (subagent.path, subagent, subagent_calls.call_by_subagent.get(subagent.id), level + 1)
            for subagent in subagents
        ]


def _read_events(path: Path, report: Report) -> Iterator[JsonValue]:
    inner_folder = path / EVENTS_FOLDER
    folder = inner_folder if inner_folder.is_dir() and not inner_folder.is_symlink() else path
    file_names = sorted(file.name for file in folder.iterdir() if file.name.startswith("event-"))
    if len(file_names) > MAX_EVENTS:
        report(folder.name, f"Only the first {MAX_EVENTS:,} events are read.")
    if not file_names:
        raise UserError(f"{str(path)!r} holds no events of OpenHands.")
    for file_name in file_names[:MAX_EVENTS]:
        yield _read_event_file(folder / file_name, report)


def _read_event_file(path: Path, report: Report) -> JsonValue:
    if path.is_symlink():  # a name in a copied folder may lead anywhere
        report(path.name, "It is a link and was left out.")
        return NO_VALUE
    try:
        document = json_document(path)
    except UserError:
        report(path.name, "It cannot be read as JSON and was left out.")
        return NO_VALUE
    if not isinstance(document.raw, dict):
        report(path.name, "It is no JSON object and was left out.")
    return document


def _conversation_values(
    events: Iterable[JsonValue],
    state: JsonValue,
    begin: SessionBegin,
    subagent_calls: SubagentCalls,
) -> Iterator[Recorded]:
    requests_by_answer: dict[str, ReportedRequest] = {}
    for metrics in state.fields("stats", "usage_to_metrics").values():
        requests_by_answer |= reported_requests(JsonValue(metrics))
    model = state.text("agent", "llm", "model")
    reader = _ConversationReader(requests_by_answer, model, subagent_calls)
    has_begun = False
    for event in events:
        if not event:
            continue
        system_event = event if event.get("kind") == "SystemPromptEvent" else NO_VALUE
        if not has_begun:
            has_begun = True
            yield replace(
                begin,
                format_version="v1",
                directory=state.text("workspace", "working_dir"),
                created=event.milliseconds("timestamp"),
                model=model or next((request.model for request in requests_by_answer.values()), ""),
                window=next(
                    (request.window for request in requests_by_answer.values() if request.window),
                    None,
                ),
                system=_system_prompt(system_event) or None,
                tools=_tools(system_event.at("tools")),
            )
        elif system_event:
            yield GapRead(OTHER_SYSTEM_SENTENCE, chars=len(_system_prompt(system_event)))
        yield from reader.read_event(event)
    yield from reader.finish()
    if not has_begun:
        raise UserError(f"The events of {begin.id!r} cannot be read.")


def _system_prompt(event: JsonValue) -> str:
    texts = (event.text(field_name, "text") for field_name in ("system_prompt", "dynamic_context"))
    return "\n\n".join(text for text in texts if text)


def _tools(value: JsonValue) -> tuple[ToolSpec, ...] | None:
    """Return the tools in a system prompt's event; None without a list. Newer versions leave out name and parameters."""
    named_tools = [
        {"name": tool.get("title") or tool.get("annotations", "title"), **tool.raw}
        for tool in value.objects()
    ]
    return JsonValue(named_tools).tool_specs() if isinstance(value.raw, list) else None


@dataclass(slots=True)
class _JoinedActions:
    """An answer and its actions so far, which are joined into one message."""

    event: JsonValue
    message_id: str
    response_id: str
    parts: list[MessagePart] = field(default_factory=list)
    results: list[ResultRead] = field(default_factory=list)
    """Results that came before the answer was known to be complete."""


@dataclass(slots=True)
class _ConversationReader:
    """Joins the events of one conversation into messages."""

    requests_by_answer: dict[str, ReportedRequest]
    model: str
    subagent_calls: SubagentCalls
    index: EventIndex = field(default_factory=EventIndex)
    branch_ids: dict[str, None] = field(default_factory=dict)
    """The ids of the conversation's events so far, in order."""
    answer: _JoinedActions | None = None
    is_condensation_requested: bool = False
    """Whether the user or the agent requested the next condensation."""
    event_count: int = 0

    def read_event(self, event: JsonValue) -> Iterator[Recorded]:
        self.event_count += 1
        event_id = event.id("id") or f"e{self.event_count}"
        event_id = f"{event_id}#{self.event_count}" if event_id in self.branch_ids else event_id
        event_kind = event.get("kind")
        if not self._belongs_to_answer(event):
            yield from self.finish()
        yield from self._add_to_branch(event_id, event.id("parent_id"))
        match event_kind:
            case "ActionEvent":
                self._add_action(event, event_id)
            case "MessageEvent":
                yield self._message(event, event_id)
            case "ObservationEvent" | "UserRejectObservation" | "AgentErrorEvent":
                if self.answer:
                    self.answer.results.append(self._tool_result(event, event_id))
                else:
                    yield self._tool_result(event, event_id)
            case "CondensationRequest":
                self.is_condensation_requested = True
            case "Condensation":
                yield from self._condensation_values(event, event_id)
            case _:
                pass  # pauses, hooks and changes of state are not sent

    def finish(self) -> Iterator[Recorded]:
        """Yield the current answer, which no further event completes, and its results."""
        if answer := self.answer:
            self.answer = None
            yield self._answer_message(answer, "tool-calls")
            yield from answer.results

    def _belongs_to_answer(self, event: JsonValue) -> bool:
        """Return whether an event is an action of the current answer, or the result of such an action."""
        if not self.answer:
            return False
        if event.get("kind") == "ActionEvent":
            response_id = event.id("llm_response_id")
            return bool(response_id) and self.answer.response_id == response_id
        call_id = event.id("tool_call_id")
        return any(isinstance(part, Call) and part.id == call_id for part in self.answer.parts)

    def _answer_message(self, answer: _JoinedActions, finish: str) -> MessageRead:
        request = self.requests_by_answer.get(answer.response_id, ReportedRequest(None))
        return MessageRead(
            answer.message_id,
            "assistant",
            tuple(answer.parts),
            answer.event.milliseconds("timestamp"),
            model=request.model or self.model,
            usage=request.usage,
            cost=request.cost,
            finish=finish,
        )

    def _add_to_branch(self, event_id: str, parent_id: str) -> Iterator[Recorded]:
        """Add an event to the branch; yield the messages that were reverted, where it does not follow the last event."""
        last_id = next(reversed(self.branch_ids), "")
        if parent_id and parent_id != last_id and parent_id in self.branch_ids:
            removed_ids = list[str]()
            while last_id != parent_id:
                removed_ids.append(self.branch_ids.popitem()[0])
                last_id = next(reversed(self.branch_ids))
            if message_ids := self.index.forgotten_messages_and_calls(removed_ids)[0]:
                yield RemovedRead(message_ids)
        elif parent_id and last_id and parent_id != last_id:
            yield GapRead(OTHER_BRANCH_SENTENCE)
        self.branch_ids[event_id] = None

    def _add_action(self, event: JsonValue, event_id: str) -> None:
        if self.answer is None:
            self.answer = _JoinedActions(event, event_id, event.id("llm_response_id"))
            self.answer.parts += (*_thoughts(event), *_content(event.at("thought")))
        call = event.at("tool_call")
        new_call = Call(
            event.id("tool_call_id") or call.id("id") or f"call-{event_id}",
            event.text("tool_name") or call.text("name") or "unknown",
            JsonValue(call.get("arguments") or event.get("action")).tool_input(),
        )
        self.answer.parts.append(new_call)
        self.subagent_calls.add_call(new_call.id, event)
        self.index.add(event_id, self.answer.message_id)
        self.index.message_by_call.setdefault(new_call.id, self.answer.message_id)

    def _message(self, event: JsonValue, event_id: str) -> MessageRead:
        self.index.add(event_id, event_id)
        message = event.at("llm_message")
        parts = [*_thoughts(message), *_content(message.at("content"))]
        if event.get("source") == "agent":
            answer = _JoinedActions(event, event_id, event.id("llm_response_id"), parts)
            return self._answer_message(answer, "stop")
        added_texts = [
            Text(block.text, synthetic=True)
            for block in _content(event.at("extended_content"))
            if isinstance(block, Text)
        ]
        return MessageRead(
            event_id,
            "user",
            (*parts, *added_texts),
            event.milliseconds("timestamp"),
            by_program=event.get("source") != "user",
        )

    def _tool_result(self, event: JsonValue, event_id: str) -> ResultRead:
        call_id = event.id("tool_call_id")
        self.index.call_by_event[event_id] = call_id
        content = _content(event.at("observation", "content"))
        error = event.text("error") or event.text("rejection_reason")
        return ResultRead(
            call_id,
            text_of_parts(content) or error,
            is_error=bool(error) or event.get("observation", "is_error") is True,
            ended=event.milliseconds("timestamp"),
            media=media_of(content),
            session=self.subagent_calls.add_result(call_id, event),
        )

    def _condensation_values(self, event: JsonValue, event_id: str) -> Iterator[Recorded]:
        summary_request = self.requests_by_answer.get(
            event.id("llm_response_id"), ReportedRequest(None)
        )
        yield from compaction_of_forgotten(
            self.index,
            [JsonValue(forgotten_id).id() for forgotten_id in event.list_at("forgotten_event_ids")],
            CompactionRead(
                event_id,
                event.text("summary"),
                created=event.milliseconds("timestamp"),
                is_automatic=not self.is_condensation_requested,
                usage=summary_request.usage,
                model=summary_request.model,
            ),
        )
        # Later condensations refer to this summary by an id that the program derives from the condensation's id.
        self.index.events_by_message[event_id] = [f"{event_id}-summary"]
        self.index.message_by_event[f"{event_id}-summary"] = event_id
        self.index.position_by_message.setdefault(event_id, len(self.index.position_by_message))
        self.is_condensation_requested = False


def _content(value: JsonValue) -> list[MessagePart]:
    parts: list[MessagePart] = []
    for block in value.objects():
        if isinstance(block.get("image_urls"), list):
            parts += [media_at(url, "image/png") for url in block.list_at("image_urls")]
        elif text := block.text("text"):
            parts.append(Text(text))
    return parts


def _thoughts(value: JsonValue) -> list[MessagePart]:
    """Return the reasoning of an answer: its blocks, or else the text that all providers have."""
    parts: list[MessagePart] = []
    for block in value.objects("thinking_blocks"):
        thought = block.text("thinking")
        parts.append(Thinking(thought, encrypted=not thought))
    if not parts and (thought := value.text("reasoning_content")):
        parts.append(Thinking(thought))
    item = value.at("responses_reasoning_item")
    if not parts and item:
        texts = [text for text in item.list_at("summary") if isinstance(text, str)]
        thought = JsonValue("\n".join(texts)).text()
        parts.append(Thinking(thought, encrypted=not thought))
    return parts
