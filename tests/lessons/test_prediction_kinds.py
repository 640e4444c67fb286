"""Each kind of prediction takes what is one, refuses the rest with a sentence, and says how far it is from the truth."""

from types import SimpleNamespace
from typing import Any

import pytest

from palimpsest.lessons.prediction_kinds import (
    ChoiceKind,
    NumberKind,
    OrderKind,
    PredictionKind,
    SquareKind,
)
from palimpsest.transcript.errors import UserError

SHARE = NumberKind("%")
COST = NumberKind("USD", 0, 50, decimals=2)
CAUSE = ChoiceKind(("a pause", "another model", "a compaction"))
ORDER = OrderKind(("raw", "last 5", "last 10"), first="cheapest")
SQUARE = SquareKind()
REQUEST = SquareKind(requests_only=True)
VIEW = SimpleNamespace(place=SimpleNamespace(request=7, item=3))


@pytest.mark.parametrize(
    ("kind", "given", "checked", "words"),
    [
        (SHARE, "40", 40.0, "40 %"),
        (COST, 12.5, 12.5, "12.50 USD"),
        (CAUSE, 2, "another model", "another model"),
        (CAUSE, " A Pause ", "a pause", "a pause"),
        (ORDER, [2, "RAW", 3], ["last 5", "raw", "last 10"], "last 5 → raw → last 10"),
        (SQUARE, (7, 3), [7, 3], "request 7, item 3"),
        (SQUARE, VIEW, [7, 3], "request 7, item 3"),
        (REQUEST, VIEW, [7], "request 7"),
        (REQUEST, 7, [7], "request 7"),
    ],
)
def test_takes_a_value_and_says_it(
    kind: PredictionKind, given: Any, checked: Any, words: str
) -> None:
    assert kind.validated_value(given) == checked
    assert kind.value_text(checked) == words
    assert kind.validated_value(checked) == checked


@pytest.mark.parametrize(
    ("kind", "given", "sentence"),
    [
        (SHARE, 101, "Give a number from 0 to 100 %; 101 is none."),
        (SHARE, "much", "'much' is none"),
        (SHARE, True, "True is none"),
        (SHARE, None, "None is none"),
        (SHARE, float("nan"), "nan is none"),
        (CAUSE, 4, "4 is none of the options: 1 'a pause', 2 'another model', 3 'a compaction'."),
        (CAUSE, None, "is none of the options"),
        (ORDER, [1, 1, 2], "Give all 3 once in a list, the cheapest one first: 1 raw, 2 last 5"),
        (ORDER, "raw", "Give all 3 once in a list"),
        (SQUARE, 7, "Choose a square of the grid"),
        (SQUARE, (7,), "the numbers of request and item, as (7, 3)"),
        (REQUEST, SimpleNamespace(place=SimpleNamespace(request=None)), "Choose a request"),
    ],
)
def test_refuses_what_is_none(kind: PredictionKind, given: Any, sentence: str) -> None:
    with pytest.raises(UserError) as refused:
        kind.validated_value(given)

    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "value", "truth", "distance", "words"),
    [
        (SHARE, 40.0, 51.7, 11.7, "12 too low"),
        (SHARE, 52.0, 51.7, 0.3, "right"),
        (COST, 17.0, 14.21, 2.79, "2.79 too high"),
        (CAUSE, "a pause", "a pause", 0.0, "right"),
        (CAUSE, "a pause", "another model", None, "wrong"),
        (
            ORDER,
            ["last 10", "last 5", "raw"],
            ["raw", "last 5", "last 10"],
            3.0,
            "3 of 3 pairs the wrong way round",
        ),
        (SQUARE, [7, 3], [7, 3], 0.0, "right"),
        (SQUARE, [7, 3], [7, 4], None, "the right request, another item"),
        (SQUARE, [6, 3], [7, 4], 1.0, "1 request too early"),
        (REQUEST, [9], [7], 2.0, "2 requests too late"),
    ],
)
def test_says_how_far_it_is_from_the_truth(
    kind: PredictionKind, value: Any, truth: Any, distance: float | None, words: str
) -> None:
    error = kind.distance(value, truth)

    assert error == (pytest.approx(distance) if distance is not None else None)
    assert kind.distance_text(value, truth) == words
