"""The MCP servers of a kernel: connect them in the background, offer their tools, and end them.

Border: one object for all sessions, on the engine's loop; the protocol is in ``tools/mcp/client.py``.
A server that is dead, slow or broken causes one sentence and never stops a turn: a turn waits a moment
for servers that are connecting, continues without them, and the next turn retries.
"""

import asyncio
import shlex
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from palimpsest.tools.mcp import client
from palimpsest.tools.mcp.remote_tools import (
    McpTool,
    resource_tools,
    server_of,
)
from palimpsest.tools.mcp.tool_listing import (
    OfferedTool,
    ToolListing,
    left_out_texts,
    listing_of,
)
from palimpsest.tools.mcp.values import (
    LONGEST_DESCRIPTION,
    McpContent,
    McpServerSpec,
    RemoteResource,
    RemoteResult,
    RemoteTool,
    ServerFailed,
    hold_secrets,
)
from palimpsest.tools.registration.builtin_tools import is_reserved_name
from palimpsest.tools.registration.registry import Registry

T = TypeVar("T")

WAIT_SECONDS = 10.0
"""How long a turn waits for servers that are connecting; most take less."""
GRACE_SECONDS = 0.5
"""Extra time in which the connection itself can report a more precise error than the timeout."""
CLOSE_SECONDS = 12.0
"""Time limit for ending a server: closing its stdin, SIGTERM and SIGKILL take up to two seconds each."""
RETRY_TURNS = 3
"""After more failures in a row than this, a server is only retried on the user's request."""
GIVEN_UP = "It failed {count} times in a row and is not tried again by itself: %agent mcp connect does that."

State = Literal["off", "waiting", "connecting", "connected", "failed"]


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


