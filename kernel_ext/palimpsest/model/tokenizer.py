"""Count tokens offline, with the rank files that litellm ships.

tiktoken would download its files; litellm ships them under tiktoken's own cache names, so the
cache directory is set around the load and restored. tiktoken's own encoding takes four tenths of a second and 46 MB, at its peak
76. For the 10,000 characters that a first request holds, a dictionary of the ranks and the rule of byte pair encoding do, in a
quarter of the time and less than half of the memory, and count as tiktoken does, to the token; so tiktoken is loaded when there is
more to count, or something that might be read in another way. Where the files are missing, four
characters of ASCII or one other character count as a token: rough, but not four times too
low for Chinese, as characters divided by four are (spec/model-and-store.md B).
"""

import ctypes
import hashlib
import os
import threading
from binascii import b2a_base64
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any
from unicodedata import category

import regex

from palimpsest.transcript.errors import ConfigError

CACHE_VARIABLE = "TIKTOKEN_CACHE_DIR"
CACHED_TEXTS = 4_096
SHORTEST_CACHED = 64
"""Shorter texts are counted faster than they are looked up."""

LONGEST_COUNTED = 2_000_000
"""Characters; no window holds as many, and ten million of one letter take eight seconds."""
SAMPLES = 20
SAMPLE_CHARS = 25_000
"""Longer texts are counted by ``SAMPLES`` evenly spaced pieces of this length, within a few percent."""

RANK_FILES = {
    "o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790",
    "cl100k_base": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
    "p50k_base": "ec7223a39ce59f226a68acc30dc1af2788490e15",
}
"""tiktoken's cache names: the SHA-1 of the address each file comes from."""

SHA256 = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "p50k_base": "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
}
"""The digest that tiktoken expects of each file."""

MOST_CHARS = 200_000
"""Characters that are counted in one process before tiktoken is worth loading."""
LONGEST_TEXT = 50_000
LONGEST_PIECE = 100
"""Bytes of a piece that is merged here: the time grows with its square."""
UNCERTAIN = frozenset({"Cn", "Co", "Cs"})
"""Categories of characters that two versions of Unicode, or two libraries, may read in different ways."""
LINES_READ = 200_000
"""Bytes of lines that are read at once, so that little is held beside the dictionary."""

ENCODING = "o200k_base"
PIECES = "|".join(
    [
        r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
        r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
        r"""\p{N}{1,3}""",
        r""" ?[^\s\p{L}\p{N}]+[\r\n/]*""",
        r"""\s*[\r\n]+""",
        r"""\s+(?!\S)""",
        r"""\s+""",
    ]
)
"""How tiktoken cuts a text for this encoding, before it merges bytes."""

_lock = threading.Lock()
_encodings: dict[str, Any] = {}
_counters: "dict[str, Cached]" = {}


def counter(estimator: str) -> Callable[[str], int]:
    """Return the counting function of an estimator: ``tiktoken/<encoding>`` or ``chars/4``."""
    if estimator == "chars/4":
        return chars_over_four
    kind, _, name = estimator.partition("/")
    if kind != "tiktoken" or name not in RANK_FILES:
        known = ", ".join(["chars/4", *(f"tiktoken/{known}" for known in RANK_FILES)])
        raise ConfigError(f"There is no token estimator {estimator!r}. Known: {known}.")
    with _lock:
        # One for each encoding, so that no text is counted again for the next step.
        if name not in _counters:
            _counters[name] = Cached(EncodingCount(name))
        return _counters[name]


def chars_over_four(text: str) -> int:
    """Estimate as OpenCode does: a quarter of the UTF-16 length, half rounded up."""
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
    if folder is None or not _intact(folder / RANK_FILES[name], SHA256[name]):
        return None
    before = os.environ.get(CACHE_VARIABLE)
    os.environ[CACHE_VARIABLE] = str(folder)
    try:
        import tiktoken

        encoding = tiktoken.get_encoding(name)
    except Exception:  # noqa: BLE001 - a damaged file or an odd tiktoken must not stop the work
        return None
    finally:
        if before is None:
            del os.environ[CACHE_VARIABLE]
        else:
            os.environ[CACHE_VARIABLE] = before
    # Counting needs only the compiled side; the table of ranks in Python costs 28 MB more.
    encoding._mergeable_ranks = {}  # noqa: SLF001
    give_back_memory()
    return encoding


