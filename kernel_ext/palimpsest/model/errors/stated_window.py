"""Find the maximum number of tokens in a provider's refusal.

Providers word it in many ways, so a number beside a word for a limit is searched: "context length is only 32768 tokens",
"208310 tokens > 200000 maximum", ``"n_ctx": 4096``. Only the error of a request that was too long may be passed in.
"""

import re

from palimpsest.lazy_patterns import lazy_pattern
from palimpsest.model.errors.overflow_detection import MAX_ERROR_CHARS

NUMBER = r"(?P<number>\d{1,3}(?:[,_. ]\d{3})+|\d+(?:\.\d+)?)(?P<kilo>[kK]\b)?"
LIMIT_WORD = (
    r"(?:context[ _-]?(?:length|window|size|limit)|n_ctx|max_model_len|max_seq_len|num_ctx|\bmax(?:imum)?\b|\blimit\b"
    r"|\ballowed\b|\bcapacity\b|\bonly\b|\bat most\b|\bup to\b|<=|>|上下文长度)"
)
NUMBER_GAP = r"[^\d\n;]{0,60}?"
LIMIT_FIRST = lazy_pattern(LIMIT_WORD + NUMBER_GAP + NUMBER, re.IGNORECASE)
NUMBER_FIRST = lazy_pattern(
    NUMBER + r"[ -]*(?:tokens?)?[ -]*(?:max(?:imum)?\b|limit\b|context\b|at most\b)", re.IGNORECASE
)
ANSWER_WORD = lazy_pattern(r"\bmax_(?:new_)?tokens\b(?!`)|completion|output|answer", re.IGNORECASE)
"""Words that mark a limit as one on the answer."""
MAX_ANSWER_WORD_CHARS = 20
"""Characters before a limit that are searched for ``ANSWER_WORD``."""
MIN_WINDOW, MAX_WINDOW = 512, 100_000_000
"""Tokens; numbers out of these bounds are codes, versions or counts of something else."""


def stated_window(text: str, tokens: int) -> int | None:
    """Return the maximum tokens of a request that a provider's refusal states; None without such a number.

    ``tokens`` is our estimate of the refused request, which may be too low by a half.

    >>> stated_window("prompt is too long: 208310 tokens > 200000 maximum", 190_000)
    200000
    """
    windows = [
        number
        for pattern in (LIMIT_FIRST, NUMBER_FIRST)
        for match in pattern.finditer(text[:MAX_ERROR_CHARS])
        if not ANSWER_WORD.search(text[max(match.start() - MAX_ANSWER_WORD_CHARS, 0) : match.end()])
        and MIN_WINDOW <= (number := _number(match)) <= MAX_WINDOW
    ]
    # The request exceeded the limit, so the greater of two numbers is the request's.
    return min((window for window in windows if window <= 2 * tokens), default=None)


def _number(match: re.Match[str]) -> int:
    digits = match["number"]
    if match["kilo"]:
        return round(float(digits.replace(",", ".").replace("_", "").replace(" ", "")) * 1_000)
    return int(re.sub(r"[,_. ]", "", digits)) if not re.fullmatch(r"\d+\.\d{1,2}", digits) else 0