class McpServer:
    """One configured server, and the connection to it while there is one."""

    def __init__(self, spec: McpServerSpec, environment: Mapping[str, str], root: Path) -> None:
        self.spec = spec
        self.name = spec.name
        self.state: State = "waiting" if spec.enabled else "off"
        self.problem = ""
        self.listing = ToolListing()
        """The tools of the newest list that the server sent."""
        self.instructions = ""
        self.has_resources = False
        self.failures = 0
        self.is_slow = False
        """The last attempt to connect ended because the server did not answer in time."""
        self.awaited = True
        """A turn waits for it: it was never tried, or it was connected before."""
        self._environment = environment
        self._root = root
        self._connection: client.Connection | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        """The tasks of connections: the open one, and those that are still being closed."""
        self._settled = asyncio.Event()
        self._end = asyncio.Event()
        self._stale = False
        self._listing = asyncio.Lock()
        self._is_new = False
        """The list was asked for again since the registry was updated."""
        self._give_up: Callable[[], None] | None = None
        """Aborts a connection that is not established yet."""
        hold_secrets(spec, environment)

    @property
    def address(self) -> str:
        """The command line or URL of the server, as configured."""
        spec = self.spec
        words = (spec.url,) if spec.url is not None else (spec.command or "", *spec.args)
        return shlex.join(words) + (f" in {spec.cwd}" if spec.cwd else "")

    # What a turn does

    def begin(self, *, anew: bool = False) -> None:
        """Connect in the background, unless connected, off, or failed too often; ``anew`` resets failures."""
        if self.state in ("off", "connecting", "connected"):
            return
        if anew:
            self.failures = 0
        if self.failures > RETRY_TURNS:
            return
        # A cell may have set a variable that its settings name.
        hold_secrets(self.spec, self._environment)
        self.state, self.is_slow = "connecting", False
        self._settled.clear()
        self._end = asyncio.Event()
        loop = asyncio.get_running_loop()
        task = loop.create_task(self._live(self._end))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def settled(self) -> None:
        """Wait until it is connected or has failed."""
        if self.state == "connecting":
            await self._settled.wait()

    async def freshen(self) -> bool:
        """List the tools again if the server reported a change; returns whether they were, since the last time."""
        with suppress(ServerFailed):
            await self._list_again()
        is_new, self._is_new = self._is_new, False
        return is_new

    async def _list_again(self) -> None:
        """List the tools again if the server reported a change; raises ServerFailed.

        A server that reports a change and then does not say which is given up, since nobody knows its tools.
        """
        async with self._listing:
            if not self._stale or self._connection is None:
                return
            self._stale, self._is_new = False, True
            try:
                self.listing = await self._listed(self._connection)
            except ServerFailed as problem:
                self._fail(self._end, str(problem))
                raise

    async def _listed(self, connection: client.Connection) -> ToolListing:
        return await asyncio.to_thread(listing_of, self.name, await connection.tools())

    async def end(self) -> None:
        """Close the connection and end the server's process."""
        self._end.set()
        if self._give_up is not None and self._connection is None:
            self._give_up()
        if self._tasks:
            await asyncio.wait(tuple(self._tasks), timeout=CLOSE_SECONDS)

    # What tools do

    async def call(
        self, tool: RemoteTool, arguments: dict[str, Any], progress: Callable[[str], None]
    ) -> RemoteResult:
        """Call a tool as it was shown and allowed; raises ServerFailed, also where it has changed since."""
        self._open()
        await self._list_again()
        if all(tool != one.remote for one in self.listing.offered):
            raise ServerFailed(
                f"The MCP server {self.name!r} has changed or removed this tool since it was shown, so it was not "
                "called. The next request shows what it offers now."
            )
        return await self._asked(self._open().call(tool.name, arguments, progress))

    async def resources(self, *, templates: bool) -> tuple[RemoteResource, ...]:
        """Return the resources of the server, or the templates for resource URIs; raises ServerFailed."""
        return await self._asked(self._open().resources(templates=templates))

    async def read(self, uri: str) -> tuple[McpContent, ...]:
        """Return the contents of a resource; raises ServerFailed."""
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
        # Ending a process that does not react takes a while, and no caller should wait for that.
        late = ServerFailed(silent, slow=True)
        watch = loop.call_later(seconds + GRACE_SECONDS, self._failed, end, late)
        try:
            await asyncio.to_thread(client.load)
            if end.is_set():
                return
            async with client.connect(
                self.spec,
                self._environment,
                root=self._root,
                changed=self._changed,
                lost=lambda why: self._lost(end, why),
                begun=lambda give_up: self._begun(end, give_up),
            ) as connection:
                await self._serve(connection, end, watch)
        except ServerFailed as problem:
            self._failed(end, problem)
        except Exception as broken:  # noqa: BLE001  a server's error must not reach the engine
            words = f"{type(broken).__name__}: {broken}"
            self._fail(end, f"The MCP server {self.name!r} failed: {words}.")
        finally:
            watch.cancel()
            self._ended(end)

    def _begun(self, end: asyncio.Event, give_up: Callable[[], None]) -> None:
        """Store how to abort the connection, or abort it if it was ended already."""
        if end.is_set():
            give_up()
        elif end is self._end:
            self._give_up = give_up

    async def _serve(
        self, connection: client.Connection, end: asyncio.Event, watch: asyncio.TimerHandle
    ) -> None:
        listing = await self._listed(connection)
        if end.is_set():
            return
        watch.cancel()
        self.listing = listing
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
        # Older servers report changes without a request, and some do not report them at all.
        with suppress(Exception):
            await connection.listen(self._changed)

    def _changed(self) -> None:
        self._stale = True

    def _lost(self, end: asyncio.Event, why: str) -> None:
        if why:
            self._fail(end, client.stopped_text(self.name, why))
        elif self.state == "connected" and not end.is_set():
            self._fail(end, f"The MCP server {self.name!r} ended.")

    def _failed(self, end: asyncio.Event, problem: ServerFailed) -> None:
        """Record why an attempt to connect failed."""
        if end is self._end and not end.is_set():
            self.is_slow = problem.slow
        self._fail(end, str(problem))

    def _fail(self, end: asyncio.Event, words: str) -> None:
        """Record why a connection failed, unless another one has replaced it."""
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
