"""Limit the work on a recording by its size on the disk: the bytes that are unpacked, looked up, repeated and yielded.

A small file can name the same text a million times, or repeat the same messages in each request. Each value that a
reader makes counts, whatever the format; what was made until the limit is kept.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from typing import Any

from pydantic import BaseModel

from palimpsest.transcript.errors import UserError

FREE_BYTES = 16_000_000
"""Budget in bytes of the smallest recording."""
BUDGET_PER_BYTE = 100
"""Multiple of its size on the disk by which a recording's budget grows; compressed ones need about 30."""
MOST_VALUE_BYTES = 64_000_000
"""Limit for one message or result, the same as for a line."""
VALUE_BYTES = 1_500
"""Bytes that a value counts beside its texts, for the time it takes."""
PART_BYTES = 1_000
"""Bytes that each part of a message counts, which is stored and shown separately."""
LOOK_BYTES = 100
"""Bytes that a repeated look-up of a message, and a field inside a value, counts."""
TOO_MUCH = (
    "It is {size:,} kB on the disk and comes to over {most:,} MB, which is more than is read of a file of that size: what "
    "was read until there is kept. If you trust it, unpack it or save fewer sessions in one file with the program that "
    "made it."
)
_BUDGET: ContextVar[Callable[[int], None] | None] = ContextVar("_BUDGET", default=None)


class MakesTooMuch(UserError):
    """A recording would take more than its budget; the message is a sentence for the user."""


@contextmanager
def reading(size: int) -> Iterator[None]:
    """Limit the work on a recording while the block runs; ``size`` is its size on the disk in bytes."""
    remaining = most = FREE_BYTES + BUDGET_PER_BYTE * size

    def spend_bytes(total_size: int) -> None:
        nonlocal remaining
        remaining -= total_size
        if remaining < 0:
            kilobytes, megabytes = max(1, size // 1_000), max(1, most // 1_000_000)
            raise MakesTooMuch(TOO_MUCH.format(size=kilobytes, most=megabytes))

    token = _BUDGET.set(spend_bytes)
    try:
        yield
    finally:
        _BUDGET.reset(token)


def spend(size: int) -> None:
    """Count bytes against the budget of the recording that is being read, if any; raises MakesTooMuch."""
    if (spend_bytes := _BUDGET.get()) is not None:
        spend_bytes(size)


def value_bytes(value: Any) -> int:
    """Return the bytes that a yielded value counts: its texts in characters, its parts, and itself."""
    size, open_values = VALUE_BYTES + PART_BYTES * len(getattr(value, "parts", ())), [value]
    while open_values:
        inner = open_values.pop()
        if isinstance(inner, str):
            size += len(inner)
        elif isinstance(inner, dict):
            size += LOOK_BYTES * len(inner) + sum(len(key) for key in inner if isinstance(key, str))
            open_values.extend(inner.values())
        elif isinstance(inner, list | tuple):
            size += LOOK_BYTES * len(inner)
            open_values.extend(inner)
        elif isinstance(inner, BaseModel):
            open_values.extend(vars(inner).values())
        elif is_dataclass(inner) and not isinstance(inner, type):
            open_values.extend(getattr(inner, field.name) for field in fields(inner))
    return size
