"""Parse commands, arguments, shell commands and mentions of files and agents in a prompt.

Border: pure; ``prompt_expansion`` runs shell commands and reads files.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from palimpsest.lazy_patterns import lazy_pattern
from palimpsest.transcript.messages import Messages, UserMessage, typed_texts

_NUMBERED_PLACEHOLDER = lazy_pattern(r"\$(\d+)")
_ALL_ARGUMENTS = "$ARGUMENTS"
_ARGUMENT = lazy_pattern(r"\"((?:\\.|[^\"\\])*)\"|'([^']*)'|(\S+)")
_SHELL_COMMAND = lazy_pattern(r"!`([^`\n]+)`")
_FILE_MENTION = lazy_pattern(r"(?<![\w`@])@([^\s`,;:!?\"'()\[\]{}<>@]*[^\s`,.;:!?\"'()\[\]{}<>@])")
_COMMAND = lazy_pattern(r"/([\w][\w./-]*)(?:\s+(.*))?\Z", re.DOTALL)
_CELL_MENTION = lazy_pattern(
    r"(?<![\w`@])@(?:(cell|out)[ \t]+(\d+)|(error)(?:[ \t]+(\d+))?)\b(?!\.\w)"
)
_VARIABLE_MENTION = lazy_pattern(
    r"(?<![\w`@/.])@([^\W\d]\w*(?:\.[^\W\d]\w*|\[(?:'[^'\n]{1,60}'|\"[^\"\n]{1,60}\"|-?\d{1,9})\])*)"
)
_AGENT_MENTION = lazy_pattern(r"(?<![\w`@/.])@([\w][\w./-]*\w|\w)")


@dataclass(frozen=True, slots=True)
class PromptShellCommand:
    """A shell command in a text, which its output will replace."""

    command: str


@dataclass(frozen=True, slots=True)
class FileMention:
    """A path that a prompt names with an at sign."""

    path: str
    start: int
    end: int
    """Positions in the text; the at sign is included."""


MentionKind = Literal["cell", "out", "error", "variable"]
_CELL_KINDS: Mapping[str, MentionKind] = {"cell": "cell", "out": "out", "error": "error"}


@dataclass(frozen=True, slots=True)
class NotebookMention:
    """A cell, an output, an error or a variable of the notebook that a prompt names."""

    kind: MentionKind
    target: str
    """A cell's number, a variable's path, or empty for the newest error."""
    start: int
    end: int
    """Positions in the text; the at sign is included."""


@dataclass(frozen=True, slots=True)
class AgentMention:
    """An agent that a prompt names with an at sign."""

    name: str
    start: int
    end: int


def command_in(text: str) -> tuple[str, str] | None:
    """Return the name and the arguments of a prompt of the form ``/name arguments``, or None."""
    match = _COMMAND.match(text.strip())
    return (match[1], (match[2] or "").strip()) if match is not None else None


def split_arguments(arguments: str) -> list[str]:
    """Split arguments at whitespace; a quoted text is one argument."""
    return [
        re.sub(r"\\(.)", r"\1", double_quoted) if double_quoted else single_quoted or unquoted
        for double_quoted, single_quoted, unquoted in _ARGUMENT.findall(arguments)
    ]


def fill_template(template: str, arguments: str) -> str:
    """Fill arguments into a template: ``$ARGUMENTS``, and ``$1`` and so on; the highest number takes the rest.

    Arguments are added at the end of a template without any placeholder.
    """
    numbers = [int(number) for number in _NUMBERED_PLACEHOLDER.findall(template)]
    highest_number = max(numbers, default=0)
    values = split_arguments(arguments)

    def value_of(placeholder: "re.Match[str]") -> str:
        if placeholder[0] == _ALL_ARGUMENTS:
            return arguments
        number = int(placeholder[1])
        if number == 0:
            return placeholder[0]
        if number == highest_number:
            return " ".join(values[number - 1 :])
        return values[number - 1] if number <= len(values) else ""

    # One pass, so that a placeholder within the arguments is not replaced.
    text = re.sub(
        rf"{_NUMBERED_PLACEHOLDER.pattern}|{re.escape(_ALL_ARGUMENTS)}", value_of, template
    )
    if not highest_number and _ALL_ARGUMENTS not in template and arguments.strip():
        text = f"{text}\n\n{arguments.strip()}"
    return text.strip()


def shell_pieces_of(text: str) -> list[str | PromptShellCommand]:
    """Split a text at the shell commands in it."""
    pieces: list[str | PromptShellCommand] = []
    end = 0
    for match in _SHELL_COMMAND.finditer(text):
        pieces += [text[end : match.start()], PromptShellCommand(match[1].strip())]
        end = match.end()
    return [*pieces, text[end:]]


def file_mentions(text: str, excluded_names: Collection[str] = ()) -> list[FileMention]:
    """Return the paths that a prompt names with an at sign, each once, in order, except ``excluded_names``."""
    mentions: dict[str, FileMention] = {}
    for match in _FILE_MENTION.finditer(text):
        if match[1] not in excluded_names:
            mentions.setdefault(match[1], FileMention(match[1], match.start(), match.end()))
    return list(mentions.values())


def notebook_mentions(text: str, excluded_names: Collection[str] = ()) -> list[NotebookMention]:
    """Return the cells, outputs, errors and variables that a prompt names, each once, in order.

    Any name behind an at sign counts as a variable, except those in ``excluded_names``; only the kernel knows which exist.
    """
    mentions: dict[tuple[str, str], NotebookMention] = {}
    cell_starts: set[int] = set()
    for match in _CELL_MENTION.finditer(text):
        kind, target = _CELL_KINDS[match[1] or match[3]], match[2] or match[4] or ""
        if kind in excluded_names:
            continue
        cell_starts.add(match.start())
        mention = NotebookMention(kind, target, match.start(), match.end())
        mentions.setdefault((kind, target), mention)
    for match in _VARIABLE_MENTION.finditer(text):
        if match[1] in excluded_names or match.start() in cell_starts:
            continue
        mention = NotebookMention("variable", match[1], match.start(), match.end())
        mentions.setdefault((mention.kind, mention.target), mention)
    return sorted(mentions.values(), key=lambda mention: mention.start)


def mentioned_cells(messages: Messages) -> frozenset[str]:
    """Return the numbers of the cells that the user names in the present prompt, and in prompts that joined its turn."""
    numbers: set[str] = set()
    for message in reversed(messages):
        if not isinstance(message.info, UserMessage) or message.info.by_engine:
            continue
        for text in typed_texts(message):
            mentions = notebook_mentions(text)
            numbers |= {mention.target for mention in mentions if mention.kind != "variable"}
        if not message.info.joins:
            break
    return frozenset(numbers - {""})


def agent_mentions(text: str, agents: Collection[str]) -> list[AgentMention]:
    """Return the mentions of these agents in a text, in order."""
    return [
        AgentMention(m[1], m.start(), m.end())
        for m in _AGENT_MENTION.finditer(text)
        if m[1] in agents
    ]


def subtasks_in(text: str, agents: Collection[str]) -> list[tuple[str, str]]:
    """Return agent and task of each paragraph that begins with an agent's name.

    Empty unless the prompt itself begins with an agent's name. A task ends at the next line that begins with a name.
    """
    leading_mentions = [
        mention
        for mention in agent_mentions(text, agents)
        if not text[: mention.start].rpartition("\n")[2].strip()
    ]
    if not leading_mentions or text[: leading_mentions[0].start].strip():
        return []
    ends: Sequence[int] = [mention.start for mention in leading_mentions[1:]] + [len(text)]
    tasks = [
        (m.name, text[m.end : end].strip()) for m, end in zip(leading_mentions, ends, strict=True)
    ]
    return [(name, task) for name, task in tasks if task]
