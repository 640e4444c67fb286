"""Hash the values of a recording in order, so that a grown recording is recognised by its beginning.

A field with its default value is not hashed, so that a field added in a later version changes no hash.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, partial
from json import JSONEncoder
from typing import Any

from pydantic import BaseModel

from palimpsest.recordings.reading.recorded import Recorded

_ENCODER = JSONEncoder(sort_keys=True, ensure_ascii=False, default=repr)


class RunningHash:
    """The hash of the values so far."""

    def __init__(self) -> None:
        self.count = 0
        self._hash = hashlib.blake2b(digest_size=16)

    def add(self, value: Recorded) -> int:
        """Add the next value to the hash, and return the value's size in bytes."""
        content = _ENCODER.encode(_plain_value(value))
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
    """Return a value of a recording with its dataclasses as objects; what an object holds stays as it is."""
    kind: Any = type(value)
    return _plain_form(kind)(value)


@cache
def _plain_form(value_type: type) -> Callable[[Any], Any]:
    """Return the function that makes values of a type plain."""
    if is_dataclass(value_type):
        return partial(
            _plain_dataclass, [(field.name, field.default) for field in fields(value_type)]
        )
    if issubclass(value_type, BaseModel):
        return _plain_model
    return _plain_items if issubclass(value_type, tuple | list) else _as_it_is


def _plain_dataclass(defaults: Sequence[tuple[str, Any]], value: Any) -> dict[str, Any]:
    plain_fields: dict[str, Any] = {"": type(value).__name__}
    for name, default in defaults:
        field_value = getattr(value, name)
        if default is MISSING or field_value != default:
            plain_fields[name] = _plain_value(field_value)
    return plain_fields


def _plain_model(value: BaseModel) -> Any:
    return value.model_dump(mode="json", exclude_defaults=True)


def _plain_items(value: Iterable[Any]) -> list[Any]:
    return [_plain_value(inner) for inner in value]


def _as_it_is(value: Any) -> Any:
    return value
