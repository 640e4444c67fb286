"""Parse the line after ``%agent`` into options and a prompt, or into an operation.

Border: independent of IPython and sessions; loaded with the first line. Options are parsed only at the head of the line; the
prompt is the rest, unchanged, because quotes, braces and dollars have no meaning in it.
"""

import difflib
import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, NamedTuple

from palimpsest.frontends.cell_turn.magic_line import MagicLine, MagicOptions
from palimpsest.frontends.magic.misspelled_commands import MIN_SIMILARITY, misspelling_sentence
from palimpsest.frontends.operation_base.grammar import OptionError, option_value, parse_form
from palimpsest.frontends.operation_base.operation import Operation
from palimpsest.frontends.operation_table import TABLE, Help

_ERROR_COMMAND = re.compile(r"(fix|explain)(?:\s+(\d{1,9}))?")
"""Subcommands that are prompts about the newest error, or about the error of a numbered cell."""


class Option(NamedTuple):
    """An option of the magic: its spelling and its help."""

    field: str
    """The field of ``MagicOptions`` that it sets."""
    help: str
    placeholder: str | None = None
    """The placeholder of its value in the help text; None for an option without a value."""
    short_name: str | None = None

    @property
    def long_name(self) -> str:
        """The long option, from the field's name."""
        return f"--{self.field.replace('_', '-')}"


OPTIONS = (
    Option(
        "model", "use this model from now on, such as anthropic/claude-sonnet-4-5", "NAME", "-m"
    ),
    Option("variant", "reasoning effort from now on: low, medium or high", "NAME"),
    Option("session", "use this session (its id or the beginning of it)", "ID", "-s"),
    Option("new", "begin a new session for this notebook"),
    Option("title", "with --new: what the session is called", "TEXT"),
    Option(
        "permission",
        "with --new: rules for that session alone, such as bash=deny,edit=ask, or one word for all",
        "RULES",
    ),
    Option("agent", "let this agent answer from now on", "NAME"),
    Option("system", "add these words to the system prompt of this turn", "TEXT"),
    Option("tools", "offer only these tools; none offers no tool; -A,-B leaves these out", "A,B"),
    Option("max_steps", "stop after this many model requests", "N"),
    Option("yes", "answer permission questions of this turn with yes", short_name="-y"),
    Option("again", "ask the model, also where an answer is recorded"),
    Option("quiet", "show only the final text", short_name="-q"),
    Option("bg", "send the prompt and end the cell; the agent goes on"),
    Option("steer", "like --bg, and into the turn that runs, before its next request"),
)

_OPTIONS_BY_NAME = {option.long_name: option for option in OPTIONS} | {
    option.short_name: option for option in OPTIONS if option.short_name
}
_WORD = re.compile(r"\S+")
_LOOKS_LIKE_OPTION = re.compile(r"--?[A-Za-z]")


def help_text() -> str:
    """Return the help text of ``%agent help`` and ``%%agent?``."""
    lines = [
        "Ask the agent that lives in this kernel.",
        "",
        "    %agent [options] prompt         one line",
        "    %%agent [options]               the cell's body is the prompt",
        "    answer = %agent [options] prompt",
        "",
        "The agent sees your variables and may run Python here; it asks before it does.",
        "Stop it with the kernel's stop button. Prompts are taken to the letter.",
        "",
        "Options, before the prompt:",
    ]
    for option in OPTIONS:
        short_name = f"{option.short_name}, " if option.short_name else "    "
        usage = f"{short_name}{option.long_name} {option.placeholder or ''}"
        lines.append(f"    {usage:<24} {option.help}")
    lines.append(f"    {'    --':<24} what follows is the prompt, whatever it looks like")
    lines += ["", "Subcommands:"]
    lines += [f"    %agent {name:<17} {text}" for name, text in TABLE.help.items()]
    return "\n".join(lines)


def parse_line(line: str, body: str | None = None) -> MagicLine | Operation:
    """Parse the rest of a magic's line, and the cell's body if there is one.

    Raises OptionError, with one sentence on the mistake and the right form.
    """
    values, prompt_text = _split_options(line.strip())
    if body is None and (prompt := error_prompt(prompt_text)):
        return MagicLine(_checked_options(values), prompt=prompt)
    if body is None:
        operation = operation_of(prompt_text) if prompt_text or not values else None
        if operation is not None and not values:
            return operation
        if operation is not None:
            raise OptionError(
                f"%agent {prompt_text.split()[0]} takes no options before it. To send {prompt_text!r} as a prompt, "
                "write -- before it."
            )
        if prompt_text and (
            sentence := misspelling_sentence(prompt_text, _is_command, is_alone=not values)
        ):
            raise OptionError(sentence)
    prompt = prompt_text.removeprefix("-- ") if prompt_text != "--" else ""
    if body is not None:
        prompt = f"{prompt}\n\n{body}" if prompt else body
    if not prompt.strip():
        raise OptionError(
            "There is no prompt. Write it after %agent, or in the cell below %%agent."
        )
    return MagicLine(options=_checked_options(values), prompt=prompt.strip("\n"))


