"""Refuse a line that looks like a subcommand and is none, and propose the nearest right one.

Whatever is no subcommand is sent to a model, which costs money, so a typing error gets an error message. A
line of three words or more that begins with a command's name is a prompt, unless an option, a session's id
or a keyword of the command itself follows, since no prompt begins so. Border: works on text only.
"""

import difflib
import re
from collections.abc import Callable

from palimpsest.frontends.operation_table import TABLE
from palimpsest.frontends.operations.grammar import SESSION, keywords, words

CLOSE_ENOUGH = 0.7
"""Ratio of difflib above which a misspelt word gets "did you mean"; "modle" and "model" give 0.8."""

ALONE = frozenset(
    (
        *("hi", "hello", "hey", "hallo", "hola", "bonjour", "ciao"),
        *("go", "continue", "weiter", "yes", "no", "ok", "okay", "why", "how"),
        *("thanks", "please", "merci", "danke"),
    )
)
"""Words of ordinary conversation; alone on a line they are a prompt, not a typing error."""

INSTEAD = {
    "model": "-m NAME",
    "new": "--new PROMPT",
    "clear": "--new PROMPT",
    "reset": "--new PROMPT",
    "undo": "revert",
    "redo": "unrevert",
    "list": "sessions",
    "resume": "open ID",
    "cost": "status",
    "usage": "context",
    "settings": "config",
    "tools": "--tools A,B PROMPT",
    "quit": "stop",
    "exit": "stop",
    "cancel": "stop",
    "save": "export",
    "rename": "title NEW TITLE",
}
"""Names of commands in other agents, and what to write here instead."""

BEGIN_PROMPTS = frozenset({"fix", "explain"})
"""Subcommands with which a prompt begins as well: ``explain df`` is one."""

_SESSION = re.compile(SESSION.pattern)
_OPTION = re.compile(r"--?[A-Za-z][\w-]*(=\S*)?")
_SINGLE = re.compile(r"[A-Za-z][A-Za-z_-]*")
_NUMBER = re.compile(r"[-+$]*\d[\d.,_]*\w*")
_MOST_QUOTED = 60


def misspelling_sentence(
    rest: str, is_command: Callable[[str], bool], *, alone: bool
) -> str | None:
    """Return the error message for a line that is no subcommand but looks like one; None for a prompt.

    Args:
        rest: The line after its options.
        is_command: Tells whether a line is a subcommand.
        alone: Whether there are no options before it.
    """
    word, *given = rest.split()
    name, commands = word.lower(), TABLE.forms
    if name in BEGIN_PROMPTS and given and not any(map(_OPTION.fullmatch, given)):
        return None
    if name in commands:
        return _mistake_text(rest, name, given) or _close(rest, name, is_command)
    if given:
        near = difflib.get_close_matches(name, commands, 3, CLOSE_ENOUGH)
        slips = (one for one in near if _one_slip(name, one))
        said = next((said for one in slips if (said := _close(rest, one, is_command))), None)
        return _did_you_mean(INSTEAD[name], rest) if said and name in INSTEAD else said
    if _SINGLE.fullmatch(word) is None or name in ALONE:
        return None
    close = difflib.get_close_matches(name, commands, 1, CLOSE_ENOUGH)
    if close or name in INSTEAD:
        return _did_you_mean(INSTEAD.get(name) or close[0], rest)
    if not alone:
        return None
    return (
        f"One word alone is read as a subcommand, and none is called {word!r}; %agent help lists them. "
        f"To send it as a prompt, write %agent -- {word}"
    )


def _mistake_text(rest: str, name: str, given: list[str]) -> str | None:
    """Return what is wrong with a command's arguments; None where the line is a prompt."""
    form, operation = TABLE.forms[name]
    meant = form.help
    option = next((one for one in given if _OPTION.fullmatch(one)), None)
    if SESSION in words(form, operation) and (option or len(given) == 1):
        wrong = next((one for one in given if not _OPTION.fullmatch(one)), "")
        if wrong and _SESSION.fullmatch(wrong) is None:
            lists = f"{_short(wrong)} is no session's id; %agent sessions lists them, for %agent {name} ID."
            return f"{lists} {_prompt(rest)}"
    if option is not None:
        return f"%agent {name} takes no option {option}. It is for: {meant}. {_prompt(rest)}"
    near = (
        difflib.get_close_matches(given[0].lower(), keywords(form, operation), 1, 0.6)
        if given
        else []
    )
    if len(given) == 1:
        if near:
            return _did_you_mean(f"{name} {near[0]}", rest)
        return (
            f"%agent {name} does not take {_short(given[0])}. It is for: {meant}. {_prompt(rest)}"
        )
    follows = bool(near) and near[0] == given[0].lower() and form.begins_no_prompt
    amount = name == "budget" and _NUMBER.fullmatch(given[0]) is not None if given else False
    if follows or amount or any(_SESSION.fullmatch(one) for one in given):
        return f"%agent {name} does not take {_short(' '.join(given))}. It is for: {meant}. {_prompt(rest)}"
    return None


def _close(rest: str, name: str, is_command: Callable[[str], bool]) -> str | None:
    """Return which subcommand the line would be with its first word corrected."""
    behind = rest.partition(rest.split()[0])[2]
    right = f"{name}{behind}"
    return _did_you_mean(right, rest) if right != rest and is_command(right) else None


def _did_you_mean(right: str, rest: str) -> str:
    return f"Did you mean %agent {right}? {_prompt(rest)}"


def _prompt(rest: str) -> str:
    return f"To send {rest!r} as a prompt, write %agent -- {rest}"


def _short(text: str) -> str:
    return repr(text if len(text) <= _MOST_QUOTED else f"{text[: _MOST_QUOTED - 1]}…")


def _one_slip(one: str, other: str) -> bool:
    """Tell whether two words differ by one letter omitted, added or replaced, or by two swapped."""
    if abs(len(one) - len(other)) > 1 or one == other:
        return False
    start = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    if start is None:
        return True
    a, b = one[start:], other[start:]
    return a[1:] == b or a == b[1:] or a[1:] == b[1:] or (a[1::-1] + a[2:] == b)
