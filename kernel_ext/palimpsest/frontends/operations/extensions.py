"""List the hooks and MCP servers of this kernel with their state, and connect the servers anew."""

from collections.abc import Iterator, Sequence
from typing import Literal

from palimpsest.frontends.operation_text.command_output import Lines, PolicySection
from palimpsest.frontends.operations.operation import Desk, Form, InKernel, Operation
from palimpsest.model.wire.schema_repair import is_repaired
from palimpsest.render.content.phrases import count
from palimpsest.render.safety.escaping import one_line
from palimpsest.session.config.layer_merge import UntrustedSetting
from palimpsest.session.extensions.hooks import HookStatus
from palimpsest.tools.mcp.servers import McpServerStatus
from palimpsest.tools.mcp.values import LONGEST_DESCRIPTION
from palimpsest.tools.registration.registry import Registry
from palimpsest.transcript.values import Value

HOOK_HEAD = ("hook", "function", "from", "asked", "failed")
SERVER_HEAD = ("server", "state", "from", "tools")
NO_HOOKS = (
    "No hook takes part. Add one with @palimpsest.hook in a cell, or under hooks in the settings; a "
    "package may bring some."
)
NO_SERVERS = (
    "No MCP server is configured. Name one under mcp in the settings: docs/mcp.md shows how."
)
WAITING = "This project's file has {key} that wait for your trust: %agent config shows them, %agent config trust believes them."
MOST_TOOLS = 12
REPAIRED = (
    "Schemas of the MCP server {server!r} are repaired for the model, since providers would refuse the whole request for what "
    "is wrong in them: {names}. Inputs are checked against what the server wrote."
)
SHORTENED = "The description of {tool!r} of the MCP server {server!r} has {chars} characters: the model is shown the first {most}."


def names_text(names: Sequence[str]) -> str:
    """Return names in a row, of many the first ones."""
    more = f" and {len(names) - MOST_TOOLS} more" if len(names) > MOST_TOOLS else ""
    return ", ".join(names[:MOST_TOOLS]) + more


class Extensions(Value):
    """The hooks and MCP servers of this kernel."""

    hooks: tuple[HookStatus, ...]
    servers: tuple[McpServerStatus, ...]
    remarks: tuple[str, ...]
    """Hooks that cannot be loaded."""
    lines: InKernel[Lines] = ()
    """What a cell shows of them."""


class ListExtensions(Operation):
    """List the hooks and MCP servers of this kernel; with ``connect`` reconnect its servers first."""

    type: Literal["extensions"] = "extensions"
    connect: bool = False
    kind: Literal["hooks", "mcp"] | None = None
    """Which of them a cell shows."""
    forms = (
        Form(
            "hooks",
            "functions that take part in each turn, where they come from, and which failed",
            fixed={"kind": "hooks"},
        ),
        Form(
            "mcp",
            "MCP servers, their state and tools; %agent mcp connect tries them again",
            fixed={"kind": "mcp"},
            read=lambda rest: {"": {}, "connect": {"connect": True}}.get(rest.strip()),
            keywords=("connect",),
            begins_no_prompt=True,
        ),
    )

    async def run(self, at: Desk) -> Extensions:
        services = at.services
        if self.kind != "mcp":
            await services.hooks.load()
        if self.connect:
            await services.servers.restart()
        held = services.config.held
        hooks, problems = services.hooks.status(), tuple(services.hooks.problems)
        known = services.servers.status()
        return Extensions(
            hooks=hooks,
            servers=known,
            remarks=problems,
            lines=hook_lines(hooks, problems, held)
            if self.kind == "hooks"
            else server_lines(known, services.registry, held),
        )

    def output(self, answer: Extensions) -> Lines:
        return answer.lines


def hook_lines(
    hooks: Sequence[HookStatus], problems: Sequence[str], held: Sequence[UntrustedSetting]
) -> Lines:
    """Return the hooks as a table, and what is wrong with some."""
    said = [*problems, *_waiting(held, "hooks", "hooks")]
    rows = [
        (
            one.name,
            one.label,
            one.origin,
            f"{one.calls:,}",
            f"{one.failures:,}: it {one.problem}" if one.failures else "0",
        )
        for one in hooks
    ]
    return [PolicySection("", HOOK_HEAD, rows), *said] if rows else (said or [NO_HOOKS])


def server_lines(
    servers: Sequence[McpServerStatus], registry: Registry, held: Sequence[UntrustedSetting] = ()
) -> Lines:
    """Return the servers as a table, and what the model is shown of their tools in other words."""
    waiting = _waiting(held, "mcp", "MCP servers")
    if not servers:
        return waiting or [NO_SERVERS]
    rows = [
        (
            one.name,
            f"{one.state} ({one.kind})",
            one.origin,
            names_text(one.tools) or one_line(one.problem, 300),
        )
        for one in servers
    ]
    said: list[str | PolicySection] = [PolicySection("", SERVER_HEAD, rows)]
    said += [words for one in servers for words in one.left_out]
    said += [words for one in servers for words in _changed(one, registry)]
    if any(one.state in ("waiting", "failed") for one in servers):
        said.append("They are connected when a prompt begins; %agent mcp connect does it now.")
    return [*said, *waiting]


def _changed(server: McpServerStatus, registry: Registry) -> Iterator[str]:
    """Yield sentences about tools of which the model is shown something else than what their server wrote."""
    specs = [registry.spec(one) for one in registry.offered() if one.name in server.tools]
    mended = [one.name for one in specs if is_repaired(one)]
    if mended:
        yield REPAIRED.format(server=server.name, names=names_text(mended))
    for name, chars in server.shortened[:MOST_TOOLS]:
        yield SHORTENED.format(
            tool=name, server=server.name, chars=count(chars), most=count(LONGEST_DESCRIPTION)
        )


def _waiting(held: Sequence[UntrustedSetting], key: str, words: str) -> list[str]:
    """Return a sentence if a project's file names some that wait for trust and are not used yet."""
    return [WAITING.format(key=words)] if any(one.key == key for one in held) else []
