"""Estimate the cost of fetching a removed item again: one more request, which sends everything and adds the result."""

from palimpsest.context_policies.prompt_cache.ruler import PriceProfile
from palimpsest.context_policies.replay.simulation import Simulation

FETCH_TOKENS = 60
"""Tokens of a call that fetches something again: the mean of short calls in recorded sessions."""


def fetch_cost(
    simulation: Simulation, request_index: int, item_index: int, price: PriceProfile
) -> float:
    """Return the estimated cost of fetching an item again at a request."""
    ruler = simulation.ruler
    tokens = simulation.timeline.weights(ruler.estimator)[item_index] * ruler.factor
    size = simulation.sizes[request_index]
    return price.cost(0, size.total, tokens + FETCH_TOKENS, FETCH_TOKENS, terms=size.terms)
