"""Every number that the rehearsal model states about a table equals pandas' own."""

import re
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from tests.harness.rehearsal import PlayedTurn, RehearsalHarness
from tests.sample_size import sample_size

NUMBER = r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
PHASES = [Phase.explicit, Phase.reuse, Phase.generate]
"""Without shrinking, which would play hundreds of turns: a failing frame is printed as it is."""
NOTHING_ELSE = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


def extremes(answer: PlayedTurn) -> dict[str, tuple[str, str]]:
    """Return the groups named as highest and lowest, each with its number."""
    match = re.search(
        rf"Highest [\w ]+: `([^`]*)`(?: and \d+ more)? \(({NUMBER})\);"
        rf" lowest: `([^`]*)`(?: and \d+ more)? \(({NUMBER})\)",
        answer.text,
    )
    return {"max": (match[1], match[2]), "min": (match[3], match[4])} if match else {}


STATISTICS = ["mean", "median", "sum", "min", "max", "std", "var"]
Oracle = Callable[[pd.DataFrame], Sequence[Any]]


def cells(found: "pd.DataFrame | pd.Series[Any]", *, index: bool = False) -> list[Any]:
    """Return the numbers of a table, row by row."""
    frame = found.to_frame() if isinstance(found, pd.Series) else found
    rows = (row if index else row[1:] for row in frame.itertuples())
    return [one for row in rows for one in row if not isinstance(one, str)]


def means(df: pd.DataFrame) -> list[Any]:
    return cells(df.groupby("region")["weight"].mean())


def counts(df: pd.DataFrame) -> list[Any]:
    return cells(df["region"].value_counts(dropna=False))


def summary(df: pd.DataFrame) -> list[Any]:
    return cells(df.groupby("region")["weight"].agg(["count", "mean", "min", "max"]))


def top(df: pd.DataFrame, number: int) -> list[Any]:
    largest = df.nlargest(number, "weight")
    return [largest["weight"].iloc[0], *cells(largest)]


ASKED: dict[str, Oracle] = {
    "how many rows?": lambda df: [len(df)],
    "how many columns does df have?": lambda df: df.shape,
    **{
        f"{one} of {column} in df": lambda df, one=one, column=column: [df[column].agg(one)]  # type: ignore[misc]
        for one in STATISTICS
        for column in ("weight", "age")
    },
    "what is the highest weight in df?": lambda df: [df["weight"].max()],
    "what is the lowest age in df?": lambda df: [df["age"].min()],
    "mean of each column of df": lambda df: cells(df.mean(numeric_only=True)),
    "missing values in df": lambda df: cells(df.isna().sum()),
    "how many missing values in weight of df?": lambda df: [df["weight"].isna().sum()],
    "how many different regions in df?": lambda df: [df["region"].nunique()],
    "describe df": lambda df: [
        len(df),
        df.isna().sum().sum(),
        3,
        df["region"].nunique(),
        *cells(df[["weight", "age"]].agg(["count", "mean", "min", "max"]).T),
    ],
    "describe weight of df": lambda df: [
        one
        for name, value in df["weight"].describe().items()
        for one in ([float(str(name)[:-1])] if "%" in str(name) else []) + [value]
    ],
    "how many rows of df have age over 40?": lambda df: [(df["age"] > 40).sum(), 40],
    "mean weight in df where age over 40": lambda df: [40, df[df["age"] > 40]["weight"].mean()],
    "rows of df with age over 40": lambda df: [
        (df["age"] > 40).sum(),
        40,
        *cells(df[df["age"] > 40], index=True),
    ],
    "first 3 rows of df": lambda df: cells(df.head(3), index=True),
    "last 2 rows of df": lambda df: cells(df.tail(2), index=True),
    "top 3 by weight in df": lambda df: top(df, 3),
    "correlation between weight and age in df": lambda df: [df["weight"].corr(df["age"])],
    **dict.fromkeys(
        ["summary of weight by region in df", "compare weight across regions"], summary
    ),
    "mean weight and age by region in df": lambda df: cells(
        df.groupby("region")[["weight", "age"]].mean()
    ),
    "sum of weight by region in df where age over 40": lambda df: [
        40,
        *cells(df[df["age"] > 40].groupby("region")["weight"].sum()),
    ],
    **dict.fromkeys(["count by region in df", "how often does each region occur?"], counts),
    **dict.fromkeys(
        ["Average WEIGHT per region, please", "group by region and average the weight"], means
    ),
}
"""Prompts, and the numbers that pandas gives for them, in the order in which they are stated."""

EXTREMES = re.compile(
    rf"Highest ([^:]*): `([^`]*)`(?: and (\d+) more)? \(({NUMBER})\);"
    rf" lowest: `([^`]*)`(?: and (\d+) more)? \(({NUMBER})\)\."
)


@st.composite
def small_frames(draw: st.DrawFn) -> pd.DataFrame:
    """Draw frames of up to eight rows whose numbers are large, small, close to one another or missing."""
    rows = draw(st.integers(1, 8))
    some = partial(st.lists, min_size=rows, max_size=rows)
    size = draw(st.sampled_from([1, 100, 10_000_000]))
    numbers = st.integers(-99_999, 99_999).map(lambda one: one * size / 1_000)
    labels = draw(some(st.sampled_from(["qab", "qcd", "qef gh", None])))
    return pd.DataFrame(
        {
            "region": pd.Series(labels, dtype="object"),
            "weight": pd.Series(draw(some(numbers | st.none())), dtype="float64"),
            "age": draw(some(st.integers(0, 99) | st.integers(0, 2_000_000_000))),
        }
    )


