"""Fit a ruler to the usage that a session reported: tokens = unseen + factor x estimate + remainder.

``unseen`` comes from the first request, ``factor`` from the growth of requests that only appended; what is
left at each request is its remainder, and the band of the factor says how far it varies.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from palimpsest.review.replay.growing_replay import recorded_replay
from palimpsest.review.replay.ruler import Prefix, Ruler
from palimpsest.review.replay.simulation import RequestSize, Simulation, is_warm
from palimpsest.transcript.growing_lists import GrownRows
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
    """Return the session as it was recorded, measured by a ruler.

    It is replayed once; another ruler measures the same replay anew.
    """
    plain = Ruler(estimator=ruler.estimator, prefix=ruler.prefix)
    found = timeline.derived(
        f"recorded {ruler.estimator} {ruler.prefix}",
        lambda one: recorded_replay(one, plain),
    )
    if ruler == plain:
        return found
    return replace(found, ruler=ruler, sizes=_measured(found, ruler))


def _measured(plain: Simulation, ruler: Ruler) -> tuple[RequestSize, ...]:
    """Return the sizes of a recorded session, which makes no calls for summaries, by another ruler."""
    unseen, factor = ruler.unseen, ruler.factor
    requests, sizes = plain.timeline.requests, plain.sizes

    def row(place: int, rows: Sequence[RequestSize]) -> RequestSize:
        size = sizes[place]
        total, output = unseen + factor * size.total, size.output * factor
        if not place:
            return RequestSize(total, 0, 0, output)
        changed = size.first_changed
        prefix = rows[place - 1].total if changed is None else unseen + factor * size.prefix
        warm = is_warm(requests[place - 1], requests[place], prefix, ruler)
        return RequestSize(total, prefix, prefix if warm else 0, output, 0, 0, changed)

    grown: GrownRows[RequestSize] = plain.timeline.earlier.setdefault("measured", GrownRows())
    return grown.of(row, requests, sizes, about=ruler)


def fit_ruler(timeline: Timeline, estimator: str = CHARS4, prefix: Prefix = "message") -> Ruler:
    """Return the ruler of a session; where it reported no usage, the estimate itself, marked as assumed."""
    return timeline.derived(
        f"ruler {estimator} {prefix}",
        lambda one: _fitted(one, Ruler(estimator=estimator, prefix=prefix)),
    )


def _fitted(timeline: Timeline, plain: Ruler) -> Ruler:
    sizes = recorded(timeline, plain).sizes
    known = [
        (request, size, float(reported))
        for request, size, reported in zip(timeline.requests, sizes, timeline.reported, strict=True)
        if reported is not None
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
