"""The MCP servers of a kernel: connect them in the background, offer their tools, and end them.

Border: one object for all sessions, used on the engine's loop; the protocol is in ``tools/mcp/client.py``.
A dead, slow or broken server causes one sentence and never stops a turn: a turn waits shortly
for servers that are connecting, continues without them, and the next turn tries again.
"""

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from palimpsest.tools.mcp import client
from palimpsest.tools.mcp.remote_tools import McpTool, resource_tools, server_of
from palimpsest.tools.mcp.server import GRACE_SECONDS, MAX_RETRIES, ConnectionState, McpServer
from palimpsest.tools.mcp.tool_listing import OfferedTool, ToolListing, left_out_texts
from palimpsest.tools.mcp.values import MAX_DESCRIPTION_CHARS, McpServerSpec
from palimpsest.tools.registration.builtin_tools import is_reserved_name
from palimpsest.tools.registration.registry import Registry

MAX_WAIT_SECONDS = 10.0
"""Maximum time that a turn waits for servers that are connecting; most take less."""
NOT_RETRIED = "It failed {count} times in a row and is not tried again by itself: %agent mcp connect does that."


@dataclass(frozen=True, slots=True)
class McpServerStatus:
    """The state of a server, for the user."""

    name: str
    state: ConnectionState
    kind: Literal["stdio", "http"]
    origin: str
    tools: tuple[str, ...] = ()
    """The names under which its tools are offered."""
    problem: str = ""
    instructions: str = ""
    left_out: tuple[str, ...] = ()
    """Sentences about its tools that cannot be offered."""
    shortened: tuple[tuple[str, int], ...] = ()
    """Tools with descriptions that are shortened for the model, with their lengths in characters."""


def _ready_sentence(server: McpServer) -> str:
    count = len(server.listing.offered_tools)
    tools = "its tool is" if count == 1 else f"its {count} tools are"
    return f"The MCP server {server.name!r} is ready now: {tools} offered from this step on."


