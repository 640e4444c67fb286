"""Parse untrusted JSON only where the objects it builds fit into a given amount of memory.

A list of empty objects takes 24 times the bytes of its text, so the length of a text is no bound. The memory that a
text builds is estimated from its bytes, before it is parsed; short texts are parsed at once.
"""

import json
from collections.abc import Iterator
from typing import Any

MAX_BUILT_BYTES = 256_000_000
"""Maximum memory of one JSON value while it is read, including its decoded text: four times the longest line."""
MAX_SESSION_FACTOR = 4
"""Maximum memory of a whole session as a multiple of its text's bytes, since all of it is in memory at once."""
UNMEASURED_BYTES = 1_000_000
"""Length up to which a text is not measured: it needs at most a fifth of the limit."""
TOO_MUCH = "It would take more than {megabytes:,} MB of memory, which is more than is read at once, and was left out."
UTF_8 = frozenset({"utf-8", "utf-8-sig"})
# The estimated bytes in memory of each kind of value.
_OBJECT_BYTES = 200
_LIST_BYTES = 90
_NAME_BYTES = 120
"""Bytes of an entry of an object, with its place in the parser's list of names."""
_STRING_BYTES = 56
_VALUE_BYTES = 40
"""Bytes of a number, with its place in a list."""
_EMPTY_BYTES = 64
_LONG_STRING_BYTES = 1_024
"""Bytes from which a string's width is looked up; a shorter one is taken to be as wide as the widest."""
_PIECE_BYTES = 1 << 18
_CONTINUING = bytes(range(0x80, 0xC0))
"""The bytes of UTF-8 that begin no character."""
_ASTRAL = tuple(bytes((byte,)) for byte in range(0xF0, 0xF5))
_WIDE = tuple(bytes((byte,)) for byte in range(0xC4, 0xF0))
"""First bytes of UTF-8 characters that take two bytes in memory; those of ``_ASTRAL`` take four."""
_ESCAPED = rb"\u"
_ESCAPED_ASTRAL = tuple(b"\\u%c%c" % (d, n) for d in b"dD" for n in b"89abAB")


_decoded_json = json.JSONDecoder().decode


