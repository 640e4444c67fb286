"""Read JSON members of an untrusted zip file in memory, with limits; nothing is extracted to disk.

A member's name is only a key: no path is made of it. Members compressed with Zstandard are read where the
package ``zstandard`` is installed, since Python's own reader does not know that method.
"""

import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from io import FileIO
from pathlib import Path
from typing import Any

from palimpsest.review.importing.importer import Report
from palimpsest.review.importing.reading_budget import spend
from palimpsest.review.importing.sources import too_deep
from palimpsest.store.bounded_json import BuildsTooMuch, json_value
from palimpsest.store.disk import open_regular
from palimpsest.transcript.errors import UserError

MOST_MEMBERS = 100_000
MOST_MEMBER_BYTES = 128_000_000
"""A member is held as it is packed out, as text and as values: together four times this at most."""
MOST_BYTES = 4_000_000_000
"""Bytes that all members together may be read to."""
MOST_RATIO = 200
"""Times that a large member may be longer than its compressed form; recorded sessions come to about 30."""
SMALL_BYTES = 10_000_000
"""Members up to this size may have any ratio: repeated text compresses well, and they do no harm."""
ZSTANDARD = 93
_LOCAL_HEADER = struct.Struct("<4s5H3I2H")


class UnreadableMember(Exception):
    """A member of an archive cannot be read; the text is a sentence for a person."""


@dataclass(slots=True)
class JsonArchive:
    """An open zip file of JSON documents."""

    file: FileIO
    archive: zipfile.ZipFile
    report: Report
    left: int = MOST_BYTES

    @property
    def names(self) -> list[str]:
        """The members' names, in the file's order; of several with one name the last counts."""
        return list(self.archive.NameToInfo)

    def read(self, name: str) -> Any:
        """Return a member's JSON value, or None where there is none or it was reported as unreadable."""
        if name not in self.archive.NameToInfo:
            return None
        try:
            found = json_value(self._content(self.archive.NameToInfo[name]))
        except (UnreadableMember, BuildsTooMuch) as error:
            self.report(name, str(error))
        except (ValueError, RecursionError):
            self.report(name, "It is no JSON and was left out.")
        except (
            zipfile.BadZipFile,
            zlib.error,
            OSError,
            EOFError,
            NotImplementedError,
            RuntimeError,
        ):
            self.report(name, "It is damaged or packed in an unknown way, and was left out.")
        else:
            if not too_deep(found):
                return found
            self.report(name, "It is nested too deeply and was left out.")
        return None

    def _content(self, member: zipfile.ZipInfo) -> bytes:
        limit = min(MOST_MEMBER_BYTES, self.left)
        ratio = member.file_size / max(1, member.compress_size)
        if member.file_size > limit or (member.file_size > SMALL_BYTES and ratio > MOST_RATIO):
            raise UnreadableMember("It would unpack to more than is believed, and was left out.")
        if member.flag_bits & 1:
            raise UnreadableMember("It is encrypted and was left out.")
        # The size that the archive tells may be a lie: what is read counts.
        found = self._unpacked(member, member.file_size + 1)
        self.left -= len(found)
        spend(len(found))
        if len(found) > member.file_size:
            raise UnreadableMember("It is longer than its archive says, and was left out.")
        return found

    def _unpacked(self, member: zipfile.ZipInfo, limit: int) -> bytes:
        if member.compress_type != ZSTANDARD:
            with self.archive.open(member) as content:
                return content.read(limit)
        self.file.seek(member.header_offset)
        header = self.file.read(_LOCAL_HEADER.size) or b""
        if len(header) < _LOCAL_HEADER.size:
            raise UnreadableMember("It is damaged and was left out.")
        *_, name_length, extra_length = _LOCAL_HEADER.unpack(header)
        self.file.seek(name_length + extra_length, os.SEEK_CUR)
        return _unpacked_zstandard(self.file.read(member.compress_size) or b"", limit)


@contextmanager
def opened_archive(path: Path, report: Report) -> Iterator[JsonArchive]:
    """Open a zip file; raises UserError with one sentence where it is none or holds too many members."""
    try:
        file = open_regular(path, follow=True)
    except OSError as error:
        raise UserError(f"{str(path)!r} cannot be read: {error.strerror or error}.") from error
    with file:
        try:
            archive = zipfile.ZipFile(file)
        except (
            zipfile.BadZipFile,
            ValueError,
            NotImplementedError,
            struct.error,
            OSError,
        ) as error:
            raise UserError(f"{str(path)!r} is no zip file that can be read.") from error
        with archive:
            if len(archive.NameToInfo) > MOST_MEMBERS:
                raise UserError(f"{str(path)!r} holds more than {MOST_MEMBERS:,} files.")
            yield JsonArchive(file, archive, report)


def _unpacked_zstandard(packed: bytes, limit: int) -> bytes:
    try:
        zstandard = import_module("zstandard")
    except ImportError as error:
        raise UserError(
            "This file is compressed with Zstandard, which needs a package: pip install zstandard"
        ) from error
    try:
        with zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(packed) as content:
            return bytes(content.read(limit))
    except zstandard.ZstdError as error:
        raise UnreadableMember("It is damaged and was left out.") from error
