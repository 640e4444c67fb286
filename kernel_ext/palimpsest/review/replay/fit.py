"""Fit a ruler to the usage that a session reported: tokens = unseen + factor x estimate + remainder.

``unseen`` comes from the first request, ``factor`` from the growth of requests that only appended; what is
left at each request is its remainder, and the band of the factor says how far it varies. A report that
contradicts those around it is left out of the fit, and named.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from statistics import median

from palimpsest.review.replay.cache_lifetime import cache_lifetime
from palimpsest.review.replay.growing_replay import recorded_replay
from palimpsest.review.replay.ruler import Prefix, Ruler
from palimpsest.review.replay.simulation import RequestSize, Simulation, is_warm
from palimpsest.transcript.growing_lists import GrownRows
from palimpsest.transcript.timeline import CHARS4, Timeline

LEAST_GROWTH = 1_000
"""Estimated tokens by which the requests must have grown altogether for a factor to be fitted."""

LEAST_SEGMENT = 3
"""Requests that only appended, one model's, among which one can be told that contradicts the others."""

ODD_SHARE = 0.5
"""The share of a request's tokens by which its report must be away from what the others make of it."""

ODD_SPREADS = 10
"""How many times the segment's median deviation it must be away."""


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
            return RequestSize(total, 0, 0, output, terms=size.terms)
        changed = size.first_changed
        prefix = rows[place - 1].total if changed is None else unseen + factor * size.prefix
        warm = is_warm(requests[place - 1], requests[place], prefix, ruler)
        read = prefix if warm else 0
        return RequestSize(total, prefix, read, output, 0, 0, changed, size.terms)

    grown: GrownRows[RequestSize] = plain.timeline.earlier.setdefault("measured", GrownRows())
    return grown.of(row, requests, sizes, about=ruler)


def fit_ruler(timeline: Timeline, estimator: str = CHARS4, prefix: Prefix = "message") -> Ruler:
    """Return the ruler of a session; where it reported no usage, the estimate itself, marked as assumed."""
    lifetime = cache_lifetime(timeline)
    plain = Ruler(
        estimator=estimator,
        prefix=prefix,
        lifetime_seconds=lifetime.seconds,
        lifetime_words=lifetime.words,
    )
    return timeline.derived(f"ruler {estimator} {prefix}", lambda one: _fitted(one, plain))


def _fitted(timeline: Timeline, plain: Ruler) -> Ruler:
    sizes = recorded(timeline, plain).sizes
    known = [
        _Report(request.index, request.model, size.total, size.first_changed is None, reported)
        for request, size, reported in zip(timeline.requests, sizes, timeline.reported, strict=True)
        if reported is not None
    ]
    if not known:
        return plain
    odd = _odd(known)
    fitting = [one for one in known if one.request not in odd]
    grown, estimated = _growth(known, odd)
    factor = grown / estimated if grown > 0 and estimated >= LEAST_GROWTH else 1.0
    first = fitting[0]
    unseen = max(first.reported - first.estimated * min(factor, 1.0), 0.0)
    ratios = [
        (one.reported - unseen) / one.estimated for one in fitting if one.estimated >= LEAST_GROWTH
    ]
    return replace(
        plain,
        unseen=unseen,
        factor=factor,
        measured=True,
        low=min(*ratios, factor, factor) / factor,
        high=max(*ratios, factor, factor) / factor,
        odd=tuple(sorted(odd)),
    )


@dataclass(frozen=True, slots=True)
class _Report:
    """What one request reported, beside the unscaled estimate of its items."""

    request: int
    model: str
    estimated: float
    appended: bool
    """It holds all that the request before it held."""
    reported: int


def _segments(known: Sequence[_Report]) -> Iterator[list[_Report]]:
    """Yield the runs of requests that one model answered and that only appended."""
    run: list[_Report] = []
    for one in known:
        if run and not (one.appended and one.model == run[-1].model):
            yield run
            run = []
        run.append(one)
    if run:
        yield run


def _growth(known: Sequence[_Report], odd: set[int]) -> tuple[float, float]:
    """Return the reported and the estimated tokens by which requests grew that only appended, but for the odd ones."""
    pairs = [
        (after.reported - before.reported, after.estimated - before.estimated)
        for run in _segments(known)
        for before, after in pairwise([one for one in run if one.request not in odd])
        if after.estimated > before.estimated
    ]
    return float(sum(one for one, _ in pairs)), float(sum(one for _, one in pairs))


def _odd(known: Sequence[_Report]) -> set[int]:
    """Return the requests whose report contradicts the others of their segment.

    Within a segment the reported tokens less the scaled estimate hardly change, whatever the session does
    not show. A report is odd that is away from the segment's median of this by more than half of itself and of what
    was to be expected, and ten times further than most: a client that sends the old context once more after a compaction, or a usage that was
    lost and told with the next one. The scale is the median of all growth, each weighted by its estimate, so
    that a few odd reports do not move it.
    """
    runs = [run for run in _segments(known) if len(run) >= LEAST_SEGMENT]
    ratios = sorted(
        ((after.reported - before.reported) / growth, growth)
        for run in runs
        for before, after in pairwise(run)
        if (growth := after.estimated - before.estimated) > 0
    )
    if not ratios:
        return set()
    passed = accumulate(weight for _, weight in ratios)
    half = sum(weight for _, weight in ratios) / 2
    scale = next(ratio for (ratio, _), at in zip(ratios, passed, strict=True) if at >= half)
    odd: set[int] = set()
    for run in runs:
        rest = [one.reported - scale * one.estimated for one in run]
        middle = median(rest)
        spread = ODD_SPREADS * median(abs(one - middle) for one in rest)
        for one, left in zip(run, rest, strict=True):
            expected = scale * one.estimated + middle
            if abs(left - middle) > max(
                ODD_SHARE * max(one.reported, expected), spread, LEAST_GROWTH
            ):
                odd.add(one.request)
    return odd


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
