"""Count tokens offline, with the rank files that litellm ships.

tiktoken would download its files; litellm ships them under tiktoken's own cache names, so the cache folder is set
for the load and restored. tiktoken's own encoding takes 0.4 seconds and 46 MB, at its peak 76. For the 10,000
characters of a first request a dictionary of the ranks and the rule of byte pair encoding suffice, in a quarter of the
time and less than half of the memory, with exactly tiktoken's counts; so tiktoken is loaded only for more text, or for
text that both might read differently. Where the files, tiktoken or regex are missing, four characters of ASCII or one
other character count as a token: rough, but not four times too low for Chinese, as characters divided by four are.
``rough_count_sentences`` returns a sentence about that.
"""

import ctypes
import hashlib
import os
import threading
from binascii import b2a_base64
from collections import OrderedDict
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any
from unicodedata import category

from palimpsest.import_guard import optional_module, package_folder
from palimpsest.transcript.errors import ConfigError

CACHE_VARIABLE = "TIKTOKEN_CACHE_DIR"
MAX_CACHED_TEXTS = 4_096
MIN_CACHED_CHARS = 64
"""Minimum characters of a cached text; shorter texts are counted faster than looked up."""

MAX_EXACT_CHARS = 2_000_000
"""Maximum characters that are counted exactly; no window holds more, and ten million of one letter take eight seconds."""
SAMPLE_COUNT = 20
SAMPLE_CHARS = 25_000
"""Longer texts are counted by ``SAMPLE_COUNT`` evenly spaced pieces of this length, within a few percent."""

RANK_FILES = {
    "o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790",
    "cl100k_base": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
    "p50k_base": "ec7223a39ce59f226a68acc30dc1af2788490e15",
}
"""tiktoken's cache names: the SHA-1 of each file's address."""

FILE_DIGESTS = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "p50k_base": "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
}
"""The digest that tiktoken expects of each file."""

MAX_CHARS_WITHOUT_TIKTOKEN = 200_000
"""Characters that are counted in one process before tiktoken is worth loading."""
MAX_TABLE_TEXT_CHARS = 50_000
"""Maximum characters of one text that is counted without tiktoken."""
MAX_PIECE_BYTES = 100
"""Maximum bytes of a piece that is merged here, since the time grows with their square."""
ROUGH_NOTICE = (
    "Tokens by {} are estimates here, four ASCII characters or one other for each, and so is what rests on them: litellm's "
    "files of tokens, tiktoken or regex are missing (pip install jupyter-palimpsest)."
)
UNCERTAIN_CATEGORIES = frozenset({"Cn", "Co", "Cs"})
"""Categories of characters that versions of Unicode, or libraries, may read differently."""
MAX_READ_BYTES = 200_000
"""Bytes of lines that are read at once, to save memory beside the dictionary."""

