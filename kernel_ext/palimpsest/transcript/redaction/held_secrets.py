"""Keys that settings gave to this process, such as those of MCP servers; they are hidden in every text.

A server may print its key, which is in no variable of the kernel. So code that passes a key to a server calls
``hold_settings`` first, and ``secret_values`` includes ``HELD_SECRETS``. No value is removed: a key of earlier settings is
still a secret. Border: values only; only settings in effect may be held, since a held value is hidden in questions too.
"""

import re
from collections.abc import Iterable, Mapping

from palimpsest.transcript.redaction.secret_names import is_secret_name

MIN_SECRET_CHARS = 8
"""Minimum characters of a secret; hiding shorter values ("1", "true", "basic") would remove ordinary words from pages."""
MIN_RANDOM_CHARS = 16
"""Minimum characters of a value that counts as a key under any name."""

_RANDOM = re.compile(
    rf"(?=(?:[^0-9]*[0-9]){{3}})(?=(?:[^A-Za-z]*[A-Za-z]){{3}})(?!.*(?:[a-z]{{6}}|[0-9]{{9}}))"
    rf"[A-Za-z0-9_+=][A-Za-z0-9_+=.~-]{{{MIN_RANDOM_CHARS - 1},}}"
)
_FLAG = re.compile(r"--?([A-Za-z][\w-]*)")

HELD_SECRETS: set[str] = set()
"""All secret values of settings; the set only grows."""


def is_worth_hiding(value: str) -> bool:
    """Return whether a value of a secret name is long and unusual enough to be looked for in texts."""
    if len(value) < MIN_SECRET_CHARS or value[0] in "/~." or any(c.isspace() for c in value):
        return False
    is_plain_word = value.isalpha() and len(value) < 2 * MIN_SECRET_CHARS
    return not is_plain_word and "://" not in value


def looks_random(value: str) -> bool:
    """Return whether a value looks like a key by its letters and digits alone; a path does not."""
    return _RANDOM.fullmatch(value) is not None


def hold_settings(values: Mapping[str, str], arguments: Iterable[str] = ()) -> None:
    """Add to ``HELD_SECRETS`` the secret values of named settings, and the arguments of a program that are keys."""
    settings = [(name, value) for name, value in values.items()]
    previous_flag = ""
    for argument in arguments:
        flag, equals, value = argument.partition("=")
        settings.append((flag, value) if equals else (previous_flag, argument))
        match = _FLAG.fullmatch(argument)
        previous_flag = match[1] if match else ""
    secrets: set[str] = set()
    for name, value in settings:
        # "Bearer abc" is a word and a key.
        words = value.split()
        is_named = is_secret_name(name)
        secrets |= {
            word for word in words if (is_named and is_worth_hiding(word)) or looks_random(word)
        }
        if is_named and len(words) > 1 and len(value) >= MIN_SECRET_CHARS:
            secrets.add(value)
    HELD_SECRETS.update(secrets)
