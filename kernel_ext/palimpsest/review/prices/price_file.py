"""Price files in JSON or TOML, whose entries are the words of ``given_prices``.

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
from palimpsest.review.prices.given_prices import (
    LIFETIME_WORD,
    PRICE_EXAMPLE,
    PRICE_FORM,
    given_prices,
    price_word,
)
from palimpsest.transcript.errors import UserError

PRICE_FILE_SUFFIXES = (".json", ".toml")
MAX_FILE_BYTES = 1_000_000
PriceWords = str | Path | Sequence[str | Path]
"""Words in the form of ``given_prices``, the name of a price file, or several of these."""


def price_words(
    price_argument: PriceWords | None, lifetime: str | float | None = None
) -> str | None:
    """Return the user's prices as the words of ``given_prices``; price files are replaced by their entries.

    ``lifetime`` is that of the cache: seconds, or words such as ``1h``. None where nothing was given. Raises UserError
    with one sentence.
    """
    if price_argument is None or isinstance(price_argument, str | Path):
        price_argument = [price_argument or ""]
    if not isinstance(price_argument, list | tuple) or not all(
        isinstance(source, str | Path) for source in price_argument
    ):
        raise UserError(
            f"{price_argument!r:.80} is no price: write {PRICE_FORM}, as in {PRICE_EXAMPLE}, or the name of a price file."
        )
    text = " ".join(word for given_word in price_argument for word in _words_of(given_word))
    if lifetime is not None:
        text = f"{text} {LIFETIME_WORD}={str(lifetime).strip()}"
    given_prices(text)
    return text.strip() or None


def without_files(price_text: str | None) -> str | None:
    """Return the prices that a page sent; raises UserError for the name of a file, since pages may not read files."""
    for word in (price_text or "").split():
        if "=" not in word and word.lower().endswith(PRICE_FILE_SUFFIXES):
            raise UserError(
                f"The price file {word!r:.80} is read where the inspector is opened: give it to inspect(price=...)."
            )
    return price_text


def _words_of(price_argument: str | Path) -> Iterator[str]:
    text = str(price_argument).strip()
    path = home_path(text)
    if path.suffix.lower() not in PRICE_FILE_SUFFIXES or ("=" in text and not path.is_file()):
        yield from text.split()
        return
    value = _file_value(path)
    if not isinstance(value, dict):
        raise UserError(f"{str(path)!r} is no price file: it holds no table of models.")
    try:
        price_entries = [price_word(str(key), entry) for key, entry in value.items()]
        given_prices(" ".join(price_entries))
    except UserError as error:
        raise UserError(f"{str(path)!r} cannot be used: {error}") from None
    yield from price_entries


def _file_value(path: Path) -> Any:
    """Return a file's parsed content; raises UserError."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES:
            raise UserError(f"{str(path)!r} is no price file: it is larger than 1 MB.")
        text = content.decode("utf-8-sig")
        return json.loads(text) if path.suffix.lower() == ".json" else tomllib.loads(text)
    except OSError as error:
        raise UserError(
            f"The price file {str(path)!r} cannot be read: {error.strerror or error}."
        ) from None
    except (ValueError, RecursionError) as error:
        format_name = path.suffix[1:].upper()
        raise UserError(
            f"{str(path)!r} is no {format_name}: {str(error).splitlines()[0]:.120}."
        ) from None
