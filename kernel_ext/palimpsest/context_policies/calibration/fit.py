"""Fit token counts to the usage that a session reported: tokens = unseen + factor x estimate + remainder.

``unseen`` comes from the first request, ``factor`` from the growth of requests that only appended. The remainder is the
difference to the reported tokens at each request, and the range of the factor shows how far it varies. A report that
contradicts those around it is left out of the fit and listed. A replay counts each request by the reports of all others,
so its result for a recorded request does not repeat that request's own report.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from statistics import median
from typing import NamedTuple

from palimpsest.context_policies.calibration.request_rulers import FIT_COUNT, Fit, request_rulers
from palimpsest.context_policies.prompt_cache.cache_lifetime import cache_lifetime
from palimpsest.context_policies.prompt_cache.cache_walk import (
    CacheWalk,
    RequestSize,
    UnmeasuredRequest,
)
from palimpsest.context_policies.prompt_cache.ruler import CacheUnit, Ruler
from palimpsest.context_policies.replay.growing_replay import recorded_replay
from palimpsest.context_policies.replay.simulation import Simulation
from palimpsest.transcript.timeline import CHARS4, Timeline, TimelineRequest

MAX_MEASUREMENTS = 4
"""Number of newest measures of a recorded session that are kept, one for each ruler."""
MIN_GROWTH_TOKENS = 1_000
"""Minimum estimated tokens by which the requests must have grown altogether for a factor to be fitted."""
MIN_SEGMENT_REQUESTS = 3
"""Minimum requests of one model, each of which only appended to the one before, for detecting a contradicting report."""
MIN_CONTRADICTION_SHARE = 0.5
"""Share of a request's tokens by which its report must differ from the expectation to be contradicting."""
MIN_CONTRADICTION_SPREADS = 10
"""Minimum difference of a contradicting report, as a multiple of its segment's median deviation."""


@dataclass(frozen=True, slots=True)
class TokenParts:
    """The parts of one request's reported tokens."""

    request: int
    reported: int
    unseen: float
    """Tokens that the recording does not show: system prompt and tools."""
    items: float
    """The scaled estimate of the items."""
    remainder: float
    """The reported tokens minus ``unseen`` and ``items``; signed."""


def recorded_simulation(timeline: Timeline, ruler: Ruler) -> Simulation:
    """Return the recorded session, replayed once and measured by a ruler."""
    uncalibrated = ruler.estimator_only
    replay = timeline.derived_value(
        f"recorded {ruler.estimator} {ruler.prefix}",
        lambda timeline: recorded_replay(timeline, uncalibrated),
    )
    if ruler == uncalibrated:
        return replay
    measurements: list[tuple[Ruler, Simulation]] = replay.timeline.derived_value(
        "measured", lambda _: []
    )
    measurement = next((measure for other, measure in measurements if other == ruler), None)
    if measurement is None:
        measurement = replace(replay, ruler=ruler, sizes=_measure(replay, ruler))
        measurements[:] = [*measurements[1 - MAX_MEASUREMENTS :], (ruler, measurement)]
    return measurement


def _measure(replay: Simulation, ruler: Ruler) -> tuple[RequestSize, ...]:
    """Return the request sizes of a replayed recording by another ruler; such a replay requests no summaries."""
    requests, earlier = replay.timeline.requests, replay.timeline.earlier
    previous: _EarlierMeasurement = earlier.get("measured", NOTHING_MEASURED)
    begins_alike = (
        previous.ruler == ruler
        and previous.requests == requests[: len(previous.requests)]
        and previous.plain_sizes == replay.sizes[: len(previous.requests)]
    )
    sizes = list(previous.sizes) if begins_alike else []
    walk = previous.walk.copy() if begins_alike else CacheWalk(ruler.scale)
    for unmeasured in replayed_requests(replay, len(sizes)):
        if unmeasured.request is requests[-1]:  # its answer may still be written
            measured_count = len(sizes)
            earlier["measured"] = _EarlierMeasurement(
                ruler,
                requests[:measured_count],
                replay.sizes[:measured_count],
                tuple(sizes),
                walk.copy(),
            )
        sizes.append(walk.measured_size(unmeasured, ruler.request_ruler(unmeasured.request.index)))
    return tuple(sizes)


