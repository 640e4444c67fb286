"""Match text against untrusted regular expressions in bounded time.

Python's own engine tries alternatives one after another, so that a pattern such as ``^(a+)+$`` takes years for
40 letters and blocks every thread meanwhile. The engine inside pydantic takes time in proportion to the length of
the text times the size of the pattern with its repetitions written out; that product is bounded here.

Border: pure. Patterns that cannot be matched in this way (look-around, back-references, too much work) are reported as
unknown.
"""

import re
from functools import lru_cache

from pydantic_core import SchemaError, SchemaValidator, core_schema

MAX_PATTERN_CHARS = 2_000
MAX_WORK = 20_000_000
"""Maximum characters of the text times weight of the pattern: at worst about a second of processor time."""
CLASS_WEIGHT = 4
"""Weight of an atom that matches many characters; a letter has 1."""

MAX_NUMBER_DIGITS = 9
"""Maximum digits that are read of a number in a pattern."""
_REPETITION = re.compile(r"\{\s*(\d{0,9})\s*(?:(,)\s*(\d{0,9})\s*)?\}")


def is_matched(pattern: str, text: str) -> bool | None:
    """Return whether a pattern matches anywhere in a text; None where that cannot be decided in bounded time."""
    compiled = _compiled_pattern(pattern)
    if compiled is None:
        return None
    matcher, weight = compiled
    if weight * (len(text) + 1) > MAX_WORK:
        return None
    return matcher.isinstance_python(text)


def pattern_problem(pattern: str) -> str:
    """Return why a pattern cannot be matched here, as the end of a sentence; empty where it can."""
    if len(pattern) > MAX_PATTERN_CHARS:
        return f"it is longer than {MAX_PATTERN_CHARS:,} characters"
    if _compiled_pattern(pattern) is None:
        return "it has look-around, back-references or too many repetitions, or is no regular expression"
    return ""


@lru_cache(maxsize=256)
def _compiled_pattern(pattern: str) -> tuple[SchemaValidator, int] | None:
    if len(pattern) > MAX_PATTERN_CHARS:
        return None
    try:
        schema = core_schema.str_schema(pattern=pattern, regex_engine="rust-regex")
        return SchemaValidator(schema), pattern_weight(pattern)
    except (SchemaError, ValueError, OverflowError):
        return None


def pattern_weight(pattern: str) -> int:
    """Return an upper estimate of a pattern's letters with its repetitions written out."""
    if "(?" in pattern and re.search(r"\(\?[a-zA-Z-]*x", pattern):
        # In verbose patterns, blanks and comments do not count.
        return _verbose_pattern_weight(pattern)
    group_weights, last_weight, position = [0], 0, 0
    while position < len(pattern):
        character = pattern[position]
        repetition = _REPETITION.match(pattern, position) if character == "{" else None
        if repetition is not None:
            group_weights[-1] += last_weight * (_repeat_limit(repetition) - 1)
            last_weight *= _repeat_limit(repetition)
            position = repetition.end()
            continue
        atom_end = _atom_end(pattern, position)
        if character == "(":
            group_weights.append(0)
            last_weight = 0
        elif character == ")" and len(group_weights) > 1:
            last_weight = group_weights.pop() + 1
            group_weights[-1] += last_weight
        elif character not in "*+?|^$":
            last_weight = 1 if atom_end == position + 1 and character != "." else CLASS_WEIGHT
            group_weights[-1] += last_weight
        position = atom_end
    return sum(group_weights) + 1


def _atom_end(pattern: str, position: int) -> int:
    """Return the end of the atom at a position: an escape, a class in brackets, or one character."""
    if pattern[position] == "\\":
        return min(position + 2, len(pattern))
    if pattern[position] != "[":
        return position + 1
    depth, position = 1, position + 1
    # A bracket at the beginning of a class is a member of it.
    position += len(re.match(r"\^?\]?", pattern[position:])[0])  # type: ignore[index]
    while position < len(pattern) and depth:
        depth += {"[": 1, "]": -1}.get(pattern[position], 0)
        position += 2 if pattern[position] == "\\" else 1
    return position


def _repeat_limit(repetition: re.Match[str]) -> int:
    return max(1, *(int(number) for number in (repetition[1], repetition[3]) if number))


def _verbose_pattern_weight(pattern: str) -> int:
    weight = len(pattern) * CLASS_WEIGHT
    for number in re.findall(r"\d+", pattern):
        weight = min(weight * max(int(number[:MAX_NUMBER_DIGITS]), 1), MAX_WORK + 1)
    return weight
