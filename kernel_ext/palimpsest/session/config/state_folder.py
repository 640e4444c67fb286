"""Where what this person decided is kept: a folder of their own, outside every project.

Only the environment that the process was started with may name it, since a project can bring a
``.env`` along. Border: names folders and says whether one is to be believed; what lies in them is
told by who writes it.
"""

import os
import stat
from pathlib import Path

import platformdirs

VARIABLE = "PALIMPSEST_STATE_DIR"
_NAMED = os.environ.get(VARIABLE)
"""As it was when the process began: what is loaded into the environment later does not count."""

_BY_ADMINISTRATOR: list[Path] = []
"""The folder that an administrator named, if one did; it counts before the environment."""

FOREIGN = "{path} belongs to another user, so what it says is not believed"
OPEN = "{path} can be written by other users, so what it says is not believed: chmod go-w {path}"
ODD = "{path} is neither a folder nor a file of its own, so what it says is not believed"
INSIDE = "{path} lies inside the project, so what it says is not believed"


def name_state_folder(path: Path | None) -> None:
    """Let the folder be the one that an administrator named, from now on."""
    _BY_ADMINISTRATOR[:] = [path] if path is not None else []


def state_folder() -> Path:
    """Return the folder; it need not be there yet.

    >>> state_folder().is_absolute()
    True
    """
    if _BY_ADMINISTRATOR:
        return _BY_ADMINISTRATOR[0]
    if _NAMED and Path(_NAMED).is_absolute():
        return Path(_NAMED) / "palimpsest"
    return Path(platformdirs.user_state_dir("palimpsest", appauthor=False))


def state_folder_problem(path: Path, project: Path | None = None) -> str:
    """Say why a folder or file there is not to be believed; empty where nothing speaks against it.

    What is not there yet is no ground. ``project`` is the folder that somebody else may have filled;
    a home folder opened as a project holds the state folder rightly.
    """
    if project is not None and _inside(path, project):
        return INSIDE.format(path=path)
    try:
        status = path.stat()
    except OSError:
        return ""  # what cannot be looked at cannot be read either
    return distrusted_status(status, path)


def distrusted_status(status: os.stat_result, path: Path) -> str:
    """Say why something with this status is not to be believed; empty where nothing speaks against it."""
    if not (stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)):
        return ODD.format(path=path)
    if not hasattr(os, "geteuid"):
        return ""  # Windows: the profile's own access list holds
    if status.st_uid != os.geteuid():
        return FOREIGN.format(path=path)
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return OPEN.format(path=path)
    return ""


def _inside(path: Path, project: Path) -> bool:
    real, root, home = path.resolve(), project.resolve(), Path.home().resolve()
    return real.is_relative_to(root) and not home.is_relative_to(root)
