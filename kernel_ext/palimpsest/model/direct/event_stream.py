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
    chunks: AsyncIterable[bytes], response: Any = None, on_done: Callable[[], None] = lambda: None
) -> AsyncGenerator[Any, None]:
    """Yield the JSON value of each event of an answer; ``on_done`` is called at the end marker.

    Raises NotAStream for an answer that is none, with ``response`` and its text, and ValueError for an event that
    cannot be read.
    """
    decoder = EventDecoder()
    first_bytes = b""
    is_event_stream = False
    async for piece in chunks:
        first_bytes += piece
        if not is_event_stream:
            if not is_stream(first_bytes):
                if len(first_bytes) > MAX_EVENT_BYTES:
                    break
                continue
            is_event_stream = True
            first_bytes = first_bytes.removeprefix(BYTE_MARK).lstrip()
        received, first_bytes = first_bytes, b""
        for value in decoder.decode_piece(received):
            yield value
        if decoder.is_done:
            on_done()
            return
    unstreamed = _unstreamed_values(first_bytes, response, decoder)
    for value in decoder.decode_rest() if is_event_stream else unstreamed:
        yield value
    if decoder.is_done:
        on_done()


def _unstreamed_values(first_bytes: bytes, response: Any, decoder: EventDecoder) -> Iterator[Any]:
    """Yield the values of an answer that was sent at once."""
    text = first_bytes.decode("utf-8", "replace")
    if text.strip():
        for line in stream_lines(text, response):
            yield from decoder.decode_piece(f"{line}\n".encode())
