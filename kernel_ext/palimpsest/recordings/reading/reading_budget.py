"""Limit the work on a recording by its size on the disk: the bytes that are unpacked, looked up, repeated and yielded.

A small file can refer to the same text a million times, or repeat the same messages in each request. Each value that an
importer yields is counted, in every format; the values before the limit are kept.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

from pydantic import BaseModel

from palimpsest.transcript.errors import UserError

FREE_BYTES = 16_000_000
"""Budget in bytes of an empty recording."""
BUDGET_PER_BYTE = 100
"""Bytes of budget for each byte on the disk; compressed recordings need about 30."""
MAX_VALUE_BYTES = 64_000_000
"""Limit for one message or result, equal to that for a line."""
VALUE_BYTES = 1_500
"""Bytes that are counted for a value beside its texts, since each value takes time."""
PART_BYTES = 1_000
"""Bytes that are counted for each part of a message, which is stored and shown separately."""
LOOK_BYTES = 100
"""Bytes that are counted for a repeated look-up of a message, and for a field inside a value."""
TOO_MUCH = (
    "It is {size:,} kB on the disk and comes to over {most:,} MB, which is more than is read of a file of that size: what "
    "was read until there is kept. If you trust it, unpack it or save fewer sessions in one file with the program that "
    "made it."
)
_WITHOUT_TEXT = frozenset({int, float, bool, type(None)})
_SPEND_BUDGET: ContextVar[Callable[[int], None] | None] = ContextVar("_SPEND_BUDGET", default=None)

_SPENT_BYTES: ContextVar[list[int] | None] = ContextVar("_SPENT_BYTES", default=None)


class MakesTooMuch(UserError):
    """Raised where a recording exceeds its budget; the message is a sentence for the user."""


@contextmanager
def reading_within_budget(size: int) -> Iterator[None]:
    """Limit the work on a recording while the block runs; ``size`` is its size on the disk in bytes."""
    bytes_left = limit = FREE_BYTES + BUDGET_PER_BYTE * size

    def spend_bytes(total_size: int) -> None:
        nonlocal bytes_left
        bytes_left -= total_size
        if bytes_left < 0:
            kilobytes, megabytes = max(1, size // 1_000), max(1, limit // 1_000_000)
            raise MakesTooMuch(TOO_MUCH.format(size=kilobytes, most=megabytes))

    token = _SPEND_BUDGET.set(spend_bytes)
    try:
        yield
    finally:
        _SPEND_BUDGET.reset(token)


@contextmanager
def counting() -> Iterator[Callable[[], int]]:
    """Count the bytes that recordings come to while the block runs; the yielded function returns how many so far."""
    total = [0]
    token = _SPENT_BYTES.set(total)
    try:
        yield lambda: total[0]
    finally:
        _SPENT_BYTES.reset(token)


def spend(size: int) -> None:
    """Subtract bytes from the budget of the current recording, if there is one; raises MakesTooMuch."""
    if (total := _SPENT_BYTES.get()) is not None:
        total[0] += size
    if (spend_bytes := _SPEND_BUDGET.get()) is not None:
        spend_bytes(size)


def value_bytes(value: Any) -> int:
    """Return the bytes that are counted for a yielded value: the characters of its texts, its parts, and itself."""
    size, open_values = VALUE_BYTES + PART_BYTES * len(getattr(value, "parts", ())), [value]
    while open_values:
        next_value = open_values.pop()
        if isinstance(next_value, str):
            size += len(next_value)
        elif type(next_value) in _WITHOUT_TEXT:
            continue
        elif isinstance(next_value, dict):
            size += LOOK_BYTES * len(next_value) + sum(
                [len(key) for key in next_value if isinstance(key, str)]
            )
            open_values.extend(next_value.values())
        elif isinstance(next_value, list | tuple):
            size += LOOK_BYTES * len(next_value)
            open_values.extend(next_value)
        else:
            kind: Any = type(next_value)
            open_values.extend([getattr(next_value, name) for name in _field_names(kind)])
    return size


@cache
def _field_names(value_type: type) -> tuple[str, ...]:
    """Return the names of the fields of a dataclass or a model; none of any other type."""
    if issubclass(value_type, BaseModel):
        return tuple(value_type.model_fields)
    return tuple(field.name for field in fields(value_type)) if is_dataclass(value_type) else ()
