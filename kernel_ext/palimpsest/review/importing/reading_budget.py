"""Limit what is made of a recording by its size on the disk: what is unpacked, looked up, repeated and yielded.

A small file can name the same text a million times, or say the same messages anew with each request. Each value that
a reader makes counts, whatever the format; what was made until the limit is kept.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from typing import Any

from pydantic import BaseModel

from palimpsest.transcript.errors import UserError

FREE_BYTES = 16_000_000
"""What may be made of the smallest recording."""
TIMES = 100
"""Times its size on the disk that more may be made of a recording; packed ones come to about 30."""
MOST_VALUE_BYTES = 64_000_000
"""One message or result, as long as the longest line that is read."""
VALUE_BYTES = 1_500
"""What a value counts beside its texts: the time that it takes, as that of so many bytes."""
PART_BYTES = 1_000
"""What each part of a message counts, which is kept and shown by itself."""
LOOK_BYTES = 100
"""What a message that is looked up again, and a field inside a value, count."""
TOO_MUCH = (
    "It is {size:,} kB on the disk and comes to over {most:,} MB, which is more than is read of a file of that size: what "
    "was read until there is kept. If you trust it, unpack it or save fewer sessions in one file with the program that "
    "made it."
)
_BUDGET: ContextVar[Callable[[int], None] | None] = ContextVar("_BUDGET", default=None)


class MakesTooMuch(UserError):
    """More would be made of a recording than its size allows; the message is a sentence for a person."""


@contextmanager
def reading(size: int) -> Iterator[None]:
    """Limit what is made of a recording while the block runs; ``size`` is that of its file or folder on the disk, in bytes."""
    left = most = FREE_BYTES + TIMES * size

    def spend_of_it(made: int) -> None:
        nonlocal left
        left -= made
        if left < 0:
            kilobytes, megabytes = max(1, size // 1_000), max(1, most // 1_000_000)
            raise MakesTooMuch(TOO_MUCH.format(size=kilobytes, most=megabytes))

    token = _BUDGET.set(spend_of_it)
    try:
        yield
    finally:
        _BUDGET.reset(token)


def spend(made: int) -> None:
    """Count bytes that a reader makes of the recording at hand; raises MakesTooMuch. Elsewhere nothing is counted."""
    if (spend_of_it := _BUDGET.get()) is not None:
        spend_of_it(made)


def made_bytes(value: Any) -> int:
    """Return what a value that a reader yields counts: its texts in characters, its parts, and itself."""
    made, open_values = VALUE_BYTES + PART_BYTES * len(getattr(value, "parts", ())), [value]
    while open_values:
        one = open_values.pop()
        if isinstance(one, str):
            made += len(one)
        elif isinstance(one, dict):
            made += LOOK_BYTES * len(one) + sum(len(name) for name in one if isinstance(name, str))
            open_values.extend(one.values())
        elif isinstance(one, list | tuple):
            made += LOOK_BYTES * len(one)
            open_values.extend(one)
        elif isinstance(one, BaseModel):
            open_values.extend(vars(one).values())
        elif is_dataclass(one) and not isinstance(one, type):
            open_values.extend(getattr(one, field.name) for field in fields(one))
    return made
