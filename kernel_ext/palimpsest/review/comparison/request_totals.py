"""The tokens and the cost of a session's requests: as reported where there is usage, else as the ruler says."""

from dataclasses import dataclass

from palimpsest.review.comparison.prices import cost_is_fact
from palimpsest.review.replay.fit import recorded
from palimpsest.review.replay.ruler import PriceProfile, Ruler
from palimpsest.transcript.timeline import Timeline, TimelineRequest


@dataclass(frozen=True, slots=True)
class RequestTotals:
    """All requests of one session."""

    requests: int
    input: int
    output: int
    peak: int
    """Tokens of the largest request."""
    cost: float
    is_fact: bool
    """From reported usage; else an estimate."""
    cost_is_fact: bool = False
    """All of the cost was recorded; else it is an estimate, also where the usage was reported."""


def request_totals(
    timeline: Timeline, ruler: Ruler, profile: PriceProfile, *, asked: bool = False
) -> RequestTotals:
    """Return the totals of a session; ``asked``: at the profile's prices also where costs were recorded."""
    known = [one for one in timeline.requests if one.reported is not None]
    sizes = reported_sizes(known) if known else estimated_sizes(timeline, ruler)
    totals = [total for total, _ in sizes]
    if known:
        cost = recorded_cost(timeline, profile, asked=asked)
    else:
        cost = estimated_cost(timeline, ruler, profile)
    return RequestTotals(
        requests=len(timeline.requests),
        input=round(sum(totals)),
        output=round(sum(output for _, output in sizes)),
        peak=round(max(totals, default=0)),
        cost=cost,
        is_fact=bool(known),
        cost_is_fact=cost_is_fact(timeline, profile, asked=asked),
    )


def reported_sizes(known: list[TimelineRequest]) -> list[tuple[float, float]]:
    """Return the reported tokens of requests and of their answers."""
    return [
        (one.reported or 0, one.usage.output + one.usage.reasoning if one.usage is not None else 0)
        for one in known
    ]


def estimated_sizes(timeline: Timeline, ruler: Ruler) -> list[tuple[float, float]]:
    """Return the estimated tokens of requests and of their answers."""
    return [(one.total, one.output) for one in recorded(timeline, ruler).sizes]


def estimated_cost(timeline: Timeline, ruler: Ruler, profile: PriceProfile) -> float:
    """Return what the requests cost by the ruler."""
    return sum(one.cost(profile) for one in recorded(timeline, ruler).sizes)


def recorded_cost(timeline: Timeline, profile: PriceProfile, *, asked: bool) -> float:
    """Return the recorded costs, or what the usage costs by the profile where it was asked for or none is known."""
    return sum(request_cost(one, profile, asked=asked) for one in timeline.requests)


def request_cost(request: TimelineRequest, profile: PriceProfile, *, asked: bool) -> float:
    """Return what a request cost; 0 where nothing is known of it."""
    if request.cost and not asked and profile.unit == "USD":
        return request.cost
    return profile.cost_of(request)
