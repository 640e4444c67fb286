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

from palimpsest.tools.file_access.paths import is_protected, resolve_path
from palimpsest.tools.permission_rules.plain_shell import plain_commands
from palimpsest.tools.permission_rules.shell_commands import simple_commands, words_of
from palimpsest.tools.permission_rules.shell_globs import WILDCARDS, ShellGlobs
from palimpsest.tools.permission_rules.shell_splitter import DEVICE
from palimpsest.transcript.errors import UserError

PROGRAMS_WITHOUT_READING = frozenset(
    [
        *("cd", "pushd", "echo", "printf", "ls", "stat", "du", "df", "test", "[", "which", "type", "mkdir", "touch"),
        *("basename", "dirname", "readlink", "realpath"),
    ]
)  # fmt: skip
"""Programs that do not read the content of their file arguments."""

PROGRAMS_WRITING_ALL = frozenset(
    ["tee", "touch", "truncate", "rm", "rmdir", "mkdir", "mv", "chmod", "chown", "shred", "unlink"]
)
PROGRAMS_WRITING_LAST = frozenset(["cp", "ln", "install", "rsync", "scp"])
IN_PLACE = re.compile(r"(?:-[a-zA-Z]*i|--in-place)")
READING_PROGRAMS = frozenset(
    [
        *("grep", "egrep", "fgrep", "rg", "wc", "nl", "tac", "rev", "cut", "sort", "uniq", "cmp", "comm", "diff"),
        *("jq", "awk", "gawk", "mawk", "sed", "od", "xxd", "hexdump", "strings", "base64", "base32", "paste", "fold"),
        *("more", "tar", "zip", "find", "file", "cksum", "md5sum", "sha1sum", "sha256sum", "sha512sum", "column"),
        *("expand", "unexpand", "fmt", "pr", "join", "shuf", "split", "tsort", "iconv", "zcat", "bzcat", "xzcat"),
    ]
)  # fmt: skip
"""Programs that output the content of their file arguments."""
COLUMN_PROGRAMS = frozenset(["cut", "sort", "awk", "gawk", "mawk", "paste", "join", "column"])
MAX_NAMES = 10_000
"""Maximum names that are checked in one text; a text with more asks as for a key file."""
MAX_FOLDERS = 8
"""Maximum folders to which a text may change that are followed."""
MAX_NAME_CHARS = 4_096
"""Maximum characters of a path; longer ones cannot be opened."""
UNCHECKED_PATH = ".env"
"""The path in the question about a text with more names than can be checked, since one may be a key file."""

_EXPANDED_CHARACTERS = re.compile(r"[$*?\[{`]")
_HOME_VARIABLE = re.compile(r"\$(?:HOME\b|\{HOME\})")
_CURRENT_FOLDER = re.compile(r"\$(?:PWD\b|\{PWD\})|(?<![^\s=:<])~\+(?=/)")
_NON_NAME_CHARACTERS = re.compile(r"[^\w./~*?\[\]@%+-]+")
_FILE_LIST_OPTION = re.compile(r"--(?:fi|exclude-f)|-X")
"""Options by which ``du`` reads names from a file."""
_PROCESS_DEPENDENT = re.compile(r"/(?:proc|dev)(?:/|\Z)")
"""Folders in which a name means another file for the program than for this process."""
MAX_LINKS = 40
"""Maximum links that are followed in one path, as in Linux."""


def protected_files(text: str, folder: Path, root: Path) -> list[tuple[str, str]]:
    """Return ``(permission, path)`` for each protected file that a text visibly reads or writes."""
    commands = _commands_with_words(text, folder)
    uses: dict[tuple[str, str], None] = {}
    for command, words in commands:
        uses |= dict.fromkeys(("write", word) for word in _written_files(command, words))
        if words and not _reads_no_content(words):
            read_words = (*words, *_possible_names(command, words))
            uses |= dict.fromkeys(("read", word) for word in read_words)
    folders = _reached_folders(folder, (words for _, words in commands))
    globs = ShellGlobs()
    files = [
        (permission, path)
        for permission, name in islice(uses, MAX_NAMES)
        for base in folders
        for path in _protected_paths(name, base, root, globs, must_exist=permission == "read")
        if is_protected(permission, path)
    ]
    if len(uses) > MAX_NAMES or globs.is_exhausted:
        files.append(("read", UNCHECKED_PATH))
    return list(dict.fromkeys(files))


def _commands_with_words(text: str, folder: Path) -> list[tuple[str, list[str]]]:
    """Return the commands of a text with their words; variables of the home and the current folder are expanded."""
    expanded_text = _CURRENT_FOLDER.sub(lambda _: str(folder), _HOME_VARIABLE.sub("~", text))
    return [(command, words_of(command)) for command in simple_commands(expanded_text)]


def _reached_folders(folder: Path, commands: Iterable[list[str]]) -> list[Path]:
    """Return the start folder and the folders to which the commands may change, in order."""
    folders = {folder: None}
    for words in commands:
        for word in words:
            if len(folders) > MAX_FOLDERS:
                return list(folders)
            folders |= {
                base / word: None for base in list(folders) if _is_kind(Path.is_dir, base / word)
            }
    return list(folders)


def _reads_no_content(words: list[str]) -> bool:
    return words[0] in PROGRAMS_WITHOUT_READING and not any(map(_FILE_LIST_OPTION.match, words))


