"""Tell whether a session's log still lies where this kernel opened it, and make the project's folder anew for a new session.

A person may remove, rename or replace ``.palimpsest`` while a kernel has it open. An open file goes on under another
name, so that nothing is lost of a folder that was renamed; but what is asked next would be written where nobody looks
for it, or nowhere. Border: looks, and makes the folder only for a session that begins.
"""

import os
import stat
from pathlib import Path

from palimpsest.store.disk import NOFOLLOW, disk_reason
from palimpsest.store.project_folder.layout import Layout, foreign_folder_reason, make_folder
from palimpsest.transcript.errors import StorageFailed

REMADE = "The folder {root} was gone, so a new one was made; the sessions that were in it are not."


def missing_reason(path: Path, fd: int, size: int) -> str:
    """Return why a log is no longer found at its path, as a clause; empty where it is.

    ``fd`` is our open file of it and ``size`` what we know to be in it: a file of that size at the path is the log that
    was put back.
    """
    root = path.parents[2]
    try:
        found = path.stat(follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return _gone(root, path.parent)
    except PermissionError:
        return f"The folder {str(root)!r} may not be read any more"
    except OSError as error:
        return f"{disk_reason(error)} ({str(root)!r})"
    ours = os.fstat(fd)
    if (found.st_dev, found.st_ino) == (ours.st_dev, ours.st_ino):
        return ""
    if stat.S_ISREG(found.st_mode) and found.st_size == size:
        return ""
    return f"Another file lies where the log of this session was ({str(path)!r})"


def _gone(root: Path, folder: Path) -> str:
    if not os.path.lexists(root):
        return f"The folder {str(root)!r} was removed or renamed"
    if not root.is_dir():
        return f"{str(root)!r} is no folder any more"
    return f"The log of this session was removed ({str(folder)!r})"


def reopened(path: Path, fd: int, size: int) -> int:
    """Return the descriptor to write to: the open one, or one of the file that was put back unchanged in its place.

    The caller closes the other one. Raises OSError where the file was removed and is not back.
    """
    ours = os.fstat(fd)
    try:
        found = path.stat(follow_symlinks=False)
    except OSError:
        if ours.st_nlink > 0:  # the folder was renamed: nothing is lost, so it goes on there
            return fd
        raise
    is_same = (found.st_dev, found.st_ino) == (ours.st_dev, ours.st_ino)
    if is_same or (found.st_size != size and ours.st_nlink > 0):
        return fd
    other = os.open(path, os.O_WRONLY | os.O_APPEND | NOFOLLOW)
    if os.fstat(other).st_size == size:
        return other
    os.close(other)
    raise FileExistsError(str(path))


def remade(layout: Layout) -> bool:
    """Make the project's folder anew if it is gone, with the project's id; returns whether it was.

    Raises StorageFailed where something else lies there, and OSError.
    """
    if layout.root.is_dir() and not layout.root.is_symlink() and layout.has_file():
        return False
    if problem := foreign_folder_reason(layout.root.parent):
        raise StorageFailed(f"{problem}.")
    return make_folder(layout)
