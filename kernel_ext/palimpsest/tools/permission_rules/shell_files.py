"""Find the protected files and outside files that a shell text visibly reads or writes.

A key file counts as read wherever its name occurs in the text, also in quoted code, if the file exists;
a protected file counts as written as the target of output or as an argument that a program writes to.
Border: checks names and folders, and opens no file. Files reached by a script, a recursive search or a
name computed at run time are not detected.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from palimpsest.tools.file_access.paths import confine, is_protected
from palimpsest.tools.permission_rules.shell_commands import simple_commands, words_of
from palimpsest.tools.permission_rules.shell_splitter import DEVICE
from palimpsest.transcript.errors import UserError

LOOKS_ONLY = frozenset(
    ["cd", "pushd", "echo", "printf", "ls", "stat", "du", "test", "[", "which", "type", "mkdir", "touch"]
)  # fmt: skip
"""Programs that do not read the content of the files they are given."""

WRITES_ALL = frozenset(
    ["tee", "touch", "truncate", "rm", "rmdir", "mkdir", "mv", "chmod", "chown", "shred", "unlink"]
)
WRITES_LAST = frozenset(["cp", "ln", "install", "rsync", "scp"])
IN_PLACE = re.compile(r"(?:-[a-zA-Z]*i|--in-place)")
READS = frozenset(
    [
        *("grep", "egrep", "fgrep", "rg", "wc", "nl", "tac", "rev", "cut", "sort", "uniq", "cmp", "comm", "diff"),
        *("jq", "awk", "sed", "od", "xxd", "strings", "base64", "paste", "fold", "more", "tar", "zip", "find"),
    ]
)  # fmt: skip
"""Programs that output the content of their file arguments."""
COLUMNS = frozenset(["cut", "sort", "awk", "paste"])
MOST_NAMES = 2_000
"""Maximum names that a pattern is expanded to, and that are checked in one text."""
MOST_FOLDERS = 8
MOST_STARRED = 3
"""Maximum path parts with a wildcard; each multiplies the folders that are searched."""

_UNKNOWN = re.compile(r"[$*?\[{`]")
_HOME = re.compile(r"\$(?:HOME\b|\{HOME\})")
_NO_NAME = re.compile(r"[^\w./~*?\[\]@%+-]+")


def protected_files(text: str, folder: Path, root: Path) -> list[tuple[str, str]]:
    """Return ``(permission, path)`` for each protected file that a text visibly reads or writes."""
    text = _HOME.sub("~", text)
    folders = [folder]
    names: dict[tuple[str, str], None] = {}
    for piece in simple_commands(text):
        words = words_of(piece)
        names |= dict.fromkeys(("write", one) for one in _written(piece, words))
        if words and words[0] not in LOOKS_ONLY:
            names |= dict.fromkeys(("read", one) for one in _read(piece, words))
        folders += [folder / word for word in words if _is_folder(folder / word)]
    found = (
        (permission, shown)
        for permission, name in islice(names, MOST_NAMES)
        for base in folders[: MOST_FOLDERS + 1]
        for shown in _shown(name, base, root, exists=permission == "read")
        if is_protected(permission, shown)
    )
    return list(dict.fromkeys(found))


def outside_files(text: str, folder: Path, root: Path) -> list[str]:
    """Return files and folders outside the project whose contents a text visibly reads.

    Those of ``paths_touched`` are asked about already; these are arguments of further programs that read.
    """
    found: dict[str, None] = {}
    for piece in simple_commands(_HOME.sub("~", text)):
        words = words_of(piece)
        if words and words[0] in READS:
            # For these programs a single slash is usually a column separator.
            given = [word for word in words[1:] if word != "/" or words[0] not in COLUMNS]
            found |= dict.fromkeys(_outside(given, folder, root))
    return list(found)


def _outside(words: list[str], folder: Path, root: Path) -> Iterator[str]:
    for given in islice(words, MOST_NAMES):
        word = given.partition("=")[2] if given.startswith("-") else given
        literal = _UNKNOWN.split(word, maxsplit=1)[0]
        path = literal if literal == word else literal.rpartition("/")[0] + "/"
        if not literal:
            continue
        with suppress(UserError, OSError):
            place = confine(path, root, folder)
            if not place.inside and place.path.exists() and not DEVICE.fullmatch(path):
                yield str(place.path)


def _read(piece: str, words: list[str]) -> Iterator[str]:
    for word in words:
        yield word
        yield from _NO_NAME.split(word)
        yield from word.rpartition("@")[2:]
    yield from _NO_NAME.split(piece)


def _written(piece: str, words: list[str]) -> list[str]:
    if piece.startswith("> "):
        return [piece[2:]]
    if not words:
        return []
    program, given = words[0], [word for word in words[1:] if not word.startswith("-")]
    if program in WRITES_ALL or any(IN_PLACE.match(word) for word in words[1:]):
        return given
    if program in WRITES_LAST:
        chosen = [
            word.partition("=")[2] for word in words if word.startswith("--target-directory=")
        ]
        after = [words[at + 1] for at, word in enumerate(words[:-1]) if word == "-t"]
        return _into(given, [*chosen, *after] or given[-1:])
    if program == "dd":
        return [word.removeprefix("of=") for word in words if word.startswith("of=")]
    return []


def _into(given: list[str], targets: list[str]) -> list[str]:
    """Return the targets, and the paths of the given files inside them, in case a target is a folder."""
    inner = [
        f"{target}/{one.rstrip('/').rpartition('/')[2]}" for target in targets for one in given
    ]
    return [*targets, *inner]


def _shown(name: str, base: Path, root: Path, *, exists: bool) -> Iterator[str]:
    if not name or name in (".", "..") or len(name) > 1_000:
        return
    paths = [name]
    if any(sign in name for sign in "*?["):
        with suppress(OSError, ValueError, NotImplementedError, IndexError):
            # A star does not match hidden files.
            hidden = name.rpartition("/")[2].startswith((".", "["))
            found = islice(_matching(name, base), MOST_NAMES)
            paths = [str(one) for one in found if hidden or not one.name.startswith(".")]
    for path in paths:
        with suppress(UserError, OSError):
            place = confine(path, root, base)
            if not exists or place.path.is_file():
                yield place.shown


def _matching(pattern: str, base: Path) -> Iterator[Path]:
    parts = re.sub(r"\*{2,}", "*", pattern).split("/")
    if sum(any(sign in part for sign in "*?[") for part in parts) > MOST_STARRED:
        return iter(())
    pattern = "/".join(parts)
    given = Path(pattern).expanduser() if pattern.startswith("~") else Path(pattern)
    if given.is_absolute():
        return Path(given.anchor).glob(str(given.relative_to(given.anchor)))
    return base.glob(pattern)


def _is_folder(path: Path) -> bool:
    with suppress(OSError, ValueError):
        return path.is_dir()
    return False
