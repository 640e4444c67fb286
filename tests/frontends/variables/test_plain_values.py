"""A value is described before a prompt is sent only where that runs no code of the user and is done in a moment."""

import datetime
import decimal
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from palimpsest.frontends.variables.plain_values import MAX_ROWS, MAX_VALUES, describable_value
from palimpsest.session.interfaces.prompt_mentions import NotCounted

RAN: list[str] = []
"""Methods of the user that ran."""


class Loud:
    """A class of the user, whose methods must not run."""

    def __getattribute__(self, name: str) -> Any:
        RAN.append(name)
        return object.__getattribute__(self, name)

    def __repr__(self) -> str:
        RAN.append("repr")
        return "loud"

    def __hash__(self) -> int:
        RAN.append("hash")
        return 1


class Text(str):
    """A text with methods of the user."""

    __slots__ = ()


class Frame(pd.DataFrame):
    """A frame with methods of the user."""


def function(first: int, second: str = "x") -> None:
    """A function of the user."""


LOUD = Loud()


def surprising(first: Any = LOUD) -> None:
    """A function whose default is shown by its repr."""


@pytest.mark.parametrize(
    "value",
    [
        None,
        1,
        "text",
        b"bytes",
        [1, {"a": (2.5, {3})}],
        range(3),
        datetime.date(2026, 1, 2),
        decimal.Decimal(1),
        Path("a"),
        np.arange(6).reshape(2, 3),
        np.float64(1),
        np.array(["a", None], dtype=object),
        pd.Timestamp("2026-01-02"),
        pd.Series([1.5, 2], name="mass"),
        pd.DataFrame({"name": ["a", None], "mass": [1, 2], "when": pd.to_datetime(["2026"] * 2)}),
        pd.DataFrame(
            {"kind": pd.Categorical(["a", "b"])}, index=pd.MultiIndex.from_product([[1], [2, 3]])
        ),
        function,
        len,
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_of_known_types_are_described_as_they_are(value: Any) -> None:
    assert describable_value(value) is value


@pytest.mark.parametrize(
    "make",
    [
        Loud,
        lambda: [1, [Loud()]],
        lambda: {"a": Loud()},
        lambda: {Loud(): 1},
        lambda: [Text("a")],
        lambda: OrderedDict(a=1),
        lambda: Loud,
        lambda: surprising,
        lambda: np.array([Loud()], dtype=object),
        lambda: pd.DataFrame({"a": [Loud()]}),
        lambda: pd.DataFrame({"a": [1]}, index=pd.Index([Text("a")], dtype=object)),
        lambda: Frame({"a": [1]}),
        lambda: {number: number for number in range(MAX_VALUES)},
    ],
)
def test_what_may_run_code_of_the_user_or_take_long_is_not(make: Callable[[], Any]) -> None:
    value = make()
    RAN.clear()

    with pytest.raises(NotCounted):
        describable_value(value)
    assert RAN == []


def test_of_what_is_long_the_beginning_is_described() -> None:
    frame = pd.DataFrame({"a": range(5_000)})

    assert len(describable_value(frame)) == MAX_ROWS
    assert len(describable_value(list(range(5_000)))) == MAX_ROWS
    assert len(describable_value("x" * 1_000_000)) < 1_000_000
