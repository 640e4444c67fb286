"""Decide which of a project's settings apply although the user has not trusted the project.

A project usually comes from other people, so this lists what it may set, and all else needs
trust: rules that deny or ask, smaller limits, how much of a conversation is
kept, prompts for agents and commands that are not defined elsewhere, and the rehearsal model, which
costs nothing and sends nothing. A setting that is added later needs trust until it is listed here.

Border: pure; ``layer_merge`` validates settings, and ``trust_store`` stores the user's
trust.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from palimpsest.home_paths import home_path
from palimpsest.session.config.context_policy import configured_policy, short_value
from palimpsest.session.config.settings import DEFAULT_STEPS, REPLAY_BY_FREEDOM, Config
from palimpsest.tools.permission_rules.modes import MODES
from palimpsest.transcript.errors import ConfigError

MODES_BY_FREEDOM = ("plan", *(mode for mode in MODES if mode != "plan"))
SHARES_BY_FREEDOM = ("disabled", "manual", "auto")
ENDS_BY_FREEDOM = ("raise", "auto", "show")
VARIABLES_BY_DETAIL = ("names", "names and types", "values")
NOTEBOOK_BY_DETAIL = ("none", "errors", "all")
LEAST_WINDOW = 8_000
"""Tokens; with a smaller window a project would cause a compaction in every turn, at the user's cost."""
MOST_RESERVED = 64_000
SAFE_AGENTS = frozenset({"plan", "explore", "general"})
"""Built-in agents that may do no more than the default one."""
REHEARSAL = re.compile(r"rehearsal(/[\w.-]+)?")


@dataclass(frozen=True, slots=True)
class SettingsBaseline:
    """What a project's settings are compared with."""

    base: Path
    """The folder of the file that holds them."""
    below: Config
    """The settings without the project's."""
    agents: frozenset[str]
    """Names of agents that are defined outside the project, besides those in ``below``."""
    commands: frozenset[str] = frozenset()


Test = Callable[[Any, SettingsBaseline, tuple[str, ...]], bool]
"""Returns whether a setting's value may apply; its last argument are the names matched by ``*``."""


def _always(_value: Any, _ground: SettingsBaseline, _names: tuple[str, ...]) -> bool:
    return True


def _only(wanted: Any) -> Test:
    return lambda value, _ground, _names: value is wanted


def is_rehearsal_model(value: Any) -> bool:
    """Return whether a model is the rehearsal one, which costs nothing and sends nothing."""
    return isinstance(value, str) and REHEARSAL.fullmatch(value) is not None


def _rehearses(value: Any, _ground: SettingsBaseline, _names: tuple[str, ...]) -> bool:
    return is_rehearsal_model(value)


def _value_of(key: str, below: Config) -> Any:
    found: Any = below
    for name in key.split("."):
        found = getattr(found, name)
    return found


def _smaller(key: str, *, built_in: float | None = None, least: float = 0) -> Test:
    """Allow a number not above the one that applies without the project; where none does, any."""

    def test(value: Any, ground: SettingsBaseline, _names: tuple[str, ...]) -> bool:
        if not isinstance(value, int | float) or value < least:
            return False
        now = _value_of(key, ground.below)
        limit = built_in if now is None else now
        return limit is None or bool(value <= limit)

    return test


def _fewer_turns(key: str) -> Test:
    """Allow fewer turns to be sent; 0 means all of them."""

    def test(value: Any, ground: SettingsBaseline, _names: tuple[str, ...]) -> bool:
        if not value:
            return False
        now = _value_of(key, ground.below)
        return not now or value <= now

    return test


def _shorter_output(key: str) -> Test:
    def test(value: Any, ground: SettingsBaseline, _names: tuple[str, ...]) -> bool:
        if not isinstance(value, int):
            return False
        try:
            return bool(value <= short_value(configured_policy(ground.below).policy, key))
        except ConfigError:
            return False

    return test


def _at_most(most: int) -> Test:
    return lambda value, _ground, _names: isinstance(value, int) and value <= most


def _no_freer(order: tuple[str, ...], key: str) -> Test:
    def test(value: Any, ground: SettingsBaseline, _names: tuple[str, ...]) -> bool:
        return order.index(value) <= order.index(_value_of(key, ground.below))

    return test


def _first_agent(value: Any, ground: SettingsBaseline, _names: tuple[str, ...]) -> bool:
    """Allow ``plan``, and ``build`` where no other agent was chosen."""
    return bool(value == "plan" or value == "build" == ground.below.default_agent)


def _new_agent(_value: Any, ground: SettingsBaseline, names: tuple[str, ...]) -> bool:
    return names[0] not in ground.agents and names[0] not in ground.below.agent


def _fewer_steps(value: Any, ground: SettingsBaseline, names: tuple[str, ...]) -> bool:
    known = ground.below.agent.get(names[0])
    return bool(value <= ((known.steps if known is not None else None) or DEFAULT_STEPS))


def _new_command(_value: Any, ground: SettingsBaseline, names: tuple[str, ...]) -> bool:
    return names[0] not in ground.commands and names[0] not in ground.below.command


