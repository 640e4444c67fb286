"""Read the events of an answer while it arrives from a server.

An answer that was sent at once is converted to the events of a stream, and anything else raises ``NotAStream``.
Border: bytes in, JSON values out, without their meaning; ``wire/server_events`` decodes them.
"""

from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterator
from typing import Any

from palimpsest.model.adapter.unstreamed_answer import BYTE_ORDER_MARK, is_stream, stream_lines
from palimpsest.model.wire.server_events import MAX_EVENT_BYTES, EventDecoder

BYTE_MARK = BYTE_ORDER_MARK.encode()


async def stream_values(
    pieces: AsyncIterable[bytes], response: Any = None, done: Callable[[], None] = lambda: None
) -> AsyncGenerator[Any, None]:
    """Yield the JSON value of each event of an answer; ``done`` is called at the end marker.

    Raises NotAStream for an answer that is none, with ``response`` and its text, and ValueError for an event that
    cannot be read.
    """
    decoder = EventDecoder()
    head = b""
    passing = False
    async for piece in pieces:
        head += piece
        if not passing:
            passing = is_stream(head)
            if not passing and len(head) > MAX_EVENT_BYTES:
                break
            head = head.removeprefix(BYTE_MARK).lstrip() if passing else head
        if not passing:
            continue
        complete, head = head, b""
        for value in decoder.decode_piece(complete):
            yield value
        if decoder.is_done:
            done()
            return
    for value in decoder.decode_rest() if passing else _unstreamed(head, response, decoder):
        yield value
    if decoder.is_done:
        done()


def _unstreamed(head: bytes, response: Any, decoder: EventDecoder) -> Iterator[Any]:
    """Yield the values of an answer that was sent at once."""
    text = head.decode("utf-8", "replace")
    if text.strip():
        for line in stream_lines(text, response):
            yield from decoder.decode_piece(f"{line}\n".encode())
