"""Recognise a command that a person typed into the panel: ``/name arguments``.

A first word behind a slash that is no command is never sent, since the model would be paid for a typing error;
the answer is a sentence, and the text returns to the panel. A path is no command, and ``--`` before a text
sends it whatever it looks like, as with ``%agent``.
Border: pure; works on text only. What a command does, its operation says, as behind ``%agent``.
"""

import difflib
import re
from collections.abc import Collection
from functools import cache
from typing import NamedTuple

from palimpsest.frontends.magic.line_parser import error_prompt, operation_of, parse
from palimpsest.frontends.magic.misspelled_commands import CLOSE_ENOUGH, INSTEAD
from palimpsest.frontends.operation_table import TABLE
from palimpsest.frontends.operations.grammar import OptionError
from palimpsest.frontends.operations.operation import Operation
from palimpsest.frontends.protocol.connection import View
from palimpsest.session.prompts.prompt_syntax import command_in
from palimpsest.transcript.errors import UserError

_VERBATIM = re.compile(r"\s*--\s+(?=/)")
_NAME = re.compile(r"[^\W\d_][\w-]*")
_MOST_QUOTED = 60


class Typed(NamedTuple):
    """A command of the panel."""

    operation: Operation
    view: View | None = None
    """The panel's own view, which opens instead of what the operation does."""


def typed_command(text: str, own: Collection[str]) -> Typed | str:
    """Return the command in a text, or the prompt to send; raises UserError that says why a text is not sent.

    Args:
        text: What was typed.
        own: The names of the commands that the project and the settings define; they go before ours.
    """
    if verbatim := _VERBATIM.match(text):
        return text[verbatim.end() :]
    stripped = text.strip()
    if not stripped.startswith("/"):
        return text
    if stripped == "/":
        raise UserError(
            "Write a command's name behind /; /help lists them, and /commands your own."
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
    if name in TABLE.panel_forms:
        return _built_in(stripped, name, arguments)
    if name in same_commands():
        says = f"did you mean /{same_commands()[name]}?"
        raise _refused(stripped, f"/{name} is no command here: {says}")
    raise _unknown(stripped, word, _near(name, (*own, *TABLE.panel_forms)))


@cache
def same_commands() -> dict[str, str]:
    """Return the names of the panel's commands in other agents, and ours; they are proposed, not run."""
    ours = {name: here.replace("--new PROMPT", "new") for name, here in INSTEAD.items()}
    return {
        name: here
        for name, here in ours.items()
        if here.split()[0] in TABLE.panel_forms and name not in TABLE.panel_forms
    }


def panel_words(text: str) -> str:
    """Return what an operation says with its commands as the panel's: ``/open ID`` for ``%agent open ID``."""
    names = "|".join(sorted(TABLE.panel_forms, key=len, reverse=True))
    return re.sub(
        rf"%agent (?:(--) |(?=(?:{names})\b))", lambda one: "-- " if one[1] else "/", text
    )


def _built_in(text: str, name: str, arguments: str) -> Typed | str:
    if name == "compact" and arguments and not arguments.startswith(("-", "focus on")):
        arguments = f"focus on {arguments}"
    rest = f"{name} {arguments}".strip()
    if prompt := error_prompt(rest):
        return prompt
    try:
        operation = operation_of(rest, in_panel=True)
        if operation is None:
            parse(rest)  # says what is wrong, where it knows
    except OptionError as error:
        said = str(error).partition(" To send ")[0]
        raise _refused(text, panel_words(said)) from None
    form, _ = TABLE.panel_forms[name]
    if operation is None:
        raise _refused(
            text, f"/{name} does not take {_short(arguments)!r}: {panel_words(form.help)}"
        )
    return Typed(operation, form.view if not arguments else None)


def _near(word: str, names: Collection[str]) -> str | None:
    return next(iter(difflib.get_close_matches(word, sorted(set(names)), 1, CLOSE_ENOUGH)), None)


def _unknown(text: str, word: str, near: str | None) -> UserError:
    proposal = f" Did you mean /{near}?" if near else " /help lists those that there are."
    return _refused(text, f"There is no command /{_short(word)}.{proposal}")


def _refused(text: str, why: str) -> UserError:
    end = "" if why.endswith((".", "?")) else "."
    return UserError(f"{why}{end} To send it as a prompt, write -- {_short(text)}")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MOST_QUOTED else f"{line[: _MOST_QUOTED - 1]}…"
