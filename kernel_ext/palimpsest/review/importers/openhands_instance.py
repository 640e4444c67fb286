"""Read the sessions of OpenHands from before its SDK (V0): one instance of an evaluation, and a list of events.

The events of a delegate stand between the action that began it and the observation that brings its result; they
become a session of their own.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from palimpsest.review.importers.openhands_v0 import (
    InstanceEvents,
    reported_requests,
    response_id,
)
from palimpsest.review.importing.importer import Report
from palimpsest.review.importing.json_fields import NOTHING, JsonValue
from palimpsest.review.importing.recorded import GapRead, Recorded, SessionBegin

CONDENSED = "A condenser shortened the history; which messages it left out is not recorded."
DELEGATE = "delegate"
MOST_DELEGATES = 200
MOST_LEVELS = 8
TOO_MANY = "{count:,} events of subagents that are too many, or too deep, were left out."


def instance_session(instance: JsonValue, place: str, report: Report) -> Iterator[Recorded]:
    """Yield the session of one instance of an evaluation's output."""
    events = JsonValue([*_flat(instance.listed("history"))]).objects()
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
        lambda where, what: report(", ".join(one for one in (place, where) if one), what),
    )
    if not events:
        report(place, "The instance has no history.")


def _flat(history: list[Any]) -> Iterator[Any]:
    """Yield the events of a history; the oldest outputs hold pairs of an action and its observation."""
    for one in history:
        yield from one if isinstance(one, list) else [one]


def event_session(
    events: Sequence[JsonValue], begins: SessionBegin, metrics: JsonValue, report: Report
) -> Iterator[Recorded]:
    """Yield the session of a list of events, then those of its delegates.

    What the metrics report is looked up by the response's id.
    """
    system = next((one for one in events if one.get("action") == "system"), NOTHING)
    told = reported_requests(metrics)
    first = events[0] if events else NOTHING
    yield replace(
        begins,
        created=first.milliseconds("timestamp"),
        window=next((one.window for one in told.values() if one.window), None),
        system=system.text("args", "content") or None,
        tools=system.tool_specs("args", "tools"),
    )
    named = frozenset(map(response_id, events))
    reader = InstanceEvents(told, begins.model, named)
    delegates = _Delegates(reader, begins)
    for event in events:
        yield from delegates.told(event)
    if metrics.listed("condenser") and not delegates.condensed:
        yield GapRead(CONDENSED)
    for one in delegates.ended:
        yield from one
    if delegates.left_out:
        report("", TOO_MANY.format(count=delegates.left_out))


@dataclass(slots=True)
class _Delegate:
    """An agent at work, with what it said so far."""

    reader: InstanceEvents
    id: str
    values: list[Recorded]

    def take(self, event: JsonValue, made: Iterable[Recorded]) -> None:
        """Keep what an event became; the system prompt and the tools belong to the session's beginning."""
        begin = self.values[0]
        if event.get("action") == "system" and isinstance(begin, SessionBegin):
            self.values[0] = replace(
                begin,
                system=event.text("args", "content") or None,
                tools=event.tool_specs("args", "tools"),
            )
        self.values += made


class _Delegates:
    """Tells the events of delegates apart, which stand in the stream of the agent that they work for.

    Responsibilities: hand each event to the agent whose it is; keep those of a delegate until its parent is told.
    """

    def __init__(self, reader: InstanceEvents, begins: SessionBegin) -> None:
        self._at_work = [_Delegate(reader, begins.id, [])]
        self._begins = begins
        self.ended: list[list[Recorded]] = []
        """What is known of each delegate, in the order in which they were begun."""
        self.left_out = 0
        """Events of delegates that are too deep or too many."""
        self.condensed = False
        self._passed = 0
        """Delegates at work whose events are left out."""

    def told(self, event: JsonValue) -> Iterator[Recorded]:
        """Yield what an event of the first agent becomes."""
        if event.get("observation") == DELEGATE:
            self._end()
        if self._passed:
            self.left_out += 1
        else:
            at = self._at_work[-1]
            made = at.reader.told(event)
            if at is self._at_work[0]:
                yield from made
            else:
                at.take(event, made)
            self.condensed = self.condensed or at.reader.condensations > 0
        if event.get("action") == DELEGATE:
            self._begin(event)

    def _begin(self, event: JsonValue) -> None:
        level, parent = len(self._at_work), self._at_work[-1]
        if self._passed or level > MOST_LEVELS or len(self.ended) >= MOST_DELEGATES:
            self._passed += 1
            return
        name = f"{self._begins.id}/{len(self.ended) + 1}"
        reader = InstanceEvents(
            parent.reader.reported, parent.reader.model, parent.reader.named, parent.reader.position
        )
        begin = SessionBegin(
            name,
            self._begins.format,
            format_version=self._begins.format_version,
            title=event.text("args", "agent"),
            created=event.milliseconds("timestamp"),
            model=self._begins.model,
            parent=parent.id,
            parent_call=parent.reader.call_of(event),
        )
        child = _Delegate(reader, name, [begin])
        self.ended.append(child.values)
        self._at_work.append(child)

    def _end(self) -> None:
        if self._passed:
            self._passed -= 1
        elif len(self._at_work) > 1:
            child = self._at_work.pop()
            self._at_work[-1].reader.position = child.reader.position
