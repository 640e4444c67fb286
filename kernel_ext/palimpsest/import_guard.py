"""Import hook that keeps modules in the current folder from shadowing the libraries Palimpsest imports.

A kernel searches its current folder first, so a folder received from another person could contain a ``pydantic.py``,
and loading the extension would run it. Imports by this package and by the libraries it uses are resolved to installed
packages only. The user's own imports, from cells, tools and trusted hooks, are resolved as usual.

Border: the standard library only, since it is imported before everything else.
"""

import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import Path
from sysconfig import get_paths
from types import FrameType, ModuleType

PACKAGE = "palimpsest"
"""The top-level name of its modules, and the prefix of the names of its threads."""

_local = threading.local()


class InstalledOnly:
    """Finds the modules that Palimpsest's own code imports, ignoring the current folder.

    Contract: as ``importlib.abc.MetaPathFinder``. It acts only when the current folder contains a module
    of the requested name; raises ModuleNotFoundError when no other place has one.
    """

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of the installed module; None leaves the search to the usual finders."""
        entries = list(sys.path if path is None else path)
        depth = name.count(".")
        in_current_folder = [entry for entry in entries if _is_current_folder(entry, depth)]
        is_shadowed = (
            in_current_folder and PathFinder.find_spec(name, in_current_folder) is not None
        )
        if not is_shadowed or not _is_own_import():
            return None
        other_entries = [entry for entry in entries if entry not in in_current_folder]
        spec = _find_elsewhere(name, other_entries, target)
        if spec is None:
            raise ModuleNotFoundError(f"No module named {name!r} is installed.", name=name)
        return spec


@contextmanager
def from_anywhere() -> Iterator[None]:
    """Let this thread import from the current folder too: for modules that the user named and trusts."""
    previous_value = getattr(_local, "anywhere", False)
    _local.anywhere = True
    try:
        yield
    finally:
        _local.anywhere = previous_value


def guard_imports() -> None:
    """Install the import hook; does nothing if it is installed already."""
    if not any(isinstance(finder, InstalledOnly) for finder in sys.meta_path):
        sys.meta_path.insert(0, InstalledOnly())


def package_folder(name: str) -> Path | None:
    """Return the folder of an installed package, without importing it; None where it is not installed."""
    try:
        spec = find_spec(name)
    except ModuleNotFoundError:
        return None
    locations = spec.submodule_search_locations if spec is not None else None
    return Path(next(iter(locations))) if locations else None


def optional_module(name: str) -> ModuleType | None:
    """Import an installed module that Palimpsest can do without; return None where it is not installed."""
    try:
        return import_module(name)
    except ImportError:
        return None


def is_in_current_folder(path: str | Path) -> bool:
    """Return whether a file is directly in the current folder, like those of a shadowing package."""
    return _is_current_folder(str(Path(path).parent), 0)


def _find_elsewhere(name: str, entries: list[str], target: ModuleType | None) -> ModuleSpec | None:
    """Ask the other finders; ``PathFinder`` searches only ``entries``."""
    for finder in sys.meta_path:
        if isinstance(finder, InstalledOnly):
            continue
        if finder is PathFinder:
            spec = PathFinder.find_spec(name, entries)
        else:
            spec = finder.find_spec(name, entries, target)
        if spec is not None and not (spec.origin and is_in_current_folder(spec.origin)):
            return spec
    return None


def _is_current_folder(entry: str, depth: int) -> bool:
    """Return whether an entry of a search path is the current folder, or a package ``depth`` below it.

    Called at each import, so it compares the identity of the two folders: to resolve both paths would take twenty
    times as long.
    """
    if entry == "":
        return True
    try:
        # A relative one moves with the current folder.
        path = entry if os.path.isabs(entry) or not depth else str(Path(entry).absolute())  # noqa: PTH117
        return os.path.samestat(os.stat(_folder_above(path, depth)), os.stat("."))  # noqa: PTH116 - a Path would be made again
    except (OSError, ValueError):
        return False


@lru_cache(maxsize=1_000)
def _folder_above(path: str, depth: int) -> str:
    folder = Path(path)
    for _ in range(depth):
        folder = folder.parent
    return str(folder)


def _is_own_import() -> bool:
    """Return whether this package requests the module, directly or through a library that it called.

    Libraries import lazily, so the first caller on the stack that is not a library decides.
    """
    if getattr(_local, "anywhere", False):
        return False
    frame: FrameType | None = sys._getframe(2)  # noqa: SLF001 - the documented way to the caller
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if name != __name__:
            if name == PACKAGE or name.startswith(f"{PACKAGE}."):
                return True
            if not _is_installed(frame.f_code.co_filename):
                return False  # a cell, a script, a user's tool
        frame = frame.f_back
    return threading.current_thread().name.startswith(PACKAGE)


def _is_installed(filename: str) -> bool:
    """Return whether a file belongs to Python or to an installed package."""
    if filename.startswith("<frozen"):
        return True
    if "site-packages" in filename or "dist-packages" in filename:
        return True
    return filename.startswith(_INSTALLED_FOLDERS)


_INSTALLED_FOLDERS = tuple(
    {get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")} - {""}
)
