"""Decide which of a project's settings apply although the user has not trusted the project.

A project usually comes from other people, so the settings that it may set are listed here, and all others need
trust. Listed are rules that deny or ask, smaller limits, how much of a conversation is kept, prompts for agents and
commands that are not defined elsewhere, and the rehearsal model, which costs nothing and sends nothing. A setting
that is added later needs trust until it is listed here.

Border: pure; ``layer_merge`` validates settings, and ``trust_store`` stores the user's trust.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

from palimpsest.home_paths import home_path
from palimpsest.session.config.context_policy import configured_policy, short_value
from palimpsest.session.config.settings import DEFAULT_STEPS, REPLAY_BY_FREEDOM, Config
from palimpsest.tools.permission_rules.modes import MODES
from palimpsest.transcript.errors import ConfigError

# Each tuple is ordered from the value that an untrusted project may always set to the one that permits or sends most.
MODES_BY_FREEDOM = ("plan", *(mode for mode in MODES if mode != "plan"))
SHARES_BY_FREEDOM = ("disabled", "manual", "auto")
ON_FAILURE_BY_FREEDOM = ("raise", "auto", "show")
VARIABLES_BY_DETAIL = ("names", "names and types", "values")
NOTEBOOK_BY_DETAIL = ("none", "errors", "all")
MIN_WINDOW_TOKENS = 8_000
"""Minimum tokens of a window that an untrusted project may set.

With a smaller one it would cause a compaction in every turn, at the user's cost.
"""
MAX_RESERVED_TOKENS = 64_000
"""Maximum tokens that an untrusted project may reserve for the answer."""
SAFE_AGENTS = frozenset({"plan", "explore", "general"})
"""Built-in agents that may do no more than the default one."""
NEW_AGENT_FIELDS = ("description", "prompt", "mode", "hidden", "color", "temperature", "top_p")
"""Fields of a project's new agent that apply without trust."""
REHEARSAL_MODEL = re.compile(r"rehearsal(/[\w.-]+)?")


@dataclass(frozen=True, slots=True)
class SettingsBaseline:
    """The settings outside the project, with which a project's settings are compared."""

    folder: Path
    """The folder of the file that holds them."""
    config_below: Config
    """The settings without the project's."""
    agents: frozenset[str]
    """Names of agents that are defined outside the project, besides those in ``config_below``."""
    commands: frozenset[str] = frozenset()


SettingTest = Callable[[Any, SettingsBaseline, tuple[str, ...]], bool]
"""Returns whether a setting's value may apply; its last argument is a tuple of the names that ``*`` matched."""


def _allow_any(_value: Any, _baseline: SettingsBaseline, _names: tuple[str, ...]) -> bool:
    return True


def _allow_only(allowed_values: Any) -> SettingTest:
    return lambda value, _baseline, _names: value is allowed_values


def is_rehearsal_model(value: Any) -> bool:
    """Return whether a model is the rehearsal one, which costs nothing and sends nothing."""
    return isinstance(value, str) and REHEARSAL_MODEL.fullmatch(value) is not None


def _is_rehearsal(value: Any, _baseline: SettingsBaseline, _names: tuple[str, ...]) -> bool:
    return is_rehearsal_model(value)


def _allow_smaller(key: str, *, built_in: float | None = None, minimum: float = 0) -> SettingTest:
    """Allow a number not above the one that applies without the project; any number where none applies."""

    def is_allowed(value: Any, baseline: SettingsBaseline, _names: tuple[str, ...]) -> bool:
        if not isinstance(value, int | float) or value < minimum:
            return False
        current_value = attrgetter(key)(baseline.config_below)
        limit = built_in if current_value is None else current_value
        return limit is None or bool(value <= limit)

    return is_allowed


def _allow_fewer_turns(key: str) -> SettingTest:
    """Allow fewer turns to be sent; 0 means all of them."""

    def is_allowed(value: Any, baseline: SettingsBaseline, _names: tuple[str, ...]) -> bool:
        if not value:
            return False
        current_value = attrgetter(key)(baseline.config_below)
        return not current_value or value <= current_value

    return is_allowed


def _allow_shorter_output(key: str) -> SettingTest:
    def is_allowed(value: Any, baseline: SettingsBaseline, _names: tuple[str, ...]) -> bool:
        if not isinstance(value, int):
            return False
        try:
            return bool(value <= short_value(configured_policy(baseline.config_below).policy, key))
        except ConfigError:
            return False

    return is_allowed


def _allow_at_most(limit: int) -> SettingTest:
    return lambda value, _baseline, _names: isinstance(value, int) and value <= limit


def _allow_no_freer(values_by_freedom: tuple[str, ...], key: str) -> SettingTest:
    def is_allowed(value: Any, baseline: SettingsBaseline, _names: tuple[str, ...]) -> bool:
        return values_by_freedom.index(value) <= values_by_freedom.index(
            attrgetter(key)(baseline.config_below)
        )

    return is_allowed


def _is_safe_default_agent(value: Any, baseline: SettingsBaseline, _names: tuple[str, ...]) -> bool:
    """Allow ``plan``, and ``build`` where no other agent was chosen."""
    return bool(value == "plan" or value == "build" == baseline.config_below.default_agent)


def _is_new_agent(_value: Any, baseline: SettingsBaseline, names: tuple[str, ...]) -> bool:
    return names[0] not in baseline.agents and names[0] not in baseline.config_below.agent


def _is_fewer_steps(value: Any, baseline: SettingsBaseline, names: tuple[str, ...]) -> bool:
    agent = baseline.config_below.agent.get(names[0])
    return bool(value <= ((agent.steps if agent is not None else None) or DEFAULT_STEPS))


