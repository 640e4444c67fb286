"""Cut what a server sends into messages, each bounded in bytes and in the values that it would become.

A message is held whole before it is read, so one without an end would fill the kernel's memory, and sixteen megabytes of
empty lists become a gigabyte of objects. Border: bytes only; the caller ends the server.
"""

import re
from collections.abc import Iterator

MESSAGE_BYTES = 16_000_000
"""The longest message: a picture of twelve megabytes, as text."""
MESSAGE_VALUES = 500_000
"""The most values in one message; each takes about a hundred bytes of memory."""

LINE = re.compile(rb"\r?\n")
"""What ends a message on a pipe."""
EVENT = re.compile(rb"\r\n\r\n|\n\n|\r\r")
"""What ends an event in a stream of them."""
LONGEST_END = 4
"""Bytes of the longest end, which may arrive in two pieces."""

_TEXT = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)


class MessageTooLarge(Exception):  # named after what happened
    """A server sent a message beyond a bound; the text says which, to stand behind the server's name."""


class Messages:
    """Takes pieces of bytes in order and returns the messages that are complete, with their ends.

    Contract: holds at most ``MESSAGE_BYTES`` and one piece; takes time in proportion to the bytes.
    """

    def __init__(self, end: "re.Pattern[bytes] | None") -> None:
        self._end = end
        """What ends a message; None where only the end of everything does."""
        self._held = bytearray()

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """Yield each message that ends in this piece; raises MessageTooLarge."""
        looked = max(0, len(self._held) - LONGEST_END)
        self._held += piece
        begin = 0
        if self._end is not None:
            for found in self._end.finditer(self._held, looked):
                yield self._checked(bytes(self._held[begin : found.end()]))
                begin = found.end()
            del self._held[:begin]
        _check_length(len(self._held))

    def rest(self) -> bytes:
        """Return what came behind the last end; raises MessageTooLarge."""
        held, self._held = bytes(self._held), bytearray()
        return self._checked(held)

    def _checked(self, message: bytes) -> bytes:
        _check_length(len(message))
        if value_count(message) > MESSAGE_VALUES:
            raise MessageTooLarge(f"sent a message of more than {MESSAGE_VALUES:,} values")
        return message


def value_count(message: bytes) -> int:
    """Return about how many values a JSON message holds, and never too few."""
    count = _count(message)
    # Signs inside texts are no values; looking for texts takes longer.
    return count if count <= MESSAGE_VALUES else _count(_TEXT.sub(b"", message))


def _count(message: bytes) -> int:
    return sum(message.count(sign) for sign in (b",", b"[", b"{"))


def _check_length(length: int) -> None:
    if length > MESSAGE_BYTES:
        raise MessageTooLarge(
            f"sent a message of more than {MESSAGE_BYTES // 1_000_000} MB, without an end so far"
        )
