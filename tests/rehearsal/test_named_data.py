"""The rehearsal model finds the data that a prompt names: tables and other variables."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.harness.rehearsal import RehearsalHarness
from tests.sample_size import sample_size

from palimpsest.rehearsal.parsing.prompt_parser import ParsedPrompt

THINGS: dict[str, Any] = {
    "ages": [30, 41, 22.5],
    "scores": {"ann": 3, "bob": 5},
    "motto": "hello wide world",
    "limit": 42,
}


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


def test_lists_the_tables(tmp_path: Path) -> None:
    harness = RehearsalHarness(tmp_path, trips=pd.DataFrame({"a": [1]}), limit=42)

    answer = harness.ask("which dataframes are there?")

    assert "trips" in answer.text
    assert "limit" not in answer.text


TRIPS = pd.DataFrame({"miles": [1.0, 2.0], "boat": ["a", "b"]})
BIRDS = pd.DataFrame({"mass": [3.0, 5.0], "kind": ["x", "y"]})


def test_takes_the_table_whose_columns_are_named(tmp_path: Path) -> None:
    answer = RehearsalHarness(tmp_path, trips=TRIPS, birds=BIRDS).ask("mean miles by boat")

    assert answer.code.endswith('trips.groupby("boat")["miles"].mean().reset_index()')


def test_takes_the_table_that_is_named(tmp_path: Path) -> None:
    answer = RehearsalHarness(tmp_path, trips=TRIPS, birds=BIRDS).ask("how many rows has @birds?")

    assert answer.code == "len(birds)"


def test_asks_which_table_is_meant(tmp_path: Path) -> None:
    answer = RehearsalHarness(tmp_path, trips=TRIPS, birds=BIRDS).ask("how many rows are there?")

    assert "Which table do you mean?" in answer.text


def test_changes_no_variable_and_leaves_no_other_names_behind(tmp_path: Path) -> None:
    harness = RehearsalHarness(tmp_path, trips=TRIPS.copy())
    before = set(harness.namespace)
    harness.ask("mean miles by boat")
    harness.ask("describe the data")

    assert set(harness.namespace) == before
    pd.testing.assert_frame_equal(harness.namespace["trips"], TRIPS)


def test_says_so_when_there_is_nothing(tmp_path: Path) -> None:
    assert "no DataFrame" in RehearsalHarness(tmp_path).ask("plot height by age").text


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


@pytest.mark.soak  # with each commit it never fails on any column name, beside it; this adds that the number is right
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
