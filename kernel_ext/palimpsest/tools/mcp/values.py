"""Values for MCP servers: their configuration, their tools and resources, and results of calls.

Border: values only. ``client.py`` creates them from the protocol, ``servers.py`` and ``remote_tools.py``
use them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from palimpsest.transcript.errors import UserError
from palimpsest.transcript.redaction.held_secrets import HELD, hold_settings
from palimpsest.transcript.redaction.secret_removal import scrub_output

TIMEOUT_SECONDS = 60.0
"""Default time limit of one call; servers that drive a browser or build something take that long."""
LONGEST_DESCRIPTION = 8_000
"""Characters of a tool's description that a model is shown."""

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
    timeout: float = TIMEOUT_SECONDS
    origin: str = ""
    """The settings file that configures it."""
    refused: str = ""
    """Why it may not be started although it is configured; empty if it may."""


@dataclass(frozen=True, slots=True)
class RemoteTool:
    """A tool as described by its server."""

    name: str
    description: str
    schema: Mapping[str, Any]
    """JSON schema of its input."""
    title: str = ""
    annotations: Mapping[str, Any] = field(default_factory=dict)
    """What the server says of its effects, such as ``readOnlyHint``; nothing follows from it."""


@dataclass(frozen=True, slots=True)
class McpContent:
    """One content item of a server's result: text, a file, or a note of ours."""

    kind: Literal["text", "blob", "note"]
    text: str = ""
    mime: str = ""
    data: str = ""
    """Content of a blob in Base64."""
    name: str = ""


@dataclass(frozen=True, slots=True)
class RemoteResult:
    """The result of a tool call at a server."""

    pieces: tuple[McpContent, ...]
    structured: Any = None
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

    def __init__(self, words: str, *, lost: bool = False, slow: bool = False) -> None:
        super().__init__(words)
        self.lost = lost
        """The connection is broken and must be opened again."""
        self.slow = slow
        """The server did not answer in time, and may do so at the next attempt."""


def expand(text: str, environment: Mapping[str, str]) -> str:
    """Replace ``${NAME}`` by environment variables; raises ServerFailed for one that is not set.

    So a settings file can refer to a key without containing it.
    """

    def value(match: re.Match[str]) -> str:
        found = environment.get(match[1])
        if found is None:
            raise ServerFailed(f"the environment variable {match[1]} is not set")
        return found

    return _VARIABLE.sub(value, text)


def hold_secrets(spec: McpServerSpec, environment: Mapping[str, str]) -> None:
    """Hide the keys in a server's settings in every text from now on; see ``redaction/held_secrets.py``."""

    def expanded(text: str) -> str:
        try:
            return expand(text, environment)
        except ServerFailed:
            return ""

    if spec.refused:
        return
    given = {name: expanded(value) for name, value in (*spec.env.items(), *spec.headers.items())}
    hold_settings(given, [expanded(one) for one in spec.args])


def sanitize(name: str) -> str:
    """Return a name with ``_`` for all characters that providers reject in tool names."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)


def in_one_line(text: str, longest: int = 200) -> str:
    """Return an untrusted text as one line of at most ``longest`` characters, without control characters.

    Keys are removed before it is cut, since of one that is cut only the rest would be recognised.
    """
    text = scrub_output(text, tuple(HELD))
    words = "".join(sign if sign.isprintable() else " " for sign in text[: longest * 8])
    line = " ".join(words.split())
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"
