"""Format numbers as text: counts, durations, and the numbers that a decision recorded about a cut text.

Border: pure. Numbers of a log are untrusted data: a missing or damaged one is left out of the text.
"""

from collections.abc import Mapping, Sequence
from typing import Any

MAX_NUMBER = 10**15
"""Limit of numbers in a log: a number of this size or more is damaged, since no rule counts that far."""

MAX_SECONDS_WITH_TENTHS = 59.95
"""From this number on tenths of a second would be rounded to a minute."""

Numbers = Mapping[str, Any]
"""The numbers that a decision recorded, by name."""


def count(amount: float) -> str:
    """Return a number with thousands separated, without a fraction."""
    return f"{round(amount):,}"


def duration(seconds: float) -> str:
    """Return a duration as people say it: ``0.2 s``, ``3 min 5 s``, ``2 h 1 min``."""
    if seconds < MAX_SECONDS_WITH_TENTHS:
        return f"{max(seconds, 0):.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"


def number_of(numbers: Numbers, name: str) -> float | None:
    """Return a number by its name; None where it is missing or damaged."""
    value = numbers.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) < MAX_NUMBER else None


def number_text(numbers: Numbers, name: str) -> str:
    """Return a number by its name, as text; empty where it is missing or damaged."""
    value = number_of(numbers, name)
    return "" if value is None else count(round(value))


def joined_sentences(*sentences: str) -> str:
    """Return sentences as one text, without the empty ones."""
    return " ".join(sentence for sentence in sentences if sentence)


def ended_sentence(text: str) -> str:
    """Return a text that ends as a sentence does, with a full stop where it has no other end."""
    text = text.rstrip()
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def kept_ends_text(numbers: Numbers) -> str:
    """Return a sentence about which ends of a shortened text are shown."""
    head, tail = number_text(numbers, "head_chars"), number_text(numbers, "tail_chars")
    parts = [
        f"the {end} {chars} characters"
        for end, chars in (("first", head), ("last", tail))
        if chars not in ("", "0")
    ]
    if not parts:
        return ""
    omitted = number_text(numbers, "omitted")
    unit = str(numbers.get("unit", ""))
    rest = f"; {omitted} {unit} are left out" if omitted not in ("", "0") and unit else ""
    return f"Shown: {' and '.join(parts)}{rest}."


def ranges_text(numbers: Sequence[int]) -> str:
    """Return numbers as text, with consecutive ones as ranges: ``1, 2, 4 to 9``."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(
        f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs
    )
