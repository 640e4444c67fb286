"""Distinguish subcommands about permissions, limits and settings from prompts that begin alike.

Border: works on text only, and nothing heavy is imported, since ``frontends/magic/line_parser.py`` is
loaded by ``%load_ext``.
"""

import re

WORDS = {
    "config": ("trust", "distrust"),
    "mcp": ("connect",),
    "step": ("on", "off", "status", "send", "another", "older"),
    "trust": ("session",),
}
"""The keywords that may follow each command."""
NAMES = frozenset({"mode", "permissions", "budget", *WORDS})
_MODE = re.compile(r"(ask|plan|accept[-_ ]edits|bypass|default)", re.IGNORECASE)
_REVOKE = re.compile(r"revoke(\s+\d+)+|revoke\s+all", re.IGNORECASE)
_AMOUNT = re.compile(
    r"(?P<dollar>\$)?(?P<number>\d[\d,_]*(\.\d+)?|\.\d+)(?P<times>[km])?\s*(?P<unit>usd|dollars?|tokens?)?",
    re.IGNORECASE,
)
_UNIT = r"(usd|dollars?|tokens?)"
_SIGN = re.compile(rf"[-+$]|{_UNIT}", re.IGNORECASE)
_NUMBER_WORD = re.compile(rf"[-+$]*[\d.,_]+[km]?{_UNIT}?|{_UNIT}", re.IGNORECASE)
_OFF = re.compile(r"off|none", re.IGNORECASE)
MOST_DIGITS = 15
"""The digits that a float keeps exactly; a longer number is a typing error."""
_TIMES = {"": 1, "k": 1_000, "m": 1_000_000}


def argument(words: list[str]) -> str | None:
    """Return the argument of such a subcommand; None for a prompt that begins with its name."""
    name, rest = words[0], " ".join(words[1:])
    if name not in NAMES:
        return None
    if not rest:
        return ""
    if name == "mode":
        one_word = len(words) == 2
        return rest if one_word or _MODE.fullmatch(rest) else None
    if name in WORDS:
        return rest if rest in WORDS[name] else None
    if name == "permissions":
        return rest if _REVOKE.fullmatch(rest) or rest.lower() == "revoke" else None
    # A prompt that begins with "budget" goes on with words, and a typing error must not cost a request.
    return rest if _OFF.fullmatch(rest) or amounts(rest) or _is_meant(words[1:]) else None


def _is_meant(words: list[str]) -> bool:
    """Tell whether words are meant as an amount: numbers only, one with a unit or a sign."""
    said = "".join(words)
    return all(_NUMBER_WORD.fullmatch(word) for word in words) and bool(_SIGN.search(said))


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
