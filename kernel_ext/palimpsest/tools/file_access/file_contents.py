"""Open, decode, encode and replace files by their resolved path, without following links or opening pipes or devices.

Between a permission question and its answer, a file may be replaced by a link. So a resolved path is
opened folder by folder, and a link in it is an error. An edit of a text file keeps its encoding, byte order mark and
line endings. Border: takes resolved paths and asks for no permission.
"""

import codecs
import errno
import os
import re
import stat
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from palimpsest.tools.file_access.paths import is_key_file

INSTRUCTION_NAMES = ("AGENTS.md", "CLAUDE.md", "CONTEXT.md")
"""Names of instruction files; in each folder only the first one that exists is used."""

OUTSIDE_PROJECT = "it leads out of the project"
PATH_WAS_REPLACED = "something else stands in its place now"
_FOLDER_FLAGS = (
    os.O_DIRECTORY | os.O_NOFOLLOW | getattr(os, "O_PATH", os.O_RDONLY) if os.name == "posix" else 0
)
_FILE_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)

MAX_SNIFFED_BYTES = 8_192
MAX_TEMPORARY_NAME_CHARS = 60
"""Maximum characters of a file's name in that of its temporary file."""
BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
CONTROL_BYTES = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
MAX_CONTROL_SHARE = 0.1
"""Maximum share of control bytes in a text; logs may have a few."""


class UnreadableForPrompt(Exception):
    """A file that must not be included in a request; the message is the end of a sentence about it."""


@contextmanager
def open_folder_of(real_path: Path, *, makes_folders: bool = False) -> Iterator[int | None]:
    """Yield a descriptor of a resolved path's folder, opened without following links; raises OSError.

    Yields None if the system cannot open files relative to a folder; the path is then compared instead.
    """
    if os.open not in os.supports_dir_fd or not hasattr(os, "O_NOFOLLOW"):
        if makes_folders:
            real_path.parent.mkdir(parents=True, exist_ok=True)
        if real_path.parent.resolve() != real_path.parent:
            raise OSError(errno.ELOOP, PATH_WAS_REPLACED)
        yield None
        return
    descriptor = os.open(real_path.anchor, _FOLDER_FLAGS)
    try:
        for name in real_path.parent.parts[1:]:
            next_descriptor = _open_folder(name, descriptor, makes_folders=makes_folders)
            os.close(descriptor)
            descriptor = next_descriptor
        yield descriptor
    finally:
        os.close(descriptor)


def _open_folder(name: str, parent_descriptor: int, *, makes_folders: bool) -> int:
    try:
        return os.open(name, _FOLDER_FLAGS, dir_fd=parent_descriptor)
    except FileNotFoundError:
        if not makes_folders:
            raise
        os.mkdir(name, dir_fd=parent_descriptor)
        return os.open(name, _FOLDER_FLAGS, dir_fd=parent_descriptor)
    except NotADirectoryError as error:
        status = os.stat(name, dir_fd=parent_descriptor, follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            raise OSError(errno.ELOOP, PATH_WAS_REPLACED) from error
        raise


def read_resolved_file(real_path: Path, max_bytes: int | None = None) -> bytes:
    """Return a file's content, at most ``max_bytes`` bytes; raises OSError if it is not a regular file."""
    with open_folder_of(real_path) as folder_descriptor:
        name = real_path.name if folder_descriptor is not None else str(real_path)
        status = os.stat(name, dir_fd=folder_descriptor, follow_symlinks=False)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.ELOOP, PATH_WAS_REPLACED)
        with os.fdopen(os.open(name, _FILE_FLAGS, dir_fd=folder_descriptor), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise OSError(errno.ELOOP, PATH_WAS_REPLACED)
            return file.read() if max_bytes is None else file.read(max_bytes)


def replace_resolved_file(real_path: Path, data: bytes) -> None:
    """Replace a file atomically, keeping its mode; missing folders are created. Raises OSError."""
    with open_folder_of(real_path, makes_folders=True) as folder_descriptor:
        name = real_path.name if folder_descriptor is not None else str(real_path)
        temporary_name = (
            f".{real_path.name[:MAX_TEMPORARY_NAME_CHARS]}.{os.getpid()}-{os.urandom(4).hex()}.tmp"
        )
        if folder_descriptor is None:
            temporary_name = str(real_path.with_name(temporary_name))
        try:
            descriptor = os.open(
                temporary_name,
                os.O_WRONLY | os.O_CREAT | os.O_EXCL,
                0o666,
                dir_fd=folder_descriptor,
            )
        except PermissionError:
            # In a folder that allows no new files, an existing one may still be writable.
            _overwrite(name, data, folder_descriptor)
            return
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                mode = _file_mode(name, folder_descriptor)
                if mode is not None:
                    _set_mode(file.fileno(), temporary_name, mode)
            os.replace(
                temporary_name, name, src_dir_fd=folder_descriptor, dst_dir_fd=folder_descriptor
            )
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary_name, dir_fd=folder_descriptor)
            raise


