r"""Split a shell text into the commands that it would run and the files that it would write.

Border: pure text, and no shell: commands in scripts, in ``eval``, or computed at run time are not
detected. In doubt it returns more commands, since each must be allowed separately; ``git log; rm x`` is not
allowed by a rule for ``git *``.
"""

import re
import shlex
from collections.abc import Iterable, Iterator
from itertools import islice

from palimpsest.lazy_patterns import lazy_pattern
from palimpsest.tools.permission_rules.plain_shell import LEADING_KEYWORDS, plain_commands
from palimpsest.tools.permission_rules.shell_splitter import DEVICE, split_commands
from palimpsest.transcript.errors import UserError

KEYWORDS = LEADING_KEYWORDS | {"{", "}", "!"}
ASSIGNMENT = lazy_pattern(
    r"[A-Za-z_]\w*\+?=(?:\"(?:\\.|[^\"\\])*\"|'[^']*'|\\.|[^\s'\"\\])*(?=\s)", re.DOTALL
)

MAX_SEARCHED_PLACES = 200
"""Maximum brackets in one command, and commands in one text, that are searched for hidden commands."""
_COMMAND_START = lazy_pattern(
    r"[)}]|\{(?=\s)|\b(?:do|then|else|in|time|coproc(?:\s+\w+)?|function\s+\S+|exec|eval|command|builtin)\s"
)
_LEADING_REDIRECTIONS = lazy_pattern(r"\A\s*(?:(?:\d*|\{\w+\}|&)[<>]+[|&]?\s*[^\s<>]+\s+)+")
_PROGRAM_BEFORE_SPECIAL = lazy_pattern(r"\s*([\w./+-]+)(?=[$`<>(){}\"'\\])")

FILE_PROGRAMS = frozenset([
    "cd", "pushd", "rm", "rmdir", "mv", "cp", "mkdir", "touch", "chmod", "chown", "ln", "tee",
    "truncate", "install", "rsync", "dd", "cat", "head", "tail", "less",
])  # fmt: skip


def simple_commands(command: str) -> tuple[str, ...]:
    """Return every command that the text would run, including nested ones, without repeats.

    A file that output is written to counts as a command (``> file``), so that a rule for ``echo *``
    does not allow overwriting files. Raises UserError if the text is nested too deeply.
    """
    commands: dict[str, None] = {}
    try:
        for simple_command in split_commands(command):
            commands |= dict.fromkeys(_assignments_and_command(simple_command))
    except RecursionError as error:
        raise UserError("The command is nested too deeply. Write it as a script.") from error
    return tuple(commands) or (command.strip(),)


def _assignments_and_command(simple_command: str) -> Iterator[str]:
    """Yield the variable assignments before a command, and the command without them and keywords.

    An assignment may also run a program, such as a pager, or load a library.
    """
    command_text = simple_command.strip()
    while command_text:
        word = command_text.split(None, 1)[0]
        if match := ASSIGNMENT.match(command_text):
            yield match[0]
            command_text = command_text[match.end() :].strip()
        elif word in KEYWORDS:
            command_text = command_text[len(word) :].strip()
        else:
            break
    if command_text:
        yield command_text
        program, *arguments = command_text.split(None, 1)
        unquoted_program = re.sub(r"[\\\"']", "", program)
        if unquoted_program and unquoted_program != program:
            # A rule against a program also applies if its name is quoted.
            yield " ".join([unquoted_program, *arguments])


def hidden_commands(commands: Iterable[str]) -> Iterator[str]:
    """Yield further commands that might run in the commands of a text that is not plain.

    These are texts after a bracket, after a shell keyword (a function's body, a case) or after a
    redirection, and a program followed by a special character. In doubt it yields more commands.
    """
    for command in islice(commands, MAX_SEARCHED_PLACES):
        tails = (command[match.end() :] for match in _COMMAND_START.finditer(command))
        for text in (command, *islice(tails, MAX_SEARCHED_PLACES)):
            text_left = _LEADING_REDIRECTIONS.sub("", text)
            if text_left != command:
                yield from _assignments_and_command(text_left)
            if match := _PROGRAM_BEFORE_SPECIAL.match(text_left):
                yield f"{match[1]} {text_left[match.end() :]}".strip()


def paths_touched(command: str) -> tuple[str, ...]:
    """Return the paths that the commands change to, modify, or write to."""
    paths: dict[str, None] = {}
    for simple_command in simple_commands(command):
        targets: list[str] = []
        words = words_of(simple_command)
        if simple_command.startswith("> "):
            targets = [simple_command[2:]]
        elif words and words[0] in FILE_PROGRAMS:
            targets = [word for word in words[1:] if not word.startswith("-")]
        is_plain = plain_commands(simple_command) is not None
        paths |= {t: None for t in targets if t and not _cannot_be_checked(t, is_plain=is_plain)}
    return tuple(paths)


def _cannot_be_checked(target: str, *, is_plain: bool) -> bool:
    # A word of a plain command that begins with "$" is the name of a file.
    is_unknown = not is_plain and target.startswith(("$", "<", ">"))
    return is_unknown or DEVICE.fullmatch(target) is not None


def words_of(simple_command: str) -> list[str]:
    """Return the words of a simple command without quotes; for a plain command exactly as bash reads them."""
    commands = plain_commands(simple_command)
    if commands is not None and len(commands) == 1:
        # A quoted tilde is the beginning of a file name and not a home folder.
        return [f"./{word}" if word.startswith("~") else word for word in commands[0].words]
    try:
        return shlex.split(simple_command)
    except ValueError:
        return simple_command.split()
