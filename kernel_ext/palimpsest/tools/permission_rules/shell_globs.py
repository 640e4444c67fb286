"""Expand patterns of file names as a shell does, with bounded work for one text.

Border: lists folders and opens no file. Every folder is listed once for a text. Beyond the bounds, a pattern
is not expanded, and ``is_exhausted`` is set.
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from fnmatch import translate
from functools import lru_cache
from pathlib import Path

MAX_PATTERNS = 400
"""Maximum patterns expanded for one text; each is expanded in every folder to which the text changes."""
MAX_ENTRIES = 10_000
"""Maximum entries of folders that are listed for one text."""
MAX_COMPARED_NAMES = 100_000
"""Maximum names compared with patterns for one text, about 50 ms."""
WILDCARDS = "*?["


class ShellGlobs:
    """Expands the patterns of one text."""

    def __init__(self) -> None:
        self._entries_by_folder: dict[str, Mapping[str, bool]] = {}
        self._patterns_left = MAX_PATTERNS
        self._entries_left = MAX_ENTRIES
        self._comparisons_left = MAX_COMPARED_NAMES
        self.is_exhausted = False
        """Whether a pattern was not expanded because of a bound."""

    def matching_paths(self, pattern: str, base_folder: Path) -> list[str]:
        """Return the paths that a pattern matches; a relative pattern starts at ``base_folder``."""
        self._patterns_left -= 1
        if self._patterns_left < 0:
            self.is_exhausted = True
            return []
        expanded = os.path.expanduser(pattern)  # noqa: PTH111 - Path.expanduser raises for unknown users
        start_folder = "/" if expanded.startswith("/") else str(base_folder)
        parts = [part for part in expanded.split("/") if part not in ("", ".")]
        folders = [start_folder]
        for number, part in enumerate(parts):
            is_last = number == len(parts) - 1
            folders = [
                path
                for folder in folders
                for path in self._matching_paths_in(folder, part, is_last=is_last)
            ]
        return folders if parts else []

    def _matching_paths_in(self, folder: str, path_part: str, *, is_last: bool) -> Iterator[str]:
        if not any(character in path_part for character in WILDCARDS):
            path = f"{folder.rstrip('/')}/{path_part}"
            if os.path.lexists(path):
                yield path
            return
        includes_hidden = path_part.startswith((".", "["))
        name_pattern = _compiled(path_part)
        for name, is_folder in self._names_in(folder).items():
            self._comparisons_left -= 1
            if self._comparisons_left < 0:
                self.is_exhausted = True
                return
            # A star does not match hidden files.
            is_included = (is_last or is_folder) and (includes_hidden or name[0] != ".")
            if is_included and name_pattern.match(name):
                yield f"{folder.rstrip('/')}/{name}"

    def _names_in(self, folder: str) -> Mapping[str, bool]:
        """Return the names in a folder, and whether each may be a folder."""
        if folder not in self._entries_by_folder:
            names: dict[str, bool] = {}
            with suppress(OSError, ValueError), os.scandir(folder) as entries:
                for entry in entries:
                    self._entries_left -= 1
                    if self._entries_left < 0:
                        self.is_exhausted = True
                        break
                    names[entry.name] = entry.is_symlink() or entry.is_dir()
            self._entries_by_folder[folder] = names
        return self._entries_by_folder[folder]


@lru_cache(maxsize=1_024)
def _compiled(path_part: str) -> "re.Pattern[str]":
    # Shells may match without regard to case, and write "[^a]" for "[!a]".
    return re.compile(translate(path_part.replace("[^", "[!")), re.IGNORECASE)
