"""Find the names in a text: paths, URLs, errors, identifiers and numbers.

Border: pure. A name is what a project, its tools or its data call something. Words of a programming language and its
library do not count, nor do line numbers, times, styles, and the argument names of a tool call. Measured on two sets
of words drawn from recordings (``tests/context/compaction/test_names.py``).
"""

import errno
import json
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, repeat
from typing import Any, NamedTuple

from palimpsest.context.compaction.language_words import LANGUAGE_WORDS, RECEIVERS, SUFFIXES
from palimpsest.lazy_patterns import lazy_pattern

NAME_KINDS = ("paths", "URLs", "errors", "identifiers", "numbers")
NAMES_VERSION = 2
"""Version of these rules; a summary's grade without a version was made by the earlier rules, ``loss_report.NAME_PATTERNS``."""
MIN_NAME_CHARS = 4
"""Shorter names are too often equal by chance, except numbers that are quoted as code."""
MAX_SEGMENT_CHARS = 255
"""Characters of one piece of a path; no file system allows more."""

UNIVERSAL_PATHS = frozenset(
    {"/dev/null", "/dev/stdin", "/dev/stdout", "/bin/sh", "/bin/bash", "/usr/bin/env"}
)
"""Paths that exist on every machine, so that losing them loses nothing of the project."""

_CALL_NAME = lazy_pattern(r"\s*[\w./:-]{0,100}\s*(?=\{)")
_ESCAPE = lazy_pattern(r'\\(?<!\\\\)\\{0,2}([nrt"])')
_WINDOWS_PATH = lazy_pattern(r"\b[A-Za-z]:(?:\\{1,2}[\w.$~ -]{1,255}?(?=[\\\s\"'<>|,;:)]|$))+")
_ANSI_STYLE = lazy_pattern(r"(?:\x1b|\\x1b|\\e|\\u001b|\\033)\[[\d;]*[A-Za-z]|\[\d{1,3}m")
_ANSI_BEGINNINGS = ("\x1b[", "1b[", "\\e[", "033[")
_BARE_ANSI_STYLE = lazy_pattern(r"\[\d{1,3}m")
"""A style of a terminal without one of these beginnings."""
# A pattern that begins with a character, or with a set of them, is only tried where one is, which is fast: a line is found by
# the break before it, and of a name the first character comes first, with a look-behind for the text before it.
_LINE_NUMBER = lazy_pattern(
    r"\n[ \t]*(?:[-+>*][ \t]*)?\d{1,6}(?:→|\t|[:|-](?=\D|$)|[ \t]*[|│])", re.MULTILINE
)
_TIME = lazy_pattern(
    r"\d(?<=\b\d)(?:\d{3}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?\b|\d?:\d\d:\d\d(?:[.,]\d+)?\b|\d*m\d+(?:\.\d+)?s\b)"
)
_TIME_PIECES = tuple(map(lazy_pattern, (r"-\d\d-\d\d", r":\d\d:\d\d", r"m\d")))
"""Pieces of which every time has one, each found faster than a time."""
_GREP_CONTEXT = lazy_pattern(
    rf"(\n[^\s:]{{1,{4 * MAX_SEGMENT_CHARS}}}?\.[A-Za-z][A-Za-z0-9]{{0,9}})-\d{{1,6}}-"
)
"""A context line of grep: file, line number, text."""
_TAG = lazy_pattern(r"<(?<!\w<)/?[a-z][a-z0-9_-]{0,60}(?=\s{0,8}/?>|\s{1,8}[\w:-]{1,60}=)")
"""The opening of an HTML element; the values of its attributes stay."""
_DATA_URL = lazy_pattern(r"\bdata:[\w/+.-]{0,100}(?:;[\w=+.-]{1,100}){0,5},[\w+/=%-]*")
_CSS_STYLE = lazy_pattern(
    r"\b[a-z-]{3,30}:\s*(?:-?[\d.]+(?:px|em|rem|vh|vw|%|pt)|bold|none|auto)\b|\b(?:rgba?|hsla?)\([^)]{1,40}\)"
)
_CSS_VALUE = lazy_pattern(r":\s*(?:-?[\d.]+(?:px|em|rem|vh|vw|%|pt)|bold|none|auto)\b")
"""A piece of every style but a colour, found faster than one, since it does not begin with any word."""
_CSS_COLOURS = ("rgb(", "rgba(", "hsl(", "hsla(")

