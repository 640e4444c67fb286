"""Bring what the configuration says about permissions and spending to where calls are decided.

A project that is trusted while a kernel runs is heard at once, so this may happen again. Border:
values to values; ``app`` calls it.
"""

from palimpsest.session.config import LoadedConfig
from palimpsest.session.permitting import Permitting, origin_of
from palimpsest.tools.permissions import DEFAULT_RULES, limiting, merge
from palimpsest.transcript.budgets import Budget


def configure(permitting: Permitting, config: LoadedConfig) -> None:
    """Let what is configured hold from the next call on."""
    value = config.value
    rules = config.rules("permission", value.permission)
    permitting.rules = merge(DEFAULT_RULES, rules)
    locked = origin_of(config.locked, "permission")
    permitting.fixed = limiting(rules, "lock") if locked else ()
    permitting.mode = value.mode
    permitting.mode_fixed = origin_of(config.locked, "mode")
    permitting.budget = Budget(usd=value.budget.usd, tokens=value.budget.tokens)
    permitting.budget_fixed = next(
        (
            found
            for key in ("budget", "budget.usd", "budget.tokens")
            if (found := origin_of(config.locked, key))
        ),
        "",
    )
