"""Know the folder: its paths, its version, its project.

``.palimpsest`` lies in the project's directory, is the user's alone, and keeps itself out of
git, since the log holds tool output verbatim. A folder of a newer version is refused rather than
guessed at.
"""

import json
import os
import re
import stat
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from palimpsest.store.regular_files import NoFile, TooLarge, read_json
from palimpsest.transcript.errors import LayoutTooNew, NotFound

FOLDER = ".palimpsest"
FOLDERS = ("sessions", "blobs", "snapshots", "share")
LAYOUT_VERSION = 1
GIT_SECONDS = 5.0
"""A git that answers later than this, such as one that waits for a network disk, is not asked."""

GIT_RUNS_NOTHING = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
GIT_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
}
"""A repository's own settings name programs: for hooks, for a file monitor, and for fetching what a
partial clone lacks. Asking for its first commit runs none of them."""

LAYOUT_BYTES = 64 << 10
"""A larger one is none of ours."""

SAFE_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")


@dataclass(frozen=True, slots=True)
class Layout:
    """The paths below one ``.palimpsest`` folder."""

    root: Path
    project_id: str

    @property
    def sessions(self) -> Path:
        """Where the logs are."""
        return self.root / "sessions"

    @property
    def blobs(self) -> Path:
        """Where large content is, by hash."""
        return self.root / "blobs"

    @property
    def snapshots(self) -> Path:
        """Where the project's files are kept as they were."""
        return self.root / "snapshots"

    @property
    def index(self) -> Path:
        """The derived session list."""
        return self.root / "index.json"

    def session(self, session_id: str) -> Path:
        """Return a session's directory; an id that could leave the folder is refused."""
        if SAFE_NAME.fullmatch(session_id) is None:
            raise NotFound(f"{session_id!r} is not the id of a session.")
        directory = self.sessions / session_id
        if directory.is_symlink():
            raise NotFound(f"The folder of session {session_id!r} is a link, so it is not opened.")
        return directory


def find_project(start: Path) -> Path:
    """Return the nearest directory upwards that holds sessions already, else ``start``.

    The search ends at the root of a git repository and below the home directory, so that one
    notebook opened there does not make everything under it one project.
    """
    start = start.resolve()
    for directory in (start, *start.parents):
        if directory != start and directory in {Path.home(), Path(directory.anchor)}:
            break
        if (directory / FOLDER).is_dir() and (directory == start or not foreign(directory)):
            return directory
        if (directory / ".git").exists():
            break
    return start


def prepare(project: Path) -> Layout:
    """Open the project's folder, making it when it is not there.

    Raises LayoutTooNew, ForeignFolder, or OSError when the directory cannot be written.
    """
    root = project / FOLDER
    if problem := foreign(project):
        raise ForeignFolder(problem)
    if not (root / "layout").exists():
        _make(root)
    project_id = _read_layout(root) or _write_layout(root, replace=True)
    _probe(root)
    return Layout(root, project_id)


class ForeignFolder(OSError):
    """The folder is not this user's own; the message says why."""


def foreign(project: Path) -> str | None:
    """Say why a project's folder is not to be written: it is a link, or somebody else's.

    A project can be sent with anything in it, and what a link leads to is not the project's.
    """
    root = project / FOLDER
    for path in (root, *(root / name for name in FOLDERS)):
        try:
            found = path.lstat()
        except FileNotFoundError:
            continue
        if stat.S_ISLNK(found.st_mode):
            return f"{str(path)!r} is a link; put a folder in its place to keep sessions there"
        if not stat.S_ISDIR(found.st_mode):
            return f"{str(path)!r} is no folder; put it away to keep sessions there"
        if path == root and not _is_own(found.st_uid, project):
            return f"{str(path)!r} belongs to another user"
    return None


def _is_own(owner: int, project: Path) -> bool:
    """Tell whether files of this owner are ours: by the number, or since ours get the same one there."""
    if not hasattr(os, "getuid") or os.getuid() in (0, owner):
        return True
    try:  # a mounted disk may give every file to one owner
        scratch = scratch_file(project, b"")
        made = scratch.lstat().st_uid
        scratch.unlink()
    except OSError:
        return False
    return made == owner


def _make(root: Path) -> None:
    root.mkdir(mode=0o700, exist_ok=True)
    root.chmod(0o700)
    for name in ("sessions", "blobs"):
        (root / name).mkdir(mode=0o700, exist_ok=True)
    with suppress(FileExistsError):  # a link that leads nowhere is there, too
        fd = os.open(root / ".gitignore", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        with open(fd, "wb") as file:  # noqa: PTH123  a descriptor has no path
            file.write(b"*\n")
    _write_layout(root, replace=False)


def _read_layout(root: Path) -> str | None:
    try:
        data = read_json(root / "layout", LAYOUT_BYTES)
        version, project_id = int(data["version"]), str(data["project_id"])
    except (ValueError, KeyError, TypeError, OverflowError, TooLarge, NoFile):
        return None
    if version > LAYOUT_VERSION:
        raise LayoutTooNew(
            f"{str(root)!r} was written by a newer Palimpsest (layout {version}, this one knows"
            f" {LAYOUT_VERSION}); update Palimpsest to open it."
        )
    return project_id


def _write_layout(root: Path, *, replace: bool) -> str:
    project_id = _git_root_commit(root.parent) or uuid4().hex
    content = json.dumps({"version": LAYOUT_VERSION, "project_id": project_id}) + "\n"
    target = root / "layout"
    if replace:
        write_atomically(target, content.encode())
    else:
        scratch = scratch_file(root, content.encode())
        try:
            with suppress(FileExistsError):
                os.link(scratch, target)
        except OSError:  # a file system without hard links
            scratch.replace(target)
        scratch.unlink(missing_ok=True)
    return project_id


def _git_root_commit(directory: Path) -> str | None:
    try:
        answer = subprocess.run(
            ["git", *GIT_RUNS_NOTHING, "rev-list", "--max-parents=0", "HEAD"],
            cwd=directory,
            env=os.environ | GIT_ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    commits = sorted(answer.stdout.split())
    return commits[0] if answer.returncode == 0 and commits else None


def _probe(root: Path) -> None:
    """Raise OSError unless a file can be made in the folder."""
    for name in ("sessions", "blobs"):
        (root / name).mkdir(mode=0o700, exist_ok=True)
    scratch_file(root, b"").unlink()


def scratch_file(directory: Path, content: bytes) -> Path:
    """Write content to a new file of its own, to be renamed or linked into place."""
    path = directory / f".{uuid4().hex}.tmp"
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        write_fully(fd, content)
    except OSError:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(fd)
    return path


def write_atomically(target: Path, content: bytes) -> None:
    """Replace a file so that a reader sees the old or the new content, never a part."""
    scratch = scratch_file(target.parent, content)
    try:
        scratch.replace(target)
    except OSError:
        scratch.unlink(missing_ok=True)
        raise


def write_fully(fd: int, content: bytes) -> None:
    """Write all bytes, going on after a short write."""
    view = memoryview(content)
    while view:
        view = view[os.write(fd, view) :]
