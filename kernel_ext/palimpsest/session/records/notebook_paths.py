"""What a notebook is called in its project: two folders may each have an analysis.ipynb.

A front end names a notebook relative to the folder in which its kernel started; the project may
begin above that folder, and its sessions are kept together.
"""

import os
from pathlib import Path


def in_project(notebook: str | None, start: Path, project: Path) -> str | None:
    """Return the path of a notebook relative to the project, with forward slashes."""
    return _moved(notebook, start, project)


def from_start(notebook: str | None, start: Path, project: Path) -> str | None:
    """Return the path of a project's notebook relative to where its kernel started."""
    return _moved(notebook, project, start)


def _moved(notebook: str | None, was: Path, now: Path) -> str | None:
    if notebook is None:
        return None
    return os.path.relpath(was / notebook, now).replace(os.sep, "/")
