"""A value of a stranger's JSON is read as the type that is asked for, whatever stands there."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.recordings.reading.json_fields import NO_VALUE, JsonValue

NAMES = st.sampled_from(["", "a", "b", "function", "name"])
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)


@given(VALUES, st.lists(NAMES, max_size=3))
def test_no_reading_raises_and_each_returns_its_type(value: Any, names: list[str]) -> None:
    json_value = JsonValue(value)
    for found in (json_value.text(*names), json_value.id(*names), json_value.as_text(*names)):
        found.encode()
    for number in (
        json_value.integer(*names),
        json_value.milliseconds(*names),
        json_value.time_ms(*names),
    ):
        assert number is None or (isinstance(number, int) and number >= 0)
    assert json_value.tokens(*names) >= 0
    assert (json_value.cost(*names) or 0) >= 0
    assert all(entry.fields() == entry.raw for entry in json_value.objects(*names))
    assert set(json_value.small_facts(*names)) <= set(json_value.fields(*names))
    assert isinstance(json_value.tool_input(*names), dict)
    assert all(tool_spec.name for tool_spec in json_value.tool_specs(*names) or ())


@given(VALUES, NAMES, NAMES)
def test_a_way_of_names_is_the_same_as_one_step_after_the_other(
    value: Any, first: str, second: str
) -> None:
    json_value = JsonValue(value)
    assert json_value.at(first).at(second).raw is json_value.get(first, second)
    assert json_value.text(first, second) == json_value.at(first).text(second)


def test_the_first_field_that_is_there_counts_also_where_it_is_null() -> None:
    json_value = JsonValue({"": 1, "new": None, "old": 2})
    assert json_value.either("new", "old").raw is None
    assert json_value.either("newest", "old").raw == 2
    assert json_value.either("newest", "oldest") is NO_VALUE


@pytest.mark.parametrize("given_input", [{"n": 1}, json.dumps({"n": 1})])
def test_the_input_of_a_call_may_be_an_object_or_its_text(given_input: Any) -> None:
    assert JsonValue({"arguments": given_input}).tool_input("arguments") == {"n": 1}
    assert JsonValue({"arguments": "ls"}).tool_input("arguments", name="command") == {
        "command": "ls"
    }
