"""The rehearsal model answers many phrasings of questions about random data, with pandas' numbers."""

from collections.abc import Callable
from pathlib import Path
from zlib import crc32

import pandas as pd
import pytest
from tests.harness.rehearsal import PlayedTurn, RehearsalHarness
from tests.model.rehearsal.random_dataset import RandomDataset, numbers_in, rows_of, unseen
from tests.sample_size import SOAKING

SEEDS = {"title-case": 1, "camel-case": 2, "snake-case": 3}
"""How the columns are named, and the seed of such data."""
CLOSE = 2e-3
"""Relative tolerance: answers round numbers to two decimals, or four digits when small."""


@pytest.fixture(params=SEEDS if SOAKING else ["one-case"])
def data(request: pytest.FixtureRequest) -> RandomDataset:
    """Random data whose columns are named in each way; in the sample, in one way that the test's name draws."""
    drawn = list(SEEDS.values())[crc32(request.node.name.encode()) % len(SEEDS)]
    return unseen(SEEDS.get(request.param, drawn))


def asked(data: RandomDataset, phrasing: str, folder: Path) -> PlayedTurn:
    prompt = phrasing.format(
        table=data.name,
        mass=data.say(data.mass),
        mass_as_stored=data.mass,
        mass_misspelt=data.misspell(data.mass),
        MASS=data.say(data.mass).upper(),
        size=data.say(data.size),
        kind=data.say(data.kind),
        kinds=data.say(data.kind) + "s",
        kind_misspelt=data.misspell(data.kind),
        place=data.say(data.place),
        value=data.frame[data.kind].iloc[0],
    )
    harness = RehearsalHarness(folder, **data.variables())
    before = data.frame.copy()
    answer = harness.ask(prompt)
    pd.testing.assert_frame_equal(harness.namespace[data.name], before)
    return answer


def same(stated: dict[str, list[float]], truth: "pd.Series[float]", at: int = 0) -> None:
    """Assert that every group is stated, with pandas' number."""
    assert set(stated) == {str(label) for label in truth.index}
    for label, number in truth.items():
        assert stated[str(label)][at] == pytest.approx(number, rel=CLOSE)


@pytest.mark.parametrize(
    "phrasing",
    [
        "mean {mass} by {kind}",
        "What is the average {mass} per {kind}?",
        "average {mass} for each {kind}, please",
        "group by {kind} and average the {mass}",
        "For every {kind}, give me the mean {mass}.",
        "avg {MASS} BY {kind}",
        "show me the mean of {mass_misspelt} by {kind_misspelt}",
        "{mass}: mean per {kind}",
        "Compute the mean `{mass_as_stored}` across {kinds}",
        "in @{table}, what is the average {mass} of each {kind}?",
    ],
)
def test_states_the_mean_of_every_group(data: RandomDataset, phrasing: str, tmp_path: Path) -> None:
    answer = asked(data, phrasing, tmp_path)

    same(rows_of(answer.text), data.frame.groupby(data.kind)[data.mass].mean())


@pytest.mark.parametrize(
    ("statistic", "phrasing"),
    [
        ("median", "median {mass} by {kind}"),
        ("sum", "total {mass} per {kind}"),
        ("max", "what's the maximum {mass} for each {kind}?"),
        ("min", "the minimum {mass} in each {kind}"),
        ("std", "standard deviation of {mass} by {kind}"),
        ("sum", "sum of {mass} grouped by {kind}"),
    ],
)
def test_states_other_statistics_of_groups(
    data: RandomDataset, statistic: str, phrasing: str, tmp_path: Path
) -> None:
    answer = asked(data, phrasing, tmp_path)

    same(rows_of(answer.text), data.frame.groupby(data.kind)[data.mass].agg(statistic))