def _is_new_command(_value: Any, baseline: SettingsBaseline, names: tuple[str, ...]) -> bool:
    return names[0] not in baseline.commands and names[0] not in baseline.config_below.command


def _is_safe_agent(value: Any, baseline: SettingsBaseline, names: tuple[str, ...]) -> bool:
    return value in SAFE_AGENTS and _is_new_command(value, baseline, names)


def _is_number(value: Any, _baseline: SettingsBaseline, _names: tuple[str, ...]) -> bool:
    return isinstance(value, int | float)


def _disables_known_server(value: Any, baseline: SettingsBaseline, names: tuple[str, ...]) -> bool:
    return value is False and names[0] in baseline.config_below.mcp


SETTING_TESTS: Mapping[str, SettingTest] = {
    "model": _is_rehearsal,
    "small_model": _is_rehearsal,
    "density": _allow_any,  # It hides nothing: what is folded can be opened.
    "titles": _allow_only(False),  # noqa: FBT003  the value itself
    "turn_summaries": _allow_only(False),  # noqa: FBT003  the value itself
    "context_tokens": _allow_smaller("context_tokens", minimum=MIN_WINDOW_TOKENS),
    "compaction.auto": _allow_any,
    "compaction.prune": _allow_any,
    "compaction.reserved": _allow_at_most(MAX_RESERVED_TOKENS),
    "compaction.tail_turns": _allow_any,
    "compaction.tail_tokens": _allow_any,
    "policy.prune.*": _is_number,
    "tool_output.max_lines": _allow_shorter_output("tool_output.max_lines"),
    "tool_output.max_bytes": _allow_shorter_output("tool_output.max_bytes"),
    "tool_output.direction": _allow_any,
    "policy.truncate.max_lines": _allow_shorter_output("tool_output.max_lines"),
    "policy.truncate.max_bytes": _allow_shorter_output("tool_output.max_bytes"),
    "history_limit": _allow_fewer_turns("history_limit"),
    "dm_history_limit": _allow_fewer_turns("dm_history_limit"),
    "mode": _allow_no_freer(MODES_BY_FREEDOM, "mode"),
    "budget.usd": _allow_smaller("budget.usd"),
    "budget.tokens": _allow_smaller("budget.tokens"),
    "on_failure": _allow_no_freer(ON_FAILURE_BY_FREEDOM, "on_failure"),
    "max_steps": _allow_smaller("max_steps", built_in=DEFAULT_STEPS),
    "subagent_depth": _allow_smaller("subagent_depth"),
    "default_agent": _is_safe_default_agent,
    **{f"agent.*.{name}": _is_new_agent for name in NEW_AGENT_FIELDS},
    "agent.*.steps": _is_fewer_steps,
    "command.*.template": _is_new_command,
    "command.*.description": _is_new_command,
    "command.*.subtask": _is_new_command,
    "command.*.agent": _is_safe_agent,
    "mcp.*.enabled": _disables_known_server,
    "notebook": _allow_no_freer(NOTEBOOK_BY_DETAIL, "notebook"),
    "notebook_tokens": _allow_smaller("notebook_tokens"),
    "cells_without_page": _allow_only("refuse"),
    "hidden_variables": _allow_any,  # A project's file adds to the list and removes nothing from it.
    "replay": _allow_no_freer(REPLAY_BY_FREEDOM, "replay"),
    "variables": _allow_no_freer(VARIABLES_BY_DETAIL, "variables"),
    "share": _allow_no_freer(SHARES_BY_FREEDOM, "share"),
    "snapshot": _allow_only(True),  # noqa: FBT003  the value itself
}
"""The test of each setting that may apply without trust, by dotted key, where ``*`` is any name.

``permission`` and ``instructions`` are handled separately.
"""

PERMISSION = "permission"
INSTRUCTIONS = "instructions"


def may_apply(path: tuple[str, ...], value: Any, baseline: SettingsBaseline) -> bool:
    """Return whether a setting of an untrusted project applies."""
    for key, is_allowed in SETTING_TESTS.items():
        names = _names(key.split("."), path)
        if names is not None:
            return is_allowed(value, baseline, names)
    return False


def _names(key: list[str], path: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the names that match the stars of a key; None where the key does not match."""
    if len(key) != len(path) or any(k not in ("*", p) for k, p in zip(key, path, strict=True)):
        return None
    return tuple(p for k, p in zip(key, path, strict=True) if k == "*")


def tightening_entries(table: Any) -> Any:
    """Return the entries of a permission table that deny or ask; None where there are none."""
    if isinstance(table, str):
        return table if table in ("deny", "ask") else None
    if not isinstance(table, Mapping):
        return None
    tightening_table = {name: tightening_entries(value) for name, value in table.items()}
    return {
        name: value for name, value in tightening_table.items() if value is not None and value != {}
    }


def asks_anything(table: Any) -> bool:
    """Return whether a permission table asks about anything."""
    return _has_action(table, "ask")


def has_denies(table: Any) -> bool:
    """Return whether a permission table, or one of several, denies anything."""
    return _has_action(table, "deny")


def _has_action(table: Any, action: str) -> bool:
    match table:
        case Mapping():
            return any(_has_action(value, action) for value in table.values())
        case list() | tuple():
            return any(_has_action(value, action) for value in table)
        case _:
            return bool(table == action)


def is_outside(name: str, base_folder: Path) -> bool:
    """Return whether an instruction file lies outside of the folder that names it."""
    try:
        return not (base_folder / home_path(name)).resolve().is_relative_to(base_folder.resolve())
    except (OSError, RuntimeError, ValueError):
        return True
