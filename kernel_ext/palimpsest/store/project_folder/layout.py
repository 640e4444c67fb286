"""Find, create and check the project folder ``.palimpsest``, and define its paths and the project's number.

``.palimpsest`` lies in the project's directory, can be read by its user only, and ignores itself in
git, since the log contains tool output verbatim. A folder of a newer layout version is refused. The
project's number is random and identifies it after it was moved. It grants nothing alone: the user's stored
approvals include it, so that they do not apply to another project that is later put at the same path.
"""

import json
import os
import re
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from palimpsest.store.disk import create_file, open_regular, scratch_file
from palimpsest.store.project_folder.layout_file import (
    LAYOUT_FILE_NAME,
    LayoutFile,
    layout_content,
    read_layout,
    write_layout,
)
from palimpsest.store.project_folder.migration_run import migrate, refuse_newer
from palimpsest.store.project_folder.migrations import STEPS, LayoutStep, is_older, newest_version
from palimpsest.store.project_folder.names import FOLDER as FOLDER
from palimpsest.store.project_folder.project_id import new_project_id
from palimpsest.transcript.errors import NotFound, StorageFailed

FOLDERS = ("sessions", "blobs", "snapshots", "share")
LAYOUT_VERSION = newest_version(STEPS)

SAFE_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")

REMADE_NOTICE = (
    "The folder {root} was gone, so a new one was made; the sessions that were in it are not."
)

NUMBER_FILE = "project.json"
_NUMBER = re.compile(r"[0-9a-f]{32}")
_MAX_NUMBER_FILE_BYTES = 10_000


@dataclass(frozen=True, slots=True)
class Layout:
    """The paths below one ``.palimpsest`` folder."""

    root: Path
    project_id: str
    version: int = LAYOUT_VERSION
    notice: str = ""
    """The message to the user about a migration that was just run; empty if there was none."""

    @property
    def sessions(self) -> Path:
        """The folder of the session logs."""
        return self.root / "sessions"

    @property
    def blobs(self) -> Path:
        """The folder of large content, stored by hash."""
        return self.root / "blobs"

    @property
    def snapshots(self) -> Path:
        """The folder of the snapshots of the project's files."""
        return self.root / "snapshots"

    @property
    def index(self) -> Path:
        """The file of the session list, which is derived from the logs."""
        return self.root / "index.json"

    def review(self, session_id: str) -> Path:
        """Return the folder of a session's derived review files; raises NotFound for an unsafe id."""
        return self.root / "review" / self.session(session_id).name

    def session(self, session_id: str) -> Path:
        """Return a session's directory; raises NotFound for an unsafe id and for a symbolic link."""
        if SAFE_NAME.fullmatch(session_id) is None:
            raise NotFound(f"{session_id!r:.60} is not the id of a session.")
        directory = self.sessions / session_id
        if directory.is_symlink():
            raise NotFound(f"The folder of session {session_id!r} is a link, so it is not opened.")
        return directory


def find_project(start_folder: Path) -> Path:
    """Return the nearest directory upwards that has a ``.palimpsest`` folder, else ``start_folder``.

    The search ends at the root of a git repository and below the home directory, so that one
    notebook opened in the home directory does not make everything under it one project.
    """
    start_folder = start_folder.resolve()
    for directory in (start_folder, *start_folder.parents):
        if directory != start_folder and directory in {Path.home(), Path(directory.anchor)}:
            break
        if (directory / FOLDER).is_dir() and (
            directory == start_folder or not foreign_folder_reason(directory)
        ):
            return directory
        if (directory / ".git").exists():
            break
    return start_folder


def open_project_folder(project: Path, steps: Sequence[LayoutStep] = STEPS) -> Layout:
    """Open the project's folder: create it if it is missing, and migrate it to the newest layout.

    Raises LayoutTooNew, LayoutNotReady, ForeignFolder, or OSError when the directory cannot be written.
    """
    root = project / FOLDER
    if problem := foreign_folder_reason(project):
        raise ForeignFolder(problem)
    version = newest_version(steps)
    layout_file = refuse_newer(root, version)
    notice = ""
    if layout_file == LayoutFile() and not _holds_sessions(root):
        _create_folder(root, version)
    elif is_older(root, steps):
        notice = migrate(root, steps)
        _make_folders(root)
        if problem := foreign_folder_reason(project):
            raise ForeignFolder(problem)
    _check_writable(root)
    return Layout(root, read_layout(root).project_id, version, notice)


