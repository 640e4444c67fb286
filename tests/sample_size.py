"""The number of cases in a test: a sample that takes seconds, or all of them."""

import os
import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest
from _pytest.mark import ParameterSet
from hypothesis import HealthCheck, Phase, settings

SOAKING = bool(os.environ.get("PALIMPSEST_SOAK"))
ALIKE = os.environ.get("CI") == "true"
"""On CI the same cases are drawn for every commit."""


def sample_size(sample: int, all_of_it: int) -> int:
    """Return the number of cases; ``make soak`` runs all."""
    return all_of_it if SOAKING else sample


def slow_cases(sample: int, all_of_it: int, **more: Any) -> settings:
    """Return the settings of a generated test with slow cases, which are not shrunk."""
    return settings(
        max_examples=sample_size(sample, all_of_it),
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=[HealthCheck.too_slow],
        **more,
    )


def seeds(sample: int, all_of_it: int) -> Sequence[int]:
    """Return seeds: fixed ones, and a tenth as many new ones in each run."""
    fixed = range(sample_size(sample, all_of_it))
    if ALIKE:
        return fixed
    return [*fixed, *(random.randrange(1_000_000, 1 << 31) for _ in range(len(fixed) // 10))]


def fresh() -> int:
    """Return a new random seed; a failing test reports it."""
    return 1_000_000 if ALIKE else random.randrange(1_000_000, 1 << 31)


def sampled_cases(cases: Mapping[str, Any] | Iterable[Any], *sample: Any) -> list[ParameterSet]:
    """Return the cases of a test as parameters, by their names if they have some; ``make soak`` runs those outside the sample.

    A tuple is the values of several parameters.
    """
    named: list[tuple[Any, Any, str | None]] = (
        [(name, case, name) for name, case in cases.items()]
        if isinstance(cases, Mapping)
        else [(case, case, None) for case in cases]
    )
    unknown = [case_name for case_name in sample if case_name not in [key for key, _, _ in named]]
    assert not unknown, f"There are no such cases: {unknown}"
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            id=name,
            marks=() if key in sample else pytest.mark.soak,
        )
        for key, case, name in named
    ]


def thinned(cases: Iterable[Any], one_in: int, first: int = 0) -> list[ParameterSet]:
    """Return the cases of a test as parameters, one in so many of them in the sample; ``make soak`` runs the others too.

    A tuple is the values of several parameters. For cases that go the same way through the code, and only differ in
    words; tests of several formats begin with different ones, so that each case is in the sample of one of them.
    """
    made = [_param(case) for case in cases]
    return [
        case if number % one_in == first else case._replace(marks=[*case.marks, pytest.mark.soak])
        for number, case in enumerate(made)
    ]


def _param(case: Any) -> ParameterSet:
    """Return a case as a parameter; a plain tuple is several, and one with names is a value."""
    if isinstance(case, ParameterSet):
        return case
    return pytest.param(*case) if type(case) is tuple else pytest.param(case)