def is_stated(stated: str, value: float) -> bool:
    """Return whether a number equals another one as shown; without an exponent all its digits are shown."""
    if "e" in stated:
        return float(stated) == pytest.approx(value, rel=1e-6)
    digits = (
        0.0051 if abs(value) >= 10 else 0.00051 if abs(value) >= 1 else 1e-6 + abs(value) * 6e-4
    )
    return abs(float(stated) - value) <= digits


def stated(text: str) -> list[str]:
    """Return all numbers of an answer in order."""
    return re.findall(rf"(?<![\w.]){NUMBER}(?![\w.]*\w)", text)


GROUPED: dict[str, tuple[str, Callable[[pd.DataFrame], "pd.Series[Any]"]]] = {
    **dict.fromkeys(
        [
            "summary of weight by region in df",
            "compare weight across regions",
            "Average WEIGHT per region, please",
            "group by region and average the weight",
        ],
        ("mean", lambda df: df.groupby("region")["weight"].mean()),
    ),
    "mean weight and age by region in df": (
        "mean of `weight`",
        lambda df: df.groupby("region")["weight"].mean(),
    ),
    "sum of weight by region in df where age over 40": (
        "sum",
        lambda df: df[df["age"] > 40].groupby("region")["weight"].sum(),
    ),
    **dict.fromkeys(
        ["count by region in df", "how often does each region occur?"],
        ("count", lambda df: df["region"].value_counts()),
    ),
}
"""By prompt, the compared quantity, and its value for each group."""


def assert_extremes(prompt: str, match: "re.Match[str]", df: pd.DataFrame) -> None:
    """Compare the groups named as highest and lowest with pandas."""
    what, oracle = GROUPED[prompt]
    truth = oracle(df)
    assert match[1] == what, prompt
    for (label, more, number), end in (
        (match.group(2, 3, 4), truth.max()),
        (match.group(5, 6, 7), truth.min()),
    ):
        assert is_stated(number, end), (prompt, match[0])
        assert truth[label] == pytest.approx(end, rel=1e-6, abs=1e-6), (prompt, match[0])
        assert int(more or 0) >= (truth == end).sum() - 1, (prompt, match[0])


CLOSE_AND_LARGE = pd.DataFrame(
    {
        "region": ["qab", "qcd", "qab", "qcd", "qef gh", None],
        "weight": [1.5, 1.502, None, 1.502, 12_345_678.91, 0.25],
        "age": [41, 42, 12_345_678, 41, 3, 41],
    }
)
"""Numbers that are equal when rounded, and numbers that pandas prints with an exponent."""


@example(df=CLOSE_AND_LARGE, asked=[*ASKED])
@given(df=small_frames(), asked=st.lists(st.sampled_from([*ASKED]), min_size=4, max_size=4))
@settings(
    max_examples=sample_size(2, 1_000),
    phases=PHASES,
    deadline=None,
    suppress_health_check=NOTHING_ELSE,
)
def test_every_number_of_an_answer_is_the_one_of_pandas(
    tmp_path: Path, df: pd.DataFrame, asked: list[str]
) -> None:
    harness = RehearsalHarness(tmp_path, df=df)
    harness.ask("hello")
    for prompt in asked:
        text = harness.ask(prompt).text
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            truth = [one for one in ASKED[prompt](df) if one is not None and not pd.isna(one)]

        match = EXTREMES.search(text)
        rest = re.sub(r"All have the same [^:]*: \S+\.", "", EXTREMES.sub("", text))
        numbers = stated(rest)
        assert len(numbers) == len(truth), (prompt, text, truth)
        assert all(map(is_stated, numbers, truth)), (prompt, text, truth)
        if match:
            assert_extremes(prompt, match, df)


@pytest.mark.soak  # with each commit every number of an answer is the one of pandas, above; this adds tables that pandas shortens
@pytest.mark.parametrize(
    "prompt",
    [
        "mean price by city",
        "price by city",
        "which city has the highest mean price?",
        "plot price by city",
    ],
)
def test_a_table_that_pandas_shortened_is_not_taken_for_the_whole(
    prompt: str, tmp_path: Path
) -> None:
    prices = [float(number * 37 % 100) for number in range(100)]
    df = pd.DataFrame({"city": [f"city{n:03}" for n in range(100)], "price": prices})

    answer = RehearsalHarness(tmp_path, df=df).ask(prompt)

    assert extremes(answer)["max"] == (df["city"][df["price"].idxmax()], "99")
    assert extremes(answer)["min"] == (df["city"][df["price"].idxmin()], "0")


def test_an_output_that_is_too_long_to_be_seen_states_no_number(tmp_path: Path) -> None:
    df = pd.DataFrame({"city": [f"city{n:03}" for n in range(100)], "price": range(100)})
    harness = RehearsalHarness(tmp_path, df=df)
    run = harness.run

    def cut(name: str, given: dict[str, object]) -> str:
        lines = run(name, given).splitlines()
        gap = "...80 lines truncated..."
        return "\n".join([*lines[:10], gap, *lines[-10:]] if len(lines) > 90 else lines)

    harness.run = cut  # type: ignore[method-assign]
    answer = harness.ask("mean price by city")

    assert "is longer than I can see whole" in answer.text
    assert extremes(answer) == {}
