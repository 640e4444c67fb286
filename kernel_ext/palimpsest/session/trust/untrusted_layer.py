"""Merge the settings of an untrusted project: apply those allowed without trust, and hold back the rest.

Border: ``untrusted_allow_list`` decides which settings may apply, and ``layer_merge`` validates them.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from palimpsest.session.config.layer_merge import LayerMerge, UntrustedSetting, dotted, split
from palimpsest.session.config.setting_files import Layer
from palimpsest.session.trust.untrusted_allow_list import (
    INSTRUCTIONS,
    PERMISSION,
    SettingsBaseline,
    asks,
    has_denies,
    is_outside,
    may_hold,
    tightens,
)

Path = tuple[str, ...]


def lay_untrusted(into: LayerMerge, layer: Layer, ground: SettingsBaseline) -> None:
    """Merge the part of a project's layer that applies without trust; the rest is held back."""
    whole = LayerMerge()  # validates all of it, including what is held back
    whole.locked = into.locked
    whole.add(layer)
    into.problems += whole.problems
    kept: dict[str, Any] = {}
    for key in whole.origins:
        path = tuple(split(key))
        value = _at(whole.data, path)
        if path[-1] == PERMISSION:
            _rules(into, layer, path, value[0], kept)
        elif path == (INSTRUCTIONS,):
            outside = [one for one in value if is_outside(one, layer.base)]
            if outside:
                into.held.append(UntrustedSetting(layer.origin, key, outside))
            put_at(kept, path, [one for one in value if one not in outside])
        elif may_hold(path, value, ground):
            into.limited.add((key, 0))
            put_at(kept, path, value)
        else:
            _hold(into, layer, path, value[0] if key == "hooks" else value)
    into.add(dataclasses.replace(layer, data=kept))


def _hold(into: LayerMerge, layer: Layer, path: Path, value: Any) -> None:
    """Record a held-back setting: one row for a whole table, but one per setting of an agent or a command."""
    width = len(path) if path[0] in ("agent", "command") else 1
    key = dotted(*path[:width])
    table: dict[str, Any] = {}
    put_at(table, ("", *path[width:]), value)
    before = next((o for o in into.held if (o.origin, o.key) == (layer.origin, key)), None)
    if before is None:
        into.held.append(UntrustedSetting(layer.origin, key, table[""]))
    else:
        _lay_over(before.value, table[""])


def _rules(into: LayerMerge, layer: Layer, path: Path, table: Any, kept: dict[str, Any]) -> None:
    """Apply what tightens of a permission table; hold all of it back if it also loosens, as ``ask`` after a deny."""
    tighter = tightens(table)
    agents = into.data.get("agent", {}).values()
    denied = has_denies(into.data.get(PERMISSION)) or has_denies(
        [one.get(PERMISSION) for one in agents]
    )
    if tighter != table or (denied and asks(table)):
        into.held.append(UntrustedSetting(layer.origin, dotted(*path), table))
    if tighter:
        into.limited.add((dotted(*path), len(_at(into.data, path) or ())))
        put_at(kept, path, tighter)


def _at(data: Mapping[str, Any], path: Path) -> Any:
    """Return the value at a path in nested tables; None where there is none."""
    found: Any = data
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _lay_over(table: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Merge nested tables into a table."""
    for name, value in more.items():
        if isinstance(value, Mapping) and isinstance(table.get(name), dict):
            _lay_over(table[name], value)
        else:
            table[name] = value


def put_at(data: dict[str, Any], path: Path, value: Any) -> None:
    """Set the value at a path in nested tables, which are made where they are missing."""
    for name in path[:-1]:
        data = data.setdefault(name, {})
    data[path[-1]] = value
