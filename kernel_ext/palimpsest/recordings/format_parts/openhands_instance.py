"""Read the sessions of OpenHands from before its SDK (V0): one instance of an evaluation, and a list of events.

The events of a delegate come between the action that started it and the observation with its result; they become a
separate session.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from palimpsest.recordings.format_parts.openhands_v0 import (
    InstanceEvents,
    reported_requests,
    response_id,
)
from palimpsest.recordings.reading.importer import Report
from palimpsest.recordings.reading.json_fields import NO_VALUE, JsonValue
from palimpsest.recordings.reading.recorded import GapRead, Recorded, SessionBegin

CONDENSED_SENTENCE = (
    "A condenser shortened the history; which messages it left out is not recorded."
)
DELEGATE_TOOL = "delegate"
MAX_DELEGATES = 200
MAX_LEVELS = 8
TOO_MANY = "{count:,} events of subagents that are too many, or too deep, were left out."


def instance_session(instance: JsonValue, place: str, report: Report) -> Iterator[Recorded]:
    """Yield the session of one instance of an evaluation's output."""
    # The oldest outputs contain pairs of an action and its observation.
    entries = (
        entry if isinstance(entry, list) else [entry] for entry in instance.list_at("history")
    )
    events = JsonValue([*chain.from_iterable(entries)]).objects()
    yield from event_session(
        events,
        SessionBegin(
            instance.id("instance_id") or place,
            "openhands",
            format_version="v0",
            title=instance.id("instance_id"),
            model=instance.text("metadata", "llm_config", "model"),
        ),
        instance.at("metrics"),
        lambda where, what: report(", ".join(word for word in (place, where) if word), what),
    )
    if not events:
        report(place, "The instance has no history.")


def event_session(
    events: Sequence[JsonValue], begin: SessionBegin, metrics: JsonValue, report: Report
) -> Iterator[Recorded]:
    """Yield the session of a list of events, with the usage in ``metrics``, then the sessions of its delegates."""
    system = next((event for event in events if event.get("action") == "system"), NO_VALUE)
    requests = reported_requests(metrics)
    first = events[0] if events else NO_VALUE
    yield replace(
        begin,
        created=first.milliseconds("timestamp"),
        window=next((request.window for request in requests.values() if request.window), None),
        system=system.text("args", "content") or None,
        tools=system.tool_specs("args", "tools"),
    )
    reader = InstanceEvents(requests, begin.model, frozenset(map(response_id, events)))
    delegates = _Delegates(reader, begin)
    for event in events:
        yield from delegates.records(event)
    if metrics.list_at("condenser") and not delegates.condensed:
        yield GapRead(CONDENSED_SENTENCE)
    yield from chain.from_iterable(delegates.sessions)
    if delegates.left_out:
        report("", TOO_MANY.format(count=delegates.left_out))


@dataclass(slots=True)
class _Delegate:
    """A running agent, with the values that were read from it so far."""

    reader: InstanceEvents
    id: str
    values: list[Recorded]

    def add(self, event: JsonValue, records: Iterable[Recorded]) -> None:
        """Add an event's values; system prompt and tools are stored in the session's first value."""
        first = self.values[0]
        if event.get("action") == "system" and isinstance(first, SessionBegin):
            self.values[0] = replace(
                first,
                system=event.text("args", "content") or None,
                tools=event.tool_specs("args", "tools"),
            )
        self.values += records


class _Delegates:
    """Passes each event to its delegate or agent; stores a delegate's values until its parent's values were yielded."""

    def __init__(self, reader: InstanceEvents, begin: SessionBegin) -> None:
        self._active = [_Delegate(reader, begin.id, [])]
        self._session_begin = begin
        self.sessions: list[list[Recorded]] = []
        """The values of each delegate's session, in the order in which they were started."""
        self.left_out = 0
        """Number of events that were left out, of delegates that are too deep or too many."""
        self.condensed = False
        self._skipped = 0
        """Number of running delegates that are too deep or too many."""

    def records(self, event: JsonValue) -> Iterator[Recorded]:
        """Yield an event's values if it is the first agent's; store those of a delegate."""
        if event.get("observation") == DELEGATE_TOOL:
            self._end()
        if self._skipped:
            self.left_out += 1
        else:
            agent = self._active[-1]
            values = agent.reader.records(event)
            if agent is self._active[0]:
                yield from values
            else:
                agent.add(event, values)
            self.condensed = self.condensed or agent.reader.condensations > 0
        if event.get("action") == DELEGATE_TOOL:
            self._begin_delegate(event)

    def _begin_delegate(self, event: JsonValue) -> None:
        level, parent = len(self._active), self._active[-1]
        if self._skipped or level > MAX_LEVELS or len(self.sessions) >= MAX_DELEGATES:
            self._skipped += 1
            return
        session_id = f"{self._session_begin.id}/{len(self.sessions) + 1}"
        reader = InstanceEvents(
            parent.reader.reported_requests,
            parent.reader.model,
            parent.reader.response_ids,
            parent.reader.position,
        )
        begin = replace(
            self._session_begin,
            id=session_id,
            title=event.text("args", "agent"),
            created=event.milliseconds("timestamp"),
            parent=parent.id,
            parent_call=parent.reader.call_of(event),
        )
        child = _Delegate(reader, session_id, [begin])
        self.sessions.append(child.values)
        self._active.append(child)

    def _end(self) -> None:
        if self._skipped:
            self._skipped -= 1
        elif len(self._active) > 1:
            child = self._active.pop()
            self._active[-1].reader.position = child.reader.position
