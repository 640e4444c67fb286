"""Prices of a session's tokens: the recorded model's price, another model's, or units.

Tokens are facts where they were reported; their cost is a fact only where the recording states it, or where its stated
costs match the prices.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice

from palimpsest.context_policies.prompt_cache.cache_lifetime import keeps_an_hour
from palimpsest.context_policies.prompt_cache.ruler import (
    GIVEN_SOURCE,
    UNIT_PRICES,
    PriceProfile,
    rates_of,
)
from palimpsest.review.prices.given_prices import UNIT_WORD, GivenPrices, given_prices
from palimpsest.review.prices.offline_prices import offline_price, offline_source
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.timeline import Timeline, TimelineRequest
from palimpsest.transcript.values import Price

PriceOf = Callable[[str], Price | None]
"""A function that returns the price of a model by its id; None where no price is known."""
MAX_COMPARED_COSTS = 20
"""Number of recorded costs that are compared with the prices; a growing session soon has as many."""
MAX_COST_DIFFERENCE = 0.01
"""Share by which recorded costs may differ and still match the prices, since programs round."""
SETTINGS_SOURCE = "the settings"
NAMELESS_MODEL = "a model without a name"
COSTS_SOURCE = (
    "the recorded costs (a read at a tenth, a write at 1.25 times and output at 5 times the input)"
)


def profile_of(
    timeline: Timeline, price: str | PriceProfile | None, price_of: PriceOf
) -> PriceProfile:
    """Return the prices for a session: as given, else each model's own, else units.

    ``price`` is a profile, or words in the form of ``given_prices``. Raises UserError for words without a price,
    and for a model without a known price.
    """
    if isinstance(price, PriceProfile):
        return price
    prices = given_prices(price or "")
    if prices.for_all == UNIT_WORD:
        return UNIT_PRICES
    if prices.for_all:
        return _profile_for_all(prices, price_of, writes_hour=keeps_an_hour(timeline.requests))
    profiles, unpriced_models = _model_profiles(timeline, timeline.requests, price_of, prices)
    if not profiles:
        return replace(UNIT_PRICES)
    return replace(
        profiles[0],
        other_models=tuple(profiles[1:]),
        unpriced_models=tuple(unpriced_models),
        matches_recorded=not unpriced_models
        and any(profile.matches_recorded for profile in profiles)
        and all(_matches_or_unreported(profile, timeline.requests) for profile in profiles),
        of_session=True,
        all_unused=bool(prices.of_models) and not any(profile.is_given for profile in profiles),
    )


def _profile_for_all(prices: GivenPrices, price_of: PriceOf, *, writes_hour: bool) -> PriceProfile:
    """Return one model's price, given or from a list, for all requests; raises UserError where it is not known."""
    given_price = prices.price_of(prices.for_all)
    price = price_of(prices.for_all) if given_price is None else given_price
    source = None if given_price is None else GIVEN_SOURCE
    profile = _listed_profile(price, prices.for_all, writes_hour=writes_hour, source=source)
    if profile is None:
        raise UserError(
            f"The price of {prices.for_all!r} is not known; give 'units', another model, or its prices, as in "
            f"'{prices.for_all}=5/25/0.5/6.25' (in/out/read/write, US dollars per million tokens)."
        )
    return profile


def with_models_of(
    profile: PriceProfile, timeline: Timeline, price_of: PriceOf, prices: GivenPrices
) -> PriceProfile:
    """Return a session's prices, extended by the prices of models that only its subagent used."""
    if profile.unit != "USD" or not profile.of_session:
        return profile
    known_names = {known_profile.name for known_profile in (profile, *profile.other_models)}
    requests = [request for request in timeline.requests if request.model not in known_names]
    new_profiles, unpriced_models = _model_profiles(timeline, requests, price_of, prices)
    return replace(
        profile,
        other_models=(*profile.other_models, *new_profiles),
        unpriced_models=tuple(dict.fromkeys((*profile.unpriced_models, *unpriced_models))),
        matches_recorded=profile.matches_recorded
        and not unpriced_models
        and all(
            _matches_or_unreported(new_profile, timeline.requests) for new_profile in new_profiles
        ),
    )


def _model_profiles(
    timeline: Timeline,
    requests: Sequence[TimelineRequest],
    price_of: PriceOf,
    prices: GivenPrices,
) -> tuple[list[PriceProfile], list[str]]:
    """Return the prices of the models of requests, the most used model first, and the models without a price."""
    requests_by_model: dict[str, list[TimelineRequest]] = {}
    for request in requests:
        requests_by_model.setdefault(request.model, []).append(request)
    profiles: list[PriceProfile] = []
    unpriced_models: list[str] = []
    for model, model_requests in sorted(
        requests_by_model.items(), key=lambda entry: -len(entry[1])
    ):
        profile = _model_profile(timeline, model, model_requests, price_of, prices)
        if profile is not None:
            profiles.append(profile)
        else:
            unpriced_models.append(model or NAMELESS_MODEL)
    return profiles, unpriced_models


