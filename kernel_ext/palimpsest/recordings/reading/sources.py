"""Read JSON of any size from untrusted files: lines, whole documents, and items out of large documents.

A line that is too long, too deep or broken is reported and skipped. Only regular files are opened, and a link only
where the user gave its path. Items of large documents are read by ijson; where it is not installed, those of documents up
to ``MAX_DOCUMENT_BYTES`` are found in the text, with the same result. Only ijson stops at an integer of more than 63 bits
and at an incomplete character.
"""

import re
from collections.abc import Callable, Container, Generator, Iterator, Sequence
from contextvars import ContextVar
from json import JSONDecoder
from math import isfinite
from pathlib import Path
from typing import Any, NoReturn

from palimpsest.import_guard import optional_module
from palimpsest.recordings.reading.importer import Head, Report
from palimpsest.recordings.reading.json_fields import NO_VALUE, JsonValue
from palimpsest.recordings.reading.nesting_limit import NestedTooDeeply, NestingLimit
from palimpsest.store.bounded_json import BuildsTooMuch, json_value
from palimpsest.store.disk import NoFile, TooLarge, open_regular, read_small
from palimpsest.transcript.errors import UserError

MAX_LINE_BYTES = 64_000_000
TOO_LONG_SENTENCE = f"It is longer than {MAX_LINE_BYTES // 1_000_000} MB and was left out."
MAX_DOCUMENT_BYTES = 64_000_000
"""Largest document that is read as a whole; ``json_items`` reads larger ones."""
MAX_HEAD_BYTES = 65_536
"""Maximum bytes at a file's beginning by which its format is recognised."""
MAX_HEAD_NAMES = 1_000
"""Maximum names in a folder by which its format is recognised."""
MAX_SEARCHED_LINES = 3
"""Maximum lines at a file's beginning that are searched for one that can be read."""
MAX_DEPTH = 100
"""Maximum levels of nesting that are read; recorded sessions have about ten."""
_PIECE_BYTES = 1 << 20
_IJSON_PIECE_BYTES = 1 << 16
_BLANKS = re.compile(r"[ \t\n\r]*+")
_COMPRESSED_STARTS = (b"\x1f\x8b", b"\xfd7zXZ\x00", b"BZh", b"\x28\xb5\x2f\xfd")

COUNT_BYTES: ContextVar[Callable[[int], None] | None] = ContextVar("COUNT_BYTES", default=None)
"""Called with the bytes of each piece that is read, for the progress of an import."""


def discard_report(_place: str, _sentence: str) -> None:
    """Ignore a report: another pass over the file reports the same problem."""


def report_beside(report: Report, name: str) -> Report:
    """Return a report function that adds a file's name, for a file that belongs to another recording."""
    return lambda place, sentence: report(f"{name}, {place}" if place else name, sentence)


def head_of(path: Path) -> Head:
    """Return the beginning of a source; raises UserError where it is neither file nor folder."""
    if path.is_dir():
        names = sorted(
            child.name for child, _ in zip(path.iterdir(), range(MAX_HEAD_NAMES), strict=False)
        )
        return Head(path, names=tuple(names))
    try:
        with open_regular(path, follow=True) as file:
            return Head(path, start=file.read(MAX_HEAD_BYTES) or b"")
    except OSError as error:
        raise UserError(f"{str(path)!r} cannot be read: {error.strerror or error}.") from error


def first_object(head: Head) -> JsonValue:
    """Return the first of a file's first lines that is a JSON object; NO_VALUE where none is."""
    for line in head.start.split(b"\n")[:MAX_SEARCHED_LINES]:
        value = JsonValue(line).decoded()
        if isinstance(value.raw, dict):
            return value
    return NO_VALUE


def is_compressed(path: Path) -> bool:
    """Return whether a file begins like a file of gzip, xz, bzip2 or Zstandard."""
    return path.is_file() and head_of(path).start.startswith(_COMPRESSED_STARTS)


