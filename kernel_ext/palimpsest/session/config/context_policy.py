"""Compute the context policy from the settings, and apply the one that was chosen for a session.

A policy is a preset and changes to it (``context/policy_overrides.py``). The settings have two ways
to change a value: ``[policy]`` names any of them, and ``[compaction]`` and ``[tool_output]`` name
the most common ones; these win, since environment flags set them too.

The number of turns that are sent is limited by the history limit for the session's key. A key names the user of the
session, or a group if several users sent prompts in it; a session for a task of another session has a thread suffix.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Any

from palimpsest.context.policy_overrides import (
    chosen_policy,
    policy_numbers,
    policy_with_changes,
    preset_policy,
    read_number,
    value_text,
)
from palimpsest.context.request_assembly.turn_limit import history_limit
from palimpsest.model.tokenizer import RANK_FILES
from palimpsest.session.config.settings import Config, PolicyPart
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.errors import ConfigError
from palimpsest.transcript.messages import Messages, UserMessage
from palimpsest.transcript.session_record.sessions import SessionInfo

PROVIDER = "jupyter"
"""The field of a session key after the agent's name, under which history limits are looked up."""


def session_key(agent: str, session: SessionInfo, users: Set[str]) -> str:
    """Return the key of a session in which these users sent prompts."""
    if len(users) == 1:
        key_owner = f"direct:{_field(next(iter(users)))}"
    else:
        key_owner = f"group:{_field(session.project_id)}"
    thread_suffix = f":thread:{session.time.created}" if session.parent_id else ""
    return f"agent:{_field(agent)}:{PROVIDER}:{key_owner}{thread_suffix}"


def users_of(messages: Messages, user: str) -> frozenset[str]:
    """Return the users who sent prompts in a session, including the present one."""
    origins = [message.info.origin for message in messages if isinstance(message.info, UserMessage)]
    return frozenset([user, *(o.user for o in origins if o is not None and o.user)])


def with_history_limit(
    policy: Policy,
    limits: Mapping[str, Any],
    *,
    agent: str,
    session: SessionInfo,
    messages: Messages,
    user: str,
) -> Policy:
    """Return the policy with the history limit of the session's key, when there is one."""
    key = session_key(agent, session, users_of(messages, user))
    max_turns = history_limit(key, {PROVIDER: limits}, policy.limit)
    return policy if max_turns is None else policy.model_copy(update={"history_limit": max_turns})


def _field(text: str) -> str:
    """Return text that can be a field of a key, between two colons."""
    return text.strip().replace(":", "_") or "_"


DEFAULT = "default"
"""The word that returns to the configured policy."""

SHORT_NAMES: dict[str, tuple[str, ...]] = {
    "compaction.auto": ("overflow.auto",),
    "compaction.prune": ("prune.rule",),
    "compaction.reserved": ("overflow.reserved", "reserved"),
    "compaction.tail_turns": ("compact.tail_turns",),
    "compaction.tail_tokens": ("compact.tail_tokens",),
    "compaction.model": ("compact.model",),
    "compaction.prompt": ("compact.prompt",),
    "tool_output.max_lines": ("truncate.max_lines",),
    "tool_output.max_bytes": ("truncate.max_bytes",),
    "tool_output.direction": ("truncate.direction",),
}
"""Settings that are short names for values of the policy."""

PRUNE_WHERE_THE_PRESET_HAS_NONE = "opencode"
"""The prune rule that ``compaction.prune = true`` sets under a preset that does not prune."""


@dataclass(frozen=True, slots=True)
class ConfiguredPolicy:
    """The policy computed from the settings, and its values that an administrator fixed."""

    policy: Policy
    fixed_by: Mapping[str, str] = field(default_factory=dict)
    """Dotted name of each fixed value, and who fixed it."""

    def policy_of(self, session: SessionInfo | None) -> Policy:
        """Return the policy of a session; raises ConfigError where this version does not support the chosen one."""
        if session is None or (session.policy_choice is None and session.policy is None):
            return self.policy
        if session.policy_choice is None:
            return self._with_fixed_values(session.policy or self.policy)
        try:
            return self._with_fixed_values(chosen_policy(session.policy_choice))
        except ConfigError as problem:
            raise ConfigError(
                f"The context policy that was chosen for this session cannot be used: {problem} "
                f"%agent policy {DEFAULT} goes back to the configured one."
            ) from None

    def changed_policy(
        self, session: SessionInfo | None, changes: tuple[str | Policy, ...]
    ) -> Policy | None:
        """Return a session's policy changed by presets, values or whole policies; None for the configured one.

        Raises ConfigError with one sentence, also where a value is fixed by an administrator.
        """
        try:
            current_policy = self.policy_of(session)
        except ConfigError:
            current_policy = self.policy
        policy = _policy_after_changes(self.policy, current_policy, changes)
        if policy is not None:
            check_estimator(policy.estimator)
            configured_numbers, chosen_numbers = policy_numbers(self.policy), policy_numbers(policy)
            for key, origin in self.fixed_by.items():
                if chosen_numbers[key] != configured_numbers[key]:
                    fixed_value = value_text(configured_numbers[key])
                    raise ConfigError(f"{key} is fixed to {fixed_value} by the {origin}.")
        return policy

    def _with_fixed_values(self, policy: Policy) -> Policy:
        """Return a policy with the fixed values set as configured."""
        configured_numbers = policy_numbers(self.policy)
        if self.fixed_by:
            return policy_with_changes(
                policy, {key: configured_numbers[key] for key in self.fixed_by}
            )
        return policy


