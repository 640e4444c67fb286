"""Apply the configured permissions and spending limits to the effective rules for tool calls.

A project that is trusted while a kernel runs takes effect at once, so this may run again. Border:
values to values; ``App`` calls it.
"""

from palimpsest.app.loaded_config import LoadedConfig, rules_from
from palimpsest.session.config.layer_merge import dotted_name
from palimpsest.session.config.setting_files import LockedSettings, origin_of
from palimpsest.session.permissions.effective_rules import EffectiveRules
from palimpsest.tools.permission_rules.permissions import as_limits, merge_rules
from palimpsest.tools.registration.builtin_tools import DEFAULT_RULES
from palimpsest.transcript.session_record.sessions import Budget


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
    locked = LockedSettings(config.locked_settings, value)
    effective_rules.budget_fixed = locked.locked_by("budget", "budget.usd", "budget.tokens")
