"""Read from the settings which hooks and MCP servers a kernel has.

Border: values to values; nothing is loaded or started. Settings from a project's own file are included only
when the user trusted it (``session/trust/trust_store.py``).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from palimpsest.session.config.settings import HookTable, McpSettings
from palimpsest.session.extensions.hooks import HookSource
from palimpsest.tools.mcp.values import TIMEOUT_SECONDS, McpServerSpec


def hook_sources(tables: Sequence[HookTable], origins: Mapping[str, str]) -> tuple[HookSource, ...]:
    """Return the hooks that the settings name, lowest layers first."""
    origin = origins.get("hooks", "settings")
    found: list[HookSource] = []
    for table in tables:
        if not isinstance(table, Mapping):
            found += [HookSource(target, origin=origin) for target in table]
            continue
        for name, targets in table.items():
            several = [targets] if isinstance(targets, str) else targets
            found += [HookSource(target, name, origin) for target in several]
    return tuple(found)


def server_specs(
    servers: Mapping[str, McpSettings], origins: Mapping[str, str]
) -> tuple[McpServerSpec, ...]:
    """Return the MCP servers that the settings name."""
    return tuple(_spec(name, one, origins) for name, one in servers.items())


def _spec(name: str, one: McpSettings, origins: Mapping[str, str]) -> McpServerSpec:
    keys = (f"mcp.{name}.command", f"mcp.{name}.url", f'mcp."{name}".command', f'mcp."{name}".url')
    origin = next((origins[key] for key in keys if key in origins), "settings")
    given: dict[str, Any] = one.model_dump() | {
        "args": tuple(one.args),
        "timeout": one.timeout or TIMEOUT_SECONDS,
    }
    return McpServerSpec(name=name, origin=origin, refused=_problem(name, one), **given)


def _problem(name: str, one: McpSettings) -> str:
    if bool(one.command) == bool(one.url):
        which = "both command and url" if one.command else "neither command nor url"
        return f"The MCP server {name!r} names {which} in the settings; give one of them."
    if one.url and not one.url.startswith(("http://", "https://")):
        return f"The address of the MCP server {name!r} must begin with https:// or http://."
    return ""
