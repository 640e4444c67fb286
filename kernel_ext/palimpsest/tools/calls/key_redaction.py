"""Keep this kernel's own keys out of what tools return and out of what they start.

Border: knows environments; the shapes and names of secrets are in ``transcript/redaction``.
Here only values that this kernel holds as keys go; what has the form of a key goes when the output
is journaled (``store/format/redaction.py``), before the model sees it.
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
"""Nobody can page, edit or type a password there, so programs are told not to try."""

NEVER_PASSED = frozenset(
    {"BASH_ENV", "ENV", "PROMPT_COMMAND", "PYTHONSTARTUP", "SHELLOPTS", "BASHOPTS", "PS4"}
)
"""Would run code before the command that a person approved, or make its words mean something else."""


def environment_of(context: ToolContext) -> Mapping[str, str]:
    """Return the environment the session was started with."""
    given: Mapping[str, str] | None = context.extra.get("environment")
    return os.environ if given is None else given


def for_context(context: ToolContext) -> Scrubber:
    """Return a function that takes the kernel's own keys out of text."""
    values = secret_values(environment_of(context))
    return lambda text: scrub_values(text, values)


def child_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what a started program may see: no variable that names or holds a secret."""
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
