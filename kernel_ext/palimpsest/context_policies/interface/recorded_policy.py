"""The policy that a session was recorded under: it repeats the recorded transitions."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import ClassVar

from palimpsest.context_policies.interface.policy import (
    Change,
    PolicyResult,
    PolicyView,
    SessionFacts,
    When,
)
from palimpsest.transcript.timeline import CHARS4, Timeline, Transition

RECORDED = "recorded"
"""The name of the recorded policy."""
Transitions = Mapping[int, Sequence[Transition]]
"""The recorded transitions before each request."""


class RecordedPolicy:
    """Shows each item as the recording does."""

    source: ClassVar[str] = "the recording"
    estimator = CHARS4
    when: When = "request"
    first_request = 0
    """The first request whose transitions are known."""

    def __init__(self, first_request: int = 0) -> None:
        """Use the transitions from ``first_request`` on."""
        self.first_request = first_request

    def continued_on(self, timeline: Timeline, first_request: int) -> "RecordedPolicy":  # noqa: ARG002
        """Return the policy for a longer timeline that equals this policy's up to ``first_request``."""
        return RecordedPolicy(first_request)

    @property
    def name(self) -> str:
        """The policy's name."""
        return RECORDED

    def start(self, facts: SessionFacts) -> Transitions:
        """Return the recorded transitions by request."""
        transitions_by_request: dict[int, list[Transition]] = {}
        transitions = facts.timeline.transitions
        start = bisect_left(transitions, self.first_request, key=attrgetter("request"))
        for transition in transitions[start:]:
            transitions_by_request.setdefault(transition.request, []).append(transition)
        return transitions_by_request

    def step(self, state: Transitions, view: PolicyView) -> PolicyResult:
        """Repeat the transitions recorded before the view's request."""
        transitions = state.get(view.request.index, ())
        changes = [
            change_of(transition) for transition in transitions if transition.item < view.count
        ]
        has_fired = any(transition.state not in ("whole", "reverted") for transition in transitions)
        return PolicyResult(state, changes, fired=has_fired)


def change_of(transition: Transition) -> Change:
    """Return the change by which a policy repeats a recorded transition."""
    return Change(
        transition.item,
        transition.state,
        replacement=transition.shown or "",
        chars=None if transition.shown else transition.chars,
        tokens=None if transition.state == "whole" or transition.shown else transition.tokens,
        numbers=transition.numbers,
    )