ENCODING = "o200k_base"
SPLIT_PATTERN = "|".join(
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
"""The pattern by which tiktoken splits a text for this encoding, before it merges bytes."""

_lock = threading.Lock()
_encodings: dict[str, Any] = {}
_counters: "dict[str, CachedCount]" = {}


def counter(estimator: str) -> Callable[[str], int]:
    """Return the counting function of an estimator: ``tiktoken/<encoding>`` or ``chars/4``."""
    if estimator == "chars/4":
        return chars_over_four
    estimator_kind, _, name = estimator.partition("/")
    if estimator_kind != "tiktoken" or name not in RANK_FILES:
        known_names = ", ".join(["chars/4", *(f"tiktoken/{encoding}" for encoding in RANK_FILES)])
        raise ConfigError(f"There is no token estimator {estimator!r}. Known: {known_names}.")
    with _lock:
        # A shared counter for each encoding, so that no text is counted again for the next step.
        if name not in _counters:
            _counters[name] = CachedCount(EncodingCount(name))
        return _counters[name]


def chars_over_four(text: str) -> int:
    """Estimate as OpenCode does: a quarter of the UTF-16 length, half rounded up."""
    surrogates = 0 if text.isascii() else sum(char > "\uffff" for char in text)
    return (len(text) + surrogates + 2) // 4


def rough_count(text: str) -> int:
    """Estimate without rank files."""
    if text.isascii():
        return (len(text) + 3) // 4
    ascii_chars = sum(char < "\x80" for char in text)
    return (ascii_chars + 3) // 4 + len(text) - ascii_chars


def load_encoding(name: str) -> Any:
    """Return a tiktoken encoding, loaded once and offline, or None where its file is missing."""
    with _lock:
        if name not in _encodings:
            _encodings[name] = _load(name)
        return _encodings[name]


def rank_folder() -> Path | None:
    """Find litellm's rank files without importing litellm."""
    package = package_folder("litellm")
    folder = package / "litellm_core_utils" / "tokenizers" if package is not None else None
    return folder if folder is not None and folder.is_dir() else None


def rough_count_sentences(estimators: Iterable[str]) -> tuple[str, ...]:
    """Return a sentence for each estimator whose files or packages are missing here, so that it counts roughly."""
    return tuple(map(ROUGH_NOTICE.format, filter(_is_rough, dict.fromkeys(estimators))))


def _is_rough(estimator: str) -> bool:
    name = estimator.partition("/")[2]
    if name not in RANK_FILES:
        return False
    is_installed = all(package_folder(name) is not None for name in ("tiktoken", "regex"))
    return not is_installed or _rank_file(name) is None


def _load(name: str) -> Any:
    file = _rank_file(name)
    if file is None:
        return None
    old_value = os.environ.get(CACHE_VARIABLE)
    os.environ[CACHE_VARIABLE] = str(file.parent)
    try:
        import tiktoken

        encoding = tiktoken.get_encoding(name)
    except Exception:  # noqa: BLE001 - a damaged file or an odd tiktoken must not stop the work
        return None
    finally:
        if old_value is None:
            del os.environ[CACHE_VARIABLE]
        else:
            os.environ[CACHE_VARIABLE] = old_value
    # Counting needs only the compiled side; the table of ranks in Python costs 28 MB more.
    encoding._mergeable_ranks = {}  # noqa: SLF001
    give_back_memory()
    return encoding


def give_back_memory() -> None:
    """Return the memory that a load freed to the operating system; glibc would keep some 10 MB."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def _rank_file(name: str) -> Path | None:
    """Return an encoding's rank file; None where it is missing or damaged."""
    folder = rank_folder()
    path = folder / RANK_FILES[name] if folder is not None else None
    return path if path is not None and _is_intact(path, FILE_DIGESTS[name]) else None


@cache
def _is_intact(path: Path, digest: str) -> bool:
    """Check a rank file's digest, since tiktoken would delete a wrong file and download it."""
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == digest


class RankTable:
    """The ranks of an encoding, read from its file, whose lines are in the order of the ranks, from 0.

    Tokens stay in Base64 as in the file: encoding the few pieces of a text is faster than decoding all tokens.
    """

    def __init__(self, path: Path, regex: Any) -> None:
        """``regex`` is the module of that name, which supports the categories of characters."""
        self._ranks = _read_ranks(path)
        self._piece_pattern = regex.compile(SPLIT_PATTERN)
        self._chars_left = MAX_CHARS_WITHOUT_TIKTOKEN

    def count(self, text: str) -> int | None:
        """Return the tokens of a text; None where tiktoken has to count it."""
        if len(text) > min(self._chars_left, MAX_TABLE_TEXT_CHARS) or not _is_certain(text):
            return None
        self._chars_left -= len(text)
        tokens = 0
        for piece in self._piece_pattern.findall(text):
            token_bytes = piece.encode()
            if self._rank(token_bytes) is not None:
                tokens += 1
            elif len(token_bytes) > MAX_PIECE_BYTES:
                return None
            else:
                tokens += self._merged_count(token_bytes)
        return tokens

    def _rank(self, token: bytes) -> int | None:
        return self._ranks.get(b2a_base64(token, newline=False))

    def _merged_count(self, piece: bytes) -> int:
        """Return the tokens of a piece after repeatedly joining the neighbours of the lowest rank."""
        parts = [piece[index : index + 1] for index in range(len(piece))]
        while len(parts) > 1:
            pair_ranks = [
                (rank, index)
                for index, (left, right) in enumerate(pairwise(parts))
                if (rank := self._rank(left + right)) is not None
            ]
            if not pair_ranks:
                break
            _, index = min(pair_ranks)
            parts[index : index + 2] = [parts[index] + parts[index + 1]]
        return len(parts)


def _is_certain(text: str) -> bool:
    return text.isascii() or UNCERTAIN_CATEGORIES.isdisjoint(map(category, set(text)))


def _read_ranks(path: Path) -> dict[bytes, int]:
    ranks: dict[bytes, int] = {}
    with path.open("rb") as file:
        while lines := file.read(MAX_READ_BYTES):
            tokens = (lines + file.readline()).split()[::2]
            ranks.update(zip(tokens, range(len(ranks), len(ranks) + len(tokens)), strict=True))
    return ranks


class EncodingCount:
    """Counts the tokens of an encoding, which is loaded only when there is much to count."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._table: RankTable | None = None
        self._uses_table = name == ENCODING
        self._lock = threading.Lock()

    def __call__(self, text: str) -> int:
        """Return the tokens of a text."""
        tokens = (
            self._count_by_ranks(text)
            if self._uses_table and self._name not in _encodings
            else None
        )
        if tokens is not None:
            return tokens
        encoding = load_encoding(self._name)
        with self._lock:
            self._uses_table, self._table = False, None
        return rough_count(text) if encoding is None else _token_count(encoding, text)

    def _count_by_ranks(self, text: str) -> int | None:
        with self._lock:
            if self._table is None:
                path, regex = _rank_file(self._name), optional_module("regex")
                if path is None or regex is None:
                    return None
                self._table = RankTable(path, regex)
            return self._table.count(text)


def _token_count(encoding: Any, text: str) -> int:
    # encode_ordinary, since encode raises on text that looks like a special token.
    def exact_count(piece: str) -> int:
        return len(encoding.encode_ordinary(piece))

    if len(text) <= MAX_EXACT_CHARS:
        return exact_count(text)
    step = (len(text) - SAMPLE_CHARS) / (SAMPLE_COUNT - 1)
    starts = [round(step * index) for index in range(SAMPLE_COUNT)]
    tokens = sum(exact_count(text[start : start + SAMPLE_CHARS]) for start in starts)
    return round(tokens * len(text) / (SAMPLE_COUNT * SAMPLE_CHARS))


class LazyEncoding:
    """A tiktoken encoding that is loaded at its first text, since litellm mostly encodes an empty text."""

    def __init__(self, name: str) -> None:
        self.name = name

    def encode(self, text: str, **options: Any) -> list[int]:
        """Encode as tiktoken does; an empty text needs no encoding."""
        return list(self._loaded_encoding().encode(text, **options)) if text else []

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self._loaded_encoding(), attribute)

    def _loaded_encoding(self) -> Any:
        encoding = load_encoding(self.name) if self.name in RANK_FILES else None
        if encoding is None:
            import tiktoken

            encoding = tiktoken.get_encoding(self.name)
        return encoding


@cache
def lazy_encoding(name: str) -> LazyEncoding:
    """Return the one lazy encoding of a name."""
    return LazyEncoding(name)


class CachedCount:
    """Counts with another function and caches long texts, since a context is counted at every step."""

    def __init__(self, count: Callable[[str], int]) -> None:
        self._count_tokens = count
        self._cached_counts: OrderedDict[tuple[int, int], int] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, text: str) -> int:
        """Return the tokens of a text."""
        if len(text) < MIN_CACHED_CHARS:
            return self._count_tokens(text)
        # The hash stands for the text, so that the cache does not keep long outputs alive.
        key = (hash(text), len(text))
        with self._lock:
            tokens = self._cached_counts.get(key)
            if tokens is not None:
                self._cached_counts.move_to_end(key)
                return tokens
        tokens = self._count_tokens(text)
        with self._lock:
            self._cached_counts[key] = tokens
            while len(self._cached_counts) > MAX_CACHED_TEXTS:
                self._cached_counts.popitem(last=False)
        return tokens
