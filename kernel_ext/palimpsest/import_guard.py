"""Keep what a notebook's folder names like an installed package out of Palimpsest's own imports.

A kernel looks for modules in its current folder first, so a folder that came from somebody else could
bring a ``pydantic.py``, and loading the extension would run it. What this package and the libraries
below it import is looked for where it is installed, and nowhere else. The user's own imports, from
cells, tools and trusted hooks, are found as Python always finds them.

Border: the standard library only, since it stands before everything else that is imported.
"""

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from sysconfig import get_paths
from types import FrameType, ModuleType

PACKAGE = "palimpsest"
"""Of what its modules are called, and how the names of threads begin that work for it."""

_local = threading.local()


class InstalledOnly:
    """Finds the modules that Palimpsest imports for itself, without looking into the current folder.

    Contract: as ``importlib.abc.MetaPathFinder``. It answers only where the folder holds a module of
    the name that is asked for; raises ModuleNotFoundError where only the folder holds one.
    """

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where a module is installed; None leaves the search to the usual finders."""
        entries = list(sys.path if path is None else path)
        depth = name.count(".")
        here = [entry for entry in entries if _is_current(entry, depth)]
        if not here or PathFinder.find_spec(name, here) is None or not _is_own():
            return None
        elsewhere = [entry for entry in entries if entry not in here]
        found = _ask_others(name, elsewhere, target)
        if found is None:
            raise ModuleNotFoundError(f"No module named {name!r} is installed.", name=name)
        return found


@contextmanager
def from_anywhere() -> Iterator[None]:
    """Let this thread import from the current folder too: modules that a person named and trusts."""
    before = getattr(_local, "anywhere", False)
    _local.anywhere = True
    try:
        yield
    finally:
        _local.anywhere = before


def guard_imports() -> None:
    """Look for own imports among what is installed, from now on; a second time does nothing."""
    if not any(isinstance(finder, InstalledOnly) for finder in sys.meta_path):
        sys.meta_path.insert(0, InstalledOnly())


def is_in_current_folder(path: str | Path) -> bool:
    """Tell whether a file lies directly in the current folder, as a planted package's files do."""
    return _is_current(str(Path(path).parent), 0)


def _ask_others(name: str, entries: list[str], target: ModuleType | None) -> ModuleSpec | None:
    """Ask the finders behind this one; the one that searches folders gets only these."""
    for finder in sys.meta_path:
        if isinstance(finder, InstalledOnly):
            continue
        if finder is PathFinder:
            found = PathFinder.find_spec(name, entries)
        else:
            found = finder.find_spec(name, entries, target)
        if found is not None and not (found.origin and is_in_current_folder(found.origin)):
            return found
    return None


def _is_current(entry: str, depth: int) -> bool:
    """Tell whether an entry of a search path is the current folder, or a package ``depth`` below it."""
    if entry == "":
        return True
    try:
        folder = Path(entry).absolute()
        current = Path.cwd()
        for _ in range(depth):
            folder = folder.parent
        return folder == current or folder.resolve() == current.resolve()
    except (OSError, RuntimeError, ValueError):
        return False


def _is_own() -> bool:
    """Tell whether this package asks for the module, or a library at work for it.

    Libraries import late, so whoever called them counts: the first caller that is no library.
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
    """Tell whether a file belongs to Python or to an installed package."""
    if filename.startswith("<frozen"):
        return True
    return any(filename.startswith(folder) for folder in _INSTALLED) or any(
        part in filename for part in ("site-packages", "dist-packages")
    )


_INSTALLED = tuple(
    {get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")} - {""}
)
