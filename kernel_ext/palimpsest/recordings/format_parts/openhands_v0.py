"""Read evaluation outputs of OpenHands before its SDK: one instance a line, each with its events.

Several events come from one answer of the model and have the same ``response_id``. An event contains the whole response,
from which the answer's text and calls are read; the usage is read from the metrics. The program writes a cost of 0 for
models whose price it does not know.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

from palimpsest.recordings.reading.json_fields import JsonValue, media_at, usage_of_whole_prompt
from palimpsest.recordings.reading.recorded import (
    Call,
    CompactionRead,
    MessageRead,
    Recorded,
    ReducedRead,
    ResultRead,
    Text,
)
from palimpsest.transcript.values import Usage

UNSENT_EVENTS = {"null", "agent_state_changed", "change_agent_state", "pause", "start"}
MAX_NUMBER = 1_000_000
"""Largest exit code that is believed, and maximum events of one range of ids."""
CONDENSER_RULE = "openhands.condenser"


@dataclass(frozen=True, slots=True)
class ReportedRequest:
    """The metrics of one request."""

    usage: Usage | None
    cost: float | None = None
    window: int | None = None
    model: str = ""


def reported_requests(metrics: JsonValue) -> dict[str, ReportedRequest]:
    """Return the metrics of requests by the id of the response; costs are used where there is one for each usage."""
    usages = metrics.objects("token_usages")
    costs = metrics.objects("costs")
    request_by_response: dict[str, ReportedRequest] = {}
    for index, report in enumerate(usages):
        request_by_response[report.id("response_id")] = ReportedRequest(
            usage_of_whole_prompt(
                report.tokens("prompt_tokens"),
                report.tokens("completion_tokens"),
                cache_read=report.tokens("cache_read_tokens"),
                cache_written=report.tokens("cache_write_tokens"),
                reasoning=report.tokens("reasoning_tokens"),
            ),
            costs[index].cost("cost") if len(costs) == len(usages) else None,
            report.count("context_window") or None,
            report.text("model"),
        )
    request_by_response.pop("", None)
    return request_by_response


@dataclass(slots=True)
class EventIndex:
    """The message or result that each event became, by ids: it finds the messages and results of forgotten events."""

    message_by_event: dict[str, str] = field(default_factory=dict)
    events_by_message: defaultdict[str, list[str]] = field(
        default_factory=lambda: defaultdict(list)
    )
    """The ids of each message's events."""
    call_by_event: dict[str, str] = field(default_factory=dict)
    """For each event that became a result, the id of the result's call."""
    message_by_call: dict[str, str] = field(default_factory=dict)
    """The id of each call's message."""
    position_by_message: dict[str, int] = field(default_factory=dict)

    def add(self, event_id: str, message_id: str) -> None:
        """Add an event that became a message, or a part of one."""
        self.message_by_event[event_id] = message_id
        self.events_by_message[message_id].append(event_id)
        self.position_by_message.setdefault(message_id, len(self.position_by_message))

    def forgotten_messages_and_calls(
        self, event_ids: Iterable[str]
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the ids of messages whose events are all forgotten, and of other calls whose result is forgotten."""
        forgotten_ids = dict.fromkeys(event_ids)
        affected_ids = {
            self.message_by_event[event_id]
            for event_id in forgotten_ids
            if event_id in self.message_by_event
        }
        forgotten_message_ids = {
            message_id: None
            for message_id in sorted(affected_ids, key=self.position_by_message.__getitem__)
            if all(event_id in forgotten_ids for event_id in self.events_by_message[message_id])
        }
        call_ids = dict.fromkeys(
            self.call_by_event[event_id]
            for event_id in forgotten_ids
            if event_id in self.call_by_event
        )
        return tuple(forgotten_message_ids), tuple(
            call_id
            for call_id in call_ids
            if self.message_by_call.get(call_id, "") not in forgotten_message_ids
        )


@dataclass(slots=True)
class InstanceEvents:
    """Joins the events of one instance into messages."""

    reported_requests: dict[str, ReportedRequest]
    model: str
    response_ids: frozenset[str]
    """Ids of the responses that events refer to."""
    position: int = 0
    """Number of reported requests that were matched or skipped."""
    index: EventIndex = field(default_factory=EventIndex)
    message_by_response: dict[str, str] = field(default_factory=dict)
    """The id of the message that each response became, by the response's id."""
    call_by_recorded_id: dict[str, str] = field(default_factory=dict)
    """The id of the last call with each recorded id; a program that numbers its calls may use an id again."""
    response_order: list[str] = field(init=False)
    """The ids of the responses in the order of their reports."""
    report_position: dict[str, int] = field(init=False)
    """Position of each response in the reports, by its id."""
    condensation_count: int = 0
    is_condensation_requested: bool = False
    """Whether the user requested the next condensation."""
    event_count: int = 0

    def __post_init__(self) -> None:
        self.response_order = list(self.reported_requests)
        self.report_position = {name: n for n, name in enumerate(self.response_order)}

    def read_event(self, event: JsonValue) -> Iterator[Recorded]:
        """Yield the values of an event."""
        self.event_count += 1
        event_id = event.id("id") or f"e{self.event_count}"
        event_id = (
            f"{event_id}#{self.event_count}"
            if event_id in self.index.message_by_event
            else event_id
        )
        action, observation = event.text("action"), event.text("observation")
        if action in UNSENT_EVENTS or observation in UNSENT_EVENTS or action == "system":
            return
        if action == "condensation":
            yield from self._condensation_values(event, event_id)
        elif action == "condensation_request":
            self.is_condensation_requested = True
        elif action == "recall":
            return  # the recalled knowledge follows as its observation
        elif action and event.get("source") != "agent":
            yield self._user_message(event, event_id)
        elif action:
            yield from self._agent_message(event, event_id, action)
        elif observation:
            yield from self._observation_values(event, event_id, observation)

    def _user_message(self, event: JsonValue, event_id: str) -> MessageRead:
        self.index.add(event_id, event_id)
        text = event.text("args", "content") or event.text("message")
        pictures = event.list_at("args", "image_urls")
        media = tuple(media_at(url, "image/png") for url in pictures if isinstance(url, str))
        return MessageRead(
            event_id,
            "user",
            ((Text(text),) if text else ()) + media,
            event.milliseconds("timestamp"),
            by_program=event.get("source") != "user",
        )

    def _agent_message(self, event: JsonValue, event_id: str, action: str) -> Iterator[Recorded]:
        response = event.at("tool_call_metadata", "model_response")
        response_key = response_id(event)
        if response_key and response_key in self.message_by_response:
            self.index.add(event_id, self.message_by_response[response_key])
            return
        self.index.add(event_id, event_id)
        if response_key:
            self.message_by_response[response_key] = event_id
        message = response.first_entry("choices").at("message")
        if message:
            text = message.text("content") or _thought(event)
            calls = [_call(value) for value in message.objects("tool_calls")]
        elif action == "message":
            text, calls = event.text("args", "content") or event.text("message"), []
        else:
            text, calls = _thought(event), [Call(f"call-{event_id}", action, event.fields("args"))]
        calls = [replace(call, id=self._unique_call_id(call.id)) for call in calls]
        for call in calls:
            self.index.message_by_call[call.id] = event_id
        usage = _response_usage(response.at("usage"))
        request = self.reported_requests.get(self._report_key(response_key), ReportedRequest(usage))
        yield MessageRead(
            event_id,
            "assistant",
            (*([Text(text)] if text else []), *calls),
            event.milliseconds("timestamp"),
            model=request.model or self.model or response.text("model"),
            usage=request.usage,
            cost=request.cost,
            finish="tool-calls" if calls else "stop",
        )

    def _report_key(self, response_key: str) -> str:
        """Return the id under which a request's usage was reported.

        An event without calls has no response id: use the single report between the reports of its neighbours.
        """
        unused_ids = list[str]()
        for reported_id in islice(self.response_order, self.position, self.position + 2):
            if response_key or reported_id in self.response_ids:
                break
            unused_ids.append(reported_id)
        if response_key in self.report_position:
            self.position = self.report_position[response_key] + 1
        elif len(unused_ids) == 1:
            self.position += 1
            return unused_ids[0]
        return response_key

    def call_id_of(self, event: JsonValue) -> str | None:
        """Return the id of an action's call."""
        recorded_id = event.id("tool_call_metadata", "tool_call_id")
        return self.call_by_recorded_id.get(recorded_id or f"call-{event.id('id')}")

    def _unique_call_id(self, recorded_id: str) -> str:
        """Return a unique id for a call of the session, and store it as the last one for the recorded id."""
        call_id = (
            f"{recorded_id}#{self.event_count}"
            if recorded_id in self.call_by_recorded_id
            else recorded_id
        )
        self.call_by_recorded_id[recorded_id] = call_id
        return call_id

    def _observation_values(
        self, event: JsonValue, event_id: str, observation_type: str
    ) -> Iterator[Recorded]:
        output = event.text("content") or event.text("message")
        call_id = event.id("tool_call_metadata", "tool_call_id")
        call_id = self.call_by_recorded_id.get(call_id or f"call-{event.id('cause')}", "")
        created_ms = event.milliseconds("timestamp")
        if call_id in self.index.message_by_call:
            self.index.call_by_event[event_id] = call_id
            code = event.get("extras", "metadata", "exit_code")
            has_exit_code = isinstance(code, int) and not isinstance(code, bool)
            yield ResultRead(
                call_id,
                output,
                is_error=observation_type == "error" or event.get("extras", "error") is True,
                ended=created_ms,
                metadata={"exit_code": code} if has_exit_code and abs(code) < MAX_NUMBER else {},
            )
        elif observation_type == "recall" or output:
            texts = _recalled_texts(event.at("extras")) if observation_type == "recall" else ()
            text = Text("\n\n".join(texts) or output, synthetic=True)
            self.index.add(event_id, event_id)
            yield MessageRead(event_id, "user", (text,), created_ms, by_program=True)

    def _condensation_values(self, event: JsonValue, event_id: str) -> Iterator[Recorded]:
        self.condensation_count += 1
        args = event.at("args")
        first, last = (args.count(f"forgotten_events_{end}_id") for end in ("start", "end"))
        event_ids = [str(number) for number in range(first, min(last, first + MAX_NUMBER) + 1)]
        if isinstance(args.get("forgotten_event_ids"), list):
            event_ids = [JsonValue(e).id() for e in args.list_at("forgotten_event_ids")]
        yield from compaction_of_forgotten(
            self.index,
            event_ids,
            CompactionRead(
                f"c-{event_id}",
                args.text("summary"),
                created=event.milliseconds("timestamp"),
                is_automatic=not self.is_condensation_requested,
            ),
        )
        self.is_condensation_requested = False


def compaction_of_forgotten(
    index: EventIndex, event_ids: Iterable[str], compaction: CompactionRead
) -> Iterator[Recorded]:
    """Yield the compaction that forgets some events, after the removal of single results."""
    message_ids, call_ids = index.forgotten_messages_and_calls(event_ids)
    for call_id in call_ids:
        yield ReducedRead(call_id, "", rule=CONDENSER_RULE)
    if message_ids or compaction.summary:
        index.add(compaction.id, compaction.id)
        yield replace(compaction, replaced_messages=message_ids)


def response_id(event: JsonValue) -> str:
    """Return the id of the response that an event came from; empty where it has none."""
    return event.id("tool_call_metadata", "model_response", "id")


def _thought(event: JsonValue) -> str:
    return event.text("args", "thought")


def _call(value: JsonValue) -> Call:
    function = value.at("function")
    name = function.text("name") or "unknown"
    return Call(value.id("id"), name, function.tool_input("arguments"))


def _response_usage(counts: JsonValue) -> Usage | None:
    cache_read = counts.tokens("prompt_tokens_details", "cached_tokens")
    return usage_of_whole_prompt(
        counts.tokens("prompt_tokens"),
        counts.tokens("completion_tokens"),
        cache_read=cache_read or counts.tokens("cache_read_input_tokens"),
        cache_written=counts.tokens("cache_creation_input_tokens"),
        reasoning=counts.tokens("completion_tokens_details", "reasoning_tokens"),
    )


def _recalled_texts(extras: JsonValue) -> Iterator[str]:
    for name in ("repo_instructions", "additional_agent_instructions"):
        if instructions := extras.text(name):
            yield instructions
    for knowledge in extras.objects("microagent_knowledge"):
        yield knowledge.text("content") or knowledge.as_text()
