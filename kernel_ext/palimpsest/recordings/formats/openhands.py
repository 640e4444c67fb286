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
    MAX_CHILDREN,
    MAX_LEVELS,
    SUBAGENT_FOLDER,
    SubagentCalls,
    SubagentFolder,
    subagent_folders,
)
from palimpsest.recordings.format_parts.openhands_v0 import (
    EventIndex,
    ReportedRequest,
    forgotten_events,
    reported_requests,
)
from palimpsest.recordings.reading.importer import Head, Report
from palimpsest.recordings.reading.json_fields import NO_VALUE, JsonValue, media_at
from palimpsest.recordings.reading.recorded import (
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
BASE_STATE = "base_state.json"
EVENTS_FOLDER = "events"
"""Name of the folder inside a conversation's folder that holds its events; they may also be beside its state."""
OTHER_SYSTEM = "Another system prompt was sent from here on."
OTHER_BRANCH = "An event before this one is missing, or it belongs to another branch."


class OpenHandsImporter:
    """Reads OpenHands, V0 and V1."""

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
            early = beginning[:400]
            return b'"instance_id"' in early and (
                b'"agent_class"' in beginning
                or b'"history"' in beginning
                or b'"test_result"' in early
            )
        return (
            beginning.startswith(b"[")
            and b'"source"' in beginning[:20_000]
            and _has_events(beginning)
        )

    def own_files(self, names: Collection[str]) -> Collection[str]:
        """Return the entries with events, with subagents, and with the state of the conversation."""
        return {BASE_STATE, EVENTS_FOLDER, SUBAGENT_FOLDER, *filter(_is_event_file, names)}

    def read(self, path: Path, report: Report) -> Iterator[Recorded]:
        """Yield each conversation of a folder, an output file or a list of events."""
        if path.is_dir():
            yield from _folder(path, report)
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
            yield from _conversation(events, NO_VALUE, begin, SubagentCalls())
        else:
            yield from event_session(events, begin, NO_VALUE, report)


def _is_event_file(name: str) -> bool:
    return name.startswith("event-") and name.endswith(".json")


def _has_events(start: bytes) -> bool:
    is_v1 = b'"kind"' in start and (b"Event" in start or b'"parent_id"' in start)
    return is_v1 or (b'"action"' in start and b'"args"' in start)


def _folder(path: Path, report: Report) -> Iterator[Recorded]:
    """Yield the conversation of a folder, then its subagents, level by level."""
    waiting_folders: list[tuple[Path, SubagentFolder | None, str | None, int]] = [
        (path, None, None, 0)
    ]
    children_left = MAX_CHILDREN
    while waiting_folders:
        folder, child, call, level = waiting_folders.pop(0)

        def folder_report(where: str, what: str, folder: Path = folder) -> None:
            inside = "/".join(folder.relative_to(path).parts)
            report("/".join(word for word in (inside, where) if word), what)

        has_state = (folder / BASE_STATE).is_file()
        state = _document(folder / BASE_STATE, folder_report) if has_state else NO_VALUE
        name = child.id if child else state.id("id") or path.name
        children = subagent_folders(folder, name, children_left, _document, folder_report)
        if children and level >= MAX_LEVELS:
            folder_report("", f"Its subagents are deeper than {MAX_LEVELS} levels; left out.")
            children = []
        children_left -= len(children)
        tasks = SubagentCalls(children)
        begin = SessionBegin(
            name, "openhands", parent=child.parent if child else None, parent_call=call
        )
        try:
            yield from _conversation(_events(folder, folder_report), state, begin, tasks)
        except UserError as error:
            if child is None:
                raise
            folder_report("", str(error))
        waiting_folders += [
            (child.path, child, tasks.calls.get(child.id), level + 1) for child in children
        ]


def _events(path: Path, report: Report) -> Iterator[JsonValue]:
    inner_folder = path / EVENTS_FOLDER
    folder = inner_folder if inner_folder.is_dir() and not inner_folder.is_symlink() else path
    names = sorted(child.name for child in folder.iterdir() if child.name.startswith("event-"))
    if len(names) > MAX_EVENTS:
        report(folder.name, f"Only the first {MAX_EVENTS:,} events are read.")
    if not names:
        raise UserError(f"{str(path)!r} holds no events of OpenHands.")
    for name in names[:MAX_EVENTS]:
        yield _document(folder / name, report)


def _document(path: Path, report: Report) -> JsonValue:
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


def _conversation(
    events: Iterable[JsonValue], state: JsonValue, begin: SessionBegin, tasks: SubagentCalls
) -> Iterator[Recorded]:
    requests_by_answer: dict[str, ReportedRequest] = {}
    for metrics in state.fields("stats", "usage_to_metrics").values():
        requests_by_answer |= reported_requests(JsonValue(metrics))
    model = state.text("agent", "llm", "model")
    reader = _ConversationReader(requests_by_answer, model, tasks)
    has_begun = False
    for event in events:
        if not event:
            continue
        prompt = event if event.get("kind") == "SystemPromptEvent" else NO_VALUE
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
                system=_prompt(prompt) or None,
                tools=_tools(prompt.at("tools")),
            )
        elif prompt:
            yield GapRead(OTHER_SYSTEM, chars=len(_prompt(prompt)))
        yield from reader.records(event)
    yield from reader.finish()
    if not has_begun:
        raise UserError(f"The events of {begin.id!r} cannot be read.")


