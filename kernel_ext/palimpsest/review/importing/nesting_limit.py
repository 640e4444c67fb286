"""Pass on a JSON document's bytes, up to a level of nesting and a size of one value that no recorded session has.

A streaming parser keeps the path of names to where it is, so that a document of a few hundred kilobytes
with a hundred thousand levels would keep it busy for minutes.
"""

import re
from collections.abc import Callable

from palimpsest.store.bounded_json import BuiltSize

_TOKEN = re.compile(
    rb"""(?P<string>"[^"\\]*+(?:\\.[^"\\]*+)*+(?P<end>"?))|(?P<open>[\[{]++)|(?P<close>[\]}]++)""",
    re.DOTALL,
)
_REST_OF_STRING = re.compile(rb"""[^"\\]*+(?:\\.[^"\\]*+)*+(?P<end>"?)""", re.DOTALL)


class NestedTooDeeply(ValueError):
    """A JSON document is nested deeper than is read."""


class NestingLimit:
    """A file whose ``read`` raises NestedTooDeeply where its JSON is nested too deeply, and BuildsTooMuch.

    Each value at ``held`` levels of nesting may build as much as one value may; with 0 all of them together.
    """

    def __init__(self, read: Callable[[int], bytes], levels: int, *, held: int = 0) -> None:
        """``read`` returns the next bytes of a file, so many at most; empty at its end."""
        self._read = read
        self._levels = levels
        self._held = held
        self._built = BuiltSize()
        self._depth = 0
        self._lowest = 0
        """The lowest level of the last piece."""
        self._in_string = False
        self._escaped = False
        """The last byte was a backslash, which the next one belongs to."""

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        piece = self._read(size)
        if size != 0:
            self._lowest = self._depth
            self._built.add(piece)
            self._follow(piece)
            if self._lowest <= self._held:
                self._built.begin()
        return piece

    def _follow(self, piece: bytes) -> None:
        at = 1 if self._escaped and piece else 0
        self._escaped = self._escaped and not piece
        if self._in_string and piece:
            rest = _REST_OF_STRING.match(piece, at)
            at = rest.end() if rest else at
            self._in_string = not (rest and rest["end"])
            if self._in_string:
                self._escaped = piece[at:] == b"\\"
                return
        for token in _TOKEN.finditer(piece, at):
            if token["open"]:
                self._depth += len(token["open"])
                if self._depth > self._levels:
                    raise NestedTooDeeply(f"It is nested deeper than {self._levels} levels.")
            elif token["close"]:
                self._depth -= len(token["close"])
                self._lowest = min(self._lowest, self._depth)
            elif not token["end"]:
                self._in_string = True
                self._escaped = piece[token.end() :] == b"\\"
                return
