"""Write an HTML page to a new file, or over an older page of the same kind, atomically; no other file is replaced."""

from pathlib import Path

from palimpsest.home_paths import home_path
from palimpsest.render.safety.escaping import one_line
from palimpsest.store.disk import storage_errors, write_atomically
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.strings.relative_paths import PROTECTED_FOLDERS, comparable_names

MAX_HEAD_BYTES = 4_000
"""Bytes at the beginning of a file in which the mark of a page is searched."""


def checked_page_file(path: str | Path, mark: str) -> Path:
    """Return the path for a page; raises UserError for one that must not be written: a file that is there without the mark."""
    try:
        target = home_path(path)
        target = target.parent.resolve() / target.name
        file_beginning = _file_beginning(target)
    except (ValueError, RuntimeError) as error:  # a null character
        raise UserError(f"{one_line(str(path))!r} is no name of a file: {error}.") from error
    except OSError as error:
        raise UserError(f"{str(path)!r} cannot be used: {error.strerror}.") from error
    if PROTECTED_FOLDERS & set(comparable_names(str(target))):
        raise UserError(
            f"{str(target)!r} lies in a folder that holds the record of the sessions, or git's own; name another place."
        )
    if not target.parent.is_dir():
        raise UserError(
            f"There is no folder {str(target.parent)!r}; make it first, or name another."
        )
    if file_beginning is not None and mark.encode() not in file_beginning:
        raise UserError(f"{str(target)!r} is there already and is no report; name another file.")
    return target


def _file_beginning(target: Path) -> bytes | None:
    """Return the beginning of a file; empty for a folder or a link, None where nothing exists."""
    if target.is_symlink() or target.is_dir():
        return b""
    if not target.exists():
        return None
    with target.open("rb") as file:
        return file.read(MAX_HEAD_BYTES)


def write_page_file(target: Path, page: str) -> None:
    """Write a page to a path that ``checked_page_file`` returned; raises StorageFailed in one sentence."""
    with storage_errors(target):
        write_atomically(target, page.encode("utf-8", errors="replace"))
