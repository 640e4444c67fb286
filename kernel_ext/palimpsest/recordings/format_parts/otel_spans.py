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
from palimpsest.recordings.reading.sources import head_of, is_too_deep, json_items, json_lines

SPANS_PREFIX = "resourceSpans.item.scopeSpans.item.spans.item"
NANOSECONDS_PER_MS = 1_000_000
MAX_SEARCHED_BYTES = 200
"""Maximum bytes at a file's beginning in which OTLP's first field is searched."""
MAX_DIGITS = 24
"""Maximum characters of a number that was recorded as text."""


def read_spans(path: Path, report: Report) -> Iterator[tuple[str, JsonValue]]:
    """Yield the spans of a file in any of the forms, each with its position for reports."""
    start = head_of(path).start.lstrip()
    first_line, line_end, _ = start.partition(b"\n")
    is_list, is_one_object_a_line = (
        start.startswith(b"["),
        line_end and first_line.strip().endswith(b"}"),
    )
    if is_list or (not is_one_object_a_line and b'"resourceSpans"' in start[:MAX_SEARCHED_BYTES]):
        spans = json_items(path, "item" if is_list else SPANS_PREFIX, report)
        yield from ((f"span {number}", JsonValue(span)) for number, span in enumerate(spans, 1))
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


def _any_value(typed_value: JsonValue) -> Any:
    if "intValue" in typed_value:
        number = typed_value.get("intValue")
        is_bounded = (
            isinstance(number, str) and len(number) <= MAX_DIGITS and number.lstrip("-").isdecimal()
        )
        return int(number) if is_bounded else number
    for name in ("stringValue", "boolValue", "doubleValue", "bytesValue"):
        if name in typed_value:
            return typed_value.get(name)
    if "arrayValue" in typed_value:
        return [_any_value(value) for value in typed_value.objects("arrayValue", "values")]
    if "kvlistValue" in typed_value:
        return attributes_of(typed_value.at("kvlistValue", "values"))
    return None


def decoded_attribute(value: JsonValue) -> JsonValue:
    """Return an attribute's object or list, which may be JSON text; NO_VALUE where it is nested too deeply."""
    decoded = value.decoded()
    return NO_VALUE if is_too_deep(decoded.raw) else decoded


def nanoseconds(recorded_ns: Any, iso_time: Any) -> int:
    """Return a time since 1970 in nanoseconds: OTLP's number, or the SDK's ISO text; 0 where there is none."""
    if (
        isinstance(recorded_ns, str)
        and recorded_ns.isascii()
        and recorded_ns.isdigit()
        and len(recorded_ns) <= MAX_DIGITS
    ):
        return int(recorded_ns)
    return (
        JsonValue(recorded_ns).count()
        or (JsonValue(iso_time).milliseconds() or 0) * NANOSECONDS_PER_MS
    )


def failure_of(span: JsonValue, attributes: JsonValue) -> str:
    """Return why a span failed; empty where it did not."""
    status = span.at("status")
    has_failed = (
        status.get("code") in (2, "STATUS_CODE_ERROR") or status.get("status_code") == "ERROR"
    )
    message = status.text("message") or status.text("description")
    return (message or attributes.text("error.type") or "error") if has_failed else ""
