"""Format numbers as text: counts, durations, and what a decision recorded about a text that was cut.

Border: pure. Numbers of a log are untrusted data: where one is missing, or is none that a rule could have
counted, nothing is written about it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

MOST = 10**15
"""A number this large, or larger, is none that a rule could have counted."""

Numbers = Mapping[str, Any]
"""The numbers that a decision recorded, by name."""


def count(amount: float) -> str:
    """Return a number with thousands separated, without a fraction."""
    return f"{round(amount):,}"


def duration(seconds: float) -> str:
    """Return a duration as people say it: ``0.2 s``, ``3 min 5 s``, ``2 h 1 min``."""
    if seconds < 59.95:
        return f"{max(seconds, 0):.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"


def quantity(numbers: Numbers, name: str) -> float | None:
    """Return a number that a log holds; None where it holds none."""
    value = numbers.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) < MOST else None


def number(numbers: Numbers, name: str) -> str:
    """Return a number as text; empty where the log has none."""
    value = quantity(numbers, name)
    return "" if value is None else count(round(value))


def joined_sentences(*sentences: str) -> str:
    """Return sentences as one text, without the empty ones."""
    return " ".join(sentence for sentence in sentences if sentence)


def kept_ends_text(numbers: Numbers) -> str:
    """Return a sentence on how much of a text is left."""
    head, tail = number(numbers, "head_chars"), number(numbers, "tail_chars")
    shown = [
        f"the {end} {chars} characters"
        for end, chars in (("first", head), ("last", tail))
        if chars not in ("", "0")
    ]
    if not shown:
        return ""
    omitted = number(numbers, "omitted")
    unit = str(numbers.get("unit", ""))
    left_out = f"; {omitted} {unit} are left out" if omitted not in ("", "0") and unit else ""
    return f"Shown: {' and '.join(shown)}{left_out}."


def spans(numbers: Sequence[int]) -> str:
    """Return numbers with runs of them joined: ``1, 2, 4 to 9``."""
    found: list[list[int]] = []
    for number in sorted(set(numbers)):
        if found and number == found[-1][-1] + 1:
            found[-1].append(number)
        else:
            found.append([number])
    return ", ".join(
        f"{one[0]} to {one[-1]}" if len(one) > 2 else ", ".join(map(str, one)) for one in found
    )
