"""One MCP server of a kernel, and the connection to it while there is one.

Border: on the engine's loop; the protocol is in ``tools/mcp/client.py``. A server that is dead, slow or broken causes
one sentence and never stops a turn.
"""

import asyncio
import shlex
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, TypeVar

from palimpsest.tools.mcp import client
from palimpsest.tools.mcp.tool_listing import (
    ToolListing,
    listing_of,
)
from palimpsest.tools.mcp.values import (
    McpContent,
    McpServerSpec,
    RemoteResource,
    RemoteResult,
    RemoteTool,
    ServerFailed,
    hold_secrets,
)

T = TypeVar("T")

GRACE_SECONDS = 0.5
"""Extra time in which the connection itself can report a more precise error than the timeout."""
CLOSE_SECONDS = 12.0
"""Time limit for ending a server: closing its stdin, SIGTERM and SIGKILL take up to two seconds each."""
RETRY_TURNS = 3
"""After more failures in a row than this, a server is only retried on the user's request."""

State = Literal["off", "waiting", "connecting", "connected", "failed"]


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
