"""Take values of a known type out of JSON of unknown shape, so that a wrong type reads as nothing.

Recordings are data of strangers: any field may be missing or of another type, a number may be too large, a
text may hold half of a surrogate pair. Nothing here raises.
"""

import json
import math
from collections.abc import Callable
from contextvars import ContextVar
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any

from palimpsest.review.importing.recorded import Json, Media
from palimpsest.store.bounded_json import json_value
from palimpsest.transcript.values import ToolSpec, Usage

MOST_TOKENS = 1_000_000_000_000
MOST_DOLLARS = 1_000_000_000
MOST_NOTED = 100
"""Wrong numbers that are noted of one value."""
SHOWN_CHARS = 40
NOTED: ContextVar[list[str] | None] = ContextVar("NOTED", default=None)
"""Takes a sentence for each number of recorded usage that was left out; whoever reads names the request."""
SECONDS_BELOW = 100_000_000_000
MOST_FACTS = 20
FACT_CHARS = 200
LATEST_MILLISECONDS = 253_402_300_799_000
"""The end of the year 9999."""
FINISHES = {
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
"""How providers and programs name the end of an answer, in our words."""


class JsonValue:
    """A value of a recording, whose parts are read as the type that is asked for.

    A part is named by the way to it: ``event.text("message", "role")``; without names the value itself is meant.
    It counts as true where it is an object with fields.
    """

    __slots__ = ("raw",)

    def __init__(self, raw: Any) -> None:
        self.raw = raw

    def __bool__(self) -> bool:
        return isinstance(self.raw, dict) and bool(self.raw)

    def __contains__(self, name: str) -> bool:
        return isinstance(self.raw, dict) and name in self.raw

    def get(self, *names: str) -> Any:
        """Return what stands at a place, as it is; None where nothing does."""
        value = self.raw
        for name in names:
            value = value.get(name) if isinstance(value, dict) else None
        return value

    def at(self, *names: str) -> "JsonValue":
        """Return what stands at a place, to be read on."""
        return JsonValue(self.get(*names))

    def either(self, *names: str) -> "JsonValue":
        """Return the first of several fields that is there."""
        return next((self.at(one) for one in names if one in self), NOTHING)

    def fields(self, *names: str) -> Json:
        """Return an object, or an empty one for anything else."""
        value = self.get(*names)
        return value if isinstance(value, dict) else {}

    def objects(self, *names: str) -> "list[JsonValue]":
        """Return the objects of a list; none for anything else."""
        return [JsonValue(one) for one in self.listed(*names) if isinstance(one, dict)]

    def first(self, *names: str) -> "JsonValue":
        """Return the first object of a list; an empty one where there is none."""
        return next(iter(self.objects(*names)), NOTHING)

    def listed(self, *names: str) -> list[Any]:
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
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < MOST_TOKENS:
            return str(value)
        return JsonValue(value).text()[:512]

    def whole(self, *names: str) -> int | None:
        """Return a number of things; None for anything else."""
        found = _number(self.get(*names))
        return int(found) if found is not None and 0 <= found <= MOST_TOKENS else None

    def count(self, *names: str) -> int:
        """Return a number of things, 0 where it is none."""
        return self.whole(*names) or 0

    def token_field(self, *names: str) -> int | None:
        """Return a number of tokens in a field of recorded usage; None where there is none.

        What stands there and is no number of tokens is noted (``NOTED``), since a sum without it is too small.
        """
        value, found = self.get(*names), self.whole(*names)
        if value is not None and found is None:
            what = f"{'.'.join(names)} is {_shown(value)}"
            _note(f"{what}, which is no number of tokens: it was left out.")
        return found

    def tokens(self, *names: str) -> int:
        """Return a number of tokens in a field of recorded usage, 0 where there is none; see ``token_field``."""
        return self.token_field(*names) or 0

    def cost(self, *names: str, free: bool = False) -> float | None:
        """Return a recorded cost; what is no amount of money is noted like a wrong number of tokens.

        0 is what most programs write where they do not know the price, so it is None, unless it says that it was ``free``.
        """
        value = self.get(*names)
        found = _number(value)
        if value is not None and (found is None or not 0 <= found <= MOST_DOLLARS):
            what = f"{'.'.join(names)} is {_shown(value)}"
            _note(f"{what}, which is no amount of money: it was left out.")
            return None
        return found if free else found or None

    def milliseconds(self, *names: str, whole: Callable[[float], int] = int) -> int | None:
        """Return a time in milliseconds since 1970: from ISO text (without a zone it is taken for UTC), or a number."""
        return _milliseconds(self.get(*names), whole)

    def moment(self, *names: str) -> int | None:
        """Return a time as milliseconds since 1970: ISO text, or a number, below 100 billion one in seconds."""
        value = self.get(*names)
        found = _number(value)
        seconds = found is not None and abs(found) < SECONDS_BELOW
        return _milliseconds(found * 1_000 if found is not None and seconds else value)

    def small_facts(self, *names: str) -> Json:
        """Return the numbers and short texts of an object, such as an exit code; never a second copy of a text."""
        return {
            name: one
            for name, one in list(self.fields(*names).items())[:MOST_FACTS]
            if isinstance(one, bool | int | float)
            or (isinstance(one, str) and len(one) <= FACT_CHARS)
        }

    def decoded(self, *names: str) -> "JsonValue":
        """Return what a text says as JSON, or the value itself where it is no JSON."""
        return JsonValue(_decoded(self.get(*names)))

    def tool_input(self, *names: str, name: str = "input") -> Json:
        """Return the input of a call: an object, or JSON text of one; anything else stands under ``name``."""
        found = _decoded(self.get(*names))
        if isinstance(found, dict):
            return found
        return {} if found is None or found == "" else {name: found}

    def plain(self, *names: str) -> str:
        """Return a value as text: texts as they are, anything else as JSON."""
        value = self.get(*names)
        try:
            told = (
                value
                if isinstance(value, str | None)
                else json.dumps(value, ensure_ascii=False, default=str)
            )
            return JsonValue(told).text()
        except (ValueError, RecursionError):
            return ""

    def tool_specs(self, *names: str) -> tuple[ToolSpec, ...] | None:
        """Return the tools that were offered, or None where a recording has no list of them.

        Each is described plainly, or under ``function`` as chat requests do it.
        """
        if not isinstance(self.get(*names), list):
            return None
        told = [one.at("function") or one for one in self.objects(*names)]
        return tuple(
            ToolSpec(
                name=one.text("name"),
                description=one.text("description"),
                parameters=one.fields("parameters") or one.fields("input_schema"),
            )
            for one in told
            if one.text("name")
        )

    def finish(self, *names: str) -> str | None:
        """Return how an answer ended, in our words; None where a recording does not say it in one that is known."""
        return FINISHES.get(self.text(*names))


NOTHING = JsonValue(None)


def _number(value: Any) -> float | None:
    """Return a finite number, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def _milliseconds(value: Any, whole: Callable[[float], int] = int) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 25:
        value = int(value)
    if isinstance(value, str):
        try:
            found = datetime.fromisoformat(value[:40])
            moment = found.replace(tzinfo=found.tzinfo or UTC).timestamp() * 1_000
        except (ValueError, OverflowError, OSError):
            return None
    else:
        moment = _number(value) or 0
    return whole(moment) if 0 < moment <= LATEST_MILLISECONDS else None


def _decoded(value: Any) -> Any:
    if not isinstance(value, str | bytes):
        return value
    try:
        return json_value(value)
    except (ValueError, RecursionError):
        return value


def _note(sentence: str) -> None:
    noted = NOTED.get()
    if noted is not None and len(noted) < MOST_NOTED:
        noted.append(sentence)


def _shown(value: Any) -> str:
    """Return a value of a stranger in a few characters; a large or nested one by its type."""
    if isinstance(value, bool | float | int):
        return str(_number(value)) if isinstance(value, int) and abs(value) > 10**30 else str(value)
    if isinstance(value, str):
        return repr(JsonValue(value).text()[:SHOWN_CHARS])
    return "a list" if isinstance(value, list) else "an object"


def normalised_usage(
    prompt: int, answer: int, read: int = 0, written: int = 0, reasoning: int = 0
) -> Usage:
    """Return usage without double counting; a subset that is larger than its whole is cut to it."""
    read = min(read, prompt)
    written = min(written, prompt - read)
    reasoning = min(reasoning, answer)
    return Usage(
        input=prompt - read - written,
        output=answer - reasoning,
        reasoning=reasoning,
        cache_read=read,
        cache_write=written,
    )


def usage_of_whole_prompt(
    prompt: int, answer: int, *, read: int = 0, written: int = 0, reasoning: int = 0
) -> Usage | None:
    """Return usage whose prompt counts cached tokens and whose answer counts reasoning; None if all is 0."""
    if not (prompt or answer or read or written):
        return None
    return Usage(
        input=max(0, prompt - read - written),
        output=max(0, answer - reasoning),
        reasoning=reasoning,
        cache_read=read,
        cache_write=written,
    )


def media_at(address: Any, mime: str = "", name: str | None = None) -> Media:
    """Return an image or file by its address: with its content from a data URI, else by name only."""
    told, mime = JsonValue(address).text(), mime or "application/octet-stream"
    head, comma, data = told.partition(",")
    if comma and head.startswith("data:") and head.endswith(";base64"):
        return Media(head[5:-7] or mime, data, name)
    return Media(mime, None, name or told[:200] or None)


def fingerprint(told: str) -> bytes:
    """Return what a text is recognised by, so that an importer need not keep the text."""
    return blake2b(told.encode("utf-8", "replace"), digest_size=16).digest()
