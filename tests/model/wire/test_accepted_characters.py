"""Ids, names and inputs are written in characters that every server accepts, and nothing else changes."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.model.wire.tool_call_text import (
    allowed_ids,
    arguments_json,
    tool_name,
    uninterpreted_text,
)
from palimpsest.transcript.context_values.neutral_messages import CallBlock, NeutralMessage
from palimpsest.transcript.provider_profile.profile import profile
from palimpsest.transcript.strings.surrogates import joined_surrogates
from palimpsest.transcript.values import ModelRef


def written(provider: str, *identifiers: str) -> list[str]:
    made = tuple(CallBlock(call_id=call_id, tool="read", input={}) for call_id in identifiers)
    write = allowed_ids(
        (NeutralMessage(role="assistant", blocks=made),),
        profile(ModelRef(provider=provider, name="x")),
    )
    return [write(call_id) for call_id in identifiers]


def test_ordinary_inputs_stay_as_they_were_written() -> None:
    assert (
        arguments_json({"b": [1, 2.5, None], "a": "企鹅"}) == '{"a": "企鹅", "b": [1, 2.5, null]}'
    )


def test_what_json_lacks_becomes_words() -> None:
    given = {"x": [math.nan, -math.inf], "half \ud83d": "\udc27", "pair": (1,)}

    assert json.loads(arguments_json(given)) == {
        "x": ["nan", "-inf"],
        "half \ufffd": "\ufffd",
        "pair": [1],
    }


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.lists(st.text()), max_size=2))
def test_the_short_way_to_write_an_input_leads_to_the_same_json(value: dict[str, Any]) -> None:
    assert arguments_json(value) == joined_surrogates(
        json.dumps(value, ensure_ascii=False, sort_keys=True)
    )


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("plain", "plain"),
        ('{"a": 1}', '{"a": 1}'),
        ('{"half', '{"half'),
        ('{"a": NaN', '{"a": NaN'),
        ('{"a": "the word NaN"}', '{"a": "the word NaN"}'),
        ('{"a": NaN}', '{"a": "nan"}'),
        ('{"a": "\\ud83d"}', '{"a": "\ufffd"}'),
        ('{"a": "\\ud83d\\udc27"}', '{"a": "\\ud83d\\udc27"}'),
        ("data:image/png;base64,AA", " data:image/png;base64,AA"),
        ("data: 3 rows", "data: 3 rows"),
    ],
)
def test_a_result_is_told_to_gemini_so_that_nothing_is_read_into_it(text: str, read: str) -> None:
    assert uninterpreted_text(text) == read


@pytest.mark.parametrize(
    ("name", "there"),
    [("read", "read"), ("_x", "_x"), ("2nd", "_2nd"), ("-x", "_-x"), ("9" * 64, "_" + "9" * 63)],
)
def test_geminis_tools_begin_with_a_letter(name: str, there: str) -> None:
    assert tool_name(name, profile(ModelRef(provider="gemini", name="x"))) == there
    assert tool_name(name, profile(ModelRef(provider="openai", name="x"))) == name


def test_halves_of_characters_leave_ids_and_ids_stay_apart() -> None:
    first, second = written("gemini", "a\ud83d", "a\ud83e")

    assert (first, len(second)) == ("a\ufffd", 64)


@pytest.mark.parametrize("target", ["openai", "anthropic", "deepseek"])
def test_ids_stay_apart_and_are_something_without_geminis_signatures(target: Any) -> None:
    ids = ("call_1__thought__x", "call_1__thought__y", "__thought__z", "call_2")

    read = [call_id.partition("__thought__")[0] for call_id in written(target, *ids)]

    assert read[0] == "call_1"
    assert read[3] == "call_2"
    assert all(read)
    assert len(set(read)) == 4


def test_gemini_keeps_its_signatures() -> None:
    ids = ["call_1__thought__x", "call_1__thought__y", "__thought__z"]

    assert written("gemini", *ids) == ids
