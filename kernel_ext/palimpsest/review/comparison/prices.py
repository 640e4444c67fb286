"""What the tokens of a session cost: the recorded model's price, another model's, or units."""

from collections.abc import Callable
from dataclasses import replace

from palimpsest.review.replay.ruler import UNITS, PriceProfile
from palimpsest.transcript.timeline import Timeline
from palimpsest.transcript.values import Price

PriceOf = Callable[[str], Price | None]


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
        found = profile(known, price) if known is not None else None
        if found is None:
            raise ValueError(
                f'The price of {price!r} is not known; give price="units" or another model.'
            )
        return found
    models: dict[str, int] = {}
    for request in timeline.requests:
        models[request.model] = models.get(request.model, 0) + 1
    for model in sorted(models, key=lambda one: -models[one]):
        recorded = next(
            (one.price for one in timeline.requests if one.model == model and one.price), None
        )
        for known in (recorded, price_of(model)):
            found = profile(known, model) if known is not None else None
            if found is not None and found.input > 0:
                return found
    return replace(UNITS)