class _EarlierMeasurement(NamedTuple):
    """The sizes of all requests but the last of a recorded session, by a ruler, with the walk after them."""

    ruler: Ruler
    requests: Sequence[TimelineRequest]
    plain_sizes: Sequence[RequestSize]
    sizes: Sequence[RequestSize]
    walk: CacheWalk


NOTHING_MEASURED = _EarlierMeasurement(Ruler(), (), (), (), CacheWalk(Ruler().scale))


def replayed_requests(replay: Simulation, first_request: int = 0) -> Iterator[UnmeasuredRequest]:
    """Yield the unmeasured requests of a replayed recording, beginning with ``first_request``."""
    requests = replay.timeline.requests[first_request:]
    for request, size in zip(requests, replay.sizes[first_request:], strict=True):
        first_changed = size.first_changed
        unchanged_tokens = None if first_changed is None else size.prefix
        yield UnmeasuredRequest(request, size.total, size.output, unchanged_tokens, first_changed)


def fit_ruler(timeline: Timeline, estimator: str = CHARS4, prefix: CacheUnit = "message") -> Ruler:
    """Return the ruler of a session; where it reported no usage, the estimate itself, marked as assumed."""
    lifetime = cache_lifetime(timeline)
    assumed_ruler = Ruler(
        estimator=estimator,
        prefix=prefix,
        lifetime_seconds=lifetime.seconds,
        lifetime_sentence=lifetime.sentence,
    )
    return timeline.derived_value(
        f"ruler {estimator} {prefix}", lambda timeline: _fit_rulers(timeline, assumed_ruler)
    )


def _fit_rulers(timeline: Timeline, assumed_ruler: Ruler) -> Ruler:
    replay = recorded_simulation(timeline, assumed_ruler.estimator_only)
    reports = [
        _Report(request.index, request.model, size.total, size.first_changed is None, reported)
        for request, size, reported in zip(
            timeline.requests, replay.sizes, timeline.reported, strict=True
        )
        if reported is not None
    ]
    if not reports:
        return assumed_ruler
    fit = _fit_to(reports)
    ratios = [
        (report.reported_tokens - fit.unseen_tokens) / report.estimated_tokens
        for report in reports
        if report.estimated_tokens >= MIN_GROWTH_TOKENS
        and report.request_index not in fit.contradicting_requests
    ]
    fits = [
        _fit_to([report for report in reports if report.request_index % FIT_COUNT != fold])
        for fold in range(FIT_COUNT)
    ]
    if len(reports) == 1:
        fits = [fit]
    return replace(
        assumed_ruler,
        unseen_tokens=fit.unseen_tokens,
        factor=fit.factor,
        is_fitted=True,
        lowest_factor=min(*ratios, fit.factor, fit.factor) / fit.factor,
        highest_factor=max(*ratios, fit.factor, fit.factor) / fit.factor,
        contradicting_requests=tuple(sorted(fit.contradicting_requests)),
        requests=request_rulers(timeline, tuple(replayed_requests(replay)), fits),
    )


def _fit_to(reports: Sequence["_Report"]) -> Fit:
    """Return the fit that describes the tokens of all requests, made from some reports."""
    if not reports:
        return Fit()
    contradicting_requests = _contradicting_requests(reports)
    growths = _growth(reports, contradicting_requests)
    positive_growths = [growth for growth in growths if growth.estimated_tokens > 0]
    reported_growth = sum(growth.reported_tokens for growth in positive_growths)
    estimated_growth = sum(growth.estimated_tokens for growth in positive_growths)
    is_scaled = reported_growth > 0 and estimated_growth >= MIN_GROWTH_TOKENS
    factor = reported_growth / estimated_growth if is_scaled else 1.0
    residual_sum = sum(
        growth.reported_tokens - factor * growth.estimated_tokens for growth in growths
    )
    request_count = sum(growth.request_count for growth in growths)
    added_per_request = (
        0.0 if is_scaled or not request_count else max(residual_sum / request_count, 0.0)
    )
    first_report = next(
        report for report in reports if report.request_index not in contradicting_requests
    )
    unseen_tokens = first_report.reported_tokens - first_report.estimated_tokens * factor
    added_before = added_per_request * first_report.request_index
    # Growth that would leave nothing for the beginning is no fixed growth per request.
    if added_before < unseen_tokens:
        unseen_tokens -= added_before
    return Fit(
        max(unseen_tokens, 0.0), factor, added_per_request, frozenset(contradicting_requests)
    )


