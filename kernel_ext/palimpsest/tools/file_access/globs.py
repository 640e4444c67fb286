"""Glob patterns for paths: ``**``, ``*``, ``?``, ``[a-z]`` and ``{a,b}``.

Border: pure text. A pattern without a slash matches the file name, at any depth.
"""

import re
from functools import lru_cache

from palimpsest.transcript.errors import UserError

MAGIC = re.compile(r"[*?\[{]")


def split_base(pattern: str) -> tuple[str, str]:
    """Split a pattern into leading folders without wildcards, where a walk can begin, and the rest."""
    parts = pattern.split("/")
    fixed = 0
    while fixed < len(parts) - 1 and not MAGIC.search(parts[fixed]):
        fixed += 1
    base = "/".join(parts[:fixed])
    if fixed and not base:
        base = "/"
    rest = "/".join(parts[fixed:])
    # A folder was given, so the name is matched in that folder and not below it.
    return base or ".", f"/{rest}" if fixed and "/" not in rest else rest


@lru_cache(maxsize=512)
def compile_glob(pattern: str) -> re.Pattern[str]:
    """Compile a pattern to a regular expression for paths relative to the search; raises UserError."""
    anywhere = "" if "/" in pattern else "(?:.*/)?"
    try:
        return re.compile(anywhere + _translated(pattern.removeprefix("/")) + r"\Z", re.DOTALL)
    except re.error as error:
        raise UserError(f"{pattern!r} is not a name pattern: {error}.") from error


TOKEN = re.compile(r"\*\*/|\*\*|\*|\?|\[[!^]?\]?[^\]/]*\]|\{[^{}/]*,[^{}]*\}|.", re.DOTALL)
FIXED = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def _translated(pattern: str) -> str:
    return "".join(_token(match[0]) for match in TOKEN.finditer(pattern))


def _token(token: str) -> str:
    if token in FIXED:
        return FIXED[token]
    if len(token) > 2 and token[0] == "[":
        inside = token[1:-1].replace("\\", "\\\\").replace("[", "\\[")
        return f"[^{inside[1:]}]" if inside[0] in "!^" else f"[{inside}]"
    if len(token) > 2 and token[0] == "{":
        return "(?:" + "|".join(_translated(choice) for choice in token[1:-1].split(",")) + ")"
    return re.escape(token)