_URL = lazy_pattern(
    r"\b(?!file:)[a-z][a-z0-9+.-]{1,15}://[^\s<>\"'`)\]}|\\,;]{1,2000}|(?<![\w.])(?:(?:\d{1,3}\.){3}\d{1,3}|localhost):\d{2,5}\b"
)
_PORT_AFTER_ADDRESS = lazy_pattern(r"\.\d{1,3}:\d")
"""The end of the address of a machine and its port."""
_MIME_TYPES = tuple(
    f"{kind}/"
    for kind in ("application", "audio", "font", "image", "message", "multipart", "text", "video")
)
_MIME = lazy_pattern(rf"\b(?:{'|'.join(_MIME_TYPES)})[\w.+*-]+")
_SCOPED_PACKAGE = lazy_pattern(r"@(?<![\w/.]@)[a-z0-9][\w.-]{0,100}/[a-z0-9][\w.-]{0,100}")
_SLASHED_WORDS = lazy_pattern(
    rf"(?<![\w/<])(?:~|\.{{1,2}})?/?(?:[\w.@$+*-]{{1,{MAX_SEGMENT_CHARS}}}/){{1,64}}(?:[\w.@$+*-]{{1,{MAX_SEGMENT_CHARS}}})?|(?<![\w/<.}}])/[\w.-]{{1,{MAX_SEGMENT_CHARS}}}"
)
_FILE_NAME = lazy_pattern(
    rf"(?<![\w/$.*-])\.?[\w-]{{1,{MAX_SEGMENT_CHARS}}}(?:\.[\w-]{{1,{MAX_SEGMENT_CHARS}}}){{0,5}}\.[A-Za-z][A-Za-z0-9]{{0,9}}\b(?!\()"
)
_COMMAND = lazy_pattern(r"(?<![\w/.<>}])/[a-z][a-z0-9]*(?:-[a-z0-9]+)*(?![\w/.-])")
_ERRNO = "|".join(
    sorted(code[1:] for code in errno.errorcode.values() if len(code) > MIN_NAME_CHARS)
)
_ERROR = lazy_pattern(
    rf"[A-Z](?<=\b.)(?:\w*(?:Error|Exception|Warning)\b(?:: [^\n]{{1,80}})?"
    r"|(?:(?<=T)S|(?<=[EWFCR])|(?<=R)UF|(?<=S)IM|(?<=P)LR)\d{3,5}\b"
    rf"|(?<=E)(?:{_ERRNO})\b|(?<=\bcode E)[A-Z]{{4,14}}\b)"
)
_IDENTIFIER = lazy_pattern(
    r"""\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b   # a UUID
    | \b(?=[0-9a-f]{0,39}\d)(?=[0-9a-f]{0,39}[a-f])[0-9a-f]{7,64}\b          # a hash
    | \b[A-Z][A-Za-z0-9]*(?:\.[A-Z][A-Za-z0-9]+)+(?:\.[a-z_]\w+[?!]?)?         # a module with its folders
    | \b[a-z]{2,12}_[0-9A-Za-z]*\d[0-9A-Za-z]{7,}\b                            # an id such as toolu_01…
    | \b_{0,2}[a-z][a-z0-9]*(?:_[a-z0-9]+)+[?!]?                               # snake_case
    | \b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b                                        # CONSTANTS
    | (?<![\w#])_{1,2}[a-z][a-z0-9]{3,}\b                                      # _private
    | \b[a-z][a-z0-9]*(?:[A-Z]+[a-z0-9]+)+[A-Z]*\b                            # camelCase
    | \b(?:[A-Z]+[a-z][a-z0-9]*){2,}[A-Z]*\b                                   # PascalCase
    | \b[A-Z][a-z][a-z0-9]*[A-Z]{2,}\b                                        # FieldABC
    | \b[a-z]{3,}\d{2,}\b                                                      # nord15
    | \b[a-z]{2,20}-(?=[a-z0-9]{0,8}\d)(?=[a-z0-9]{0,8}[a-z])[a-z0-9]{3,9}(?:\.\d{1,3})?\b   # a ticket
    """,
    re.VERBOSE,
)
_NUMBER = lazy_pattern(
    r"(?<![\w.#-])\d+\.\d+(?:\.\d+)*(?:(?:a|b|rc|alpha|beta)\d+|-(?:a|b|rc|alpha|beta|dev|pre|preview|canary|next)(?:\.\d+){0,3})?(?![\w%])|(?<![\w.,#$-])\d{3,}(?![\w%]|[.,]\d)"
    r"|(?<![\w.])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\w%])|#(?:[0-9a-fA-F]{8}|[0-9a-fA-F]{6}|\d{2,6})\b|\b(?=[0-9A-Fa-f]{0,5}[A-Fa-f])(?=[0-9A-Fa-f]{0,5}\d)[0-9A-F]{6}\b"
)

