"""The end of a text that came in pieces: what ``SecretStream`` still holds back."""

from collections.abc import Iterable

from palimpsest.transcript.redaction.secret_patterns import SecretStream
from palimpsest.transcript.strings.surrogates import joined_surrogates


def redacted_rest(stream: SecretStream, values: Iterable[str] = ()) -> str:
    """Return the text that was held back, redacted, as if no further piece came."""
    text = joined_surrogates(stream._held_text)
    return stream._released_text(text, len(text), tuple(values))
