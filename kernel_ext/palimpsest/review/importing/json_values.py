"""Read fields of untrusted JSON: each function returns a value of one type, whatever was recorded.

Times become milliseconds since 1970; a number below 100 billion is one in seconds.
"""

import math
from datetime import UTC, datetime
from typing import Any

Json = dict[str, Any]

SECONDS_BELOW = 100_000_000_000
LATEST = 32_503_680_000_000
"""The year 3000; what lies after it is no time."""


def as_text(value: Any) -> str:
    """Return a text; empty for anything else."""
    return value if isinstance(value, str) else ""


def as_object(value: Any) -> Json:
    """Return an object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Return a list; an empty one for anything else."""
    return value if isinstance(value, list) else []


def as_objects(value: Any) -> list[Json]:
    """Return the objects in a list."""
    return [one for one in as_list(value) if isinstance(one, dict)]


def as_count(value: Any) -> int:
    """Return a number of tokens or of anything else that is counted; 0 where there is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return 0
    return max(int(value), 0)


def as_dollars(value: Any) -> float | None:
    """Return an amount of money; None where there is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def as_time(value: Any) -> int | None:
    """Return a time as milliseconds since 1970, from a number or an ISO 8601 text; None where it is none."""
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return round(moment.timestamp() * 1000)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    given = value * 1000 if abs(value) < SECONDS_BELOW else value
    return int(given) if 0 <= given < LATEST else None


def small_facts(value: Any) -> Json:
    """Return the numbers and short texts of an object, such as an exit code; never a second copy of a text."""
    return {
        name: one
        for name, one in list(as_object(value).items())[:MOST_FACTS]
        if isinstance(one, bool | int | float) or (isinstance(one, str) and len(one) <= FACT_CHARS)
    }


MOST_FACTS = 20
FACT_CHARS = 200
