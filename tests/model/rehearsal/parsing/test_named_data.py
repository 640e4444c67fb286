"""The rehearsal model finds the data that a prompt names: tables, other variables, and data files."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.harness.rehearsal import RehearsalHarness
from tests.model.rehearsal.random_dataset import numbers_in, unseen
from tests.sample_size import sample_size

from palimpsest.model.rehearsal.generation.load_code import variable_name
from palimpsest.model.rehearsal.parsing.prompt_parser import ParsedPrompt

THINGS: dict[str, Any] = {
    "ages": [30, 41, 22.5],
    "grid": np.arange(12).reshape(3, 4),
    "levels": pd.Series([1.0, 2.0, 2.0, 3.0], name="level"),
    "scores": {"ann": 3, "bob": 5},
    "motto": "hello wide world",
    "limit": 42,
}


@pytest.mark.parametrize(
    ("prompt", "stated"),
    [
        ("mean of ages", 31.17),
        ("what is the average of ages?", 31.17),
        ("max of ages", 41),
        ("how many elements are in ages", 3),
        ("sum of grid", 66),
        ("largest value in grid", 11),
        ("mean of levels", 2),
        ("median of ages", 30),
        ("how long is motto?", 16),
        ("sum of scores", 8),
        ("what is limit?", 42),
        ("show me @limit", 42),
        ("count the elements of scores", 2),
    ],
)
def test_answers_about_variables_that_are_no_tables(
    prompt: str, stated: float, tmp_path: Path
) -> None:
    answer = RehearsalHarness(tmp_path, **THINGS).ask(prompt)

    assert any(number == pytest.approx(stated, rel=2e-3) for number in numbers_in(answer.text))


@pytest.mark.parametrize(
    "prompt",
    ["describe scores", "what's in scores?", "show scores", "inspect @scores", "scores"],
)
def test_shows_what_a_variable_holds(prompt: str, tmp_path: Path) -> None:
    answer = RehearsalHarness(tmp_path, **THINGS).ask(prompt)

    assert "'ann'" in answer.text
    assert answer.tools == ["variables", "variables"]


@pytest.mark.parametrize(
    "prompt",
    [
        "list my variables",
        "what variables do I have?",
        "which variables are defined",
        "show all variables",
        "what's in memory?",
        "what is in the namespace",
    ],
)
def test_lists_the_variables(prompt: str, tmp_path: Path) -> None:
    answer = RehearsalHarness(tmp_path, **THINGS).ask(prompt)

    assert answer.tools == ["variables"]
    for name in THINGS:
        assert f"`{name}: " in answer.text


@pytest.mark.parametrize(
    "prompt",
    [
        "which dataframes are loaded?",
        "what tables do I have",
        "list the DataFrames",
        "what data do I have loaded?",
        "show my dataframes",
    ],
)
def test_lists_the_tables(prompt: str, tmp_path: Path) -> None:
    answer = RehearsalHarness(tmp_path, trips=pd.DataFrame({"a": [1]})).ask(prompt)

    assert "trips" in answer.text


def test_takes_the_table_whose_columns_are_named(tmp_path: Path) -> None:
    one, other = unseen(7), unseen(8)
    harness = RehearsalHarness(tmp_path, **one.variables(), **other.variables())
    answer = harness.ask(f"mean {other.say(other.mass)} by {other.say(other.kind)}")

    assert answer.code.endswith(
        f'{other.name}.groupby("{other.kind}")["{other.mass}"].mean().reset_index()'
    )


def test_takes_the_table_that_is_named(tmp_path: Path) -> None:
    one, other = unseen(7), unseen(8)
    harness = RehearsalHarness(tmp_path, **one.variables(), **other.variables())

    assert str(len(other.frame)) in harness.ask(f"how many rows does @{other.name} have?").text


def test_loads_a_file_when_no_table_fits(tmp_path: Path) -> None:
    data = unseen(9)
    (tmp_path / "data").mkdir()
    data.frame.to_csv(tmp_path / "data" / "whale trips.csv", index=False)
    (tmp_path / "other.csv").write_text("p,q\n1,2\n")
    harness = RehearsalHarness(tmp_path)
    answer = harness.ask(f"mean {data.say(data.mass)} by {data.say(data.kind)}")

    assert list(harness.namespace["whale_trips"].columns) == list(data.frame.columns)
    assert "I loaded `data/whale trips.csv` into `whale_trips`." in answer.text


def test_never_overwrites_a_variable(tmp_path: Path) -> None:
    (tmp_path / "trips.csv").write_text("distance,boat\n1,a\n3,b\n")
    harness = RehearsalHarness(tmp_path, trips="mine")
    answer = harness.ask("mean distance in trips.csv")

    assert harness.namespace["trips"] == "mine"
    assert "**2**" in answer.text


def test_leaves_no_other_names_behind(tmp_path: Path) -> None:
    data = unseen(4)
    harness = RehearsalHarness(tmp_path, **data.variables())
    before = set(harness.namespace)
    harness.ask(f"mean {data.say(data.mass)} by {data.say(data.kind)}")
    harness.ask("describe the data")

    assert set(harness.namespace) == before


def test_says_so_when_there_is_nothing(tmp_path: Path) -> None:
    assert "no DataFrame" in RehearsalHarness(tmp_path).ask("plot height by age").text


def test_works_with_python_as_the_only_tool(tmp_path: Path) -> None:
    data = unseen(4)
    harness = RehearsalHarness(tmp_path, tools=["python"], **data.variables())
    answer = harness.ask(f"mean {data.say(data.mass)}")

    assert f"**{data.frame[data.mass].mean():.2f}**" in answer.text


def test_does_not_take_a_dict_of_the_user_for_the_list_of_variables(tmp_path: Path) -> None:
    answer = RehearsalHarness(tmp_path, scores={"ann": 3}).ask("which variables are there?")

    assert "`scores: dict" in answer.text


def test_asks_which_of_two_columns_was_meant(tmp_path: Path) -> None:
    frame = pd.DataFrame({"beak_length": [1.0, 2.0], "beak_depth": [3.0, 5.0]})
    answer = RehearsalHarness(tmp_path, birds=frame).ask("mean beak")

    assert "**1.500**" in answer.text
    assert "you may also have meant `beak_depth`" in answer.text


@pytest.mark.slow
@settings(max_examples=sample_size(40, 800), deadline=None)
@given(name=st.text(min_size=1, max_size=24), text=st.text(max_size=60))
def test_never_fails_on_any_column_name_or_prompt(
    name: str, text: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    frame = pd.DataFrame({name: [1.0, 2.5, 4.0]})
    harness = RehearsalHarness(
        tmp_path_factory.mktemp("odd"), tools=["python", "variables"], odd=frame
    )

    harness.ask(f"mean {name}")
    harness.ask(f"plot {name}" if "\n" in name else text)
    assert list(harness.namespace["odd"].columns) == [name]


@pytest.mark.slow
@settings(max_examples=sample_size(25, 500), deadline=None)
@given(name=st.text("abcXYZ 'q\"\\{}$_-", min_size=3, max_size=12).filter(lambda n: n.strip() == n))
def test_states_the_truth_for_odd_column_names(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    frame = pd.DataFrame({name: [1.0, 2.5, 4.75]})
    answer = RehearsalHarness(tmp_path_factory.mktemp("odd"), odd=frame).ask(
        "what is the mean in odd?"
    )

    assert "2.75" in answer.text


@given(text=st.text(max_size=200))
def test_any_text_can_be_taken_apart(text: str) -> None:
    prompt = ParsedPrompt(text)

    assert isinstance(prompt.paths, tuple)
    assert isinstance(prompt.words, tuple)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("data/Whale Trips.csv", "whale_trips"),
        ("2024.csv", "data_2024"),
        ("class.csv", "class_data"),
        ("pd.csv", "pd_data"),
        ("-.csv", "data"),
    ],
)
def test_names_a_variable_after_a_file(path: str, name: str) -> None:
    assert variable_name(path) == name
