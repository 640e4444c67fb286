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
"""The types of the records that ``decision_times`` needs."""
AT_ONCE_RULES = frozenset({"truncate"})
"""Rules that decide when a tool ends: their step is the step that ran the tool."""


def decision_times(records: Iterable[Record], decision_ids: Set[str]) -> dict[str, DecisionTime]:
    """Return the time of each of these decisions, by its id."""
    clock = _DecisionClock(decision_ids)
    for record in records:
        clock.add(record)
    return clock.times


class _DecisionClock:
    """Finds the times of decisions: counts turns and steps while the journal's records are added."""

    def __init__(self, decision_ids: Set[str]) -> None:
        self.times: dict[str, DecisionTime] = {}
        self._decision_ids = decision_ids
        self._turn_count = 0
        self._step_count = 0
        self._turn_message_id = ""
        """Id of the newest message that began a turn; empty before any."""
        self._steps_before = 0
        """Number of steps in the turn before that of this message."""
        self._known_message_ids: set[str] = set()
        self._ids_without_step: list[str] = []

    def add(self, record: Record) -> None:
        """Add the next record."""
        match record.event:
            case MessageUpdated(info=UserMessage() as info) if (
                info.id not in self._known_message_ids
            ):
                self._known_message_ids.add(info.id)
                if not info.by_engine and not info.joins:
                    self._turn_message_id, self._steps_before = info.id, self._step_count
                    self._turn_count, self._step_count = self._turn_count + 1, 0
                    self._ids_without_step.clear()
            case StepRequested(request=request) if request.purpose == "step":
                self._step_count += 1
                for decision_id in self._ids_without_step:
                    known_time = self.times[decision_id]
                    self.times[decision_id] = DecisionTime(
                        known_time.time, self._turn_count, self._step_count
                    )
                self._ids_without_step.clear()
            case DecisionMade(decision=decision):
                self._add_decision(decision, record.ts)
            case _:
                pass

    def _add_decision(self, decision: Decision, time_ms: int) -> None:
        is_compaction = decision.rule == COMPACT and self._turn_message_id != ""
        if is_compaction and decision.message_id == self._turn_message_id:
            # Do not count a turn whose first message was the user's request for a compaction.
            self._turn_message_id = ""
            self._turn_count, self._step_count = self._turn_count - 1, self._steps_before
        if decision.id not in self._decision_ids:
            return
        step = self._step_count if decision.rule in AT_ONCE_RULES else None
        self.times[decision.id] = DecisionTime(time_ms, self._turn_count, step)
        if step is None:
            self._ids_without_step.append(decision.id)
