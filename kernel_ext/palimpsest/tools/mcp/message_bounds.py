"""Split a server's bytes into messages, each bounded in bytes and in JSON values.

A message is complete in memory before it is parsed, so one without an end would fill the memory, and sixteen megabytes of
empty lists become a gigabyte of objects. Border: bytes only; the caller stops the server.
"""

import re
from collections.abc import Iterator

MAX_MESSAGE_BYTES = 16_000_000
"""Maximum bytes of a message: an image of twelve megabytes in Base64."""
MAX_MESSAGE_VALUES = 500_000
"""Maximum values in one message; each takes about a hundred bytes of memory."""

LINE_END = re.compile(rb"\r?\n")
"""The end of a message on a pipe."""
EVENT_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
"""The end of an event in an event stream."""
MAX_END_BYTES = 4
"""Maximum bytes of the end of a message, which may arrive in two pieces."""

_JSON_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)


class MessageTooLarge(Exception):  # no suffix Error: it completes a sentence
    """A server exceeded a message bound; the text completes a sentence whose subject is the server."""


class MessageSplitter:
    """Splits bytes, given in pieces, into complete messages with their ends.

    Contract: holds at most ``MAX_MESSAGE_BYTES`` and one piece; takes time in proportion to the bytes.
    """

    def __init__(self, end_pattern: "re.Pattern[bytes] | None") -> None:
        self._end_pattern = end_pattern
        """Matches the end of a message; None where all bytes are one message."""
        self._incomplete_message = bytearray()

    def complete_messages(self, piece: bytes) -> Iterator[bytes]:
        """Yield each message that ends in this piece; raises MessageTooLarge."""
        search_start = max(0, len(self._incomplete_message) - MAX_END_BYTES)
        self._incomplete_message += piece
        message_start = 0
        if self._end_pattern is not None:
            for match in self._end_pattern.finditer(self._incomplete_message, search_start):
                yield self._checked_message(
                    bytes(self._incomplete_message[message_start : match.end()])
                )
                message_start = match.end()
            del self._incomplete_message[:message_start]
        _check_length(len(self._incomplete_message))

    def remaining_bytes(self) -> bytes:
        """Return the bytes after the last complete message; raises MessageTooLarge."""
        message, self._incomplete_message = bytes(self._incomplete_message), bytearray()
        return self._checked_message(message)

    def _checked_message(self, message: bytes) -> bytes:
        _check_length(len(message))
        if value_count(message) > MAX_MESSAGE_VALUES:
            raise MessageTooLarge(f"sent a message of more than {MAX_MESSAGE_VALUES:,} values")
        return message


def value_count(message: bytes) -> int:
    """Return an upper estimate of the number of values in a JSON message."""
    count = _separator_count(message)
    # Remove texts, whose characters are no values, only where needed, since that takes longer.
    return (
        count if count <= MAX_MESSAGE_VALUES else _separator_count(_JSON_STRING.sub(b"", message))
    )


def _separator_count(message: bytes) -> int:
    return sum(message.count(character) for character in (b",", b"[", b"{"))


def _check_length(length: int) -> None:
    if length > MAX_MESSAGE_BYTES:
        raise MessageTooLarge(
            f"sent a message of more than {MAX_MESSAGE_BYTES // 1_000_000} MB, without an end so far"
        )