_PIECE = lazy_pattern(r"""[^\s"'=;:\[\])&^|\\{(]+\(?""")
"""A piece between characters that occur in no path, identifier or number, and that none of their patterns needs.

The opening bracket of a call stays at the end of its piece, since a name before it is no file.
"""
MAX_PIECE_CHARS = 80
"""Maximum characters of a piece whose names are cached; code repeats its words, and long pieces are data."""
MAX_CACHED_PIECES = 1 << 15


class _PieceNames(NamedTuple):
    """The names in one piece of a text, by the pattern that found them."""

    slashed: tuple[str, ...]
    files: tuple[str, ...]
    identifiers: tuple[str, ...]
    commands: tuple[str, ...]
    numbers: tuple[str, ...]


def names_of(text: str) -> Iterator[tuple[str, str]]:
    """Yield kind and name of each name in a text, kind by kind."""
    for kind, names in _names_by_kind(text):
        for name in names:
            if len(name) >= MIN_NAME_CHARS or kind == "numbers":
                yield kind, name


@lru_cache(maxsize=20_000)
def kind_of_name(name: str) -> str:
    """Return the kind of a name by itself or quoted as code; ``identifiers`` where other text is needed to tell it."""
    texts = (name, f"`{name}`")
    return next(
        (kind for text in texts for kind, other in names_of(text) if other == name), "identifiers"
    )


def _names_by_kind(text: str) -> Iterator[tuple[str, Iterable[str]]]:
    text, windows_paths = readable_text(text)
    urls: list[str] = []
    if "://" in text or "localhost:" in text or _PORT_AFTER_ADDRESS.search(text) is not None:
        urls += (match[0].rstrip(".:") for match in _URL.finditer(text))
        text = _URL.sub(" ", text) if urls else text
    if any(map(text.__contains__, _MIME_TYPES)):
        text = _MIME.sub(" ", text)
    packages: list[str] = []
    if "@" in text:
        packages += (match[0] for match in _SCOPED_PACKAGE.finditer(text))
        text = _SCOPED_PACKAGE.sub(" ", text) if packages else text
    errors = [match[0].rstrip(".,:;") for match in _ERROR.finditer(text)]
    pieces = [*filter(None, map(_NAMES_BY_PIECE.__getitem__, _PIECE.findall(text)))]
    slashed, files, identifiers, commands, numbers = map(
        chain.from_iterable, zip(*pieces, strict=True) if pieces else repeat((), 5)
    )
    yield "paths", chain(windows_paths, slashed, files)
    yield "URLs", urls
    yield "errors", errors
    yield "identifiers", chain(packages, identifiers, commands)
    yield "numbers", numbers


def _piece_names(piece: str) -> _PieceNames | None:
    """Return the names in a piece of a text; None where there is none, as in a plain word."""
    if piece.isalpha() and piece.islower():
        return None
    names = _PieceNames(
        (*_names_with_slash(piece),),
        (*_files(piece),),
        (*_identifiers(piece),),
        (*_commands(piece),),
        (*_numbers(piece),),
    )
    return names if any(names) else None


class _NamesByPiece(dict[str, _PieceNames | None]):
    """The names in pieces, found at the first look at each; forgotten once there are too many."""

    def __missing__(self, piece: str) -> _PieceNames | None:
        names = _piece_names(piece)
        if len(piece) <= MAX_PIECE_CHARS:
            if len(self) >= MAX_CACHED_PIECES:
                self.clear()
            self[piece] = names
        return names


_NAMES_BY_PIECE = _NamesByPiece()


def _names_with_slash(text: str) -> Iterator[str]:
    if "/" not in text:
        return
    for match in _SLASHED_WORDS.finditer(text):
        name = match[0].rstrip(".,:;*")
        if name not in UNIVERSAL_PATHS and _is_path(name, is_quoted=_is_quoted(text, match)):
            yield name


