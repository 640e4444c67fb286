"""Composable checks for the shape of JSON bodies.

A check takes a value and the name of its path, and returns a sentence for each problem. The order and
pairing of messages are not checked here; those rules may rely on a checked shape.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Check = Callable[[Any, str], list[str]]

FIELD = "{where} is no field that this provider knows."


def at(where: str, name: str) -> str:
    """Return the path of a field."""
    return f"{where}.{name}" if where else name


def anything(_value: Any, _where: str) -> list[str]:
    """Accept any value."""
    return []


def text(value: Any, where: str) -> list[str]:
    """Accept a string, also an empty one."""
    return [] if isinstance(value, str) else [f"{where} must be a string."]


def filled(value: Any, where: str) -> list[str]:
    """Accept a string that is not empty."""
    return text(value, where) or ([] if value else [f"{where} is empty."])


def spoken(value: Any, where: str) -> list[str]:
    """Accept a string that is not blank."""
    return text(value, where) or ([] if value.strip() else [f"{where} holds white space only."])


def flag(value: Any, where: str) -> list[str]:
    """Accept true or false."""
    return [] if isinstance(value, bool) else [f"{where} must be true or false."]


def mapping(value: Any, where: str) -> list[str]:
    """Accept any object."""
    return [] if isinstance(value, dict) else [f"{where} must be an object."]


def matching(pattern: str, says: str) -> Check:
    """Accept strings that match a pattern; ``says`` completes "... must be"."""
    compiled = re.compile(pattern)

    def check(value: Any, where: str) -> list[str]:
        if isinstance(value, str) and compiled.fullmatch(value):
            return []
        return [f"{where} must be {says}."]

    return check


def among(*values: Any) -> Check:
    """Accept one of some values."""

    def check(value: Any, where: str) -> list[str]:
        if any(value == one and type(value) is type(one) for one in values):
            return []
        return [f"{where} must be one of {', '.join(map(repr, values))}."]

    return check


def number(low: float, high: float = math.inf) -> Check:
    """Accept numbers in a range, its ends included."""

    def check(value: Any, where: str) -> list[str]:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return [f"{where} must be a number."]
        return [] if low <= value <= high else [f"{where} must be from {low} to {high}."]

    return check


def whole(low: int, high: float = math.inf) -> Check:
    """Accept whole numbers in a range, its ends included."""

    def check(value: Any, where: str) -> list[str]:
        if isinstance(value, bool) or not isinstance(value, int):
            return [f"{where} must be a whole number."]
        return number(low, high)(value, where)

    return check


def items(inner: Check, least: int = 0, most: float = math.inf) -> Check:
    """Accept a list with a length in a range."""

    def check(value: Any, where: str) -> list[str]:
        if not isinstance(value, list):
            return [f"{where} must be a list."]
        if not least <= len(value) <= most:
            return [f"{where} has {len(value)} entries and must have from {least} to {most}."]
        return [found for i, one in enumerate(value) for found in inner(one, f"{where}[{i}]")]

    return check


def nullable(inner: Check) -> Check:
    """Accept null, too."""
    return lambda value, where: [] if value is None else inner(value, where)


def words_or(inner: Check, words: Check = spoken) -> Check:
    """Check a string by one check, and everything else by another."""
    return lambda value, where: (words if isinstance(value, str) else inner)(value, where)


def record(
    required: Mapping[str, Check],
    optional: Mapping[str, Check] | None = None,
    *,
    spell: Callable[[str], str] = str,
) -> Check:
    """Check an object with known fields; ``spell`` normalises the spelling of names."""
    known = {**required, **(optional or {})}

    def check(value: Any, where: str) -> list[str]:
        if not isinstance(value, dict):
            return [f"{where or 'The body'} must be an object."]
        given = {spell(name): one for name, one in value.items()}
        faults = [f"{at(where, name)} is missing." for name in required if name not in given]
        for name, one in given.items():
            place = at(where, name)
            faults += known[name](one, place) if name in known else [FIELD.format(where=place)]
        return faults

    return check


def tagged(variants: Mapping[str, Check], key: str = "type") -> Check:
    """Check an object whose ``key`` field selects one of the checks."""

    def check(value: Any, where: str) -> list[str]:
        if not isinstance(value, dict):
            return [f"{where} must be an object."]
        tag = value.get(key)
        if not isinstance(tag, str) or tag not in variants:
            return [f"{at(where, key)} is {tag!r} and must be one of {', '.join(variants)}."]
        return variants[tag](value, where)

    return check


def sayable(body: Any) -> list[str]:
    """Return the parts that JSON cannot carry: lone surrogates, and numbers that are not finite."""
    return [found for place, value in _leaves(body, "") if (found := _unsayable(value, place))]


def _unsayable(value: Any, where: str) -> str | None:
    if isinstance(value, float) and not math.isfinite(value):
        return f"{where} is {value}, which JSON does not know."
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return f"{where} holds half of a character (a lone surrogate)."
    return None


def _leaves(value: Any, where: str) -> Iterator[tuple[str, Any]]:
    match value:
        case dict():
            for name, one in value.items():
                yield f"a name in {where or 'the body'}", name
                yield from _leaves(one, at(where, str(name)))
        case list():
            for i, one in enumerate(value):
                yield from _leaves(one, f"{where}[{i}]")
        case _:
            yield where, value
