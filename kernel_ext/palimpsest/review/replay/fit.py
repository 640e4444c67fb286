"""Fit a ruler to the usage that a session reported: tokens = unseen + factor x estimate + remainder.

``unseen`` comes from the first request, ``factor`` from the growth of requests that only appended; what is
left at each request is its remainder, and the band of the factor says how far it varies. A report that
contradicts those around it is left out of the fit, and named. A replay counts each request by what all others
reported, so that what it says of a recorded one is no repetition of that one's own report.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from statistics import median
from typing import NamedTuple

from palimpsest.review.replay.cache_lifetime import cache_lifetime
from palimpsest.review.replay.cache_walk import CacheWalk, RequestSize, UnmeasuredRequest
from palimpsest.review.replay.growing_replay import recorded_replay
from palimpsest.review.replay.request_rulers import FOLDS, Fit, request_rulers
from palimpsest.review.replay.ruler import Prefix, Ruler
from palimpsest.review.replay.simulation import Simulation
from palimpsest.transcript.timeline import CHARS4, Timeline, TimelineRequest

MOST_MEASURED = 4
"""Rulers for which a recorded session is kept as it was measured by them."""
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
    plain = ruler.plain
    found = timeline.derived(
        f"recorded {ruler.estimator} {ruler.prefix}",
        lambda one: recorded_replay(one, plain),
    )
    if ruler == plain:
        return found
    kept: list[tuple[Ruler, Simulation]] = found.timeline.derived("measured", lambda _: [])
    known = next((made for one, made in kept if one is ruler or one == ruler), None)
    if known is None:
        known = replace(found, ruler=ruler, sizes=_measured(found, ruler))
        kept[:] = [*kept[1 - MOST_MEASURED :], (ruler, known)]
    return known


def _measured(plain: Simulation, ruler: Ruler) -> tuple[RequestSize, ...]:
    """Return the sizes of a recorded session, which makes no calls for summaries, by another ruler."""
    requests, earlier = plain.timeline.requests, plain.timeline.earlier
    known: _Measured = earlier.get("measured", NOTHING_MEASURED)
    begins_alike = (
        known.ruler == ruler
        and known.requests == requests[: len(known.requests)]
        and known.plain == plain.sizes[: len(known.requests)]
    )
    sizes = list(known.sizes) if begins_alike else []
    walk = known.walk.copied() if begins_alike else CacheWalk(ruler.scale)
    for one in replayed_requests(plain, len(sizes)):
        if one.request is requests[-1]:  # it may still change
            done = len(sizes)
            earlier["measured"] = _Measured(
                ruler, requests[:done], plain.sizes[:done], tuple(sizes), walk.copied()
            )
        sizes.append(walk.size(one, ruler.of(one.request.index)))
    return tuple(sizes)


class _Measured(NamedTuple):
    """All requests but the last of a recorded session, measured by a ruler, and the walk behind them."""

    ruler: Ruler
    requests: Sequence[TimelineRequest]
    plain: Sequence[RequestSize]
    sizes: Sequence[RequestSize]
    walk: CacheWalk


NOTHING_MEASURED = _Measured(Ruler(), (), (), (), CacheWalk(Ruler().scale))


def replayed_requests(plain: Simulation, first: int = 0) -> Iterator[UnmeasuredRequest]:
    """Yield the requests of a recorded session that was measured by the estimator itself, from one on."""
    requests = plain.timeline.requests[first:]
    for request, size in zip(requests, plain.sizes[first:], strict=True):
        changed = size.first_changed
        prefix = None if changed is None else size.prefix
        yield UnmeasuredRequest(request, size.total, size.output, prefix, changed)


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
    replay = recorded(timeline, plain.plain)
    known = [
        _Report(request.index, request.model, size.total, size.first_changed is None, reported)
        for request, size, reported in zip(
            timeline.requests, replay.sizes, timeline.reported, strict=True
        )
        if reported is not None
    ]
    if not known:
        return plain
    fit = _fit(known)
    ratios = [
        (one.reported - fit.unseen) / one.estimated
        for one in known
        if one.estimated >= LEAST_GROWTH and one.request not in fit.odd
    ]
    fits = [_fit([one for one in known if one.request % FOLDS != fold]) for fold in range(FOLDS)]
    if len(known) == 1:
        fits = [fit]
    return replace(
        plain,
        unseen=fit.unseen,
        factor=fit.factor,
        measured=True,
        low=min(*ratios, fit.factor, fit.factor) / fit.factor,
        high=max(*ratios, fit.factor, fit.factor) / fit.factor,
        odd=tuple(sorted(fit.odd)),
        requests=request_rulers(timeline, tuple(replayed_requests(replay)), fits),
    )


def _fit(known: Sequence["_Report"]) -> Fit:
    """Return what these reports say of the tokens of all requests."""
    if not known:
        return Fit()
    odd = _odd(known)
    pairs = _growth(known, odd)
    scaled = [one for one in pairs if one.estimated > 0]
    grown, estimated = sum(one.reported for one in scaled), sum(one.estimated for one in scaled)
    is_scaled = grown > 0 and estimated >= LEAST_GROWTH
    factor = grown / estimated if is_scaled else 1.0
    rest = sum(one.reported - factor * one.estimated for one in pairs)
    steps = sum(one.requests for one in pairs)
    added = 0.0 if is_scaled or not steps else max(rest / steps, 0.0)
    first = next(one for one in known if one.request not in odd)
    held = first.reported - first.estimated * factor
    # Growth that leaves nothing for the beginning is no growth from there on: it says nothing of it.
    unseen = held - added * first.request if added * first.request < held else held
    return Fit(max(unseen, 0.0), factor, added, frozenset(odd))


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
    """Yield the runs of requests that one model answered while the session only appended; another may have answered between."""
    runs: dict[str, list[_Report]] = {}
    for one in known:
        if not one.appended:
            yield from runs.values()
            runs = {}
        runs.setdefault(one.model, []).append(one)
    yield from runs.values()


class _Growth(NamedTuple):
    """By how many tokens a request grew that only appended."""

    reported: float
    estimated: float
    requests: int
    """1, or more where some between the two are left out."""


def _growth(known: Sequence[_Report], odd: set[int]) -> list[_Growth]:
    """Return the growth of the requests that only appended, but for the odd ones."""
    pairs = (
        _Growth(
            after.reported - before.reported,
            after.estimated - before.estimated,
            after.request - before.request,
        )
        for run in _segments(known)
        for before, after in pairwise([one for one in run if one.request not in odd])
    )
    # What only grew cannot have become less: another conversation goes on in the same file.
    return [one for one in pairs if one.estimated >= 0 and one.reported >= -LEAST_GROWTH]


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
    sizes = recorded(timeline, ruler.alike).sizes
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
