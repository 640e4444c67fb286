"""Find the protected files and outside files that a shell text visibly reads or writes.

A key file counts as read wherever its name occurs in the text, also in quoted code, if the file exists;
a protected file counts as written as the target of output or as an argument that a program writes to.
Border: checks names and folders, and opens no file. Files reached by a script, a recursive search or a
name computed at run time are not detected.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from palimpsest.tools.file_access.paths import confine, is_protected
from palimpsest.tools.permission_rules.plain_shell import plain_commands
from palimpsest.tools.permission_rules.shell_commands import simple_commands, words_of
from palimpsest.tools.permission_rules.shell_globs import WILD, ShellGlobs
from palimpsest.tools.permission_rules.shell_splitter import DEVICE
from palimpsest.transcript.errors import UserError

LOOKS_ONLY = frozenset(
    [
        *("cd", "pushd", "echo", "printf", "ls", "stat", "du", "df", "test", "[", "which", "type", "mkdir", "touch"),
        *("basename", "dirname", "readlink", "realpath"),
    ]
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
        *("jq", "awk", "gawk", "mawk", "sed", "od", "xxd", "hexdump", "strings", "base64", "base32", "paste", "fold"),
        *("more", "tar", "zip", "find", "file", "cksum", "md5sum", "sha1sum", "sha256sum", "sha512sum", "column"),
        *("expand", "unexpand", "fmt", "pr", "join", "shuf", "split", "tsort", "iconv", "zcat", "bzcat", "xzcat"),
    ]
)  # fmt: skip
"""Programs that output the content of their file arguments."""
COLUMNS = frozenset(["cut", "sort", "awk", "gawk", "mawk", "paste", "join", "column"])
MOST_NAMES = 10_000
"""Maximum names that are checked in one text; with more it asks as for a file of keys."""
MOST_FOLDERS = 8
LONGEST_NAME = 4_096
"""Characters; longer paths cannot be opened."""
UNCHECKED = ".env"
"""Asked about where a text names more files than can be checked, since one of them may be a file of keys."""

_UNKNOWN = re.compile(r"[$*?\[{`]")
_HOME = re.compile(r"\$(?:HOME\b|\{HOME\})")
_HERE = re.compile(r"\$(?:PWD\b|\{PWD\})|(?<![^\s=:<])~\+(?=/)")
_NO_NAME = re.compile(r"[^\w./~*?\[\]@%+-]+")
_LISTS_FILES = re.compile(r"--(?:fi|exclude-f)|-X")
"""Options by which ``du`` reads names from a file."""
_MOVING = re.compile(r"/(?:proc|dev)(?:/|\Z)")
"""Places where a name leads elsewhere for the program than for this process."""
MOST_LINKS = 40


def protected_files(text: str, folder: Path, root: Path) -> list[tuple[str, str]]:
    """Return ``(permission, path)`` for each protected file that a text visibly reads or writes."""
    commands = [(piece, words_of(piece)) for piece in simple_commands(_with_known(text, folder))]
    names: dict[tuple[str, str], None] = {}
    for piece, words in commands:
        names |= dict.fromkeys(("write", one) for one in _written(piece, words))
        if words and not _looks_only(words):
            names |= dict.fromkeys(("read", one) for one in (*words, *_read(piece, words)))
    folders = _folders(folder, (words for _, words in commands))
    globs = ShellGlobs()
    found = [
        (permission, shown)
        for permission, name in islice(names, MOST_NAMES)
        for base in folders
        for shown in _shown(name, base, root, globs, exists=permission == "read")
        if is_protected(permission, shown)
    ]
    if len(names) > MOST_NAMES or globs.is_exhausted:
        found.append(("read", UNCHECKED))
    return list(dict.fromkeys(found))


def _with_known(text: str, folder: Path) -> str:
    """Return a text with the home and the current folder in place of their variables."""
    return _HERE.sub(lambda _: str(folder), _HOME.sub("~", text))


def _folders(folder: Path, commands: Iterable[list[str]]) -> list[Path]:
    """Return the folder and those that a text may change to, one after the other."""
    found = {folder: None}
    for words in commands:
        for word in words:
            if len(found) > MOST_FOLDERS:
                return list(found)
            found |= {base / word: None for base in list(found) if _is(Path.is_dir, base / word)}
    return list(found)


def _looks_only(words: list[str]) -> bool:
    return words[0] in LOOKS_ONLY and not any(map(_LISTS_FILES.match, words))


def outside_files(text: str, folder: Path, root: Path) -> list[str]:
    """Return files and folders outside the project whose contents a text visibly reads.

    Those of ``paths_touched`` are asked about already; these are arguments of further programs that read.
    """
    found: dict[str, None] = {}
    for piece in simple_commands(_with_known(text, folder)):
        words = words_of(piece)
        if words and words[0] in READS:
            # For these programs a single slash is usually a column separator.
            given = [word for word in words[1:] if word != "/" or words[0] not in COLUMNS]
            exact = plain_commands(piece) is not None
            found |= dict.fromkeys(_outside(given, folder, root, exact=exact))
    return list(found)


def _outside(words: list[str], folder: Path, root: Path, *, exact: bool) -> Iterator[str]:
    for given in islice(words, MOST_NAMES):
        word = given.partition("=")[2] if given.startswith("-") else given
        literal = word if exact else _UNKNOWN.split(word, maxsplit=1)[0]
        path = literal if literal == word else literal.rpartition("/")[0] + "/"
        if not literal or (path == "/" and not literal.startswith("/")):
            continue
        with suppress(UserError, OSError):
            place = confine(path, root, folder)
            if not place.inside and place.path.exists() and not DEVICE.fullmatch(path):
                yield str(place.path)


def moving_paths(text: str, folder: Path) -> list[str]:
    """Return the paths through ``/proc`` or ``/dev`` that a text visibly reads, directly or by a link.

    What a program finds there is not what this process finds, so they cannot be judged.
    """
    found: dict[str, None] = {}
    for piece in simple_commands(_with_known(text, folder)):
        words = words_of(piece)
        for word in words[1:MOST_NAMES] if words and not _looks_only(words) else ():
            path = os.path.join(folder, os.path.expanduser(word))  # noqa: PTH111, PTH118 - any text
            place = None if DEVICE.fullmatch(word) or len(path) > LONGEST_NAME else _moved(path)
            found |= {place: None} if place is not None else {}
    return list(found)


def _moved(path: str) -> str | None:
    """Follow a path name by name; return where it enters ``/proc`` or ``/dev``, if it does."""
    here, names, links = "/", path.split("/")[::-1], 0
    while names:
        name = names.pop()
        if name in ("", "."):
            continue
        here = os.path.dirname(here) if name == ".." else f"{here.rstrip('/')}/{name}"  # noqa: PTH120
        if _MOVING.match(here):
            return "/".join([here, *reversed(names)])
        with suppress(OSError, ValueError):
            target = os.readlink(here)  # noqa: PTH115 - Path.readlink changes the text
            links += 1
            if links > MOST_LINKS:
                return None
            names += target.split("/")[::-1]
            here = "/" if target.startswith("/") else os.path.dirname(here)  # noqa: PTH120
    return None


def _read(piece: str, words: list[str]) -> Iterator[str]:
    for word in words:
        if word.startswith("-"):
            yield word[2:]
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


def _shown(name: str, base: Path, root: Path, globs: ShellGlobs, *, exists: bool) -> Iterator[str]:
    if not name or name in (".", "..") or len(name) > LONGEST_NAME:
        return
    # A quoted name may have the characters of a pattern.
    paths = [name]
    if any(sign in name for sign in WILD):
        paths += globs.matches(name, base)
    for path in paths:
        if exists and not path.startswith("~") and not _is(Path.is_file, base / path):
            continue
        with suppress(UserError, OSError):
            place = confine(path, root, base)
            if not exists or place.path.is_file():
                yield place.shown


def _is(kind: Callable[[Path], bool], path: Path) -> bool:
    """Return whether a path is of a kind; False for one that cannot be looked at."""
    with suppress(OSError, ValueError):
        return kind(path)
    return False
