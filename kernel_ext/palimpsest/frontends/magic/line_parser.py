"""Parse the line after ``%agent`` into options, a prompt, or a subcommand.

Border: knows nothing of IPython or sessions and imports nothing heavy, since it is loaded by
``%load_ext``. Options are read only at the head of the line; the prompt is what follows, verbatim,
because quotes, braces and dollars in a prompt are the user's and not a shell's.
"""

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from palimpsest.frontends.magic import permission_arguments
from palimpsest.frontends.magic.context_arguments import (
    CONTEXT_FORMS,
    CONTEXT_WORDS,
    context_argument,
)
from palimpsest.frontends.magic.misspelled_commands import CLOSE_ENOUGH, misspelling_sentence
from palimpsest.frontends.magic.session_arguments import SESSION_COMMANDS, session_argument
from palimpsest.frontends.magic.sharing_arguments import SHARING_COMMANDS, sharing_argument

Command = Literal[
    "status",
    "sessions",
    "open",
    "title",
    "archive",
    "unarchive",
    "delete",
    "fork",
    "branches",
    "children",
    "use",
    "stop",
    "wait",
    "retry",
    "withdraw",
    "compact",
    "context",
    "private",
    "replay",
    "pin",
    "unpin",
    "exclude",
    "restore",
    "revert",
    "unrevert",
    "cleanup",
    "diff",
    "todo",
    "mode",
    "permissions",
    "budget",
    "trust",
    "step",
    "policy",
    "agents",
    "commands",
    "skills",
    "models",
    "config",
    "hooks",
    "mcp",
    "storage",
    "share",
    "unshare",
    "export",
    "import",
    "help",
]

COMMANDS: dict[str, str] = {
    "status": "the session of this notebook, its model, what runs and what waits",
    **{name: text for name, text in SESSION_COMMANDS.items() if name != "storage"},
    "use": "go on with another session: %agent use ID",
    "stop": "stop the turn that runs",
    "wait": "wait for the turn that runs, and show its answer",
    "retry": "send the newest turn's request again, because it failed",
    "withdraw": "take waiting prompts back: the newest, or %agent withdraw all",
    "compact": "put a summary in the place of what was said: %agent compact [--model NAME] [--auto] [focus on ...]",
    "context": "what fills the model's window, and what is gone from it, since when and why; "
    "context at N shows request N, changed A B two compared, why ITEM N why an item is in it or not",
    "fix": "mend the newest error, or that of a cell: %agent fix [NUMBER]",
    "explain": "explain the newest error, or that of a cell: %agent explain [NUMBER]",
    "private": "keep the next cell, its output and its errors from the agent",
    "replay": "whether cells show their recorded answers; %agent replay off lets each ask again, on ends that",
    "pin": "keep a part in every request: %agent pin ID; without an ID, list what there is",
    "unpin": "take a pin off again",
    "exclude": "leave a part out of every request: %agent exclude ID",
    "restore": "bring back what was excluded, cleared or compacted: %agent restore ID",
    "revert": "revert the newest prompt, or from ID on, with its files: %agent revert [ID] [--preview]",
    "unrevert": "undo the revert",
    "cleanup": "remove what is reverted, for good",
    "diff": "what the session changed in files: %agent diff, or diff last for the newest turn",
    "todo": "what the agent has to do in this session",
    "policy": "what is left out for the model, and when: %agent policy [NAME] [number=value]",
    "mode": "how freely the agent works: %agent mode ask, plan, accept-edits or bypass",
    "permissions": "what is always allowed, and every rule; %agent permissions revoke N or all",
    "budget": "what the session may spend: %agent budget 2usd, 500k tokens, or off",
    "trust": "what the session's log claims and does not hold; %agent trust session allows it",
    "step": "hold each request until you let it go: %agent step on, off, status, send, another or older",
    "agents": "who can answer, and to whom work can be handed, with where they come from",
    "commands": "prompts of your own under a name: %agent /NAME sends one",
    "skills": "texts that the model loads for one kind of task",
    "models": "the models that can be used here",
    "config": "every setting and where it came from; %agent config trust believes this project's file",
    "hooks": "functions that take part in each turn, where they come from, and which failed",
    "mcp": "MCP servers, their state and tools; %agent mcp connect tries them again",
    "storage": SESSION_COMMANDS["storage"],
    **SHARING_COMMANDS,
    "help": "this text",
}

_ERROR_COMMAND = re.compile(r"(fix|explain)(?:\s+(\d{1,9}))?")
"""Subcommands that are prompts: about the newest error, or that of the cell with this number."""

CONTEXT_EDITS = frozenset({"pin", "unpin", "exclude", "restore"})
"""Subcommands about one part or message."""