def error_prompt(line: str) -> str:
    """Return the prompt for a line ``fix`` or ``explain``; empty for other lines."""
    match = _ERROR_COMMAND.fullmatch(line)
    if match is None:
        return ""
    return f"{match[1].capitalize()} @error{f' {match[2]}' if match[2] else ''}"


def operation_of(line: str, *, in_panel: bool = False) -> Operation | None:
    """Return the operation of a line; None for a prompt. Raises OptionError for a mistake in an operation."""
    if not line:
        return Help()
    name, *arguments = line.split(maxsplit=1)
    form_and_operation = (TABLE.panel_forms if in_panel else TABLE.forms).get(name)
    if form_and_operation is None:
        return None
    return parse_form(*form_and_operation, arguments[0] if arguments else "")


def _is_command(line: str) -> bool:
    """Return whether a line is a subcommand, also with wrong arguments."""
    try:
        return operation_of(line) is not None
    except OptionError:
        return True


def _split_options(text: str) -> tuple[dict[str, Any], str]:
    """Return the options at the head of the line, and the rest."""
    values: dict[str, Any] = {}
    while _LOOKS_LIKE_OPTION.match(text):
        match = _WORD.match(text)
        word = match.group() if match else text
        name, equals_sign, attached_value = word.partition("=")
        if name in {"-h", "--help"}:
            return {}, "help"
        option = _OPTIONS_BY_NAME.get(name)
        if option is None:
            raise OptionError(_unknown_option_text(name))
        text = text[len(name) :]
        if option.placeholder is None:
            if equals_sign:
                raise OptionError(f"{name} takes no value, but {attached_value!r} was given.")
            values[option.field] = True
            text = text.lstrip()
            continue
        value_text = text.removeprefix("=") if equals_sign else text
        values[option.field], text = option_value(name, value_text, option.placeholder)
    return values, text


def _unknown_option_text(name: str) -> str:
    closest = difflib.get_close_matches(name, _OPTIONS_BY_NAME, 1, MIN_SIMILARITY)
    if closest:
        return f"Unknown option {name!r}. Did you mean {closest[0]!r}?"
    return f"Unknown option {name!r}. %agent help lists them; write -- before a prompt that begins with a dash."


def _parse_tools(tool_names: str) -> tuple[str, ...] | Mapping[str, bool]:
    """Parse tool names to offer, or, each with a dash, names to leave out."""
    names = [name for word in tool_names.split(",") if (name := word.strip())]
    if names == ["none"]:
        return ()
    if not names:
        raise OptionError("--tools was given no name.")
    omitted_tools = {name[1:]: False for name in names if name.startswith("-")}
    if omitted_tools and len(omitted_tools) < len(names):
        raise OptionError(
            "--tools takes the tools to offer (read,grep) or, each with a dash, those to leave out (-bash,-task)."
        )
    return omitted_tools or tuple(names)


def _parse_rules(rules_text: str) -> Mapping[str, str] | str:
    """Parse rules in the form of the settings; the actions are checked when the rules are used."""
    if "=" not in rules_text:
        return rules_text.strip()
    pairs = [word.partition("=") for word in rules_text.split(",") if word.strip()]
    if not all(name.strip() and action.strip() for name, _, action in pairs):
        raise OptionError("--permission takes a word for all, or rules such as bash=deny,edit=ask.")
    return {name.strip(): action.strip() for name, _, action in pairs}


def _checked_options(values: dict[str, Any]) -> MagicOptions:
    """Return the options for raw values; raises OptionError for a wrong one."""
    if values.get("new") and values.get("session"):
        raise OptionError("--new and --session contradict each other; give one of them.")
    for name in ("title", "permission"):
        if name in values and not values.get("new"):
            raise OptionError(f"--{name} is for a session that --new begins; give both.")
    if "max_steps" in values:
        values["max_steps"] = _positive_number(values["max_steps"])
    for field in fields(MagicOptions):
        if values.get(field.name) == "":
            raise OptionError(f"--{field.name.replace('_', '-')} was given an empty value.")
    if "tools" in values:
        values["tools"] = _parse_tools(values["tools"])
    if "permission" in values:
        values["permission"] = _parse_rules(values["permission"])
    return MagicOptions(**values)


def _positive_number(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise OptionError(f"--max-steps needs a whole number of at least 1, not {text!r}.")
    return number
