"""Match text against regular expressions of strangers in bounded time.

Python's own engine tries alternatives one after another, so that a pattern such as ``^(a+)+$`` takes years for
40 letters and holds every thread meanwhile. The engine inside pydantic takes time in proportion to the length of
the text, times the size of the pattern with its repetitions written out; that product is bounded here.

Border: pure. What cannot be matched in this way (look-around, back-references, too much work) is reported as
unknown, and the caller decides what follows.
"""

import re
from functools import lru_cache

from pydantic_core import SchemaError, SchemaValidator, core_schema

LONGEST_PATTERN = 2_000
MOST_WORK = 20_000_000
"""Characters of the text times weight of the pattern: at worst about a second of processor time."""
CLASS_WEIGHT = 4
"""Of an atom that stands for many characters, in comparison with a letter."""

_REPEATED = re.compile(r"\{\s*(\d{0,9})\s*(?:(,)\s*(\d{0,9})\s*)?\}")


def is_matched(pattern: str, text: str) -> bool | None:
    """Return whether a pattern is found in a text; None where that cannot be told in bounded time."""
    engine = _engine(pattern)
    if engine is None:
        return None
    matcher, weight = engine
    if weight * (len(text) + 1) > MOST_WORK:
        return None
    return matcher.isinstance_python(text)


def pattern_problem(pattern: str) -> str:
    """Return why a pattern is never matched here, as the end of a sentence; empty where it is."""
    if len(pattern) > LONGEST_PATTERN:
        return f"it is longer than {LONGEST_PATTERN:,} characters"
    if _engine(pattern) is None:
        return "it has look-around, back-references or too many repetitions, or is no regular expression"
    return ""


@lru_cache(maxsize=256)
def _engine(pattern: str) -> tuple[SchemaValidator, int] | None:
    if len(pattern) > LONGEST_PATTERN:
        return None
    try:
        found = core_schema.str_schema(pattern=pattern, regex_engine="rust-regex")
        return SchemaValidator(found), pattern_weight(pattern)
    except (SchemaError, ValueError, OverflowError):
        return None


def pattern_weight(pattern: str) -> int:
    """Return about how many letters a pattern has when its repetitions are written out; rather too many."""
    if "(?" in pattern and re.search(r"\(\?[a-zA-Z-]*x", pattern):
        return _heaviest(
            pattern
        )  # blanks and comments count for nothing, and would have to be read
    sums, last, at = [0], 0, 0
    while at < len(pattern):
        sign = pattern[at]
        repeated = _REPEATED.match(pattern, at) if sign == "{" else None
        if repeated is not None:
            sums[-1] += last * (_most(repeated) - 1)
            last *= _most(repeated)
            at = repeated.end()
            continue
        end = _atom_end(pattern, at)
        if sign == "(":
            sums.append(0)
            last = 0
        elif sign == ")" and len(sums) > 1:
            last = sums.pop() + 1
            sums[-1] += last
        elif sign not in "*+?|^$":
            last = 1 if end == at + 1 and sign != "." else CLASS_WEIGHT
            sums[-1] += last
        at = end
    return sum(sums) + 1


def _atom_end(pattern: str, at: int) -> int:
    """Return where the atom at a position ends: an escape, a class in brackets, or one character."""
    if pattern[at] == "\\":
        return min(at + 2, len(pattern))
    if pattern[at] != "[":
        return at + 1
    depth, at = 1, at + 1
    # A bracket at the very beginning of a class is a member of it.
    at += len(re.match(r"\^?\]?", pattern[at:])[0])  # type: ignore[index]
    while at < len(pattern) and depth:
        depth += {"[": 1, "]": -1}.get(pattern[at], 0)
        at += 2 if pattern[at] == "\\" else 1
    return at


def _most(repeated: re.Match[str]) -> int:
    return max(1, *(int(number) for number in (repeated[1], repeated[3]) if number))


def _heaviest(pattern: str) -> int:
    weight = len(pattern) * CLASS_WEIGHT
    for number in re.findall(r"\d+", pattern):
        weight = min(weight * max(int(number[:9]), 1), MOST_WORK + 1)
    return weight
