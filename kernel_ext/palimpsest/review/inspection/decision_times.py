"""Find when decisions were made: the turn, the first step that they hold for, and the time.

A decision itself has no time; its record in the journal does. The order is the journal's.
"""

from collections.abc import Iterable, Set

from palimpsest.context.compaction.summary_request import RULE as COMPACT
from palimpsest.review.inspection.window_contents import DecisionTime
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.messages import UserMessage
from palimpsest.transcript.session_record.events import (
    DecisionMade,
    MessageUpdated,
    Record,
    StepRequested,
)

TYPES = ("message.updated", "step.requested", "decision")
"""The types of records that are read."""

AT_ONCE = frozenset({"truncate"})
"""Rules that decide when a tool ends: the step is the one that ran it."""


def decision_times(records: Iterable[Record], wanted: Set[str]) -> dict[str, DecisionTime]:
    """Return when each of these decisions was made."""
    clock = _Clock(wanted)
    for record in records:
        clock.take(record)
    return clock.found


class _Clock:
    """Counts turns and steps while records of the journal are read."""

    def __init__(self, wanted: Set[str]) -> None:
        self.found: dict[str, DecisionTime] = {}
        self._wanted = wanted
        self._turn = 0
        self._step = 0
        self._began = ""
        """The newest message that began a turn."""
        self._steps_before = 0
        """The steps of the turn before it."""
        self._known: set[str] = set()
        self._waiting: list[str] = []

    def take(self, record: Record) -> None:
        """Process one record."""
        match record.event:
            case MessageUpdated(info=UserMessage() as info) if info.id not in self._known:
                self._known.add(info.id)
                if not info.by_engine and not info.joins:
                    self._began, self._steps_before = info.id, self._step
                    self._turn, self._step = self._turn + 1, 0
                    self._waiting.clear()
            case StepRequested(request=request) if request.purpose == "step":
                self._step += 1
                for name in self._waiting:
                    made = self.found[name]
                    self.found[name] = DecisionTime(made.time, self._turn, self._step)
                self._waiting.clear()
            case DecisionMade(decision=decision):
                self._decided(decision, record.ts)
            case _:
                pass

    def _decided(self, decision: Decision, time: int) -> None:
        if decision.rule == COMPACT and self._began and decision.message_id == self._began:
            # Uncount a turn: the message that began it was the user's request for a compaction.
            self._began = ""
            self._turn, self._step = self._turn - 1, self._steps_before
        if decision.id not in self._wanted:
            return
        at_once = decision.rule in AT_ONCE
        self.found[decision.id] = DecisionTime(time, self._turn, self._step if at_once else None)
        if not at_once:
            self._waiting.append(decision.id)
