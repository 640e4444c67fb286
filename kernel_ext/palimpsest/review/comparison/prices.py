"""What the tokens of a session cost: the recorded model's price, another model's, or units.

Tokens are facts where they were reported; what they cost is a fact only where the recording says so, or says
costs that are at the same prices.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice

from palimpsest.model.catalog import litellm_table
from palimpsest.review.comparison.offline_prices import offline_name, offline_price
from palimpsest.review.replay.ruler import UNITS, PriceProfile
from palimpsest.transcript.timeline import Timeline, TimelineRequest
from palimpsest.transcript.values import Price

PriceOf = Callable[[str], Price | None]
COMPARED_COSTS = 20
"""So many recorded costs are compared with the prices; a session that grows has them soon."""
MOST_APART = 0.01
"""Share by which recorded costs may differ from the prices and still be at these: programs round."""
OWN_PRICES = "the settings"


def profile(price: Price, name: str) -> PriceProfile | None:
    """Return a model's price as a profile; None where it is not known."""
    if price.input is None or price.output is None:
        return None
    read = price.input if price.cache_read is None else price.cache_read
    write = price.input if price.cache_write is None else price.cache_write
    return PriceProfile(price.input, price.output, read, write, name=name)


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
        known = price_of(price)
        found = _sourced(known, price) if known is not None else None
        if found is None:
            raise ValueError(
                f'The price of {price!r} is not known; give price="units" or another model.'
            )
        return found
    models = Counter(one.model for one in timeline.requests)
    for model in sorted(models, key=lambda one: -models[one]):
        recorded = next(
            (one.price for one in timeline.requests if one.model == model and one.price), None
        )
        for known in (recorded, price_of(model)):
            found = _sourced(known, model) if known is not None else None
            if found is not None and found.input > 0:
                return replace(found, recorded=_is_recorded(timeline.requests, found))
    return replace(UNITS)


def cost_is_fact(timeline: Timeline, profile: PriceProfile, *, asked: bool = False) -> bool:
    """Return whether all that requests with reported usage cost was recorded, and is what is shown."""
    if asked or profile.unit != "USD":
        return False
    known = [one for one in timeline.requests if one.reported is not None]
    return bool(known) and all(one.cost and not one.listed for one in known)


def _sourced(price: Price, model: str) -> PriceProfile | None:
    """Return a model's prices with the list that they are from."""
    found = profile(price, model)
    if found is None:
        return None
    if offline_price(model) != price:
        return replace(found, source=OWN_PRICES)
    known_as = offline_name(model)
    by_name = f"the name {known_as} of " if known_as is not None else ""
    return replace(found, source=by_name + litellm_table.list_words())


def _is_recorded(requests: Sequence[TimelineRequest], profile: PriceProfile) -> bool:
    """Return whether the costs that a session recorded for a model are at these prices."""
    recorded = islice(
        (
            (one.cost, one.usage)
            for one in requests
            if one.cost and not one.listed and one.usage is not None and one.model == profile.name
        ),
        COMPARED_COSTS,
    )
    told = computed = 0.0
    for cost, usage in recorded:
        told += cost
        output = usage.output + usage.reasoning
        computed += profile.cost(usage.input, usage.cache_read, usage.cache_write, output)
    return told > 0 and abs(told - computed) <= MOST_APART * told
