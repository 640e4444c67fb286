"""Take secrets out of text before it is shown, exported or sent.

Border: pure; the values to remove are handed in. Two nets: exact values (the keys this kernel
holds) and forms of known keys, which stand in ``transcript.secrets``.
"""

from collections.abc import Callable, Iterable, Mapping

from palimpsest.transcript.redaction.secret_names import holds_password, is_secret_name
from palimpsest.transcript.redaction.secret_patterns import Span, merged_spans, secret_spans

REDACTED = "[redacted]"

SHORTEST_SECRET = 8
"""Shorter values ("1", "true", "basic") would blank ordinary words all over a page."""

__all__ = [
    "REDACTED",
    "Span",
    "holds_secret",
    "is_secret_name",
    "looks_secret",
    "redacted",
    "redaction_spans",
    "scrub",
    "scrub_values",
    "secret_values",
]


def looks_secret(value: str) -> bool:
    """Tell whether text has the form of a secret somewhere, such as an address with a password."""
    return bool(secret_spans(value))


def holds_secret(value: str) -> bool:
    """Tell whether the value of an environment variable is a secret, or has one in it."""
    return looks_secret(value) or holds_password(value)


def _worth_hiding(value: str) -> bool:
    if len(value) < SHORTEST_SECRET or value[0] in "/~." or any(c.isspace() for c in value):
        return False
    plain_word = value.isalpha() and len(value) < 2 * SHORTEST_SECRET
    return not plain_word and "://" not in value


def secret_values(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Collect the values to hide from an environment, longest first."""
    named = {v for k, v in environment.items() if is_secret_name(k) and _worth_hiding(v)}
    held: set[str] = set()
    for value in environment.values():
        found = [value[begin:end] for begin, end in secret_spans(value)]
        held.update(one for one in found if len(one) >= SHORTEST_SECRET)
        if (found or holds_password(value)) and "://" in value and len(value) >= SHORTEST_SECRET:
            # The password alone may be too short to be looked for; the address with it is not.
            held.add(value)
    return tuple(sorted(named | held, key=lambda value: (-len(value), value)))


def scrub_values(text: str, values: Iterable[str]) -> str:
    """Replace exact values; for text that must otherwise stay as it is."""
    for value in values:
        if value and value in text:
            text = text.replace(value, REDACTED)
    return text


def scrub(text: str, values: Iterable[str] = ()) -> str:
    """Replace exact values and whatever has the form of a secret; scrubbing twice changes nothing."""
    return redacted(text, redaction_spans(text, values))


def scrubber(environment: Mapping[str, str]) -> Callable[[str], str]:
    """Return what takes the secrets of an environment, as it is now, out of a text."""
    values = secret_values(environment)
    return lambda text: scrub(text, values)


def redaction_spans(text: str, values: Iterable[str] = ()) -> list[Span]:
    """Return where known values and forms of secrets stand, in order."""
    found = secret_spans(text)
    for value in values:
        at = text.find(value) if value else -1
        while at >= 0:
            found.append((at, at + len(value)))
            at = text.find(value, at + len(value))
    return merged_spans(found)


def redacted(text: str, found: Iterable[Span]) -> str:
    """Return the text with a word in place of each span."""
    pieces, at = [], 0
    for begin, end in found:
        pieces += [text[at:begin], REDACTED]
        at = end
    return "".join([*pieces, text[at:]])
