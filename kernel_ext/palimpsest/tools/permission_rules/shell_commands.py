r"""Take a shell command apart, to see what it would run and where it would write.

Border: pure text, and no shell: what it cannot see (scripts, ``eval``, names made at run time)
it does not see. It errs towards more pieces, since each piece has to be allowed on its own;
``git log; rm x`` is not allowed by a rule for ``git *``.
"""

import re
import shlex
from collections.abc import Iterable, Iterator
from itertools import islice

from palimpsest.tools.permission_rules.shell_splitter import DEVICE, pieces
from palimpsest.transcript.errors import UserError

KEYWORDS = frozenset(
    [
        "if",
        "then",
        "elif",
        "else",
        "fi",
        "for",
        "while",
        "until",
        "do",
        "done",
        "case",
        "esac",
        "in",
        "{",
        "}",
        "!",
        "time",
    ]
)
ASSIGNMENT = re.compile(
    r"[A-Za-z_]\w*\+?=(?:\"(?:\\.|[^\"\\])*\"|'[^']*'|\\.|[^\s'\"\\])*(?=\s)", re.DOTALL
)

MOST_SEARCHED = 200
"""Brackets in one command, and commands in one text; more is no text that a person reads."""
_INNER = re.compile(
    r"[)}]|\{(?=\s)|\b(?:do|then|else|in|time|coproc(?:\s+\w+)?|function\s+\S+|exec|eval|command|builtin)\s"
)
_LEADING = re.compile(r"\A\s*(?:(?:\d*|\{\w+\}|&)[<>]+[|&]?\s*[^\s<>]+\s+)+")
_GLUED = re.compile(r"\s*([\w./+-]+)(?=[$`<>(){}\"'\\])")

CHANGES_FILES = frozenset(
    [
        "cd",
        "pushd",
        "rm",
        "rmdir",
        "mv",
        "cp",
        "mkdir",
        "touch",
        "chmod",
        "chown",
        "ln",
        "tee",
        "truncate",
        "install",
        "rsync",
        "dd",
        "cat",
        "head",
        "tail",
        "less",
    ]
)


def simple_commands(command: str) -> tuple[str, ...]:
    """Return every command that the text would run, nested ones too, without repeats.

    A file that output is written to counts as one (``> file``), so that a rule for ``echo *``
    does not allow to overwrite files.
    """
    found: dict[str, None] = {}
    try:
        for piece in pieces(command):
            found |= dict.fromkeys(_commands(piece))
    except RecursionError as error:
        raise UserError("The command is nested too deeply. Write it as a script.") from error
    return tuple(found) or (command.strip(),)


def _commands(piece: str) -> Iterator[str]:
    """Yield the variables that are set for a command, and the command behind them and keywords.

    A variable may run something too: a pager, a library to load.
    """
    rest = piece.strip()
    while rest:
        word = rest.split(None, 1)[0]
        if match := ASSIGNMENT.match(rest):
            yield match[0]
            rest = rest[match.end() :].strip()
        elif word in KEYWORDS:
            rest = rest[len(word) :].strip()
        else:
            break
    if rest:
        yield rest
        program, *more = rest.split(None, 1)
        plain = re.sub(r"[\\\"']", "", program)
        if plain and plain != program:
            # A rule against a program holds however its name is written.
            yield " ".join([plain, *more])


def hidden_commands(commands: Iterable[str]) -> Iterator[str]:
    """Yield what else might run in commands of a text that is not plain.

    That is what stands behind a bracket or a word of the language (a function's body, a case), behind a
    redirection, and a program with something glued to it. It sees too much rather than too little.
    """
    for command in islice(commands, MOST_SEARCHED):
        tails = (command[found.end() :] for found in _INNER.finditer(command))
        for text in (command, *islice(tails, MOST_SEARCHED)):
            rest = _LEADING.sub("", text)
            if rest != command:
                yield from _commands(rest)
            if found := _GLUED.match(rest):
                yield f"{found[1]} {rest[found.end() :]}".strip()


def paths_touched(command: str) -> tuple[str, ...]:
    """Return paths that the commands name as places to go to, change, or write to."""
    found: dict[str, None] = {}
    for piece in simple_commands(command):
        targets: list[str] = []
        words = words_of(piece)
        if piece.startswith("> "):
            targets = [piece[2:]]
        elif words and words[0] in CHANGES_FILES:
            targets = [word for word in words[1:] if not word.startswith("-")]
        found |= {t: None for t in targets if t and not _is_elsewhere(t)}
    return tuple(found)


def _is_elsewhere(target: str) -> bool:
    return target.startswith(("$", "<", ">")) or DEVICE.fullmatch(target) is not None


def words_of(piece: str) -> list[str]:
    """Return the words of a simple command without their quotes."""
    try:
        return shlex.split(piece)
    except ValueError:
        return piece.split()
