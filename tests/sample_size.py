"""How much of what could be tried without end is tried: a sample in seconds, or all of it."""

import os
import random
from collections.abc import Sequence

SOAKING = bool(os.environ.get("PALIMPSEST_SOAK"))
ALIKE = os.environ.get("CI") == "true"
"""A verdict on a commit does not depend on what is drawn."""


def sample_size(sample: int, all_of_it: int) -> int:
    """Return how many are tried: ``make soak`` tries all."""
    return all_of_it if SOAKING else sample


def seeds(sample: int, all_of_it: int) -> Sequence[int]:
    """Return seeds: always the same ones, and a tenth as many that are new each time."""
    fixed = range(sample_size(sample, all_of_it))
    if ALIKE:
        return fixed
    return [*fixed, *(random.randrange(1_000_000, 1 << 31) for _ in range(len(fixed) // 10))]


def fresh() -> int:
    """Return a seed that is new each time; what fails with it names it."""
    return 1_000_000 if ALIKE else random.randrange(1_000_000, 1 << 31)