@pytest.mark.parametrize(
    ("statistic", "phrasing"),
    [
        ("mean", "mean {mass}"),
        ("mean", "What is the average {mass}?"),
        ("max", "what is the highest {mass}"),
        ("min", "lowest {mass}?"),
        ("median", "tell me the median of {mass_misspelt}"),
        ("sum", "total {size}"),
        ("mean", "{size} on average"),
        ("std", "how large is the standard deviation of {mass}"),
    ],
)
def test_states_a_single_statistic(
    data: RandomDataset, statistic: str, phrasing: str, tmp_path: Path
) -> None:
    answer = asked(data, phrasing, tmp_path)

    column = data.size if "{size}" in phrasing else data.mass
    assert numbers_in(answer.text)[-1] == pytest.approx(
        data.frame[column].agg(statistic), rel=CLOSE
    )


@pytest.mark.parametrize(
    "phrasing",
    [
        "how many rows are there?",
        "count the rows in {table}",
        "number of rows",
        "How many records does {table} have?",
        "row count of {table}",
        "how many entries are in @{table}",
        "how many {table} are there",
    ],
)
def test_counts_rows(data: RandomDataset, phrasing: str, tmp_path: Path) -> None:
    answer = asked(data, phrasing, tmp_path)

    assert numbers_in(answer.text)[-1] == len(data.frame)


@pytest.mark.parametrize(
    "phrasing",
    [
        "count by {kind}",
        "how many rows per {kind}?",
        "number of rows for each {kind}",
        "How often does each {kind} occur?",
        "count the rows in every {kind}",
        "frequency of {kinds}",
        "{kind} counts",
        "which {kind} is most common?",
    ],
)
def test_counts_groups(data: RandomDataset, phrasing: str, tmp_path: Path) -> None:
    answer = asked(data, phrasing, tmp_path)

    same(rows_of(answer.text), data.frame[data.kind].value_counts())


@pytest.mark.parametrize(
    "phrasing",
    [
        "how many {value} are there?",
        "How many rows have {kind} {value}",
        "count the {value} rows",
        "number of {value}s",
        "how many rows where {kind} is {value}?",
    ],
)
def test_counts_the_rows_with_a_value(data: RandomDataset, phrasing: str, tmp_path: Path) -> None:
    answer = asked(data, phrasing, tmp_path)

    truth = (data.frame[data.kind] == data.frame[data.kind].iloc[0]).sum()
    assert numbers_in(answer.text)[-1] == truth


@pytest.mark.parametrize(
    ("test", "phrasing"),
    [
        ("over", "how many rows have a {mass} over 40?"),
        ("over", "count rows where {mass} is greater than 40"),
        ("over", "number of rows with {mass} > 40"),
        ("under", "how many have {mass} below 40"),
        ("under", "rows with a {mass} less than 40"),
        ("between", "how many rows have {mass} between 35 and 45?"),
    ],
)
def test_counts_the_rows_that_fit_a_comparison(
    data: RandomDataset, test: str, phrasing: str, tmp_path: Path
) -> None:
    answer = asked(data, phrasing, tmp_path)

    column = data.frame[data.mass]
    truth = {"over": column > 40, "under": column < 40, "between": column.between(35, 45)}
    assert truth[test].sum() in numbers_in(answer.text)


@pytest.mark.parametrize(
    "phrasing",
    [
        "how many different {kinds} are there?",
        "how many {kinds} are there",
        "number of distinct {kinds}",
        "how many unique values does {kind} have",
        "How many different {kind} values?",
    ],
)
def test_counts_different_values(data: RandomDataset, phrasing: str, tmp_path: Path) -> None:
    answer = asked(data, phrasing, tmp_path)

    assert 3 in numbers_in(answer.text)
    assert f"`{data.kind}`" in answer.text


@pytest.mark.parametrize(
    "phrasing",
    [
        "missing values?",
        "how many values are missing in each column",
        "count NaNs in {table}",
        "are there any null values",
        "which columns have missing values?",
        "show missing data",
    ],
)
def test_counts_what_is_missing(data: RandomDataset, phrasing: str, tmp_path: Path) -> None:
    answer = asked(data, phrasing, tmp_path)

    same(rows_of(answer.text), data.frame.isna().sum())


