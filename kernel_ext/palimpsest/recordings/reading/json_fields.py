"""Read values of a known type from JSON of unknown shape, so that a wrong type counts as missing.

Recordings are untrusted data: any field may be missing or of another type, a number may be too large, a text may hold
half of a surrogate pair. No function here raises.
"""

import json
import math
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any

from palimpsest.recordings.reading.recorded import Json, Media
from palimpsest.store.bounded_json import json_value
from palimpsest.transcript.values import MAX_TIME_MS, ToolSpec, Usage

MAX_TOKENS = 1_000_000_000_000
MAX_DOLLARS = 1_000_000_000
MAX_NUMBER_NOTES = 100
"""Maximum wrong numbers that are reported for one value."""
MAX_SHOWN_CHARS = 40
MAX_SHOWN_INTEGER = 10**30
"""Largest integer whose digits are shown in a report; larger ones are shown as floating-point numbers."""
MAX_ID_CHARS = 512
MAX_ADDRESS_CHARS = 200
"""Maximum characters of an address that names a file which has no other name."""
MAX_TIME_DIGITS, MAX_TIME_CHARS = 24, 40
"""Maximum digits of a time that is a number in a text, and maximum characters of ISO text."""
NUMBER_NOTES: ContextVar[list[str] | None] = ContextVar("NUMBER_NOTES", default=None)
"""Collects a sentence for each usage number that is left out; the caller adds the request."""
MIN_MILLISECOND_NUMBER = 100_000_000_000
"""Times below this number are in seconds, those from it on in milliseconds."""
MAX_SMALL_FACTS = 20
MAX_FACT_CHARS = 200
FINISH_REASONS = {
    "stop": "stop",
    **dict.fromkeys(("end_turn", "stop_sequence", "pause_turn"), "stop"),
    **dict.fromkeys(
        ("tool_call", "tool_calls", "tool_use", "toolUse", "function_call"), "tool-calls"
    ),
    **dict.fromkeys(("length", "max_tokens", "model_length"), "length"),
    "model_context_window_exceeded": "length",
    **dict.fromkeys(("content_filter", "refusal"), "content-filter"),
    "error": "error",
    "aborted": "aborted",
}
"""The neutral finish reason for each finish reason of formats and providers."""


