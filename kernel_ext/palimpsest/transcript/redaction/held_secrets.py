"""Keys that settings gave to this process, such as those of MCP servers; they are hidden in every text.

A server may print its key, and its key is in no variable of the kernel. So whoever hands one out holds it
here first, and ``secret_values`` adds what is held. Nothing is taken out again: what was a key before the
settings were read anew is still one. Border: values only; only settings that are in effect may be held, since a
value that is held is hidden in questions too.
"""

import re
from collections.abc import Iterable, Mapping

from palimpsest.transcript.redaction.secret_names import is_secret_name

SHORTEST_SECRET = 8
"""Characters; shorter values ("1", "true", "basic") would blank ordinary words all over a page."""
SHORTEST_RANDOM = 16
"""Characters of a value that counts as a key whatever its name is."""

_RANDOM = re.compile(
    rf"(?=(?:[^0-9]*[0-9]){{3}})(?=(?:[^A-Za-z]*[A-Za-z]){{3}})(?!.*(?:[a-z]{{6}}|[0-9]{{9}}))"
    rf"[A-Za-z0-9_+=][A-Za-z0-9_+=.~-]{{{SHORTEST_RANDOM - 1},}}"
)
_FLAG = re.compile(r"--?([A-Za-z][\w-]*)")

HELD: set[str] = set()
"""All values that are held; it only grows."""


def is_worth_hiding(value: str) -> bool:
    """Tell whether a value of a secret name is long and unusual enough to be looked for in texts."""
    if len(value) < SHORTEST_SECRET or value[0] in "/~." or any(c.isspace() for c in value):
        return False
    plain_word = value.isalpha() and len(value) < 2 * SHORTEST_SECRET
    return not plain_word and "://" not in value


def looks_random(value: str) -> bool:
    """Tell whether a value looks like a key by its letters and digits alone; a path does not."""
    return _RANDOM.fullmatch(value) is not None


def hold_settings(values: Mapping[str, str], arguments: Iterable[str] = ()) -> None:
    """Hold the values of settings, by name, and the arguments of a program that are keys."""
    named = [(name, value) for name, value in values.items()]
    before = ""
    for one in arguments:
        flag, equals, value = one.partition("=")
        named.append((flag, value) if equals else (before, one))
        match = _FLAG.fullmatch(one)
        before = match[1] if match else ""
    found: set[str] = set()
    for name, value in named:
        # "Bearer abc" is a word and a key.
        words = value.split()
        secret = is_secret_name(name)
        found |= {
            word for word in words if (secret and is_worth_hiding(word)) or looks_random(word)
        }
        if secret and len(words) > 1 and len(value) >= SHORTEST_SECRET:
            found.add(value)
    HELD.update(found)
