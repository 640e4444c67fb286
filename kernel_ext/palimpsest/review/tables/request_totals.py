"""The tokens and the cost of a session's requests: as reported where usage is recorded, else by the ruler.

Tables, JSON, report, inspector and corpus all take a request's or a session's cost from here.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from palimpsest.context_policies.prompt_cache.cache_walk import RequestSize
from palimpsest.context_policies.prompt_cache.ruler import PriceProfile, Ruler
from palimpsest.render.reports.table import Basis
from palimpsest.transcript.growing_lists import GrownRows
from palimpsest.transcript.timeline import Timeline, TimelineRequest

RulerOf = Ruler | Callable[[], Ruler]
"""A ruler, or a function that fits one, which is not called where the recording reports usage."""


@dataclass(frozen=True, slots=True)
class RequestTotals:
    """The tokens and the cost of all requests of one session."""

    requests: int
    input: int
    """Tokens of all requests, cached ones included."""
    output: int
    """Tokens of all answers, with reasoning."""
    peak: int
    """Tokens of the largest request."""
    cost: float
    is_fact: bool
    """Whether the totals are from reported usage; else they are estimates."""
    cost_is_fact: bool = False
    """Whether the whole cost was recorded; else it is an estimate, even where the usage was reported."""


@dataclass(frozen=True, slots=True)
class RequestCost:
    """The cost of one request, in the profile's money."""

    value: float
    basis: Basis
    """``fact`` where the recording states the cost; ``estimate`` where its tokens are priced by the profile."""


def request_totals(timeline: Timeline, ruler: RulerOf, profile: PriceProfile) -> RequestTotals:
    """Return the totals of the requests with reported usage; without any, of all requests by the ruler."""
    reported_requests = [request for request in timeline.requests if request.reported is not None]
    sizes = request_sizes(timeline, ruler)
    usages = [request.usage for request in reported_requests if request.usage is not None]
    output_tokens: list[float] = [usage.output + usage.reasoning for usage in usages]
    if not reported_requests:
        output_tokens = [size.output for size in _estimated_sizes(timeline, ruler)]
    costs = [cost for cost in session_costs(timeline, ruler, profile) if cost is not None]
    return RequestTotals(
        requests=len(timeline.requests),
        input=round(sum(sizes)),
        output=round(sum(output_tokens)),
        peak=round(max(sizes, default=0)),
        cost=sum(cost.value for cost in costs),
        is_fact=bool(reported_requests),
        cost_is_fact=bool(costs) and all(cost.basis == "fact" for cost in costs),
    )


def request_sizes(timeline: Timeline, ruler: RulerOf) -> Sequence[float]:
    """Return the tokens of each request with reported usage; without any, of all requests by the ruler."""
    return [size for size in context_sizes(timeline, ruler) if size is not None]


def context_sizes(timeline: Timeline, ruler: RulerOf) -> Sequence[float | None]:
    """Return the tokens of every request: as reported, None where only others report; without any, by the ruler."""
    if any(reported is not None for reported in timeline.reported):
        return timeline.reported
    return [size.total for size in _estimated_sizes(timeline, ruler)]


def session_costs(
    timeline: Timeline, ruler: RulerOf, profile: PriceProfile
) -> Sequence[RequestCost | None]:
    """Return the cost of each request; for a session without reported usage, as estimated by the ruler.

    The cost is None for a request without usage in a session that reported the usage of others.
    """
    has_reported_usage = any(reported is not None for reported in timeline.reported)
    sizes = () if has_reported_usage else _estimated_sizes(timeline, ruler)

    def cost_of_index(index: int, _: Sequence[RequestCost | None]) -> RequestCost | None:
        known_cost = request_cost(timeline.requests[index], profile)
        if known_cost is not None or has_reported_usage:
            return known_cost
        size = sizes[index]
        estimated_cost = profile.cost(0, size.read, size.written, size.output, terms=size.terms)
        return RequestCost(estimated_cost, "estimate")

    row_cache: GrownRows[RequestCost | None] = timeline.earlier.setdefault("cost rows", GrownRows())
    row_inputs = (timeline.requests,) if has_reported_usage else (timeline.requests, sizes)
    return row_cache.grown_rows(cost_of_index, *row_inputs, subject=profile)


def request_cost(request: TimelineRequest, profile: PriceProfile) -> RequestCost | None:
    """Return the cost of a request: as recorded, else its reported usage at the profile's prices; None without either.

    A recorded cost of 0 for tokens that were read counts as unknown.
    """
    if profile.of_session and profile.unit == "USD" and request.cost and not request.listed:
        return RequestCost(request.cost, "fact")
    if request.usage is None:
        return None
    cost = profile.cost_of(request)
    listed_cost = request.cost if request.listed and profile.of_session else None
    # Precedence: a given price, then the list price of the day when the request was sent, then today's list price.
    if listed_cost and profile.unit == "USD" and not profile.profile_of(request.model).is_given:
        cost = listed_cost
    return RequestCost(cost, "estimate")


def recorded_costs(timeline: Timeline) -> Iterator[float]:
    """Yield the recorded cost in US dollars of each request that has one."""
    return (request.cost for request in timeline.requests if request.cost and not request.listed)


def _estimated_sizes(timeline: Timeline, ruler: RulerOf) -> Sequence[RequestSize]:
    from palimpsest.context_policies.calibration.fit import recorded_simulation

    return recorded_simulation(timeline, ruler() if callable(ruler) else ruler).sizes