class JsonValue:
    """A value of a recording, with methods that read a part of the value as a given type.

    A part is given by its path: ``event.text("message", "role")``; without names the value itself is read. Only an object
    with fields is truthy.
    """

    __slots__ = ("raw",)

    def __init__(self, raw: Any) -> None:
        self.raw = raw

    def __bool__(self) -> bool:
        return isinstance(self.raw, dict) and bool(self.raw)

    def __contains__(self, name: str) -> bool:
        return isinstance(self.raw, dict) and name in self.raw

    def get(self, *names: str) -> Any:
        """Return the value at a path unchanged; None where there is none."""
        value = self.raw
        for name in names:
            value = value.get(name) if isinstance(value, dict) else None
        return value

    def at(self, *names: str) -> "JsonValue":
        """Return the value at a path as a JsonValue."""
        return JsonValue(self.get(*names))

    def either(self, *names: str) -> "JsonValue":
        """Return the first of several fields that exists."""
        return next((self.at(name) for name in names if name in self), NO_VALUE)

    def fields(self, *names: str) -> Json:
        """Return an object, or an empty one for anything else."""
        value = self.get(*names)
        return value if isinstance(value, dict) else {}

    def objects(self, *names: str) -> "list[JsonValue]":
        """Return the objects of a list; none for anything else."""
        return [JsonValue(value) for value in self.list_at(*names) if isinstance(value, dict)]

    def first_entry(self, *names: str) -> "JsonValue":
        """Return the first object of a list; an empty one where there is none."""
        return next(iter(self.objects(*names)), NO_VALUE)

    def list_at(self, *names: str) -> list[Any]:
        """Return a list, or an empty one for anything else."""
        value = self.get(*names)
        return value if isinstance(value, list) else []

    def text(self, *names: str) -> str:
        """Return a text that can be encoded, or an empty one for anything else."""
        value = self.get(*names)
        if not isinstance(value, str):
            return ""
        return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")

    def id(self, *names: str) -> str:
        """Return an id, which some formats write as a number; empty where it is neither."""
        value = self.get(*names)
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < MAX_TOKENS:
            return str(value)
        return JsonValue(value).text()[:MAX_ID_CHARS]

    def integer(self, *names: str) -> int | None:
        """Return a non-negative integer; None for anything else."""
        return _count_in(self.get(*names))

    def count(self, *names: str) -> int:
        """Return a non-negative integer, or 0."""
        return self.integer(*names) or 0

    def token_field(self, *names: str) -> int | None:
        """Return a number of tokens of a usage field, or None; a wrong value is reported through ``NUMBER_NOTES``."""
        value = self.get(*names)
        tokens = _count_in(value)
        if value is not None and tokens is None:
            _report_number(names, value, "number of tokens")
        return tokens

    def tokens(self, *names: str) -> int:
        """Return a number of tokens in a field of recorded usage, 0 where there is none; see ``token_field``."""
        return self.token_field(*names) or 0

    def cost(self, *names: str, may_be_free: bool = False) -> float | None:
        """Return a recorded cost; report a value that is no amount of money like a wrong number of tokens.

        Most programs write 0 where they do not know the price, so 0 becomes None, unless ``may_be_free`` is set.
        """
        value = self.get(*names)
        dollars = _number(value)
        if value is not None and (dollars is None or not 0 <= dollars <= MAX_DOLLARS):
            _report_number(names, value, "amount of money")
            return None
        return dollars if may_be_free else dollars or None

    def milliseconds(self, *names: str, round_number: Callable[[float], int] = int) -> int | None:
        """Return a time in milliseconds since 1970, from a number or from ISO text, by default in UTC."""
        return _time_ms(self.get(*names), round_number)

    def time_ms(self, *names: str) -> int | None:
        """Return a time in milliseconds since 1970, from ISO text or a number; a number below 100 billion is in seconds."""
        value = self.get(*names)
        number = _number(value)
        is_in_seconds = number is not None and abs(number) < MIN_MILLISECOND_NUMBER
        return _time_ms(number * 1_000 if number is not None and is_in_seconds else value)

    def small_facts(self, *names: str) -> Json:
        """Return the numbers and short texts of an object, such as an exit code, without long texts."""
        return {
            name: value
            for name, value in list(self.fields(*names).items())[:MAX_SMALL_FACTS]
            if isinstance(value, bool | int | float)
            or (isinstance(value, str) and len(value) <= MAX_FACT_CHARS)
        }

    def decoded(self, *names: str) -> "JsonValue":
        """Return the JSON value in a text, or the value itself where it is no JSON text."""
        return JsonValue(_parse_json(self.get(*names)))

    def tool_input(self, *names: str, name: str = "input") -> Json:
        """Return the input of a call: an object, or the object in a JSON text; else an object with ``name``."""
        decoded = _parse_json(self.get(*names))
        if isinstance(decoded, dict):
            return decoded
        return {} if decoded is None or decoded == "" else {name: decoded}

    def as_text(self, *names: str) -> str:
        """Return a value as text: texts as they are, anything else as JSON."""
        value = self.get(*names)
        try:
            if not isinstance(value, str | None):
                value = json.dumps(value, ensure_ascii=False, default=str)
            return JsonValue(value).text()
        except (ValueError, RecursionError):
            return ""

    def tool_specs(self, *names: str) -> tuple[ToolSpec, ...] | None:
        """Return the offered tools, each described directly or under ``function``; None where there is no list."""
        if not isinstance(self.get(*names), list):
            return None
        specs = [value.at("function") or value for value in self.objects(*names)]
        return tuple(
            ToolSpec(
                name=tool.text("name"),
                description=tool.text("description"),
                parameters=tool.fields("parameters") or tool.fields("input_schema"),
            )
            for tool in specs
            if tool.text("name")
        )

    def finish(self, *names: str) -> str | None:
        """Return the neutral name of a finish reason; None where it is missing or unknown."""
        return FINISH_REASONS.get(self.text(*names))


