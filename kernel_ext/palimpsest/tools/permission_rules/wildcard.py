"""Match names, paths and commands against patterns with ``*`` and ``?``.

Border: text only. A star also matches slashes and newlines, since patterns are used for commands as
well as paths; other characters are literal, and the complete text must match.
"""

import re
from functools import lru_cache


@lru_cache(maxsize=4096)
def compile_wildcard(pattern: str) -> re.Pattern[str]:
    """Compile a pattern to a regular expression for a complete text with slashes in place of backslashes."""
    escaped_pattern = re.escape(pattern.replace("\\", "/")).replace(r"\*", ".*").replace(r"\?", ".")
    # "git *" also covers "git" without arguments.
    if escaped_pattern.endswith(r"\ .*"):
        escaped_pattern = escaped_pattern.removesuffix(r"\ .*") + r"(?:\ .*)?"
    return re.compile(escaped_pattern, re.DOTALL)


def matches_pattern(text: str, pattern: str) -> bool:
    """Return whether the complete text matches; backslashes count as slashes."""
    return compile_wildcard(pattern).fullmatch(text.replace("\\", "/")) is not None


def literal_beginning(pattern: str) -> str:
    """Return the literal beginning of a pattern, before the first wildcard."""
    text = pattern.replace("\\", "/")
    end = min((position for position in map(text.find, "*?") if position >= 0), default=len(text))
    # "git *" also covers "git" without arguments.
    return text[: end - 1] if text.endswith(" *") and end == len(text) - 1 else text[:end]
