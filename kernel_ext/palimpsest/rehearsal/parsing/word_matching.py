"""Split a prompt into words that are compared without plural endings and case, and parse numbers written as words."""

import re
from contextlib import suppress
from dataclasses import dataclass

NUMBER_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")  # fmt: skip
_TOKEN = re.compile(
    r"[<>]=?|!=|==?|(?<![\w)])-?\d[\d,]*(?:\.\d+)?(?![^\W_])|\d+(?:\.\d+)?(?![^\W_])|[^\W_]+|[,;]"
)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a prompt."""

    text: str
    """The word in lower case."""
    stem: str
    """The lower-case word without a plural ending."""


def words_of(text: str) -> tuple[Word, ...]:
    """Split text into words; ``bill_length`` and ``BillLength`` are two words each."""
    words = []
    for token in _TOKEN.findall(text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")):
        is_nan = token.casefold() in {"nan", "nans"}
        for piece in [token] if is_nan else _CAMEL.split(token):
            lowercase_text = piece.casefold()
            words.append(Word(lowercase_text, stem(lowercase_text)))
    return tuple(words)


def stem(word: str) -> str:
    """Return a word without its plural ending, for comparisons; the result need not be an English word."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "xes", "zes", "ches", "shes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def shared_length(text: str, other: str) -> int:
    """Return the length of the common prefix of two texts."""
    pairs = enumerate(zip(text, other, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(text), len(other)))


def number_of(word: str) -> float | int | None:
    """Return the number that a word means, written in digits or as *zero* to *ten*; None for other words."""
    if word in NUMBER_WORDS:
        return NUMBER_WORDS.index(word)
    digits = word.replace(",", "")
    with suppress(ValueError):
        return int(digits)
    with suppress(ValueError):
        return float(digits) if digits.lstrip("-")[:1].isdigit() else None
    return None
