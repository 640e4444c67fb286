"""Fill in the words of a command: arguments, shell output, files; and find agents that a prompt names.

Border: pure; what a shell prints and what a file holds is put in by ``expanding``.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

_NUMBER = re.compile(r"\$(\d+)")
_ALL = "$ARGUMENTS"
_WORD = re.compile(r"\"((?:\\.|[^\"\\])*)\"|'([^']*)'|(\S+)")
_SHELL = re.compile(r"!`([^`\n]+)`")
_FILE = re.compile(r"(?<![\w`@])@([^\s`,;:!?\"'()\[\]{}<>@]*[^\s`,.;:!?\"'()\[\]{}<>@])")
_COMMAND = re.compile(r"/([\w][\w./-]*)(?:\s+(.*))?\Z", re.DOTALL)
_AGENT = re.compile(r"(?<![\w`@/.])@([\w][\w./-]*\w|\w)")


@dataclass(frozen=True, slots=True)
class Shell:
    """A command whose output stands in the words."""

    command: str


@dataclass(frozen=True, slots=True)
class FileMention:
    """A path that a prompt names."""

    path: str
    start: int
    end: int
    """With the at sign."""


@dataclass(frozen=True, slots=True)
class AgentMention:
    """An agent that a prompt names."""

    name: str
    start: int
    end: int


def command_in(text: str) -> tuple[str, str] | None:
    """Return the name and the arguments of the command that a prompt seems to be, or None."""
    found = _COMMAND.match(text.strip())
    return (found[1], (found[2] or "").strip()) if found is not None else None


def split_arguments(arguments: str) -> list[str]:
    """Split arguments at blanks; what stands in quotes is one."""
    return [
        re.sub(r"\\(.)", r"\1", quoted) if quoted else single or plain
        for quoted, single, plain in _WORD.findall(arguments)
    ]


def fill_template(template: str, arguments: str) -> str:
    """Put arguments into a template: ``$1`` and so on, of which the highest takes the rest, ``$ARGUMENTS``.

    A template that has place for none gets them at its end.
    """
    numbers = [int(number) for number in _NUMBER.findall(template)]
    highest = max(numbers, default=0)
    words = split_arguments(arguments)

    def one(match: "re.Match[str]") -> str:
        number = int(match[1])
        if number == 0:
            return match[0]
        if number == highest:
            return " ".join(words[number - 1 :])
        return words[number - 1] if number <= len(words) else ""

    # One pass, so that what a person writes is never taken for a place itself.
    whole = re.compile(rf"{_NUMBER.pattern}|{re.escape(_ALL)}")
    text = whole.sub(
        lambda match: arguments if match[0] == _ALL else one(match),
        template,
    )
    if not highest and _ALL not in template and arguments.strip():
        text = f"{text}\n\n{arguments.strip()}"
    return text.strip()


def shell_pieces_of(text: str) -> list[str | Shell]:
    """Split words at the shell commands in them."""
    found: list[str | Shell] = []
    at = 0
    for match in _SHELL.finditer(text):
        found += [text[at : match.start()], Shell(match[1].strip())]
        at = match.end()
    return [*found, text[at:]]


def files_in(text: str, leave_out: Collection[str] = ()) -> list[FileMention]:
    """Return the paths that stand behind an at sign, each once, in order."""
    found: dict[str, FileMention] = {}
    for match in _FILE.finditer(text):
        if match[1] not in leave_out:
            found.setdefault(match[1], FileMention(match[1], match.start(), match.end()))
    return list(found.values())


def agent_mentions(text: str, agents: Collection[str]) -> list[AgentMention]:
    """Return the agents that words name, in order."""
    return [
        AgentMention(match[1], match.start(), match.end())
        for match in _AGENT.finditer(text)
        if match[1] in agents
    ]


def subtasks_in(text: str, agents: Collection[str]) -> list[tuple[str, str]]:
    """Return agent and task of each paragraph that begins with an agent's name.

    Empty unless the prompt itself begins with one: then it is for that agent, up to the next line
    that begins with a name.
    """
    starts = [
        one
        for one in agent_mentions(text, agents)
        if not text[: one.start].rpartition("\n")[2].strip()
    ]
    if not starts or text[: starts[0].start].strip():
        return []
    ends: Sequence[int] = [one.start for one in starts[1:]] + [len(text)]
    tasks = [(one.name, text[one.end : end].strip()) for one, end in zip(starts, ends, strict=True)]
    return [(name, task) for name, task in tasks if task]
