"""Distinguish ``share``, ``unshare``, ``export`` and ``import`` from prompts that begin with these words.

Border: imports nothing heavy. ``%agent export the table to a file`` and ``%agent import numpy for me`` are
prompts; a format is one of a few words, and a path contains a dot, a tilde or a slash, or exists.
"""

import shlex
from pathlib import Path

SHARING_COMMANDS: dict[str, str] = {
    "share": "make a page of this session that can be passed on",
    "unshare": "delete that page",
    "export": "write this session to a file: %agent export [md|ipynb|json|html|opencode|atif] [path]",
    "import": "bring sessions in: %agent import PATH (OpenCode's storage, or an exported JSON)",
}
"""What each subcommand is for."""

FORM_WORDS = frozenset(
    {"md", "markdown", "ipynb", "notebook", "json", "html", "page", "opencode", "atif"}
)


def sharing_argument(words: list[str], rest: str) -> str | None:
    """Return a subcommand's argument, or None where the line is a prompt."""
    name = words[0]
    argument = rest.partition(name)[2].strip()
    try:
        given = shlex.split(argument)
    except ValueError:
        given = words[1:]
    if name in {"share", "unshare"}:
        return argument if not given else None
    if name == "import":
        found = len(given) == 1 and (_is_path(given[0]) or Path(given[0]).exists())
        return argument if not given or found else None
    if given and given[0].lower() in FORM_WORDS:
        given = given[1:]
        return argument if len(given) <= 1 else None
    return argument if not given or (len(given) == 1 and _is_path(given[0])) else None


def _is_path(word: str) -> bool:
    return any(sign in word for sign in "./\\~")
