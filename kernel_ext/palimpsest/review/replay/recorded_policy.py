"""The policy that a session was recorded under, as its own transitions: it decides what was decided."""

from bisect import bisect_left

from palimpsest.review.policies.policy import Change, Decided, PolicyView, SessionFacts, When
from palimpsest.transcript.timeline import CHARS4, Timeline, Transition


class RecordedPolicy:
    """Shows of each item what the recording shows of it."""

    name = "recorded"
    source = "the recording"
    estimator = CHARS4
    when: When = "request"

    def __init__(self, timeline: Timeline, first: int = 0) -> None:
        """Know what was decided from a request on."""
        self._at: dict[int, list[Transition]] = {}
        moves = timeline.transitions
        place = bisect_left(moves, first, key=lambda one: one.request) if first else 0
        for one in moves[place:]:
            self._at.setdefault(one.request, []).append(one)

    def start(self, facts: SessionFacts) -> None:
        """Return no state: everything is in the recording."""

    def step(self, state: None, view: PolicyView) -> Decided:
        """Repeat what was decided before this request."""
        found = self._at.get(view.request.index, ())
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