def _safe_agent(value: Any, ground: SettingsBaseline, names: tuple[str, ...]) -> bool:
    return value in SAFE_AGENTS and _new_command(value, ground, names)


def _numeric(value: Any, _ground: SettingsBaseline, _names: tuple[str, ...]) -> bool:
    return isinstance(value, int | float)


def _known_server(value: Any, ground: SettingsBaseline, names: tuple[str, ...]) -> bool:
    return value is False and names[0] in ground.below.mcp


ALLOWED: Mapping[str, Test] = {
    "model": _rehearses,
    "small_model": _rehearses,
    "density": _always,  # nothing is hidden: what is folded can be opened
    "titles": _only(False),  # noqa: FBT003  the value itself
    "turn_summaries": _only(False),  # noqa: FBT003  the value itself
    "context_tokens": _smaller("context_tokens", least=LEAST_WINDOW),
    "compaction.auto": _always,
    "compaction.prune": _always,
    "compaction.reserved": _at_most(MOST_RESERVED),
    "compaction.tail_turns": _always,
    "compaction.tail_tokens": _always,
    "policy.prune.*": _numeric,
    "tool_output.max_lines": _shorter_output("tool_output.max_lines"),
    "tool_output.max_bytes": _shorter_output("tool_output.max_bytes"),
    "tool_output.direction": _always,
    "policy.truncate.max_lines": _shorter_output("tool_output.max_lines"),
    "policy.truncate.max_bytes": _shorter_output("tool_output.max_bytes"),
    "history_limit": _fewer_turns("history_limit"),
    "dm_history_limit": _fewer_turns("dm_history_limit"),
    "mode": _no_freer(MODES_BY_FREEDOM, "mode"),
    "budget.usd": _smaller("budget.usd"),
    "budget.tokens": _smaller("budget.tokens"),
    "on_failure": _no_freer(ENDS_BY_FREEDOM, "on_failure"),
    "max_steps": _smaller("max_steps", built_in=DEFAULT_STEPS),
    "subagent_depth": _smaller("subagent_depth"),
    "default_agent": _first_agent,
    "agent.*.description": _new_agent,
    "agent.*.prompt": _new_agent,
    "agent.*.mode": _new_agent,
    "agent.*.hidden": _new_agent,
    "agent.*.color": _new_agent,
    "agent.*.temperature": _new_agent,
    "agent.*.top_p": _new_agent,
    "agent.*.steps": _fewer_steps,
    "command.*.template": _new_command,
    "command.*.description": _new_command,
    "command.*.subtask": _new_command,
    "command.*.agent": _safe_agent,
    "mcp.*.enabled": _known_server,
    "notebook": _no_freer(NOTEBOOK_BY_DETAIL, "notebook"),
    "notebook_tokens": _smaller("notebook_tokens"),
    "hidden_variables": _always,  # a file adds to the list, and takes nothing from it
    "replay": _no_freer(REPLAY_BY_FREEDOM, "replay"),
    "variables": _no_freer(VARIABLES_BY_DETAIL, "variables"),
    "share": _no_freer(SHARES_BY_FREEDOM, "share"),
    "snapshot": _only(True),  # noqa: FBT003  the value itself
}
"""By dotted key, where ``*`` is any name; ``permission`` and ``instructions`` are handled separately."""

PERMISSION = "permission"
INSTRUCTIONS = "instructions"


def may_hold(path: tuple[str, ...], value: Any, ground: SettingsBaseline) -> bool:
    """Return whether a setting of an untrusted project applies."""
    for key, test in ALLOWED.items():
        names = _names(key.split("."), path)
        if names is not None:
            return test(value, ground, names)
    return False


def _names(key: list[str], path: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the names that match the stars of a key; None where the key does not match."""
    if len(key) != len(path) or any(k not in ("*", p) for k, p in zip(key, path, strict=True)):
        return None
    return tuple(p for k, p in zip(key, path, strict=True) if k == "*")


def tightens(table: Any) -> Any:
    """Return the entries of a permission table that deny or ask; None where there are none."""
    if isinstance(table, str):
        return table if table in ("deny", "ask") else None
    if not isinstance(table, Mapping):
        return None
    found = {name: tightens(value) for name, value in table.items()}
    return {name: value for name, value in found.items() if value is not None and value != {}}


def asks(table: Any) -> bool:
    """Return whether a permission table asks about anything."""
    return _says(table, "ask")


def has_denies(table: Any) -> bool:
    """Return whether a permission table, or one of several, denies anything."""
    return _says(table, "deny")


def _says(table: Any, action: str) -> bool:
    match table:
        case Mapping():
            return any(_says(value, action) for value in table.values())
        case list() | tuple():
            return any(_says(value, action) for value in table)
        case _:
            return bool(table == action)


def is_outside(name: str, base: Path) -> bool:
    """Return whether an instruction file lies outside of the folder that names it."""
    try:
        return not (base / home_path(name)).resolve().is_relative_to(base.resolve())
    except (OSError, RuntimeError, ValueError):
        return True
