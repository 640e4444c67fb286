"""Make text encodable: halves of a surrogate pair are joined, or replaced.

Border: pure. Servers that count in UTF-16 cut an emoji in two, and a tool may print one half only.
Python accepts such a half in a text, but cannot encode it for a file, a page or a request. So every
incoming text is repaired.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from pydantic import BaseModel

FIRST_HALF_RANGE = ("\ud800", "\udbff")
"""The first and the last code unit that begins a pair."""

TEXTLESS_TYPES = frozenset({type(None), bool, int, float})
"""Types of values that hold no text, which most fields have."""

T = TypeVar("T")


def joined_surrogates(text: str) -> str:
    """Return the text with halves of surrogate pairs joined, or replaced where the other half is missing."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def open_surrogate(text: str) -> str:
    """Return the first half of a surrogate pair that a text ends with, which the next piece may complete."""
    first, last = FIRST_HALF_RANGE
    return text[-1] if text and first <= text[-1] <= last else ""


def with_joined_surrogates(value: T) -> T:
    """Return a value in which every text is repaired; the same object where nothing changed."""
    joined_value: Any = _joined(value)
    return joined_value  # type: ignore[no-any-return]


def _joined(value: Any) -> Any:
    kind = type(value)
    if kind is str:
        return joined_surrogates(value)
    if kind in TEXTLESS_TYPES:
        return value
    match value:
        case str():
            return joined_surrogates(value)
        case BaseModel():
            all_fields = {**value.__dict__, **(value.__pydantic_extra__ or {})}
            changed_entries = _changed_entries(all_fields)
            return value.model_copy(update=changed_entries) if changed_entries else value
        case Mapping():
            return _joined_mapping(value)
        case list() | tuple():
            items = [_joined(item) for item in value]
            is_unchanged = all(new is old for new, old in zip(items, value, strict=True))
            return value if is_unchanged else type(value)(items)
        case _ if is_dataclass(value) and not isinstance(value, type):
            all_fields = {field.name: getattr(value, field.name) for field in fields(value)}
            changed_entries = _changed_entries(all_fields)
            return replace(value, **changed_entries) if changed_entries else value
        case _:
            return value


def _changed_entries(entries: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries that are not the same object any more."""
    return {name: new for name, item in entries.items() if (new := _joined(item)) is not item}


def _joined_mapping(value: Mapping[Any, Any]) -> Mapping[Any, Any]:
    names = {name: _joined(name) for name in value}
    if any(new is not old for old, new in names.items()):
        return {names[name]: _joined(item) for name, item in value.items()}
    changed_entries = _changed_entries(value)
    return {**value, **changed_entries} if changed_entries else value
