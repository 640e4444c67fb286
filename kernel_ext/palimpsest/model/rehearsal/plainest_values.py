"""Numbers and texts that fit a field of a JSON schema: taken from an answer, or the plainest there are."""

import math
import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

FORMATS = {
    "date": "2000-01-01",
    "date-time": "2000-01-01T00:00:00Z",
    "time": "00:00:00Z",
    "duration": "PT0S",
    "uuid": "00000000-0000-0000-0000-000000000000",
    "uuid1": "00000000-0000-1000-8000-000000000000",
    "uuid3": "00000000-0000-3000-8000-000000000000",
    "uuid4": "00000000-0000-4000-8000-000000000000",
    "uuid5": "00000000-0000-5000-8000-000000000000",
    "email": "nobody@example.org",
    "uri": "https://example.org/",
    "hostname": "example.org",
    "ipv4": "127.0.0.1",
    "ipv6": "::1",
    "ipvanyaddress": "127.0.0.1",
    "ipv4network": "127.0.0.0/8",
    "ipv6network": "::1/128",
    "ipv4interface": "127.0.0.1/8",
    "ipv6interface": "::1/128",
    "json-string": "{}",
    "regex": ".*",
    "path": ".",
    "file-path": ".",
    "directory-path": ".",
}
"""The plainest text of each format that JSON Schema and pydantic name; any other takes the answer's words."""
WORDS = frozenset({"path", "password", "binary", "byte", "base64url"})
"""Formats that any text has."""
CANDIDATES = ("0", "a", "A", "00", "aa", "AA", "000", "aaa", "AAA", "0000", "a0", "A0", "A-0", "AA-00", "AB-1234", "0.0", "0.0.0", "a@b.c")  # fmt: skip
"""Texts that are tried where a pattern fits nothing in the answer."""
DATE = re.compile(r"\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:\d{2})?)?")


def fitting_text(schema: Mapping[str, Any], answer: str) -> str | None:
    """Return what of the answer fits a text field: all of it, or the first word that does; None where none does."""
    form = schema.get("format")
    if form in {"date", "date-time"}:
        return next(filter(None, (_moment(one, form) for one in DATE.findall(answer))), None)
    if form in FORMATS and form not in WORDS:
        return None
    shortest, longest = int(schema.get("minLength") or 0), schema.get("maxLength")
    words = answer[: int(longest)] if longest is not None else answer
    candidates = [words, *answer.split()] if "pattern" in schema else [words]
    for one in candidates:
        fits = shortest <= len(one) and (longest is None or len(one) <= int(longest))
        if one and fits and _matches(schema, one):
            return one
    return None


def plain_text(schema: Mapping[str, Any], answer: str) -> str | None:
    """Return the plainest text for a field that the answer does not fill; None where no simple one fits."""
    form = schema.get("format")
    if form in FORMATS:
        return FORMATS[form]
    shortest = int(schema.get("minLength") or 0)
    longest = int(schema.get("maxLength", max(shortest, 1_000)))
    found = (one.ljust(shortest, one[-1:] or ".")[:longest] for one in (answer or "", *CANDIDATES))
    return next((one for one in found if len(one) >= shortest and _matches(schema, one)), None)


def fitting_number(schema: Mapping[str, Any], number: float) -> bool:
    """Tell whether a number is within the bounds of a field."""
    least, most = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
    above = schema.get("exclusiveMinimum", -math.inf)
    below = schema.get("exclusiveMaximum", math.inf)
    step = schema.get("multipleOf")
    within = least <= number <= most and above < number < below
    return within and (not step or math.isclose(number / step, round(number / step), abs_tol=1e-9))


def plain_number(schema: Mapping[str, Any], *, whole: bool) -> float | int | None:
    """Return the plainest number within the bounds of a field; None where there is none."""
    names = ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum")
    bounds = [schema[one] for one in names if one in schema]
    step = schema.get("multipleOf") or (1 if whole else None)
    candidates: list[float] = [0, *bounds]
    for bound in bounds:
        low, high = math.floor(bound), math.ceil(bound)
        candidates += [bound + 1, bound - 1, low, high, low + 1]
        if step:
            low, high = math.floor(bound / step), math.ceil(bound / step)
            candidates += [step * low, step * high, step * (low + 1), step * (high - 1)]
    if len(bounds) > 1:
        candidates.append((min(bounds) + max(bounds)) / 2)
    for one in candidates:
        if fitting_number(schema, one) and not (whole and one % 1):
            return int(one) if whole else one
    return None


def _moment(told: str, form: str) -> str | None:
    """Return a date or a moment of an answer in the form that a field wants; None where it is none."""
    try:
        if form == "date":
            return date.fromisoformat(told[:10]).isoformat()
        moment = datetime.fromisoformat(told)
    except ValueError:
        return None
    return moment.isoformat() + ("" if moment.tzinfo else "Z")


def _matches(schema: Mapping[str, Any], text: str) -> bool:
    pattern = schema.get("pattern")
    if pattern is None:
        return True
    try:
        return re.search(pattern, text) is not None
    except re.error:
        return False
