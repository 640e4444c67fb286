"""The stream tap reads a provider's own finish reason before litellm translates it."""

from types import SimpleNamespace
from typing import Any

import pytest

from palimpsest.model.adapter.raw_stream import DiscardingList, StreamTap, native_finish


class Reader:
    """A fake for litellm's reader of a provider's chunks."""

    def __init__(self, *chunks: dict[str, Any]) -> None:
        self.chunks = list(chunks)
        self.closed = False

    def chunk_parser(self, chunk: dict[str, Any]) -> SimpleNamespace:
        finish = "tool_calls" if "call" in repr(chunk) else "stop"
        choice = SimpleNamespace(finish_reason=finish)
        return SimpleNamespace(choices=[choice], usage={"prompt_tokens": len(self.chunks)})

    def __aiter__(self) -> "Reader":
        return self

    async def __anext__(self) -> SimpleNamespace:
        if not self.chunks:
            raise StopAsyncIteration
        return self.chunk_parser(chunk=self.chunks.pop(0))

    async def aclose(self) -> None:
        self.closed = True


def gemini(finish: str | None = None, part: str = "text") -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": [{part: "x"}]}}
    return {"candidates": [{**candidate, "finishReason": finish} if finish else candidate]}


async def tapped(*chunks: dict[str, Any]) -> StreamTap:
    tap = StreamTap()
    stream = SimpleNamespace(completion_stream=Reader(*chunks), make_call=None)
    assert not tap.attach(stream)
    async for _ in stream.completion_stream:
        pass
    return tap


@pytest.mark.parametrize(
    ("chunks", "finish"),
    [
        ((gemini(part="functionCall"),), None),
        ((gemini(part="functionCall"), gemini("STOP")), "STOP"),
        ((gemini("MALFORMED_FUNCTION_CALL"),), "MALFORMED_FUNCTION_CALL"),
        (({"type": "message_start"}, {"type": "content_block_delta"}), None),
        (({"type": "message_delta", "delta": {"stop_reason": "pause_turn"}},), "pause_turn"),
        (({"done": True},), "stop"),
    ],
)
async def test_the_providers_own_end_counts(
    chunks: tuple[dict[str, Any], ...], finish: str | None
) -> None:
    tap = await tapped(*chunks)

    assert (tap.finish, tap.is_exhausted) == (finish, True)


async def test_a_request_sent_late_is_tapped_late() -> None:
    tap = StreamTap()

    async def call(**_: Any) -> Reader:
        return Reader(gemini("STOP"))

    stream = SimpleNamespace(completion_stream=None, make_call=call)
    assert tap.attach(stream)
    async for _ in await stream.make_call(client=None):
        pass

    assert tap.finish == "STOP"
    assert tap.usage == {"prompt_tokens": 0}


async def test_closing_the_tap_closes_what_is_below() -> None:
    reader = Reader(gemini())
    stream = SimpleNamespace(completion_stream=reader, make_call=None)
    StreamTap().attach(stream)

    await stream.completion_stream.aclose()

    assert reader.closed


def test_what_cannot_be_watched_is_taken_at_its_word() -> None:
    tap = StreamTap()
    stream = SimpleNamespace(
        completion_stream=object(), make_call=None, received_finish_reason="stop"
    )

    tap.attach(stream)
    tap.adopt_wrapper_finish(stream)

    assert tap.finish == "stop"


def test_other_chunks_say_nothing() -> None:
    assert [native_finish(chunk) for chunk in (None, {}, {"candidates": []}, "x")] == [
        None,
        None,
        "",
        None,
    ]
    kept = DiscardingList()
    kept.append(1)
    assert kept == []
