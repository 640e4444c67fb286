"""Read the hooks and MCP servers of a kernel from its settings.

Border: values to values; nothing is loaded or started. Settings from a project's own file are included only
when the user trusted it (``session/trust/trust_store.py``).
"""

from collections.abc import Mapping, Sequence

from palimpsest.session.config.settings import HookTable, McpSettings
from palimpsest.session.extensions.hooks import HookSource
from palimpsest.tools.mcp.values import TIMEOUT_SECONDS, McpServerSpec


def hook_sources(tables: Sequence[HookTable], origins: Mapping[str, str]) -> tuple[HookSource, ...]:
    """Return the hooks that the settings name, lowest layers first."""
    origin = origins.get("hooks", "settings")
    sources: list[HookSource] = []
    for table in tables:
        if not isinstance(table, Mapping):
            sources += [HookSource(target, origin=origin) for target in table]
            continue
        for name, targets in table.items():
            names = [targets] if isinstance(targets, str) else targets
            sources += [HookSource(target, name, origin) for target in names]
    return tuple(sources)


def server_specs(
    servers: Mapping[str, McpSettings], origins: Mapping[str, str]
) -> tuple[McpServerSpec, ...]:
    """Return the MCP servers that the settings name."""
    return tuple(_spec(name, server, origins) for name, server in servers.items())


def _spec(name: str, settings: McpSettings, origins: Mapping[str, str]) -> McpServerSpec:
    keys = (f"mcp.{name}.command", f"mcp.{name}.url", f'mcp."{name}".command', f'mcp."{name}".url')
    origin = next((origins[key] for key in keys if key in origins), "settings")
    values = settings.model_dump() | {"args": tuple(settings.args)}
    values["timeout"] = settings.timeout or TIMEOUT_SECONDS
    return McpServerSpec(name=name, origin=origin, refusal=_problem(name, settings), **values)


def _problem(name: str, settings: McpSettings) -> str:
    if bool(settings.command) == bool(settings.url):
        which = "both command and url" if settings.command else "neither command nor url"
        return f"The MCP server {name!r} names {which} in the settings; give one of them."
    if settings.url and not settings.url.startswith(("http://", "https://")):
        return f"The address of the MCP server {name!r} must begin with https:// or http://."
    return ""
