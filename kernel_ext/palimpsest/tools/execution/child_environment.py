"""Build the environment of processes that tools start, without this kernel's keys, pagers and startup files.

Border: handles environments only; the patterns and names of secrets are in ``transcript/redaction``.
"""

from collections.abc import Mapping

from palimpsest.transcript.redaction.secret_names import is_secret_name
from palimpsest.transcript.redaction.secret_removal import contains_secret, secret_values

NON_INTERACTIVE_VARIABLES = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",
    "EDITOR": "true",
    "DEBIAN_FRONTEND": "noninteractive",
    "TERM": "dumb",
    "NO_COLOR": "1",
}
"""Variables that prevent programs from opening a pager or editor or asking for a password."""

UNSAFE_VARIABLES = frozenset(
    {"BASH_ENV", "ENV", "PROMPT_COMMAND", "PYTHONSTARTUP", "SHELLOPTS", "BASHOPTS", "PS4"}
)
"""Variables that would run code before the approved command, or change its meaning."""


def child_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for a child process, without variables whose name or value shows a secret."""
    values = secret_values(environment)
    safe_variables = {
        name: value
        for name, value in environment.items()
        if name not in UNSAFE_VARIABLES
        and not is_secret_name(name)
        and not contains_secret(value)
        and not any(secret in value for secret in values)
    }
    return safe_variables | NON_INTERACTIVE_VARIABLES