@pytest.mark.parametrize(
    "phrasing",
    [
        "correlation between {mass} and {size}",
        "how are {mass} and {size} correlated?",
        "Is there a relationship between {mass} and {size}?",
        "correlate {size} with {mass}",
        "does {mass} correlate with {size}?",
    ],
)
def test_states_a_correlation(data: RandomDataset, phrasing: str, tmp_path: Path) -> None:
    answer = asked(data, phrasing, tmp_path)

    truth = data.frame[data.mass].corr(data.frame[data.size])
    assert numbers_in(answer.text)[-1] == pytest.approx(truth, rel=CLOSE)


@pytest.mark.parametrize(
    "phrasing",
    [
        "top 3 rows by {mass}",
        "show the 3 rows with the highest {mass}",
        "three largest {mass}",
        "sort by {mass} and show the top 3",
        "which 3 rows have the largest {mass}? top 3 please",
    ],
)
def test_ranks_rows(data: RandomDataset, phrasing: str, tmp_path: Path) -> None:
    answer = asked(data, phrasing, tmp_path)

    for number in data.frame[data.mass].nlargest(3):
        assert any(stated == pytest.approx(number, rel=CLOSE) for stated in numbers_in(answer.text))


@pytest.mark.parametrize(
    "phrasing",
    [
        "which {kind} has the highest average {mass}?",
        "what {kind} has the largest mean {mass}",
        "compare {mass} across {kinds}",
        "{mass} by {kind}",
        "break down {mass} by {kind}",
    ],
)
def test_compares_groups(data: RandomDataset, phrasing: str, tmp_path: Path) -> None:
    answer = asked(data, phrasing, tmp_path)

    means = data.frame.groupby(data.kind)[data.mass].mean()
    stated = rows_of(answer.text)
    for label, number in means.items():
        assert any(one == pytest.approx(number, rel=CLOSE) for one in stated[str(label)])


@pytest.mark.parametrize(
    "phrasing",
    [
        "describe {table}",
        "give me an overview of the data",
        "summarise the data",
        "what's in {table}?",
        "tell me about this dataset",
        "Summary statistics, please",
        "What does @{table} look like?",
        "explore the table",
    ],
)
def test_describes_a_table(data: RandomDataset, phrasing: str, tmp_path: Path) -> None:
    answer = asked(data, phrasing, tmp_path)

    stated = rows_of(answer.text)
    assert numbers_in(answer.text)[0] == len(data.frame)
    truth = data.frame[data.mass].agg(["count", "mean", "min", "max"])
    assert stated[data.mass] == pytest.approx(list(truth), rel=CLOSE)


@pytest.mark.parametrize(
    "phrasing",
    [
        "what columns are there?",
        "list the columns of {table}",
        "show column names",
        "which columns does the data have",
        "what fields are in {table}",
        "columns?",
    ],
)
def test_names_the_columns(data: RandomDataset, phrasing: str, tmp_path: Path) -> None:
    answer = asked(data, phrasing, tmp_path)

    for column in data.frame.columns:
        assert f"`{column}`" in answer.text
    assert "python" not in answer.tools


PLOTS: list[tuple[str, Callable[[RandomDataset], "pd.Series[float]"]]] = [
    ("plot {mass} by {kind}", lambda d: d.frame.groupby(d.kind)[d.mass].mean()),
    ("draw a box plot of {mass} per {kind}", lambda d: d.frame.groupby(d.kind)[d.mass].mean()),
    ("bar chart of mean {mass} by {kind}", lambda d: d.frame.groupby(d.kind)[d.mass].mean()),
    (
        "Visualise the {mass_misspelt} for each {kind}",
        lambda d: d.frame.groupby(d.kind)[d.mass].mean(),
    ),
    ("can you graph {kind} counts?", lambda d: d.frame[d.kind].value_counts()),
    ("pie chart of {kinds}", lambda d: d.frame[d.kind].value_counts()),
]


