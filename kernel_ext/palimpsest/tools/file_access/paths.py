"""Resolve the paths that tools receive, and ask for permission for those outside the project.

Border: resolves and asks, opens nothing. Real paths are compared, so a link inside the project to a
place outside it counts as outside.
"""

import difflib
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from palimpsest.tools.file_access.protected_files import is_protected
from palimpsest.tools.tool import ToolContext
from palimpsest.transcript.errors import NotFound, UserError
from palimpsest.transcript.strings.relative_paths import comparable_path

OWN_FOLDER = ".palimpsest"
MOST_WIDE_PARTS = 2
"""A folder with at most so many path parts is wide: ``/`` and folders such as ``/etc``."""
SHOWN_CHARS = 200
"""Maximum characters of an invalid path in an error message."""


@dataclass(frozen=True, slots=True)
class ResolvedPath:
    """A path that a tool received, resolved."""

    path: Path
    """The real path, without links."""
    shown: str
    """Relative if inside the project, else absolute; permission patterns are matched against it."""
    inside: bool

    @property
    def directory_pattern(self) -> str:
        """The pattern to ask ``external_directory`` for: the folder, or the file if the folder is wide."""
        directory = self.path if self.path.is_dir() else self.path.parent
        if directory != self.path and is_wide(directory):
            return str(self.path)
        return f"{str(directory).rstrip('/')}/*"

    @property
    def directory_always(self) -> list[str]:
        """The ``external_directory`` patterns an "always" would allow; none for wide folders or wildcards."""
        if self.path.is_dir() and is_wide(self.path):
            return []
        pattern = self.directory_pattern
        return [pattern] if is_literal(pattern.removesuffix("/*")) else []

    def always(self, permission: str) -> list[str]:
        """Return the patterns an "always" would allow: this file alone, or none if it is protected."""
        if is_protected(permission, self.shown) or not is_literal(self.shown):
            return []
        return [self.shown]


def is_literal(path: str) -> bool:
    """Return whether a path, used as a pattern, matches only itself."""
    return not any(sign in path for sign in "*?\\")


def is_wide(folder: Path) -> bool:
    """Return whether a folder is too broad to be allowed as a whole: the root, a home, a parent of homes."""
    home = Path(os.path.expanduser("~")).resolve()  # noqa: PTH111 - Path.home raises without a home
    return len(folder.parts) <= MOST_WIDE_PARTS or folder == home or folder in home.parents


def confine(path: str, root: Path, cwd: Path) -> ResolvedPath:
    """Resolve a path, including links and ``~``, and determine whether it is in the project.

    Raises UserError for a path that cannot be resolved.
    """
    if not path or "\0" in path or not _is_sayable(path):
        raise UserError(f"{path!r} is not a path. Give the path of a file or folder.")
    given = Path(os.path.expanduser(path))  # noqa: PTH111 - Path.expanduser raises for unknown users
    try:
        real = (cwd / given).resolve()
        real_root = root.resolve()
        _look(real)
    except OSError as error:
        raise UserError(
            f"The path {_short(path)!r} cannot be followed: {error.strerror or error}."
        ) from error
    except RuntimeError as error:
        raise UserError(f"The path {_short(path)!r} cannot be followed: {error}.") from error
    inside = real == real_root or real_root in real.parents
    shown = real.relative_to(real_root).as_posix() if inside else str(real)
    return ResolvedPath(path=real, shown=shown, inside=inside)


def _look(real: Path) -> None:
    """Raise OSError if it cannot be determined whether a path exists: too long, or no permission."""
    with suppress(FileNotFoundError, NotADirectoryError):
        real.lstat()


def _is_sayable(path: str) -> bool:
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return False
    return True


def _short(path: str) -> str:
    return path if len(path) <= SHOWN_CHARS else f"{path[:SHOWN_CHARS]}..."


async def reach(context: ToolContext, path: str, *, writing: bool = False) -> ResolvedPath:
    """Resolve a path, and ask for ``external_directory`` if it is outside the project.

    Raises UserError, also for writing in ``.palimpsest``, and PermissionDenied.
    """
    place = confine(path, context.root, context.cwd)
    if writing and OWN_FOLDER in comparable_path(str(place.path)).split("/"):
        raise UserError(
            f"{place.shown} belongs to the {OWN_FOLDER} folder, which holds the record of this session "
            "and is not for tools to change."
        )
    if not place.inside:
        pattern = place.directory_pattern
        await context.ask(
            "external_directory",
            [pattern],
            title=f"Outside the project: {place.shown}",
            always=place.directory_always,
        )
    return place


def missing(place: ResolvedPath) -> NotFound:
    """Return the error for a path that does not exist, with the most similar names in its folder."""
    folder = place.path.parent
    try:
        names = sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []
    except OSError:
        names = []
    if not folder.is_dir():
        return NotFound(f"There is no {place.shown}: its folder does not exist either.")
    wanted = place.path.name.lower()
    by_lower = {name.lower(): name for name in reversed(names)}
    close = difflib.get_close_matches(wanted, list(by_lower), n=3, cutoff=0.5)
    close += [low for low in by_lower if low not in close and (wanted in low or low in wanted)]
    if not close:
        return NotFound(f"There is no {place.shown}. Use list or glob to see what is there.")
    hints = ", ".join(repr(by_lower[low]) for low in close[:3])
    return NotFound(f"There is no {place.shown}. Close names in that folder: {hints}.")


async def reach_folder(context: ToolContext, path: str) -> ResolvedPath:
    """Resolve the path of a folder as ``reach`` does; raises NotFound, or UserError for a file."""
    place = await reach(context, path)
    if not place.path.exists():
        raise missing(place)
    if not place.path.is_dir():
        raise UserError(f"{place.shown} is a file. Give a folder, or use read.")
    return place