REVERT_COMMANDS = frozenset({"revert", "unrevert", "cleanup", "diff"})
"""Subcommands that revert, undo a revert, make it final, or show what changed."""
REVERT_FLAGS = {"revert": ("--preview", "--overwrite"), "unrevert": ("--overwrite",)}


class OptionError(Exception):
    """Wrong input after the magic; its message is one sentence, shown without a traceback."""


@dataclass(frozen=True, slots=True)
class MagicOptions:
    """The options given on the line of the magic."""

    model: str | None = None
    variant: str | None = None
    session: str | None = None
    new: bool = False
    title: str | None = None
    permission: Mapping[str, str] | str | None = None
    agent: str | None = None
    system: str | None = None
    tools: tuple[str, ...] | Mapping[str, bool] | None = None
    max_steps: int | None = None
    yes: bool = False
    again: bool = False
    quiet: bool = False
    bg: bool = False
    steer: bool = False
    auto: bool = False
    """Option of ``compact``: the agent goes on by itself after the summary."""


@dataclass(frozen=True, slots=True)
class MagicLine:
    """A parsed line of the magic: either a prompt with options, or a subcommand."""

    options: MagicOptions = MagicOptions()
    prompt: str = ""
    command: Command | None = None
    argument: str = ""


@dataclass(frozen=True, slots=True)
class Option:
    """How one option is written and explained."""

    field: str
    long: str
    short: str | None = None
    value: str | None = None
    help: str = ""


OPTIONS: tuple[Option, ...] = (
    Option(
        "model",
        "--model",
        "-m",
        "NAME",
        "use this model from now on, such as anthropic/claude-sonnet-4-5",
    ),
    Option(
        "variant", "--variant", None, "NAME", "reasoning effort from now on: low, medium or high"
    ),
    Option("session", "--session", "-s", "ID", "use this session (its id or the beginning of it)"),
    Option("new", "--new", None, None, "begin a new session for this notebook"),
    Option("title", "--title", None, "TEXT", "with --new: what the session is called"),
    Option(
        "permission",
        "--permission",
        None,
        "RULES",
        "with --new: rules for that session alone, such as bash=deny,edit=ask, or one word for all",
    ),
    Option("agent", "--agent", None, "NAME", "let this agent answer from now on"),
    Option("system", "--system", None, "TEXT", "add these words to the system prompt of this turn"),
    Option(
        "tools",
        "--tools",
        None,
        "A,B",
        "offer only these tools; none offers no tool; -A,-B leaves these out",
    ),
    Option("max_steps", "--max-steps", None, "N", "stop after this many model requests"),
    Option("yes", "--yes", "-y", None, "answer permission questions of this turn with yes"),
    Option("again", "--again", None, None, "ask the model, also where an answer is recorded"),
    Option("quiet", "--quiet", "-q", None, "show only the final text"),
    Option("bg", "--bg", None, None, "send the prompt and end the cell; the agent goes on"),
    Option(
        "steer",
        "--steer",
        None,
        None,
        "like --bg, and into the turn that runs, before its next request",
    ),
)

_BY_NAME = {option.long: option for option in OPTIONS} | {
    option.short: option for option in OPTIONS if option.short
}
_WORD = re.compile(r"\S+")
_POLICY_WORD = re.compile(r"""[^\s=]+=(?:"[^"]*"|'[^']*'|\S*)|\S+""")
_LOOKS_LIKE_OPTION = re.compile(r"--?[A-Za-z]")


def help_text() -> str:
    """Return the help that ``%agent help`` and ``%%agent?`` show."""
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
        names = f"{option.short}, {option.long}" if option.short else f"    {option.long}"
        usage = f"{names} {option.value or ''}"
        lines.append(f"    {usage:<24} {option.help}")
    lines.append(f"    {'    --':<24} what follows is the prompt, whatever it looks like")
    lines += ["", "Subcommands:"]
    lines += [f"    %agent {name:<17} {text}" for name, text in COMMANDS.items()]
    return "\n".join(lines)


