"""What servers accept as the id of a tool call: the one place that states the rules.

Border: pure. The tests' strict validators state them again, on purpose: they check what is written here.
"""

import re
from typing import Literal

IdRule = Literal["any", "short", "words", "short_words", "nine"]
"""``any`` text; ``short``: at most 40 characters; ``words``: letters, digits, underscores and dashes;
``short_words``: both of these; ``nine``: exactly nine letters and digits."""

ORDER: tuple[IdRule, ...] = ("any", "short", "words", "short_words", "nine")
SHORT_CHARS = 40
NINE_CHARS = 9
NO_LETTER_OR_DIGIT = re.compile(r"[^a-zA-Z0-9]")
NO_WORD = re.compile(r"[^a-zA-Z0-9_-]")


def stricter_id_rule(one: IdRule, other: IdRule) -> IdRule:
    """Return the rule under which an id is accepted by both."""
    if {one, other} == {"short", "words"}:
        return "short_words"
    return max(one, other, key=ORDER.index)


def as_words(identifier: str) -> str:
    """Return an id with an underscore for each character other than letters, digits, underscores, dashes."""
    return NO_WORD.sub("_", identifier)


def as_nine(identifier: str) -> str:
    """Return the first nine letters and digits of an id, filled up with zeros."""
    return letters_and_digits(identifier)[:NINE_CHARS].ljust(NINE_CHARS, "0")


def letters_and_digits(identifier: str) -> str:
    """Return an id without everything else."""
    return NO_LETTER_OR_DIGIT.sub("", identifier)
