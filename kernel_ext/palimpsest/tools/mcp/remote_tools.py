"""Tools that call MCP servers: one for each tool that a server offers, and three for resources.

Border: calls ``McpServer``, which raises ServerFailed with one sentence on any failure. Permission for a tool is asked
under its own name, for a resource under ``read``.
"""

import json
from collections.abc import Callable, Sequence

from pydantic import BaseModel, Field

from palimpsest.tools.calls.error_containment import run_in_thread, run_until_abort
from palimpsest.tools.calls.schema_validation import schema_arguments
from palimpsest.tools.mcp.content import call_outcome, resource_outcome
from palimpsest.tools.mcp.server import McpServer
from palimpsest.tools.mcp.tool_listing import OfferedTool, approval_text
from palimpsest.tools.mcp.values import (
    MAX_DESCRIPTION_CHARS,
    RemoteResource,
    ServerFailed,
    sanitize,
    untrusted_line,
)
from palimpsest.tools.tool import Tool, ToolContext, ToolOutcome
from palimpsest.transcript.errors import NotFound

MAX_TITLE_CHARS = 120
MAX_PROGRESS_CHARS = 500
MAX_LISTED_RESOURCES = 500
"""Maximum resources of one server in a list."""


def server_of(tool_name: str, server_names: Sequence[str]) -> str | None:
    """Return the name of the server that offers a tool of this name: the longest that is its prefix; None without one."""
    matching_names = [
        server_name
        for server_name in server_names
        if tool_name.lower().startswith(f"{sanitize(server_name)}_".lower())
    ]
    return max(matching_names, key=lambda server_name: len(sanitize(server_name)), default=None)


class McpTool:
    """The agent tool for one tool of a server."""

    concurrent = True

    def __init__(self, server: McpServer, offered_tool: OfferedTool) -> None:
        tool = offered_tool.remote
        self.server = server
        self.offered_tool = offered_tool
        self.name, self.permission = offered_tool.name, offered_tool.permission
        self.description = tool.description[:MAX_DESCRIPTION_CHARS] or f"The tool {tool.name}."
        self.arguments = schema_arguments(self.name, tool.schema)
        self.approved_as = approval_text(server.name, server.address, tool)
        """The description to which an "always" for the tool is bound."""

    async def run(self, arguments: BaseModel, context: ToolContext) -> ToolOutcome:
        """Ask for permission, call the tool at its server, and return its result."""
        input_values, tool = dict(arguments.model_extra or {}), self.offered_tool.remote
        shown_name = untrusted_line(tool.name, MAX_TITLE_CHARS // 2)
        title = f"{shown_name} {json.dumps(input_values, ensure_ascii=False)}"[:MAX_TITLE_CHARS]
        await context.ask(
            self.permission, ["*"], title=title, always=["*"], bound_to=self.approved_as
        )

        def show_progress(message: str) -> None:
            context.metadata(None, {"output": untrusted_line(message, MAX_PROGRESS_CHARS)})

        work = self.server.call(tool, input_values, show_progress)
        result = await run_until_abort(context.abort, work)
        scrub = context.scrubber()
        return await run_in_thread(context.abort, lambda: call_outcome(title, result, scrub))


class _ServerArgument(BaseModel):
    server: str | None = Field(None, description="Only of this server.")


class _ResourceArguments(BaseModel):
    server: str = Field(description="The server that names the resource.")
    uri: str = Field(description="Its address, as listed.")


class ListResources:
    """The tool that lists the resources, or resource templates, of servers."""

    concurrent = True
    permission = "read"
    arguments: type[BaseModel] = _ServerArgument

    def __init__(self, servers: Callable[[], Sequence[McpServer]], *, templates: bool) -> None:
        self._servers = servers
        self._lists_templates = templates
        self.name = "list_mcp_resource_templates" if templates else "list_mcp_resources"
        listed_things = "templates for addresses of resources" if templates else "resources"
        self.description = f"List the {listed_things} that MCP servers offer, with their addresses."

    async def run(self, arguments: _ServerArgument, context: ToolContext) -> ToolOutcome:
        """Ask for permission, and list the resources or templates of the named server or of all."""
        name, servers = arguments.server, self._servers()
        chosen_servers = [_find_server(servers, name)] if name else servers
        patterns = [f"mcp:{server.name}:*" for server in chosen_servers]
        await context.ask("read", patterns, title=self.name, always=patterns)
        server_texts = [await self._server_text(server, context) for server in chosen_servers]
        text = "\n\n".join(server_texts) or "No server that is connected has resources."
        title = name or f"{len(chosen_servers)} servers"
        return ToolOutcome(title, context.scrubber()(text))

    async def _server_text(self, server: McpServer, context: ToolContext) -> str:
        try:
            work = server.resources(templates=self._lists_templates)
            listed_items = await run_until_abort(context.abort, work)
        except ServerFailed as problem:
            return str(problem)
        lines = [_resource_line(resource) for resource in listed_items[:MAX_LISTED_RESOURCES]]
        if len(listed_items) > MAX_LISTED_RESOURCES:
            lines.append(f"({len(listed_items) - MAX_LISTED_RESOURCES} more are not listed.)")
        return "\n".join([f"{server.name}:", *(lines or ["(none)"])])


class ReadResource:
    """The tool that reads one resource of a server."""

    name = "read_mcp_resource"
    description = "Read a resource of an MCP server by its address."
    concurrent = True
    permission = "read"
    arguments: type[BaseModel] = _ResourceArguments

    def __init__(self, servers: Callable[[], Sequence[McpServer]]) -> None:
        self._servers = servers

    async def run(self, arguments: _ResourceArguments, context: ToolContext) -> ToolOutcome:
        """Ask for permission and return the contents of the resource."""
        server = _find_server(self._servers(), arguments.server)
        pattern = f"mcp:{server.name}:{arguments.uri}"
        await context.ask(
            "read", [pattern], title=f"read {arguments.uri}", always=[f"mcp:{server.name}:*"]
        )
        contents = await run_until_abort(context.abort, server.read_resource(arguments.uri))
        scrub = context.scrubber()
        return await run_in_thread(
            context.abort, lambda: resource_outcome(server.name, arguments.uri, contents, scrub)
        )


def resource_tools(servers: Callable[[], Sequence[McpServer]]) -> tuple[Tool, ...]:
    """Create the three tools for resources."""
    return (
        ListResources(servers, templates=False),
        ListResources(servers, templates=True),
        ReadResource(servers),
    )


def _find_server(servers: Sequence[McpServer], name: str) -> McpServer:
    for server in servers:
        if server.name == name:
            return server
    names = ", ".join(server.name for server in servers) or "none"
    raise NotFound(f"There is no connected MCP server {name!r} with resources. Servers: {names}.")


def _resource_line(resource: RemoteResource) -> str:
    details = [part for part in (resource.name, resource.mime, resource.description) if part]
    return f"- {resource.uri}" + (f" ({'; '.join(details)})" if details else "")