def parse(line: str, body: str | None = None) -> MagicLine:
    """Read the rest of a magic's line, and the cell's body if there is one.

    Raises:
        OptionError: with one sentence that states what is wrong and how to write it.
    """
    values, rest = _options(line.strip())
    if body is None and (about := _ERROR_COMMAND.fullmatch(rest)):
        number = f" {about[2]}" if about[2] else ""
        return MagicLine(_checked(values), prompt=f"{about[1].capitalize()} @error{number}")
    if body is None:
        command = _command(rest) if rest or not values else None
        if command is not None and not values:
            return command
        if command is not None:
            raise OptionError(
                f"%agent {command.command} takes no options before it. To send {rest!r} as a prompt, "
                "write -- before it."
            )
        if rest and (
            sentence := misspelling_sentence(rest, COMMANDS, _is_command, alone=not values)
        ):
            raise OptionError(sentence)
    prompt = rest.removeprefix("-- ") if rest != "--" else ""
    if body is not None:
        prompt = f"{prompt}\n\n{body}" if prompt else body
    if not prompt.strip():
        raise OptionError(
            "There is no prompt. Write it after %agent, or in the cell below %%agent."
        )
    return MagicLine(options=_checked(values), prompt=prompt.strip("\n"))


def _command(rest: str) -> MagicLine | None:
    """Return the subcommand that the line is, or None when it is a prompt."""
    words = rest.split()
    if not words:
        return MagicLine(command="help")
    word = words[0]
    if words in (["mcp", "connect"], ["withdraw", "all"], ["replay", "on"], ["replay", "off"]):
        return MagicLine(command=word, argument=words[1])  # type: ignore[arg-type]  # both are
    found = _context(words) if word == "context" else _with_argument(word, words, rest)
    if found is None and len(words) == 1 and word in COMMANDS:
        return MagicLine(command=word)  # type: ignore[arg-type]  # the keys are the literals
    return found


def _is_command(rest: str) -> bool:
    """Tell whether a line is a subcommand, or would be with other arguments."""
    try:
        return _command(rest) is not None
    except OptionError:
        return True


def _with_argument(word: str, words: list[str], rest: str) -> MagicLine | None:
    """Return the subcommand with its argument, or None."""
    if word == "use" and len(words) <= 2:
        if len(words) == 1:
            raise OptionError("Which session? Write %agent use ID; %agent sessions lists them.")
        return MagicLine(command="use", argument=words[1])
    if word in CONTEXT_EDITS and len(words) <= 2:
        return MagicLine(command=word, argument=" ".join(words[1:]))  # type: ignore[arg-type]  # as above
    if (
        word in permission_arguments.NAMES
        and (about := permission_arguments.argument(words)) is not None
    ):
        return MagicLine(command=word, argument=about)  # type: ignore[arg-type]  # as above
    if word in REVERT_COMMANDS and (given := revert_argument(words)) is not None:
        return MagicLine(command=word, argument=given)  # type: ignore[arg-type]  # as above
    if word in SESSION_COMMANDS and (given := session_argument(words, rest)) is not None:
        return MagicLine(command=word, argument=given)  # type: ignore[arg-type]  # as above
    if word in SHARING_COMMANDS and (given := sharing_argument(words, rest)) is not None:
        return MagicLine(command=word, argument=given)  # type: ignore[arg-type]  # as above
    if word == "compact":
        return _compact(rest)
    if word == "policy" and _is_policy(chosen := policy_words(rest)[1:]):
        return MagicLine(command="policy", argument=" ".join(chosen))
    return None


def _context(words: list[str]) -> MagicLine | None:
    """Return ``context`` with its arguments, or None; raises OptionError for a keyword with nothing behind it."""
    if len(words) == 2 and words[1] in CONTEXT_WORDS:
        raise OptionError(f"Which one? Write {CONTEXT_FORMS[words[1]]}.")
    argument = context_argument(words)
    return None if argument is None else MagicLine(command="context", argument=argument)


COMPACT_OPTIONS = ("--model", "--auto")
"""The options of ``compact``; ``-m`` is short for the first."""


def _compact(rest: str) -> MagicLine | None:
    """Return ``compact`` with its options and its focus; None for a prompt that begins with the word.

    Raises OptionError where an option or the focus has no value, or other text follows an option.
    """
    values: dict[str, Any] = {}
    text = rest[len("compact") :].lstrip()
    while (name := re.split(r"[\s=]", text, maxsplit=1)[0]) in (*COMPACT_OPTIONS, "-m"):
        text = text[len(name) :]
        if name == "--auto":
            values["auto"], text = True, text.lstrip()
        else:
            values["model"], text = _value(name, text.removeprefix("="))
    words = text.split(maxsplit=2)
    if words[:2] == ["focus", "on"]:
        if len(words) == 2:
            raise OptionError("On what? Write %agent compact focus on WHAT THE SUMMARY KEEPS.")
        return MagicLine(MagicOptions(**values), command="compact", argument=words[2])
    if words and values:
        raise OptionError(
            f"%agent compact does not take {text!r} behind its options: write focus on WHAT THE SUMMARY KEEPS."
        )
    return MagicLine(MagicOptions(**values), command="compact") if not words else None


