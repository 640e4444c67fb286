"""Read evaluation outputs of OpenHands before its SDK: one instance a line, each with its events.

Several events stem from one answer of the model: they carry the same ``response_id``. What an event says about
the answer is the whole response, so its text and calls are taken from there, and its usage from the
metrics. A cost of 0 is what the program writes for models whose price it does not know.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from palimpsest.review.importing.json_fields import (
    cost_field,
    count,
    identifier,
    inner,
    listed,
    mapping,
    mappings,
    media_at,
    milliseconds,
    plain,
    text,
    tokens,
    tool_input,
    usage_of_whole_prompt,
)
from palimpsest.review.importing.recorded import (
    Call,
    CompactionRead,
    Json,
    MessageRead,
    Recorded,
    ReducedRead,
    ResultRead,
    Text,
)
from palimpsest.transcript.values import Usage

NOT_FOR_THE_MODEL = {"null", "agent_state_changed", "change_agent_state", "pause", "start"}
MOST_RANGE = 1_000_000
RULE = "openhands.condenser"


@dataclass(frozen=True, slots=True)
class ReportedRequest:
    """What the metrics of OpenHands say about one request."""

    usage: Usage | None
    cost: float | None = None
    window: int | None = None
    model: str = ""


def reported_requests(metrics: Any) -> dict[str, ReportedRequest]:
    """Return what the metrics say, by the id of the response; costs belong to usages where they are as many."""
    usages = mappings(mapping(metrics).get("token_usages"))
    costs = mappings(mapping(metrics).get("costs"))
    found: dict[str, ReportedRequest] = {}
    for n, told in enumerate(usages):
        found[identifier(told.get("response_id"))] = ReportedRequest(
            usage_of_whole_prompt(
                tokens(told, "prompt_tokens"),
                tokens(told, "completion_tokens"),
                read=tokens(told, "cache_read_tokens"),
                written=tokens(told, "cache_write_tokens"),
                reasoning=tokens(told, "reasoning_tokens"),
            ),
            cost_field(costs[n], "cost") if len(costs) == len(usages) else None,
            count(told.get("context_window")) or None,
            text(told.get("model")),
        )
    found.pop("", None)
    return found


@dataclass(slots=True)
class EventIndex:
    """Which message or result each event became, so that forgotten events can be named."""

    messages: dict[str, str] = field(default_factory=dict)
    events: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """The events of a message."""
    results: dict[str, str] = field(default_factory=dict)
    """The call whose result an event became."""
    callers: dict[str, str] = field(default_factory=dict)
    """The message that made a call."""
    order: dict[str, int] = field(default_factory=dict)

    def add(self, event: str, message: str) -> None:
        """Note that an event became a message, or a part of one."""
        self.messages[event] = message
        self.events[message].append(event)
        self.order.setdefault(message, len(self.order))

    def forgotten(self, events: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the messages all of whose events are forgotten, and the calls that lose only their result."""
        gone = dict.fromkeys(events)
        touched = dict.fromkeys(self.messages[one] for one in gone if one in self.messages)
        lost = {
            message: None
            for message in sorted(touched, key=self.order.__getitem__)
            if all(one in gone for one in self.events[message])
        }
        calls = dict.fromkeys(self.results[one] for one in gone if one in self.results)
        return tuple(lost), tuple(one for one in calls if self.callers.get(one, "") not in lost)