@pytest.mark.slow
@pytest.mark.parametrize(("phrasing", "truth"), PLOTS, ids=[phrasing for phrasing, _ in PLOTS])
def test_plots_and_states_the_numbers_behind_the_plot(
    data: RandomDataset,
    phrasing: str,
    truth: Callable[[RandomDataset], "pd.Series[float]"],
    tmp_path: Path,
) -> None:
    answer = asked(data, phrasing, tmp_path)

    assert "plt.show()" in answer.code
    stated = rows_of(answer.text)
    for label, number in truth(data).items():
        assert any(one == pytest.approx(number, rel=CLOSE) for one in stated[str(label)])


@pytest.mark.slow
@pytest.mark.parametrize(
    "phrasing",
    [
        "histogram of {mass}",
        "plot the distribution of {mass}",
        "show me how {mass} is distributed",
        "draw a hist for {MASS}",
        "plot {mass}",
    ],
)
def test_plots_a_histogram(data: RandomDataset, phrasing: str, tmp_path: Path) -> None:
    answer = asked(data, phrasing, tmp_path)

    assert "plot.hist" in answer.code
    assert rows_of(answer.text)["mean"] == [pytest.approx(data.frame[data.mass].mean(), rel=CLOSE)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("phrasing", "x"),
    [
        ("scatter plot of {mass} against {size}", "size"),
        ("plot {mass} vs {size}", "size"),
        ("plot {mass} versus {size}", "size"),
        ("scatter {mass} and {size}", "mass"),
        ("Plot {mass} as a function of {size}.", "size"),
    ],
)
def test_plots_one_number_against_another(
    data: RandomDataset, phrasing: str, x: str, tmp_path: Path
) -> None:
    answer = asked(data, phrasing, tmp_path)

    assert f'scatter(x="{getattr(data, x)}"' in answer.code
    truth = data.frame[data.mass].corr(data.frame[data.size])
    assert numbers_in(answer.text)[-1] == pytest.approx(truth, rel=CLOSE)


def test_states_no_number_that_no_tool_returned(data: RandomDataset, tmp_path: Path) -> None:
    answer = asked(data, "mean {mass} by {kind}", tmp_path)

    returned = [number for output in answer.outputs for number in numbers_in(output)]
    for stated in numbers_in(answer.text):
        assert any(stated == pytest.approx(number, rel=CLOSE) for number in returned)


def test_says_which_words_it_did_not_link(data: RandomDataset, tmp_path: Path) -> None:
    answer = asked(data, "how many purple rows have {kind} {value}?", tmp_path)

    assert "`purple`" in answer.text
    assert "no value" in answer.text


def test_names_the_statistic_that_the_code_computes(data: RandomDataset, tmp_path: Path) -> None:
    answer = asked(data, "what is the highest in {table}?", tmp_path)

    assert answer.code == f"{data.name}.max(numeric_only=True)"
    assert rows_of(answer.text)[data.mass] == [
        pytest.approx(data.frame[data.mass].max(), rel=CLOSE)
    ]


@pytest.mark.parametrize("by", ["", " by {kind}"])
def test_states_several_statistics_at_once(data: RandomDataset, by: str, tmp_path: Path) -> None:
    answer = asked(data, "min and median of {mass}" + by, tmp_path)

    column = data.frame.groupby(data.kind)[data.mass] if by else data.frame[data.mass]
    truth = column.agg(["min", "median"]).to_numpy().flatten()
    stated = [number for row in rows_of(answer.text).values() for number in row]
    assert stated == pytest.approx(list(truth), rel=CLOSE)


def test_says_when_no_column_fits_an_adjective(data: RandomDataset, tmp_path: Path) -> None:
    assert "`tallest`" in asked(data, "what is the tallest?", tmp_path).text