def json_lines(
    path: Path, report: Report, wanted_lines: Container[int] | None = None
) -> Iterator[tuple[int, JsonValue]]:
    """Yield the objects of a file with one JSON object a line, with their line numbers, from 1.

    With ``wanted_lines`` only lines with these numbers are parsed: a second pass costs little more than reading the file.
    """
    for number, line in file_lines(path, report):
        if not line.strip() or (wanted_lines is not None and number not in wanted_lines):
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
        elif line.count(b"{") + line.count(b"[") > MAX_DEPTH and is_too_deep(value):
            report(f"line {number}", "It is nested too deeply and was left out.")
        else:
            yield number, JsonValue(value)


def file_lines(path: Path, report: Report) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file with their numbers, from 1; a line that is too long is reported and left out."""
    with open_regular(path, follow=True) as file:
        pieces: list[bytes] = []
        number, byte_count = 1, 0
        while piece := _count_bytes(file.read(_PIECE_BYTES)):
            *ended_pieces, unfinished_line = piece.split(b"\n")
            for line_end in ended_pieces:
                line, is_too_long = b"".join((*pieces, line_end)), byte_count > MAX_LINE_BYTES
                pieces, byte_count = [], 0
                if is_too_long or len(line) > MAX_LINE_BYTES:
                    report(f"line {number}", TOO_LONG_SENTENCE)
                else:
                    yield number, line
                number += 1
            byte_count += len(unfinished_line)
            if unfinished_line and byte_count <= MAX_LINE_BYTES:
                pieces.append(unfinished_line)
        if byte_count > MAX_LINE_BYTES:
            report(f"line {number}", TOO_LONG_SENTENCE)
        elif pieces:
            yield number, b"".join(pieces)


def _count_bytes(piece: bytes | None) -> bytes:
    count_bytes, content = COUNT_BYTES.get(), piece or b""
    if count_bytes is not None and content:
        count_bytes(len(content))
    return content


def json_document(path: Path, *, follow: bool = True) -> JsonValue:
    """Return a whole JSON document; raises UserError with one sentence where it cannot be read.

    ``follow`` is False for a file whose name comes from another file; it may not be a link.
    """
    try:
        value = json_value(_count_bytes(read_small(path, MAX_DOCUMENT_BYTES, follow=follow)))
    except TooLarge as error:
        raise UserError(
            f"{str(path)!r} is larger than {MAX_DOCUMENT_BYTES >> 20} MB and cannot be read whole."
        ) from error
    except NoFile as error:
        raise UserError(f"{str(path)!r} is no file.") from error
    except OSError as error:
        raise UserError(f"{str(path)!r} cannot be read: {error.strerror or error}.") from error
    except BuildsTooMuch as error:
        raise UserError(f"{str(path)!r} cannot be read whole: {error}") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{str(path)!r} holds no JSON that can be read.") from error
    if is_too_deep(value):
        raise UserError(f"{str(path)!r} is nested too deeply to be a recorded session.")
    return JsonValue(value)


def json_items(
    path: Path, prefix: str, report: Report, *, share_limit: bool = False
) -> Iterator[Any]:
    """Yield the values at a prefix of a document of any size one by one; a prefix is such as ``history.item``.

    A document that breaks off is read up to that place, which is reported. With ``share_limit`` all values share one
    limit, for a caller that stores them all.
    """
    try:
        with open_regular(path, follow=True) as file:
            value_level = 0 if share_limit else len(prefix.split("."))
            limited_file = NestingLimit(
                lambda size: _count_bytes(file.read(size)), MAX_DEPTH, value_level=value_level
            )
            yield from _items_of(limited_file, prefix, path)
    except NestedTooDeeply:
        report(prefix, "The document is nested too deeply here; what follows was left out.")
    except BuildsTooMuch as error:
        report(prefix, f"A value of the document is too large. {error} So was what follows.")
    except (ValueError, RecursionError):
        report(prefix, "The document is broken here; what follows was left out.")
    except OSError as error:
        raise UserError(f"{str(path)!r} cannot be read: {error.strerror or error}.") from error


def _items_of(content: NestingLimit, prefix: str, path: Path) -> Iterator[Any]:
    """Yield the values at a prefix; raises ValueError where the document is broken, besides errors of reading."""
    ijson: Any = optional_module("ijson")
    if ijson is None:
        yield from _items_in_text(content, prefix, path)
        return
    try:
        yield from ijson.items(content, prefix, use_float=True)
    except ijson.JSONError as error:
        raise ValueError(str(error)) from error


def _items_in_text(content: NestingLimit, prefix: str, path: Path) -> Iterator[Any]:
    """Yield the values at a prefix like ijson, with the standard library; raises UserError for a long document."""
    content_bytes = bytearray()
    limit_error: ValueError | None = None
    try:
        while piece := content.read(_IJSON_PIECE_BYTES):
            content_bytes += piece
            if len(content_bytes) > MAX_DOCUMENT_BYTES:
                raise UserError(
                    f"{str(path)!r} is larger than {MAX_DOCUMENT_BYTES >> 20} MB and needs a package: pip install ijson"
                )
    except ValueError as error:
        limit_error = error  # the text before the error is read nevertheless
    try:
        text = content_bytes.decode()
    except UnicodeDecodeError as error:
        text = content_bytes[: error.start].decode()
    prefix_names = prefix.split(".")
    try:
        end = yield from _values_at(text, _after_blanks(text, 0), prefix_names, len(prefix_names))
    except ValueError as error:
        if limit_error is None:
            raise
        raise limit_error from error
    if end < len(text):
        raise ValueError("Something follows the document.")


def _values_at(
    text: str, start: int, path_names: Sequence[str] | None, levels: int
) -> Generator[Any, None, int]:
    """Yield the values at a path inside the value at ``start``; return where that value and its blanks end.

    With None for the names nothing is yielded. Values deeper than ``levels`` are parsed as a whole.
    """
    first_char = text[start : start + 1]
    if path_names == [] or levels == 0 or first_char not in ("{", "["):
        value, end = _DECODER.raw_decode(text, start)
        if isinstance(value, int | float) and text[end : end + 1] in (".", "e", "E"):
            raise ValueError(f"The number at {start} breaks off.")
        if path_names == []:
            yield value
        return _after_blanks(text, end)
    position = _after_blanks(text, start + 1)
    closing = "}" if first_char == "{" else "]"
    if text[position : position + 1] == closing:
        return _after_blanks(text, position + 1)
    while True:
        name = "item"
        if first_char == "{":
            name, position = _name_at(text, position)
        inner_names = path_names[1:] if path_names and path_names[0] == name else None
        position = yield from _values_at(text, position, inner_names, levels - 1)
        separator, position = text[position : position + 1], _after_blanks(text, position + 1)
        if separator == closing:
            return position
        if separator != ",":
            raise ValueError(f"There is no comma at {position}.")


def _name_at(text: str, start: int) -> tuple[str, int]:
    """Return the name of an object's field at ``start``, and the position of the field's value."""
    name, end = _DECODER.raw_decode(text, start)
    colon = _after_blanks(text, end)
    if not isinstance(name, str) or text[colon : colon + 1] != ":":
        raise ValueError(f"There is no name at {start}.")
    return name, _after_blanks(text, colon + 1)


def _after_blanks(text: str, position: int) -> int:
    match = _BLANKS.match(text, position)
    return match.end() if match else position


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON.")


def _finite_number(number: str) -> float:
    value = float(number)
    return value if isfinite(value) else _refuse_constant(number)


_DECODER = JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite_number)


def json_field(path: Path, prefix: str, report: Report = discard_report) -> JsonValue:
    """Return the first value at a prefix of a document of any size; one without content where there is none."""
    return JsonValue(next(json_items(path, prefix, report), None))


def json_objects(
    path: Path, prefix: str, report: Report, noun: str
) -> Iterator[tuple[str, JsonValue]]:
    """Yield the objects at a prefix, each with its position such as ``message 3``; report all other values."""
    for number, value in enumerate(json_items(path, prefix, report), 1):
        if isinstance(value, dict):
            yield f"{noun} {number}", JsonValue(value)
        else:
            report(f"{noun} {number}", "It is no JSON object and was left out.")


def is_too_deep(value: Any, levels: int = MAX_DEPTH) -> bool:
    """Return whether a value is nested more deeply than the limit."""
    layer = [value]
    for _ in range(levels):
        layer = [
            inner
            for outer in layer
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not layer:
            return False
    return True
