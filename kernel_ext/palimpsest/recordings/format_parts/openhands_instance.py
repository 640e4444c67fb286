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
"""Maximum delegates that are read for one session, including delegates of delegates."""
MAX_LEVELS = 8
"""Maximum levels of delegates that are read."""
TOO_MANY_SENTENCE = "{count:,} events of subagents that are too many, or too deep, were left out."


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
        lambda place_inside, sentence: report(
            ", ".join(piece for piece in (place, place_inside) if piece), sentence
        ),
    )
    if not events:
        report(place, "The instance has no history.")


def event_session(
    events: Sequence[JsonValue], begin: SessionBegin, metrics: JsonValue, report: Report
) -> Iterator[Recorded]:
    """Yield the session of a list of events, with the usage in ``metrics``, then the sessions of its delegates."""
    system_event = next((event for event in events if event.get("action") == "system"), NO_VALUE)
    request_by_response = reported_requests(metrics)
    first_event = events[0] if events else NO_VALUE
    yield replace(
        begin,
        created=first_event.milliseconds("timestamp"),
        window=next(
            (request.window for request in request_by_response.values() if request.window), None
        ),
        system=system_event.text("args", "content") or None,
        tools=system_event.tool_specs("args", "tools"),
    )
    reader = InstanceEvents(request_by_response, begin.model, frozenset(map(response_id, events)))
    sessions = _AgentSessions(reader, begin)
    for event in events:
        yield from sessions.read_event(event)
    if metrics.list_at("condenser") and not sessions.has_condensed:
        yield GapRead(CONDENSED_SENTENCE)
    yield from chain.from_iterable(sessions.delegate_values)
    if sessions.left_out_count:
        report("", TOO_MANY_SENTENCE.format(count=sessions.left_out_count))


@dataclass(slots=True)
class _AgentSession:
    """A running agent's session, with the values that were read of it so far."""

    reader: InstanceEvents
    id: str
    values: list[Recorded]

    def add(self, event: JsonValue, values: Iterable[Recorded]) -> None:
        """Add an event's values; system prompt and tools are stored in the session's first value."""
        begin = self.values[0]
        if event.get("action") == "system" and isinstance(begin, SessionBegin):
            self.values[0] = replace(
                begin,
                system=event.text("args", "content") or None,
                tools=event.tool_specs("args", "tools"),
            )
        self.values += values


class _AgentSessions:
    """Passes events to the first agent or a delegate; stores delegates' values until the first agent's were yielded."""

    def __init__(self, reader: InstanceEvents, begin: SessionBegin) -> None:
        self._running = [_AgentSession(reader, begin.id, [])]
        self._session_begin = begin
        self.delegate_values: list[list[Recorded]] = []
        """The values of each delegate's session, in the order in which they were started."""
        self.left_out_count = 0
        """Number of events that were left out, of delegates that are too deep or too many."""
        self.has_condensed = False
        self._skipped_delegates = 0
        """Number of running delegates that are too deep or too many."""

    def read_event(self, event: JsonValue) -> Iterator[Recorded]:
        """Yield an event's values if it is the first agent's; store those of a delegate."""
        if event.get("observation") == DELEGATE_TOOL:
            self._end_delegate()
        if self._skipped_delegates:
            self.left_out_count += 1
        else:
            agent = self._running[-1]
            values = agent.reader.read_event(event)
            if agent is self._running[0]:
                yield from values
            else:
                agent.add(event, values)
            self.has_condensed = self.has_condensed or agent.reader.condensation_count > 0
        if event.get("action") == DELEGATE_TOOL:
            self._begin_delegate(event)

    def _begin_delegate(self, event: JsonValue) -> None:
        level, parent = len(self._running), self._running[-1]
        if (
            self._skipped_delegates
            or level > MAX_LEVELS
            or len(self.delegate_values) >= MAX_DELEGATES
        ):
            self._skipped_delegates += 1
            return
        session_id = f"{self._session_begin.id}/{len(self.delegate_values) + 1}"
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
            parent_call=parent.reader.call_id_of(event),
        )
        delegate = _AgentSession(reader, session_id, [begin])
        self.delegate_values.append(delegate.values)
        self._running.append(delegate)

    def _end_delegate(self) -> None:
        if self._skipped_delegates:
            self._skipped_delegates -= 1
        elif len(self._running) > 1:
            delegate = self._running.pop()
            self._running[-1].reader.position = delegate.reader.position
