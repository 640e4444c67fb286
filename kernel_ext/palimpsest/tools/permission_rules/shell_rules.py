"""Which rules answer for a shell text, and what an "always" to it would allow.

A rule that denies or asks holds for every command that a text might run. A rule that allows answers
for a text word by word; one with ``*`` or ``?`` in it answers for plain texts only (``plain_shell``), and one
that came of an "always" only for harmless commands (``harmless_programs``). ``*`` alone is everything.
Border: pure text; the order of rules is the work of ``permissions.py``.
"""

from collections.abc import Callable
from functools import lru_cache

from palimpsest.tools.permission_rules.harmless_programs import widened_pattern
from palimpsest.tools.permission_rules.plain_shell import PlainCommand, plain_commands
from palimpsest.tools.permission_rules.shell_commands import hidden_commands, simple_commands
from palimpsest.tools.permission_rules.wildcard import compiled
from palimpsest.transcript.values import Rule

WILD = "*?"


@lru_cache(maxsize=256)
def plain_commands_of(text: str) -> tuple[PlainCommand, ...] | None:
    """Return the commands of a text that every reading calls plain; None where one of them does not."""
    found = plain_commands(text)
    if found is None or {one.text for one in found} != set(simple_commands(text)):
        return None
    return found


@lru_cache(maxsize=256)
def harmless_commands(text: str) -> frozenset[str]:
    """Return the commands of a plain text that an "always" may widen."""
    return frozenset(
        one.text for one in plain_commands_of(text) or () if widened_pattern(one) is not None
    )


def commands_to_judge(text: str) -> tuple[str, ...]:
    """Return what rules are asked about: each command in the text, and a text that is not plain itself."""
    plain = plain_commands_of(text)
    if plain is not None:
        return tuple(dict.fromkeys(one.text for one in plain))
    commands = simple_commands(text)
    return tuple(dict.fromkeys((*commands, *hidden_commands(commands), text)))


def kept_text(text: str) -> str:
    """Return a text as an "always" keeps it."""
    return text.strip(" \t\n")


def is_everything(pattern: str) -> bool:
    """Tell whether a pattern is no more than stars."""
    return bool(pattern) and not pattern.strip("*")


def counts_configured(command: str, text: str) -> Callable[[Rule], bool]:
    """Return which matching rules of the configuration count for a command of a text."""
    return lambda rule: rule.action != "allow" or _may_allow(rule.pattern, command, text)


def counts_approved(command: str, text: str) -> Callable[[Rule], bool]:
    """Return which matching rules of a mode or an "always" count for a command of a text."""

    def counts(rule: Rule) -> bool:
        if rule.action != "allow" or is_everything(rule.pattern):
            return True
        return command in harmless_commands(text) and _may_allow(rule.pattern, command, text)

    return counts


def counts_exact(text: str) -> Callable[[Rule], bool]:
    """Return which matching rules are about a text word by word."""
    return lambda rule: rule.pattern == text or rule.action != "allow"


def _may_allow(pattern: str, command: str, text: str) -> bool:
    if is_everything(pattern):
        return True
    if plain_commands_of(text) is None:
        return False
    # A backslash is no slash to a shell.
    return "\\" not in command or pattern == command or _literally(pattern, command)


def always_patterns(text: str) -> list[str]:
    """Return what an "always" to a text would allow: harmless commands with other words, else the text.

    Empty where the text itself, read as a pattern, would allow others.
    """
    patterns = [widened_pattern(one) for one in plain_commands_of(text) or ()]
    if patterns and all(patterns):
        return list(dict.fromkeys(one for one in patterns if one is not None))
    exact = kept_text(text)
    return [] if any(char in exact for char in WILD) else [exact]


def _literally(pattern: str, command: str) -> bool:
    return compiled(pattern).fullmatch(command) is not None
