"""Read JSON members of an untrusted zip file in memory, with limits; nothing is extracted to disk.

A member's name is only used as a key, never as a path. Members compressed with Zstandard are read where the
package ``zstandard`` is installed, since Python's own reader does not know that method.
"""

import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any

from palimpsest.import_guard import optional_module
from palimpsest.recordings.reading.importer import Report
from palimpsest.recordings.reading.reading_budget import spend
from palimpsest.recordings.reading.sources import is_too_deep
from palimpsest.store.bounded_json import BuildsTooMuch, json_value
from palimpsest.store.disk import open_regular
from palimpsest.transcript.errors import UserError

MAX_MEMBERS = 100_000
MAX_MEMBER_BYTES = 128_000_000
"""Maximum unpacked size of a member; its bytes, text and values take about four times as much memory."""
MAX_ALL_BYTES = 4_000_000_000
"""Maximum unpacked size of all members together."""
MAX_RATIO = 200
"""Maximum ratio of a large member's size to its compressed size; recorded sessions have about 30."""
MAX_FREE_RATIO_BYTES = 10_000_000
"""Maximum size of a member that may have any ratio: repeated text compresses well, and small members do no harm."""
ZSTANDARD_METHOD = 93
_LOCAL_HEADER = struct.Struct("<4s5H3I2H")


class UnreadableMember(Exception):
    """Raised where a member of an archive cannot be read; the message is a sentence for the user."""


@dataclass(slots=True)
class JsonArchive:
    """An open zip file of JSON documents."""

    file: FileIO
    archive: zipfile.ZipFile
    report: Report
    remaining_bytes: int = MAX_ALL_BYTES
    """Bytes that may still be unpacked."""

    @property
    def names(self) -> list[str]:
        """The members' names, in the file's order; of members with the same name the last one is read."""
        return list(self.archive.NameToInfo)

    def read_json(self, name: str) -> Any:
        """Return a member's JSON value; None where the member does not exist, or was reported as unreadable."""
        if name not in self.archive.NameToInfo:
            return None
        try:
            member_value = json_value(self._member_content(self.archive.NameToInfo[name]))
        except (UnreadableMember, BuildsTooMuch) as error:
            self.report(name, str(error))
        except (ValueError, RecursionError):
            self.report(name, "It is no JSON and was left out.")
        except (zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError):
            self.report(name, "It is damaged or packed in an unknown way, and was left out.")
        else:
            if not is_too_deep(member_value):
                return member_value
            self.report(name, "It is nested too deeply and was left out.")
        return None

    def _member_content(self, member: zipfile.ZipInfo) -> bytes:
        max_bytes = min(MAX_MEMBER_BYTES, self.remaining_bytes)
        ratio = member.file_size / max(1, member.compress_size)
        if member.file_size > max_bytes or (
            member.file_size > MAX_FREE_RATIO_BYTES and ratio > MAX_RATIO
        ):
            raise UnreadableMember("It would unpack to more than is believed, and was left out.")
        if member.flag_bits & 1:
            raise UnreadableMember("It is encrypted and was left out.")
        # The size stated in the archive may be wrong, so the bytes read are counted.
        content = self._unpack(member, member.file_size + 1)
        self.remaining_bytes -= len(content)
        spend(len(content))
        if len(content) > member.file_size:
            raise UnreadableMember("It is longer than its archive says, and was left out.")
        return content

    def _unpack(self, member: zipfile.ZipInfo, max_bytes: int) -> bytes:
        if member.compress_type != ZSTANDARD_METHOD:
            with self.archive.open(member) as unpacked_file:
                return unpacked_file.read(max_bytes)
        self.file.seek(member.header_offset)
        header = self.file.read(_LOCAL_HEADER.size) or b""
        if len(header) < _LOCAL_HEADER.size:
            raise UnreadableMember("It is damaged and was left out.")
        *_, name_length, extra_length = _LOCAL_HEADER.unpack(header)
        self.file.seek(name_length + extra_length, os.SEEK_CUR)
        return _unpacked_zstandard(self.file.read(member.compress_size) or b"", max_bytes)


@contextmanager
def opened_archive(path: Path, report: Report) -> Iterator[JsonArchive]:
    """Open a zip file; raises UserError with one sentence where it is no zip file or has too many members."""
    try:
        file = open_regular(path, follow=True)
    except OSError as error:
        raise UserError(f"{str(path)!r} cannot be read: {error.strerror or error}.") from error
    with file:
        archive_errors = (
            zipfile.BadZipFile,
            ValueError,
            NotImplementedError,
            struct.error,
            OSError,
        )
        try:
            archive = zipfile.ZipFile(file)
        except archive_errors as error:
            raise UserError(f"{str(path)!r} is no zip file that can be read.") from error
        with archive:
            if len(archive.NameToInfo) > MAX_MEMBERS:
                raise UserError(f"{str(path)!r} holds more than {MAX_MEMBERS:,} files.")
            yield JsonArchive(file, archive, report)


def _unpacked_zstandard(packed_bytes: bytes, max_bytes: int) -> bytes:
    zstandard: Any = optional_module("zstandard")
    if zstandard is None:
        raise UserError(
            "This file is compressed with Zstandard, which needs a package: pip install zstandard"
        )
    try:
        with zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(
            packed_bytes
        ) as unpacked_file:
            return bytes(unpacked_file.read(max_bytes))
    except zstandard.ZstdError as error:
        raise UnreadableMember("It is damaged and was left out.") from error
