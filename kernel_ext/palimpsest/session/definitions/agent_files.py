"""Read agents from Markdown files: ``agent(s)/**/*.md``, with frontmatter and a prompt below it.

Border: applies each file that was read to the agents defined so far. The frontmatter of other
tools is understood: OpenCode's ``mode``, ``tools`` and ``permission``, Claude's ``tools`` list.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from palimpsest.session.config.layer_merge import dotted_name
from palimpsest.session.config.settings import PermissionTable
from palimpsest.session.definitions.agents import Agent, changed_agent, rules_within
from palimpsest.session.definitions.definition_files import DefinitionFile, text_field
from palimpsest.session.definitions.definition_trust import DefinitionTrust
from palimpsest.tools.permission_rules.permissions import Rules, as_limits, from_config
from palimpsest.tools.registration.builtin_tools import BUILTIN_TOOLS
from palimpsest.transcript.errors import ConfigError
from palimpsest.transcript.values import Rule

AGENT_FOLDERS = ("agent", "agents")

PERMISSION_BY_TOOL_NAME = {
    "read": "read", "notebookread": "read", "ls": "list", "list": "list", "glob": "glob",
    "grep": "grep", "bash": "bash", "edit": "edit", "multiedit": "edit", "write": "write",
    "notebookedit": "cells", "webfetch": "webfetch", "websearch": "webfetch", "task": "task",
    "agent": "task", "todowrite": "todowrite", "todoread": "todowrite", "skill": "skill",
    "askuserquestion": "question", "cells": "cells",
    **{tool.name: tool.permission for tool in BUILTIN_TOOLS},
}  # fmt: skip
"""Lower-case tool names, including other agents' tools, and the permission that each needs here."""

CLAUDE_MODEL_NAMES = frozenset({"inherit", "sonnet", "opus", "haiku", "default"})
"""Model names of Claude's files; an agent with one of them uses the session's model."""

_MODES = ("primary", "subagent", "all")
_TABLE: TypeAdapter[Any] = TypeAdapter(PermissionTable)


def read_agents(
    agents: Mapping[str, Agent],
    files: Iterable[DefinitionFile],
    base_rules: Rules,
    home: str,
    problems: list[str],
    trust: DefinitionTrust | None = None,
    user_agent_names: frozenset[str] = frozenset(),
) -> dict[str, Agent]:
    """Return the agents with those of the files added or changed; errors are added to ``problems``.

    ``base_rules`` are the rules for all agents, ``user_agent_names`` the names of agents in the user's settings; settings of
    a project's files that need trust are added to ``trust``.
    """
    merged_agents = dict(agents)
    merge = _AgentMerge(
        merged_agents, base_rules, home, trust or DefinitionTrust(), {*agents, *user_agent_names}
    )
    for file in files:
        if file.path.stem.upper() == "README":
            continue
        try:
            merge.add(file)
        except ConfigError as error:
            problems.append(f"{file.origin} is left out: {str(error).rstrip('.')}.")
    return merged_agents


@dataclass(slots=True)
class _AgentMerge:
    """Adds the agents of files to those defined so far, or changes these."""

    agents: dict[str, Agent]
    base_rules: Rules
    home: str
    trust: DefinitionTrust
    names_outside: set[str]
    """Names of agents that are defined outside the project."""

    def add(self, file: DefinitionFile) -> None:
        """Add or change the agent of a file; raises ConfigError for one that is not valid."""
        agents, fields, name = self.agents, file.document.fields, file.name
        if file.folder.tool_folder in (".claude", ".agents"):
            name = text_field(fields, "name") or name
        if not file.folder.is_project:
            self.names_outside.add(name)
        is_defined_outside = name in self.names_outside
        locked_by = self.trust.locked_settings.locked_by
        if lock_origin := locked_by(dotted_name("agent", name)):
            raise ConfigError(f"agent.{name} is fixed by the {lock_origin}")
        if _flag_field(fields, "disable"):
            is_locked = locked_by(dotted_name("agent", name, "disable"))
            if not is_locked and not self.trust.hold_back_replacement(
                file, f"agent.{name}.disable", is_defined_outside=is_defined_outside
            ):
                agents.pop(name, None)
            return
        if name not in agents and not fields and not file.document.body:
            raise ConfigError(
                "it is empty; write what the agent is for below a head with a description"
            )
        given_fields: dict[str, Any] = {
            "description": text_field(fields, "description"),
            "mode": _agent_mode(fields, file, is_known=name in agents),
            "model": _agent_model(fields, file),
            "variant": text_field(fields, "variant") or text_field(fields, "reasoningEffort"),
            "temperature": _number_field(fields, "temperature", 0, 2),
            "top_p": _number_field(fields, "top_p", 0, 1),
            "steps": _agent_steps(fields),
            "hidden": _flag_field(fields, "hidden"),
            "color": text_field(fields, "color"),
            "prompt": file.document.body or None,
            "origin": file.origin,
        }
        rules = (
            ()
            if locked_by(dotted_name("agent", name, "permission"))
            else self._permission_rules(file)
        )
        given_fields = self.trust.applied_agent_fields(
            file, name, given_fields, agents.get(name), is_defined_outside=is_defined_outside
        )
        agents[name] = changed_agent(agents, name, given_fields, rules)

    def _permission_rules(self, file: DefinitionFile) -> Rules:
        """Return the rules of a file; those of a project's file, trusted or not, only tighten."""
        fields = file.document.fields
        # A list of tools hides the other tools; kept within the base rules, it approves no call.
        tool_rules = rules_within(_tool_rules(fields.get("tools")), self.base_rules)
        rules = _permission_rules(fields, self.home)
        if not file.folder.is_project:
            return tool_rules + rules
        return as_limits(tool_rules + rules_within(rules, self.base_rules))


