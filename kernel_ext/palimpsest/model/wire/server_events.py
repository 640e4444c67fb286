"""Decode the events of a streamed answer from its bytes, which may be cut anywhere.

Lines end with LF, CRLF or CR; comments, ids and delays are ignored; the data of one event may take several lines.
Servers omit the empty line between events, the space after the colon and the end marker, so an event is passed on as
soon as its data is a whole JSON value. Border: bytes in, JSON values out, without their meaning; nothing of a network
is imported, so that captured answers are read by the same rules.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

MAX_EVENT_BYTES = 16_000_000
"""Maximum bytes of one event, and of an answer that was not streamed."""
END_OF_LINE = re.compile(rb"\r\n|\n|\r")
END_MARK = "[DONE]"


class StreamTooLong(ValueError):
    """An event exceeds the limit of bytes."""


class EventDecoder:
    """Turns pieces of a stream into the values of its events."""

    def __init__(self) -> None:
        self._rest_pieces: list[bytes] = []
        """The beginning of an incomplete line."""
        self._held_bytes = 0
        self._data_lines: list[str] = []
        """Lines of an event that is not yet a JSON value."""
        self._event_name = ""
        self._data_chars = 0
        self.is_done = False
        """Whether the end marker arrived."""

    def decode_piece(self, chunk: bytes) -> Iterator[Any]:
        """Yield the values that a piece completes; raises ValueError for an event that is no JSON."""
        if b"\n" not in chunk and b"\r" not in chunk:
            self._keep_piece(chunk)
            return
        text_bytes = b"".join((*self._rest_pieces, chunk)) if self._rest_pieces else chunk
        self._rest_pieces, self._held_bytes = [], 0
        if b"\r" in text_bytes:
            # The LF of a CRLF may come with the next piece.
            tail = b"\r" if text_bytes.endswith(b"\r") else b""
            lines = END_OF_LINE.split(text_bytes[: len(text_bytes) - len(tail)])
            lines[-1] += tail
        else:
            lines = text_bytes.split(b"\n")
        unfinished_line = lines.pop()
        for line in lines:
            yield from self._read_line(line)
            if self.is_done:
                return
        if unfinished_line:
            self._keep_piece(unfinished_line)

    def decode_rest(self) -> Iterator[Any]:
        """Yield the event that the end of the bytes completes; an event that was cut off is dropped."""
        last_line = b"".join(self._rest_pieces).rstrip(b"\r")
        self._rest_pieces = []
        if self.is_done:
            return
        try:
            values = [*self._read_line(last_line), *self._read_line(b"")]
        except ValueError:
            return
        yield from values

    def _keep_piece(self, chunk: bytes) -> None:
        self._held_bytes += len(chunk)
        if self._held_bytes > MAX_EVENT_BYTES:
            raise StreamTooLong("An event of the stream is too long.")
        self._rest_pieces.append(chunk)

    def _read_line(self, line: bytes) -> Iterator[Any]:
        if line.startswith(b"data:"):
            text = line[6 if line[5:6] == b" " else 5 :].decode()
            if text.startswith(END_MARK):
                self.is_done = True
                return
            yield from self._add_data(text)
        elif not line:
            yield from self._end_event()
        elif line.startswith(b"event:"):
            self._event_name = line[6:].strip().decode("utf-8", "replace")

    def _add_data(self, text: str) -> Iterator[Any]:
        if self._data_lines:
            self._data_chars += len(text)
            if self._data_chars > MAX_EVENT_BYTES:
                raise StreamTooLong("An event of the stream is too long.")
            self._data_lines.append(text)
            is_end = text.rstrip().endswith(("}", "]"))
            value = _parsed_value("\n".join(self._data_lines)) if is_end else None
        elif not text.strip():
            return
        else:
            value = _parsed_value(text)
            if value is None:
                self._data_lines, self._data_chars = [text], len(text)
        if value is not None:
            self._data_lines = []
            yield self._with_error_field(value[0])

    def _end_event(self) -> Iterator[Any]:
        """End an event; its data must now be JSON, else ValueError is raised."""
        data, self._data_lines = self._data_lines, []
        if data:
            yield self._with_error_field(_whole_json("\n".join(data)))
        self._event_name = ""

    def _with_error_field(self, value: Any) -> Any:
        """Return a value, or an error where only the event's name marks it as one."""
        is_error = self._event_name == "error" and isinstance(value, dict)
        return {"error": value} if is_error and "error" not in value else value


def _parsed_value(text: str) -> tuple[Any] | None:
    try:
        return (_whole_json(text),)
    except ValueError:
        return None


def _whole_json(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise json.JSONDecodeError("Nested too deeply", text[:0], 0) from None