def _model_profile(
    timeline: Timeline,
    model: str,
    requests: Sequence[TimelineRequest],
    price_of: PriceOf,
    prices: GivenPrices,
) -> PriceProfile | None:
    """Return the prices of one model: as given, as recorded, from a list, or derived from its recorded costs."""
    writes_hour = keeps_an_hour(requests)
    given_price = prices.price_of(model)
    profile = _listed_profile(given_price, model, writes_hour=writes_hour, source=GIVEN_SOURCE)
    if profile is not None:
        return replace(
            profile, is_given=True, matches_recorded=_matches_recorded_costs(requests, profile)
        )
    recorded_price = next((request.price for request in requests if request.price), None)
    for price in (recorded_price, price_of(model)):
        profile = _listed_profile(price, model, writes_hour=writes_hour)
        if profile is not None and profile.input > 0:
            return replace(profile, matches_recorded=_matches_recorded_costs(requests, profile))
    return _profile_from_costs(timeline, model, requests)


def _profile_from_costs(
    timeline: Timeline, model: str, requests: Sequence[TimelineRequest]
) -> PriceProfile | None:
    """Return prices in the proportions of ``UNIT_PRICES`` that lead to the recorded costs; None without such costs."""
    costs_and_units = [
        (request.cost, _cost_in_units(timeline, request))
        for request in requests
        if request.cost and not request.listed
    ]
    # Only a power of two of the first costs is used, so that the prices of a growing session rarely change.
    costs_and_units = (
        costs_and_units[: 1 << len(costs_and_units).bit_length() - 1] if costs_and_units else []
    )
    units_sum = sum(cost_in_units for _, cost_in_units in costs_and_units)
    if not units_sum:
        return None
    factor = sum(cost for cost, _ in costs_and_units if cost) / units_sum
    return PriceProfile(
        factor * UNIT_PRICES.input,
        factor * UNIT_PRICES.output,
        factor * UNIT_PRICES.read,
        factor * UNIT_PRICES.write,
        name=model,
        source=COSTS_SOURCE,
    )


def _cost_in_units(timeline: Timeline, request: TimelineRequest) -> float:
    """Return a request's cost in units; without reported usage its new items count as written, the older ones as read."""
    if request.usage is not None:
        return UNIT_PRICES.cost_of(request)
    weights = timeline.weights()
    first_item, answer_end = request.answer
    read_item_count = timeline.requests[request.index - 1].items if request.index else 0
    read_tokens, written_tokens = (
        sum(weights[:read_item_count]),
        sum(weights[read_item_count : request.items]),
    )
    output_tokens = sum(weights[first_item:answer_end])
    return UNIT_PRICES.cost(0, read_tokens, written_tokens, output_tokens, terms=request.terms)


def _listed_profile(
    price: Price | None, model: str, *, writes_hour: bool, source: str | None = None
) -> PriceProfile | None:
    """Return a model's price as a profile with the list it comes from; None where it is not known."""
    rates = None if price is None else rates_of(price, writes_hour=writes_hour)
    if rates is None:
        return None
    if source is None:
        source = offline_source(model) if offline_price(model) == price else SETTINGS_SOURCE
    return PriceProfile(
        *rates, name=model, model_price=price, writes_hour=writes_hour, source=source
    )


def _matches_or_unreported(profile: PriceProfile, requests: Sequence[TimelineRequest]) -> bool:
    """Return whether the recorded costs of a model's requests match its prices; True without reported usage."""
    return profile.matches_recorded or all(
        request.reported is None for request in requests if request.model == profile.name
    )


def _matches_recorded_costs(requests: Sequence[TimelineRequest], profile: PriceProfile) -> bool:
    """Return whether the costs that a session recorded for a model match these prices."""
    compared_costs = (
        (request.cost, profile.cost_of(request))
        for request in requests
        if request.cost and not request.listed and request.usage is not None
    )
    recorded_cost = computed_cost = 0.0
    for recorded, computed in islice(compared_costs, MAX_COMPARED_COSTS):
        recorded_cost += recorded
        computed_cost += computed
    return (
        recorded_cost > 0
        and abs(recorded_cost - computed_cost) <= MAX_COST_DIFFERENCE * recorded_cost
    )
