"""A fingerprint changes when a value does, stays when it does not, and says what it has not looked at."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palimpsest.frontends.variables.variable_fingerprints import (
    MAX_WHOLE_BYTES,
    Fingerprint,
    Fingerprints,
)

ATOMS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
VALUES = st.recursive(
    ATOMS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


def look(value: Any) -> Fingerprint:
    return Fingerprints(seconds=60).fingerprint_of(value)


def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "number": range(6),
            "text": list("abcdef"),
            "kind": pd.Categorical(list("uvuvuv")),
            "day": pd.date_range("2026-01-01", periods=6),
            "some": pd.array([1, None] * 3, dtype="Int64"),
        }
    )


def set_item(key: Any, value: Any) -> Callable[[Any], None]:
    def change(target: Any) -> None:
        target[key] = value

    return change


def set_loc(row: int, column: str, value: Any) -> Callable[[pd.DataFrame], None]:
    def change(target: pd.DataFrame) -> None:
        target.loc[row, column] = value

    return change


@pytest.mark.parametrize(
    ("value", "change"),
    [
        ([1], lambda v: v.append(2)),
        ({"a": [1]}, lambda v: v["a"].append(2)),
        ({1, 2}, lambda v: v.add(3)),
        (np.zeros(9), set_item(4, 1)),
        (np.zeros((40, 30)).T[::2], set_item((3, 7), 1)),
        (np.array(["a", []], dtype=object), lambda v: v[1].append(1)),
        (frame(), set_item("new", 1)),
        (frame(), set_loc(2, "number", 99)),
        (frame(), set_loc(2, "text", "z")),
        (frame(), set_loc(2, "kind", "v")),
        (frame(), set_loc(2, "day", pd.Timestamp("1999-01-01"))),
        (frame(), set_loc(2, "some", 7)),
        (frame()["number"].copy(), set_item(0, 99)),
    ],
    ids=lambda one: type(one).__name__ if not callable(one) else "",
)
def test_a_change_in_place_is_noticed(value: Any, change: Callable[[Any], Any]) -> None:
    before = look(value)
    assert look(value) == before
    assert before.is_complete

    change(value)

    assert look(value).checksum != before.checksum


@given(VALUES)
def test_equal_plain_values_have_equal_marks(value: Any) -> None:
    assert look(value).checksum == look(copy.deepcopy(value)).checksum


@settings(max_examples=60)
@given(st.lists(VALUES, min_size=1, max_size=4), st.data())
def test_any_change_of_plain_values_is_noticed(values: list[Any], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(values) - 1))
    new = data.draw(ATOMS.filter(lambda one: repr(one) != repr(values[at])))
    before = look(values)

    values[at] = new

    assert look(values).checksum != before.checksum


def test_a_large_array_is_sampled_and_says_so() -> None:
    large = np.zeros(MAX_WHOLE_BYTES // 8 + 1_000_000)
    before = look(large)

    large[:] = 1

    assert not before.is_complete
    assert look(large).checksum != before.checksum


def test_no_code_of_a_class_runs() -> None:
    ran: list[str] = []

    class Loud:
        __slots__ = ("__dict__",)

        def __getattribute__(self, name: str) -> Any:
            ran.append(name)
            return object.__getattribute__(self, name)

        def __eq__(self, other: object) -> bool:
            ran.append("eq")
            return True

        def __hash__(self) -> int:
            ran.append("hash")
            return 1

    class Odd(list[int]):
        def __len__(self) -> int:
            ran.append("len")
            return 3

        def __iter__(self) -> Any:
            ran.append("iter")
            return iter(())

    objects = np.empty(1, dtype=object)
    objects[0] = Loud()
    ran.clear()
    for value in (Loud(), [Loud()], {"a": Loud()}, Odd([1]), objects):
        look(value)

    assert ran == []


def test_attributes_of_an_object_are_looked_into() -> None:
    class Model:
        pass

    model: Any = Model()
    model.weights = [1.0]
    before = look(model)

    model.weights.append(2.0)

    assert look(model).checksum != before.checksum
    assert not before.is_complete, "what a C extension keeps is not seen"


def test_when_the_time_is_over_nothing_is_claimed() -> None:
    late = Fingerprints(seconds=-1.0).fingerprint_of([1])

    assert not late.is_complete
    assert late.checksum == 0
