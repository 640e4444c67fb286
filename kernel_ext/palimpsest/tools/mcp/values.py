"""What MCP servers are configured as, and what they offer and return, in words of our own.

Border: values only. ``mcp`` fills them from the protocol, ``mcp_servers`` and ``mcp_tools`` use them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from palimpsest.transcript.errors import UserError

TIMEOUT_SECONDS = 60.0
"""For one call; servers that drive a browser or build something take that long."""

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True, slots=True)
class McpServerSpec:
    """A server as it is configured."""

    name: str
    command: str | None = None
    """The program of a server that is spoken to by its standard input and output."""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    url: str | None = None
    """The address of a server that is spoken to by streamable HTTP."""
    headers: Mapping[str, str] = field(default_factory=dict)
    enabled: bool = True
    timeout: float = TIMEOUT_SECONDS
    origin: str = ""
    """The file that names it."""
    refused: str = ""
    """Why it may not be started, though it is configured."""


@dataclass(frozen=True, slots=True)
class RemoteTool:
    """A tool as its server describes it."""

    name: str
    description: str
    schema: Mapping[str, Any]
    """JSON schema of its input."""


@dataclass(frozen=True, slots=True)
class McpContent:
    """One piece of what a server returned."""

    kind: Literal["text", "blob", "note"]
    text: str = ""
    mime: str = ""
    data: str = ""
    """Base64."""
    name: str = ""


@dataclass(frozen=True, slots=True)
class RemoteResult:
    """What a call returned."""

    pieces: tuple[McpContent, ...]
    structured: Any = None
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class RemoteResource:
    """A resource, or a template for addresses of resources."""

    uri: str
    name: str
    description: str
    mime: str


class ServerFailed(UserError):
    """A server could not do something, in one sentence."""

    def __init__(self, words: str, *, lost: bool = False) -> None:
        super().__init__(words)
        self.lost = lost
        """The connection is of no use any more."""


def expand(text: str, environment: Mapping[str, str]) -> str:
    """Put environment variables in the place of ``${NAME}``; raises ServerFailed for one that is not set.

    So a file of settings can name a key without holding it.
    """

    def value(match: re.Match[str]) -> str:
        found = environment.get(match[1])
        if found is None:
            raise ServerFailed(f"the environment variable {match[1]} is not set")
        return found

    return _VARIABLE.sub(value, text)


def sanitize(name: str) -> str:
    """Return a name with nothing in it that providers refuse in the name of a tool."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)


def in_one_line(text: str, longest: int = 200) -> str:
    """Return a stranger's words as one short line without control signs."""
    words = "".join(sign if sign.isprintable() else " " for sign in text[: longest * 8])
    line = " ".join(words.split())
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"