def _files(text: str) -> Iterator[str]:
    if "." not in text:
        return
    for match in _FILE_NAME.finditer(text):
        stem, _, suffix = match[0].rpartition(".")
        if (
            suffix.lower() in SUFFIXES
            and stem.split(".")[0] not in RECEIVERS
            and not _is_in_path(text, match)
        ):
            yield match[0]


def _is_quoted(text: str, match: re.Match[str]) -> bool:
    """Return whether exactly the match is quoted as code."""
    return text[max(match.start() - 1, 0) : match.end() + 1] == f"`{match[0]}`"


def _is_in_path(text: str, match: re.Match[str]) -> bool:
    """Return whether a file's name is a piece of a longer path."""
    return text[match.end() : match.end() + 1] == "/"


def _is_path(name: str, *, is_quoted: bool) -> bool:
    """Return whether words joined by slashes are a path: ``either/or`` and ``/div`` are not."""
    segments = [word for word in name.split("/") if word]
    if not segments or not any(any(c.isalpha() for c in word) for word in segments):
        return False
    _, dot, suffix = segments[-1].rpartition(".")
    if dot and suffix.lower() in SUFFIXES:
        return True
    if name.startswith(("~/", "./", "../")) or name.endswith("/"):
        return True
    if name.startswith("/"):
        return len(segments) > 1 or "-" in name or "_" in name
    # "and/or" and "colors/formatting" are words: without an ending or quotes two plain pieces are no path.
    return is_quoted or len(segments) > 2 or any(re.search(r"[-_\d]", word) for word in segments)


def _identifiers(text: str) -> Iterator[str]:
    for match in _IDENTIFIER.finditer(text):
        name = match[0]
        is_error = name[0].isupper() and name.endswith(("Error", "Exception", "Warning"))
        is_dunder = name.startswith("__") and name.endswith("__")
        if name not in LANGUAGE_WORDS and not is_error and not is_dunder:
            yield name


def _commands(text: str) -> Iterator[str]:
    if "/" not in text:
        return
    for match in _COMMAND.finditer(text):
        if "-" in match[0] or not _is_in_path(text, match):
            yield match[0]


def _numbers(text: str) -> Iterator[str]:
    for match in _NUMBER.finditer(text):
        if len(match[0]) >= MIN_NAME_CHARS or _is_quoted(text, match):
            yield match[0]


def readable_text(text: str) -> tuple[str, list[str]]:
    """Return a text without styles, tags, line numbers and times, and its Windows paths.

    Backslashes of such paths must not count as escapes. A tool call becomes the values of its input, escapes become
    their characters.
    """
    match = _CALL_NAME.match(text)
    if match is not None:
        try:
            arguments = json.loads(text[match.end() :])
        except (ValueError, RecursionError):
            pass
        else:
            text = "\n".join(_texts_in(arguments))
    windows_paths: list[str] = []
    if ":\\" in text:
        windows_paths += (path[0] for path in _WINDOWS_PATH.finditer(text))
        text = _WINDOWS_PATH.sub(" ", text)
    if any(map(text.__contains__, _ANSI_BEGINNINGS)) or _BARE_ANSI_STYLE.search(text) is not None:
        text = _ANSI_STYLE.sub(" ", text)
    if "\\" in text:
        text = _ESCAPE.sub(lambda escape: "\n" if escape[1] != '"' else " ", text)
    text = _LINE_NUMBER.sub("\n ", _GREP_CONTEXT.sub(r"\1 ", f"\n{text}"))[1:]
    if "data:" in text:
        text = _DATA_URL.sub(" ", text)
    if "<" in text:
        text = _TAG.sub(" ", text)
    text = _without_times(text)
    if any(map(text.__contains__, _CSS_COLOURS)) or _CSS_VALUE.search(text) is not None:
        text = _CSS_STYLE.sub(" ", text)
    return text, windows_paths


def _without_times(text: str) -> str:
    if any(piece.search(text) is not None for piece in _TIME_PIECES):
        return _TIME.sub(" ", text)
    return text


def _texts_in(value: Any) -> Iterator[str]:
    """Yield the texts in the values of JSON, without its keys and numbers, which are a tool's parameters."""
    match value:
        case str():
            yield value
        case dict():
            for item in value.values():
                yield from _texts_in(item)
        case list():
            for item in value:
                yield from _texts_in(item)
        case _:
            pass
