"""Deltas of unusual servers are joined as they were meant."""

from types import SimpleNamespace as Piece
from typing import Any

import pytest

from palimpsest.model.adapter.raw_stream import StreamTap
from palimpsest.model.adapter.stream_joiner import THINK_OPEN, StreamJoiner
from palimpsest.model.adapter.tool_call_joiner import tool_called
from palimpsest.model.direct.anthropic_events import AnthropicEvents
from palimpsest.model.interface import (
    ReasoningEnded,
    StreamEvent,
    TextDelta,
    TextEnded,
    ToolCalled,
)
from palimpsest.transcript.provider_calls import NATIVE_KEY


def piece(index: int | None, identifier: str | None, name: str | None, arguments: Any) -> Piece:
    made = Piece(index=index, id=identifier, function=Piece(name=name, arguments=arguments))
    return Piece(tool_calls=[made])


def joined(*deltas: Any) -> list[StreamEvent]:
    joiner = StreamJoiner("openai")
    events = [event for delta in deltas for event in joiner.delta_events(delta)]
    return [*events, *joiner.end_stream()]


def handed_over(*deltas: Any) -> list[tuple[str, str, Any]]:
    return [(e.id, e.tool, e.input) for e in joined(*deltas) if isinstance(e, ToolCalled)]


def test_joins_two_calls_that_arrive_interleaved() -> None:
    calls = handed_over(
        piece(0, "a", "one", '{"x"'),
        piece(1, "b", "two", '{"y"'),
        piece(0, None, None, ": 1}"),
        piece(1, None, None, ": 2}"),
    )

    assert calls == [("a", "one", {"x": 1}), ("b", "two", {"y": 2})]


def test_a_new_id_at_the_same_index_is_a_new_call() -> None:
    calls = handed_over(piece(0, "a", "one", "{}"), piece(0, "b", "two", "{}"))

    assert [(identifier, tool) for identifier, tool, _ in calls] == [("a", "one"), ("b", "two")]


def test_a_repeated_id_is_the_same_call() -> None:
    calls = handed_over(piece(0, "a", "one", '{"x":'), piece(0, "a", "one", " 1}"))

    assert calls == [("a", "one", {"x": 1})]


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


class Words(str):
    """A piece that must not be added to what came before it, which would copy all of that for each piece."""

    __slots__ = ()

    def __radd__(self, before: str) -> str:
        assert len(before) <= len(THINK_OPEN)  # what may begin a tag is held back
        return str.__add__(before, self)


def test_no_piece_of_a_long_answer_copies_what_came_before() -> None:
    tap = StreamTap()
    events = AnthropicEvents(tap)
    joiner = StreamJoiner("anthropic", provider_calls=tap.provider_calls)
    opened = {"type": "content_block_start", "index": 0}
    grown = {"type": "content_block_delta", "index": 0}
    ended = {"type": "content_block_stop", "index": 0}
    cited = [{"type": "page_location", "start_page_number": number} for number in range(2)]
    sent = (
        *[opened | {"content_block": {"type": "thinking", "thinking": Words("Penguins ")}}],
        *[grown | {"delta": {"thinking": Words(words)}} for words in ("are ", "birds.")],
        *[grown | {"delta": {"signature": "s1"}}, ended],
        *[opened | {"content_block": {"type": "text", "text": Words("Gulls ")}}],
        *[grown | {"delta": {"text": Words(words)}} for words in ("fly ", "too.")],
        *[
            grown | {"delta": {"type": "citations_delta", "citation": citation}}
            for citation in cited
        ],
        ended,
    )

    deltas = [found for piece in sent if (found := events.delta(piece)) is not None]
    told = [
        *(event for delta in deltas for event in joiner.delta_events(delta)),
        *joiner.end_stream(),
    ]

    thought = [event.metadata for event in told if isinstance(event, ReasoningEnded)]
    said = [event.metadata for event in told if isinstance(event, TextEnded)]
    block = {"type": "thinking", "thinking": "Penguins are birds.", "signature": "s1"}
    assert thought == [{"thinking_blocks": [block], "family": "anthropic"}]
    (text,) = [word for word in said if word is not None]
    assert text[NATIVE_KEY] == [{"type": "text", "text": "Gulls fly too.", "citations": cited}]


@pytest.mark.parametrize("piece", [7, ["words"]])
def test_a_piece_of_a_text_that_is_no_text_cannot_be_read(piece: Any) -> None:
    events = AnthropicEvents(StreamTap())
    block = {"type": "text", "text": "I "}
    events.delta({"type": "content_block_start", "index": 0, "content_block": block})

    with pytest.raises(TypeError):
        events.delta({"type": "content_block_delta", "index": 0, "delta": {"text": piece}})


def test_finishes_have_six_names() -> None:
    joiner = StreamJoiner("openai")
    list(joiner.delta_events(piece(0, "a", "one", "{}")))

    with_calls = [joiner.finish_reason(word) for word in ("stop", "tool_calls", "odd", "length")]
    without = [
        StreamJoiner("x").finish_reason(word) for word in ("STOP", "tool_calls", "odd", "SAFETY")
    ]

    assert with_calls == ["tool-calls", "tool-calls", "tool-calls", "length"]
    assert without == ["stop", "stop", "unknown", "content-filter"]
