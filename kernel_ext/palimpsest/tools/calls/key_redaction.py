"""Remove this kernel's own keys from the output of tools and from the environment of their processes.

Border: knows environments; the patterns and names of secrets are in ``transcript/redaction``.
Only values that this kernel's environment has as keys are removed here; text that looks like a key is
redacted when the output is journaled (``store/format/redaction.py``), before the model sees it.
"""

import os
from collections.abc import Callable, Mapping

from palimpsest.tools.tool import ToolContext
from palimpsest.transcript.redaction.text import (
    holds_secret,
    is_secret_name,
    scrub_values,
    secret_values,
)

Scrubber = Callable[[str], str]

QUIET = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",
    "EDITOR": "true",
    "DEBIAN_FRONTEND": "noninteractive",
    "TERM": "dumb",
    "NO_COLOR": "1",
}
"""Variables that keep programs from opening a pager or editor or asking for a password."""

NEVER_PASSED = frozenset(
    {"BASH_ENV", "ENV", "PROMPT_COMMAND", "PYTHONSTARTUP", "SHELLOPTS", "BASHOPTS", "PS4"}
)
"""Variables that would run code before the approved command, or change its meaning."""


def environment_of(context: ToolContext) -> Mapping[str, str]:
    """Return the environment the session was started with."""
    given: Mapping[str, str] | None = context.extra.get("environment")
    return os.environ if given is None else given


def for_context(context: ToolContext) -> Scrubber:
    """Return a function that removes the kernel's own keys from text."""
    values = secret_values(environment_of(context))
    return lambda text: scrub_values(text, values)


def child_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for a child process: without variables that name or contain a secret."""
    values = secret_values(environment)
    kept = {
        name: value
        for name, value in environment.items()
        if name not in NEVER_PASSED
        and not is_secret_name(name)
        and not holds_secret(value)
        and not any(secret in value for secret in values)
    }
    return kept | QUIET
