r"""Take a shell command apart, to see what it would run and where it would write.

Border: pure text, and no shell: what it cannot see (scripts, ``eval``, names made at run time)
it does not see. It errs towards more pieces, since each piece has to be allowed on its own;
``git log; rm x`` is not allowed by a rule for ``git *``.
"""

import re
import shlex
from collections.abc import Iterator

from palimpsest.tools.shell_pieces import DEVICE, pieces
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

VERBS = {
    "git": 1, "npm": 1, "pnpm": 1, "yarn": 1, "pip": 1, "pip3": 1, "uv": 1, "conda": 1, "mamba": 1,
    "docker": 1, "podman": 1, "kubectl": 1, "cargo": 1, "go": 1, "make": 0, "brew": 1, "apt": 1,
    "apt-get": 1, "systemctl": 1, "gh": 2, "jupyter": 1, "poetry": 1, "terraform": 1,
}  # fmt: skip
"""How many words after the program say what it does; "always" keeps those."""

TWO_WORDS = frozenset({"npm run", "pnpm run", "yarn run", "uv pip", "docker compose", "uv tool"})

NEVER_WIDENED = frozenset(
    [
        "sudo",
        "su",
        "doas",
        "env",
        "xargs",
        "sh",
        "bash",
        "zsh",
        "dash",
        "ksh",
        "fish",
        "python",
        "python3",
        "perl",
        "ruby",
        "node",
        "eval",
        "exec",
        "source",
        ".",
        "rm",
        "mv",
        "dd",
        "mkfs",
        "chmod",
        "chown",
        "kill",
        "pkill",
        "killall",
        "curl",
        "wget",
        "ssh",
        "scp",
        "rsync",
        "find",
        "awk",
        "sed",
        "tee",
        "nohup",
        "time",
    ]
)
"""With other words these do something else entirely, so "always" means the same command only."""

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


def always_pattern(command: str) -> str | None:
    """Return what an "always" would allow: the program with its verb, or just this command.

    None when even this command, read as a pattern, would allow others.
    """
    words = command.split()
    program = words[0] if words else command
    verbs = VERBS.get(program, 0) + (" ".join(words[:2]) in TWO_WORDS)
    kept = words[: 1 + verbs]
    exact = program in NEVER_WIDENED or "/" in program or len(words) == 1 or len(kept) <= verbs
    if exact or program == ">" or any(char in command for char in "<>$`("):
        return None if "*" in command or "?" in command else command
    if any(word.startswith("-") or "*" in word or "?" in word for word in kept):
        return None if "*" in command or "?" in command else command
    return " ".join(kept) + " *"


def paths_touched(command: str) -> tuple[str, ...]:
    """Return paths that the commands name as places to go to, change, or write to."""
    found: dict[str, None] = {}
    for piece in simple_commands(command):
        targets: list[str] = []
        words = _words(piece)
        if piece.startswith("> "):
            targets = [piece[2:]]
        elif words and words[0] in CHANGES_FILES:
            targets = [word for word in words[1:] if not word.startswith("-")]
        found |= {t: None for t in targets if t and not _is_elsewhere(t)}
    return tuple(found)


def _is_elsewhere(target: str) -> bool:
    return target.startswith(("$", "<", ">")) or DEVICE.fullmatch(target) is not None


def _words(piece: str) -> list[str]:
    try:
        return shlex.split(piece)
    except ValueError:
        return piece.split()