@dataclass(slots=True)
class InstanceEvents:
    """Joins the events of one instance to messages."""

    reported: dict[str, ReportedRequest]
    model: str
    named: frozenset[str]
    """The responses that some event names."""
    position: int = 0
    """How many of the reported requests were told, or passed."""
    index: EventIndex = field(default_factory=EventIndex)
    responses: dict[str, str] = field(default_factory=dict)
    """The message that each response became."""
    calls: dict[str, str] = field(default_factory=dict)
    """The last call with a recorded id; programs that number calls themselves begin anew."""
    order: list[str] = field(init=False)
    """The responses in the order of their reports."""
    places: dict[str, int] = field(init=False)
    """At which place of the reports each response stands."""
    condensations: int = 0
    asked: bool = False
    """A person asked for the next condensation."""
    count: int = 0

    def __post_init__(self) -> None:
        self.order = list(self.reported)
        self.places = {one: n for n, one in enumerate(self.order)}

    def told(self, event: Json) -> Iterator[Recorded]:
        """Yield what an event becomes."""
        self.count += 1
        name = identifier(event.get("id")) or f"e{self.count}"
        name = f"{name}#{self.count}" if name in self.index.messages else name
        action, observation = text(event.get("action")), text(event.get("observation"))
        if action in NOT_FOR_THE_MODEL or observation in NOT_FOR_THE_MODEL or action == "system":
            return
        if action == "condensation":
            yield from self._condensation(event, name)
        elif action == "condensation_request":
            self.asked = True
        elif action == "recall":
            return  # what was recalled follows as its observation
        elif action and event.get("source") != "agent":
            yield self._from_user(event, name)
        elif action:
            yield from self._from_agent(event, name, action)
        elif observation:
            yield from self._observation(event, name, observation)

    def _from_user(self, event: Json, name: str) -> MessageRead:
        self.index.add(name, name)
        said = text(inner(event, "args", "content")) or text(event.get("message"))
        pictures = listed(inner(event, "args", "image_urls"))
        media = tuple(media_at(one, "image/png") for one in pictures if isinstance(one, str))
        return MessageRead(
            name,
            "user",
            ((Text(said),) if said else ()) + media,
            milliseconds(event.get("timestamp")),
            by_program=event.get("source") != "user",
        )

    def _from_agent(self, event: Json, name: str, action: str) -> Iterator[Recorded]:
        response = mapping(inner(event, "tool_call_metadata", "model_response"))
        key = response_id(event)
        if key and key in self.responses:
            self.index.add(name, self.responses[key])
            return
        self.index.add(name, name)
        if key:
            self.responses[key] = name
        message = mapping(next(iter(mappings(response.get("choices"))), {}).get("message"))
        if message:
            said = text(message.get("content")) or _thought(event)
            calls = [_call(one) for one in mappings(message.get("tool_calls"))]
        else:
            said = _thought(event) if action != "message" else text(inner(event, "args", "content"))
            said = said or (text(event.get("message")) if action == "message" else "")
            given = mapping(event.get("args"))
            calls = [] if action == "message" else [Call(f"call-{name}", action, given)]
        calls = [replace(call, id=self._own_id(call.id)) for call in calls]
        for call in calls:
            self.index.callers[call.id] = name
        usage = _response_usage(response.get("usage"))
        about = self.reported.get(self._reported_as(key), ReportedRequest(usage))
        yield MessageRead(
            name,
            "assistant",
            (*([Text(said)] if said else []), *calls),
            milliseconds(event.get("timestamp")),
            model=about.model or self.model or text(response.get("model")),
            usage=about.usage,
            cost=about.cost,
            finish="tool-calls" if calls else "stop",
        )

    def _reported_as(self, key: str) -> str:
        """Return the response under which a request was reported.

        An event without calls does not name it; it is the only report between those of its neighbours.
        """
        unnamed = list[str]()
        for one in islice(self.order, self.position, self.position + 2):
            if key or one in self.named:
                break
            unnamed.append(one)
        if key in self.places:
            self.position = self.places[key] + 1
        elif len(unnamed) == 1:
            self.position += 1
            return unnamed[0]
        return key

    def call_of(self, event: Json) -> str | None:
        """Return the call that an action stands for."""
        named = identifier(inner(event, "tool_call_metadata", "tool_call_id"))
        return self.calls.get(named or f"call-{identifier(event.get('id'))}")

    def _own_id(self, recorded: str) -> str:
        """Return an id that no other call of the session has."""
        own = f"{recorded}#{self.count}" if recorded in self.calls else recorded
        self.calls[recorded] = own
        return own

    def _observation(self, event: Json, name: str, kind: str) -> Iterator[Recorded]:
        output = text(event.get("content")) or text(event.get("message"))
        call = identifier(inner(event, "tool_call_metadata", "tool_call_id"))
        call = self.calls.get(call or f"call-{identifier(event.get('cause'))}", "")
        at = milliseconds(event.get("timestamp"))
        if call in self.index.callers:
            self.index.results[name] = call
            code = inner(event, "extras", "metadata", "exit_code")
            known = isinstance(code, int) and not isinstance(code, bool)
            yield ResultRead(
                call,
                output,
                is_error=kind == "error" or inner(event, "extras", "error") is True,
                ended=at,
                metadata={"exit_code": code} if known and abs(code) < MOST_RANGE else {},
            )
        elif kind == "recall":
            told = "\n\n".join(_recalled(mapping(event.get("extras")))) or output
            self.index.add(name, name)
            yield MessageRead(name, "user", (Text(told, synthetic=True),), at, by_program=True)
        elif output:
            self.index.add(name, name)
            yield MessageRead(name, "user", (Text(output, synthetic=True),), at, by_program=True)

    def _condensation(self, event: Json, name: str) -> Iterator[Recorded]:
        self.condensations += 1
        args = mapping(event.get("args"))
        forgotten = args.get("forgotten_event_ids")
        if isinstance(forgotten, list):
            events = [identifier(one) for one in forgotten]
        else:
            first, last = (
                count(args.get("forgotten_events_start_id")),
                count(args.get("forgotten_events_end_id")),
            )
            events = [str(n) for n in range(first, min(last, first + MOST_RANGE) + 1)]
        yield from forgotten_events(
            self.index,
            events,
            CompactionRead(
                f"c-{name}",
                text(args.get("summary")),
                created=milliseconds(event.get("timestamp")),
                auto=not self.asked,
            ),
        )
        self.asked = False


def forgotten_events(
    index: EventIndex, events: Iterable[str], about: CompactionRead
) -> Iterator[Recorded]:
    """Yield a condensation with exactly the messages that it replaced, and the results that it left out alone."""
    messages, calls = index.forgotten(events)
    for call in calls:
        yield ReducedRead(call, "", rule=RULE)
    if messages or about.summary:
        index.add(about.id, about.id)
        yield replace(about, replaced=messages)


def response_id(event: Json) -> str:
    """Return the response that an event came from; empty where it names none."""
    return identifier(inner(event, "tool_call_metadata", "model_response", "id"))


def _thought(event: Json) -> str:
    return text(inner(event, "args", "thought"))


def _call(value: Json) -> Call:
    function = mapping(value.get("function"))
    return Call(
        identifier(value.get("id")),
        text(function.get("name")) or "unknown",
        tool_input(function.get("arguments")),
    )


def _response_usage(value: Any) -> Usage | None:
    told = mapping(value)
    read = tokens(told, "prompt_tokens_details", "cached_tokens")
    return usage_of_whole_prompt(
        tokens(told, "prompt_tokens"),
        tokens(told, "completion_tokens"),
        read=read or tokens(told, "cache_read_input_tokens"),
        written=tokens(told, "cache_creation_input_tokens"),
        reasoning=tokens(told, "completion_tokens_details", "reasoning_tokens"),
    )


def _recalled(extras: Json) -> Iterator[str]:
    for name in ("repo_instructions", "additional_agent_instructions"):
        if found := text(extras.get(name)):
            yield found
    for one in mappings(extras.get("microagent_knowledge")):
        yield text(one.get("content")) or plain(one)
