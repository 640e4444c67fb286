"""Merge the settings of an untrusted project: apply those allowed without trust, and hold back the rest.

Border: ``untrusted_allow_list`` decides which settings may apply, and ``layer_merge`` validates them.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from palimpsest.session.config.layer_merge import (
    LayerMerge,
    UntrustedSetting,
    dotted_name,
    split_name,
)
from palimpsest.session.config.setting_files import Layer
from palimpsest.session.trust.untrusted_allow_list import (
    INSTRUCTIONS,
    PERMISSION,
    SettingsBaseline,
    asks_anything,
    has_denies,
    is_outside,
    may_apply,
    tightening_entries,
)

KeyPath = tuple[str, ...]


def merge_untrusted(into: LayerMerge, layer: Layer, baseline: SettingsBaseline) -> None:
    """Merge the part of a project's layer that applies without trust; the rest is held back."""
    merge = LayerMerge()  # It validates the whole layer, including what is held back.
    merge.locked_settings = into.locked_settings
    merge.add(layer)
    into.problems += merge.problems
    applied_values: dict[str, Any] = {}
    for key in merge.origins:
        path = tuple(split_name(key))
        value = _value_at(merge.data, path)
        if path[-1] == PERMISSION:
            _apply_rules(into, layer, path, value[0], applied_values)
        elif path == (INSTRUCTIONS,):
            outside_paths = [entry for entry in value if is_outside(entry, layer.folder)]
            if outside_paths:
                into.untrusted_settings.append(UntrustedSetting(layer.origin, key, outside_paths))
            put_at(applied_values, path, [entry for entry in value if entry not in outside_paths])
        elif may_apply(path, value, baseline):
            into.limited_settings.add((key, 0))
            put_at(applied_values, path, value)
        else:
            _hold_back(into, layer, path, value[0] if key == "hooks" else value)
    into.add(dataclasses.replace(layer, data=applied_values))


def _hold_back(merge: LayerMerge, layer: Layer, path: KeyPath, value: Any) -> None:
    """Record a held-back setting: one entry per table, but one per setting of an agent or a command."""
    key_length = len(path) if path[0] in ("agent", "command") else 1
    key = dotted_name(*path[:key_length])
    table: dict[str, Any] = {}
    put_at(table, ("", *path[key_length:]), value)
    layer_settings = [
        setting for setting in merge.untrusted_settings if setting.origin == layer.origin
    ]
    earlier_setting = next((setting for setting in layer_settings if setting.key == key), None)
    if earlier_setting is None:
        merge.untrusted_settings.append(UntrustedSetting(layer.origin, key, table[""]))
    else:
        _merge_tables(earlier_setting.value, table[""])


def _apply_rules(
    merge: LayerMerge, layer: Layer, path: KeyPath, table: Any, applied_values: dict[str, Any]
) -> None:
    """Apply the entries of a permission table that deny or ask; hold the table back if it also loosens a rule.

    An entry that asks loosens a rule that denies.
    """
    tightening_table = tightening_entries(table)
    agents = merge.data.get("agent", {}).values()
    tables = [merge.data.get(PERMISSION), *(agent.get(PERMISSION) for agent in agents)]
    is_anything_denied = has_denies(tables)
    if tightening_table != table or (is_anything_denied and asks_anything(table)):
        merge.untrusted_settings.append(UntrustedSetting(layer.origin, dotted_name(*path), table))
    if tightening_table:
        merge.limited_settings.add((dotted_name(*path), len(_value_at(merge.data, path) or ())))
        put_at(applied_values, path, tightening_table)


def _value_at(data: Mapping[str, Any], path: KeyPath) -> Any:
    """Return the value at a path in nested tables; None where there is none."""
    value: Any = data
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _merge_tables(table: dict[str, Any], added_table: Mapping[str, Any]) -> None:
    for name, value in added_table.items():
        if isinstance(value, Mapping) and isinstance(table.get(name), dict):
            _merge_tables(table[name], value)
        else:
            table[name] = value


def put_at(data: dict[str, Any], path: KeyPath, value: Any) -> None:
    """Set the value at a path in nested tables; missing tables are created."""
    for name in path[:-1]:
        data = data.setdefault(name, {})
    data[path[-1]] = value