def give_back_memory() -> None:
    """Return the memory that a load freed to the operating system; glibc would keep some 10 MB."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def _intact(path: Path, digest: str) -> bool:
    """Check a rank file ourselves: tiktoken deletes a wrong one and downloads it."""
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == digest


class RankTable:
    """The ranks of an encoding, read from its file: the lines stand in the order of the ranks, from 0.

    Tokens stay as they are written there, in Base64: a text has fewer pieces to write than the file has tokens to read.
    """

    def __init__(self, path: Path) -> None:
        self._ranks = _read(path)
        self._pieces = regex.compile(PIECES)
        self._left = MOST_CHARS

    def count(self, text: str) -> int | None:
        """Return the tokens of a text; None where tiktoken has to count it."""
        if len(text) > min(self._left, LONGEST_TEXT) or not _is_certain(text):
            return None
        self._left -= len(text)
        tokens = 0
        for piece in self._pieces.findall(text):
            written = piece.encode()
            if self._rank(written) is not None:
                tokens += 1
            elif len(written) > LONGEST_PIECE:
                return None
            else:
                tokens += self._merged(written)
        return tokens

    def _rank(self, token: bytes) -> int | None:
        return self._ranks.get(b2a_base64(token, newline=False))

    def _merged(self, piece: bytes) -> int:
        """Return how many tokens remain when the neighbours of the lowest rank are joined, again and again."""
        parts = [piece[at : at + 1] for at in range(len(piece))]
        while len(parts) > 1:
            joined = [
                (rank, at)
                for at, (left, right) in enumerate(pairwise(parts))
                if (rank := self._rank(left + right)) is not None
            ]
            if not joined:
                break
            _, at = min(joined)
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
        return len(parts)


def _is_certain(text: str) -> bool:
    return text.isascii() or UNCERTAIN.isdisjoint(map(category, set(text)))


def _read(path: Path) -> dict[bytes, int]:
    ranks: dict[bytes, int] = {}
    with path.open("rb") as file:
        while lines := file.read(LINES_READ):
            tokens = (lines + file.readline()).split()[::2]
            ranks.update(zip(tokens, range(len(ranks), len(ranks) + len(tokens)), strict=True))
    return ranks


class EncodingCount:
    """Counts as an encoding does, which is loaded once there is much to count; nothing is loaded before the first text."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._table: RankTable | None = None
        self._first = name == ENCODING
        self._lock = threading.Lock()

    def __call__(self, text: str) -> int:
        """Return the tokens of a text."""
        found = self._by_ranks(text) if self._first and self._name not in _encodings else None
        if found is not None:
            return found
        encoding = load(self._name)
        with self._lock:
            self._first, self._table = False, None
        return rough(text) if encoding is None else _counted(encoding, text)

    def _by_ranks(self, text: str) -> int | None:
        with self._lock:
            if self._table is None:
                folder = rank_directory()
                path = folder / RANK_FILES[self._name] if folder is not None else None
                if path is None or not _intact(path, SHA256[self._name]):
                    return None
                self._table = RankTable(path)
            return self._table.count(text)


def _counted(encoding: Any, text: str) -> int:
    # encode_ordinary, since encode raises on text that looks like a special token.
    def exact(piece: str) -> int:
        return len(encoding.encode_ordinary(piece))

    if len(text) <= LONGEST_COUNTED:
        return exact(text)
    step = (len(text) - SAMPLE_CHARS) / (SAMPLES - 1)
    starts = [round(step * one) for one in range(SAMPLES)]
    counted = sum(exact(text[start : start + SAMPLE_CHARS]) for start in starts)
    return round(counted * len(text) / (SAMPLES * SAMPLE_CHARS))


class LazyEncoding:
    """A tiktoken encoding that is loaded at its first text; litellm mostly asks it to encode an empty one."""

    def __init__(self, name: str) -> None:
        self.name = name

    def encode(self, text: str, **options: Any) -> list[int]:
        """Encode as tiktoken does; an empty text needs no encoding."""
        return list(self._loaded().encode(text, **options)) if text else []

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self._loaded(), attribute)

    def _loaded(self) -> Any:
        encoding = load(self.name) if self.name in RANK_FILES else None
        if encoding is not None:
            return encoding
        import tiktoken

        return tiktoken.get_encoding(self.name)


@cache
def lazy_encoding(name: str) -> LazyEncoding:
    """Return the one lazy encoding of a name."""
    return LazyEncoding(name)


class Cached:
    """Counts with another function and caches long texts, since a context is counted at every step."""

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
