"""Determine which rules apply to a shell text, and which patterns an "always" to it would allow.

A rule that denies or asks applies to every command that a text might run. A rule that allows applies to
the exact text; one with ``*`` or ``?`` in it to plain texts only (``plain_shell``), and one from an
"always" to harmless commands only (``harmless_programs``). ``*`` alone matches everything.
Border: pure text; the order of rules is handled by ``permissions.py``.
"""

from collections.abc import Callable
from functools import lru_cache

from palimpsest.tools.permission_rules.harmless_programs import widened_pattern
from palimpsest.tools.permission_rules.plain_shell import PlainCommand, plain_commands
from palimpsest.tools.permission_rules.shell_commands import hidden_commands, simple_commands
from palimpsest.tools.permission_rules.wildcard import compile_wildcard
from palimpsest.transcript.values import Rule


@lru_cache(maxsize=256)
def plain_commands_of(text: str) -> tuple[PlainCommand, ...] | None:
    """Return the commands of a text that both analyses accept as plain, with the same commands; else None."""
    commands = plain_commands(text)
    if commands is None or {command.text for command in commands} != set(simple_commands(text)):
        return None
    return commands


@lru_cache(maxsize=256)
def harmless_commands(text: str) -> frozenset[str]:
    """Return the harmless commands of a plain text, which an "always" may allow with other arguments."""
    return frozenset(
        command.text
        for command in plain_commands_of(text) or ()
        if widened_pattern(command) is not None
    )


def ruled_texts(text: str) -> tuple[str, ...]:
    """Return the texts to which rules are applied: each command, and the complete text if it is not plain."""
    certain_commands = plain_commands_of(text)
    if certain_commands is not None:
        return tuple(dict.fromkeys(command.text for command in certain_commands))
    commands = simple_commands(text)
    return tuple(dict.fromkeys((*commands, *hidden_commands(commands), text)))


def stored_text(text: str) -> str:
    """Return the form of a text that an "always" stores."""
    return text.strip(" \t\n")


def is_everything(pattern: str) -> bool:
    """Return whether a pattern consists of stars only."""
    return bool(pattern) and not pattern.strip("*")


def configured_rule_applies(command: str, text: str) -> Callable[[Rule], bool]:
    """Return a predicate: whether a matching rule of the configuration applies to a command of a text."""
    return lambda rule: rule.action != "allow" or _may_allow(rule.pattern, command, text)


def approved_rule_applies(command: str, text: str) -> Callable[[Rule], bool]:
    """Return a predicate: whether a matching rule of a mode or an "always" applies to a command of a text."""

    def applies(rule: Rule) -> bool:
        if rule.action != "allow" or is_everything(rule.pattern):
            return True
        return command in harmless_commands(text) and _may_allow(rule.pattern, command, text)

    return applies


def exact_rule_applies(text: str) -> Callable[[Rule], bool]:
    """Return a predicate: whether a matching rule is for exactly this text, or is no allow rule.

    A rule ``cat *`` is a pattern, also for the text ``cat *``, which the shell expands.
    """
    return lambda rule: rule.action != "allow" or (rule.pattern == text and not has_wildcard(text))


def _may_allow(pattern: str, command: str, text: str) -> bool:
    if is_everything(pattern):
        return True
    if plain_commands_of(text) is None:
        return False
    if "\\" not in command:
        return True
    # Unlike shells, patterns treat a backslash as a slash.
    return pattern == command or compile_wildcard(pattern).fullmatch(command) is not None


def always_patterns(text: str) -> list[str]:
    """Return the patterns an "always" would allow: harmless commands with any arguments, or the exact text.

    Empty if the text contains wildcards, so that it would allow other texts as a pattern.
    """
    patterns = [widened_pattern(command) for command in plain_commands_of(text) or ()]
    if patterns and all(patterns):
        return list(dict.fromkeys(pattern for pattern in patterns if pattern is not None))
    exact_text = stored_text(text)
    return [] if has_wildcard(exact_text) else [exact_text]


def has_wildcard(pattern: str) -> bool:
    """Return whether a pattern stands for more than its own text."""
    return any(char in pattern for char in "*?")
