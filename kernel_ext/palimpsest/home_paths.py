"""Paths with ``~`` for a home folder."""

import os
from pathlib import Path


def home_path(path: str | os.PathLike[str]) -> Path:
    """Return a path with a leading ``~`` or ``~user`` replaced by the home folder.

    The name of a user who does not exist stays as it is written, so that the caller's own sentence about a
    missing file names it; Path.expanduser raises RuntimeError instead.
    """
    return Path(os.path.expanduser(path))  # noqa: PTH111
