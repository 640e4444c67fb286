"""Split a prompt into words, and compare words with tolerance for typing errors.

Plural and case do not matter, and one wrong, missing, doubled or swapped letter is forgiven in
words of four letters and more.
"""

import re
from contextlib import suppress
from dataclasses import dataclass

FORGIVING_LENGTH = 4
"""Shorter words must match exactly: with one letter changed they are other words."""
SPELLED = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_TOKEN = re.compile(
    r"[<>]=?|!=|==?|(?<![\w)])-?\d[\d,]*(?:\.\d+)?(?![^\W_])|\d+(?:\.\d+)?(?![^\W_])|[^\W_]+|[,;]"
)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a prompt."""

    text: str
    """In lower case."""
    stem: str
    """Without the ending of a plural."""


def words_of(text: str) -> tuple[Word, ...]:
    """Split text into words; ``bill_length`` and ``BillLength`` are two words each."""
    found = []
    for token in _TOKEN.findall(text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")):
        whole = token.casefold() in {"nan", "nans"}
        for piece in [token] if whole else _CAMEL.split(token):
            lower = piece.casefold()
            found.append(Word(lower, stem(lower)))
    return tuple(found)


def stem(word: str) -> str:
    """Return a word without the ending of a plural; good for comparing, not for reading."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "xes", "zes", "ches", "shes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def near(one: str, other: str) -> bool:
    """Tell whether two words differ by at most one letter, or by two neighbours swapped."""
    if one == other:
        return True
    if min(len(one), len(other)) < FORGIVING_LENGTH or abs(len(one) - len(other)) > 1:
        return False
    start = shared_length(one, other)
    tail_one, tail_other = one[start:], other[start:]
    if len(one) == len(other):
        swapped = tail_one[:2] == tail_other[:2][::-1] and tail_one[2:] == tail_other[2:]
        return tail_one[1:] == tail_other[1:] or swapped
    longer, shorter = (tail_one, tail_other) if len(one) > len(other) else (tail_other, tail_one)
    return longer[1:] == shorter


def shared_length(one: str, other: str) -> int:
    """Return how many letters two texts share at their beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def joined(words: tuple[Word, ...]) -> str:
    """Return words written as one."""
    return "".join(word.text for word in words)


def number_of(word: str) -> float | int | None:
    """Return the number that a word stands for, in digits or as zero to ten."""
    if word in SPELLED:
        return SPELLED.index(word)
    digits = word.replace(",", "")
    with suppress(ValueError):
        return int(digits)
    with suppress(ValueError):
        return float(digits) if digits.lstrip("-")[:1].isdigit() else None
    return None
