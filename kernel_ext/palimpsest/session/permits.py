"""Bring what the configuration says about permissions and spending to where calls are decided.

A project that is trusted while a kernel runs is heard at once, so this may happen again. Border:
values to values; ``app`` calls it.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from palimpsest.session.config import LoadedConfig
from palimpsest.session.permitting import Permitting, origin_of
from palimpsest.tools.permissions import DEFAULT_RULES, Rules, from_config, limiting, merge
from palimpsest.transcript.budgets import Budget


def rules_from(tables: Iterable[Any]) -> Rules:
    """Return the rules of tables, low to high."""
    home = str(Path.home())
    return merge(*(from_config(table, home=home) for table in tables))


def configure(permitting: Permitting, config: LoadedConfig) -> None:
    """Let what is configured hold from the next call on."""
    value = config.value
    rules = rules_from(value.permission)
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
