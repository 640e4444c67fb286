"""The events of a stream are read wherever its bytes are cut, in every form of lines that servers send."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.model.direct.event_stream import stream_values
from palimpsest.model.errors.exception_details import NotAStream
from palimpsest.model.wire.server_events import MAX_EVENT_BYTES, EventDecoder, StreamTooLong

VALUES = [{"text": "Grüße 🐧\n\r "}, {"n": [1, {"a": "}"}]}, 7, {"é": None}]


async def pieces(content: bytes, size: int) -> AsyncIterator[bytes]:
    for at in range(0, len(content), size):
        yield content[at : at + size]


def read(content: bytes, size: int = 65_536) -> tuple[list[Any], bool]:
    """Return the values of a stream, and whether its end marker came."""
    ends: list[bool] = []

    async def collect() -> list[Any]:
        found = stream_values(pieces(content, size), None, lambda: ends.append(True))
        return [value async for value in found]

    return asyncio.run(collect()), bool(ends)


def written(values: list[Any], line_end: str, form: str) -> bytes:
    """Return values as a stream in one of the forms that servers send."""
    lines: list[str] = []
    for number, value in enumerate(values):
        text = json.dumps(value, ensure_ascii=False)
        match form:
            case "plain":
                lines += [f"data: {text}", ""]
            case "no space":
                lines += [f"data:{text}", ""]
            case "named":
                lines += ["event: message", f"id: {number}", "retry: 5", f"data: {text}", ""]
            case "commented":
                lines += [": ping", "", f"data: {text}", ": more", ""]
            case "no empty lines":
                lines += [f"data: {text}"]
            case "in several lines":
                lines += [f"data: {line}" for line in json.dumps(value, indent=1).split("\n")] + [
                    ""
                ]
    return (line_end.join([*lines, "data: [DONE]", ""]) + line_end).encode()


FORMS = ["plain", "no space", "named", "commented", "no empty lines", "in several lines"]


@given(
    size=st.integers(1, 40),
    line_end=st.sampled_from(["\n", "\r\n", "\r"]),
    form=st.sampled_from(FORMS),
)
def test_values_are_whole_wherever_the_bytes_are_cut(size: int, line_end: str, form: str) -> None:
    assert read(written(VALUES, line_end, form), size) == (VALUES, True)


@pytest.mark.parametrize("mark", ["", "\ufeff", "\n\n", ": hello\n\n"])
def test_what_comes_before_the_first_event_is_passed_over(mark: str) -> None:
    assert read(mark.encode() + written(VALUES, "\n", "plain"), 3) == (VALUES, True)


def test_what_follows_the_end_marker_is_not_read() -> None:
    assert read(b"data: 1\n\ndata: [DONE]\n\ndata: {malformed\n\n") == ([1], True)


def test_a_stream_may_end_without_marker_and_without_an_empty_line() -> None:
    assert read(b'data: {"a": 1}\n\ndata: {"b": 2}') == ([{"a": 1}, {"b": 2}], False)
    assert read(b'data: {"a": 1}\n\ndata: {"b": ') == ([{"a": 1}], False), "cut off"


@pytest.mark.parametrize("size", [1, 1_000])
def test_an_event_that_is_no_json_is_an_error(size: int) -> None:
    with pytest.raises(ValueError, match="property name"):
        read(b"data: 1\n\ndata: {malformed\n\ndata: 2\n\n", size)


def test_an_event_that_is_nested_too_deeply_is_an_error_of_its_text() -> None:
    with pytest.raises(ValueError, match="Nested too deeply"):
        read(b"data: " + b"[" * 100_000 + b"]" * 100_000 + b"\n\n")


def test_an_event_without_end_is_given_up_before_it_fills_the_memory() -> None:
    decoder = EventDecoder()
    piece = b"x" * 1_000_000
    for _ in range(MAX_EVENT_BYTES // len(piece)):
        assert list(decoder.decode_piece(piece)) == []
    with pytest.raises(StreamTooLong):
        list(decoder.decode_piece(piece))


def test_lines_of_one_event_without_end_are_given_up_too() -> None:
    decoder = EventDecoder()
    line = b"data: {" + b"x" * 1_000_000 + b"\n"
    for _ in range(MAX_EVENT_BYTES // len(line)):
        assert list(decoder.decode_piece(line)) == []
    with pytest.raises(StreamTooLong):
        list(decoder.decode_piece(line * 2))


def test_an_error_that_only_the_events_name_tells_is_one() -> None:
    assert read(b'event: error\ndata: {"message": "Overloaded"}\n\n') == (
        [{"error": {"message": "Overloaded"}}],
        False,
    )


@pytest.mark.parametrize("size", [1, 7, 1_000])
def test_an_answer_sent_at_once_is_read_as_a_stream(size: int) -> None:
    whole = {"choices": [{"message": {"content": "Hi."}, "finish_reason": "stop"}]}

    values, done = read(json.dumps(whole).encode(), size)

    assert [chunk["choices"][0]["delta"] for chunk in values] == [{"content": "Hi."}, {}]
    assert done


@pytest.mark.parametrize("text", ['{"error": "no"}', "<html>", "[]", '{"choices": []}'])
def test_anything_else_is_no_stream(text: str) -> None:
    with pytest.raises(NotAStream):
        read(text.encode(), 5)


def test_nothing_is_nothing() -> None:
    assert read(b"") == ([], False)
    assert read(b" \n\n") == ([], False)
