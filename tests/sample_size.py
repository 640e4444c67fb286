"""The number of generated cases in a test: a sample that takes seconds, or all of them."""

import os
import random
from collections.abc import Sequence

SOAKING = bool(os.environ.get("PALIMPSEST_SOAK"))
ALIKE = os.environ.get("CI") == "true"
"""On CI the same cases are drawn for every commit."""


def sample_size(sample: int, all_of_it: int) -> int:
    """Return the number of cases; ``make soak`` runs all."""
    return all_of_it if SOAKING else sample


def seeds(sample: int, all_of_it: int) -> Sequence[int]:
    """Return seeds: fixed ones, and a tenth as many new ones in each run."""
    fixed = range(sample_size(sample, all_of_it))
    if ALIKE:
        return fixed
    return [*fixed, *(random.randrange(1_000_000, 1 << 31) for _ in range(len(fixed) // 10))]


def fresh() -> int:
    """Return a new random seed; a failing test reports it."""
    return 1_000_000 if ALIKE else random.randrange(1_000_000, 1 << 31)