def _file_mode(name: str, folder_descriptor: int | None) -> int | None:
    try:
        status = os.stat(name, dir_fd=folder_descriptor, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return stat.S_IMODE(status.st_mode) if stat.S_ISREG(status.st_mode) else None


def _set_mode(descriptor: int, name: str, mode: int) -> None:
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, mode)
    else:
        os.chmod(name, mode)  # noqa: PTH101


def _overwrite(name: str, data: bytes, folder_descriptor: int | None) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with os.fdopen(os.open(name, flags, 0o666, dir_fd=folder_descriptor), "wb") as file:
        file.write(data)


def read_for_prompt(path: Path, outer_folder: Path | None, max_bytes: int) -> bytes:
    """Return at most ``max_bytes`` bytes of a file that is included in a request without asking.

    ``outer_folder`` is the folder that must contain its real path; None for a file that the user named in
    their own settings. Raises UnreadableForPrompt with the reason, and OSError.
    """
    real_path = relative_path = _resolved_path(path)
    if outer_folder is not None:
        real_folder = _resolved_path(outer_folder)
        if not real_path.is_relative_to(real_folder):
            raise UnreadableForPrompt(OUTSIDE_PROJECT)
        relative_path = real_path.relative_to(real_folder)
    if is_key_file(path.name) or is_key_file(str(relative_path)):
        raise UnreadableForPrompt("it usually holds keys")
    if not stat.S_ISREG(real_path.lstat().st_mode):
        raise UnreadableForPrompt("it is no file")
    return read_resolved_file(real_path, max_bytes)


def _resolved_path(path: Path) -> Path:
    try:
        return path.resolve()
    except RuntimeError as error:  # circular links
        raise UnreadableForPrompt("its links go in a circle") from error


def is_binary(data: bytes) -> bool:
    """Return whether a file is binary, judged by its first ``MAX_SNIFFED_BYTES`` bytes."""
    head = data[:MAX_SNIFFED_BYTES]
    if not head or any(head.startswith(bom) for bom, _ in BOMS):
        return False
    return b"\0" in head or len(CONTROL_BYTES.findall(head)) > MAX_CONTROL_SHARE * len(head)


@dataclass(frozen=True, slots=True)
class TextFile:
    """The text of a file, with the encoding and byte order mark needed to write it back."""

    raw_text: str
    """The decoded text, with the line endings of the file."""
    encoding: str = "utf-8"
    bom: bytes = b""

    @classmethod
    def from_bytes(cls, data: bytes) -> "TextFile":
        """Decode bytes without loss: as UTF-8 or by byte order mark, else as latin-1."""
        for bom, encoding in BOMS:
            if data.startswith(bom):
                try:
                    return cls(data[len(bom) :].decode(encoding), encoding, bom)
                except UnicodeDecodeError:
                    break
        try:
            return cls(data.decode("utf-8"))
        except UnicodeDecodeError:
            # Latin-1 decodes every byte, so what is not edited is written back unchanged.
            return cls(data.decode("latin-1"), "latin-1")

    def encode(self) -> bytes:
        """Return the bytes of the file; raises UnicodeEncodeError if its encoding lacks a character."""
        return self.bom + self.raw_text.encode(self.encoding)

    def as_utf8(self) -> "TextFile":
        """Return the file with encoding UTF-8 and no byte order mark, for completely new text."""
        return replace(self, encoding="utf-8", bom=b"")

    @property
    def text(self) -> str:
        r"""The text with ``\n`` line endings only."""
        return self.raw_text.replace("\r\n", "\n")

    @property
    def newline(self) -> str:
        """The line ending of most lines."""
        crlf = self.raw_text.count("\r\n")
        return "\r\n" if crlf * 2 > self.raw_text.count("\n") else "\n"

    def with_text(self, text: str) -> "TextFile":
        """Return the file with new text, in the line ending of most of its lines."""
        if self.bom:
            text = text.removeprefix("\ufeff")
        return replace(self, raw_text=text.replace("\r\n", "\n").replace("\n", self.newline))

    def with_spans(self, spans: list[tuple[int, int, str]]) -> "TextFile":
        r"""Return the file with spans replaced (start and end in ``text``, new text) and every other byte unchanged."""
        removed_positions = [
            m.start() - n for n, m in enumerate(re.finditer("\r\n", self.raw_text))
        ]
        newline, raw_text = self.newline, self.raw_text
        for start, end, new in sorted(spans, reverse=True):
            raw_start = start + bisect_left(removed_positions, start)
            raw_end = end + bisect_right(removed_positions, end - 1) if end > start else raw_start
            new_text = new.replace("\r\n", "\n").replace("\n", newline)
            raw_text = raw_text[:raw_start] + new_text + raw_text[raw_end:]
        return replace(self, raw_text=raw_text)
