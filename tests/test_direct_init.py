"""A dataclass whose fields are stored directly behaves as one of the standard library."""

import inspect
import pickle
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, dataclass, field, replace
from typing import Any

import pytest

from palimpsest.direct_init import with_direct_init


@dataclass(frozen=True, slots=True)
class Standard:
    """A value as the standard library makes it."""

    name: str
    count: int = 3
    facts: Mapping[str, Any] = field(default_factory=dict)


@with_direct_init
@dataclass(frozen=True, slots=True)
class Direct:
    """The same value, stored directly."""

    name: str
    count: int = 3
    facts: Mapping[str, Any] = field(default_factory=dict)


def test_first_and_later_values_have_the_fields_that_were_given_and_the_defaults() -> None:
    for _ in range(2):
        value = Direct("a", facts={"b": 1})

        assert (value.name, value.count, value.facts) == ("a", 3, {"b": 1})
        assert Direct("a").facts is not Direct("a").facts
        assert replace(value, count=4) == Direct("a", 4, {"b": 1})
        assert pickle.loads(pickle.dumps(value)) == value


def test_the_parameters_are_those_of_the_standard_library_and_wrong_ones_are_refused() -> None:
    assert inspect.signature(Direct) == inspect.signature(Standard)
    for _ in range(2):
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'name'"):
            Direct()  # type: ignore[call-arg]
        with pytest.raises(TypeError, match="unexpected keyword argument 'size'"):
            Direct("a", size=1)  # type: ignore[call-arg]


def test_a_value_stays_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        Direct("a").count = 4  # type: ignore[misc]


def test_a_class_that_does_more_when_a_value_is_made_is_refused() -> None:
    with pytest.raises(TypeError, match="needs the __init__ of the standard library"):

        @with_direct_init
        @dataclass(frozen=True, slots=True)
        class Checked:
            name: str

            def __post_init__(self) -> None:
                """Do more."""
