"""Every number that the rehearsal model states of a table is the one that pandas gives."""

import re
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.amount import amount
from tests.model.rehearsal.house import Answered, House

NUMBER = r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
PHASES = [Phase.explicit, Phase.reuse, Phase.generate]
"""Without shrinking, which plays hundreds of turns: a frame that fails is printed as it is."""
NOTHING_ELSE = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]

names = st.from_regex(r"[a-z]{3,9}( [a-z]{2,5})?", fullmatch=True).map(lambda name: f"q{name}")


@st.composite
def frames(draw: st.DrawFn) -> pd.DataFrame:
    """Frames of a few to a few hundred groups: short, longer than pandas shows, with gaps and ties."""
    groups = draw(st.integers(1, 12) | st.integers(55, 130))
    labels = draw(st.lists(names, min_size=groups, max_size=groups, unique=True))
    each = draw(st.integers(1, 3))
    cents = st.integers(-99_999, 99_999).map(lambda cent: cent / 100)
    values = draw(
        st.lists(cents | st.none(), min_size=groups * each, max_size=groups * each).filter(
            lambda found: any(one is not None for one in found)
        )
    )
    return pd.DataFrame({"region": labels * each, "weight": pd.Series(values, dtype="float64")})


def close(stated: str, value: float) -> bool:
    """Tell whether a number is another one as shown: two decimals, or four digits when small."""
    return abs(float(stated) - value) <= max(0.006, abs(value) * 6e-4)


def extremes(answer: Answered) -> dict[str, tuple[str, str]]:
    """Return which group is named as the highest and the lowest, each with its number."""
    found = re.search(
        rf"Highest [\w ]+: `([^`]*)` \(({NUMBER})\); lowest: `([^`]*)` \(({NUMBER})\)", answer.text
    )
    return {"max": (found[1], found[2]), "min": (found[3], found[4])} if found else {}


def stated_rows(answer: Answered) -> dict[str, str]:
    """Return the first number of each row of the answer's table."""
    rows = re.findall(rf"(?m)^\| (q[^|]*?) \| ({NUMBER}|missing) \|", answer.text)
    return dict(rows)


@given(df=frames(), statistic=st.sampled_from(["mean", "median", "sum", "max", "min"]))
@settings(
    max_examples=amount(15, 300), phases=PHASES, deadline=None, suppress_health_check=NOTHING_ELSE
)
def test_what_is_said_of_groups_is_what_pandas_says(
    tmp_path: Path, df: pd.DataFrame, statistic: str
) -> None:
    truth = df.groupby("region")["weight"].agg(statistic)

    answer = House(tmp_path, df=df).ask(f"{statistic} weight by region")

    for which, (label, number) in extremes(answer).items():
        assert close(number, getattr(truth, which)())
        assert close(number, truth[label])
    for label, number in stated_rows(answer).items():
        assert pd.isna(truth[label]) if number == "missing" else close(number, truth[label])
    assert len(stated_rows(answer)) == min(15, len(truth))
    if truth.max() - truth.min() > 0.1:
        assert extremes(answer)


@given(df=frames())
@settings(
    max_examples=amount(10, 200), phases=PHASES, deadline=None, suppress_health_check=NOTHING_ELSE
)
def test_counts_shares_and_rankings_are_those_of_pandas(tmp_path: Path, df: pd.DataFrame) -> None:
    house = House(tmp_path, df=df)

    counted = house.ask("count by region")
    truth = df["region"].value_counts()
    assert all(int(number) == truth[label] for label, number in stated_rows(counted).items())
    for which, (label, number) in extremes(counted).items():
        assert int(number) == getattr(truth, which)() == truth[label]

    summary = house.ask("describe df").text
    assert f"**{len(df)} rows, {df.isna().sum().sum()} missing values**" in summary
    largest = re.search(
        rf"The largest `weight` in `df` is \*\*({NUMBER})\*\*", house.ask("top 80 by weight").text
    )
    assert largest is not None
    assert close(largest[1], df["weight"].max())


@given(df=frames())
@settings(
    max_examples=amount(6, 100), phases=PHASES, deadline=None, suppress_health_check=NOTHING_ELSE
)
def test_a_file_that_is_not_loaded_is_loaded_for_a_question_about_it(
    tmp_path: Path, df: pd.DataFrame
) -> None:
    df.to_csv(tmp_path / "birds.csv", index=False)

    answer = House(tmp_path).ask(
        "Read birds.csv with Python and tell me its number of rows and the mean of weight"
    )

    mean = re.search(rf"The mean of `weight` in `birds` is \*\*({NUMBER})\*\*", answer.text)
    assert mean is not None
    assert close(mean[1], df["weight"].mean())
    assert f"`birds` has **{len(df)} rows**" in answer.text
    assert "read" not in answer.tools


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

    answer = House(tmp_path, df=df).ask(prompt)

    assert extremes(answer)["max"] == (df["city"][df["price"].idxmax()], "99")
    assert extremes(answer)["min"] == (df["city"][df["price"].idxmin()], "0")


def test_an_output_that_is_too_long_to_be_seen_states_no_number(tmp_path: Path) -> None:
    df = pd.DataFrame({"city": [f"city{n:03}" for n in range(100)], "price": range(100)})
    house = House(tmp_path, df=df)
    run = house.run

    def cut(name: str, given: dict[str, object]) -> str:
        lines = run(name, given).splitlines()
        gap = "...80 lines truncated..."
        return "\n".join([*lines[:10], gap, *lines[-10:]] if len(lines) > 90 else lines)

    house.run = cut  # type: ignore[method-assign]
    answer = house.ask("mean price by city")

    assert "is longer than I can see whole" in answer.text
    assert extremes(answer) == {}
