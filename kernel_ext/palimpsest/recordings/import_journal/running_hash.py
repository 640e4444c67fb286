"""Hash the values of a recording in order, so that a grown recording is recognised by its beginning.

A field with its default value is not hashed, so that a field added in a later version changes no hash.
"""

import hashlib
import json
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any

from pydantic import BaseModel

from palimpsest.recordings.reading.recorded import Recorded

_fields_of = cache(fields)


class RunningHash:
    """The hash of the values so far."""

    def __init__(self) -> None:
        self.count = 0
        self._hash = hashlib.blake2b(digest_size=16)

    def add(self, value: Recorded) -> int:
        """Add the next value to the hash, and return the value's size in bytes."""
        content = json.dumps(_plain_value(value), sort_keys=True, ensure_ascii=False, default=repr)
        encoded = content.encode("utf-8", "surrogatepass")
        self._hash.update(len(encoded).to_bytes(8, "big"))
        self._hash.update(encoded)
        self.count += 1
        return len(encoded)

    @property
    def digest(self) -> str:
        """The hash so far, as 32 hex digits."""
        return self._hash.hexdigest()


def _plain_value(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        fields: dict[str, Any] = {"": type(value).__name__}
        for field in _fields_of(type(value)):
            field_value = getattr(value, field.name)
            if field.default is MISSING or field_value != field.default:
                fields[field.name] = _plain_value(field_value)
        return fields
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_defaults=True)
    if isinstance(value, tuple | list):
        return [_plain_value(inner) for inner in value]
    return value
