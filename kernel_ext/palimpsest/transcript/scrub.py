"""Take secrets out of text before it is shown, exported or sent.

Border: pure; the values to remove are handed in. Two nets: exact values (the keys this kernel
holds) and forms of known keys, which stand in ``transcript.secrets``.
"""

import re
from collections.abc import Iterable, Mapping

from palimpsest.transcript.secrets import Span, joined, secret_spans

REDACTED = "[redacted]"

SHORTEST_SECRET = 8
"""Shorter values ("1", "true", "basic") would blank ordinary words all over a page."""

SECRET_NAME = re.compile(
    r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|PRIVATE|COOKIE|WEBHOOK|_PAT$|_DSN$|AUTH",
    re.IGNORECASE,
)
HARMLESS_NAMES = frozenset({"SSH_AUTH_SOCK", "XAUTHORITY", "TOKENIZERS_PARALLELISM"})


def is_secret_name(name: str) -> bool:
    """Tell whether an environment variable's name says that its value is a secret."""
    return name not in HARMLESS_NAMES and SECRET_NAME.search(name) is not None


def looks_secret(value: str) -> bool:
    """Tell whether text has the form of a secret somewhere, such as an address with a password."""
    return bool(secret_spans(value))


def _worth_hiding(value: str) -> bool:
    if len(value) < SHORTEST_SECRET or value[0] in "/~." or any(c.isspace() for c in value):
        return False
    plain_word = value.isalpha() and len(value) < 2 * SHORTEST_SECRET
    return not plain_word and "://" not in value


def secret_values(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Collect the values to hide from an environment, longest first."""
    named = {v for k, v in environment.items() if is_secret_name(k) and _worth_hiding(v)}
    shaped = {v for v in environment.values() if v and secret_spans(v) == [(0, len(v))]}
    return tuple(sorted(named | shaped, key=lambda value: (-len(value), value)))


def scrub_values(text: str, values: Iterable[str]) -> str:
    """Replace exact values; for text that must otherwise stay as it is."""
    for value in values:
        if value and value in text:
            text = text.replace(value, REDACTED)
    return text


def scrub(text: str, values: Iterable[str] = ()) -> str:
    """Replace exact values and whatever has the form of a secret; scrubbing twice changes nothing."""
    return without(text, spans(text, values))


def spans(text: str, values: Iterable[str] = ()) -> list[Span]:
    """Return where known values and forms of secrets stand, in order."""
    found = secret_spans(text)
    for value in values:
        at = text.find(value) if value else -1
        while at >= 0:
            found.append((at, at + len(value)))
            at = text.find(value, at + len(value))
    return joined(found)


def without(text: str, found: Iterable[Span]) -> str:
    """Return the text with a word in place of each span."""
    pieces, at = [], 0
    for begin, end in found:
        pieces += [text[at:begin], REDACTED]
        at = end
    return "".join([*pieces, text[at:]])
