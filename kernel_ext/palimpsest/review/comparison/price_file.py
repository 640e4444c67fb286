"""Price files: JSON or TOML whose entries are the words of ``given_prices``, read where a person names one.

"claude-opus-4-8" = "5/25/0.5/6.25/10"
"claude-sonnet-4-5+200000" = { input = 6, output = 22.5, cache_read = 0.6, cache_write = 7.5 }
lifetime = "1h"
"""

import json
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from palimpsest.home_paths import home_path
from palimpsest.review.comparison.given_prices import LIFETIME_WORD, given_prices, price_word
from palimpsest.transcript.errors import UserError

SUFFIXES = (".json", ".toml")
MOST_BYTES = 1_000_000
PriceWords = str | Path | Sequence[str | Path]
"""Words as ``given_prices`` reads them, the name of a price file, or several of these."""


def price_words(given: PriceWords | None, lifetime: str | float | None = None) -> str | None:
    """Return what a person gave as the words of ``given_prices``, with what files hold in their place.

    ``lifetime`` is that of the cache: seconds, or words such as ``1h``. None where nothing was given. Raises UserError
    with one sentence.
    """
    several = [given] if isinstance(given, str | Path) else list(given or ())
    words = " ".join(word for one in several for word in _words(one))
    if lifetime is not None:
        words = f"{words} {LIFETIME_WORD}={str(lifetime).strip()}"
    given_prices(words)
    return words.strip() or None


def without_files(words: str | None) -> str | None:
    """Return words that a page sent; raises UserError where they name a file, which is read only where a person gives it."""
    for word in (words or "").split():
        if "=" not in word and word.lower().endswith(SUFFIXES):
            raise UserError(
                f"The price file {word!r:.80} is read where the inspector is opened: give it to inspect(price=...)."
            )
    return words


def _words(given: str | Path) -> Iterator[str]:
    named = str(given).strip()
    path = home_path(named)
    if path.suffix.lower() not in SUFFIXES or ("=" in named and not path.is_file()):
        yield from named.split()
        return
    value = _document(path)
    if not isinstance(value, dict):
        raise UserError(f"{str(path)!r} is no price file: it holds no table of models.")
    try:
        found = [price_word(str(key), told) for key, told in value.items()]
        given_prices(" ".join(found))
    except UserError as error:
        raise UserError(f"{str(path)!r} cannot be used: {error}") from None
    yield from found


def _document(path: Path) -> Any:
    """Return what a file holds; raises UserError."""
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise UserError(f"{str(path)!r} is no price file: it is larger than 1 MB.")
        text = content.decode("utf-8-sig")
        return json.loads(text) if path.suffix.lower() == ".json" else tomllib.loads(text)
    except OSError as error:
        raise UserError(
            f"The price file {str(path)!r} cannot be read: {error.strerror or error}."
        ) from None
    except (ValueError, RecursionError) as error:
        kind = path.suffix[1:].upper()
        raise UserError(f"{str(path)!r} is no {kind}: {str(error).splitlines()[0]:.120}.") from None
