"""Parse the typed words of a policy and the typed amounts of a spending limit."""

import re

_POLICY_WORD = re.compile(r"""[^\s=]+=(?:"[^"]*"|'[^']*'|\S*)|\S+""")
_AMOUNT = re.compile(
    r"(?P<dollar>\$)?(?P<number>\d[\d,_]*(\.\d+)?|\.\d+)(?P<times>[km])?\s*(?P<unit>usd|dollars?|tokens?)?",
    re.IGNORECASE,
)
MAX_DIGITS = 15
"""Digits that a float stores exactly; a longer number is a typing error."""
_FACTORS = {"": 1, "k": 1_000, "m": 1_000_000}


def policy_words(text: str) -> list[str]:
    """Return the words of a typed policy; a quoted value may hold blanks."""
    return _POLICY_WORD.findall(text)


def parse_amounts(text: str) -> dict[str, float]:
    """Parse amounts such as ``2usd``, ``$2``, ``500k tokens`` or both, by unit; empty for other text."""
    numbers: dict[str, float] = {}
    text_left = text.strip()
    while text_left:
        match = _AMOUNT.match(text_left)
        if match is None or not (match["dollar"] or match["unit"]):
            return {}
        unit = "tokens" if (match["unit"] or "").lower().startswith("token") else "usd"
        if unit in numbers or (match["dollar"] and unit == "tokens"):
            return {}
        digits = match["number"].replace(",", "").replace("_", "")
        if len(digits) > MAX_DIGITS:
            return {}
        number = float(digits)
        numbers[unit] = number * _FACTORS[(match["times"] or "").lower()]
        text_left = text_left[match.end() :].lstrip(" ,")
    return numbers
