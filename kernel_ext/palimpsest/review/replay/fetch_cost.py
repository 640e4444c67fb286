"""What it costs to fetch something again that is gone: one more request, which reads all and adds the result."""

from palimpsest.review.replay.ruler import PriceProfile
from palimpsest.review.replay.simulation import Simulation

FETCH_TOKENS = 60
"""Tokens of a call that fetches something again: the mean of short calls in recorded sessions."""


def fetch_cost(simulation: Simulation, request: int, item: int, price: PriceProfile) -> float:
    """Return what it would cost to fetch an item again at a request; an estimate."""
    ruler = simulation.ruler
    tokens = simulation.timeline.weights(ruler.estimator)[item] * ruler.factor
    size = simulation.sizes[request]
    return price.cost(0, size.total, tokens + FETCH_TOKENS, FETCH_TOKENS, terms=size.terms)
