"""One MCP server of a kernel, and the connection to it while there is one.

Border: runs on the engine's loop; the protocol is in ``tools/mcp/client.py``. A dead, slow or broken server causes
one sentence and never stops a turn.
"""

import asyncio
import shlex
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, TypeVar

from palimpsest.tools.mcp import client
from palimpsest.tools.mcp.tool_listing import ToolListing, list_offered_tools
from palimpsest.tools.mcp.values import (
    McpContent,
    McpServerSpec,
    RemoteResource,
    RemoteResult,
    RemoteTool,
    ServerFailed,
    register_secrets,
)

T = TypeVar("T")

GRACE_SECONDS = 0.5
"""Extra time in which the connection itself can report a more precise error than the timeout."""
MAX_CLOSE_SECONDS = 12.0
"""Time limit for ending a server: closing its stdin, SIGTERM and SIGKILL take up to two seconds each."""
MAX_RETRIES = 3
"""Maximum consecutive failures after which a turn still tries to connect; after more, only the user's request does."""

ConnectionState = Literal["off", "waiting", "connecting", "connected", "failed"]


class McpServer:
    """One configured server, and the connection to it while there is one."""

    def __init__(self, spec: McpServerSpec, environment: Mapping[str, str], root: Path) -> None:
        self.spec = spec
        self.name = spec.name
        self.state: ConnectionState = "waiting" if spec.enabled else "off"
        self.problem = ""
        self.listing = ToolListing()
        """The tools of the newest list that the server sent."""
        self.instructions = ""
        self.has_resources = False
        self.failure_count = 0
        self.is_slow = False
        """Whether the last attempt to connect failed because the server did not answer in time."""
        self.is_awaited = True
        """Whether turns wait for the connection: none was tried yet, or the server was connected before."""
        self._environment = environment
        self._root = root
        self._connection: client.Connection | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        """The tasks of connections: the open one, and those that are still being closed."""
        self._settled_event = asyncio.Event()
        self._end_event = asyncio.Event()
        self._is_list_outdated = False
        self._listing_lock = asyncio.Lock()
        self._has_new_list = False
        """Whether the tools were listed again after the last update of the registry."""
        self._abort_connecting: Callable[[], None] | None = None
        """Aborts a connection that is not established yet."""
        register_secrets(spec, environment)

    @property
    def address(self) -> str:
        """The command line or URL of the server, as configured."""
        spec = self.spec
        words = (spec.url,) if spec.url is not None else (spec.command or "", *spec.args)
        return shlex.join(words) + (f" in {spec.cwd}" if spec.cwd else "")

    # Called for turns

    def begin_connecting(self, *, reset_failures: bool = False) -> None:
        """Connect in the background, unless connected, off, or failed too often; ``reset_failures`` allows new attempts."""
        if self.state in ("off", "connecting", "connected"):
            return
        if reset_failures:
            self.failure_count = 0
        if self.failure_count > MAX_RETRIES:
            return
        # A cell may have set a variable that the server's settings use.
        register_secrets(self.spec, self._environment)
        self.state, self.is_slow = "connecting", False
        self._settled_event.clear()
        self._end_event = asyncio.Event()
        loop = asyncio.get_running_loop()
        task = loop.create_task(self._keep_connection(self._end_event))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def wait_until_settled(self) -> None:
        """Wait until the server is connected or has failed; returns at once where it is not connecting."""
        if self.state == "connecting":
            await self._settled_event.wait()

    async def refresh_tools(self) -> bool:
        """List the tools again if the server reported a change; return whether they changed since the last call."""
        with suppress(ServerFailed):
            await self._list_again()
        has_new_list, self._has_new_list = self._has_new_list, False
        return has_new_list

    async def _list_again(self) -> None:
        """List the tools again if the server reported a change; raises ServerFailed.

        A server that reports a change but does not list its tools then is closed, since its tools are unknown.
        """
        async with self._listing_lock:
            if not self._is_list_outdated or self._connection is None:
                return
            self._is_list_outdated, self._has_new_list = False, True
            try:
                self.listing = await self._list_tools(self._connection)
            except ServerFailed as problem:
                self._record_failure(self._end_event, str(problem))
                raise

    async def _list_tools(self, connection: client.Connection) -> ToolListing:
        return await asyncio.to_thread(list_offered_tools, self.name, await connection.tools())

    async def close_connection(self) -> None:
        """Close the connection and end the server's process."""
        self._end_event.set()
        if self._abort_connecting is not None and self._connection is None:
            self._abort_connecting()
        if self._tasks:
            await asyncio.wait(tuple(self._tasks), timeout=MAX_CLOSE_SECONDS)

    # Called by tools

    async def call(
        self, tool: RemoteTool, arguments: dict[str, Any], progress: Callable[[str], None]
    ) -> RemoteResult:
        """Call a tool as it was shown and approved; raises ServerFailed, also where the tool has changed since."""
        self._open_connection()
        await self._list_again()
        if all(tool != offered.remote for offered in self.listing.offered_tools):
            raise ServerFailed(
                f"The MCP server {self.name!r} has changed or removed this tool since it was shown, so it was not "
                "called. The next request shows what it offers now."
            )
        return await self._call_server(self._open_connection().call(tool.name, arguments, progress))

    async def resources(self, *, templates: bool) -> tuple[RemoteResource, ...]:
        """Return the resources of the server, or the templates for resource URIs; raises ServerFailed."""
        return await self._call_server(self._open_connection().resources(templates=templates))

    async def read_resource(self, uri: str) -> tuple[McpContent, ...]:
        """Return the contents of a resource; raises ServerFailed."""
        return await self._call_server(self._open_connection().read_resource(uri))

    def _open_connection(self) -> client.Connection:
        if self._connection is None:
            reason = self.problem or f"The MCP server {self.name!r} is not connected."
            raise ServerFailed(f"{reason} It is tried again at the next prompt.")
        return self._connection

    async def _call_server(self, awaitable: Awaitable[T]) -> T:
        try:
            return await awaitable
        except ServerFailed as problem:
            if problem.is_lost:
                self._record_failure(self._end_event, str(problem))
                raise ServerFailed(
                    f"{problem} It is started again at the next prompt.", is_lost=True
                ) from None
            raise

    # The connection's own task

    async def _keep_connection(self, end_event: asyncio.Event) -> None:
        loop = asyncio.get_running_loop()
        seconds = client.MAX_CONNECT_SECONDS
        timeout_sentence = f"The MCP server {self.name!r} was silent for {seconds:g} seconds."
        # Report the timeout separately, since ending a process that does not react takes longer.
        timeout_failure = ServerFailed(timeout_sentence, is_slow=True)
        timeout_handle = loop.call_later(
            seconds + GRACE_SECONDS, self._on_connect_failed, end_event, timeout_failure
        )
        try:
            await asyncio.to_thread(client.import_package)
            if end_event.is_set():
                return
            async with client.connect(
                self.spec,
                self._environment,
                root=self._root,
                on_change=self._on_list_changed,
                on_lost=lambda why: self._on_connection_lost(end_event, why),
                on_begin=lambda abort: self._on_process_started(end_event, abort),
            ) as connection:
                await self._hold_connection(connection, end_event, timeout_handle)
        except ServerFailed as problem:
            self._on_connect_failed(end_event, problem)
        except Exception as error:  # noqa: BLE001  a server's error must not reach the engine
            description = f"{type(error).__name__}: {error}"
            self._record_failure(end_event, f"The MCP server {self.name!r} failed: {description}.")
        finally:
            timeout_handle.cancel()
            self._on_connection_closed(end_event)

    def _on_process_started(self, end_event: asyncio.Event, abort: Callable[[], None]) -> None:
        """Store the function that aborts the connection, or call it if the connection was ended already."""
        if end_event.is_set():
            abort()
        elif end_event is self._end_event:
            self._abort_connecting = abort

    async def _hold_connection(
        self,
        connection: client.Connection,
        end_event: asyncio.Event,
        timeout_handle: asyncio.TimerHandle,
    ) -> None:
        listing = await self._list_tools(connection)
        if end_event.is_set():
            return
        timeout_handle.cancel()
        self.listing = listing
        self.instructions = connection.instructions
        self.has_resources = connection.has_resources
        self._connection, self._abort_connecting = connection, None
        self.state, self.problem, self.failure_count = "connected", "", 0
        self.is_awaited = True
        self._settled_event.set()
        listening_task = asyncio.ensure_future(self._listen_for_changes(connection))
        try:
            await end_event.wait()
        finally:
            listening_task.cancel()
            with suppress(asyncio.CancelledError):
                await listening_task

    async def _listen_for_changes(self, connection: client.Connection) -> None:
        # Older servers report changes without a request, and some do not report them at all.
        with suppress(Exception):
            await connection.watch_tools(self._on_list_changed)

    def _on_list_changed(self) -> None:
        self._is_list_outdated = True

    def _on_connection_lost(self, end_event: asyncio.Event, reason: str) -> None:
        if reason:
            self._record_failure(end_event, client.stopped_text(self.name, reason))
        elif self.state == "connected" and not end_event.is_set():
            self._record_failure(end_event, f"The MCP server {self.name!r} ended.")

    def _on_connect_failed(self, end_event: asyncio.Event, problem: ServerFailed) -> None:
        if end_event is self._end_event and not end_event.is_set():
            self.is_slow = problem.is_slow
        self._record_failure(end_event, str(problem))

    def _record_failure(self, end_event: asyncio.Event, sentence: str) -> None:
        """Record the failure of a connection, unless another one has replaced it."""
        if end_event is not self._end_event or end_event.is_set():
            return
        self._connection = None
        self.is_awaited = self.state == "connected"
        self.failure_count += 1
        self.state, self.problem = "failed", sentence
        end_event.set()
        self._settled_event.set()

    def _on_connection_closed(self, end_event: asyncio.Event) -> None:
        if end_event is not self._end_event:
            return
        self._connection = self._abort_connecting = None
        if self.state != "failed":
            self.state = "waiting"
        self._settled_event.set()
