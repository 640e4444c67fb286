"""Redact secrets in text before it is shown, exported or sent, also where it arrives in pieces.

Border: pure; the values to remove are passed in. Two methods: exact values (the keys this kernel
holds) and forms of known keys (``transcript/redaction/secret_patterns.py``). Text that arrives in
pieces may be cut anywhere, also within a surrogate pair: what may still become a secret is held back
until that is decided, and so is the first half of a pair; everything else is released at once.
"""

from collections.abc import Callable, Iterable, Mapping

from palimpsest.transcript.redaction.secret_names import holds_password, is_secret_name
from palimpsest.transcript.redaction.secret_patterns import (
    CONTEXT,
    MOST_GROWING,
    Span,
    merged_spans,
    secret_spans,
    unfinished_secret_start,
)
from palimpsest.transcript.strings.surrogates import joined_surrogates, open_surrogate

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
    """Return a function that redacts the secrets of an environment, as it is now, in a text."""
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
    """Return the text with ``[redacted]`` in place of each span."""
    pieces, at = [], 0
    for begin, end in found:
        pieces += [text[at:begin], REDACTED]
        at = end
    return "".join([*pieces, text[at:]])


SHORTEST_BEGINNING = 4
"""Fewer letters of a known value tell nothing, and every other word ends like that."""


class SecretStream:
    """Takes the pieces of one text in order and returns what may be shown of it.

    Responsibilities: hold back the end while it may grow into a secret; remember enough of the released
    text to recognise a secret that begins in it.
    """

    def __init__(self) -> None:
        self._text = ""
        """The end of the released text, and all that is held back."""
        self._out = 0
        """How many characters of it were released."""

    @property
    def held(self) -> bool:
        """Whether something is held back."""
        return self._out < len(self._text)

    @property
    def half(self) -> str:
        """The first half of a surrogate pair, where nothing else is held back."""
        held = self._text[self._out :]
        return held if len(held) == 1 and held == open_surrogate(held) else ""

    def feed(self, piece: str, values: Iterable[str] = ()) -> str:
        """Take the next piece; return the text that can be released now, with secrets redacted."""
        known = tuple(values)
        text = self._text + piece
        # Released text has no lone surrogates, so its length stays the same.
        half = open_surrogate(text)
        text = joined_surrogates(text.removesuffix(half)) + half
        until = min(unfinished_secret_start(text), _value_growing(text, known))
        if len(text) - until > MOST_GROWING:
            until = len(text)
        until = min(until, len(text) - len(half))
        return self._take(text, max(until, self._out), known)

    def rest(self, values: Iterable[str] = ()) -> str:
        """Return what was held back; nothing more comes."""
        text = joined_surrogates(self._text)
        return self._take(text, len(text), tuple(values))

    def _take(self, text: str, until: int, values: tuple[str, ...]) -> str:
        begin, found = self._out, redaction_spans(text, values)
        for first, last in found:
            if first < until < last:
                until = max(first, begin)
        cut = max(0, until - CONTEXT)
        self._text, self._out = text[cut:], until - cut
        inside = [(max(first, begin), last) for first, last in found if last > begin]
        return redacted(text[begin:until], _shifted(inside, begin, until))


def _shifted(found: Iterable[Span], begin: int, until: int) -> list[Span]:
    return [(first - begin, last - begin) for first, last in found if last <= until]


def _value_growing(text: str, values: Iterable[str]) -> int:
    """Return where the beginning of a known value stands at the end of the text."""
    first = len(text)
    for value in values:
        longest = min(len(value) - 1, len(text))
        for length in range(longest, SHORTEST_BEGINNING - 1, -1):
            if text.endswith(value[:length]):
                first = min(first, len(text) - length)
                break
    return first
