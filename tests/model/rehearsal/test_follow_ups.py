"""A follow-up prompt keeps the table, columns and conditions of the previous one."""

from pathlib import Path

import pytest
from tests.harness.rehearsal import RehearsalHarness
from tests.model.rehearsal.random_dataset import RandomDataset, rows_of, unseen


@pytest.fixture
def data() -> RandomDataset:
    return unseen(5)


@pytest.fixture
def harness(data: RandomDataset, tmp_path: Path) -> RehearsalHarness:
    return RehearsalHarness(tmp_path, **data.variables())


@pytest.mark.parametrize(
    "phrasing",
    [
        "and by {place}?",
        "now by {place}",
        "what about {place}?",
        "how about {place}",
        "the same for {place}",
        "same by {place}, please",
    ],
)
def test_groups_by_another_column(
    data: RandomDataset, harness: RehearsalHarness, phrasing: str
) -> None:
    harness.ask(f"mean {data.say(data.mass)} by {data.say(data.kind)}")
    answer = harness.ask(phrasing.format(place=data.say(data.place)))

    means = data.frame.groupby(data.place)[data.mass].mean()
    assert rows_of(answer.text) == {
        label: [pytest.approx(mean, rel=2e-3)] for label, mean in means.items()
    }


@pytest.mark.parametrize(
    "phrasing",
    ["and the median?", "median instead", "now the median", "the median?", "what about the median"],
)
def test_changes_the_statistic(
    data: RandomDataset, harness: RehearsalHarness, phrasing: str
) -> None:
    harness.ask(f"mean {data.say(data.mass)} by {data.say(data.kind)}")
    answer = harness.ask(phrasing)

    medians = data.frame.groupby(data.kind)[data.mass].median()
    assert rows_of(answer.text) == {
        label: [pytest.approx(median, rel=2e-3)] for label, median in medians.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "phrasing",
    [
        "now as a bar chart",
        "as bars",
        "make it a bar plot",
        "bar chart instead",
        "plot that as a bar chart",
    ],
)
def test_changes_the_chart(data: RandomDataset, harness: RehearsalHarness, phrasing: str) -> None:
    harness.ask(f"plot {data.say(data.mass)} by {data.say(data.kind)}")
    answer = harness.ask(phrasing)

    assert ".plot.bar(" in answer.code
    assert set(rows_of(answer.text)) == set(data.frame[data.kind])


@pytest.mark.parametrize(
    "phrasing",
    [
        "only the {value} ones",
        "just {value}",
        "and for {value}?",
        "only {value}",
        "restrict that to {value}",
    ],
)
def test_keeps_only_some_rows(
    data: RandomDataset, harness: RehearsalHarness, phrasing: str
) -> None:
    value = data.frame[data.kind].iloc[0]
    harness.ask(f"mean {data.say(data.mass)}")
    answer = harness.ask(phrasing.format(value=value))

    truth = data.frame.loc[data.frame[data.kind] == value, data.mass].mean()
    assert f"**{truth:.2f}**" in answer.text


def test_adds_a_grouping_when_asked_to(data: RandomDataset, harness: RehearsalHarness) -> None:
    harness.ask(f"mean {data.say(data.mass)} by {data.say(data.kind)}")
    answer = harness.ask(f"also by {data.say(data.place)}")

    assert f'groupby(["{data.kind}", "{data.place}"])' in answer.code


def test_goes_on_after_thanks(data: RandomDataset, harness: RehearsalHarness) -> None:
    harness.ask(f"mean {data.say(data.mass)} by {data.say(data.kind)}")
    harness.ask("thanks!")
    answer = harness.ask(f"and {data.say(data.size)}?")

    assert answer.code == f'{data.name}.groupby("{data.kind}")["{data.size}"].mean().reset_index()'


def test_compares_with_another_number(data: RandomDataset, harness: RehearsalHarness) -> None:
    harness.ask(f"how many rows have {data.say(data.mass)} over 30?")
    answer = harness.ask("and over 40?")

    assert f"**{(data.frame[data.mass] > 40).sum()}**" in answer.text


def test_repairs_a_column_that_was_renamed_meanwhile(
    data: RandomDataset, harness: RehearsalHarness
) -> None:
    harness.ask(f"mean {data.say(data.mass)} by {data.say(data.kind)}")
    renamed = data.frame.rename(columns={data.mass: f"{data.mass}2"})
    harness.namespace[data.name] = renamed
    answer = harness.ask("median instead")

    medians = renamed.groupby(data.kind)[f"{data.mass}2"].median()
    assert "KeyError" in answer.text
    assert rows_of(answer.text) == {
        label: [pytest.approx(median, rel=2e-3)] for label, median in medians.items()
    }


def test_does_not_guess_what_it_refers_to(harness: RehearsalHarness) -> None:
    answer = harness.ask("now as a bar chart")

    assert "bar chart of" not in answer.text or "python" in answer.tools
