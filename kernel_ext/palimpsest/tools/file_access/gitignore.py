"""Walk the project's files, without those that git ignores and without caches.

Border: reads folders and the ``.gitignore`` files of the project, but no other file of git: no settings, no
index, no ``.git/info/exclude``, since a folder may come from anybody. Follows no links, so a walk stays below its start.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from palimpsest.tools.file_access.gitignore_patterns import GitignorePatterns, pattern_lines

ALWAYS_SKIPPED = frozenset([
    ".git", ".hg", ".svn", ".palimpsest", ".ipynb_checkpoints", "__pycache__", "node_modules",
    ".venv", "venv", ".tox", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis",
    ".cache", ".DS_Store",
])  # fmt: skip

MAX_FILE_BYTES = 1_000_000
"""Maximum bytes of a ``.gitignore``. A file over a limit is not used at all, since a line that is not read may include
files again that an earlier line ignores."""
MAX_RULES = 5_000
"""Maximum different rules of one ``.gitignore``."""
MAX_ALL_RULE_BYTES = 100_000
"""Maximum bytes of all different rules together; compiling them takes about a second."""
MAX_RULE_BYTES = 4_096
"""Maximum bytes of a rule; longer ones are skipped, since no path on Linux is longer."""


@dataclass(frozen=True, slots=True)
class WalkEntry:
    """A file or folder found by a walk."""

    path: Path
    is_dir: bool
    is_link: bool = False
    is_ignored: bool = False
    """Whether a ``.gitignore`` ignores the entry; ignored entries are only included on request."""


class GitignoreRules:
    """The ``.gitignore`` rules that apply in a folder: its own and those of the folders above it."""

    def __init__(
        self, folder: Path, parents: "tuple[tuple[Path, GitignorePatterns], ...]" = ()
    ) -> None:
        own_patterns = _read_patterns(folder / ".gitignore")
        self._patterns_by_folder = (
            parents if own_patterns is None else (*parents, (folder, own_patterns))
        )

    @classmethod
    def rules_at(cls, root: Path, folder: Path) -> "GitignoreRules":
        """Collect the rules from the project's root down to a folder.

        In a folder that is itself ignored, only its own rules apply, since the user named it on purpose.
        """
        if root != folder and root not in folder.parents:
            return cls(folder)
        rules, current = cls(root), root
        for part in folder.relative_to(root).parts:
            current = current / part
            if rules.is_ignored(current, is_dir=True):
                return cls(folder)
            rules = rules.rules_below(current)
        return rules

    def rules_below(self, folder: Path) -> "GitignoreRules":
        """Return the rules that apply in a folder inside this one."""
        return GitignoreRules(folder, self._patterns_by_folder)

    def is_ignored(self, path: Path, *, is_dir: bool) -> bool:
        """Return whether the rules ignore a path; the deepest ``.gitignore`` that matches it decides."""
        for folder, patterns in reversed(self._patterns_by_folder):
            is_ignored = patterns.is_ignored(os.fsencode(path.relative_to(folder)), is_dir=is_dir)
            if is_ignored is not None:
                return is_ignored
        return False


def _read_patterns(path: Path) -> GitignorePatterns | None:
    """Return the rules of a file; None if it is missing, too large, or a link, which git ignores too."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return None
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError:
        return None
    if len(content) > MAX_FILE_BYTES:
        return None
    lines = [line for line in pattern_lines(content) if len(line) <= MAX_RULE_BYTES]
    if len(lines) > MAX_RULES or sum(map(len, lines)) > MAX_ALL_RULE_BYTES:
        return None
    return GitignorePatterns(lines)


def folder_entries(
    folder: Path, rules: GitignoreRules, *, include_ignored: bool = False
) -> list[WalkEntry]:
    """Return the entries of one folder: folders first, then files, by name; empty if it is unreadable."""
    try:
        with os.scandir(folder) as entries:
            scanned_entries = [
                WalkEntry(Path(e.path), e.is_dir(follow_symlinks=False), e.is_symlink())
                for e in entries
                if e.name not in ALWAYS_SKIPPED
            ]
    except OSError:
        return []
    included_entries = []
    for entry in scanned_entries:
        is_ignored = rules.is_ignored(entry.path, is_dir=entry.is_dir)
        if not is_ignored or include_ignored:
            included_entries.append(WalkEntry(entry.path, entry.is_dir, entry.is_link, is_ignored))
    return sorted(included_entries, key=lambda entry: (not entry.is_dir, entry.path.name))


def walk_files(root: Path, folder: Path, *, include_ignored: bool = False) -> Iterator[WalkEntry]:
    """Yield all files below a folder, in a stable order."""
    folders_left = [(folder, GitignoreRules.rules_at(root, folder))]
    while folders_left:
        current_folder, rules = folders_left.pop()
        entries = folder_entries(current_folder, rules, include_ignored=include_ignored)
        yield from (entry for entry in entries if not entry.is_dir)
        folders_left += [
            (entry.path, rules.rules_below(entry.path))
            for entry in reversed(entries)
            if entry.is_dir
        ]
