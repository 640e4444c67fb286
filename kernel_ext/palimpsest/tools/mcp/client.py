"""The connection to an MCP server; imports the optional package ``mcp``, as ``transports.py`` does and no other module.

Border: one connection, from opening to closing, in values of our own. When to connect, what to offer and
how to handle failures is decided by ``tools/mcp/servers.py``. A server is untrusted: what it sends is
data, its time is limited, and every failure becomes one sentence.
"""

import importlib.util
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from palimpsest.tools.mcp.readable_tools import with_readable_tools
from palimpsest.tools.mcp.transports import Lost, Stderr, command_of, over_http, over_pipes
from palimpsest.tools.mcp.values import (
    McpContent,
    McpServerSpec,
    RemoteResource,
    RemoteResult,
    RemoteTool,
    ServerFailed,
    expand,
    in_one_line,
)
from palimpsest.transcript.redaction.secret_removal import holds_secret

T = TypeVar("T")

INSTALL = "MCP servers need the package mcp: pip install 'jupyter-palimpsest[mcp]', then restart the kernel."

CONNECT_SECONDS = 30.0
"""Time limit to connect; a launcher that downloads its server on the first start takes that long."""
LIST_SECONDS = 15.0
MOST_PAGES = 50
"""Maximum pages of one list, since a server could always name another page."""
GONE = -32000
"""The protocol's error code for a closed connection."""
TIMED_OUT = -32001

PASSED = [
    "HOME",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "USER",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "SYSTEMROOT",
    "APPDATA",
    "LOCALAPPDATA",
    "PATHEXT",
    "TEMP",
    "USERPROFILE",
]
"""Environment variables that are passed to every server, except those that contain a secret."""


def installed() -> bool:
    """Return whether the optional package ``mcp`` is installed."""
    return importlib.util.find_spec("mcp") is not None


def load() -> None:
    """Import the package; in a thread, since it takes a second."""
    import mcp  # noqa: F401  loaded for later imports

    # It logs errors of servers with tracebacks, which would appear in the user's cells.
    logging.getLogger("mcp").addHandler(logging.NullHandler())


