"""Refuse a line that looks like a misspelled subcommand, and suggest the nearest correct one.

A line that is no subcommand is sent to a model, which costs money, so a typing error gets an error message. A
line of three words or more that begins with a command's name is a prompt, unless an option, a session's id
or a keyword of the command follows, since no prompt begins like that. Border: works on text only.
"""

import difflib
import re
from collections.abc import Callable

from palimpsest.frontends.operation_base.grammar import SESSION_WORD, keywords, word_arguments
from palimpsest.frontends.operation_table import TABLE

MIN_SIMILARITY = 0.7
"""Ratio of difflib from which on a word is proposed; "modle" and "model" have 0.8."""

MIN_KEYWORD_SIMILARITY = 0.6
"""Ratio of difflib from which on a keyword of a command is proposed."""
MAX_CANDIDATES = 3

CONVERSATION_WORDS = frozenset(
    (
        *("hi", "hello", "hey", "hallo", "hola", "bonjour", "ciao"),
        *("go", "continue", "weiter", "yes", "no", "ok", "okay", "why", "how"),
        *("thanks", "please", "merci", "danke"),
    )
)
"""Words of conversation that are a prompt, and no typing error, when alone on a line."""

FOREIGN_COMMANDS = {
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
"""Commands of other agents, and the form to write here instead."""

PROMPT_COMMANDS = frozenset({"fix", "explain"})
"""Subcommands that may also begin a prompt, as in ``explain df``."""

_SESSION_ID = re.compile(SESSION_WORD.pattern)
_OPTION = re.compile(r"--?[A-Za-z][\w-]*(=\S*)?")
_SINGLE_WORD = re.compile(r"[A-Za-z][A-Za-z_-]*")
_NUMBER = re.compile(r"[-+$]*\d[\d.,_]*\w*")
_MAX_QUOTED_CHARS = 60


def misspelling_sentence(
    line: str, is_command: Callable[[str], bool], *, is_alone: bool
) -> str | None:
    """Return the error message for a line that is no subcommand but looks like one; None for a prompt.

    Args:
        line: The line after its options.
        is_command: Returns whether a line is a subcommand.
        is_alone: Whether there are no options before it.
    """
    first_word, *arguments = line.split()
    name, commands = first_word.lower(), TABLE.forms
    if name in PROMPT_COMMANDS and arguments and not any(map(_OPTION.fullmatch, arguments)):
        return None
    if name in commands:
        return _mistake_text(line, name, arguments) or _corrected_command(line, name, is_command)
    if arguments:
        candidates = difflib.get_close_matches(name, commands, MAX_CANDIDATES, MIN_SIMILARITY)
        near_names = (candidate for candidate in candidates if _differ_by_one_slip(name, candidate))
        proposals = (_corrected_command(line, candidate, is_command) for candidate in near_names)
        sentence = next((proposal for proposal in proposals if proposal), None)
        if sentence and name in FOREIGN_COMMANDS:
            return _proposal_text(FOREIGN_COMMANDS[name], line)
        return sentence
    if _SINGLE_WORD.fullmatch(first_word) is None or name in CONVERSATION_WORDS:
        return None
    closest_names = difflib.get_close_matches(name, commands, 1, MIN_SIMILARITY)
    if closest_names or name in FOREIGN_COMMANDS:
        return _proposal_text(FOREIGN_COMMANDS.get(name) or closest_names[0], line)
    if not is_alone:
        return None
    return (
        f"One word alone is read as a subcommand, and none is called {first_word!r}; %agent help lists them. "
        f"To send it as a prompt, write %agent -- {first_word}"
    )


def _mistake_text(line: str, name: str, arguments: list[str]) -> str | None:
    """Return a sentence about a command's wrong arguments; None where the line is a prompt."""
    form, operation = TABLE.forms[name]
    purpose = form.help
    options = [word for word in arguments if _OPTION.fullmatch(word)]
    if SESSION_WORD in word_arguments(form, operation) and (options or len(arguments) == 1):
        id_word = next((word for word in arguments if word not in options), "")
        if id_word and _SESSION_ID.fullmatch(id_word) is None:
            hint = f"{_excerpt(id_word)} is no session's id; %agent sessions lists them, for %agent {name} ID."
            return f"{hint} {_prompt_hint(line)}"
    if options:
        return f"%agent {name} takes no option {options[0]}. It is for: {purpose}. {_prompt_hint(line)}"
    closest_names = []
    if arguments:
        closest_names = difflib.get_close_matches(
            arguments[0].lower(), keywords(form, operation), 1, MIN_KEYWORD_SIMILARITY
        )
    if len(arguments) == 1:
        if closest_names:
            return _proposal_text(f"{name} {closest_names[0]}", line)
        return f"%agent {name} does not take {_excerpt(arguments[0])}. It is for: {purpose}. {_prompt_hint(line)}"
    is_keyword = (
        bool(closest_names) and closest_names[0] == arguments[0].lower() and form.is_never_prompt
    )
    is_amount = name == "budget" and bool(arguments) and bool(_NUMBER.fullmatch(arguments[0]))
    if is_keyword or is_amount or any(map(_SESSION_ID.fullmatch, arguments)):
        return f"%agent {name} does not take {_excerpt(' '.join(arguments))}. It is for: {purpose}. {_prompt_hint(line)}"
    return None


def _corrected_command(line: str, name: str, is_command: Callable[[str], bool]) -> str | None:
    """Return a proposal with the first word corrected, if that makes the line a subcommand."""
    arguments = line.partition(line.split()[0])[2]
    proposal = f"{name}{arguments}"
    return _proposal_text(proposal, line) if proposal != line and is_command(proposal) else None


def _proposal_text(corrected_line: str, line: str) -> str:
    return f"Did you mean %agent {corrected_line}? {_prompt_hint(line)}"


def _prompt_hint(line: str) -> str:
    return f"To send {line!r} as a prompt, write %agent -- {line}"


def _excerpt(text: str) -> str:
    return repr(text if len(text) <= _MAX_QUOTED_CHARS else f"{text[: _MAX_QUOTED_CHARS - 1]}…")


def _differ_by_one_slip(word: str, other: str) -> bool:
    """Return whether two words differ by one omitted, added or replaced letter, or by two swapped ones."""
    if abs(len(word) - len(other)) > 1 or word == other:
        return False
    start = next((n for n, (a, b) in enumerate(zip(word, other, strict=False)) if a != b), None)
    if start is None:
        return True
    a, b = word[start:], other[start:]
    return a[1:] == b or a == b[1:] or a[1:] == b[1:] or (a[1::-1] + a[2:] == b)
