"""Find when decisions were made: the turn, the first step to which they apply, and the time.

The time of a decision is that of its record in the journal. The order is the journal's.
"""

from collections.abc import Iterable, Set

from palimpsest.context.compaction.summary_request import COMPACT_RULE as COMPACT
from palimpsest.review.context_report.window_contents import DecisionTime
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.messages import UserMessage
from palimpsest.transcript.session_record.events import (
    DecisionMade,
    MessageUpdated,
    Record,
    StepRequested,
)

EVENT_TYPES = ("message.updated", "step.requested", "decision")
"""The types of records that are read."""
AT_ONCE = frozenset({"truncate"})
"""Rules that decide when a tool ends: their step is the step that ran the tool."""


def decision_times(records: Iterable[Record], decision_ids: Set[str]) -> dict[str, DecisionTime]:
    """Return the time at which each of these decisions was made."""
    clock = _Clock(decision_ids)
    for record in records:
        clock.add(record)
    return clock.times


class _Clock:
    """Finds the times of decisions: counts turns and steps while the journal's records are added."""

    def __init__(self, decision_ids: Set[str]) -> None:
        self.times: dict[str, DecisionTime] = {}
        self._decision_ids = decision_ids
        self._turn = 0
        self._step = 0
        self._turn_message = ""
        """The newest message that began a turn."""
        self._steps_before = 0
        """Number of steps of the turn before it."""
        self._known_messages: set[str] = set()
        self._without_step: list[str] = []

    def add(self, record: Record) -> None:
        """Add the next record."""
        match record.event:
            case MessageUpdated(info=UserMessage() as info) if info.id not in self._known_messages:
                self._known_messages.add(info.id)
                if not info.by_engine and not info.joins:
                    self._turn_message, self._steps_before = info.id, self._step
                    self._turn, self._step = self._turn + 1, 0
                    self._without_step.clear()
            case StepRequested(request=request) if request.purpose == "step":
                self._step += 1
                for name in self._without_step:
                    known_time = self.times[name]
                    self.times[name] = DecisionTime(known_time.time, self._turn, self._step)
                self._without_step.clear()
            case DecisionMade(decision=decision):
                self._add_decision(decision, record.ts)
            case _:
                pass

    def _add_decision(self, decision: Decision, time: int) -> None:
        is_compaction = decision.rule == COMPACT and self._turn_message != ""
        if is_compaction and decision.message_id == self._turn_message:
            # Do not count a turn whose first message was the user's request for a compaction.
            self._turn_message = ""
            self._turn, self._step = self._turn - 1, self._steps_before
        if decision.id not in self._decision_ids:
            return
        step = self._step if decision.rule in AT_ONCE else None
        self.times[decision.id] = DecisionTime(time, self._turn, step)
        if step is None:
            self._without_step.append(decision.id)
