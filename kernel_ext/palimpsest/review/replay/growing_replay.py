"""The recorded replay of a session that grows: requests that will not change are replayed once.

The replay is kept at a request before the last, since the answer to the last one is still being written. Where
a longer timeline does not begin with what was replayed, it is replayed whole.
"""

from typing import Any

from palimpsest.review.policies.recorded_policy import RecordedPolicy
from palimpsest.review.replay.ruler import Ruler
from palimpsest.review.replay.simulation import Simulation, TimelineReplay, simulate
from palimpsest.transcript.timeline import Timeline

BEHIND = 12
"""Requests by which the kept replay may be behind; a copy of it costs about as much as fifty requests."""


class GrowingReplay:
    """Replays timelines of one session as they were recorded, each of which goes on from the one before."""

    def __init__(self, ruler: Ruler, policy: RecordedPolicy | None = None) -> None:
        """``policy`` has seen nothing yet; without one, nobody looks on."""
        self.ruler = ruler
        self._policy = policy or RecordedPolicy()
        self._kept: TimelineReplay | None = None
        self._earlier: dict[str, Any] = {}
        """Of the replayed timelines."""

    def of(self, timeline: Timeline) -> Simulation:
        """Return a timeline's replay."""
        return self.replay(timeline).run(self._earlier)

    def replay(self, timeline: Timeline) -> TimelineReplay:
        """Return a timeline's replay, which stands before a request of its end."""
        kept, until = self._kept, len(timeline.requests) - 1
        if kept is not None and kept.is_beginning_of(timeline):
            going = kept.recorded_on(timeline)
        else:
            kept = None
            going = TimelineReplay(timeline, self._policy.going_on(timeline, 0), self.ruler)
        if until > 0 and (kept is None or until - kept.done >= BEHIND):
            going.advance(until)
            self._kept = going.recorded_on(timeline)
        return going


def recorded_replay(timeline: Timeline, ruler: Ruler) -> Simulation:
    """Return a session as it was recorded, from a replay of it when it was shorter where there is one."""
    if not timeline.requests:
        return simulate(timeline, RecordedPolicy(), ruler)
    name = f"replay {ruler.estimator} {ruler.prefix}"
    growing: GrowingReplay = timeline.earlier.setdefault(name, GrowingReplay(ruler))
    return growing.of(timeline)