@dataclass(frozen=True, slots=True)
class _Report:
    """What one request reported, beside the unscaled estimate of its items."""

    request_index: int
    model: str
    estimated_tokens: float
    only_appended: bool
    """Whether the request only appended to the one before."""
    reported_tokens: int


def _segments(reports: Sequence[_Report]) -> Iterator[list[_Report]]:
    """Yield the segments: one model's requests while the session only appended; other models may answer between."""
    segments: dict[str, list[_Report]] = {}
    for report in reports:
        if not report.only_appended:
            yield from segments.values()
            segments = {}
        segments.setdefault(report.model, []).append(report)
    yield from segments.values()


class _Growth(NamedTuple):
    """The growth of a request that only appended to an earlier one."""

    reported_tokens: float
    estimated_tokens: float
    request_count: int
    """Number of requests over which it grew; more than 1 where some between the two are left out."""


def _growth(reports: Sequence[_Report], contradicting_requests: set[int]) -> list[_Growth]:
    """Return the growth of the requests that only appended, without the contradicting ones."""
    growths = (
        _Growth(
            after.reported_tokens - before.reported_tokens,
            after.estimated_tokens - before.estimated_tokens,
            after.request_index - before.request_index,
        )
        for segment in _segments(reports)
        for before, after in pairwise(
            [report for report in segment if report.request_index not in contradicting_requests]
        )
    )
    # A session that only appended cannot shrink: here another conversation continues in the same file.
    return [
        growth
        for growth in growths
        if growth.estimated_tokens >= 0 and growth.reported_tokens >= -MIN_GROWTH_TOKENS
    ]


def _contradicting_requests(reports: Sequence[_Report]) -> set[int]:
    """Return the requests whose report contradicts the others of their segment.

    Within a segment the reported tokens minus the scaled estimate hardly change, whatever the session does not show. A
    report contradicts if it differs from the segment's median by more than half of itself and of the expectation, and ten
    times further than most: a client that sends the old context again after a compaction, or a usage that was added to
    the next report. The scale is the median of all growth, weighted by its estimate, so a few such reports do not move it.
    """
    segments = [segment for segment in _segments(reports) if len(segment) >= MIN_SEGMENT_REQUESTS]
    ratios = sorted(
        ((after.reported_tokens - before.reported_tokens) / growth, growth)
        for segment in segments
        for before, after in pairwise(segment)
        if (growth := after.estimated_tokens - before.estimated_tokens) > 0
    )
    if not ratios:
        return set()
    cumulative_weights = accumulate(weight for _, weight in ratios)
    half_weight = sum(weight for _, weight in ratios) / 2
    scale = next(
        ratio
        for (ratio, _), cumulative_weight in zip(ratios, cumulative_weights, strict=True)
        if cumulative_weight >= half_weight
    )
    contradicting_requests: set[int] = set()
    for segment in segments:
        residuals = [report.reported_tokens - scale * report.estimated_tokens for report in segment]
        median_residual = median(residuals)
        max_deviation = MIN_CONTRADICTION_SPREADS * median(
            abs(residual - median_residual) for residual in residuals
        )
        for report, residual in zip(segment, residuals, strict=True):
            larger_total = max(
                report.reported_tokens, scale * report.estimated_tokens + median_residual
            )
            if abs(residual - median_residual) > max(
                MIN_CONTRADICTION_SHARE * larger_total, max_deviation, MIN_GROWTH_TOKENS
            ):
                contradicting_requests.add(report.request_index)
    return contradicting_requests


def token_parts(timeline: Timeline, ruler: Ruler) -> tuple[TokenParts, ...]:
    """Return the parts of each request's reported tokens; the three parts add up to the total exactly."""
    sizes = recorded_simulation(timeline, ruler.without_requests).sizes
    return tuple(
        TokenParts(
            request.index,
            request.reported,
            ruler.unseen_tokens,
            size.total - ruler.unseen_tokens,
            request.reported - size.total,
        )
        for request, size in zip(timeline.requests, sizes, strict=True)
        if request.reported is not None
    )
