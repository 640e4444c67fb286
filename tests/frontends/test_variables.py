"""Variables are described in words and never touched."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from palimpsest.frontends.variables import describe, list_variables
from palimpsest.transcript.errors import NotFound


class Angry:
    """An object whose repr fails."""

    def __repr__(self) -> str:
        raise ValueError("not me")


def make(x: int, y: int = 1) -> int:
    return x + y


def shell(**names: Any) -> Any:
    hidden = {"get_ipython": print}
    return SimpleNamespace(user_ns={**hidden, **names}, user_ns_hidden=hidden)


def test_lists_the_users_names_alone() -> None:
    found = list_variables(shell(b=2, a="x", _hidden=1, math=math))

    assert [(one.name, one.kind, one.summary) for one in found] == [
        ("a", "str", "'x'"),
        ("b", "int", "2"),
    ]


@pytest.mark.parametrize(
    ("value", "kind", "words"),
    [
        (pd.DataFrame({"a": [1], "b": ["x"]}), "pandas.DataFrame", "1 rows x 2 columns: a, b"),
        (pd.Series([1.0], name="m"), "pandas.Series", "1 values of float64, named 'm'"),
        (np.zeros((3, 4)), "numpy.ndarray", "3 x 4 of float64"),
        ([1, 2], "list", "2 items: [1, 2]"),
        ({}, "dict", "empty"),
        (make, "function", "make(x: int, y: int = 1)"),
        (Angry(), "Angry", "failed with ValueError"),
        ("x" * 1000, "str", "..."),
    ],
    ids=lambda value: type(value).__name__,
)
def test_says_in_one_line_what_a_value_is(value: Any, kind: str, words: str) -> None:
    (found,) = list_variables(shell(value=value))

    assert found.kind.endswith(kind)
    assert words in found.summary
    assert "\n" not in found.summary


def test_describes_a_table_with_types_rows_and_statistics() -> None:
    frame = pd.DataFrame({"kind": ["a", None], "mass": [1.5, 2.5]})

    text = describe(shell(df=frame), "df")

    for words in ("2 rows x 2 columns", "kind: ", "mass: float64, 2", "statistics", "2.0"):
        assert words in text


def test_follows_paths_of_names_keys_and_numbers() -> None:
    here = shell(df=pd.DataFrame({"a": [1]}), data={"k": [10, 20]})

    assert "Index" in describe(here, "df.columns")
    assert describe(here, "data['k'][1]").endswith("20")
    assert describe(here, "data['k'][-2]").endswith("10")


@pytest.mark.parametrize(
    "path", ["nothing", "df.nothing", "data['no']", "f()", "df + 1", "", "data[9]"]
)
def test_what_is_not_there_is_said(path: str) -> None:
    with pytest.raises(NotFound):
        describe(shell(df=pd.DataFrame(), data={}, f=print), path)


def test_long_descriptions_are_shortened() -> None:
    text = describe(shell(x="y" * 100_000), "x", max_chars=500)

    assert len(text) <= 500


def test_nothing_is_changed() -> None:
    frame = pd.DataFrame({"a": [1]})
    here = shell(df=frame)
    before = dict(here.user_ns)

    list_variables(here)
    describe(here, "df")

    assert here.user_ns == before