def _agent_mode(fields: Mapping[str, Any], file: DefinitionFile, *, is_known: bool) -> str | None:
    mode = text_field(fields, "mode")
    if mode is None:
        return "subagent" if file.folder.tool_folder == ".claude" and not is_known else None
    if mode not in _MODES:
        raise ConfigError(f"mode is {mode!r}; it is one of {', '.join(_MODES)}")
    return mode


def _agent_model(fields: Mapping[str, Any], file: DefinitionFile) -> str | None:
    model = text_field(fields, "model")
    if model is None or (file.folder.tool_folder == ".claude" and "/" not in model):
        return None
    return None if model in CLAUDE_MODEL_NAMES else model


def _number_field(
    fields: Mapping[str, Any], name: str, minimum: float, maximum: float
) -> float | None:
    value = fields.get(name)
    if value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not minimum <= value <= maximum:
        raise ConfigError(
            f"{name} must be a number from {minimum} to {maximum}, but it is {value!r:.60}"
        )
    return float(value)


def _agent_steps(fields: Mapping[str, Any]) -> int | None:
    value = fields.get("steps", fields.get("maxSteps"))
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigError(f"steps must be a whole number of at least 1, but it is {value!r:.60}")
    return value


def _flag_field(fields: Mapping[str, Any], name: str) -> bool | None:
    value = fields.get(name)
    if value is not None and not isinstance(value, bool):
        raise ConfigError(f"{name} must be true or false, but it is {value!r:.60}")
    return value


def _permission_rules(fields: Mapping[str, Any], home: str) -> Rules:
    table = fields.get("permission")
    if table is None:
        return ()
    try:
        checked_rules = _TABLE.validate_python(table, strict=True)
    except ValidationError:
        raise ConfigError(
            "permission must be allow, ask or deny, or a table of them by permission and pattern, "
            f"but it is {table!r:.60}"
        ) from None
    return from_config(checked_rules, home=home)


def _tool_rules(tools: object) -> Rules:
    """Return the rules for ``tools``: a list allows only these, as in Claude's files; a table switches each on or off."""
    if tools is None:
        return ()
    if isinstance(tools, str):
        tools = [name for name in tools.replace(",", " ").split() if name]
    if isinstance(tools, list):
        if "*" in tools:
            return ()
        permissions = [
            PERMISSION_BY_TOOL_NAME.get(str(name).partition("(")[0].lower()) for name in tools
        ]
        known_permissions = [permission for permission in dict.fromkeys(permissions) if permission]
        allow_rules = [
            Rule(permission=permission, action="allow") for permission in known_permissions
        ]
        return (Rule(permission="*", action="deny"), *allow_rules)
    if isinstance(tools, Mapping) and all(isinstance(value, bool) for value in tools.values()):
        return tuple(
            Rule(
                permission=PERMISSION_BY_TOOL_NAME.get(str(name).lower(), str(name)),
                action="allow" if value else "deny",
            )
            for name, value in tools.items()
        )
    raise ConfigError(
        f"tools must be names with commas between them, or a table of true and false, but it is {tools!r:.60}"
    )
