"""Read an administrator's settings about trust: folders trusted for everybody, and where trust is stored.

``trusted_folders`` are for courses and machine images, where the administrator owns the projects;
``state_folder`` is for machines where trust cannot be stored in home folders. ``{user}`` in it is replaced by
the login name, since such a folder belongs to one user.
"""

import getpass
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from palimpsest.home_paths import home_path
from palimpsest.session.config.setting_files import Layer


def trusted_by(layers: Sequence[Layer], project: Path) -> str:
    """Return the origin of the administrator's file that trusts the project's real path; empty for none."""
    real_path = Path(os.path.realpath(project))
    for layer in layers:
        for folder in _configured_folders(layer, "trusted_folders"):
            if real_path.is_relative_to(os.path.realpath(folder)):
                return layer.origin
    return ""


def configured_state_folder(layers: Sequence[Layer]) -> Path | None:
    """Return the state folder that the first administrator's file names; None where none does."""
    for layer in layers:
        for folder in _configured_folders(layer, "state_folder"):
            return Path(str(folder).replace("{user}", _user())) / "palimpsest"
    return None


def _configured_folders(layer: Layer, setting: str) -> list[Path]:
    """Return the absolute folders in a setting of an administrator's file; none for a file of anybody else."""
    value: Any = layer.data.get(setting) if layer.may_lock else None
    paths = value if isinstance(value, list | tuple) else [value]
    folders = [home_path(folder) for folder in paths if isinstance(folder, str)]
    return [folder for folder in folders if folder.is_absolute()]


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return str(os.getuid()) if hasattr(os, "getuid") else "user"
