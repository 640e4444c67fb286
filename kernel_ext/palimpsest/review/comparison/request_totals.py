"""The tokens and the cost of a session's requests: as reported where there is usage, else as the ruler says.

Every place that tells what a request or a session cost asks here: tables, JSON, report, inspector and corpus.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from palimpsest.render.reports.table import Basis
from palimpsest.review.replay.fit import recorded
from palimpsest.review.replay.ruler import PriceProfile, Ruler
from palimpsest.transcript.growing_lists import GrownRows
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


@dataclass(frozen=True, slots=True)
class RequestCost:
    """What one request cost, in the profile's money."""

    value: float
    basis: Basis
    """A fact where the recording says it; else its tokens at the profile's prices."""


def request_totals(timeline: Timeline, ruler: Ruler, profile: PriceProfile) -> RequestTotals:
    """Return the totals of a session; of several requests those with reported usage, where there are some."""
    known = [one for one in timeline.requests if one.reported is not None]
    totals = request_sizes(timeline, ruler)
    outputs = (
        [one.usage.output + one.usage.reasoning for one in known if one.usage is not None]
        if known
        else [one.output for one in recorded(timeline, ruler).sizes]
    )
    costs = [one for one in session_costs(timeline, ruler, profile) if one is not None]
    return RequestTotals(
        requests=len(timeline.requests),
        input=round(sum(totals)),
        output=round(sum(outputs)),
        peak=round(max(totals, default=0)),
        cost=sum(one.value for one in costs),
        is_fact=bool(known),
        cost_is_fact=bool(costs) and all(one.basis == "fact" for one in costs),
    )


def request_sizes(timeline: Timeline, ruler: Ruler) -> Sequence[float]:
    """Return the tokens of each request whose usage was reported; of all, by the ruler, where none was."""
    known = [one.reported for one in timeline.requests if one.reported is not None]
    return known or [one.total for one in recorded(timeline, ruler).sizes]


def session_costs(
    timeline: Timeline, ruler: Ruler, profile: PriceProfile
) -> Sequence[RequestCost | None]:
    """Return what each request cost; where a session reported no usage at all, as the ruler measures it.

    None is a request of which nothing is known, in a session that reported the usage of others.
    """
    is_known = any(one is not None for one in timeline.reported)
    sizes = () if is_known else recorded(timeline, ruler).sizes

    def cost(at: int, _: Sequence[RequestCost | None]) -> RequestCost | None:
        found = request_cost(timeline.requests[at], profile)
        if found is not None or is_known:
            return found
        size = sizes[at]
        return RequestCost(
            profile.cost(0, size.read, size.written, size.output, terms=size.terms), "estimate"
        )

    grown: GrownRows[RequestCost | None] = timeline.earlier.setdefault("cost rows", GrownRows())
    lists = (timeline.requests,) if is_known else (timeline.requests, sizes)
    return grown.of(cost, *lists, about=profile)


def request_cost(request: TimelineRequest, profile: PriceProfile) -> RequestCost | None:
    """Return what a request cost: as recorded, else its reported usage at the profile's prices; None without either.

    A recorded cost of 0 for tokens that were read is none that is known.
    """
    if profile.of_session and profile.unit == "USD" and request.cost and not request.listed:
        return RequestCost(request.cost, "fact")
    if request.usage is None:
        return None
    found = profile.cost_of(request)
    listed = request.cost if request.listed and profile.of_session else None
    # The list of the day when it was sent goes before that of today, and a given price before both.
    if listed and profile.unit == "USD" and not profile.of(request.model).given:
        found = listed
    return RequestCost(found, "estimate")


def recorded_costs(timeline: Timeline) -> Iterator[float]:
    """Yield the costs in US dollars that the recording itself holds, a request each."""
    return (one.cost for one in timeline.requests if one.cost and not one.listed)
