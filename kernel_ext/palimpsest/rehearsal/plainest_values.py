"""Numbers and texts that fit a field of a JSON schema: taken from an answer, or default values."""

import math
import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

TEXT_BY_FORMAT = {
    "date": "2000-01-01", "date-time": "2000-01-01T00:00:00Z", "time": "00:00:00Z", "duration": "PT0S",
    "uuid": "00000000-0000-0000-0000-000000000000", "uuid4": "00000000-0000-4000-8000-000000000000",
    "email": "nobody@example.org", "uri": "https://example.org/", "hostname": "example.org", "ipv4": "127.0.0.1",
    "ipv6": "::1", "ipvanyaddress": "127.0.0.1", "json-string": "{}", "regex": ".*", "path": ".", "file-path": ".",
    "directory-path": ".",
}  # fmt: skip
"""A default text for each string format of JSON Schema and pydantic; other formats take the answer's text."""
FREE_FORMATS = frozenset({"path", "password", "binary", "byte", "base64url"})
"""Formats that any text fits."""
CANDIDATE_TEXTS = ("0", "a", "A", "00", "aa", "AA", "000", "aaa", "AAA", "0000", "a0", "A0", "A-0", "AA-00", "AB-1234", "0.0", "0.0.0", "a@b.c")  # fmt: skip
"""Texts that are tried where nothing in the answer fits the pattern."""
MAX_PLAIN_CHARS = 1_000
"""Maximum characters of a simple text where the schema has no limit."""
DATE_CHARS = 10
"""Characters of a date without a time."""
DATE_PATTERN = re.compile(
    r"\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:\d{2})?)?"
)


def fitting_text(schema: Mapping[str, Any], answer: str) -> str | None:
    """Return the text of an answer that fits a field: the whole answer or the first word that fits; else None."""
    format_name = schema.get("format")
    if format_name in {"date", "date-time"}:
        return next(
            filter(
                None, (_date_or_time(text, format_name) for text in DATE_PATTERN.findall(answer))
            ),
            None,
        )
    if format_name in TEXT_BY_FORMAT and format_name not in FREE_FORMATS:
        return None
    min_length, max_length = int(schema.get("minLength") or 0), schema.get("maxLength")
    shortened_answer = answer[: int(max_length)] if max_length is not None else answer
    candidates = [shortened_answer, *answer.split()] if "pattern" in schema else [shortened_answer]
    for text in candidates:
        has_fitting_length = min_length <= len(text) and (
            max_length is None or len(text) <= int(max_length)
        )
        if text and has_fitting_length and _matches_pattern(schema, text):
            return text
    return None


def plain_text(schema: Mapping[str, Any], answer: str) -> str | None:
    """Return a simple text for a field that the answer does not fill; None where none of the candidates fits."""
    format_name = schema.get("format")
    if format_name in TEXT_BY_FORMAT:
        return TEXT_BY_FORMAT[format_name]
    min_length = int(schema.get("minLength") or 0)
    max_length = int(schema.get("maxLength", max(min_length, MAX_PLAIN_CHARS)))
    texts = (
        text.ljust(min_length, text[-1:] or ".")[:max_length]
        for text in (answer or "", *CANDIDATE_TEXTS)
    )
    return next(
        (text for text in texts if len(text) >= min_length and _matches_pattern(schema, text)), None
    )


def is_fitting_number(schema: Mapping[str, Any], number: float) -> bool:
    """Return whether a number is within the bounds of a field."""
    minimum, maximum = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
    exclusive_minimum = schema.get("exclusiveMinimum", -math.inf)
    exclusive_maximum = schema.get("exclusiveMaximum", math.inf)
    step = schema.get("multipleOf")
    is_within = minimum <= number <= maximum and exclusive_minimum < number < exclusive_maximum
    return is_within and (
        not step or math.isclose(number / step, round(number / step), abs_tol=1e-9)
    )


def plain_number(schema: Mapping[str, Any], *, is_integer: bool) -> float | int | None:
    """Return a simple number within the bounds of a field, such as 0 or a bound; None where there is none."""
    bound_names = ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum")
    bounds = [schema[bound_name] for bound_name in bound_names if bound_name in schema]
    step = schema.get("multipleOf") or (1 if is_integer else None)
    candidates: list[float] = [0, *bounds]
    for bound in bounds:
        lower, upper = math.floor(bound), math.ceil(bound)
        candidates += [bound + 1, bound - 1, lower, upper, lower + 1]
        if step:
            lower, upper = math.floor(bound / step), math.ceil(bound / step)
            candidates += [step * lower, step * upper, step * (lower + 1), step * (upper - 1)]
    if len(bounds) > 1:
        candidates.append((min(bounds) + max(bounds)) / 2)
    for candidate in candidates:
        if is_fitting_number(schema, candidate) and not (is_integer and candidate % 1):
            return int(candidate) if is_integer else candidate
    return None


def _date_or_time(text: str, format_name: str) -> str | None:
    """Return a date of an answer in the field's format, ``date`` or ``date-time``; None where it is invalid."""
    try:
        if format_name == "date":
            return date.fromisoformat(text[:DATE_CHARS]).isoformat()
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.isoformat() + ("" if moment.tzinfo else "Z")


def _matches_pattern(schema: Mapping[str, Any], text: str) -> bool:
    pattern = schema.get("pattern")
    if pattern is None:
        return True
    try:
        return re.search(pattern, text) is not None
    except re.error:
        return False