def remake_folder(layout: Layout) -> bool:
    """Create a project's folder again if it was removed since it was opened; returns whether it was removed completely.

    Raises StorageFailed if it must not be written, such as a link in its place, and OSError.
    """
    root = layout.root
    if problem := foreign_folder_reason(root.parent):
        raise StorageFailed(f"{problem}.")
    was_gone = not root.exists()
    if was_gone or not os.path.lexists(root / LAYOUT_FILE_NAME):
        _create_folder(root, layout.version, layout.project_id)
    return was_gone


class ForeignFolder(OSError):
    """The folder is not this user's own; the message gives the reason."""


def foreign_folder_reason(project: Path) -> str | None:
    """Return why a project's folder must not be written (a link, no folder, another user's), or None.

    A received project can contain anything, and the target of a link is outside the project.
    """
    root = project / FOLDER
    for path in (root, *(root / name for name in FOLDERS)):
        try:
            file_stat = path.lstat()
        except FileNotFoundError:
            continue
        if stat.S_ISLNK(file_stat.st_mode):
            return f"{str(path)!r} is a link; put a folder in its place to keep sessions there"
        if not stat.S_ISDIR(file_stat.st_mode):
            return f"{str(path)!r} is no folder; put it away to keep sessions there"
        if path == root and not _is_own(file_stat.st_uid, project):
            return f"{str(path)!r} belongs to another user"
    return None


def _is_own(owner_id: int, project: Path) -> bool:
    """Return whether files of an owner are this user's: by user id, or if this process's new files get that owner."""
    if not hasattr(os, "getuid") or os.getuid() in (0, owner_id):
        return True
    try:  # on a mounted disk all files may have the same owner
        scratch_path = scratch_file(project, b"")
        new_file_owner_id = scratch_path.lstat().st_uid
        scratch_path.unlink()
    except OSError:
        return False
    return new_file_owner_id == owner_id


def _holds_sessions(root: Path) -> bool:
    with suppress(OSError), os.scandir(root / "sessions") as entries:
        return any(entry.is_dir(follow_symlinks=False) for entry in entries)
    return False


def _make_folders(root: Path) -> None:
    root.mkdir(mode=0o700, exist_ok=True)
    root.chmod(0o700)
    for name in ("sessions", "blobs"):
        (root / name).mkdir(mode=0o700, exist_ok=True)
    with suppress(FileExistsError):  # also raised for a broken link
        # The file is never left empty: with an empty one, git would include the sessions.
        create_file(root / ".gitignore", b"*\n", 0o666)


def _create_folder(root: Path, version: int, project_id: str = "") -> None:
    """Create the folder; two kernels that do it at once end up with the same ``layout`` file."""
    _make_folders(root)
    layout = LayoutFile(version, project_id or new_project_id(root.parent))
    layout_path = root / LAYOUT_FILE_NAME
    if os.path.lexists(layout_path):  # it is damaged
        write_layout(root, layout)
        return
    scratch_path = scratch_file(root, layout_content(layout))
    try:
        with suppress(FileExistsError):
            os.link(scratch_path, layout_path)
    except OSError:  # a file system without hard links
        scratch_path.replace(layout_path)
    scratch_path.unlink(missing_ok=True)


def _check_writable(root: Path) -> None:
    """Raise OSError unless a file can be created in the folder."""
    for name in ("sessions", "blobs"):
        (root / name).mkdir(mode=0o700, exist_ok=True)
    scratch_file(root, b"").unlink()


class ProjectNumber:
    """Reads and creates the number of one project."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NUMBER_FILE
        self._known_number = ""

    def known_number(self) -> str:
        """Return the number; empty if the project has none that can be read."""
        if not self._known_number:
            with suppress(OSError, ValueError, RecursionError, AttributeError):
                with open_regular(self._path) as file:
                    number = json.loads(file.read(_MAX_NUMBER_FILE_BYTES)).get("number")
                if isinstance(number, str) and _NUMBER.fullmatch(number):
                    self._known_number = number
        return self._known_number

    def make(self) -> str:
        """Return the number, creating it if there is none; raises OSError."""
        if not self.known_number():
            content = json.dumps({"version": 1, "number": uuid4().hex}) + "\n"
            scratch_path = scratch_file(self._path.parent, content.encode())
            with suppress(OSError):  # another kernel was faster, or there are no hard links
                os.link(scratch_path, self._path)
            if not self.known_number():  # the file there has no valid number
                scratch_path.replace(self._path)
            scratch_path.unlink(missing_ok=True)
            if not self.known_number():
                raise OSError(0, f"{self._path} cannot be written")
        return self._known_number
