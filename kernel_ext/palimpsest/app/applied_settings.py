"""Turn a kernel's settings into its hooks, its MCP servers, and the rules and spending limits for its tool calls.

Border: values to values; nothing is loaded or started. Settings from a project's own file are included only
when the user trusted it (``session/trust/trust_store.py``). A project that is trusted while a kernel runs takes effect
at once, so the permissions may be applied again.
"""

from collections.abc import Mapping, Sequence

from palimpsest.app.loaded_config import LoadedConfig, rules_from
from palimpsest.session.config.layer_merge import dotted_name
from palimpsest.session.config.setting_files import LockedSettings, origin_of
from palimpsest.session.config.settings import HookTable, McpSettings
from palimpsest.session.extensions.hooks import HookSource
from palimpsest.session.permissions.effective_rules import EffectiveRules
from palimpsest.tools.mcp.values import DEFAULT_TIMEOUT_SECONDS, McpServerSpec
from palimpsest.tools.permission_rules.permissions import as_limits, merge_rules
from palimpsest.tools.registration.builtin_tools import DEFAULT_RULES
from palimpsest.transcript.session_record.sessions import Budget


def hook_sources(tables: Sequence[HookTable], origins: Mapping[str, str]) -> tuple[HookSource, ...]:
    """Return the hooks that the settings name, lowest layers first."""
    origin = origins.get("hooks", "settings")
    sources: list[HookSource] = []
    for table in tables:
        if not isinstance(table, Mapping):
            sources += [HookSource(target, origin=origin) for target in table]
            continue
        for event, targets in table.items():
            target_names = [targets] if isinstance(targets, str) else targets
            sources += [HookSource(target, event, origin) for target in target_names]
    return tuple(sources)


def server_specs(
    servers: Mapping[str, McpSettings], origins: Mapping[str, str]
) -> tuple[McpServerSpec, ...]:
    """Return the MCP servers that the settings name."""
    return tuple(_server_spec(name, server, origins) for name, server in servers.items())


def _server_spec(name: str, settings: McpSettings, origins: Mapping[str, str]) -> McpServerSpec:
    keys = (f"mcp.{name}.command", f"mcp.{name}.url", f'mcp."{name}".command', f'mcp."{name}".url')
    origin = next((origins[key] for key in keys if key in origins), "settings")
    values = settings.model_dump() | {"args": tuple(settings.args)}
    values["timeout"] = settings.timeout or DEFAULT_TIMEOUT_SECONDS
    return McpServerSpec(name=name, origin=origin, refusal=_refusal(name, settings), **values)


def _refusal(name: str, settings: McpSettings) -> str:
    if bool(settings.command) == bool(settings.url):
        number_phrase = "both command and url" if settings.command else "neither command nor url"
        return f"The MCP server {name!r} names {number_phrase} in the settings; give one of them."
    if settings.url and not settings.url.startswith(("http://", "https://")):
        return f"The address of the MCP server {name!r} must begin with https:// or http://."
    return ""


def apply_permission_settings(effective_rules: EffectiveRules, config: LoadedConfig) -> None:
    """Apply the configured rules, mode and limit, from the next call on."""
    value = config.value
    rules = config.rules("permission", value.permission)
    effective_rules.rules = merge_rules(DEFAULT_RULES, rules)
    locked_rules = (
        rule
        for rule in rules_from(config.locked_rules)
        if origin_of(config.locked_settings, dotted_name("permission", rule.permission))
    )
    effective_rules.fixed_rules = as_limits(locked_rules, "lock")
    effective_rules.mode = value.mode
    effective_rules.mode_fixed = origin_of(config.locked_settings, "mode")
    effective_rules.budget = Budget(usd=value.budget.usd, tokens=value.budget.tokens)
    locked_budget = LockedSettings(config.locked_settings, value)
    effective_rules.budget_fixed = locked_budget.locked_by("budget", "budget.usd", "budget.tokens")