class BuildsTooMuch(ValueError):
    """A JSON text would build more than the limit; the message is a sentence for the user."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__(TOO_MUCH.format(megabytes=max_bytes // 1_000_000))


def json_value(content: bytes | str, built_size: "BuiltSize | None" = None) -> Any:
    """Return a JSON value; raises BuildsTooMuch, or ValueError where it is no JSON or nested too deeply.

    ``built_size`` adds up values that are kept together.
    """
    if built_size is not None or len(content) > UNMEASURED_BYTES:
        if isinstance(content, bytes) and json.detect_encoding(content) not in UTF_8:
            content = content.decode(json.detect_encoding(content), "surrogatepass")
        data = content.encode("utf-8", "replace") if isinstance(content, str) else content
        size = built_size or BuiltSize()
        size.read_bytes += len(data)
        for piece in _json_pieces(data):
            size.add(piece)
        if isinstance(content, bytes):
            size.check(_decoded_size(content))
    try:
        if isinstance(content, bytes) and content[:1] == b"{" and content[1:2] != b"\0":
            # What ``json.loads`` does of an object in UTF-8, without a look at its encoding.
            return _decoded_json(content.decode("utf-8", "surrogatepass"))
        return json.loads(content)
    except RecursionError as error:
        raise ValueError("It is nested too deeply.") from error


def _json_pieces(content: bytes) -> Iterator[bytes]:
    return (content[index : index + _PIECE_BYTES] for index in range(0, len(content), _PIECE_BYTES))


def _decoded_size(content: bytes) -> int:
    """Return the memory that a text takes when it is decoded: up to four bytes a character, by its widest one."""
    if content.isascii():
        return len(content)
    width = max(_bytes_per_character(piece, escapes=False) for piece in _json_pieces(content))
    return width * sum(len(piece.translate(None, _CONTINUING)) for piece in _json_pieces(content))


def _bytes_per_character(content: bytes, *, escapes: bool = True) -> int:
    """Return the bytes that each character of a decoded string takes, by its widest one."""
    has_escapes = escapes and _ESCAPED in content
    if content.isascii() and not has_escapes:
        return 1
    if any(head in content for head in (*_ASTRAL, *(_ESCAPED_ASTRAL if has_escapes else ()))):
        return 4
    return 2 if has_escapes or any(head in content for head in _WIDE) else 1


class BuiltSize:
    """Estimates the memory that a JSON text builds, piece by piece, and raises as soon as it is too much."""

    def __init__(self, size_factor: int = 0) -> None:
        """With ``size_factor`` a long text may build that many times its length, also beyond ``MAX_BUILT_BYTES``."""
        self.built_bytes = 0
        """Estimated bytes of memory that the values read so far take."""
        self.read_bytes = 0
        """Bytes of the texts so far."""
        self._size_factor = size_factor
        self._in_string = False
        self._open_escape = b""
        """A backslash at the end of the last piece, whose escape ends in the next piece."""
        self._open_bytes = 0
        """Bytes so far of a string that the next piece continues."""
        self._open_width = 1
        """Bytes in memory of each character of that string."""

    def restart_count(self) -> None:
        """Start counting again at the open string: values built before it have been released."""
        self.built_bytes = self._open_bytes * self._open_width if self._in_string else 0

    def check(self, more_bytes: int = 0) -> None:
        """Raise BuildsTooMuch where the built bytes and ``more_bytes`` exceed the limit."""
        max_bytes = max(MAX_BUILT_BYTES, self._size_factor * self.read_bytes)
        if self.built_bytes + more_bytes > max_bytes:
            raise BuildsTooMuch(max_bytes)

    def add(self, chunk: bytes) -> None:
        """Add the memory that the next bytes of the text build; raises BuildsTooMuch."""
        content = self._open_escape + chunk
        backslashes_at_end = len(content) - len(content.rstrip(b"\\"))
        self._open_escape = content[-1:] if backslashes_at_end % 2 else b""
        if self._open_escape:
            content = content[:-1]
        # Replace escaped quotes and backslashes, so that each remaining quote begins or ends a string.
        quote_parts = content.replace(rb"\\", b"_").replace(rb"\"", b"_").split(b'"')
        string_parts = quote_parts[not self._in_string :: 2]
        outside_strings = b"".join(quote_parts[self._in_string :: 2])
        continues_string = self._in_string
        self._in_string ^= len(quote_parts) % 2 == 0
        added_bytes = _structure_size(outside_strings)
        if string_parts and continues_string:
            added_bytes += self._added_bytes(string_parts.pop(0))
        if string_parts and self._in_string:
            self._open_bytes, self._open_width = 0, 1
            added_bytes += _STRING_BYTES + self._added_bytes(string_parts.pop())
        self.built_bytes += added_bytes + _strings_size(string_parts, _bytes_per_character(content))
        self.check()

    def _added_bytes(self, text: bytes) -> int:
        """Return the memory that the next bytes of an open string add; a wide character widens the whole string."""
        width = max(self._open_width, _bytes_per_character(text))
        added_bytes = len(text) * width + self._open_bytes * (width - self._open_width)
        self._open_bytes, self._open_width = self._open_bytes + len(text), width
        return added_bytes


def _structure_size(outside_strings: bytes) -> int:
    """Return the memory of everything but strings, given the text outside of them."""
    return (
        outside_strings.count(b"{") * _OBJECT_BYTES
        - outside_strings.count(b"{}") * (_OBJECT_BYTES - _EMPTY_BYTES)
        + outside_strings.count(b"[") * _LIST_BYTES
        + outside_strings.count(b":") * _NAME_BYTES
        + outside_strings.count(b",") * _VALUE_BYTES
        + len(outside_strings)
    )


def _strings_size(strings: list[bytes], width: int) -> int:
    """Return the memory of whole strings; ``width`` is that of the widest one."""
    if width == 1:
        return len(strings) * _STRING_BYTES + sum(map(len, strings))
    return sum(
        _STRING_BYTES
        + len(string)
        * (width if len(string) < _LONG_STRING_BYTES else _bytes_per_character(string))
        for string in strings
    )
