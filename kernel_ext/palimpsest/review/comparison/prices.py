"""What the tokens of a session cost: the recorded model's price, another model's, or units.

Tokens are facts where they were reported; what they cost is a fact only where the recording says so, or says
costs that are at the same prices.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice

from palimpsest.review.comparison.offline_prices import offline_price, offline_source
from palimpsest.review.replay.cache_lifetime import keeps_an_hour
from palimpsest.review.replay.ruler import UNITS, PriceProfile, rates_of
from palimpsest.transcript.timeline import Timeline, TimelineRequest
from palimpsest.transcript.values import Price

PriceOf = Callable[[str], Price | None]
COMPARED_COSTS = 20
"""So many recorded costs are compared with the prices; a session that grows has them soon."""
MOST_APART = 0.01
"""Share by which recorded costs may differ from the prices and still be at these: programs round."""
OWN_PRICES = "the settings"
BY_COSTS = (
    "the recorded costs (a read at a tenth, a write at 1.25 times and output at 5 times the input)"
)


def profile(price: Price, name: str, *, writes_hour: bool = False) -> PriceProfile | None:
    """Return a model's price as a profile; None where it is not known."""
    rates = rates_of(price, writes_hour=writes_hour)
    if rates is None:
        return None
    return PriceProfile(*rates, name=name, model_price=price, writes_hour=writes_hour)


def profile_of(
    timeline: Timeline, price: str | PriceProfile | None, price_of: PriceOf
) -> PriceProfile:
    """Return the prices for a session: as asked for, else its model's, else units.

    ``price`` is a model's id, ``units`` or a profile. Raises ValueError for a model without a known price.
    """
    if isinstance(price, PriceProfile):
        return price
    if price == "units":
        return UNITS
    if price is not None:
        asked = price_of(price)
        hour = keeps_an_hour(timeline.requests)
        found = _sourced(asked, price, writes_hour=hour) if asked is not None else None
        if found is None:
            raise ValueError(
                f'The price of {price!r} is not known; give price="units" or another model.'
            )
        return found
    known, unknown = _by_model(timeline.requests, price_of)
    if not known:
        return replace(UNITS)
    return replace(
        known[0],
        others=tuple(known[1:]),
        unknown=tuple(unknown),
        recorded=not unknown and all(_is_at(one, timeline.requests) for one in known),
    )


def with_models_of(profile: PriceProfile, timeline: Timeline, price_of: PriceOf) -> PriceProfile:
    """Return a session's prices with those of the models that only its subagent's timeline holds."""
    if profile.unit != "USD":
        return profile
    held = {one.name for one in (profile, *profile.others)}
    known, unknown = _by_model(
        [one for one in timeline.requests if one.model not in held], price_of
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
    requests: Sequence[TimelineRequest], price_of: PriceOf
) -> tuple[list[PriceProfile], list[str]]:
    """Return the prices of the models of requests, the one with most of them first, and the models without."""
    by_model: dict[str, list[TimelineRequest]] = {}
    for one in requests:
        by_model.setdefault(one.model, []).append(one)
    known: list[PriceProfile] = []
    unknown: list[str] = []
    for model, those in sorted(by_model.items(), key=lambda one: -len(one[1])):
        found = _of_model(model, those, price_of)
        if found is not None:
            known.append(found)
        else:
            unknown.append(model or "a model without a name")
    return known, unknown


def _of_model(
    model: str, requests: Sequence[TimelineRequest], price_of: PriceOf
) -> PriceProfile | None:
    """Return the prices of one model: as recorded with its requests, of a list, or as its recorded costs make them."""
    given = next((one.price for one in requests if one.price), None)
    for price in (given, price_of(model)):
        hour = keeps_an_hour(requests)
        found = _sourced(price, model, writes_hour=hour) if price is not None else None
        if found is not None and found.input > 0:
            return replace(found, recorded=_is_recorded(requests, found))
    return _by_costs(model, requests)


def _by_costs(model: str, requests: Sequence[TimelineRequest]) -> PriceProfile | None:
    """Return prices in the proportions of ``UNITS`` at which the recorded costs come out; None without such costs."""
    costs = [(one.cost, UNITS.cost_of(one)) for one in requests if one.cost and not one.listed]
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


def cost_is_fact(timeline: Timeline, profile: PriceProfile, *, asked: bool = False) -> bool:
    """Return whether all that requests with reported usage cost was recorded, and is what is shown."""
    if asked or profile.unit != "USD":
        return False
    known = [one for one in timeline.requests if one.reported is not None]
    return bool(known) and all(one.cost and not one.listed for one in known)


def _sourced(price: Price, model: str, *, writes_hour: bool = False) -> PriceProfile | None:
    """Return a model's prices with the list that they are from."""
    found = profile(price, model, writes_hour=writes_hour)
    if found is None:
        return None
    listed = offline_price(model) == price
    return replace(found, source=offline_source(model) if listed else OWN_PRICES)


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
