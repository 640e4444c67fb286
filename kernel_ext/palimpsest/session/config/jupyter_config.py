"""Read ``c.Palimpsest`` from Jupyter's and IPython's system configuration, which an administrator writes.

``c.Palimpsest.defaults`` are values that users may change; ``c.Palimpsest.locked`` are values that nobody can. Only
system directories are read, since a file in the user's own directory could be changed by the user.

Border: reads files with traitlets' own loaders; ``layer_merge`` interprets the values.
"""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jupyter_core.paths import ENV_CONFIG_PATH, SYSTEM_CONFIG_PATH

SECTION_NAME = "Palimpsest"
TRUST_SETTINGS = ("trusted_folders", "state_folder")
"""Folders whose projects are trusted for every user, and the folder that stores each user's decisions."""
FILE_NAMES = ("jupyter_config", "ipython_config", "ipython_kernel_config")
LOADERS = {".py": "PyFileConfigLoader", ".json": "JSONFileConfigLoader"}
"""The loaders of traitlets by a file's suffix; imported where there is such a file, which few machines have."""


def usual_folders(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the configuration folders of the system, then of the Python environment.

    The first to lock a setting wins, so an environment cannot override the system.
    """
    environment_folder = Path(sys.prefix) / "etc" / "ipython"
    if sys.platform == "win32":
        program_data = environment.get("PROGRAMDATA", "C:\\ProgramData")
        ipython_folders = [Path(program_data) / "ipython", environment_folder]
    else:
        ipython_folders = [Path("/etc/ipython"), Path("/usr/local/etc/ipython"), environment_folder]
    system_folders = [Path(path) for path in reversed(SYSTEM_CONFIG_PATH)]
    return (*system_folders, *ipython_folders, *(Path(path) for path in ENV_CONFIG_PATH))


def read_jupyter_config(
    folders: tuple[Path, ...], problems: list[str]
) -> Iterator[tuple[str, Path, dict[str, Any], dict[str, Any]]]:
    """Yield origin, folder, defaults and locked values of each file with a ``c.Palimpsest`` section."""
    for folder in folders:
        for name in FILE_NAMES:
            for suffix in LOADERS:
                path = folder / f"{name}{suffix}"
                if path.is_file():
                    yield from _read_file(path, problems)


def _read_file(
    path: Path, problems: list[str]
) -> Iterator[tuple[str, Path, dict[str, Any], dict[str, Any]]]:
    from traitlets.config import loader  # noqa: PLC0415 - see ``LOADERS``

    origin = f"administrator's file {path}"
    try:
        loader_class = getattr(loader, LOADERS[path.suffix])
        config = loader_class(path.name, path=str(path.parent)).load_config()
    except loader.ConfigFileNotFound:
        return
    except (Exception, SystemExit) as error:  # noqa: BLE001  a configuration file is code, and may fail in any way
        problems.append(f"{origin} was not read: {type(error).__name__}: {error}.")
        return
    section = config.get(SECTION_NAME)
    if not isinstance(section, Mapping):
        return
    tables = [section.get(name, {}) for name in ("defaults", "locked")]
    trust_settings = {name: section[name] for name in TRUST_SETTINGS if name in section}
    if not all(isinstance(table, Mapping) for table in tables):
        problems.append(
            f"{origin}: c.{SECTION_NAME}.defaults and .locked must be tables of settings."
        )
        return
    setting_names = ("defaults", "locked", *TRUST_SETTINGS)
    if unknown_names := sorted(set(section) - set(setting_names)):
        problems.append(
            f"{origin}: there is no c.{SECTION_NAME}.{unknown_names[0]}; there is {', '.join(setting_names)}."
        )
    locked = {**tables[1], "locked": [*tables[1]], **trust_settings}
    yield origin, path.parent, dict(tables[0]), locked
