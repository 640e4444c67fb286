"""Take secrets out of text that arrives in pieces, wherever it is cut, also within a character.

Border: pure. What may still become a secret is held back until it is known, and so is the first half
of a character; everything else comes out at once, so that flowing text stays flowing.
"""

from collections.abc import Iterable

from palimpsest.transcript.redaction.secret_patterns import (
    CONTEXT,
    MOST_GROWING,
    Span,
    unfinished_secret_start,
)
from palimpsest.transcript.redaction.text import redacted, redaction_spans
from palimpsest.transcript.strings.surrogates import joined_surrogates, open_surrogate

SHORTEST_BEGINNING = 4
"""Fewer letters of a known value tell nothing, and every other word ends like that."""


class SecretStream:
    """Takes the pieces of one text in order and returns what may be shown of it.

    Responsibilities: hold back the end while it may grow into a secret; remember enough of what
    came out to know the beginning of what comes next.
    """

    def __init__(self) -> None:
        self._text = ""
        """The end of what came out, and all that is held back."""
        self._out = 0
        """So much of it came out."""

    @property
    def held(self) -> bool:
        """Whether something is held back."""
        return self._out < len(self._text)

    @property
    def half(self) -> str:
        """The first half of a character, where nothing else is held back."""
        held = self._text[self._out :]
        return held if len(held) == 1 and held == open_surrogate(held) else ""

    def feed(self, piece: str, values: Iterable[str] = ()) -> str:
        """Take the next piece; return what is now known to be no secret, with a word for what is."""
        known = tuple(values)
        text = self._text + piece
        # What came out has no halves, so that its length stays.
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
