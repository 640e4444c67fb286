"""The policy that a session was recorded under, as its own transitions: it decides what was decided."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import ClassVar

from palimpsest.review.policies.policy import Change, Decided, PolicyView, SessionFacts, When
from palimpsest.transcript.timeline import CHARS4, Timeline, Transition

RECORDED = "recorded"
"""The name of the policy that a session was recorded under."""
Recorded = Mapping[int, Sequence[Transition]]
"""What was decided before each request."""


class RecordedPolicy:
    """Shows of each item what the recording shows of it."""

    source: ClassVar[str] = "the recording"
    estimator = CHARS4
    when: When = "request"
    first = 0
    """The request from which on its decisions are known."""

    def __init__(self, first: int = 0) -> None:
        """Know what was decided from a request on."""
        self.first = first

    def going_on(self, timeline: Timeline, first: int) -> "RecordedPolicy":  # noqa: ARG002
        """Return the policy for a timeline that begins with what this one saw before the request ``first``."""
        return RecordedPolicy(first)

    @property
    def name(self) -> str:
        """The name that stands for the recording itself."""
        return RECORDED

    def start(self, facts: SessionFacts) -> Recorded:
        """Return what the recording decided, by request."""
        found: dict[int, list[Transition]] = {}
        moves = facts.timeline.transitions
        place = bisect_left(moves, self.first, key=lambda one: one.request) if self.first else 0
        for one in moves[place:]:
            found.setdefault(one.request, []).append(one)
        return found

    def step(self, state: Recorded, view: PolicyView) -> Decided:
        """Repeat what was decided before this request."""
        found = state.get(view.request.index, ())
        changes = [change_of(one) for one in found if one.item < view.count]
        fired = any(one.state not in ("whole", "reverted") for one in found)
        return Decided(state, changes, fired=fired)


def change_of(one: Transition) -> Change:
    """Return a transition as a policy's decision."""
    return Change(
        one.item,
        one.state,
        shown=one.shown or "",
        chars=None if one.shown else one.chars,
        tokens=None if one.state == "whole" or one.shown else one.tokens,
        numbers=one.numbers,
    )
