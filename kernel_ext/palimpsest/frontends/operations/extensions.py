"""List the hooks and MCP servers of this kernel with their state, and reconnect the servers."""

from collections.abc import Iterator, Sequence
from typing import Literal

from palimpsest.frontends.operation_base.operation import (
    Form,
    InKernel,
    Operation,
    OperationContext,
)
from palimpsest.frontends.operation_text.command_output import OutputLines, TitledTable
from palimpsest.model.wire.schema_repair import is_repaired
from palimpsest.render.content.phrases import count, first_names
from palimpsest.render.safety.escaping import one_line
from palimpsest.session.config.layer_merge import UntrustedSetting
from palimpsest.session.extensions.hooks import HookStatus
from palimpsest.tools.mcp.servers import McpServerStatus
from palimpsest.tools.mcp.values import MAX_DESCRIPTION_CHARS
from palimpsest.tools.registration.registry import Registry
from palimpsest.transcript.values import Value

HOOK_COLUMNS = ("hook", "function", "from", "asked", "failed")
SERVER_COLUMNS = ("server", "state", "from", "tools")
NO_HOOKS = (
    "No hook takes part. Add one with @palimpsest.hook in a cell, or under hooks in the settings; a "
    "package may bring some."
)
NO_SERVERS = (
    "No MCP server is configured. Name one under mcp in the settings: docs/mcp.md shows how."
)
WAITING_FOR_TRUST = "This project's file has {key} that wait for your trust: %agent config shows them, %agent config trust believes them."
MAX_LISTED_TOOLS = 12
MAX_PROBLEM_CHARS = 300
REPAIRED_SCHEMAS = (
    "Schemas of the MCP server {server!r} are repaired for the model, since providers would refuse the whole request for what "
    "is wrong in them: {names}. Inputs are checked against what the server wrote."
)
SHORTENED_DESCRIPTION = "The description of {tool!r} of the MCP server {server!r} has {chars} characters: the model is shown the first {most}."


class Extensions(Value):
    """The hooks and MCP servers of this kernel."""

    hooks: tuple[HookStatus, ...]
    servers: tuple[McpServerStatus, ...]
    remarks: tuple[str, ...]
    """Sentences on hooks that cannot be loaded."""
    lines: InKernel[OutputLines] = ()
    """The output of a cell."""


class ListExtensions(Operation):
    """List the hooks and MCP servers of this kernel; with ``connect`` reconnect its servers first."""

    type: Literal["extensions"] = "extensions"
    connect: bool = False
    kind: Literal["hooks", "mcp"] | None = None
    """The kind that a cell shows."""
    forms = (
        Form(
            "hooks",
            "functions that take part in each turn, where they come from, and which failed",
            fixed_values={"kind": "hooks"},
        ),
        Form(
            "mcp",
            "MCP servers, their state and tools; %agent mcp connect tries them again",
            fixed_values={"kind": "mcp"},
            parse_rest=lambda rest: {"": {}, "connect": {"connect": True}}.get(rest.strip()),
            keywords=("connect",),
            is_never_prompt=True,
        ),
    )

    async def run(self, context: OperationContext) -> Extensions:
        services = context.services
        if self.kind != "mcp":
            await services.hooks.load()
        if self.connect:
            await services.servers.reconnect_all()
        untrusted = services.config.untrusted_settings
        hooks, problems = services.hooks.status(), tuple(services.hooks.problems)
        servers = services.servers.status()
        lines = (
            hook_lines(hooks, problems, untrusted)
            if self.kind == "hooks"
            else server_lines(servers, services.registry, untrusted)
        )
        return Extensions(hooks=hooks, servers=servers, remarks=problems, lines=lines)

    def output(self, answer: Extensions) -> OutputLines:
        return answer.lines


def hook_lines(
    hooks: Sequence[HookStatus], problems: Sequence[str], untrusted: Sequence[UntrustedSetting]
) -> OutputLines:
    """Return the hooks as a table, and their problems."""
    remarks = [*problems, *_untrusted_hint(untrusted, "hooks", "hooks")]
    rows = [
        (
            hook.name,
            hook.label,
            hook.origin,
            f"{hook.calls:,}",
            f"{hook.failures:,}: it {hook.problem}" if hook.failures else "0",
        )
        for hook in hooks
    ]
    return [TitledTable("", HOOK_COLUMNS, rows), *remarks] if rows else (remarks or [NO_HOOKS])


def server_lines(
    servers: Sequence[McpServerStatus],
    registry: Registry,
    untrusted: Sequence[UntrustedSetting] = (),
) -> OutputLines:
    """Return the servers as a table, and sentences about tools that the model is shown changed."""
    waiting_hint = _untrusted_hint(untrusted, "mcp", "MCP servers")
    if not servers:
        return waiting_hint or [NO_SERVERS]
    rows = [
        (
            server.name,
            f"{server.state} ({server.kind})",
            server.origin,
            first_names(server.tools, MAX_LISTED_TOOLS)
            or one_line(server.problem, MAX_PROBLEM_CHARS),
        )
        for server in servers
    ]
    lines: list[str | TitledTable] = [TitledTable("", SERVER_COLUMNS, rows)]
    lines += [sentence for server in servers for sentence in server.left_out]
    lines += [
        sentence for server in servers for sentence in _changed_tool_sentences(server, registry)
    ]
    if any(server.state in ("waiting", "failed") for server in servers):
        lines.append("They are connected when a prompt begins; %agent mcp connect does it now.")
    return [*lines, *waiting_hint]


def _changed_tool_sentences(server: McpServerStatus, registry: Registry) -> Iterator[str]:
    """Yield sentences about tools whose schema or description is changed for the model."""
    specs = [registry.spec(tool) for tool in registry.offered_tools() if tool.name in server.tools]
    repaired_names = [spec.name for spec in specs if is_repaired(spec)]
    if repaired_names:
        names = first_names(repaired_names, MAX_LISTED_TOOLS)
        yield REPAIRED_SCHEMAS.format(server=server.name, names=names)
    for name, chars in server.shortened[:MAX_LISTED_TOOLS]:
        yield SHORTENED_DESCRIPTION.format(
            tool=name, server=server.name, chars=count(chars), most=count(MAX_DESCRIPTION_CHARS)
        )


def _untrusted_hint(
    untrusted: Sequence[UntrustedSetting], key: str, setting_noun: str
) -> list[str]:
    """Return a sentence if settings of this key in a project's file wait for trust."""
    is_waiting = any(setting.key == key for setting in untrusted)
    return [WAITING_FOR_TRUST.format(key=setting_noun)] if is_waiting else []
