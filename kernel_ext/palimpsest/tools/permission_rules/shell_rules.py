"""Determine which rules apply to a shell text, and what an "always" to it would allow.

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
from palimpsest.tools.permission_rules.wildcard import compiled
from palimpsest.transcript.values import Rule

WILD = "*?"


@lru_cache(maxsize=256)
def plain_commands_of(text: str) -> tuple[PlainCommand, ...] | None:
    """Return the commands of a text that both analyses accept as plain, with the same commands; else None."""
    found = plain_commands(text)
    if found is None or {one.text for one in found} != set(simple_commands(text)):
        return None
    return found


@lru_cache(maxsize=256)
def harmless_commands(text: str) -> frozenset[str]:
    """Return the harmless commands of a plain text, which an "always" may allow with other arguments."""
    return frozenset(
        one.text for one in plain_commands_of(text) or () if widened_pattern(one) is not None
    )


def commands_to_judge(text: str) -> tuple[str, ...]:
    """Return the texts that rules are applied to: each command, and the whole text if it is not plain."""
    plain = plain_commands_of(text)
    if plain is not None:
        return tuple(dict.fromkeys(one.text for one in plain))
    commands = simple_commands(text)
    return tuple(dict.fromkeys((*commands, *hidden_commands(commands), text)))


def kept_text(text: str) -> str:
    """Return a text in the form in which an "always" stores it."""
    return text.strip(" \t\n")


def is_everything(pattern: str) -> bool:
    """Return whether a pattern consists of stars only."""
    return bool(pattern) and not pattern.strip("*")


def counts_configured(command: str, text: str) -> Callable[[Rule], bool]:
    """Return a filter: whether a matching rule of the configuration counts for a command of a text."""
    return lambda rule: rule.action != "allow" or _may_allow(rule.pattern, command, text)


def counts_approved(command: str, text: str) -> Callable[[Rule], bool]:
    """Return a filter: whether a matching rule of a mode or an "always" counts for a command of a text."""

    def counts(rule: Rule) -> bool:
        if rule.action != "allow" or is_everything(rule.pattern):
            return True
        return command in harmless_commands(text) and _may_allow(rule.pattern, command, text)

    return counts


def counts_exact(text: str) -> Callable[[Rule], bool]:
    """Return a filter: whether a matching rule is for exactly this text, or does not allow.

    ``cat *`` as a rule is a pattern, also for the text ``cat *``, which the shell expands.
    """
    return lambda rule: rule.action != "allow" or (rule.pattern == text and not _is_wild(text))


def _may_allow(pattern: str, command: str, text: str) -> bool:
    if is_everything(pattern):
        return True
    if plain_commands_of(text) is None:
        return False
    # Patterns treat a backslash as a slash, shells do not.
    return "\\" not in command or pattern == command or _literally(pattern, command)


def always_patterns(text: str) -> list[str]:
    """Return the patterns an "always" would allow: harmless commands with any arguments, or the exact text.

    Empty if the text contains wildcards, so that it would allow other texts as a pattern.
    """
    patterns = [widened_pattern(one) for one in plain_commands_of(text) or ()]
    if patterns and all(patterns):
        return list(dict.fromkeys(one for one in patterns if one is not None))
    exact = kept_text(text)
    return [] if _is_wild(exact) else [exact]


def _is_wild(pattern: str) -> bool:
    return any(char in pattern for char in WILD)


def _literally(pattern: str, command: str) -> bool:
    return compiled(pattern).fullmatch(command) is not None
