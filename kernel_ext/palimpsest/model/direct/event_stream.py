"""Read the events of a streamed answer from its bytes, wherever these are cut.

Lines end with LF, CRLF or CR; comments, ids and delays hold nothing of an answer; the data of one event may stand in
several lines. Servers leave out the empty line between events, the space after the colon and the end marker, so an event
is passed on as soon as its data is a whole JSON value. An answer that was sent at once is read as the events of a
stream, and what is neither raises ``NotAStream``.

Border: bytes in, JSON values out; what a value means is not known here.
"""

import json
import re
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterator
from typing import Any

from palimpsest.model.adapter.unstreamed_answer import LONGEST, MARK, events, is_stream

END_OF_LINE = re.compile(rb"\r\n|\n|\r")
END_MARK = "[DONE]"
BYTE_MARK = MARK.encode()


class StreamTooLong(ValueError):
    """An event has more bytes than are kept."""


class EventDecoder:
    """Turns pieces of a stream into the values of its events."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        """The beginning of a line whose end has not come."""
        self._held = 0
        self._data: list[str] = []
        """Lines of an event that is no JSON value yet."""
        self._name = ""
        self._kept = 0
        self.done = False
        """The end marker came."""

    def feed(self, piece: bytes) -> Iterator[Any]:
        """Yield the values that a piece completes; raises ValueError for an event that is no JSON."""
        if b"\n" not in piece and b"\r" not in piece:
            self._hold(piece)
            return
        whole = b"".join((*self._rest, piece)) if self._rest else piece
        self._rest, self._held = [], 0
        if b"\r" in whole:
            # The LF of a CRLF may come with the next piece.
            tail = b"\r" if whole.endswith(b"\r") else b""
            lines = END_OF_LINE.split(whole[: len(whole) - len(tail)])
            lines[-1] += tail
        else:
            lines = whole.split(b"\n")
        last = lines.pop()
        for line in lines:
            yield from self._line(line)
            if self.done:
                return
        if last:
            self._hold(last)

    def end(self) -> Iterator[Any]:
        """Yield what the end of the bytes completes; an event that was cut off is none."""
        rest = b"".join(self._rest).rstrip(b"\r")
        self._rest = []
        if self.done:
            return
        try:
            values = [*self._line(rest), *self._line(b"")]
        except ValueError:
            return
        yield from values

    def _hold(self, piece: bytes) -> None:
        self._held += len(piece)
        if self._held > LONGEST:
            raise StreamTooLong("An event of the stream is too long.")
        self._rest.append(piece)

    def _line(self, line: bytes) -> Iterator[Any]:
        if line.startswith(b"data:"):
            text = line[6 if line[5:6] == b" " else 5 :].decode()
            if text.startswith(END_MARK):
                self.done = True
                return
            yield from self._add(text)
        elif not line:
            yield from self._dispatch()
        elif line.startswith(b"event:"):
            self._name = line[6:].strip().decode("utf-8", "replace")

    def _add(self, text: str) -> Iterator[Any]:
        if self._data:
            self._kept += len(text)
            if self._kept > LONGEST:
                raise StreamTooLong("An event of the stream is too long.")
            self._data.append(text)
            found = _value("\n".join(self._data)) if text.rstrip().endswith(("}", "]")) else None
        elif not text.strip():
            return
        else:
            found = _value(text)
            if found is None:
                self._data, self._kept = [text], len(text)
        if found is not None:
            self._data = []
            yield self._named(found[0])

    def _dispatch(self) -> Iterator[Any]:
        """End an event; its data is read again, now without a way out."""
        data, self._data = self._data, []
        if data:
            yield self._named(_whole("\n".join(data)))
        self._name = ""

    def _named(self, value: Any) -> Any:
        """Return a value, or the error that only the name of its event says it is."""
        is_error = self._name == "error" and isinstance(value, dict)
        return {"error": value} if is_error and "error" not in value else value


def _value(text: str) -> tuple[Any] | None:
    try:
        return (_whole(text),)
    except ValueError:
        return None


def _whole(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise json.JSONDecodeError("Nested too deeply", text[:0], 0) from None


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
            if not passing and len(head) > LONGEST:
                break
            head = head.removeprefix(BYTE_MARK).lstrip() if passing else head
        if not passing:
            continue
        whole, head = head, b""
        for value in decoder.feed(whole):
            yield value
        if decoder.done:
            done()
            return
    for value in decoder.end() if passing else _unstreamed(head, response, decoder):
        yield value
    if decoder.done:
        done()


def _unstreamed(head: bytes, response: Any, decoder: EventDecoder) -> Iterator[Any]:
    """Yield the values of an answer that was sent at once."""
    text = head.decode("utf-8", "replace")
    if text.strip():
        for line in events(text, response):
            yield from decoder.feed(f"{line}\n".encode())
