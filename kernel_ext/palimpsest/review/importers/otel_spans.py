"""Read spans of OpenTelemetry from JSON, whichever of its forms a file has.

The forms are OTLP's documents (``resourceSpans``), one whole document, or one a line as the collector writes
them; single spans of OTLP, one a line; and spans as the SDK for Python prints them, one a line or in a list.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from palimpsest.review.importing.importer import Report
from palimpsest.review.importing.json_fields import NOTHING, JsonValue
from palimpsest.review.importing.recorded import Json
from palimpsest.review.importing.sources import head_of, json_items, json_lines, too_deep

SPANS = "resourceSpans.item.scopeSpans.item.spans.item"
NANOSECONDS = 1_000_000
"""How many are a millisecond."""


def read_spans(path: Path, report: Report) -> Iterator[tuple[str, JsonValue]]:
    """Yield the spans of a file, whichever of the forms it has."""
    start = head_of(path).start.lstrip()
    first, newline, _ = start.partition(b"\n")
    if start.startswith(b"["):
        for n, span in enumerate(json_items(path, "item", report), 1):
            yield f"span {n}", JsonValue(span)
    elif newline and first.strip().endswith(b"}"):
        for number, line in json_lines(path, report):
            for span in _spans_in(line):
                yield f"line {number}", span
    elif b'"resourceSpans"' in start[:200]:
        for n, span in enumerate(json_items(path, SPANS, report), 1):
            yield f"span {n}", JsonValue(span)
    else:
        for number, line in json_lines(path, report):
            yield f"line {number}", line


def _spans_in(line: JsonValue) -> Iterator[JsonValue]:
    if "resourceSpans" not in line:
        yield line
    for resource in line.objects("resourceSpans"):
        for scope in resource.objects("scopeSpans"):
            yield from scope.objects("spans")


def attributes_of(value: JsonValue) -> Json:
    """Return attributes as plain values: an object already, or OTLP's list of keys and typed values."""
    if isinstance(value.raw, dict):
        return value.fields()
    return {one.text("key"): _any_value(one.at("value")) for one in value.objects()}


def _any_value(told: JsonValue) -> Any:
    if "intValue" in told:
        number = told.get("intValue")
        short = isinstance(number, str) and len(number) < 25 and number.lstrip("-").isdecimal()
        return int(number) if short else number
    for name in ("stringValue", "boolValue", "doubleValue", "bytesValue"):
        if name in told:
            return told.get(name)
    if "arrayValue" in told:
        return [_any_value(one) for one in told.objects("arrayValue", "values")]
    if "kvlistValue" in told:
        return attributes_of(told.at("kvlistValue", "values"))
    return None


def structure(value: JsonValue) -> JsonValue:
    """Return an attribute that is a structure, or JSON text of one; nothing where it is nested too deeply."""
    found = value.decoded()
    return NOTHING if too_deep(found.raw) else found


def nanoseconds(count_of: Any, iso: Any) -> int:
    """Return a time since 1970: OTLP's count, or the SDK's ISO text; 0 where there is none."""
    if (
        isinstance(count_of, str)
        and count_of.isascii()
        and count_of.isdigit()
        and len(count_of) < 25
    ):
        return int(count_of)
    return JsonValue(count_of).count() or (JsonValue(iso).milliseconds() or 0) * NANOSECONDS


def failure_of(raw: JsonValue, about: JsonValue) -> str:
    """Return why a span failed; empty where it did not."""
    status = raw.at("status")
    failed = status.get("code") in (2, "STATUS_CODE_ERROR") or status.get("status_code") == "ERROR"
    said = status.text("message") or status.text("description")
    return (said or about.text("error.type") or "error") if failed else ""
