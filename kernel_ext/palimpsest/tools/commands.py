r"""Take a shell command apart, to see what it would run and where it would write.

Border: pure text, and no shell: what it cannot see (scripts, ``eval``, names made at run time)
it does not see. It errs towards more pieces, since each piece has to be allowed on its own;
``git log; rm x`` is not allowed by a rule for ``git *``.
"""

import re
import shlex
from collections.abc import Iterator

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
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
OPENERS = ("$(", "<(", ">(", "(", "`")

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
DEVICES = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty", "/dev/fd/")
REDIRECT = re.compile(r"(?<![<>&\d])\d?&?>{1,2}\|?\s*(?!&)(\"[^\"]*\"|'[^']*'|[^\s;&|<>()]+)")


def simple_commands(command: str) -> tuple[str, ...]:
    """Return every command that the text would run, nested ones too, without repeats.

    A file that output is written to counts as one (``> file``), so that a rule for ``echo *``
    does not allow to overwrite files.
    """
    found: dict[str, None] = {}
    for piece in _pieces(command):
        bare = _bare(piece)
        if bare:
            found[bare] = None
            found |= {f"> {target}": None for target in _targets(bare)}
    return tuple(found) or (command.strip(),)


def _targets(piece: str) -> list[str]:
    """Return the files that a command's output is redirected to."""
    targets = [match[1].strip("\"'") for match in REDIRECT.finditer(_without_quotes(piece))]
    return [target for target in targets if target and not target.startswith(DEVICES)]


def _without_quotes(piece: str) -> str:
    """Blank out quoted text that holds an angle bracket, which redirects nothing."""
    return re.sub(r"\"[^\"]*[<>][^\"]*\"|'[^']*[<>][^']*'", "''", piece)


def _bare(piece: str) -> str:
    """Drop keywords and assignments before the program's name."""
    words = piece.strip().split(" ")
    while len(words) > 1 and (words[0] in KEYWORDS or ASSIGNMENT.match(words[0]) or not words[0]):
        words = words[1:]
    bare = " ".join(words).strip()
    return "" if bare in KEYWORDS or bare.startswith("#") else bare


def _pieces(text: str) -> Iterator[str]:
    """Split at separators outside quotes; substitutions become pieces of their own."""
    piece, position, quote = "", 0, ""
    while position < len(text):
        char = text[position]
        if quote == "'":
            quote = "" if char == "'" else quote
        elif char == "\\":
            piece += text[position : position + 2]
            position += 2
            continue
        elif opener := _opener(text, position, quote):
            inner, position = _inside(text, position + len(opener), opener)
            yield from _pieces(inner)
            piece += opener + inner + ("`" if opener == "`" else ")")
            continue
        elif quote == '"':
            quote = "" if char == '"' else quote
        elif char in "'\"":
            quote = char
        elif char in ";|\n" or (char == "&" and not _redirects(text, position)):
            yield piece
            piece, position = "", position + 1
            continue
        piece += char
        position += 1
    yield piece


def _redirects(text: str, position: int) -> bool:
    """Tell whether an ampersand belongs to a redirection such as ``2>&1`` or ``&>``."""
    return text[position - 1 : position] in (">", "<") or text[position + 1 : position + 2] == ">"


def _opener(text: str, position: int, quote: str) -> str | None:
    for opener in ("$(", "`") if quote else OPENERS:
        if text.startswith(opener, position) and not text.startswith("$((", position):
            return opener
    return None


def _inside(text: str, start: int, opener: str) -> tuple[str, int]:
    """Return what stands between an opener and its end, and where to go on."""
    if opener == "`":
        end = text.find("`", start)
        return (text[start:], len(text)) if end < 0 else (text[start:end], end + 1)
    depth, position, quote = 1, start, ""
    while position < len(text):
        char = text[position]
        if char == "\\" and quote != "'":
            position += 1
        elif quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        else:
            depth += (char == "(") - (char == ")")
            if depth == 0:
                return text[start:position], position + 1
        position += 1
    return text[start:], len(text)


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
        targets = _targets(piece)
        words = _words(piece)
        if words and words[0] == ">":
            continue
        if words and words[0] in CHANGES_FILES:
            targets += [word for word in words[1:] if not word.startswith("-")]
        found |= {t: None for t in targets if t and not t.startswith(("$", "<", *DEVICES))}
    return tuple(found)


def _words(piece: str) -> list[str]:
    try:
        return shlex.split(piece)
    except ValueError:
        return piece.split()
