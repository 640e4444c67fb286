"""Take values of a known type out of JSON of unknown shape, so that a wrong type reads as nothing.

Recordings are data of strangers: any field may be missing or of another type, a number may be too large, a
text may hold half of a surrogate pair. None of these functions raises.
"""

import json
import math
from collections.abc import Callable
from contextvars import ContextVar
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any

from palimpsest.review.importing.recorded import Media
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


def mapping(value: Any) -> dict[str, Any]:
    """Return an object, or an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def mappings(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list; none for anything else."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def listed(value: Any) -> list[Any]:
    """Return a list, or an empty one for anything else."""
    return value if isinstance(value, list) else []


def inner(value: Any, *names: str) -> Any:
    """Return the field that is reached through objects by their fields' names, or None."""
    for name in names:
        value = mapping(value).get(name)
    return value


def text(value: Any) -> str:
    """Return a text that can be encoded, or an empty one for anything else."""
    if not isinstance(value, str):
        return ""
    return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")


def identifier(value: Any) -> str:
    """Return an id, which some formats write as a number; empty where it is neither."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < MOST_TOKENS:
        return str(value)
    return text(value)[:512]


def number(value: Any) -> float | None:
    """Return a finite number, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def whole_number(value: Any) -> int | None:
    """Return a number of things; None for anything else."""
    found = number(value)
    return int(found) if found is not None and 0 <= found <= MOST_TOKENS else None


def count(value: Any) -> int:
    """Return a number of things, 0 where it is none."""
    return whole_number(value) or 0


def token_field(told: Any, *names: str) -> int | None:
    """Return a number of tokens in a field of recorded usage; None where there is none.

    What stands there and is no number of tokens is noted (``NOTED``), since a sum without it is too small.
    """
    value = inner(told, *names)
    if value is None:
        return None
    if (found := whole_number(value)) is not None:
        return found
    _note(f"{'.'.join(names)} is {_shown(value)}, which is no number of tokens: it was left out.")
    return None


def tokens(told: Any, *names: str) -> int:
    """Return a number of tokens in a field of recorded usage, 0 where there is none; see ``token_field``."""
    return token_field(told, *names) or 0


def cost_field(told: Any, *names: str, free: bool = False) -> float | None:
    """Return a recorded cost; what is no amount of money is noted like a wrong number of tokens.

    0 is what most programs write where they do not know the price, so it is None, unless it says that it was ``free``.
    """
    value = inner(told, *names)
    found = number(value)
    if value is not None and (found is None or not 0 <= found <= MOST_DOLLARS):
        _note(
            f"{'.'.join(names)} is {_shown(value)}, which is no amount of money: it was left out."
        )
        return None
    return found if free else found or None


def _note(sentence: str) -> None:
    noted = NOTED.get()
    if noted is not None and len(noted) < MOST_NOTED:
        noted.append(sentence)


def _shown(value: Any) -> str:
    """Return a value of a stranger in a few characters; a large or nested one by its type."""
    if isinstance(value, bool | float | int):
        return str(number(value)) if isinstance(value, int) and abs(value) > 10**30 else str(value)
    if isinstance(value, str):
        return repr(text(value)[:SHOWN_CHARS])
    return "a list" if isinstance(value, list) else "an object"


def milliseconds(value: Any, whole: Callable[[float], int] = int) -> int | None:
    """Return a time in milliseconds since 1970: from ISO text (without a zone it is taken for UTC), or a number."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 25:
        value = int(value)
    if isinstance(value, str):
        try:
            found = datetime.fromisoformat(value[:40])
            moment = found.replace(tzinfo=found.tzinfo or UTC).timestamp() * 1_000
        except (ValueError, OverflowError, OSError):
            return None
    else:
        moment = number(value) or 0
    return whole(moment) if 0 < moment <= LATEST_MILLISECONDS else None


def moment(value: Any) -> int | None:
    """Return a time as milliseconds since 1970: ISO text, or a number, below 100 billion one in seconds."""
    found = number(value)
    seconds = found is not None and abs(found) < SECONDS_BELOW
    return milliseconds(found * 1_000 if found is not None and seconds else value)


def small_facts(value: Any) -> dict[str, Any]:
    """Return the numbers and short texts of an object, such as an exit code; never a second copy of a text."""
    return {
        name: one
        for name, one in list(mapping(value).items())[:MOST_FACTS]
        if isinstance(one, bool | int | float) or (isinstance(one, str) and len(one) <= FACT_CHARS)
    }


def decoded(value: Any) -> Any:
    """Return what a text says as JSON, or the value itself where it is no JSON."""
    if not isinstance(value, str | bytes):
        return value
    try:
        return json_value(value)
    except (ValueError, RecursionError):
        return value


def tool_input(value: Any, name: str = "input") -> dict[str, Any]:
    """Return the input of a call: an object, or JSON text of one; anything else stands under ``name``."""
    found = decoded(value)
    if isinstance(found, dict):
        return found
    return {} if found is None or found == "" else {name: found}


def plain(value: Any) -> str:
    """Return a value as text: texts as they are, anything else as JSON."""
    if isinstance(value, str):
        return text(value)
    if value is None:
        return ""
    try:
        return text(json.dumps(value, ensure_ascii=False, default=str))
    except (ValueError, RecursionError):
        return ""


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
    told, mime = text(address), mime or "application/octet-stream"
    head, comma, data = told.partition(",")
    if comma and head.startswith("data:") and head.endswith(";base64"):
        return Media(head[5:-7] or mime, data, name)
    return Media(mime, None, name or told[:200] or None)


def tool_spec(value: Any) -> ToolSpec | None:
    """Return a tool as it is offered: described plainly, or under ``function`` as chat requests do it."""
    told = mapping(inner(value, "function")) or mapping(value)
    name = text(told.get("name"))
    if not name:
        return None
    parameters = mapping(told.get("parameters")) or mapping(told.get("input_schema"))
    return ToolSpec(name=name, description=text(told.get("description")), parameters=parameters)


def tool_specs(value: Any) -> tuple[ToolSpec, ...] | None:
    """Return the tools that were offered, or None where a recording has no list of them."""
    if not isinstance(value, list):
        return None
    return tuple(found for one in value if (found := tool_spec(one)))


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


def finish_of(value: Any) -> str | None:
    """Return how an answer ended, in our words; None where a recording does not say it in one that is known."""
    return FINISHES.get(text(value))


def fingerprint(told: str) -> bytes:
    """Return what a text is recognised by, so that an importer need not keep the text."""
    return blake2b(told.encode("utf-8", "replace"), digest_size=16).digest()
