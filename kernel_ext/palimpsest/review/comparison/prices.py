"""What the tokens of a session cost: the recorded model's price, another model's, or units.

Tokens are facts where they were reported; what they cost is a fact only where the recording says so, or says
costs that are at the same prices.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice

from palimpsest.review.comparison.given_prices import UNIT_WORD, GivenPrices, given_prices
from palimpsest.review.comparison.offline_prices import offline_price, offline_source
from palimpsest.review.replay.cache_lifetime import keeps_an_hour
from palimpsest.review.replay.ruler import GIVEN, UNITS, PriceProfile, rates_of
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.timeline import Timeline, TimelineRequest
from palimpsest.transcript.values import Price

PriceOf = Callable[[str], Price | None]
COMPARED_COSTS = 20
"""So many recorded costs are compared with the prices; a session that grows has them soon."""
MOST_APART = 0.01
"""Share by which recorded costs may differ from the prices and still be at these: programs round."""
OWN_PRICES = "the settings"
NAMELESS = "a model without a name"
BY_COSTS = (
    "the recorded costs (a read at a tenth, a write at 1.25 times and output at 5 times the input)"
)


def profile_of(
    timeline: Timeline, price: str | PriceProfile | None, price_of: PriceOf
) -> PriceProfile:
    """Return the prices for a session: as given, else each model's own, else units.

    ``price`` is a profile, or words as ``given_prices`` reads them. Raises UserError for words that give no price,
    and for a model without a known price.
    """
    if isinstance(price, PriceProfile):
        return price
    given = given_prices(price or "")
    if given.for_all == UNIT_WORD:
        return UNITS
    if given.for_all:
        return _for_all(given, price_of, writes_hour=keeps_an_hour(timeline.requests))
    known, unknown = _by_model(timeline, timeline.requests, price_of, given)
    if not known:
        return replace(UNITS)
    return replace(
        known[0],
        others=tuple(known[1:]),
        unknown=tuple(unknown),
        recorded=not unknown
        and any(one.recorded for one in known)
        and all(_is_at(one, timeline.requests) for one in known),
        of_session=True,
        unused=bool(given.of_models) and not any(one.given for one in known),
    )


def _for_all(given: GivenPrices, price_of: PriceOf, *, writes_hour: bool) -> PriceProfile:
    """Return the price of one model, given or of a list, for all requests; raises UserError where it is not known."""
    own = given.price_of(given.for_all)
    asked = price_of(given.for_all) if own is None else own
    found = None
    if asked is not None:
        source = GIVEN if own is not None else None
        found = _sourced(asked, given.for_all, writes_hour=writes_hour, source=source)
    if found is None:
        raise UserError(
            f"The price of {given.for_all!r} is not known; give 'units', another model, or its prices, as in "
            f"'{given.for_all}=5/25/0.5/6.25' (in/out/read/write, US dollars per million tokens)."
        )
    return found


def with_models_of(
    profile: PriceProfile, timeline: Timeline, price_of: PriceOf, given: GivenPrices
) -> PriceProfile:
    """Return a session's prices with those of the models that only its subagent's timeline holds."""
    if profile.unit != "USD" or not profile.of_session:
        return profile
    held = {one.name for one in (profile, *profile.others)}
    known, unknown = _by_model(
        timeline, [one for one in timeline.requests if one.model not in held], price_of, given
    )
    return replace(
        profile,
        others=(*profile.others, *known),
        unknown=(*profile.unknown, *(one for one in unknown if one not in profile.unknown)),
        recorded=profile.recorded
        and not unknown
        and all(_is_at(one, timeline.requests) for one in known),
    )


def _by_model(
    timeline: Timeline,
    requests: Sequence[TimelineRequest],
    price_of: PriceOf,
    given: GivenPrices,
) -> tuple[list[PriceProfile], list[str]]:
    """Return the prices of the models of requests, the one with most of them first, and the models without."""
    by_model: dict[str, list[TimelineRequest]] = {}
    for one in requests:
        by_model.setdefault(one.model, []).append(one)
    known: list[PriceProfile] = []
    unknown: list[str] = []
    for model, those in sorted(by_model.items(), key=lambda one: -len(one[1])):
        found = _of_model(timeline, model, those, price_of, given)
        if found is not None:
            known.append(found)
        else:
            unknown.append(model or NAMELESS)
    return known, unknown


def _of_model(
    timeline: Timeline,
    model: str,
    requests: Sequence[TimelineRequest],
    price_of: PriceOf,
    given: GivenPrices,
) -> PriceProfile | None:
    """Return the prices of one model: as given, as recorded with its requests, of a list, or as its recorded costs make them."""
    hour = keeps_an_hour(requests)
    own = given.price_of(model)
    if own is not None:
        found = _sourced(own, model, writes_hour=hour, source=GIVEN)
        if found is not None:
            return replace(found, given=True, recorded=_is_recorded(requests, found))
    known = next((one.price for one in requests if one.price), None)
    for price in (known, price_of(model)):
        found = _sourced(price, model, writes_hour=hour) if price is not None else None
        if found is not None and found.input > 0:
            return replace(found, recorded=_is_recorded(requests, found))
    return _by_costs(timeline, model, requests)


def _by_costs(
    timeline: Timeline, model: str, requests: Sequence[TimelineRequest]
) -> PriceProfile | None:
    """Return prices in the proportions of ``UNITS`` at which the recorded costs come out; None without such costs."""
    costs = [
        (one.cost, UNITS.cost_of(one) if one.usage is not None else _by_items(timeline, one))
        for one in requests
        if one.cost and not one.listed
    ]
    # The largest power of two of them, so that the prices of a session that grows change seldom.
    costs = costs[: 1 << len(costs).bit_length() - 1] if costs else []
    units = sum(one for _, one in costs)
    if not units:
        return None
    factor = sum(cost for cost, _ in costs if cost) / units
    return PriceProfile(
        factor * UNITS.input,
        factor * UNITS.output,
        factor * UNITS.read,
        factor * UNITS.write,
        name=model,
        source=BY_COSTS,
    )


def _by_items(timeline: Timeline, request: TimelineRequest) -> float:
    """Return what a request without usage may have cost in units: its new items written, the older ones read."""
    weights = timeline.weights()
    first, end = request.answer
    before = timeline.requests[request.index - 1].items if request.index else 0
    read, written, output = (
        sum(weights[:before]),
        sum(weights[before : request.items]),
        sum(weights[first:end]),
    )
    return UNITS.cost(0, read, written, output, terms=request.terms)


def _sourced(
    price: Price, model: str, *, writes_hour: bool = False, source: str | None = None
) -> PriceProfile | None:
    """Return a model's price as a profile with the list that it is from; None where it is not known."""
    rates = rates_of(price, writes_hour=writes_hour)
    if rates is None:
        return None
    if source is None:
        source = offline_source(model) if offline_price(model) == price else OWN_PRICES
    return PriceProfile(
        *rates, name=model, model_price=price, writes_hour=writes_hour, source=source
    )


def _is_at(profile: PriceProfile, requests: Sequence[TimelineRequest]) -> bool:
    """Return whether the costs of a model's requests are at its prices; so are those of a model that reported no usage."""
    return profile.recorded or all(
        one.reported is None for one in requests if one.model == profile.name
    )


def _is_recorded(requests: Sequence[TimelineRequest], profile: PriceProfile) -> bool:
    """Return whether the costs that a session recorded for a model are at these prices."""
    recorded = islice(
        (
            (one.cost, one)
            for one in requests
            if one.cost and not one.listed and one.usage is not None
        ),
        COMPARED_COSTS,
    )
    told = computed = 0.0
    for cost, request in recorded:
        told += cost
        computed += profile.cost_of(request)
    return told > 0 and abs(told - computed) <= MOST_APART * told
