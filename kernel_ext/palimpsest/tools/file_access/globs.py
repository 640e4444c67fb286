"""Glob patterns for paths: ``**``, ``*``, ``?``, ``[a-z]`` and ``{a,b}``.

Border: pure text. A pattern without a slash matches the file name, at any depth.
"""

import re
from functools import lru_cache
from itertools import takewhile

from palimpsest.transcript.errors import UserError

WILDCARD = re.compile(r"[*?\[{]")


def split_base(pattern: str) -> tuple[str, str]:
    """Return the leading folders of a pattern without wildcards, where a walk can begin, and the rest."""
    path_parts = pattern.split("/")
    literal_parts = list(takewhile(lambda part: not WILDCARD.search(part), path_parts[:-1]))
    rest = "/".join(path_parts[len(literal_parts) :])
    if not literal_parts:
        return ".", rest
    # With a folder in the pattern, the name is matched in that folder and not below it.
    return "/".join(literal_parts) or "/", rest if "/" in rest else f"/{rest}"


@lru_cache(maxsize=512)
def compile_glob(pattern: str) -> re.Pattern[str]:
    """Compile a pattern to a regular expression for paths relative to the search; raises UserError."""
    folder_prefix = "" if "/" in pattern else "(?:.*/)?"
    try:
        return re.compile(folder_prefix + _regex_of(pattern.removeprefix("/")) + r"\Z", re.DOTALL)
    except re.error as error:
        raise UserError(f"{pattern!r} is not a name pattern: {error}.") from error


PATTERN_TOKEN = re.compile(r"\*\*/|\*\*|\*|\?|\[[!^]?\]?[^\]/]*\]|\{[^{}/]*,[^{}]*\}|.", re.DOTALL)
TOKEN_REGEXES = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def _regex_of(pattern: str) -> str:
    return "".join(_token_regex(match[0]) for match in PATTERN_TOKEN.finditer(pattern))


def _token_regex(token: str) -> str:
    if token in TOKEN_REGEXES:
        return TOKEN_REGEXES[token]
    if len(token) > 2 and token[0] == "[":
        members = token[1:-1].replace("\\", "\\\\").replace("[", "\\[")
        return f"[^{members[1:]}]" if members[0] in "!^" else f"[{members}]"
    if len(token) > 2 and token[0] == "{":
        return "(?:" + "|".join(_regex_of(choice) for choice in token[1:-1].split(",")) + ")"
    return re.escape(token)
