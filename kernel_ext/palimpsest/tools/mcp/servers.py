"""The MCP servers of a kernel: begun in the background, offered from turn to turn, ended with it.

Border: one keeper for all sessions, on the engine's loop; how a server is spoken to is in ``mcp``.
A server that is dead, slow or broken costs one sentence and never a turn: a turn waits a moment for
those that begin, goes on without them, and the next one tries again.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from palimpsest.tools.mcp import client
from palimpsest.tools.mcp.remote_tools import (
    McpTool,
    RemoteServer,
    resource_tools,
    server_of,
    tool_name,
)
from palimpsest.tools.mcp.values import (
    McpContent,
    McpServerSpec,
    RemoteResource,
    RemoteResult,
    RemoteTool,
    ServerFailed,
)
from palimpsest.tools.registration.builtin_tools import is_reserved_name
from palimpsest.tools.registration.registry import Registry

T = TypeVar("T")

WAIT_SECONDS = 10.0
"""How long a turn waits for servers that begin: longer than most take, shorter than patience."""
GRACE_SECONDS = 0.5
"""Given to the connection itself to say what is wrong, in better words."""
CLOSE_SECONDS = 12.0
"""A server is asked to end, told to, and made to, and each takes two seconds, where it does not listen."""
RETRY_TURNS = 3
"""After so many failures in a row, a server is tried anew by hand only."""

State = Literal["off", "waiting", "connecting", "connected", "failed"]


@dataclass(frozen=True, slots=True)
class McpServerStatus:
    """A server as a person is told of it."""

    name: str
    state: State
    kind: Literal["stdio", "http"]
    origin: str
    tools: tuple[str, ...] = ()
    """The names under which they are offered."""
    problem: str = ""
    instructions: str = ""


class McpServer:
    """One configured server, and the connection to it while there is one."""

    def __init__(self, spec: McpServerSpec, environment: Mapping[str, str], root: Path) -> None:
        self.spec = spec
        self.state: State = "waiting" if spec.enabled else "off"
        self.problem = ""
        self.tools: tuple[RemoteTool, ...] = ()
        self.instructions = ""
        self.has_resources = False
        self.failures = 0
        self.awaited = True
        """It is worth waiting for: it was never tried, or it worked when it was."""
        self._environment = environment
        self._root = root
        self._connection: client.Connection | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        """Connections that are open, or that are being ended while another one begins."""
        self._settled = asyncio.Event()
        self._end = asyncio.Event()
        self._stale = False
        self._give_up: Callable[[], None] | None = None
        """Ends a connection that has not been made yet."""

    @property
    def name(self) -> str:
        """As it is configured."""
        return self.spec.name

    # What a turn does

    def begin(self, *, anew: bool = False) -> None:
        """Connect in the background, where it is not connected and may be tried."""
        if self.state in ("off", "connecting", "connected"):
            return
        if anew:
            self.failures = 0
        if self.failures > RETRY_TURNS:
            return
        self.state = "connecting"
        self._settled.clear()
        self._end = asyncio.Event()
        loop = asyncio.get_running_loop()
        task = loop.create_task(self._live(self._end))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def settled(self) -> None:
        """Return when it is connected or has failed."""
        if self.state == "connecting":
            await self._settled.wait()

    async def freshen(self) -> bool:
        """List the tools again, where the server said that they changed; returns whether it did."""
        if not self._stale or self._connection is None:
            return False
        self._stale = False
        with suppress(ServerFailed):
            self.tools = await self._asked(self._connection.tools())
        return True

    async def end(self) -> None:
        """End the connection, and the program behind it."""
        self._end.set()
        if self._give_up is not None and self._connection is None:
            self._give_up()
        if self._tasks:
            await asyncio.wait(tuple(self._tasks), timeout=CLOSE_SECONDS)

    # What tools do

    async def call(
        self, tool: str, arguments: dict[str, Any], progress: Callable[[str], None]
    ) -> RemoteResult:
        """Call a tool."""
        return await self._asked(self._open().call(tool, arguments, progress))

    async def resources(self) -> tuple[RemoteResource, ...]:
        """List resources."""
        return await self._asked(self._open().resources())

    async def templates(self) -> tuple[RemoteResource, ...]:
        """List templates."""
        return await self._asked(self._open().templates())

    async def read(self, uri: str) -> tuple[McpContent, ...]:
        """Read a resource."""
        return await self._asked(self._open().read(uri))

    def _open(self) -> client.Connection:
        if self._connection is None:
            why = self.problem or f"The MCP server {self.name!r} is not connected."
            raise ServerFailed(f"{why} It is tried again at the next prompt.")
        return self._connection

    async def _asked(self, work: Awaitable[T]) -> T:
        try:
            return await work
        except ServerFailed as problem:
            if problem.lost:
                self._fail(self._end, str(problem))
                raise ServerFailed(
                    f"{problem} It is started again at the next prompt.", lost=True
                ) from None
            raise

    # The connection's own task

    async def _live(self, end: asyncio.Event) -> None:
        loop = asyncio.get_running_loop()
        seconds = client.CONNECT_SECONDS
        silent = f"The MCP server {self.name!r} was silent for {seconds:g} seconds."
        # To end a program that does not listen takes a while, and nobody has to wait for that.
        watch = loop.call_later(seconds + GRACE_SECONDS, self._fail, end, silent)
        try:
            await asyncio.to_thread(client.load)
            if end.is_set():
                return
            async with client.connect(
                self.spec,
                self._environment,
                root=self._root,
                changed=self._changed,
                lost=lambda: self._lost(end),
                begun=lambda give_up: self._begun(end, give_up),
            ) as connection:
                await self._serve(connection, end, watch)
        except ServerFailed as problem:
            self._fail(end, str(problem))
        except Exception as broken:  # noqa: BLE001  a server's fault must not reach the engine
            words = f"{type(broken).__name__}: {broken}"
            self._fail(end, f"The MCP server {self.name!r} failed: {words}.")
        finally:
            watch.cancel()
            self._ended(end)

    def _begun(self, end: asyncio.Event, give_up: Callable[[], None]) -> None:
        """Note how to give the connection up, and do it where that was wanted already."""
        if end.is_set():
            give_up()
        elif end is self._end:
            self._give_up = give_up

    async def _serve(
        self, connection: client.Connection, end: asyncio.Event, watch: asyncio.TimerHandle
    ) -> None:
        tools = await connection.tools()
        if end.is_set():
            return
        watch.cancel()
        self.tools = tools
        self.instructions = connection.instructions
        self.has_resources = connection.has_resources
        self._connection, self._give_up = connection, None
        self.state, self.problem, self.failures = "connected", "", 0
        self.awaited = True
        self._settled.set()
        listening = asyncio.ensure_future(self._listen(connection))
        try:
            await end.wait()
        finally:
            listening.cancel()
            with suppress(asyncio.CancelledError):
                await listening

    async def _listen(self, connection: client.Connection) -> None:
        # Older servers tell of changes without being asked, and others do not at all.
        with suppress(Exception):
            await connection.listen(self._changed)

    def _changed(self) -> None:
        self._stale = True

    def _lost(self, end: asyncio.Event) -> None:
        if self.state == "connected" and not end.is_set():
            self._fail(end, f"The MCP server {self.name!r} ended.")

    def _fail(self, end: asyncio.Event, words: str) -> None:
        """Note why a connection came to nothing, unless another one took its place."""
        if end is not self._end or end.is_set():
            return
        self._connection = None
        self.awaited = self.state == "connected"
        self.failures += 1
        self.state, self.problem = "failed", words
        end.set()
        self._settled.set()

    def _ended(self, end: asyncio.Event) -> None:
        if end is not self._end:
            return
        self._connection = self._give_up = None
        if self.state != "failed":
            self.state = "waiting"
        self._settled.set()


@dataclass(slots=True)
class _Offered:
    """What stands in the registry because of servers."""

    tools: dict[str, tuple[str, RemoteTool]] = field(default_factory=dict)
    resources: bool = False


def _never(_origin: str) -> str:
    return ""


class McpServers:
    """All servers of a kernel.

    Responsibilities: begin them, keep the registry as they are, and say once what is wrong.
    """

    def __init__(
        self,
        specs: Sequence[McpServerSpec],
        registry: Registry,
        environment: Mapping[str, str],
        root: Path,
        *,
        installed: Callable[[], bool] = client.installed,
        changed: Callable[[str], str] = _never,
    ) -> None:
        self._servers = [McpServer(spec, environment, root) for spec in specs]
        self._registry = registry
        self._offered = _Offered()
        self._installed = installed
        self._changed = changed
        """Says why what a file names may not be started any more, by its origin."""
        self._told: set[str] = set()
        self._closed = False

    def __bool__(self) -> bool:
        return bool(self._servers)

    def begin(self, *, anew: bool = False) -> None:
        """Connect, in the background, what is not; on the engine's loop."""
        if self._closed or not self._installed():
            return
        for server in self._servers:
            if server.spec.refused or server.state in ("off", "connecting", "connected"):
                continue
            why = self._changed(server.spec.origin)
            if why:
                server.problem = why
            else:
                server.begin(anew=anew)

    def preload(self) -> None:
        """Import the package in the background, where a server will need it."""
        if self._servers and self._installed():
            threading.Thread(target=client.load, daemon=True, name="palimpsest-mcp-import").start()

    async def turn_began(self) -> tuple[str, ...]:
        """Make ready for a turn; returns a sentence for each problem that was not told yet."""
        if not any(server.spec.enabled for server in self._servers):
            return ()
        return tuple(self._news(await self._ready()))

    async def step_began(self) -> tuple[str, ...]:
        """Offer what servers say they offer now; returns a sentence for each new problem."""
        changed = await asyncio.gather(*(server.freshen() for server in self._servers))
        return tuple(self._news(self._register())) if any(changed) else ()

    async def look_for(self, tools: Sequence[str]) -> str:
        """Connect where a tool is meant that is not known; returns what is wrong where it still is not."""
        if all(tool in self._registry.names for tool in tools):
            return ""
        if any(server.spec.enabled for server in self._servers):
            await self._ready()
        missing = any(tool not in self._registry.names for tool in tools)
        problems = [one.problem for one in self.status() if one.problem] if missing else []
        return " ".join(problems)

    async def _ready(self) -> list[str]:
        """Connect, and wait a moment for it; returns what had to be left out."""
        self.begin()
        await self._wait(WAIT_SECONDS, [one for one in self._servers if one.awaited])
        await asyncio.gather(*(server.freshen() for server in self._servers))
        return self._register()

    def connected(self) -> tuple[tuple[str, str], ...]:
        """Return the servers that are connected, with what they say about themselves."""
        return tuple(
            (server.name, server.instructions)
            for server in self._servers
            if server.state == "connected"
        )

    def status(self) -> tuple[McpServerStatus, ...]:
        """Return how it stands with each server."""
        return tuple(
            McpServerStatus(
                name=server.name,
                state=server.state,
                kind="http" if server.spec.url is not None else "stdio",
                origin=server.spec.origin,
                tools=tuple(tool_name(server.name, tool.name) for tool in server.tools)
                if server.state == "connected"
                else (),
                problem=self._problem(server),
                instructions=server.instructions,
            )
            for server in self._servers
        )

    async def restart(self) -> tuple[McpServerStatus, ...]:
        """Try everything anew that is not connected, and wait until it is or has failed."""
        self.begin(anew=True)
        await self._wait(client.CONNECT_SECONDS + GRACE_SECONDS, self._servers)
        await self.turn_began()
        return self.status()

    async def _wait(self, seconds: float, servers: Sequence[McpServer]) -> None:
        """Wait for servers that begin, at most so long."""
        settling = [asyncio.ensure_future(server.settled()) for server in servers]
        if settling:
            await asyncio.wait(settling, timeout=seconds)
        for one in settling:
            one.cancel()

    async def close(self) -> None:
        """End every connection and the programs behind them, also those that begin; none begins after it."""
        self._closed = True
        await asyncio.gather(*(server.end() for server in self._servers))

    def _problem(self, server: McpServer) -> str:
        if server.state == "off":
            return ""
        if server.spec.refused:
            return server.spec.refused
        if not self._installed():
            return client.INSTALL
        return server.problem

    def _news(self, clashes: Sequence[str]) -> list[str]:
        found = [self._problem(server) for server in self._servers if server.spec.enabled]
        late = [one for one in self._servers if one.state == "connecting" and one.awaited]
        found += [
            f"The MCP server {one.name!r} is not ready yet; its tools come with a later prompt."
            for one in late
        ]
        fresh = [words for words in dict.fromkeys((*found, *clashes)) if words]
        new = [words for words in fresh if words not in self._told]
        # What goes away and comes back is told again.
        self._told = set(fresh)
        return new

    def _register(self) -> list[str]:
        """Bring the registry to what the connected servers offer; returns what had to be left out."""
        clashes: list[str] = []
        wanted: dict[str, tuple[McpServer, RemoteTool]] = {}
        for server in self._servers:
            for tool in server.tools if server.state == "connected" else ():
                key = tool_name(server.name, tool.name)
                why = self._taken(key, server, wanted)
                if why:
                    clashes.append(
                        f"The tool {tool.name!r} of the MCP server {server.name!r} is left out, because {why}."
                    )
                else:
                    wanted[key] = (server, tool)
        self._exchange(wanted)
        self._resources()
        return clashes

    def _taken(self, key: str, server: McpServer, wanted: Mapping[str, object]) -> str:
        """Return why a tool may not have its name; empty when it may."""
        if is_reserved_name(key):
            return f"the agent has a tool or permission {key!r} of its own"
        # Whoever is connected, a name means the same server: what was allowed to one is not another's.
        owner = server_of(key, [one.name for one in self._servers])
        if owner not in (server.name, None):
            return f"{key!r} is a name of the server {owner!r}"
        if key in wanted or (key in self._registry.names and key not in self._offered.tools):
            return f"there is another tool {key!r}"
        return ""

    def _exchange(self, wanted: Mapping[str, tuple[McpServer, RemoteTool]]) -> None:
        for key in self._offered.tools.keys() - wanted.keys():
            self._registry.remove(key)
        for key, (server, tool) in wanted.items():
            # The same description stays the same tool: the request's prefix stays cached.
            if self._offered.tools.get(key) != (server.name, tool):
                self._registry.register(McpTool(server, tool))
        self._offered.tools = {key: (server.name, tool) for key, (server, tool) in wanted.items()}

    def _resources(self) -> None:
        have = bool(self._with_resources())
        if have == self._offered.resources:
            return
        self._offered.resources = have
        for tool in resource_tools(self._with_resources):
            if have:
                self._registry.register(tool)
            else:
                self._registry.remove(tool.name)

    def _with_resources(self) -> Sequence[RemoteServer]:
        return [one for one in self._servers if one.state == "connected" and one.has_resources]