class McpServers:
    """Connects a kernel's MCP servers, keeps the registry's tools up to date, and reports each problem once."""

    def __init__(
        self,
        specs: Sequence[McpServerSpec],
        registry: Registry,
        environment: Mapping[str, str],
        root: Path,
        *,
        is_installed: Callable[[], bool] = client.is_installed,
        start_refusal: Callable[[str], str] = lambda _origin: "",
    ) -> None:
        self._servers = [McpServer(spec, environment, root) for spec in specs]
        self._registry = registry
        self._offered_tools: dict[str, McpTool] = {}
        """The tools of servers that are in the registry, by offered name."""
        self._offers_resources = False
        self._is_installed = is_installed
        self._start_refusal = start_refusal
        """Returns why servers of a changed settings file (``origin``) must not be started; empty if they may be."""
        self._reported_problems: set[str] = set()
        self._late_servers: list[McpServer] = []
        """Servers that were still connecting at the newest request."""
        self._is_closed = False

    def __bool__(self) -> bool:
        return bool(self._servers)

    def begin_connecting(self, *, reset_failures: bool = False) -> None:
        """Connect the servers that are not connected, in the background; on the engine's loop."""
        if self._is_closed or not self._is_installed():
            return
        for server in self._servers:
            self._connect(server, reset_failures=reset_failures)

    def _connect(self, server: McpServer, *, reset_failures: bool = False) -> None:
        if server.spec.refusal or server.state in ("off", "connecting", "connected"):
            return
        refusal = self._start_refusal(server.spec.origin)
        if refusal:
            server.problem = refusal
        else:
            server.begin_connecting(reset_failures=reset_failures)

    def preload(self) -> None:
        """Import the package ``mcp`` in the background, if there are servers."""
        if self._servers and self._is_installed():
            threading.Thread(
                target=client.import_package, daemon=True, name="palimpsest-mcp-import"
            ).start()

    async def turn_began(self) -> tuple[str, ...]:
        """Connect servers for a turn; returns a sentence for each problem not reported yet."""
        if not any(server.spec.enabled for server in self._servers):
            return ()
        return tuple(self._new_problems(await self._connect_and_register()))

    async def step_began(self) -> tuple[str, ...]:
        """Update the offered tools before a step; returns a sentence for each newly connected server and each problem.

        A server that was connecting at the step before is offered now, or tried again if it did not answer in time.
        Waits for no server.
        """
        settled_servers = [server for server in self._late_servers if server.state != "connecting"]
        for server in settled_servers:
            if server.state == "failed" and server.is_slow and not self._is_closed:
                self._connect(server)
        have_changed = await asyncio.gather(*(server.refresh_tools() for server in self._servers))
        self._late_servers = [server for server in self._servers if server.state == "connecting"]
        if not settled_servers and not any(have_changed):
            return ()
        new_problems = self._new_problems(self._update_offered_tools())
        connected_servers = [server for server in settled_servers if server.state == "connected"]
        return (*(_ready_sentence(server) for server in connected_servers), *new_problems)

    async def connect_for_tools(self, tools: Sequence[str]) -> str:
        """Connect servers if one of the tools is unknown; returns the servers' problems if one remains unknown."""
        if all(tool in self._registry.names for tool in tools):
            return ""
        if any(server.spec.enabled for server in self._servers):
            await self._connect_and_register()
        if all(tool in self._registry.names for tool in tools):
            return ""
        return " ".join(status.problem for status in self.status() if status.problem)

    async def _connect_and_register(self) -> list[str]:
        """Connect servers, wait for them and update the registry; returns sentences about tools left out."""
        self.begin_connecting()
        await self._wait_until_settled(
            MAX_WAIT_SECONDS, [server for server in self._servers if server.is_awaited]
        )
        await asyncio.gather(*(server.refresh_tools() for server in self._servers))
        self._late_servers = [server for server in self._servers if server.state == "connecting"]
        return self._update_offered_tools()

    def connected_instructions(self) -> tuple[tuple[str, str], ...]:
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
                tools=tuple(tool.name for tool in listing.offered_tools),
                problem=self._problem_of(server),
                instructions=server.instructions,
                left_out=listing.left_out,
                shortened=tuple(
                    (tool.name, len(tool.remote.description))
                    for tool in listing.offered_tools
                    if len(tool.remote.description) > MAX_DESCRIPTION_CHARS
                ),
            )
            for server in self._servers
            for listing in [server.listing if server.state == "connected" else ToolListing()]
        )

    async def reconnect_all(self) -> tuple[McpServerStatus, ...]:
        """Connect every server that is not connected, and wait until each is connected or has failed."""
        self.begin_connecting(reset_failures=True)
        await self._wait_until_settled(client.MAX_CONNECT_SECONDS + GRACE_SECONDS, self._servers)
        await self.turn_began()
        return self.status()

    async def _wait_until_settled(self, seconds: float, servers: Sequence[McpServer]) -> None:
        """Wait for servers that are connecting, at most ``seconds``."""
        waiting_tasks = [asyncio.ensure_future(server.wait_until_settled()) for server in servers]
        if waiting_tasks:
            await asyncio.wait(waiting_tasks, timeout=seconds)
        for task in waiting_tasks:
            task.cancel()

    async def close(self) -> None:
        """Close every connection, also those being established, with their processes; no server is connected again."""
        self._is_closed = True
        await asyncio.gather(*(server.close_connection() for server in self._servers))

    def _problem_of(self, server: McpServer) -> str:
        if server.state == "off":
            return ""
        if server.spec.refusal:
            return server.spec.refusal
        if not self._is_installed():
            return client.NOT_INSTALLED
        if server.state == "failed" and server.failure_count > MAX_RETRIES:
            return f"{server.problem} {NOT_RETRIED.format(count=server.failure_count)}"
        return server.problem

    def _new_problems(self, left_out_sentences: Sequence[str]) -> list[str]:
        problems = [self._problem_of(server) for server in self._servers if server.spec.enabled]
        problems += [
            f"The MCP server {server.name!r} is not ready yet; its tools come with a later step or prompt."
            for server in self._servers
            if server.state == "connecting" and server.is_awaited
        ]
        current_problems = [
            sentence for sentence in dict.fromkeys((*problems, *left_out_sentences)) if sentence
        ]
        new_problems = [
            sentence for sentence in current_problems if sentence not in self._reported_problems
        ]
        # A problem that disappears and returns is reported again.
        self._reported_problems = set(current_problems)
        return new_problems

    def _update_offered_tools(self) -> list[str]:
        """Update the registry to the connected servers' tools; returns sentences about tools left out."""
        left_out_sentences: list[str] = []
        offered_tools: dict[str, tuple[McpServer, OfferedTool]] = {}
        names_in_use = {
            name.casefold(): name for name in self._registry.names if not self._is_of_server(name)
        }
        for server in self._servers:
            if server.state != "connected":
                continue
            problems: list[tuple[str, str]] = []
            for tool in server.listing.offered_tools:
                conflict = self._name_conflict(tool, server, names_in_use)
                if conflict:
                    problems.append((tool.remote.name, conflict))
                else:
                    offered_tools[tool.name] = (server, tool)
                    names_in_use[tool.name.casefold()] = tool.name
            left_out_sentences += [*server.listing.left_out, *left_out_texts(server.name, problems)]
        self._update_registry(offered_tools)
        self._update_resource_tools()
        return left_out_sentences

    def _is_of_server(self, name: str) -> bool:
        offered_tool = self._offered_tools.get(name)
        return offered_tool is not None and self._registry.resolve(name) is offered_tool

    def _name_conflict(
        self, tool: OfferedTool, server: McpServer, names_in_use: Mapping[str, str]
    ) -> str:
        """Return why a tool cannot be offered under its name; empty if it can."""
        for key in dict.fromkeys((tool.name, tool.permission)):
            if is_reserved_name(key):
                return f"the agent has a tool or permission {key!r} of its own"
            # Compare with all configured servers, so that a rule never applies to another server's tool.
            owner = server_of(key, [server.name for server in self._servers])
            if owner not in (server.name, None):
                return f"{key!r} is a name of the server {owner!r}"
        other_name = names_in_use.get(tool.name.casefold())
        return f"there is another tool {other_name!r}" if other_name is not None else ""

    def _update_registry(self, tools: Mapping[str, tuple[McpServer, OfferedTool]]) -> None:
        offered_tools: dict[str, McpTool] = {}
        for key, (server, tool) in tools.items():
            registered_tool = self._offered_tools.get(key)
            # An unchanged tool is not replaced, so that the request's prefix stays cached.
            if (
                registered_tool is None
                or registered_tool.server is not server
                or registered_tool.offered_tool != tool
            ):
                registered_tool = McpTool(server, tool)
            offered_tools[key] = registered_tool
        for key in self._offered_tools.keys() - offered_tools.keys():
            if self._is_of_server(key):
                self._registry.remove(key)
        for key, offered_tool in offered_tools.items():
            if self._registry.resolve(key) is not offered_tool:
                self._registry.register(offered_tool)
        self._offered_tools = offered_tools

    def _update_resource_tools(self) -> None:
        has_resources = bool(self._servers_with_resources())
        if has_resources == self._offers_resources:
            return
        self._offers_resources = has_resources
        for tool in resource_tools(self._servers_with_resources):
            if has_resources:
                self._registry.register(tool)
            else:
                self._registry.remove(tool.name)

    def _servers_with_resources(self) -> Sequence[McpServer]:
        return [
            server
            for server in self._servers
            if server.state == "connected" and server.has_resources
        ]
