"""Hash the values of a recording one after the other, so that a grown recording is recognised by its beginning.

A field that has its default does not count: a field that a later version adds changes no hash.
"""

import hashlib
import json
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any

from pydantic import BaseModel

from palimpsest.review.importing.recorded import Recorded

_fields_of = cache(fields)


class RunningHash:
    """The hash over the values seen so far."""

    def __init__(self) -> None:
        self.count = 0
        self._hash = hashlib.blake2b(digest_size=16)

    def add(self, value: Recorded) -> int:
        """Take the next value; returns its size in bytes."""
        content = json.dumps(_plain(value), sort_keys=True, ensure_ascii=False, default=repr)
        encoded = content.encode("utf-8", "surrogatepass")
        self._hash.update(len(encoded).to_bytes(8, "big"))
        self._hash.update(encoded)
        self.count += 1
        return len(encoded)

    @property
    def digest(self) -> str:
        """The hash so far, as 32 hex digits."""
        return self._hash.hexdigest()


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        said: dict[str, Any] = {"": type(value).__name__}
        for one in _fields_of(type(value)):
            held = getattr(value, one.name)
            if one.default is MISSING or held != one.default:
                said[one.name] = _plain(held)
        return said
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_defaults=True)
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    return value
