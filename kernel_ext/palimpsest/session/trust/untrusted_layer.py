"""Lay the settings of a project that nobody trusted over what is there: what holds, and what waits.

Border: which setting may hold is said by ``config_sift``, which is right by ``config_merge``.
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
    """Lay what of a project's layer holds at once over what is there; the rest is held."""
    whole = LayerMerge()  # says what is wrong with all of it, also with what waits
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
            _put(kept, path, [one for one in value if one not in outside])
        elif may_hold(path, value, ground):
            into.limited.add((key, 0))
            _put(kept, path, value)
        else:
            _hold(into, layer, path, value[0] if key == "hooks" else value)
    into.add(dataclasses.replace(layer, data=kept))


def _hold(into: LayerMerge, layer: Layer, path: Path, value: Any) -> None:
    """Note what waits; a table is one line, but that of an agent or a command is a line a setting."""
    width = len(path) if path[0] in ("agent", "command") else 1
    key = dotted(*path[:width])
    table: dict[str, Any] = {}
    _put(table, ("", *path[width:]), value)
    before = next((o for o in into.held if (o.origin, o.key) == (layer.origin, key)), None)
    if before is None:
        into.held.append(UntrustedSetting(layer.origin, key, table[""]))
    else:
        _lay_over(before.value, table[""])


def _rules(into: LayerMerge, layer: Layer, path: Path, table: Any, kept: dict[str, Any]) -> None:
    """Keep what of a table of rules tightens; where something is denied, a question may loosen."""
    tighter = tightens(table)
    agents = into.data.get("agent", {}).values()
    denied = has_denies(into.data.get(PERMISSION)) or has_denies(
        [one.get(PERMISSION) for one in agents]
    )
    if tighter != table or (denied and asks(table)):
        into.held.append(UntrustedSetting(layer.origin, dotted(*path), table))
    if tighter:
        into.limited.add((dotted(*path), len(_at(into.data, path) or ())))
        _put(kept, path, tighter)


def _at(data: Mapping[str, Any], path: Path) -> Any:
    """Return what stands in tables of tables; None where nothing does."""
    found: Any = data
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _lay_over(table: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Lay one setting, in tables of tables, over a table."""
    for name, value in more.items():
        if isinstance(value, Mapping) and isinstance(table.get(name), dict):
            _lay_over(table[name], value)
        else:
            table[name] = value


def _put(data: dict[str, Any], path: Path, value: Any) -> None:
    for name in path[:-1]:
        data = data.setdefault(name, {})
    data[path[-1]] = value
