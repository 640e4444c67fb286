"""Limit the work on a recording by its size on the disk: the bytes that are unpacked, looked up, repeated and yielded.

A small file can refer to the same text a million times, or repeat the same messages in each request. Each value that an
importer yields is counted, in every format; the values before the limit are kept.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from functools import cache
from operator import attrgetter
from typing import Any

from pydantic import BaseModel

from palimpsest.transcript.errors import UserError

FREE_BYTES = 16_000_000
"""Budget in bytes of an empty recording."""
BUDGET_PER_BYTE = 100
"""Bytes of budget for each byte on the disk; compressed recordings need about 30."""
MAX_VALUE_BYTES = 64_000_000
"""Maximum bytes of one message or result, equal to that for a line."""
BYTES_PER_VALUE = 1_500
"""Bytes that are counted for a value besides its texts, since each value takes time."""
BYTES_PER_PART = 1_000
"""Bytes that are counted for each part of a message, which is stored and shown separately."""
BYTES_PER_LOOK_UP = 100
"""Bytes that are counted for a repeated look-up of a message, and for a field inside a value."""
TOO_MUCH_SENTENCE = (
    "It is {size:,} kB on the disk and comes to over {most:,} MB, which is more than is read of a file of that size: what "
    "was read until there is kept. If you trust it, unpack it or save fewer sessions in one file with the program that "
    "made it."
)
_TYPES_WITHOUT_TEXT = frozenset({int, float, bool, type(None)})
_LIST_TYPES = (list, tuple)
_SPEND_BUDGET: ContextVar[Callable[[int], None] | None] = ContextVar("_SPEND_BUDGET", default=None)

_SPENT_BYTES: ContextVar[list[int] | None] = ContextVar("_SPENT_BYTES", default=None)


CountedValue = tuple[int, list[Hashable]]
"""The bytes that are counted for a value, and its leaves; returned by ``value_leaves``."""


class MakesTooMuch(UserError):
    """Raised where a recording exceeds its budget; the message is a sentence for the user."""


@contextmanager
def reading_within_budget(disk_bytes: int) -> Iterator[None]:
    """Limit the work on a recording while the block runs; ``disk_bytes`` is its size on the disk in bytes."""
    bytes_left = budget_bytes = FREE_BYTES + BUDGET_PER_BYTE * disk_bytes

    def spend_bytes(spent: int) -> None:
        nonlocal bytes_left
        bytes_left -= spent
        if bytes_left < 0:
            kilobytes, megabytes = max(1, disk_bytes // 1_000), max(1, budget_bytes // 1_000_000)
            raise MakesTooMuch(TOO_MUCH_SENTENCE.format(size=kilobytes, most=megabytes))

    token = _SPEND_BUDGET.set(spend_bytes)
    try:
        yield
    finally:
        _SPEND_BUDGET.reset(token)


@contextmanager
def counted_spending() -> Iterator[Callable[[], int]]:
    """Count the bytes that are spent on recordings while the block runs; the yielded function returns their number so far."""
    spent_total = [0]
    token = _SPENT_BYTES.set(spent_total)
    try:
        yield lambda: spent_total[0]
    finally:
        _SPENT_BYTES.reset(token)


def spend(byte_count: int) -> None:
    """Subtract bytes from the budget of the current recording, if there is one; raises MakesTooMuch."""
    if (spent_total := _SPENT_BYTES.get()) is not None:
        spent_total[0] += byte_count
    if (spend_bytes := _SPEND_BUDGET.get()) is not None:
        spend_bytes(byte_count)


def value_bytes(value: Any) -> int:
    """Return the bytes that are counted for a yielded value: the characters of its texts, its parts, and itself."""
    return value_leaves(value)[0]


def value_leaves(value: Any) -> CountedValue:
    """Return the bytes that are counted for a yielded value, and its leaves: the texts, numbers, names and types in it."""
    byte_count = BYTES_PER_VALUE + BYTES_PER_PART * len(getattr(value, "parts", ()))
    open_values = [value]
    leaves: list[Hashable] = []
    while open_values:
        inner = open_values.pop()
        value_type: Any = type(inner)
        if value_type in _TYPES_WITHOUT_TEXT:
            leaves.append(inner if inner == inner else "nan")  # every nan has another hash
        elif isinstance(inner, str):
            byte_count += len(inner)
            leaves.append(inner)
        elif isinstance(inner, dict):
            byte_count += BYTES_PER_LOOK_UP * len(inner) + sum(
                [len(key) for key in inner if isinstance(key, str)]
            )
            leaves.extend(inner)
            open_values.extend(inner.values())
        elif isinstance(inner, _LIST_TYPES):
            byte_count += BYTES_PER_LOOK_UP * len(inner)
            leaves.append(len(inner))
            open_values.extend(inner)
        else:
            leaves.append(value_type)
            open_values.extend(values_of(value_type)(inner))
    return byte_count, leaves


@cache
def values_of(value_type: type) -> Callable[[Any], Sequence[Any]]:
    """Return a function that returns the fields of a dataclass or a model in their order; none of any other type."""
    if issubclass(value_type, BaseModel):
        field_names = tuple(value_type.model_fields)
    else:
        field_names = (
            tuple(field.name for field in fields(value_type)) if is_dataclass(value_type) else ()
        )
    if len(field_names) > 1:
        return attrgetter(*field_names)
    return lambda value: [getattr(value, field_name) for field_name in field_names]
