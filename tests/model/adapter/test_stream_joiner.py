"""Deltas of unusual servers are joined as they were meant."""

from types import SimpleNamespace as Piece
from typing import Any

import pytest

from palimpsest.model.adapter.stream_joiner import StreamJoiner
from palimpsest.model.adapter.tool_call_joiner import tool_called
from palimpsest.model.interface import ReasoningEnded, StreamEvent, TextDelta, ToolCalled


def piece(index: int | None, identifier: str | None, name: str | None, arguments: Any) -> Piece:
    made = Piece(index=index, id=identifier, function=Piece(name=name, arguments=arguments))
    return Piece(tool_calls=[made])


def joined(*deltas: Any) -> list[StreamEvent]:
    joiner = StreamJoiner("openai")
    events = [event for delta in deltas for event in joiner.delta(delta)]
    return [*events, *joiner.end()]


def handed_over(*deltas: Any) -> list[tuple[str, str, Any]]:
    return [(e.id, e.tool, e.input) for e in joined(*deltas) if isinstance(e, ToolCalled)]


def test_joins_two_calls_that_arrive_interleaved() -> None:
    found = handed_over(
        piece(0, "a", "one", '{"x"'),
        piece(1, "b", "two", '{"y"'),
        piece(0, None, None, ": 1}"),
        piece(1, None, None, ": 2}"),
    )

    assert found == [("a", "one", {"x": 1}), ("b", "two", {"y": 2})]


def test_a_new_id_at_the_same_index_is_a_new_call() -> None:
    found = handed_over(piece(0, "a", "one", "{}"), piece(0, "b", "two", "{}"))

    assert [(identifier, tool) for identifier, tool, _ in found] == [("a", "one"), ("b", "two")]


def test_a_repeated_id_is_the_same_call() -> None:
    found = handed_over(piece(0, "a", "one", '{"x":'), piece(0, "a", "one", " 1}"))

    assert found == [("a", "one", {"x": 1})]


def test_a_call_without_id_or_index_gets_an_id() -> None:
    ((identifier, tool, value),) = handed_over(piece(None, None, "one", {"x": 1}))

    assert (tool, value) == ("one", {"x": 1})
    assert identifier.startswith("call_")


def test_twice_encoded_input_is_decoded_twice() -> None:
    assert tool_called("a", "t", '"{\\"x\\": 1}"').input == {"x": 1}
    assert tool_called("a", "t", '"words"').input == "words"


@pytest.mark.parametrize("raw", ["{", '{"a": 1}}', "nonsense", "[" * 100_000])
def test_what_does_not_parse_is_a_problem(raw: str) -> None:
    found = tool_called("a", "t", raw)

    assert (found.input, found.raw) == ({}, raw)
    assert found.problem


def test_empty_content_is_no_text() -> None:
    assert joined(Piece(content=""), Piece(content=None), Piece()) == []


def test_text_between_thinking_makes_blocks_of_their_own() -> None:
    signed = {"type": "thinking", "thinking": "", "signature": "s1"}
    events = joined(
        Piece(reasoning_content="A", thinking_blocks=[{"type": "thinking", "thinking": "A"}]),
        Piece(thinking_blocks=[signed]),
        Piece(content="So."),
        Piece(reasoning="B"),
    )

    ended = [event for event in events if isinstance(event, ReasoningEnded)]
    assert ended[0].metadata == {
        "thinking_blocks": [{"type": "thinking", "thinking": "A", "signature": "s1"}],
        "family": "openai",
    }
    assert ended[1].metadata is None
    assert [e.text for e in events if isinstance(e, TextDelta)] == ["So."]


def test_finishes_have_six_names() -> None:
    joiner = StreamJoiner("openai")
    list(joiner.delta(piece(0, "a", "one", "{}")))

    with_calls = [joiner.reason(word) for word in ("stop", "tool_calls", "odd", "length")]
    without = [StreamJoiner("x").reason(word) for word in ("STOP", "tool_calls", "odd", "SAFETY")]

    assert with_calls == ["tool-calls", "tool-calls", "tool-calls", "length"]
    assert without == ["stop", "stop", "unknown", "content-filter"]