NO_VALUE = JsonValue(None)
_NUMBER_TYPES = (int, float)


def _number(value: Any) -> float | None:
    """Return a finite number, or None."""
    if not isinstance(value, _NUMBER_TYPES) or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _count_in(value: Any) -> int | None:
    """Return a non-negative integer; None for anything else."""
    if type(value) is int:
        return value if 0 <= value <= MAX_TOKENS else None
    number = _number(value)
    return int(number) if number is not None and 0 <= number <= MAX_TOKENS else None


def _time_ms(value: Any, round_number: Callable[[float], int] = int) -> int | None:
    if (
        isinstance(value, str)
        and value.isascii()
        and value.isdigit()
        and len(value) <= MAX_TIME_DIGITS
    ):
        value = int(value)
    if isinstance(value, str):
        try:
            parsed_time = datetime.fromisoformat(value[:MAX_TIME_CHARS])
            time_ms = parsed_time.replace(tzinfo=parsed_time.tzinfo or UTC).timestamp() * 1_000
        except (ValueError, OverflowError, OSError):
            return None
    else:
        time_ms = _number(value) or 0
    return round_number(time_ms) if 0 < time_ms <= MAX_TIME_MS else None


def _parse_json(value: Any) -> Any:
    if not isinstance(value, str | bytes):
        return value
    try:
        return json_value(value)
    except (ValueError, RecursionError):
        return value


def _report_number(field_path: Sequence[str], value: Any, noun: str) -> None:
    notes = NUMBER_NOTES.get()
    if notes is not None and len(notes) < MAX_NUMBER_NOTES:
        description = f"{'.'.join(field_path)} is {_short_text(value)}"
        notes.append(f"{description}, which is no {noun}: it was left out.")


def _short_text(value: Any) -> str:
    """Return a short text for an untrusted value; a list or object is given by its type."""
    if isinstance(value, bool | float | int):
        return (
            str(_number(value))
            if isinstance(value, int) and abs(value) > MAX_SHOWN_INTEGER
            else str(value)
        )
    if isinstance(value, str):
        return repr(JsonValue(value).text()[:MAX_SHOWN_CHARS])
    return "a list" if isinstance(value, list) else "an object"


def normalised_usage(
    prompt_tokens: int,
    answer_tokens: int,
    cache_read: int = 0,
    cache_written: int = 0,
    reasoning: int = 0,
) -> Usage:
    """Return usage without double counting, given totals of prompt and answer; a part is at most its total."""
    cache_read = min(cache_read, prompt_tokens)
    cache_written = min(cache_written, prompt_tokens - cache_read)
    reasoning = min(reasoning, answer_tokens)
    return Usage(
        input=prompt_tokens - cache_read - cache_written,
        output=answer_tokens - reasoning,
        reasoning=reasoning,
        cache_read=cache_read,
        cache_write=cache_written,
    )


def usage_of_whole_prompt(
    prompt_tokens: int,
    answer_tokens: int,
    *,
    cache_read: int = 0,
    cache_written: int = 0,
    reasoning: int = 0,
) -> Usage | None:
    """Return usage, given a prompt that includes cached tokens and an answer that includes reasoning; None if all is 0."""
    if not (prompt_tokens or answer_tokens or cache_read or cache_written):
        return None
    return Usage(
        input=max(0, prompt_tokens - cache_read - cache_written),
        output=max(0, answer_tokens - reasoning),
        reasoning=reasoning,
        cache_read=cache_read,
        cache_write=cache_written,
    )


def media_at(address: Any, mime: str = "", name: str | None = None) -> Media:
    """Return the image or file at an address: with the content of a data URI, else by its name only."""
    address_text, mime = JsonValue(address).text(), mime or "application/octet-stream"
    data_header, separator, data = address_text.partition(",")
    if separator and data_header.startswith("data:") and data_header.endswith(";base64"):
        return Media(data_header.removeprefix("data:").removesuffix(";base64") or mime, data, name)
    return Media(mime, None, name or address_text[:MAX_ADDRESS_CHARS] or None)


def fingerprint(text: str) -> bytes:
    """Return a short hash of a text, so that an importer can recognise the text without storing it."""
    return blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()
