"""List the hooks and MCP servers of this kernel with their state, for ``%agent hooks`` and ``%agent mcp``.

Border: rows of text from values; ``frontends/subcommands/dispatch.py`` makes tables of them.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from palimpsest.frontends.cell_turn.services import CellPlace
from palimpsest.frontends.subcommands.policy import PolicySection
from palimpsest.model.wire.schema_repair import is_repaired
from palimpsest.render.content.phrases import count
from palimpsest.render.safety.escaping import one_line
from palimpsest.session.extensions.hooks import HookStatus
from palimpsest.tools.mcp.servers import McpServerStatus
from palimpsest.tools.mcp.values import LONGEST_DESCRIPTION

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


def hook_rows(hooks: Sequence[HookStatus]) -> list[tuple[str, ...]]:
    """Return a row for each hook with its calls and failures."""
    return [
        (
            one.name,
            one.label,
            one.origin,
            f"{one.calls:,}",
            f"{one.failures:,}: it {one.problem}" if one.failures else "0",
        )
        for one in hooks
    ]


def server_rows(servers: Sequence[McpServerStatus]) -> list[tuple[str, ...]]:
    """Return a row for each server with its state and tools."""
    return [
        (
            one.name,
            f"{one.state} ({one.kind})",
            one.origin,
            _tools(one) or one_line(one.problem, 300),
        )
        for one in servers
    ]


def names_text(names: Sequence[str]) -> str:
    """Return names in a row, of many the first ones."""
    more = f" and {len(names) - MOST_TOOLS} more" if len(names) > MOST_TOOLS else ""
    return ", ".join(names[:MOST_TOOLS]) + more


def _tools(one: McpServerStatus) -> str:
    return names_text(one.tools)


class ExtensionCommands:
    """Lists hooks and servers; ``connect`` tries again to connect servers."""

    def __init__(self, services: Any) -> None:
        self._services = services

    def hooks(self, _argument: str, _place: CellPlace) -> list[str | PolicySection]:
        """List the hooks; those that are only configured are loaded first."""
        book = getattr(self._services, "hooks", None)
        waiting = self._waiting("hooks", "hooks")
        if book is None:
            return waiting or [NO_HOOKS]
        self._services.engine.submit(book.load()).result()
        rows = hook_rows(book.status())
        said: list[str | PolicySection] = [*book.problems, *waiting]
        return [PolicySection("", HOOK_HEAD, rows), *said] if rows else (said or [NO_HOOKS])

    def mcp(self, argument: str, _place: CellPlace) -> list[str | PolicySection]:
        """List the MCP servers."""
        servers = getattr(self._services, "servers", None)
        waiting = self._waiting("mcp", "MCP servers")
        if not servers:
            return waiting or [NO_SERVERS]
        if argument == "connect":
            self._services.engine.submit(servers.restart()).result()
        said: list[str | PolicySection] = [
            PolicySection("", SERVER_HEAD, server_rows(servers.status()))
        ]
        said += [words for one in servers.status() for words in one.left_out]
        said += [words for one in servers.status() for words in self._changed(one)]
        if any(one.state in ("waiting", "failed") for one in servers.status()):
            said.append("They are connected when a prompt begins; %agent mcp connect does it now.")
        return [*said, *waiting]

    def _changed(self, server: McpServerStatus) -> Iterator[str]:
        """Yield sentences about tools of which the model is shown something else than what their server wrote."""
        registry: Any = getattr(self._services, "registry", None)
        tools = registry.offered() if registry is not None else ()
        specs = [registry.spec(one) for one in tools if one.name in server.tools]
        mended = [one.name for one in specs if is_repaired(one)]
        if mended:
            yield REPAIRED.format(server=server.name, names=names_text(mended))
        for name, chars in server.shortened[:MOST_TOOLS]:
            yield SHORTENED.format(
                tool=name, server=server.name, chars=count(chars), most=count(LONGEST_DESCRIPTION)
            )

    def _waiting(self, key: str, words: str) -> list[str | PolicySection]:
        """Return a sentence if a project's file names some that wait for trust and are not used yet."""
        held = getattr(getattr(self._services, "config", None), "held", ())
        return [WAITING.format(key=words)] if any(one.key == key for one in held) else []