def environment_for(spec: McpServerSpec, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for a server's process: basic variables, and those configured for it."""
    kept = {
        name: environment[name]
        for name in PASSED
        if name in environment and not holds_secret(environment[name])
    }
    return kept | {name: expand(value, environment) for name, value in spec.env.items()}


class Connection:
    """An open connection to one server."""

    def __init__(self, spec: McpServerSpec, client: Any, broken: Sequence[str] = ()) -> None:
        self._spec = spec
        self._client = client
        self._broken = broken
        """The bound that the server broke, if it did; filled while the connection is open."""
        # The package would match results against the server's schema by an engine that may take years.
        client.session.validate_tool_result = _unchecked
        _read_leniently(client.session)
        capabilities = client.session.server_capabilities
        self.instructions: str = client.session.instructions or ""
        self.has_tools: bool = getattr(capabilities, "tools", None) is not None
        self.has_resources: bool = getattr(capabilities, "resources", None) is not None

    async def tools(self) -> tuple[RemoteTool, ...]:
        """Return the tools that the server offers now; raises ServerFailed."""
        if not self.has_tools:
            return ()
        pages = await self._pages("list its tools", "list_tools")
        return tuple(_tool(one) for page in pages for one in page.tools)

    async def call(
        self, name: str, arguments: dict[str, Any], progress: Callable[[str], None]
    ) -> RemoteResult:
        """Call a tool and return its result; raises ServerFailed."""

        async def told(done: float, total: float | None, message: str | None) -> None:
            progress(message or (f"{done:g} of {total:g}" if total else f"{done:g}"))

        work = self._client.call_tool(name, arguments, progress_callback=told)
        result = await self._asked(f"run {name}", work, self._spec.timeout)
        pieces = tuple(_piece(one) for one in result.content)
        return RemoteResult(pieces, result.structured_content, is_error=bool(result.is_error))

    async def resources(self, *, templates: bool) -> tuple[RemoteResource, ...]:
        """Return the resources that the server lists, or the templates for resource URIs; raises ServerFailed."""
        if templates:
            pages = await self._pages("list its templates", "list_resource_templates")
            return tuple(
                _resource(t, t.uri_template) for one in pages for t in one.resource_templates
            )
        pages = await self._pages("list its resources", "list_resources")
        return tuple(_resource(one, one.uri) for page in pages for one in page.resources)

    async def read(self, uri: str) -> tuple[McpContent, ...]:
        """Return the contents of a resource; raises ServerFailed."""
        work = self._client.read_resource(uri)
        result = await self._asked(f"read {uri}", work, self._spec.timeout)
        return tuple(_content(one) for one in result.contents)

    async def listen(self, changed: Callable[[], None]) -> None:
        """Call back on changes of the tool list, for servers with the newest protocol, until cancelled."""
        async with self._client.listen(tools_list_changed=True) as events:
            async for _ in events:
                changed()

    async def _pages(self, what: str, name: str) -> list[Any]:
        """Return all pages of a list, as many as come in the time for a list."""
        return await self._asked(what, self._turned(getattr(self._client, name)), LIST_SECONDS)

    async def _turned(self, method: Callable[..., Awaitable[Any]]) -> list[Any]:
        pages: list[Any] = []
        cursor: str | None = None
        while len(pages) < MOST_PAGES:
            pages.append(await method(cursor=cursor, cache_mode="refresh"))
            cursor = pages[-1].next_cursor
            if not cursor:
                break
        return pages

    async def _asked(self, what: str, work: Awaitable[T], seconds: float) -> T:
        import anyio

        try:
            with anyio.fail_after(seconds):
                return await work
        except TimeoutError:
            words = f"did not {what} within {seconds:g} seconds"
            raise ServerFailed(f"The MCP server {self._spec.name!r} {words}.", slow=True) from None
        except Exception as error:  # noqa: BLE001  an untrusted answer may raise anything
            raise self._failed(what, error) from None

    def _failed(self, what: str, error: Exception) -> ServerFailed:
        from mcp.shared.exceptions import MCPError

        if self._broken:
            return ServerFailed(stopped_text(self._spec.name, self._broken[0]), lost=True)
        lost, words = True, f"did not {what}: {_told(error)}"
        if isinstance(error, MCPError):
            lost = error.code == GONE or "session terminated" in str(error).lower()
            words = "ended" if lost else f"did not {what}: {in_one_line(str(error))}"
        return ServerFailed(f"The MCP server {self._spec.name!r} {words}.", lost=lost)


@asynccontextmanager
async def connect(
    spec: McpServerSpec,
    environment: Mapping[str, str],
    *,
    root: Path,
    changed: Callable[[], None],
    lost: Lost,
    begun: Callable[[Callable[[], None]], None],
) -> AsyncIterator[Connection]:
    """Open a connection; raises ServerFailed. Enter and leave it in the same task.

    ``changed`` is called when the server reports that its tools changed; ``lost`` when it ends, with the bound that it
    broke where it was stopped for that; ``begun`` with a function that aborts the connection and its process, once
    there is a process.
    """
    import anyio
    from mcp import Client

    def started() -> None:
        # Not by cancelling the task, which would also interrupt the shutdown of the process.
        begun(limit.cancel)

    broken: list[str] = []

    def ended(why: str) -> None:
        broken.extend([why] if why else [])
        lost(why)

    stderr = Stderr()
    transport = _transport(spec, environment, root, stderr, ended, started)

    async def told(message: Any) -> None:
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            changed()

    client = Client(transport, message_handler=told, cache=None)
    opened = False
    seconds = CONNECT_SECONDS
    try:
        with anyio.fail_after(seconds) as limit:
            async with client:
                opened, limit.deadline = True, float("inf")
                yield Connection(spec, client, broken)
    except ServerFailed:
        raise
    except TimeoutError:
        words = f"was silent for {seconds:g} seconds{stderr.last()}"
        raise ServerFailed(f"The MCP server {spec.name!r} {words}.", lost=True, slow=True) from None
    except Exception as error:  # noqa: BLE001  an untrusted answer may raise anything
        failed = _failure(spec.name, error, broken, "" if opened else stderr.last())
        if not opened or isinstance(_first(error), ServerFailed) or broken:
            raise failed from None
        return
    finally:
        stderr.close()
    if not opened:
        raise ServerFailed(f"The MCP server {spec.name!r} was given up before it answered.")


def _transport(
    spec: McpServerSpec,
    environment: Mapping[str, str],
    root: Path,
    stderr: Stderr,
    lost: Lost,
    started: Callable[[], None],
) -> Any:
    try:
        if spec.url is not None:
            headers = {name: expand(value, environment) for name, value in spec.headers.items()}
            return over_http(expand(spec.url, environment), headers, lost, started)
        given = environment_for(spec, environment)
        args = [expand(one, environment) for one in spec.args]
        command = command_of(expand(spec.command or "", environment), args, given)
    except ServerFailed as missing:
        raise ServerFailed(f"The MCP server {spec.name!r} cannot be started: {missing}.") from None
    cwd = root / expand(spec.cwd, environment) if spec.cwd else root
    return over_pipes(command, given, cwd, stderr, lost, started)


def _failure(name: str, error: Exception, broken: Sequence[str], said: str) -> ServerFailed:
    first = _first(error)
    if broken:
        return ServerFailed(stopped_text(name, broken[0]), lost=True)
    if isinstance(first, ServerFailed):
        return first
    return ServerFailed(f"The MCP server {name!r} cannot be used: {_told(error)}{said}.", lost=True)


def stopped_text(name: str, why: str) -> str:
    """Return the sentence about a server that was stopped because it broke a bound."""
    return f"The MCP server {name!r} {why}, so it was stopped."


def _told(error: BaseException) -> str:
    """Return the message of the first error of a group, in one line."""
    first = _first(error)
    return in_one_line(str(first).strip() or type(first).__name__).rstrip(".")


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _tool(one: Any) -> RemoteTool:
    annotations = one.annotations.model_dump(exclude_none=True) if one.annotations else {}
    return RemoteTool(
        one.name, one.description or "", one.input_schema or {}, one.title or "", annotations
    )


def _read_leniently(session: Any) -> None:
    """Have the lists of tools repaired before the package checks them, where it can be done."""
    dispatcher: Any = getattr(session, "_dispatcher", None)
    send = getattr(dispatcher, "send_raw_request", None)
    if send is None:
        return

    async def sent(method: str, *arguments: Any, **more: Any) -> Any:
        result = await send(method, *arguments, **more)
        return with_readable_tools(result) if method == "tools/list" else result

    with suppress(AttributeError):
        dispatcher.send_raw_request = sent


async def _unchecked(_name: str, _result: Any) -> None:
    """Leave a structured result unchecked: the schema for it is the server's own, and may be made to cost."""


def _resource(one: Any, uri: str) -> RemoteResource:
    return RemoteResource(uri, one.name or "", one.description or "", one.mime_type or "")


def _piece(one: Any) -> McpContent:
    match one.type:
        case "text":
            return McpContent("text", one.text)
        case "image" | "audio":
            return McpContent("blob", mime=one.mime_type, data=one.data)
        case "resource":
            return _content(one.resource)
        case "resource_link":
            mime = f", {one.mime_type}" if one.mime_type else ""
            return McpContent(
                "note", f"[Resource {one.uri} ({one.name}{mime}): read_mcp_resource reads it.]"
            )
        case kind:
            return McpContent("note", f"[Something of the kind {kind!r} was left out.]")


def _content(one: Any) -> McpContent:
    if hasattr(one, "text"):
        return McpContent("text", one.text)
    name = str(one.uri).rstrip("/").rpartition("/")[2]
    return McpContent(
        "blob", mime=one.mime_type or "application/octet-stream", data=one.blob, name=name
    )
