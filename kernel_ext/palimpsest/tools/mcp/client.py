"""The connection to an MCP server, through the optional package ``mcp``.

Border: one connection; only this module and ``transports.py`` import the package; its results are values of
``values.py``. When to connect, which tools to offer and how to handle failures is decided by ``tools/mcp/servers.py``. A
server is untrusted: its messages are data, its time is limited, and every failure becomes one sentence.
"""

import importlib.util
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from palimpsest.tools.mcp.readable_tools import with_readable_tools
from palimpsest.tools.mcp.transports import (
    OnServerEnd,
    Stderr,
    checked_command,
    http_streams,
    pipe_streams,
)
from palimpsest.tools.mcp.values import (
    McpContent,
    McpServerSpec,
    RemoteResource,
    RemoteResult,
    RemoteTool,
    ServerFailed,
    expand_variables,
    untrusted_line,
)
from palimpsest.transcript.redaction.secret_removal import contains_secret

T = TypeVar("T")

NOT_INSTALLED = "MCP servers need the package mcp: pip install 'jupyter-palimpsest[mcp]', then restart the kernel."

MAX_CONNECT_SECONDS = 30.0
"""Time limit to connect, enough for a launcher that downloads its server on the first start."""
MAX_LIST_SECONDS = 15.0
"""Time limit to read all pages of one list."""
MAX_LIST_PAGES = 50
"""Maximum pages of one list, since a server could always name another page."""
CONNECTION_CLOSED = -32000
"""The protocol's error code for a closed connection."""

PASSED_VARIABLES = [
    "HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE",
    "TZ", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "HTTP_PROXY",
    "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "SYSTEMROOT", "APPDATA",
    "LOCALAPPDATA", "PATHEXT", "TEMP", "USERPROFILE",
]  # fmt: skip
"""Environment variables that are passed to every server, except those that contain a secret."""


def is_installed() -> bool:
    """Return whether the optional package ``mcp`` is installed."""
    return importlib.util.find_spec("mcp") is not None


def import_package() -> None:
    """Import the package ``mcp``; call it in a thread, since the import takes a second."""
    import mcp  # noqa: F401  loaded for later imports

    # The package logs errors of servers with tracebacks, which would appear in the user's cells.
    logging.getLogger("mcp").addHandler(logging.NullHandler())