def revert_argument(words: list[str]) -> str | None:
    """Return the arguments of ``revert`` and related commands; None for a prompt that begins so."""
    name, *rest = words
    flags = [one for one in rest if one.startswith("--")]
    names = [one for one in rest if not one.startswith("--")]
    if any(flag.partition("=")[0] not in REVERT_FLAGS.get(name, ()) for flag in flags):
        return None
    most = 1 if name in {"revert", "diff"} else 0
    if len(names) > most or not all(re.fullmatch(r"\w+", one) for one in names):
        return None
    return " ".join(rest)


def policy_words(text: str) -> list[str]:
    """Split the text of a policy into words; a quoted value may hold blanks."""
    return _POLICY_WORD.findall(text)


def _is_policy(words: list[str]) -> bool:
    """Tell whether words are a policy's arguments, not a prompt that begins with ``policy``."""
    return len(words) == 1 or (bool(words) and all("=" in word for word in words[1:]))


def _options(text: str) -> tuple[dict[str, Any], str]:
    """Split the options at the head from the rest of the line."""
    values: dict[str, Any] = {}
    while _LOOKS_LIKE_OPTION.match(text):
        match = _WORD.match(text)
        word = match.group() if match else text
        name, equals, attached = word.partition("=")
        if name in {"-h", "--help"}:
            return {}, "help"
        option = _BY_NAME.get(name)
        if option is None:
            raise OptionError(_unknown(name))
        text = text[len(name) :]
        if option.value is None:
            if equals:
                raise OptionError(f"{name} takes no value, but {attached!r} was given.")
            values[option.field] = True
            text = text.lstrip()
            continue
        values[option.field], text = _value(name, text.removeprefix("=") if equals else text)
    return values, text


def _value(name: str, text: str) -> tuple[str, str]:
    """Read one option value, quoted or up to the next blank."""
    text = text.lstrip()
    if text[:1] in {"'", '"'}:
        value, quote, rest = text[1:].partition(text[0])
        if not quote:
            raise OptionError(f"The value of {name} begins with {text[0]} but never ends with it.")
        return value, rest.lstrip()
    match = _WORD.match(text)
    if match is None:
        option = _BY_NAME[name]
        raise OptionError(f"{name} needs a value: {name} {option.value}.")
    return match.group(), text[match.end() :].lstrip()


def _unknown(name: str) -> str:
    close = difflib.get_close_matches(name, _BY_NAME, 1, CLOSE_ENOUGH)
    if close:
        return f"Unknown option {name!r}. Did you mean {close[0]!r}?"
    return f"Unknown option {name!r}. %agent help lists them; write -- before a prompt that begins with a dash."


def _tools(words: str) -> tuple[str, ...] | Mapping[str, bool]:
    """Return the names to offer, or those to leave out, each with a dash before it."""
    names = [name for one in words.split(",") if (name := one.strip())]
    if names == ["none"]:
        return ()
    if not names:
        raise OptionError("--tools was given no name.")
    left_out = {name[1:]: False for name in names if name.startswith("-")}
    if left_out and len(left_out) < len(names):
        raise OptionError(
            "--tools takes the tools to offer (read,grep) or, each with a dash, those to leave out (-bash,-task)."
        )
    return left_out or tuple(names)


def _rules(words: str) -> Mapping[str, str] | str:
    """Return rules in the form of the settings; the actions are checked where the rules are read."""
    if "=" not in words:
        return words.strip()
    pairs = [one.partition("=") for one in words.split(",") if one.strip()]
    if not all(name.strip() and action.strip() for name, _, action in pairs):
        raise OptionError("--permission takes a word for all, or rules such as bash=deny,edit=ask.")
    return {name.strip(): action.strip() for name, _, action in pairs}


def _checked(values: dict[str, Any]) -> MagicOptions:
    """Turn the raw values into options; raises OptionError for a wrong one."""
    if values.get("new") and values.get("session"):
        raise OptionError("--new and --session contradict each other; give one of them.")
    for name in ("title", "permission"):
        if name in values and not values.get("new"):
            raise OptionError(f"--{name} is for a session that --new begins; give both.")
    if "max_steps" in values:
        values["max_steps"] = _positive(values["max_steps"])
    for field in fields(MagicOptions):
        if values.get(field.name) == "":
            raise OptionError(f"--{field.name.replace('_', '-')} was given an empty value.")
    if "tools" in values:
        values["tools"] = _tools(values["tools"])
    if "permission" in values:
        values["permission"] = _rules(values["permission"])
    return MagicOptions(**values)


def _positive(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise OptionError(f"--max-steps needs a whole number of at least 1, not {text!r}.")
    return number
