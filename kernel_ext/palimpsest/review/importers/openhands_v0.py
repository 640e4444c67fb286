"""Read evaluation outputs of OpenHands before its SDK: one instance a line, each with its events.

Several events stem from one answer of the model: they carry the same ``response_id``. What an event says about
the answer is the whole response, so its text and calls are taken from there, and its usage from the
metrics. A cost of 0 is what the program writes for models whose price it does not know.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

from palimpsest.review.importing.json_fields import JsonValue, media_at, usage_of_whole_prompt
from palimpsest.review.importing.recorded import (
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
MOST_RANGE = 1_000_000
RULE = "openhands.condenser"


@dataclass(frozen=True, slots=True)
class ReportedRequest:
    """What the metrics of OpenHands say about one request."""

    usage: Usage | None
    cost: float | None = None
    window: int | None = None
    model: str = ""


def reported_requests(metrics: JsonValue) -> dict[str, ReportedRequest]:
    """Return what the metrics say, by the id of the response; costs belong to usages where they are as many."""
    usages = metrics.objects("token_usages")
    costs = metrics.objects("costs")
    found: dict[str, ReportedRequest] = {}
    for n, told in enumerate(usages):
        found[told.id("response_id")] = ReportedRequest(
            usage_of_whole_prompt(
                told.tokens("prompt_tokens"),
                told.tokens("completion_tokens"),
                read=told.tokens("cache_read_tokens"),
                written=told.tokens("cache_write_tokens"),
                reasoning=told.tokens("reasoning_tokens"),
            ),
            costs[n].cost("cost") if len(costs) == len(usages) else None,
            told.count("context_window") or None,
            told.text("model"),
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

    def told(self, event: JsonValue) -> Iterator[Recorded]:
        """Yield what an event becomes."""
        self.count += 1
        name = event.id("id") or f"e{self.count}"
        name = f"{name}#{self.count}" if name in self.index.messages else name
        action, observation = event.text("action"), event.text("observation")
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

    def _from_user(self, event: JsonValue, name: str) -> MessageRead:
        self.index.add(name, name)
        said = event.text("args", "content") or event.text("message")
        pictures = event.listed("args", "image_urls")
        media = tuple(media_at(one, "image/png") for one in pictures if isinstance(one, str))
        return MessageRead(
            name,
            "user",
            ((Text(said),) if said else ()) + media,
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
        message = response.first("choices").at("message")
        if message:
            said = message.text("content") or _thought(event)
            calls = [_call(one) for one in message.objects("tool_calls")]
        else:
            said = _thought(event) if action != "message" else event.text("args", "content")
            said = said or (event.text("message") if action == "message" else "")
            own = Call(f"call-{name}", action, event.fields("args"))
            calls = [] if action == "message" else [own]
        calls = [replace(call, id=self._own_id(call.id)) for call in calls]
        for call in calls:
            self.index.callers[call.id] = name
        usage = _response_usage(response.at("usage"))
        about = self.reported.get(self._reported_as(key), ReportedRequest(usage))
        yield MessageRead(
            name,
            "assistant",
            (*([Text(said)] if said else []), *calls),
            event.milliseconds("timestamp"),
            model=about.model or self.model or response.text("model"),
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

    def call_of(self, event: JsonValue) -> str | None:
        """Return the call that an action stands for."""
        named = event.id("tool_call_metadata", "tool_call_id")
        return self.calls.get(named or f"call-{event.id('id')}")

    def _own_id(self, recorded: str) -> str:
        """Return an id that no other call of the session has."""
        own = f"{recorded}#{self.count}" if recorded in self.calls else recorded
        self.calls[recorded] = own
        return own

    def _observation(self, event: JsonValue, name: str, kind: str) -> Iterator[Recorded]:
        output = event.text("content") or event.text("message")
        call = event.id("tool_call_metadata", "tool_call_id")
        call = self.calls.get(call or f"call-{event.id('cause')}", "")
        at = event.milliseconds("timestamp")
        if call in self.index.callers:
            self.index.results[name] = call
            code = event.get("extras", "metadata", "exit_code")
            known = isinstance(code, int) and not isinstance(code, bool)
            yield ResultRead(
                call,
                output,
                is_error=kind == "error" or event.get("extras", "error") is True,
                ended=at,
                metadata={"exit_code": code} if known and abs(code) < MOST_RANGE else {},
            )
        elif kind == "recall" or output:
            recalled = _recalled(event.at("extras")) if kind == "recall" else ()
            told = "\n\n".join(recalled) or output
            self.index.add(name, name)
            yield MessageRead(name, "user", (Text(told, synthetic=True),), at, by_program=True)

    def _condensation(self, event: JsonValue, name: str) -> Iterator[Recorded]:
        self.condensations += 1
        args = event.at("args")
        first, last = (args.count(f"forgotten_events_{one}_id") for one in ("start", "end"))
        events = [str(n) for n in range(first, min(last, first + MOST_RANGE) + 1)]
        if isinstance(args.get("forgotten_event_ids"), list):
            events = [JsonValue(one).id() for one in args.listed("forgotten_event_ids")]
        yield from forgotten_events(
            self.index,
            events,
            CompactionRead(
                f"c-{name}",
                args.text("summary"),
                created=event.milliseconds("timestamp"),
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


def response_id(event: JsonValue) -> str:
    """Return the response that an event came from; empty where it names none."""
    return event.id("tool_call_metadata", "model_response", "id")


def _thought(event: JsonValue) -> str:
    return event.text("args", "thought")


def _call(value: JsonValue) -> Call:
    function = value.at("function")
    name = function.text("name") or "unknown"
    return Call(value.id("id"), name, function.tool_input("arguments"))


def _response_usage(told: JsonValue) -> Usage | None:
    read = told.tokens("prompt_tokens_details", "cached_tokens")
    return usage_of_whole_prompt(
        told.tokens("prompt_tokens"),
        told.tokens("completion_tokens"),
        read=read or told.tokens("cache_read_input_tokens"),
        written=told.tokens("cache_creation_input_tokens"),
        reasoning=told.tokens("completion_tokens_details", "reasoning_tokens"),
    )


def _recalled(extras: JsonValue) -> Iterator[str]:
    for name in ("repo_instructions", "additional_agent_instructions"):
        if found := extras.text(name):
            yield found
    for one in extras.objects("microagent_knowledge"):
        yield one.text("content") or one.plain()
