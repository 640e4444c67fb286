"""Limit the nesting of a JSON document, and the size of one value, while its bytes are read.

A streaming parser keeps the path of names to its position, so a document of a few hundred kilobytes with a hundred
thousand levels would keep it busy for minutes.
"""

import re
from collections.abc import Callable

from palimpsest.store.bounded_json import BuiltSize

_JSON_TOKEN = re.compile(
    rb"""(?P<string>"[^"\\]*+(?:\\.[^"\\]*+)*+(?P<end>"?))|(?P<open>[\[{]++)|(?P<close>[\]}]++)""",
    re.DOTALL,
)
_REST_OF_STRING = re.compile(rb"""[^"\\]*+(?:\\.[^"\\]*+)*+(?P<end>"?)""", re.DOTALL)


class NestedTooDeeply(ValueError):
    """Raised where a JSON document is nested more deeply than the limit."""


class NestingLimit:
    """A file whose ``read`` raises NestedTooDeeply or BuildsTooMuch for JSON beyond the limits.

    Each value at the depth ``value_level`` has a separate budget of size; with 0 all values share one budget.
    """

    def __init__(
        self, read_bytes: Callable[[int], bytes], max_depth: int, *, value_level: int = 0
    ) -> None:
        """``read_bytes`` returns at most the given number of next bytes of a file; empty at its end."""
        self._read_bytes = read_bytes
        self._max_depth = max_depth
        self._value_level = value_level
        self._built_size = BuiltSize()
        self._depth = 0
        self._lowest_depth = 0
        """The lowest level of nesting in the last piece that was read."""
        self._is_in_string = False
        self._is_escaped = False
        """Whether the last byte was a backslash that escapes the next one."""

    def read(self, size: int = -1) -> bytes:
        """Return at most ``size`` next bytes; raises NestedTooDeeply or BuildsTooMuch."""
        piece = self._read_bytes(size)
        if size != 0:
            self._lowest_depth = self._depth
            self._built_size.add(piece)
            self._track_nesting(piece)
            if self._lowest_depth <= self._value_level:
                self._built_size.restart_count()
        return piece

    def _track_nesting(self, piece: bytes) -> None:
        offset = 1 if self._is_escaped and piece else 0
        self._is_escaped = self._is_escaped and not piece
        if self._is_in_string and piece:
            string_end = _REST_OF_STRING.match(piece, offset)
            offset = string_end.end() if string_end else offset
            self._is_in_string = not (string_end and string_end["end"])
            if self._is_in_string:
                self._is_escaped = piece[offset:] == b"\\"
                return
        for token in _JSON_TOKEN.finditer(piece, offset):
            if token["open"]:
                self._depth += len(token["open"])
                if self._depth > self._max_depth:
                    raise NestedTooDeeply(f"It is nested deeper than {self._max_depth} levels.")
            elif token["close"]:
                self._depth -= len(token["close"])
                self._lowest_depth = min(self._lowest_depth, self._depth)
            elif not token["end"]:
                self._is_in_string = True
                self._is_escaped = piece[token.end() :] == b"\\"
                return
