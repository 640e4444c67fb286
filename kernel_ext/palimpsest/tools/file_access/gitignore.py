"""Walk the project's files, without those that git ignores and without caches and the like.

Border: reads folders and the ``.gitignore`` files of the project, and nothing else of git: no settings, no
index, no ``.git/info/exclude``, since a folder may be a stranger's. Follows no links, so a walk stays below its start.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from palimpsest.tools.file_access.gitignore_patterns import GitignorePatterns, pattern_lines

ALWAYS_LEFT_OUT = frozenset(
    [
        ".git",
        ".hg",
        ".svn",
        ".palimpsest",
        ".ipynb_checkpoints",
        "__pycache__",
        "node_modules",
        ".venv",
        "venv",
        ".tox",
        ".mypy_cache",
        ".ruff_cache",
        ".pytest_cache",
        ".hypothesis",
        ".cache",
        ".DS_Store",
    ]
)

MOST_BYTES = 1_000_000
"""Maximum bytes of a ``.gitignore``. Of a file that exceeds a limit nothing is used: a part of it could hide
what a later line shows again."""
MOST_RULES = 5_000
MOST_RULE_BYTES = 100_000
"""Maximum bytes of all rules together, without equal ones; compiling them takes about a second."""
LONGEST_RULE = 4_096
"""Maximum bytes of a rule; no path is longer on Linux, so a longer one is passed over."""


@dataclass(frozen=True, slots=True)
class WalkEntry:
    """A file or folder found by a walk."""

    path: Path
    is_dir: bool
    is_link: bool = False
    ignored: bool = False
    """Ignored by a ``.gitignore``; only included on request."""


class GitignoreRules:
    """The ``.gitignore`` rules that apply in a folder: its own and those of the folders above it."""

    def __init__(
        self, folder: Path, parents: "tuple[tuple[Path, GitignorePatterns], ...]" = ()
    ) -> None:
        own = _read(folder / ".gitignore")
        self._files = parents if own is None else (*parents, (folder, own))

    @classmethod
    def at(cls, root: Path, folder: Path) -> "GitignoreRules":
        """Collect the rules from the project's root down to a folder.

        A folder that is itself ignored was named on purpose, so only its own rules apply in it.
        """
        if root != folder and root not in folder.parents:
            return cls(folder)
        ignore = cls(root)
        for part in folder.relative_to(root).parts:
            root = root / part
            if ignore.covers(root, is_dir=True):
                return cls(folder)
            ignore = ignore.below(root)
        return ignore

    def below(self, folder: Path) -> "GitignoreRules":
        """Return the rules that apply in a folder inside this one."""
        return GitignoreRules(folder, self._files)

    def covers(self, path: Path, *, is_dir: bool) -> bool:
        """Return whether the rules ignore a path; the deepest ``.gitignore`` that matches it decides."""
        for folder, patterns in reversed(self._files):
            verdict = patterns.verdict(os.fsencode(path.relative_to(folder)), is_dir=is_dir)
            if verdict is not None:
                return verdict
        return False


def _read(path: Path) -> GitignorePatterns | None:
    """Return the rules of a file; None if it is missing, too large, or a link, which git ignores too."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return None
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError:
        return None
    if len(content) > MOST_BYTES:
        return None
    lines = [line for line in pattern_lines(content) if len(line) <= LONGEST_RULE]
    if len(lines) > MOST_RULES or sum(map(len, lines)) > MOST_RULE_BYTES:
        return None
    return GitignorePatterns(lines)


def scan(folder: Path, ignore: GitignoreRules, *, ignored_too: bool = False) -> list[WalkEntry]:
    """Return the entries of one folder: folders first, then files, by name; empty if it is unreadable."""
    try:
        with os.scandir(folder) as entries:
            met = [
                WalkEntry(Path(e.path), e.is_dir(follow_symlinks=False), e.is_symlink())
                for e in entries
                if e.name not in ALWAYS_LEFT_OUT
            ]
    except OSError:
        return []
    found = []
    for one in met:
        left_out = ignore.covers(one.path, is_dir=one.is_dir)
        if not left_out or ignored_too:
            found.append(WalkEntry(one.path, one.is_dir, one.is_link, left_out))
    return sorted(found, key=lambda one: (not one.is_dir, one.path.name))


def walk(root: Path, folder: Path, *, ignored_too: bool = False) -> Iterator[WalkEntry]:
    """Yield all files below a folder, in a stable order."""
    waiting = [(folder, GitignoreRules.at(root, folder))]
    while waiting:
        here, ignore = waiting.pop()
        found = scan(here, ignore, ignored_too=ignored_too)
        yield from (one for one in found if not one.is_dir)
        waiting += [(one.path, ignore.below(one.path)) for one in reversed(found) if one.is_dir]
