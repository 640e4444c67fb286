"""The MCP servers of a kernel: connect them in the background, offer their tools, and end them.

Border: one object for all sessions, on the engine's loop; the protocol is in ``tools/mcp/client.py``.
A server that is dead, slow or broken causes one sentence and never stops a turn: a turn waits a moment
for servers that are connecting, continues without them, and the next turn retries.
"""

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from palimpsest.tools.mcp import client
from palimpsest.tools.mcp.remote_tools import (
    McpTool,
    resource_tools,
    server_of,
)
from palimpsest.tools.mcp.server import GRACE_SECONDS, RETRY_TURNS, McpServer, State
from palimpsest.tools.mcp.tool_listing import (
    OfferedTool,
    ToolListing,
    left_out_texts,
)
from palimpsest.tools.mcp.values import (
    LONGEST_DESCRIPTION,
    McpServerSpec,
)
from palimpsest.tools.registration.builtin_tools import is_reserved_name
from palimpsest.tools.registration.registry import Registry

WAIT_SECONDS = 10.0
"""How long a turn waits for servers that are connecting; most take less."""
GIVEN_UP = "It failed {count} times in a row and is not tried again by itself: %agent mcp connect does that."


@dataclass(frozen=True, slots=True)
class McpServerStatus:
    """The state of a server, for the user."""

    name: str
    state: State
    kind: Literal["stdio", "http"]
    origin: str
    tools: tuple[str, ...] = ()
    """The names under which its tools are offered."""
    problem: str = ""
    instructions: str = ""
    left_out: tuple[str, ...] = ()
    """Sentences about its tools that cannot be offered."""
    shortened: tuple[tuple[str, int], ...] = ()
    """Tools whose descriptions the model is not shown whole, with how many characters these have."""


def _arrival(server: McpServer) -> str:
    count = len(server.listing.offered)
    tools = "its tool is" if count == 1 else f"its {count} tools are"
    return f"The MCP server {server.name!r} is ready now: {tools} offered from this step on."


