"""Fit a ruler to the usage that a session reported: tokens = unseen + factor x estimate + remainder.

``unseen`` comes from the first request, ``factor`` from the growth of requests that only appended; what is
left at each request is its remainder, and the band of the factor says how far it varies.
"""

from dataclasses import dataclass, replace
from itertools import pairwise

from palimpsest.review.replay.recorded_policy import RecordedPolicy
from palimpsest.review.replay.ruler import Prefix, Ruler
from palimpsest.review.replay.simulation import Simulation, simulate
from palimpsest.transcript.timeline import CHARS4, Timeline

LEAST_GROWTH = 1_000
"""Estimated tokens by which the requests must have grown altogether for a factor to be fitted."""


@dataclass(frozen=True, slots=True)
class AddedUp:
    """How the tokens of one request add up."""

    request: int
    reported: int
    unseen: float
    """What the recording does not show: system prompt and tools."""
    items: float
    """The estimate of what it shows, scaled."""
    remainder: float
    """Reported less both; signed."""


def recorded(timeline: Timeline, ruler: Ruler) -> Simulation:
    """Return the session as it was recorded, measured by a ruler."""
    return simulate(timeline, RecordedPolicy(timeline), ruler)


def fit_ruler(timeline: Timeline, estimator: str = CHARS4, prefix: Prefix = "message") -> Ruler:
    """Return the ruler of a session; where it reported no usage, the estimate itself, marked as assumed."""
    plain = Ruler(estimator=estimator, prefix=prefix)
    sizes = recorded(timeline, plain).sizes
    known = [
        (request, size, float(request.reported))
        for request, size in zip(timeline.requests, sizes, strict=True)
        if request.reported is not None
    ]
    if not known:
        return plain
    grown = estimated = 0.0
    for (before, had, was), (after, has, now) in pairwise(known):
        if before.model == after.model and has.first_changed is None and has.total > had.total:
            estimated += has.total - had.total
            grown += now - was
    factor = grown / estimated if grown > 0 and estimated >= LEAST_GROWTH else 1.0
    _, first, reported = known[0]
    unseen = max(reported - first.total * min(factor, 1.0), 0.0)
    ratios = [(now - unseen) / had.total for _, had, now in known if had.total >= LEAST_GROWTH]
    return replace(
        plain,
        unseen=unseen,
        factor=factor,
        measured=True,
        low=min(ratios, default=factor) / factor,
        high=max(ratios, default=factor) / factor,
    )


def added_up(timeline: Timeline, ruler: Ruler) -> tuple[AddedUp, ...]:
    """Return for each request with reported usage how its tokens add up; the three rows are the total exactly."""
    sizes = recorded(timeline, ruler).sizes
    return tuple(
        AddedUp(
            request.index,
            request.reported,
            ruler.unseen,
            size.total - ruler.unseen,
            request.reported - size.total,
        )
        for request, size in zip(timeline.requests, sizes, strict=True)
        if request.reported is not None
    )
