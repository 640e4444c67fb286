"""Tables of rules as settings hold them, read into rules. Border: values to values."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from palimpsest.tools.permission_rules.permissions import Rules, from_config, merge


def rules_from(tables: Iterable[Any]) -> Rules:
    """Return the rules of tables, low to high."""
    home = str(Path.home())
    return merge(*(from_config(table, home=home) for table in tables))
