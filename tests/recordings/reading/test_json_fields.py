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
    node = JsonValue(value)
    for found in (node.text(*names), node.id(*names), node.as_text(*names)):
        found.encode()
    for number in (node.integer(*names), node.milliseconds(*names), node.time_ms(*names)):
        assert number is None or (isinstance(number, int) and number >= 0)
    assert node.tokens(*names) >= 0
    assert (node.cost(*names) or 0) >= 0
    assert all(entry.fields() == entry.raw for entry in node.objects(*names))
    assert set(node.small_facts(*names)) <= set(node.fields(*names))
    assert isinstance(node.tool_input(*names), dict)
    assert all(tool_spec.name for tool_spec in node.tool_specs(*names) or ())


@given(VALUES, NAMES, NAMES)
def test_a_way_of_names_is_the_same_as_one_step_after_the_other(
    value: Any, first: str, second: str
) -> None:
    node = JsonValue(value)
    assert node.at(first).at(second).raw is node.get(first, second)
    assert node.text(first, second) == node.at(first).text(second)


def test_the_first_field_that_is_there_counts_also_where_it_is_null() -> None:
    node = JsonValue({"": 1, "new": None, "old": 2})
    assert node.either("new", "old").raw is None
    assert node.either("newest", "old").raw == 2
    assert node.either("newest", "oldest") is NO_VALUE


@pytest.mark.parametrize("given_input", [{"n": 1}, json.dumps({"n": 1})])
def test_the_input_of_a_call_may_be_an_object_or_its_text(given_input: Any) -> None:
    assert JsonValue({"arguments": given_input}).tool_input("arguments") == {"n": 1}
    assert JsonValue({"arguments": "ls"}).tool_input("arguments", name="command") == {
        "command": "ls"
    }
