"""Parse a command that the user typed into the panel: ``/name arguments``.

An unknown first word after a slash is not sent, since a typing error would then cost a request; the user gets an error,
and the text returns to the panel. A path is no command, and ``--`` before a text always sends it, as with ``%agent``.
Border: pure; works on text only and runs no operation.
"""

import difflib
import re
from collections.abc import Collection
from functools import cache
from typing import NamedTuple

from palimpsest.frontends.magic.line_parser import error_prompt, operation_of, parse_line
from palimpsest.frontends.magic.misspelled_commands import FOREIGN_COMMANDS, MIN_SIMILARITY
from palimpsest.frontends.operation_base.grammar import OptionError
from palimpsest.frontends.operation_base.operation import Operation
from palimpsest.frontends.operation_table import TABLE
from palimpsest.frontends.protocol.connection import View
from palimpsest.session.prompts.prompt_syntax import command_in
from palimpsest.transcript.errors import UserError

_VERBATIM = re.compile(r"\s*--\s+(?=/)")
_NAME = re.compile(r"[^\W\d_][\w-]*")
_MAX_QUOTED_CHARS = 60


class TypedCommand(NamedTuple):
    """A parsed command of the panel."""

    operation: Operation
    view: View | None = None
    """The panel's view that opens instead of running the operation."""


def typed_command(text: str, own_commands: Collection[str]) -> TypedCommand | str:
    """Return the command in a text, or the prompt to send; raises UserError with the reason for a text that is neither.

    ``own_commands`` are the names of those that the project and the settings define; they win over built-in ones.
    """
    if verbatim := _VERBATIM.match(text):
        return text[verbatim.end() :]
    stripped_text = text.strip()
    if not stripped_text.startswith("/"):
        return text
    if stripped_text == "/":
        raise UserError(
            "Write a command's name behind /; /help lists them, and /commands your own."
        )
    command = command_in(stripped_text)
    if command is None or command[0] in own_commands:
        return text
    word = stripped_text[1:].split(maxsplit=1)[0]
    if _NAME.fullmatch(word) is None:
        closest_name = _closest_name(word, own_commands) if "/" in word.strip("/") else None
        if closest_name:
            raise _unknown_command_error(stripped_text, word, closest_name)
        return text
    name, arguments = word.lower(), " ".join(command[1].split())
    if name in TABLE.panel_forms:
        return _built_in_command(stripped_text, name, arguments)
    if name in commands_of_other_agents():
        proposal = f"did you mean /{commands_of_other_agents()[name]}?"
        raise _refusal_error(stripped_text, f"/{name} is no command here: {proposal}")
    closest_name = _closest_name(name, (*own_commands, *TABLE.panel_forms))
    raise _unknown_command_error(stripped_text, word, closest_name)


@cache
def commands_of_other_agents() -> dict[str, str]:
    """Return Palimpsest's command by the name that other agents use; it is proposed, not run."""
    own_names = {
        name: own_name.replace("--new PROMPT", "new") for name, own_name in FOREIGN_COMMANDS.items()
    }
    return {
        name: own_name
        for name, own_name in own_names.items()
        if own_name.split()[0] in TABLE.panel_forms and name not in TABLE.panel_forms
    }


def panel_text(text: str) -> str:
    """Return an operation's text with the panel's form of commands: ``/open ID`` for ``%agent open ID``."""
    names = "|".join(sorted(TABLE.panel_forms, key=len, reverse=True))
    pattern = rf"%agent (?:(--) |(?=(?:{names})\b))"
    return re.sub(pattern, lambda match: "-- " if match[1] else "/", text)


def _built_in_command(text: str, name: str, arguments: str) -> TypedCommand | str:
    if name == "compact" and arguments and not arguments.startswith(("-", "focus on")):
        arguments = f"focus on {arguments}"
    command_line = f"{name} {arguments}".strip()
    if prompt := error_prompt(command_line):
        return prompt
    try:
        operation = operation_of(command_line, in_panel=True)
        if operation is None:  # where it has a more exact reason, this raises OptionError
            parse_line(command_line)
    except OptionError as error:
        problem = str(error).partition(" To send ")[0]
        raise _refusal_error(text, panel_text(problem)) from None
    form, _ = TABLE.panel_forms[name]
    if operation is None:
        reason = f"/{name} does not take {_excerpt(arguments)!r}: {panel_text(form.help)}"
        raise _refusal_error(text, reason)
    return TypedCommand(operation, form.view if not arguments else None)


def _closest_name(word: str, names: Collection[str]) -> str | None:
    return next(iter(difflib.get_close_matches(word, sorted(set(names)), 1, MIN_SIMILARITY)), None)


def _unknown_command_error(text: str, word: str, closest_name: str | None) -> UserError:
    proposal = (
        f" Did you mean /{closest_name}?" if closest_name else " /help lists those that there are."
    )
    return _refusal_error(text, f"There is no command /{_excerpt(word)}.{proposal}")


def _refusal_error(text: str, reason: str) -> UserError:
    end = "" if reason.endswith((".", "?")) else "."
    return UserError(f"{reason}{end} To send it as a prompt, write -- {_excerpt(text)}")


def _excerpt(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_QUOTED_CHARS else f"{line[: _MAX_QUOTED_CHARS - 1]}…"
