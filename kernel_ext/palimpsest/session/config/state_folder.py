"""Locate the folder that stores the user's decisions, outside every project, and check that it can be trusted.

Only the environment that the process was started with may name it, since a project can bring its own ``.env``. Border:
names folders and checks them; their contents are known to the modules that write them.
"""

import os
import stat
from pathlib import Path

import platformdirs

ENVIRONMENT_VARIABLE = "PALIMPSEST_STATE_DIR"
_PATH_FROM_ENVIRONMENT = os.environ.get(ENVIRONMENT_VARIABLE)
"""The value at process start; a value that is loaded into the environment later is ignored."""

_BY_ADMINISTRATOR: list[Path] = []
"""The folder that an administrator named, if any; it takes precedence over the environment."""

OTHER_OWNER_REASON = "{path} belongs to another user, so what it says is not believed"
WRITABLE_BY_OTHERS_REASON = (
    "{path} can be written by other users, so what it says is not believed: chmod go-w {path}"
)
NOT_REGULAR_REASON = (
    "{path} is neither a folder nor a file of its own, so what it says is not believed"
)
INSIDE_PROJECT_REASON = "{path} lies inside the project, so what it says is not believed"


def use_state_folder(path: Path | None) -> None:
    """Use the folder that an administrator named, from now on; None returns to the default."""
    _BY_ADMINISTRATOR[:] = [path] if path is not None else []


def state_folder() -> Path:
    """Return the folder; it may not exist yet.

    >>> state_folder().is_absolute()
    True
    """
    if _BY_ADMINISTRATOR:
        return _BY_ADMINISTRATOR[0]
    if _PATH_FROM_ENVIRONMENT and Path(_PATH_FROM_ENVIRONMENT).is_absolute():
        return Path(_PATH_FROM_ENVIRONMENT) / "palimpsest"
    return Path(platformdirs.user_state_dir("palimpsest", appauthor=False))


def state_folder_problem(path: Path, project: Path | None = None) -> str:
    """Return why a state folder, or a file in it, must not be trusted; empty where it may be.

    A path that does not exist may be trusted. ``project`` is a folder whose files another person may have written: the
    state folder must not be in it, unless the project is the home folder or contains it.
    """
    if project is not None and _is_inside_project(path, project):
        return INSIDE_PROJECT_REASON.format(path=path)
    try:
        status = path.stat()
    except OSError:
        return ""  # a path whose status is unreadable cannot be read either
    return distrusted_status(status, path)


def distrusted_status(status: os.stat_result, path: Path) -> str:
    """Return why a file or folder with this status must not be trusted; empty where it may be."""
    if not (stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)):
        return NOT_REGULAR_REASON.format(path=path)
    if not hasattr(os, "geteuid"):
        return ""  # Windows: the access list of the user's profile protects it
    if status.st_uid != os.geteuid():
        return OTHER_OWNER_REASON.format(path=path)
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return WRITABLE_BY_OTHERS_REASON.format(path=path)
    return ""


def _is_inside_project(path: Path, project: Path) -> bool:
    real_path, root, home = path.resolve(), project.resolve(), Path.home().resolve()
    return real_path.is_relative_to(root) and not home.is_relative_to(root)