def outside_files(text: str, folder: Path, root: Path) -> list[str]:
    """Return files and folders outside the project whose contents a text visibly reads.

    Only arguments of ``READING_PROGRAMS`` are checked; the user is already asked about the paths of ``paths_touched``.
    """
    paths: dict[str, None] = {}
    for command, words in _commands_with_words(text, folder):
        if words and words[0] in READING_PROGRAMS:
            # For these programs a single slash is usually a column separator.
            arguments = [
                word for word in words[1:] if word != "/" or words[0] not in COLUMN_PROGRAMS
            ]
            is_plain = plain_commands(command) is not None
            paths |= dict.fromkeys(_outside_paths(arguments, folder, root, is_plain=is_plain))
    return list(paths)


def _outside_paths(words: list[str], folder: Path, root: Path, *, is_plain: bool) -> Iterator[str]:
    for argument in islice(words, MAX_NAMES):
        word = argument.partition("=")[2] if argument.startswith("-") else argument
        literal = word if is_plain else _EXPANDED_CHARACTERS.split(word, maxsplit=1)[0]
        path = literal if literal == word else literal.rpartition("/")[0] + "/"
        if not literal or (path == "/" and not literal.startswith("/")):
            continue
        with suppress(UserError, OSError):
            place = resolve_path(path, root, folder)
            if not place.is_inside and place.path.exists() and not DEVICE.fullmatch(path):
                yield str(place.path)


def process_dependent_paths(text: str, folder: Path) -> list[str]:
    """Return the paths through ``/proc`` or ``/dev`` that a text visibly reads, directly or by a link.

    A program finds other files there than this process, so they cannot be checked.
    """
    paths: dict[str, None] = {}
    for _, words in _commands_with_words(text, folder):
        for word in words[1:MAX_NAMES] if words and not _reads_no_content(words) else ():
            path = os.path.join(folder, os.path.expanduser(word))  # noqa: PTH111, PTH118 - any text
            is_checkable = not DEVICE.fullmatch(word) and len(path) <= MAX_NAME_CHARS
            if is_checkable and (entry_path := _entry_to_system(path)) is not None:
                paths[entry_path] = None
    return list(paths)


def _entry_to_system(path: str) -> str | None:
    """Resolve a path up to the place where it enters ``/proc`` or ``/dev``, also by links; None where it does not."""
    current_path, names_left, link_count = "/", path.split("/")[::-1], 0
    while names_left:
        name = names_left.pop()
        if name in ("", "."):
            continue
        inner_path = f"{current_path.rstrip('/')}/{name}"
        current_path = os.path.dirname(current_path) if name == ".." else inner_path  # noqa: PTH120
        if _PROCESS_DEPENDENT.match(current_path):
            return "/".join([current_path, *reversed(names_left)])
        with suppress(OSError, ValueError):
            target = os.readlink(current_path)  # noqa: PTH115 - Path.readlink changes the text
            link_count += 1
            if link_count > MAX_LINKS:
                return None
            names_left += target.split("/")[::-1]
            current_path = "/" if target.startswith("/") else os.path.dirname(current_path)  # noqa: PTH120
    return None


def _possible_names(simple_command: str, words: list[str]) -> Iterator[str]:
    for word in words:
        if word.startswith("-"):
            yield word[2:]
        yield from _NON_NAME_CHARACTERS.split(word)
        yield from word.rpartition("@")[2:]
    yield from _NON_NAME_CHARACTERS.split(simple_command)


def _written_files(simple_command: str, words: list[str]) -> list[str]:
    if simple_command.startswith("> "):
        return [simple_command[2:]]
    if not words:
        return []
    program, arguments = words[0], [word for word in words[1:] if not word.startswith("-")]
    if program in PROGRAMS_WRITING_ALL or any(IN_PLACE.match(word) for word in words[1:]):
        return arguments
    if program in PROGRAMS_WRITING_LAST:
        named_targets = [
            word.partition("=")[2] for word in words if word.startswith("--target-directory=")
        ]
        short_targets = [words[index + 1] for index, word in enumerate(words[:-1]) if word == "-t"]
        return _targets_with_files(arguments, [*named_targets, *short_targets] or arguments[-1:])
    if program == "dd":
        return [word.removeprefix("of=") for word in words if word.startswith("of=")]
    return []


def _targets_with_files(files: list[str], targets: list[str]) -> list[str]:
    """Return the targets, and the paths of the files inside them, in case a target is a folder."""
    inside_targets = [
        f"{target}/{file.rstrip('/').rpartition('/')[2]}" for target in targets for file in files
    ]
    return [*targets, *inside_targets]


def _protected_paths(
    name: str, base_folder: Path, root: Path, globs: ShellGlobs, *, must_exist: bool
) -> Iterator[str]:
    if not name or name in (".", "..") or len(name) > MAX_NAME_CHARS:
        return
    # A quoted name may have the characters of a pattern.
    paths = [name]
    if any(character in name for character in WILDCARDS):
        paths += globs.matching_paths(name, base_folder)
    for path in paths:
        if must_exist and not (path.startswith("~") or _is_kind(Path.is_file, base_folder / path)):
            continue
        with suppress(UserError, OSError):
            place = resolve_path(path, root, base_folder)
            if not must_exist or place.path.is_file():
                yield place.display_path


def _is_kind(is_of_kind: Callable[[Path], bool], path: Path) -> bool:
    """Return whether a path is of a kind; False for an inaccessible one."""
    with suppress(OSError, ValueError):
        return is_of_kind(path)
    return False
