"""Read JSON of any size from untrusted files: lines, whole documents, and items out of large documents.

A line that is too long, too deep or broken is reported and costs only itself. Nothing but regular files
is opened, and a link only where the user named it.
"""

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import ijson

from palimpsest.review.importing.importer import Head, Report
from palimpsest.review.importing.json_fields import JsonValue
from palimpsest.review.importing.nesting_limit import NestedTooDeeply, NestingLimit
from palimpsest.store.bounded_json import BuildsTooMuch, json_value
from palimpsest.store.disk import NoFile, TooLarge, open_regular, read_small
from palimpsest.transcript.errors import UserError

MOST_LINE_BYTES = 64_000_000
TOO_LONG = f"It is longer than {MOST_LINE_BYTES // 1_000_000} MB and was left out."
MOST_DOCUMENT_BYTES = 64_000_000
"""A document that is read whole may be no larger; larger ones are read by ``json_items``."""
HEAD_BYTES = 65_536
MOST_DEPTH = 100
"""Levels of nesting that are believed; recorded sessions have about ten."""
_PIECE = 1 << 20
_COMPRESSED = (b"\x1f\x8b", b"\xfd7zXZ\x00", b"BZh", b"\x28\xb5\x2f\xfd")

COUNTED: ContextVar[Callable[[int], None] | None] = ContextVar("COUNTED", default=None)
"""Called with the bytes of each piece that is read, for the progress of an import."""


def unreported(_place: str, _what: str) -> None:
    """Leave unsaid what another pass over a file says."""


def report_beside(report: Report, name: str) -> Report:
    """Return how to report what is found in a file that another one goes on in."""
    return lambda place, what: report(f"{name}, {place}" if place else name, what)


def head_of(path: Path) -> Head:
    """Return what a format is recognised by; raises UserError for what is neither file nor folder."""
    if path.is_dir():
        names = sorted(one.name for one, _ in zip(path.iterdir(), range(1_000), strict=False))
        return Head(path, names=tuple(names))
    try:
        with open_regular(path, follow=True) as file:
            return Head(path, start=file.read(HEAD_BYTES) or b"")
    except OSError as error:
        raise UserError(f"{str(path)!r} cannot be read: {error.strerror or error}.") from error


def is_compressed(path: Path) -> bool:
    """Return whether a file begins as gzip, xz, bzip2 or Zstandard do."""
    return path.is_file() and head_of(path).start.startswith(_COMPRESSED)


def json_lines(path: Path, report: Report) -> Iterator[tuple[int, JsonValue]]:
    """Yield the objects of a file with one JSON object a line, with their line numbers, from 1."""
    for number, line in _lines(path, report):
        if not line.strip():
            continue
        try:
            value = json_value(line)
        except BuildsTooMuch as error:
            report(f"line {number}", str(error))
            continue
        except (ValueError, RecursionError):
            report(f"line {number}", "It is no JSON and was left out.")
            continue
        if not isinstance(value, dict):
            report(f"line {number}", "It is no JSON object and was left out.")
        elif line.count(b"{") + line.count(b"[") > MOST_DEPTH and too_deep(value):
            report(f"line {number}", "It is nested too deeply and was left out.")
        else:
            yield number, JsonValue(value)


def _lines(path: Path, report: Report) -> Iterator[tuple[int, bytes]]:
    with open_regular(path, follow=True) as file:
        pieces: list[bytes] = []
        number, length = 1, 0
        while piece := _counted(file.read(_PIECE)):
            *ended, rest = piece.split(b"\n")
            for end in ended:
                whole, skip = b"".join((*pieces, end)), length > MOST_LINE_BYTES
                pieces, length = [], 0
                if skip or len(whole) > MOST_LINE_BYTES:
                    report(f"line {number}", TOO_LONG)
                else:
                    yield number, whole
                number += 1
            length += len(rest)
            if rest and length <= MOST_LINE_BYTES:
                pieces.append(rest)
        if length > MOST_LINE_BYTES:
            report(f"line {number}", TOO_LONG)
        elif pieces:
            yield number, b"".join(pieces)


def _counted(piece: bytes | None) -> bytes:
    count, content = COUNTED.get(), piece or b""
    if count is not None and content:
        count(len(content))
    return content


def json_document(path: Path, *, follow: bool = True) -> JsonValue:
    """Return a whole JSON document; raises UserError with one sentence where it cannot be read.

    ``follow`` is False for a file that only another file named, and that may not be a link.
    """
    try:
        value = json_value(_counted(read_small(path, MOST_DOCUMENT_BYTES, follow=follow)))
    except TooLarge as error:
        raise UserError(
            f"{str(path)!r} is larger than {MOST_DOCUMENT_BYTES >> 20} MB and cannot be read whole."
        ) from error
    except NoFile as error:
        raise UserError(f"{str(path)!r} is no file.") from error
    except OSError as error:
        raise UserError(f"{str(path)!r} cannot be read: {error.strerror or error}.") from error
    except BuildsTooMuch as error:
        raise UserError(f"{str(path)!r} cannot be read whole: {error}") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{str(path)!r} holds no JSON that can be read.") from error
    if too_deep(value):
        raise UserError(f"{str(path)!r} is nested too deeply to be a recorded session.")
    return JsonValue(value)


def json_items(path: Path, prefix: str, report: Report, *, all_held: bool = False) -> Iterator[Any]:
    """Yield the values at a prefix of a document of any size, such as ``history.item``; one at a time.

    A document that breaks off is read up to there, and that is reported. With ``all_held`` the values are kept
    together, so that they count together.
    """
    try:
        with open_regular(path, follow=True) as file:
            levels = 0 if all_held else len(prefix.split("."))
            limited = NestingLimit(lambda size: _counted(file.read(size)), MOST_DEPTH, held=levels)
            yield from ijson.items(limited, prefix, use_float=True)
    except NestedTooDeeply:
        report(prefix, "The document is nested too deeply here; what follows was left out.")
    except BuildsTooMuch as error:
        report(prefix, f"A value of the document is too large. {error} So was what follows.")
    except (ijson.JSONError, ValueError, RecursionError):
        report(prefix, "The document is broken here; what follows was left out.")
    except OSError as error:
        raise UserError(f"{str(path)!r} cannot be read: {error.strerror or error}.") from error


def json_field(path: Path, name: str, report: Report = unreported) -> JsonValue:
    """Return the value at a prefix of a document of any size."""
    return JsonValue(next(json_items(path, name, report), None))


def json_objects(
    path: Path, prefix: str, report: Report, what: str
) -> Iterator[tuple[str, JsonValue]]:
    """Yield the objects at a prefix with their places, such as ``message 3``; what is none is reported."""
    for number, value in enumerate(json_items(path, prefix, report), 1):
        if isinstance(value, dict):
            yield f"{what} {number}", JsonValue(value)
        else:
            report(f"{what} {number}", "It is no JSON object and was left out.")


def too_deep(value: Any, levels: int = MOST_DEPTH) -> bool:
    """Return whether a value is nested deeper than is believed."""
    layer = [value]
    for _ in range(levels):
        layer = [
            inner
            for one in layer
            if isinstance(one, dict | list)
            for inner in (one.values() if isinstance(one, dict) else one)
            if isinstance(inner, dict | list)
        ]
        if not layer:
            return False
    return True
