"""Read OpenTelemetry spans from JSON files in their different forms.

The forms are: one OTLP document (``resourceSpans``); one such document a line, as the collector writes them; one OTLP
span a line; and spans as the SDK for Python prints them, one a line or in a list.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from palimpsest.recordings.reading.importer import Report
from palimpsest.recordings.reading.json_fields import NO_VALUE, JsonValue
from palimpsest.recordings.reading.recorded import Json
from palimpsest.recordings.reading.sources import head_of, json_items, json_lines, too_deep

SPAN_PATH = "resourceSpans.item.scopeSpans.item.spans.item"
NANOSECONDS_PER_MS = 1_000_000


def read_spans(path: Path, report: Report) -> Iterator[tuple[str, JsonValue]]:
    """Yield the spans of a file in one of these forms, each with its position for reports."""
    start = head_of(path).start.lstrip()
    first, newline, _ = start.partition(b"\n")
    is_list, has_lines = start.startswith(b"["), newline and first.strip().endswith(b"}")
    if is_list or (not has_lines and b'"resourceSpans"' in start[:200]):
        spans = json_items(path, "item" if is_list else SPAN_PATH, report)
        yield from ((f"span {n}", JsonValue(span)) for n, span in enumerate(spans, 1))
        return
    for number, line in json_lines(path, report):
        for span in _spans_in(line):
            yield f"line {number}", span


def _spans_in(line: JsonValue) -> Iterator[JsonValue]:
    if "resourceSpans" not in line:
        yield line
    for resource in line.objects("resourceSpans"):
        for scope in resource.objects("scopeSpans"):
            yield from scope.objects("spans")


def attributes_of(value: JsonValue) -> Json:
    """Return attributes as plain values, from an object or from OTLP's list of keys and typed values."""
    if isinstance(value.raw, dict):
        return value.fields()
    return {entry.text("key"): _any_value(entry.at("value")) for entry in value.objects()}


def _any_value(wrapped: JsonValue) -> Any:
    if "intValue" in wrapped:
        number = wrapped.get("intValue")
        is_bounded = isinstance(number, str) and len(number) < 25 and number.lstrip("-").isdecimal()
        return int(number) if is_bounded else number
    for name in ("stringValue", "boolValue", "doubleValue", "bytesValue"):
        if name in wrapped:
            return wrapped.get(name)
    if "arrayValue" in wrapped:
        return [_any_value(value) for value in wrapped.objects("arrayValue", "values")]
    if "kvlistValue" in wrapped:
        return attributes_of(wrapped.at("kvlistValue", "values"))
    return None


def decoded_attribute(value: JsonValue) -> JsonValue:
    """Return an attribute's object or list, which may be JSON text; NO_VALUE where it is nested too deeply."""
    decoded = value.decoded()
    return NO_VALUE if too_deep(decoded.raw) else decoded


def nanoseconds(number: Any, iso: Any) -> int:
    """Return a time since 1970 in nanoseconds: OTLP's number, or the SDK's ISO text; 0 where there is none."""
    if isinstance(number, str) and number.isascii() and number.isdigit() and len(number) < 25:
        return int(number)
    return JsonValue(number).count() or (JsonValue(iso).milliseconds() or 0) * NANOSECONDS_PER_MS


def failure_of(span: JsonValue, attributes: JsonValue) -> str:
    """Return why a span failed; empty where it did not."""
    status = span.at("status")
    has_failed = (
        status.get("code") in (2, "STATUS_CODE_ERROR") or status.get("status_code") == "ERROR"
    )
    message = status.text("message") or status.text("description")
    return (message or attributes.text("error.type") or "error") if has_failed else ""
