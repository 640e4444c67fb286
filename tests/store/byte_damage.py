"""Damage bytes as disks, editors, copies and other programs do; a seed always gives the same damage."""

import random
from collections.abc import Callable, Sequence

Damage = Callable[[random.Random, bytes], bytes]

NESTED = 100_000
LONG_LINE = 300_000
HUGE = b"9" * 5_000


def _place(rng: random.Random, content: bytes) -> int:
    return rng.randrange(max(1, len(content)))


def flip(rng: random.Random, content: bytes) -> bytes:
    """Flip one bit."""
    at = _place(rng, content)
    return content[:at] + bytes([content[at] ^ (1 << rng.randrange(8))]) + content[at + 1 :]


def any_byte(rng: random.Random, content: bytes) -> bytes:
    """Replace a byte by a random one."""
    at = _place(rng, content)
    return content[:at] + rng.randbytes(1) + content[at + 1 :]


def delete(rng: random.Random, content: bytes) -> bytes:
    """Remove some bytes."""
    at = _place(rng, content)
    return content[:at] + content[at + rng.choice([1, 1, 2, 10]) :]


def insert(rng: random.Random, content: bytes) -> bytes:
    """Insert some bytes."""
    at = _place(rng, content)
    return content[:at] + rng.randbytes(rng.choice([1, 1, 2, 10])) + content[at:]


def truncate(rng: random.Random, content: bytes) -> bytes:
    """Cut off the end."""
    return content[: _place(rng, content)]


def nul(rng: random.Random, content: bytes) -> bytes:
    """Overwrite a range with zeros, as a power failure does."""
    at = _place(rng, content)
    length = rng.choice([1, 16, 200])
    return content[:at] + bytes(len(content[at : at + length])) + content[at + length :]


def bad_utf8(rng: random.Random, content: bytes) -> bytes:
    """Insert invalid UTF-8."""
    at = _place(rng, content)
    return (
        content[:at]
        + rng.choice([b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xe2\x82"])
        + content[at:]
    )


def _within(
    rng: random.Random, content: bytes, before: bytes, put: Callable[[bytes], bytes]
) -> bytes:
    """Replace a value that follows some bytes, such as a field's name."""
    places = [at for at in range(len(content)) if content.startswith(before, at)]
    if not places:
        return insert(rng, content)
    at = rng.choice(places) + len(before)
    stop = next(
        (place for place in range(at, len(content)) if content[place] in b",}]\n"), len(content)
    )
    return content[:at] + put(content[at:stop]) + content[stop:]


def half_characters(rng: random.Random, content: bytes) -> bytes:
    """Insert an escaped lone surrogate."""
    half = rng.choice([rb"\ud800", rb"\udfff", rb"\ud800\ud800"])
    return _within(rng, content, b'":"', lambda value: half + value)


def huge_number(rng: random.Random, content: bytes) -> bytes:
    """Replace a value by an invalid or too large number."""
    number = rng.choice([HUGE, b"1e999", b"-1", b"NaN", b"Infinity", b"1" + b"0" * 25, b"0.5"])
    return _within(rng, content, b'":', lambda _: number)


def nested(rng: random.Random, content: bytes) -> bytes:
    """Replace a value by deeply nested lists."""
    depth = rng.choice([150, 300, 700, NESTED])
    closed = b"]" * depth if rng.random() < 0.7 else b""
    return _within(rng, content, b'":', lambda _: b"[" * depth + closed)


def wrong_type(rng: random.Random, content: bytes) -> bytes:
    """Replace a value by one of another type."""
    value = rng.choice([b"null", b"true", b"[]", b"{}", b'"7"', b"7", b'""', b"[null]", b'{"":{}}'])
    return _within(rng, content, b'":', lambda _: value)


def path_name(rng: random.Random, content: bytes) -> bytes:
    """Replace a text by a path that leads out of the folder."""
    name = rng.choice([b"../../x", b"/etc/passwd", b"..", b".", b"a/b", b"con\\u0000"])
    return _within(rng, content, b'":"', lambda _: name + b'"')


def _lines(content: bytes) -> list[bytes]:
    return content.splitlines(keepends=True)


def swap_lines(rng: random.Random, content: bytes) -> bytes:
    """Exchange two lines."""
    lines = _lines(content)
    if len(lines) > 1:
        at = rng.randrange(len(lines) - 1)
        lines[at], lines[at + 1] = lines[at + 1], lines[at]
    return b"".join(lines)


def double_line(rng: random.Random, content: bytes) -> bytes:
    """Duplicate a line."""
    lines = _lines(content)
    at = rng.randrange(max(1, len(lines)))
    return b"".join([*lines[: at + 1], *lines[at:]])


def drop_line(rng: random.Random, content: bytes) -> bytes:
    """Remove a line."""
    lines = _lines(content)
    at = rng.randrange(max(1, len(lines)))
    return b"".join([*lines[:at], *lines[at + 1 :]])


def long_line(rng: random.Random, content: bytes) -> bytes:
    """Insert a very long line."""
    lines = _lines(content)
    at = rng.randrange(max(1, len(lines)))
    fill = rng.choice([b"x", b" ", b"[", b'{"a":', b"\\", b"9"])
    return b"".join([*lines[:at], fill * (LONG_LINE // len(fill)), b"\n", *lines[at:]])


BYTES: Sequence[Damage] = (flip, any_byte, delete, insert, truncate, nul, bad_utf8)
VALUES: Sequence[Damage] = (half_characters, huge_number, nested, wrong_type, path_name)
LINES: Sequence[Damage] = (swap_lines, double_line, drop_line, long_line)
ALL: Sequence[Damage] = (*BYTES, *VALUES, *LINES)


def damaged(seed: int, content: bytes) -> tuple[str, bytes]:
    """Return the name of the damage, and the damaged content."""
    rng = random.Random(seed)
    damage = ALL[seed % len(ALL)]
    return f"{damage.__name__} by seed {seed}", damage(rng, content)
