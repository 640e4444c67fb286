"""Read the words of a policy and the amounts of a spending limit, as a person types them."""

import re

_POLICY_WORD = re.compile(r"""[^\s=]+=(?:"[^"]*"|'[^']*'|\S*)|\S+""")
_AMOUNT = re.compile(
    r"(?P<dollar>\$)?(?P<number>\d[\d,_]*(\.\d+)?|\.\d+)(?P<times>[km])?\s*(?P<unit>usd|dollars?|tokens?)?",
    re.IGNORECASE,
)
MOST_DIGITS = 15
"""The digits that a float keeps exactly; a longer number is a typing error."""
_TIMES = {"": 1, "k": 1_000, "m": 1_000_000}


def policy_words(text: str) -> list[str]:
    """Split the text of a policy into words; a quoted value may hold blanks."""
    return _POLICY_WORD.findall(text)


def amounts(text: str) -> dict[str, float]:
    """Read ``2usd``, ``$2``, ``500k tokens`` or both; empty when it is no amount."""
    found: dict[str, float] = {}
    rest = text.strip()
    while rest:
        match = _AMOUNT.match(rest)
        if match is None or not (match["dollar"] or match["unit"]):
            return {}
        unit = "tokens" if (match["unit"] or "").lower().startswith("token") else "usd"
        if unit in found or (match["dollar"] and unit == "tokens"):
            return {}
        digits = match["number"].replace(",", "").replace("_", "")
        if len(digits) > MOST_DIGITS:
            return {}
        number = float(digits)
        found[unit] = number * _TIMES[(match["times"] or "").lower()]
        rest = rest[match.end() :].lstrip(" ,")
    return found