def policy_from(configured: Policy, current: Policy, changes: tuple[str | Policy, ...]) -> Policy:
    """Return a policy with changes applied, as a preview; raises ConfigError with one sentence."""
    policy = _policy_after_changes(configured, current, changes) or configured
    check_estimator(policy.estimator)
    return policy


def _policy_after_changes(
    configured: Policy, current: Policy | None, changes: tuple[str | Policy, ...]
) -> Policy | None:
    """Return a policy after changes, one after the other; None for the configured one."""
    for change in changes:
        if isinstance(change, Policy):
            current = change
        elif change == DEFAULT:
            current = None
        elif "=" in change or change in policy_numbers(current or configured):
            key, value = read_number(change)
            current = policy_with_changes(current or configured, {key: value})
        else:
            current = preset_policy(change)
    return current


def configured_policy(
    config: Config, locked_by: Mapping[str, str] | None = None
) -> ConfiguredPolicy:
    """Compute the policy from the settings; ``locked_by`` maps dotted setting names to who locked them."""
    base = preset_policy(config.policy.base)
    policy = policy_with_changes(base, dict(_changed_values(config.policy)))
    policy = policy_with_changes(policy, _short_name_values(config, policy))
    return ConfiguredPolicy(policy, _locked_values(locked_by or {}, policy))


def setting_names(setting: str) -> tuple[str, ...]:
    """Return every name under which a setting's values can be set, its own first."""
    policy_names = [f"policy.{key}" for key in SHORT_NAMES.get(setting, ())]
    policy_key = setting.removeprefix("policy.") if setting.startswith("policy.") else ""
    short_names = [name for name, keys in SHORT_NAMES.items() if policy_key in keys]
    return (setting, *policy_names, *short_names)


def short_value(policy: Policy, name: str) -> Any:
    """Return the policy's value for the short name of a setting."""
    value = policy_numbers(policy)[SHORT_NAMES[name][-1]]
    return value != "none" if name == "compaction.prune" else value


def check_estimator(name: str) -> None:
    """Raise ConfigError for an unknown token estimator."""
    supported = ("chars/4", *(f"tiktoken/{encoding}" for encoding in RANK_FILES))
    if name not in supported:
        raise ConfigError(f"There is no token estimator {name!r}. Known: {', '.join(supported)}.")


def _changed_values(table: PolicyPart, path: str = "") -> dict[str, Any]:
    """Return the values that a table sets, by dotted name."""
    changes: dict[str, Any] = {}
    for name in type(table).model_fields:
        value = getattr(table, name)
        if isinstance(value, PolicyPart):
            changes |= _changed_values(value, f"{path}{name}.")
        elif value is not None and f"{path}{name}" != "base":
            changes[f"{path}{name}"] = value
    return changes


def _short_name_values(config: Config, policy: Policy) -> dict[str, Any]:
    """Return the policy values that the short names set."""
    short_name_values = _changed_values(config.compaction, "compaction.")
    short_name_values |= _changed_values(config.tool_output, "tool_output.")
    values: dict[str, Any] = {}
    for name, value in short_name_values.items():
        for key in SHORT_NAMES[name]:
            values[key] = _prune_rule(policy, is_wanted=value) if key == "prune.rule" else value
    return values


def _prune_rule(policy: Policy, *, is_wanted: bool) -> str:
    if not is_wanted:
        return "none"
    rule = policy.prune.rule
    return PRUNE_WHERE_THE_PRESET_HAS_NONE if rule == "none" else rule


def _locked_values(locked_by: Mapping[str, str], policy: Policy) -> dict[str, str]:
    """Return the policy values that locked settings fix, by name, with who locked them."""
    values: dict[str, str] = {}
    short_names = [(name, key) for name, keys in SHORT_NAMES.items() for key in keys]
    names = [*((f"policy.{key}", key) for key in policy_numbers(policy)), *short_names]
    for setting, origin in locked_by.items():
        for name, key in names:
            if name == setting or name.startswith(f"{setting}."):
                values[key] = origin
    return values


def without_recall(policy: Policy) -> Policy:
    """Return the policy for a step without the tool ``recall``, so that no note mentions it."""
    parts = {"truncate": policy.truncate, "prune": policy.prune, "recovery": policy.recovery}
    update = {name: part.model_copy(update={"recall": False}) for name, part in parts.items()}
    return policy.model_copy(update=update)


def without_task(policy: Policy) -> Policy:
    """Return the policy for a step without the tool ``task``, so that no note mentions it."""
    truncate = policy.truncate.model_copy(update={"task": False})
    return policy.model_copy(update={"truncate": truncate})