def _prompt(event: JsonValue) -> str:
    texts = (event.text(name, "text") for name in ("system_prompt", "dynamic_context"))
    return "\n\n".join(word for word in texts if word)


def _tools(value: JsonValue) -> tuple[ToolSpec, ...] | None:
    """Return the tools of a system prompt's event; newer versions record them without name and parameters."""
    named_tools = [
        {"name": tool.get("title") or tool.get("annotations", "title"), **tool.raw}
        for tool in value.objects()
    ]
    return JsonValue(named_tools).tool_specs() if isinstance(value.raw, list) else None


@dataclass(slots=True)
class _JoinedActions:
    """An answer and its actions so far, which are joined into one message."""

    event: JsonValue
    name: str
    response: str
    parts: list[MessagePart] = field(default_factory=list)
    results: list[ResultRead] = field(default_factory=list)
    """Results that came before the answer was known to be complete."""


@dataclass(slots=True)
class _ConversationReader:
    """Joins the events of one conversation into messages."""

    requests_by_answer: dict[str, ReportedRequest]
    model: str
    tasks: SubagentCalls
    index: EventIndex = field(default_factory=EventIndex)
    branch: dict[str, None] = field(default_factory=dict)
    """The ids of the conversation's events so far, in order."""
    answer: _JoinedActions | None = None
    condensation_requested: bool = False
    """Whether the user or the agent requested the next condensation."""
    count: int = 0

    def records(self, event: JsonValue) -> Iterator[Recorded]:
        self.count += 1
        name = event.id("id") or f"e{self.count}"
        name = f"{name}#{self.count}" if name in self.branch else name
        kind = event.get("kind")
        if not self._belongs_to_answer(event):
            yield from self.finish()
        yield from self._removed_branch(name, event.id("parent_id"))
        match kind:
            case "ActionEvent":
                self._action(event, name)
            case "MessageEvent":
                yield self._message(event, name)
            case "ObservationEvent" | "UserRejectObservation" | "AgentErrorEvent":
                if self.answer:
                    self.answer.results.append(self._result(event, name))
                else:
                    yield self._result(event, name)
            case "CondensationRequest":
                self.condensation_requested = True
            case "Condensation":
                yield from self._condensation(event, name)
            case _:
                pass  # pauses, hooks and changes of state are not sent

    def finish(self) -> Iterator[Recorded]:
        """Yield the current answer, which is complete, and its results."""
        if answer := self.answer:
            self.answer = None
            yield self._close_answer(answer, "tool-calls")
            yield from answer.results

    def _belongs_to_answer(self, event: JsonValue) -> bool:
        """Return whether an event is an action of the current answer, or the result of such an action."""
        if not self.answer:
            return False
        if event.get("kind") == "ActionEvent":
            response = event.id("llm_response_id")
            return bool(response) and self.answer.response == response
        call = event.id("tool_call_id")
        return any(isinstance(part, Call) and part.id == call for part in self.answer.parts)

    def _close_answer(self, answer: _JoinedActions, finish: str) -> MessageRead:
        request = self.requests_by_answer.get(answer.response, ReportedRequest(None))
        return MessageRead(
            answer.name,
            "assistant",
            tuple(answer.parts),
            answer.event.milliseconds("timestamp"),
            model=request.model or self.model,
            usage=request.usage,
            cost=request.cost,
            finish=finish,
        )

    def _removed_branch(self, name: str, parent: str) -> Iterator[Recorded]:
        """Yield the messages that were reverted, where an event does not follow the last one."""
        last_event = next(reversed(self.branch), "")
        if parent and parent != last_event and parent in self.branch:
            removed_ids = list[str]()
            while last_event != parent:
                removed_ids.append(self.branch.popitem()[0])
                last_event = next(reversed(self.branch))
            if messages := self.index.forgotten_messages(removed_ids)[0]:
                yield RemovedRead(messages)
        elif parent and last_event and parent != last_event:
            yield GapRead(OTHER_BRANCH)
        self.branch[name] = None

    def _action(self, event: JsonValue, name: str) -> None:
        if self.answer is None:
            self.answer = _JoinedActions(event, name, event.id("llm_response_id"))
            self.answer.parts += (*_thoughts(event), *_content(event.at("thought")))
        call = event.at("tool_call")
        new_call = Call(
            event.id("tool_call_id") or call.id("id") or f"call-{name}",
            event.text("tool_name") or call.text("name") or "unknown",
            JsonValue(call.get("arguments") or event.get("action")).tool_input(),
        )
        self.answer.parts.append(new_call)
        self.tasks.add_call(new_call.id, event)
        self.index.add(name, self.answer.name)
        self.index.callers.setdefault(new_call.id, self.answer.name)

    def _message(self, event: JsonValue, name: str) -> MessageRead:
        self.index.add(name, name)
        message = event.at("llm_message")
        parts = [*_thoughts(message), *_content(message.at("content"))]
        if event.get("source") == "agent":
            answer = _JoinedActions(event, name, event.id("llm_response_id"), parts)
            return self._close_answer(answer, "stop")
        added_texts = [
            Text(block.text, synthetic=True)
            for block in _content(event.at("extended_content"))
            if isinstance(block, Text)
        ]
        return MessageRead(
            name,
            "user",
            (*parts, *added_texts),
            event.milliseconds("timestamp"),
            by_program=event.get("source") != "user",
        )

    def _result(self, event: JsonValue, name: str) -> ResultRead:
        call = event.id("tool_call_id")
        self.index.results[name] = call
        content = _content(event.at("observation", "content"))
        other = event.text("error") or event.text("rejection_reason")
        return ResultRead(
            call,
            text_of_parts(content) or other,
            is_error=bool(other) or event.get("observation", "is_error") is True,
            ended=event.milliseconds("timestamp"),
            media=media_of(content),
            session=self.tasks.add_result(call, event),
        )

    def _condensation(self, event: JsonValue, name: str) -> Iterator[Recorded]:
        request = self.requests_by_answer.get(event.id("llm_response_id"), ReportedRequest(None))
        yield from forgotten_events(
            self.index,
            [JsonValue(event_id).id() for event_id in event.list_at("forgotten_event_ids")],
            CompactionRead(
                name,
                event.text("summary"),
                created=event.milliseconds("timestamp"),
                is_automatic=not self.condensation_requested,
                usage=request.usage,
                model=request.model,
            ),
        )
        # Later condensations refer to this summary by an id that the program derives from the condensation's id.
        self.index.events[name] = [f"{name}-summary"]
        self.index.messages[f"{name}-summary"] = name
        self.index.order.setdefault(name, len(self.index.order))
        self.condensation_requested = False


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
