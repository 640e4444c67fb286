"""Values for MCP servers: their configuration, their tools and resources, and results of calls.

Border: values only. ``client.py`` creates them from the protocol, ``servers.py`` and ``remote_tools.py`` use them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from palimpsest.transcript.errors import UserError
from palimpsest.transcript.redaction.held_secrets import HELD_SECRETS, hold_settings
from palimpsest.transcript.redaction.secret_removal import scrub_output

DEFAULT_TIMEOUT_SECONDS = 60.0
"""Default time limit of one call, enough for servers that control a browser or compile code."""
MAX_DESCRIPTION_CHARS = 8_000
"""Maximum characters of a tool's description that the model is shown."""

MAX_LINE_CHARS = 200
RAW_CHARS_PER_SHOWN_CHAR = 8
"""Characters of an untrusted text that are searched for each one shown, since runs of blanks become one."""

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True, slots=True)
class McpServerSpec:
    """The configuration of a server."""

    name: str
    command: str | None = None
    """The program of a server that communicates by stdio."""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    url: str | None = None
    """The URL of a server that communicates by streamable HTTP."""
    headers: Mapping[str, str] = field(default_factory=dict)
    enabled: bool = True
    timeout: float = DEFAULT_TIMEOUT_SECONDS
    """Time limit of one call in seconds, as in the settings."""
    origin: str = ""
    """The settings file that configures the server."""
    refusal: str = ""
    """Why the server must not be started although it is configured; empty if it may be started."""


@dataclass(frozen=True, slots=True)
class RemoteTool:
    """A tool as described by its server."""

    name: str
    description: str
    schema: Mapping[str, Any]
    """JSON schema of its input."""
    title: str = ""
    annotations: Mapping[str, Any] = field(default_factory=dict)
    """The server's claims about the tool's effects, such as ``readOnlyHint``; no permission depends on them."""


@dataclass(frozen=True, slots=True)
class McpContent:
    """One content item of a server's result: text, a file, or a note of Palimpsest."""

    kind: Literal["text", "blob", "note"]
    text: str = ""
    mime: str = ""
    data: str = ""
    """Content of a blob in Base64."""
    name: str = ""
    """File name of a blob; empty where the server gives none."""


@dataclass(frozen=True, slots=True)
class RemoteResult:
    """The result of a tool call at a server."""

    contents: tuple[McpContent, ...]
    structured_content: Any = None
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class RemoteResource:
    """A resource, or a template for resource URIs."""

    uri: str
    name: str
    description: str
    mime: str


class ServerFailed(UserError):
    """A request to a server failed; the message is one sentence."""

    def __init__(self, sentence: str, *, is_lost: bool = False, is_slow: bool = False) -> None:
        super().__init__(sentence)
        self.is_lost = is_lost
        """Whether the connection is broken and must be opened again."""
        self.is_slow = is_slow
        """Whether the server did not answer in time, and may do so at the next attempt."""


def expand_variables(text: str, environment: Mapping[str, str]) -> str:
    """Replace ``${NAME}`` by environment variables; raises ServerFailed for one that is not set.

    By such a name a settings file refers to a key without containing it.
    """

    def variable_value(match: re.Match[str]) -> str:
        value = environment.get(match[1])
        if value is None:
            raise ServerFailed(f"the environment variable {match[1]} is not set")
        return value

    return _VARIABLE.sub(variable_value, text)


def register_secrets(spec: McpServerSpec, environment: Mapping[str, str]) -> None:
    """Register the keys in a server's settings as secrets, which are removed from all texts; see ``redaction/held_secrets.py``."""

    def expanded_or_empty(text: str) -> str:
        try:
            return expand_variables(text, environment)
        except ServerFailed:
            return ""

    if spec.refusal:
        return
    values = {
        name: expanded_or_empty(value) for name, value in (*spec.env.items(), *spec.headers.items())
    }
    hold_settings(values, [expanded_or_empty(arg) for arg in spec.args])


def sanitize(name: str) -> str:
    """Return a name with ``_`` for all characters that providers reject in tool names."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)


def untrusted_line(text: str, max_chars: int = MAX_LINE_CHARS) -> str:
    """Return an untrusted text as one line of at most ``max_chars`` characters, without control characters.

    Keys are removed before the text is cut, since a part of a key would not be recognised.
    """
    text = scrub_output(text, tuple(HELD_SECRETS))
    printable = "".join(
        character if character.isprintable() else " "
        for character in text[: max_chars * RAW_CHARS_PER_SHOWN_CHAR]
    )
    line = " ".join(printable.split())
    return line if len(line) <= max_chars else line[: max_chars - 1].rstrip() + "…"
