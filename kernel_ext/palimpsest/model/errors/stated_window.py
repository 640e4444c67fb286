"""Read from a provider's refusal how many tokens it takes at most.

Providers word it in many ways, so what is looked for is a number beside a word for a limit: "context length is only 32768
tokens", "208310 tokens > 200000 maximum", ``"n_ctx": 4096``. Only the error of a request that was too long may be read so.
"""

import re

from palimpsest.model.errors.overflow_detection import LONGEST
from palimpsest.transcript.strings.lazy_patterns import lazy_pattern

NUMBER = r"(?P<number>\d{1,3}(?:[,_. ]\d{3})+|\d+(?:\.\d+)?)(?P<kilo>[kK]\b)?"
LIMIT_WORD = (
    r"(?:context[ _-]?(?:length|window|size|limit)|n_ctx|max_model_len|max_seq_len|num_ctx|\bmax(?:imum)?\b|\blimit\b"
    r"|\ballowed\b|\bcapacity\b|\bonly\b|\bat most\b|\bup to\b|<=|>|上下文长度)"
)
BETWEEN = r"[^\d\n;]{0,60}?"
LIMIT_FIRST = lazy_pattern(LIMIT_WORD + BETWEEN + NUMBER, re.IGNORECASE)
NUMBER_FIRST = lazy_pattern(
    NUMBER + r"[ -]*(?:tokens?)?[ -]*(?:max(?:imum)?\b|limit\b|context\b|at most\b)", re.IGNORECASE
)
ANSWER = lazy_pattern(r"\bmax_(?:new_)?tokens\b(?!`)|completion|output|answer", re.IGNORECASE)
"""What stands in a limit that is about the answer, or just before it."""
BEFORE = 20
"""Characters before a limit that are looked at."""
LEAST, MOST = 512, 100_000_000
"""Tokens; numbers out of these bounds are codes, versions or counts of something else."""


def stated_window(text: str, tokens: int) -> int | None:
    """Return the tokens that a provider says it takes; None where it says no such number.

    ``tokens`` is what the refused request took by our own estimate, which may be too low by a half.

    >>> stated_window("prompt is too long: 208310 tokens > 200000 maximum", 190_000)
    200000
    """
    found = [
        number
        for pattern in (LIMIT_FIRST, NUMBER_FIRST)
        for match in pattern.finditer(text[:LONGEST])
        if not ANSWER.search(text[max(match.start() - BEFORE, 0) : match.end()])
        and LEAST <= (number := _number(match)) <= MOST
    ]
    # A request that was too long takes more than the limit; of two numbers the greater is the request's.
    return min((one for one in found if one <= 2 * tokens), default=None)


def _number(match: re.Match[str]) -> int:
    digits = match["number"]
    if match["kilo"]:
        return round(float(digits.replace(",", ".").replace("_", "").replace(" ", "")) * 1_000)
    return int(re.sub(r"[,_. ]", "", digits)) if not re.fullmatch(r"\d+\.\d{1,2}", digits) else 0