class McpServers:
    """Manages all MCP servers of a kernel.

    Responsibilities: connect them, keep the registry's tools up to date, and report each problem once.
    """

    def __init__(
        self,
        specs: Sequence[McpServerSpec],
        registry: Registry,
        environment: Mapping[str, str],
        root: Path,
        *,
        installed: Callable[[], bool] = client.installed,
        changed: Callable[[str], str] = lambda _origin: "",
    ) -> None:
        self._servers = [McpServer(spec, environment, root) for spec in specs]
        self._registry = registry
        self._offered: dict[str, McpTool] = {}
        """The tools of servers that are in the registry, by offered name."""
        self._offers_resources = False
        self._installed = installed
        self._changed = changed
        """Returns why servers of a changed file (``origin``) may not be started; empty if they may."""
        self._told: set[str] = set()
        self._late: list[McpServer] = []
        """Servers that were still connecting when the newest request was made."""
        self._closed = False

    def __bool__(self) -> bool:
        return bool(self._servers)

    def begin(self, *, anew: bool = False) -> None:
        """Connect the servers that are not connected, in the background; on the engine's loop."""
        if self._closed or not self._installed():
            return
        for server in self._servers:
            self._connect(server, anew=anew)

    def _connect(self, server: McpServer, *, anew: bool = False) -> None:
        if server.spec.refused or server.state in ("off", "connecting", "connected"):
            return
        why = self._changed(server.spec.origin)
        if why:
            server.problem = why
        else:
            server.begin(anew=anew)

    def preload(self) -> None:
        """Import the package ``mcp`` in the background, if there are servers."""
        if self._servers and self._installed():
            threading.Thread(target=client.load, daemon=True, name="palimpsest-mcp-import").start()

    async def turn_began(self) -> tuple[str, ...]:
        """Connect servers for a turn; returns a sentence for each problem not reported yet."""
        if not any(server.spec.enabled for server in self._servers):
            return ()
        return tuple(self._news(await self._ready()))

    async def step_began(self) -> tuple[str, ...]:
        """Offer what changed since the step before; returns a sentence for each server that came, and each problem.

        A server that was connecting then is offered now, or tried again if it did not answer in time. Nothing is
        waited for.
        """
        settled = [one for one in self._late if one.state != "connecting"]
        for server in settled:
            if server.state == "failed" and server.is_slow and not self._closed:
                self._connect(server)
        changed = await asyncio.gather(*(server.freshen() for server in self._servers))
        self._late = [one for one in self._servers if one.state == "connecting"]
        if not settled and not any(changed):
            return ()
        said = self._news(self._register())
        came = [one for one in settled if one.state == "connected"]
        return (*(_arrival(one) for one in came), *said)

    async def look_for(self, tools: Sequence[str]) -> str:
        """Connect servers if one of the tools is unknown; returns the problems if one still is."""
        if all(tool in self._registry.names for tool in tools):
            return ""
        if any(server.spec.enabled for server in self._servers):
            await self._ready()
        missing = any(tool not in self._registry.names for tool in tools)
        problems = [one.problem for one in self.status() if one.problem] if missing else []
        return " ".join(problems)

    async def _ready(self) -> list[str]:
        """Connect and wait for servers, and update the registry; returns sentences about tools left out."""
        self.begin()
        await self._wait(WAIT_SECONDS, [one for one in self._servers if one.awaited])
        await asyncio.gather(*(server.freshen() for server in self._servers))
        self._late = [one for one in self._servers if one.state == "connecting"]
        return self._register()

    def connected(self) -> tuple[tuple[str, str], ...]:
        """Return the names of the connected servers, with their instructions."""
        return tuple(
            (server.name, server.instructions)
            for server in self._servers
            if server.state == "connected"
        )

    def status(self) -> tuple[McpServerStatus, ...]:
        """Return the state of each server."""
        return tuple(
            McpServerStatus(
                name=server.name,
                state=server.state,
                kind="http" if server.spec.url is not None else "stdio",
                origin=server.spec.origin,
                tools=tuple(one.name for one in listing.offered),
                problem=self._problem(server),
                instructions=server.instructions,
                left_out=listing.left_out,
                shortened=tuple(
                    (one.name, len(one.remote.description))
                    for one in listing.offered
                    if len(one.remote.description) > LONGEST_DESCRIPTION
                ),
            )
            for server in self._servers
            for listing in [server.listing if server.state == "connected" else ToolListing()]
        )

    async def restart(self) -> tuple[McpServerStatus, ...]:
        """Reconnect every server that is not connected, and wait until each is or has failed."""
        self.begin(anew=True)
        await self._wait(client.CONNECT_SECONDS + GRACE_SECONDS, self._servers)
        await self.turn_began()
        return self.status()

    async def _wait(self, seconds: float, servers: Sequence[McpServer]) -> None:
        """Wait for servers that are connecting, at most ``seconds``."""
        settling = [asyncio.ensure_future(server.settled()) for server in servers]
        if settling:
            await asyncio.wait(settling, timeout=seconds)
        for one in settling:
            one.cancel()

    async def close(self) -> None:
        """Close every connection, also those being established, with their processes; for good."""
        self._closed = True
        await asyncio.gather(*(server.end() for server in self._servers))

    def _problem(self, server: McpServer) -> str:
        if server.state == "off":
            return ""
        if server.spec.refused:
            return server.spec.refused
        if not self._installed():
            return client.INSTALL
        if server.state == "failed" and server.failures > RETRY_TURNS:
            return f"{server.problem} {GIVEN_UP.format(count=server.failures)}"
        return server.problem

    def _news(self, clashes: Sequence[str]) -> list[str]:
        found = [self._problem(server) for server in self._servers if server.spec.enabled]
        late = [one for one in self._servers if one.state == "connecting" and one.awaited]
        found += [
            f"The MCP server {one.name!r} is not ready yet; its tools come with a later step or prompt."
            for one in late
        ]
        fresh = [words for words in dict.fromkeys((*found, *clashes)) if words]
        new = [words for words in fresh if words not in self._told]
        # A problem that disappears and comes back is reported again.
        self._told = set(fresh)
        return new

    def _register(self) -> list[str]:
        """Update the registry to the connected servers' tools; returns sentences about those left out."""
        clashes: list[str] = []
        wanted: dict[str, tuple[McpServer, OfferedTool]] = {}
        names = self._names_of_others()
        for server in self._servers:
            if server.state != "connected":
                continue
            problems: list[tuple[str, str]] = []
            for tool in server.listing.offered:
                why = self._taken(tool, server, names)
                if why:
                    problems.append((tool.remote.name, why))
                else:
                    wanted[tool.name] = (server, tool)
                    names[tool.name.casefold()] = tool.name
            clashes += [*server.listing.left_out, *left_out_texts(server.name, problems)]
        self._exchange(wanted)
        self._resources()
        return clashes

    def _names_of_others(self) -> dict[str, str]:
        """Return the names in the registry that no server gave, by their casefolded form."""
        return {name.casefold(): name for name in self._registry.names if not self._is_ours(name)}

    def _is_ours(self, name: str) -> bool:
        offered = self._offered.get(name)
        return offered is not None and self._registry.resolve(name) is offered

    def _taken(self, tool: OfferedTool, server: McpServer, names: Mapping[str, str]) -> str:
        """Return why a tool may not be offered under its name; empty if it may."""
        for key in dict.fromkeys((tool.name, tool.permission)):
            if is_reserved_name(key):
                return f"the agent has a tool or permission {key!r} of its own"
            # A name belongs to the same server whichever are connected, so that no rule applies to another.
            owner = server_of(key, [one.name for one in self._servers])
            if owner not in (server.name, None):
                return f"{key!r} is a name of the server {owner!r}"
        other = names.get(tool.name.casefold())
        return f"there is another tool {other!r}" if other is not None else ""

    def _exchange(self, wanted: Mapping[str, tuple[McpServer, OfferedTool]]) -> None:
        now: dict[str, McpTool] = {}
        for key, (server, tool) in wanted.items():
            before = self._offered.get(key)
            # An unchanged tool is not replaced, so that the request's prefix stays cached.
            is_same = before is not None and before.server is server and before.offered == tool
            now[key] = before if before is not None and is_same else McpTool(server, tool)
        for key in self._offered.keys() - now.keys():
            if self._is_ours(key):
                self._registry.remove(key)
        for key, one in now.items():
            if self._registry.resolve(key) is not one:
                self._registry.register(one)
        self._offered = now

    def _resources(self) -> None:
        have = bool(self._with_resources())
        if have == self._offers_resources:
            return
        self._offers_resources = have
        for tool in resource_tools(self._with_resources):
            if have:
                self._registry.register(tool)
            else:
                self._registry.remove(tool.name)

    def _with_resources(self) -> Sequence[McpServer]:
        return [one for one in self._servers if one.state == "connected" and one.has_resources]
