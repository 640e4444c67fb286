"""Find which files of a project its hooks and servers would run, and hash their contents.

A user who trusts a command trusts the script behind it, so a changed script needs trust again. The search covers
the files and folders below the project that a word of the command line or of its environment names, the modules
that an import names, and the programs beside them.

Border: reads files; its caller selects the settings that name commands. Files outside of the project (interpreters,
installed packages, downloads of ``npx``) are not covered.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

PROGRAM_ENDINGS = (".py", ".js", ".mjs", ".cjs", ".ts", ".sh", ".so", ".pyd", "package.json")
"""Suffixes and names of files that are hashed too if they are beside a file that runs, since it may load them."""
_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_SEPARATORS = re.compile(r"[\s;&|=,:'\"()<>`$]+")
_BLOCK_BYTES = 1 << 20
MAX_WORD_CHARS = 4_000
"""Maximum characters of a word that may name a file."""


def bound_files(settings: Iterable[Any], bases: Iterable[Path], project: Path) -> dict[str, str]:
    """Return the files below the project that settings name: relative path to SHA-256."""
    root = Path(os.path.realpath(project))
    real_bases = (Path(os.path.realpath(base_folder)) for base_folder in (root, *bases))
    folders = list(dict.fromkeys(real_bases))
    words = [word for value in settings for word in _words_in(value)]
    # A server's own folder is one of the words, and its other paths are relative to it.
    candidates = dict.fromkeys(base_folder / word for base_folder in folders for word in words)
    folders += [path for path in candidates if _is_below(path, root) and path.is_dir()]
    files: dict[Path, None] = {}
    for base_folder in dict.fromkeys(folders):
        for word in words:
            for path in _named_files(word, base_folder):
                if _is_below(path, root):
                    files.update(dict.fromkeys(_with_neighbours(path)))
    return {str(path.relative_to(root)): _digest(path) for path in sorted(files)}


def _words_in(value: Any) -> Iterator[str]:
    """Yield the texts in a setting's value, and the words of each."""
    match value:
        case str():
            yield value
            yield from (word for word in _SEPARATORS.split(value) if word and word != value)
        case Mapping():
            for item in value.values():
                yield from _words_in(item)
        case list() | tuple():
            for item in value:
                yield from _words_in(item)
        case _:
            return


def _named_files(word: str, base_folder: Path) -> Iterator[Path]:
    """Yield the files and folders that a word may name: by path, or as a module."""
    if "\0" in word or len(word) > MAX_WORD_CHARS:
        return
    yield Path(os.path.normpath(base_folder / word))
    for name in _MODULE.findall(word):
        steps = name.split(".")
        for depth in range(1, len(steps) + 1):
            stem = base_folder.joinpath(*steps[:depth])
            yield from (stem, *(stem.with_name(stem.name + suffix) for suffix in PROGRAM_ENDINGS))


def _is_below(path: Path, root: Path) -> bool:
    try:
        return path.is_relative_to(root) and path.exists()
    except (OSError, ValueError):
        return False


def _with_neighbours(path: Path) -> Iterator[Path]:
    folder = path if path.is_dir() else path.parent
    if path.is_file():
        yield path
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return
    yield from (
        entry for entry in entries if entry.name.endswith(PROGRAM_ENDINGS) and entry.is_file()
    )


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK_BYTES):
                digest.update(block)
    except OSError:
        return "unreadable"
    return digest.hexdigest()
