"""Count tokens offline, with the rank files that litellm carries.

tiktoken would download its files; litellm ships them under tiktoken's own cache names, so the
cache directory is set around the load and put back. Where the files are missing, four
characters of ASCII or one other character are taken as a token: rough, but not four times too
low for Chinese, as characters divided by four are (spec/model-and-store.md B).
"""

import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from palimpsest.transcript.errors import ConfigError

CACHE_VARIABLE = "TIKTOKEN_CACHE_DIR"
CACHED_TEXTS = 4_096
SHORTEST_CACHED = 64
"""Shorter texts are counted faster than they are looked up."""

RANK_FILES = {
    "o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790",
    "cl100k_base": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
    "p50k_base": "ec7223a39ce59f226a68acc30dc1af2788490e15",
}
"""tiktoken's cache names: the SHA-1 of the address each file comes from."""

_lock = threading.Lock()
_encodings: dict[str, Any] = {}


def counter(estimator: str) -> Callable[[str], int]:
    """Return the counting function of an estimator: ``tiktoken/<encoding>`` or ``chars/4``."""
    if estimator == "chars/4":
        return chars_over_four
    kind, _, name = estimator.partition("/")
    if kind != "tiktoken" or name not in RANK_FILES:
        known = ", ".join(["chars/4", *(f"tiktoken/{known}" for known in RANK_FILES)])
        raise ConfigError(f"There is no token estimator {estimator!r}. Known: {known}.")
    encoding = load(name)
    return Cached(rough if encoding is None else _exact(encoding))


def chars_over_four(text: str) -> int:
    """Estimate as the seeds do: a quarter of the UTF-16 length, half rounded up."""
    units = len(text) + sum(char > "\uffff" for char in text) if not text.isascii() else len(text)
    return (units + 2) // 4


def rough(text: str) -> int:
    """Estimate without rank files."""
    if text.isascii():
        return (len(text) + 3) // 4
    ascii_chars = sum(char < "\x80" for char in text)
    return (ascii_chars + 3) // 4 + len(text) - ascii_chars


def load(name: str) -> Any:
    """Return a tiktoken encoding, loaded once and offline, or None where its file is missing."""
    with _lock:
        if name not in _encodings:
            _encodings[name] = _load(name)
        return _encodings[name]


def rank_directory() -> Path | None:
    """Find litellm's rank files without importing litellm."""
    spec = find_spec("litellm")
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(next(iter(spec.submodule_search_locations)), "litellm_core_utils", "tokenizers")
    return folder if folder.is_dir() else None


def _load(name: str) -> Any:
    folder = rank_directory()
    if folder is None or not (folder / RANK_FILES[name]).is_file():
        return None
    before = os.environ.get(CACHE_VARIABLE)
    os.environ[CACHE_VARIABLE] = str(folder)
    try:
        import tiktoken

        return tiktoken.get_encoding(name)
    except Exception:  # noqa: BLE001 - a damaged file or an odd tiktoken must not stop the work
        return None
    finally:
        if before is None:
            del os.environ[CACHE_VARIABLE]
        else:
            os.environ[CACHE_VARIABLE] = before


def _exact(encoding: Any) -> Callable[[str], int]:
    # encode_ordinary, since encode raises on text that looks like a special token.
    def count(text: str) -> int:
        return len(encoding.encode_ordinary(text))

    return count


class Cached:
    """Counts with another function and remembers long texts: a context is counted at every step."""

    def __init__(self, count: Callable[[str], int]) -> None:
        self._count = count
        self._known: OrderedDict[tuple[int, int], int] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, text: str) -> int:
        """Return the tokens of a text."""
        if len(text) < SHORTEST_CACHED:
            return self._count(text)
        # The hash stands for the text, so that the cache does not keep long outputs alive.
        key = (hash(text), len(text))
        with self._lock:
            found = self._known.get(key)
            if found is not None:
                self._known.move_to_end(key)
                return found
        found = self._count(text)
        with self._lock:
            self._known[key] = found
            while len(self._known) > CACHED_TEXTS:
                self._known.popitem(last=False)
        return found