def environment_for(spec: McpServerSpec, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for a server's process: basic variables, and those configured for it."""
    basic_variables = {
        name: environment[name]
        for name in PASSED_VARIABLES
        if name in environment and not contains_secret(environment[name])
    }
    return basic_variables | {
        name: expand_variables(value, environment) for name, value in spec.env.items()
    }


class Connection:
    """An open connection to one server."""

    def __init__(self, spec: McpServerSpec, client: Any, broken_bounds: Sequence[str] = ()) -> None:
        self._spec = spec
        self._client = client
        self._broken_bounds = broken_bounds
        """The message bound that the server exceeded, or empty; another task may add it while the connection is open."""
        # The package would validate results with the server's schema by an engine without time limit.
        client.session.validate_tool_result = _skip_validation
        _repair_tool_lists(client.session)
        capabilities = client.session.server_capabilities
        self.instructions: str = client.session.instructions or ""
        self.has_tools: bool = getattr(capabilities, "tools", None) is not None
        self.has_resources: bool = getattr(capabilities, "resources", None) is not None

    async def tools(self) -> tuple[RemoteTool, ...]:
        """Return the tools that the server offers at present; raises ServerFailed."""
        if not self.has_tools:
            return ()
        return tuple(
            map(_remote_tool, await self._list_items("list its tools", "list_tools", "tools"))
        )

    async def call(
        self, name: str, arguments: dict[str, Any], show_progress: Callable[[str], None]
    ) -> RemoteResult:
        """Call a tool and return its result; raises ServerFailed."""

        async def on_progress(done: float, total: float | None, message: str | None) -> None:
            show_progress(message or (f"{done:g} of {total:g}" if total else f"{done:g}"))

        request = self._client.call_tool(name, arguments, progress_callback=on_progress)
        result = await self._request(f"run {name}", request, self._spec.timeout)
        contents = tuple(_result_content(block) for block in result.content)
        return RemoteResult(contents, result.structured_content, is_error=bool(result.is_error))

    async def resources(self, *, templates: bool) -> tuple[RemoteResource, ...]:
        """Return the resources that the server lists, or the templates for resource URIs; raises ServerFailed."""
        if templates:
            action, field = "list its templates", "resource_templates"
            items = await self._list_items(action, "list_resource_templates", field)
            return tuple(_remote_resource(item, item.uri_template) for item in items)
        items = await self._list_items("list its resources", "list_resources", "resources")
        return tuple(_remote_resource(item, item.uri) for item in items)

    async def read_resource(self, uri: str) -> tuple[McpContent, ...]:
        """Return the contents of a resource; raises ServerFailed."""
        request = self._client.read_resource(uri)
        result = await self._request(f"read {uri}", request, self._spec.timeout)
        return tuple(_resource_content(content) for content in result.contents)

    async def watch_tools(self, on_change: Callable[[], None]) -> None:
        """Call ``on_change`` at each change of the tool list, until cancelled, for servers with the newest protocol."""
        async with self._client.listen(tools_list_changed=True) as events:
            async for _ in events:
                on_change()

    async def _list_items(self, action: str, method: str, field: str) -> list[Any]:
        """Return the items in a field of a list's pages, which must arrive within ``MAX_LIST_SECONDS``."""

        async def read_pages() -> list[Any]:
            items: list[Any] = []
            cursor: str | None = None
            for _ in range(MAX_LIST_PAGES):
                page = await getattr(self._client, method)(cursor=cursor, cache_mode="refresh")
                items += getattr(page, field)
                cursor = page.next_cursor
                if not cursor:
                    break
            return items

        return await self._request(action, read_pages(), MAX_LIST_SECONDS)

    async def _request(self, action: str, awaitable: Awaitable[T], seconds: float) -> T:
        import anyio

        try:
            with anyio.fail_after(seconds):
                return await awaitable
        except TimeoutError:
            failure = f"did not {action} within {seconds:g} seconds"
            raise ServerFailed(
                f"The MCP server {self._spec.name!r} {failure}.", is_slow=True
            ) from None
        except Exception as error:  # noqa: BLE001  an untrusted answer may raise anything
            raise self._server_failed(action, error) from None

    def _server_failed(self, action: str, error: Exception) -> ServerFailed:
        from mcp.shared.exceptions import MCPError

        if self._broken_bounds:
            return ServerFailed(stopped_text(self._spec.name, self._broken_bounds[0]), is_lost=True)
        is_lost, failure = True, f"did not {action}: {_error_line(error)}"
        if isinstance(error, MCPError):
            is_lost = error.code == CONNECTION_CLOSED or "session terminated" in str(error).lower()
            failure = "ended" if is_lost else f"did not {action}: {untrusted_line(str(error))}"
        return ServerFailed(f"The MCP server {self._spec.name!r} {failure}.", is_lost=is_lost)


@asynccontextmanager
async def connect(
    spec: McpServerSpec,
    environment: Mapping[str, str],
    *,
    root: Path,
    on_change: Callable[[], None],
    on_lost: OnServerEnd,
    on_begin: Callable[[Callable[[], None]], None],
) -> AsyncIterator[Connection]:
    """Open a connection; raises ServerFailed. Enter and leave it in the same task.

    ``on_change`` is called when the server reports that its tools changed. ``on_lost`` is called when the server ends,
    with the bound that it exceeded if it was stopped for that. ``on_begin`` is called once the process runs, with a
    function that aborts the connection and the process.
    """
    import anyio
    from mcp import Client

    def report_start() -> None:
        # By the cancel scope: cancelling the task would also interrupt the shutdown of the process.
        on_begin(time_limit.cancel)

    broken_bounds: list[str] = []

    def on_end(reason: str) -> None:
        broken_bounds.extend([reason] if reason else [])
        on_lost(reason)

    stderr = Stderr()
    transport = _transport(spec, environment, root, stderr, on_end, report_start)

    async def on_message(message: Any) -> None:
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            on_change()

    client = Client(transport, message_handler=on_message, cache=None)
    is_open = False
    seconds = MAX_CONNECT_SECONDS
    try:
        with anyio.fail_after(seconds) as time_limit:
            async with client:
                is_open, time_limit.deadline = True, float("inf")
                yield Connection(spec, client, broken_bounds)
    except ServerFailed:
        raise
    except TimeoutError:
        failure = f"was silent for {seconds:g} seconds{stderr.last_line()}"
        raise ServerFailed(
            f"The MCP server {spec.name!r} {failure}.", is_lost=True, is_slow=True
        ) from None
    except Exception as error:  # noqa: BLE001  an untrusted answer may raise anything
        server_failure = _connection_failure(
            spec.name, error, broken_bounds, "" if is_open else stderr.last_line()
        )
        if not is_open or isinstance(_first_error(error), ServerFailed) or broken_bounds:
            raise server_failure from None
        return
    finally:
        stderr.close_write_end()
    if not is_open:
        raise ServerFailed(f"The MCP server {spec.name!r} was given up before it answered.")


def _transport(
    spec: McpServerSpec,
    environment: Mapping[str, str],
    root: Path,
    stderr: Stderr,
    on_end: OnServerEnd,
    on_start: Callable[[], None],
) -> Any:
    try:
        if spec.url is not None:
            headers = {
                name: expand_variables(value, environment) for name, value in spec.headers.items()
            }
            return http_streams(expand_variables(spec.url, environment), headers, on_end, on_start)
        process_environment = environment_for(spec, environment)
        args = [expand_variables(arg, environment) for arg in spec.args]
        command = checked_command(
            expand_variables(spec.command or "", environment), args, process_environment
        )
    except ServerFailed as problem:
        raise ServerFailed(f"The MCP server {spec.name!r} cannot be started: {problem}.") from None
    cwd = root / expand_variables(spec.cwd, environment) if spec.cwd else root
    return pipe_streams(command, process_environment, cwd, stderr, on_end, on_start)


def _connection_failure(
    name: str, error: Exception, broken_bounds: Sequence[str], stderr_text: str
) -> ServerFailed:
    first_error = _first_error(error)
    if broken_bounds:
        return ServerFailed(stopped_text(name, broken_bounds[0]), is_lost=True)
    if isinstance(first_error, ServerFailed):
        return first_error
    return ServerFailed(
        f"The MCP server {name!r} cannot be used: {_error_line(error)}{stderr_text}.", is_lost=True
    )


def stopped_text(name: str, reason: str) -> str:
    """Return the sentence about a server that was stopped because it exceeded a bound."""
    return f"The MCP server {name!r} {reason}, so it was stopped."


def _error_line(error: BaseException) -> str:
    """Return the message of the first error of a group, in one line."""
    first_error = _first_error(error)
    return untrusted_line(str(first_error).strip() or type(first_error).__name__).rstrip(".")


def _first_error(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _remote_tool(tool: Any) -> RemoteTool:
    annotations = tool.annotations.model_dump(exclude_none=True) if tool.annotations else {}
    return RemoteTool(
        tool.name, tool.description or "", tool.input_schema or {}, tool.title or "", annotations
    )


def _repair_tool_lists(session: Any) -> None:
    """Make the package's session repair lists of tools before it validates them, if its version allows that."""
    dispatcher: Any = getattr(session, "_dispatcher", None)
    send_request = getattr(dispatcher, "send_raw_request", None)
    if send_request is None:
        return

    async def send_and_repair(method: str, *arguments: Any, **options: Any) -> Any:
        result = await send_request(method, *arguments, **options)
        return with_readable_tools(result) if method == "tools/list" else result

    with suppress(AttributeError):
        dispatcher.send_raw_request = send_and_repair


async def _skip_validation(_name: str, _result: Any) -> None:
    """Skip the validation of a structured result, since a server's schema may be designed to be slow."""


def _remote_resource(resource: Any, uri: str) -> RemoteResource:
    return RemoteResource(
        uri, resource.name or "", resource.description or "", resource.mime_type or ""
    )


def _result_content(block: Any) -> McpContent:
    match block.type:
        case "text":
            return McpContent("text", block.text)
        case "image" | "audio":
            return McpContent("blob", mime=block.mime_type, data=block.data)
        case "resource":
            return _resource_content(block.resource)
        case "resource_link":
            mime = f", {block.mime_type}" if block.mime_type else ""
            return McpContent(
                "note", f"[Resource {block.uri} ({block.name}{mime}): read_mcp_resource reads it.]"
            )
        case kind:
            return McpContent("note", f"[Something of the kind {kind!r} was left out.]")


def _resource_content(content: Any) -> McpContent:
    if hasattr(content, "text"):
        return McpContent("text", content.text)
    name = str(content.uri).rstrip("/").rpartition("/")[2]
    return McpContent(
        "blob", mime=content.mime_type or "application/octet-stream", data=content.blob, name=name
    )
