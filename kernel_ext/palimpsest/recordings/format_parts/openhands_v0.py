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

NOT_FOR_THE_MODEL = {"null", "agent_state_changed", "change_agent_state", "pause", "start"}
MAX_NUMBERS = 1_000_000
"""Limit for an exit code, and for the events of one range of ids."""
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
    requests: dict[str, ReportedRequest] = {}
    for n, report in enumerate(usages):
        requests[report.id("response_id")] = ReportedRequest(
            usage_of_whole_prompt(
                report.tokens("prompt_tokens"),
                report.tokens("completion_tokens"),
                cache_read=report.tokens("cache_read_tokens"),
                cache_written=report.tokens("cache_write_tokens"),
                reasoning=report.tokens("reasoning_tokens"),
            ),
            costs[n].cost("cost") if len(costs) == len(usages) else None,
            report.count("context_window") or None,
            report.text("model"),
        )
    requests.pop("", None)
    return requests


@dataclass(slots=True)
class EventIndex:
    """The message or result that each event became, to find the messages and results of forgotten events."""

    messages: dict[str, str] = field(default_factory=dict)
    events: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """The events of each message."""
    results: dict[str, str] = field(default_factory=dict)
    """For each event that became a result, the result's call."""
    callers: dict[str, str] = field(default_factory=dict)
    """The message of each call."""
    order: dict[str, int] = field(default_factory=dict)

    def add(self, event: str, message: str) -> None:
        """Add an event that became a message, or a part of one."""
        self.messages[event] = message
        self.events[message].append(event)
        self.order.setdefault(message, len(self.order))

    def forgotten_messages(self, events: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the messages whose events are all forgotten, and the other calls whose result is forgotten."""
        forgotten_ids = dict.fromkeys(events)
        affected = {self.messages[id_] for id_ in forgotten_ids if id_ in self.messages}
        lost_messages = {
            message: None
            for message in sorted(affected, key=self.order.__getitem__)
            if all(name in forgotten_ids for name in self.events[message])
        }
        calls = dict.fromkeys(self.results[name] for name in forgotten_ids if name in self.results)
        return tuple(lost_messages), tuple(
            name for name in calls if self.callers.get(name, "") not in lost_messages
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
    responses: dict[str, str] = field(default_factory=dict)
    """The message that each response became."""
    calls: dict[str, str] = field(default_factory=dict)
    """The last call with each recorded id; a program that numbers its calls may use an id again."""
    order: list[str] = field(init=False)
    """The responses in the order of their reports."""
    report_index: dict[str, int] = field(init=False)
    """Position of each response in the reports."""
    condensations: int = 0
    is_requested: bool = False
    """Whether the user requested the next condensation."""
    count: int = 0

    def __post_init__(self) -> None:
        self.order = list(self.reported_requests)
        self.report_index = {name: n for n, name in enumerate(self.order)}

    def records(self, event: JsonValue) -> Iterator[Recorded]:
        """Yield the values of an event."""
        self.count += 1
        name = event.id("id") or f"e{self.count}"
        name = f"{name}#{self.count}" if name in self.index.messages else name
        action, observation = event.text("action"), event.text("observation")
        if action in NOT_FOR_THE_MODEL or observation in NOT_FOR_THE_MODEL or action == "system":
            return
        if action == "condensation":
            yield from self._condensation(event, name)
        elif action == "condensation_request":
            self.is_requested = True
        elif action == "recall":
            return  # the recalled knowledge follows as its observation
        elif action and event.get("source") != "agent":
            yield self._from_user(event, name)
        elif action:
            yield from self._from_agent(event, name, action)
        elif observation:
            yield from self._observation(event, name, observation)

    def _from_user(self, event: JsonValue, name: str) -> MessageRead:
        self.index.add(name, name)
        text = event.text("args", "content") or event.text("message")
        pictures = event.list_at("args", "image_urls")
        media = tuple(media_at(url, "image/png") for url in pictures if isinstance(url, str))
        return MessageRead(
            name,
            "user",
            ((Text(text),) if text else ()) + media,
            event.milliseconds("timestamp"),
            by_program=event.get("source") != "user",
        )

    def _from_agent(self, event: JsonValue, name: str, action: str) -> Iterator[Recorded]:
        response = event.at("tool_call_metadata", "model_response")
        key = response_id(event)
        if key and key in self.responses:
            self.index.add(name, self.responses[key])
            return
        self.index.add(name, name)
        if key:
            self.responses[key] = name
        message = response.first_entry("choices").at("message")
        if message:
            text = message.text("content") or _thought(event)
            calls = [_call(value) for value in message.objects("tool_calls")]
        elif action == "message":
            text, calls = event.text("args", "content") or event.text("message"), []
        else:
            text, calls = _thought(event), [Call(f"call-{name}", action, event.fields("args"))]
        calls = [replace(call, id=self._unique_call_id(call.id)) for call in calls]
        for call in calls:
            self.index.callers[call.id] = name
        usage = _response_usage(response.at("usage"))
        request = self.reported_requests.get(self._report_key(key), ReportedRequest(usage))
        yield MessageRead(
            name,
            "assistant",
            (*([Text(text)] if text else []), *calls),
            event.milliseconds("timestamp"),
            model=request.model or self.model or response.text("model"),
            usage=request.usage,
            cost=request.cost,
            finish="tool-calls" if calls else "stop",
        )

    def _report_key(self, key: str) -> str:
        """Return the id under which a request's usage was reported.

        An event without calls has no response id: use the single report between the reports of its neighbours.
        """
        unnamed = list[str]()
        for name in islice(self.order, self.position, self.position + 2):
            if key or name in self.response_ids:
                break
            unnamed.append(name)
        if key in self.report_index:
            self.position = self.report_index[key] + 1
        elif len(unnamed) == 1:
            self.position += 1
            return unnamed[0]
        return key

    def call_of(self, event: JsonValue) -> str | None:
        """Return the call of an action."""
        recorded_id = event.id("tool_call_metadata", "tool_call_id")
        return self.calls.get(recorded_id or f"call-{event.id('id')}")

    def _unique_call_id(self, recorded_id: str) -> str:
        """Return a unique id for a call of the session."""
        call_id = f"{recorded_id}#{self.count}" if recorded_id in self.calls else recorded_id
        self.calls[recorded_id] = call_id
        return call_id

    def _observation(self, event: JsonValue, name: str, kind: str) -> Iterator[Recorded]:
        output = event.text("content") or event.text("message")
        call = event.id("tool_call_metadata", "tool_call_id")
        call = self.calls.get(call or f"call-{event.id('cause')}", "")
        created = event.milliseconds("timestamp")
        if call in self.index.callers:
            self.index.results[name] = call
            code = event.get("extras", "metadata", "exit_code")
            has_exit_code = isinstance(code, int) and not isinstance(code, bool)
            yield ResultRead(
                call,
                output,
                is_error=kind == "error" or event.get("extras", "error") is True,
                ended=created,
                metadata={"exit_code": code} if has_exit_code and abs(code) < MAX_NUMBERS else {},
            )
        elif kind == "recall" or output:
            recalled_texts = _knowledge(event.at("extras")) if kind == "recall" else ()
            text = Text("\n\n".join(recalled_texts) or output, synthetic=True)
            self.index.add(name, name)
            yield MessageRead(name, "user", (text,), created, by_program=True)

    def _condensation(self, event: JsonValue, name: str) -> Iterator[Recorded]:
        self.condensations += 1
        args = event.at("args")
        first, last = (args.count(f"forgotten_events_{end}_id") for end in ("start", "end"))
        events = [str(n) for n in range(first, min(last, first + MAX_NUMBERS) + 1)]
        if isinstance(args.get("forgotten_event_ids"), list):
            events = [JsonValue(arg).id() for arg in args.list_at("forgotten_event_ids")]
        yield from forgotten_events(
            self.index,
            events,
            CompactionRead(
                f"c-{name}",
                args.text("summary"),
                created=event.milliseconds("timestamp"),
                is_automatic=not self.is_requested,
            ),
        )
        self.is_requested = False


def forgotten_events(
    index: EventIndex, events: Iterable[str], request: CompactionRead
) -> Iterator[Recorded]:
    """Yield a condensation with the messages that it replaced, after single results that it removed."""
    messages, calls = index.forgotten_messages(events)
    for call in calls:
        yield ReducedRead(call, "", rule=CONDENSER_RULE)
    if messages or request.summary:
        index.add(request.id, request.id)
        yield replace(request, replaced_messages=messages)


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


def _knowledge(extras: JsonValue) -> Iterator[str]:
    for name in ("repo_instructions", "additional_agent_instructions"):
        if words := extras.text(name):
            yield words
    for knowledge in extras.objects("microagent_knowledge"):
        yield knowledge.text("content") or knowledge.as_text()
