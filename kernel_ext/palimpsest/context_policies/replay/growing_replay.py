"""The replay of a recorded session that grows: requests that will not change are replayed once.

The stored replay ends at a request before the last, since the answer to the last one is still being written. A longer
timeline that does not begin with the replayed part is replayed whole.
"""

from typing import Any

from palimpsest.context_policies.interface.recorded_policy import RecordedPolicy
from palimpsest.context_policies.prompt_cache.ruler import Ruler
from palimpsest.context_policies.replay.simulation import Simulation, TimelineReplay, simulate
from palimpsest.transcript.timeline import Timeline

MAX_REQUESTS_BEHIND = 12
"""Maximum requests by which the stored replay may lag; copying it costs about as much as replaying fifty requests."""


class GrowingReplay:
    """Replays the timelines of a growing session, each of which begins with the one before."""

    def __init__(
        self, ruler: Ruler, policy: RecordedPolicy | None = None, *, measures_sizes: bool = True
    ) -> None:
        """Replay under ``policy`` in its initial state; without a policy, as recorded."""
        self.ruler = ruler
        self._measures_sizes = measures_sizes
        self._policy = policy or RecordedPolicy()
        self._replayed_part: TimelineReplay | None = None
        self.earlier_values: dict[str, Any] = {}
        """Values derived from the timelines so far, which the next replay continues."""

    def replay(self, timeline: Timeline) -> TimelineReplay:
        """Return a timeline's replay, advanced to the last request or shortly before it."""
        previous, last_request = self._replayed_part, len(timeline.requests) - 1
        if previous is not None and previous.is_beginning_of(timeline):
            replay = previous.continued_on(timeline)
        else:
            previous = None
            policy = self._policy.continued_on(timeline, 0)
            replay = TimelineReplay(
                timeline, policy, self.ruler, measures_sizes=self._measures_sizes
            )
        if last_request > 0 and (
            previous is None or last_request - previous.done_count >= MAX_REQUESTS_BEHIND
        ):
            replay.advance(last_request)
            self._replayed_part = replay.continued_on(timeline)
        return replay


def recorded_replay(timeline: Timeline, ruler: Ruler) -> Simulation:
    """Return the recorded session, continued from a replay of its earlier part where there is one."""
    if not timeline.requests:
        return simulate(timeline, RecordedPolicy(), ruler)
    key = f"replay {ruler.estimator} {ruler.prefix}"
    growing: GrowingReplay = timeline.earlier.setdefault(key, GrowingReplay(ruler))
    return growing.replay(timeline).run(growing.earlier_values)
