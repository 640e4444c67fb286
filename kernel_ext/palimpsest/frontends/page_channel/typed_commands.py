"""Recognise a command that a person typed into the panel: ``/name arguments``.

A first word behind a slash that is no command is never sent, since the model would be paid for a typing error;
the answer is a sentence, and the text returns to the panel. A path is no command, and ``--`` before a text
sends it whatever it looks like, as with ``%agent``.
Border: pure; works on text only. What a command does, ``channel.py`` and the magic's own parser say.
"""

import difflib
import re
from collections.abc import Collection
from functools import cache

from palimpsest.frontends.magic.line_parser import operation_of, parse
from palimpsest.frontends.magic.misspelled_commands import CLOSE_ENOUGH, INSTEAD
from palimpsest.frontends.operation_table import TABLE
from palimpsest.frontends.operations.grammar import OptionError
from palimpsest.frontends.operations.operation import Operation
from palimpsest.session.prompts.prompt_syntax import command_in
from palimpsest.transcript.errors import UserError

WHERE = {
    "model": "choose the model below the text",
    "agent": "choose the agent below the text",
    "mode": "choose the mode below the text, or write %agent mode in a cell",
    "sessions": "the sessions are listed under the panel's title, and %agent sessions in a cell lists them",
    "resume": "choose the session under the panel's title, or write %agent open ID in a cell",
}
"""What the panel has a control of its own for."""

_VERBATIM = re.compile(r"\s*--\s+(?=/)")
_NAME = re.compile(r"[^\W\d_][\w-]*")
_MOST_QUOTED = 60


def typed_command(text: str, own: Collection[str]) -> Operation | str:
    """Return the command in a text, or the prompt to send; raises UserError that says why a text is not sent.

    Args:
        text: What was typed.
        own: The names of the commands that the project and the settings define.
    """
    if verbatim := _VERBATIM.match(text):
        return text[verbatim.end() :]
    stripped = text.strip()
    if not stripped.startswith("/"):
        return text
    if stripped == "/":
        raise UserError(
            "Write a command's name behind /; %agent help in a cell lists them, and %agent commands your own."
        )
    found = command_in(stripped)
    if found is None or found[0] in own:
        return text
    word = stripped[1:].split(maxsplit=1)[0]
    if _NAME.fullmatch(word) is None:
        near = _near(word, own) if "/" in word.strip("/") else None
        if near:
            raise _unknown(stripped, word, near)
        return text
    name, arguments = word.lower(), " ".join(found[1].split())
    if name in TABLE.panel_forms or name in TABLE.forms:
        return _built_in(stripped, name, arguments)
    if name in WHERE or name in same_commands():
        says = WHERE.get(name) or f"did you mean /{same_commands()[name]}?"
        raise _refused(stripped, f"/{name} is no command here: {says}")
    near = _near(name, (*own, *TABLE.forms, *TABLE.panel_forms))
    if near is None and name in INSTEAD:
        raise _refused(
            stripped, f"/{name} is no command here: write %agent {INSTEAD[name]} in a cell"
        )
    raise _unknown(stripped, word, near)


@cache
def same_commands() -> dict[str, str]:
    """Return the names of the panel's commands in other agents, and ours; they are proposed, not run."""
    return {
        name: here.replace("--new PROMPT", "new")
        for name, here in INSTEAD.items()
        if here in TABLE.panel_forms or name in ("clear", "reset")
    }


def _built_in(text: str, name: str, arguments: str) -> Operation:
    runs = name in TABLE.panel_forms
    if name == "new" and arguments:
        raise _refused(text, "/new takes no words: send it alone, and then the prompt")
    if name == "compact" and arguments and not arguments.startswith(("-", "focus on")):
        arguments = f"focus on {arguments}"
    rest = f"{name} {arguments}".strip()
    try:
        operation = operation_of(rest, in_panel=runs)
        if operation is None:
            parse(rest)  # says what is wrong, unless it is a prompt
    except OptionError as error:
        said = str(error).partition(" To send ")[0]
        raise _refused(text, said.replace("%agent ", "/") if runs else said) from None
    if operation is None:
        does = f"%agent {name} in a cell does it ({TABLE.help[name]})"
        raise _refused(text, f"/{name} is a prompt of a cell: {does}")
    if runs and "--preview" not in arguments:
        return operation
    where = WHERE.get(name) or f"write %agent {rest} in a cell"
    raise _refused(text, f"The panel does not show what /{name} tells: {where}")


def _near(word: str, names: Collection[str]) -> str | None:
    return next(iter(difflib.get_close_matches(word, sorted(set(names)), 1, CLOSE_ENOUGH)), None)


def _unknown(text: str, word: str, near: str | None) -> UserError:
    proposal = f" Did you mean /{near}?" if near else ""
    return _refused(text, f"There is no command /{_short(word)}.{proposal}")


def _refused(text: str, why: str) -> UserError:
    end = "" if why.endswith((".", "?")) else "."
    return UserError(f"{why}{end} To send it as a prompt, write -- {_short(text)}")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MOST_QUOTED else f"{line[: _MOST_QUOTED - 1]}…"
