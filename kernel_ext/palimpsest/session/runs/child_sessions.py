"""Compute what child sessions inherit, how deep they nest, and which permissions they lack.

A child is a session like any other, with its own log. A child that this kernel runs has its parent's mode and
approvals and spends from its limit (``effective_rules``, ``spending_limit``); here it gets the limits that its
parent's rules set.
"""

from collections.abc import Sequence
from typing import Any

from palimpsest import __version__
from palimpsest.session.definitions.agents import Agent
from palimpsest.session.permissions.recorded_claims import OWN_RULES_KEY
from palimpsest.tools.permission_rules.permissions import Denied, Rules, decide_call, hidden_tools
from palimpsest.transcript.errors import PermissionDenied
from palimpsest.transcript.session_record.sessions import SessionInfo, SessionTime
from palimpsest.transcript.values import Rule

NOT_INHERITED_PERMISSIONS = ("task", "todowrite")
"""Permissions that a subagent has only if one of its own rules names exactly these."""


def depth_of(session: SessionInfo) -> int:
    """Return the number of parent sessions above this one."""
    depth = (session.metadata or {}).get("depth")
    return max(depth if isinstance(depth, int) else 0, int(session.is_child))


def child_of(
    parent: SessionInfo, child_id: str, now_ms: int, title: str, **other_fields: Any
) -> SessionInfo:
    """Return the record of a child session, with its parent's folder, notebook and policy; ``other_fields`` are other fields."""
    return SessionInfo(
        id=child_id,
        project_id=parent.project_id,
        directory=parent.directory,
        notebook=parent.notebook,
        parent_id=parent.id,
        title=title,
        version=__version__,
        time=SessionTime(created=now_ms, updated=now_ms),
        policy=parent.policy,
        policy_choice=parent.policy_choice,
        metadata={"depth": depth_of(parent) + 1},
        **other_fields,
    )


def with_own_rules(session: SessionInfo, rules: Rules) -> SessionInfo:
    """Return the record of a session that is created with its own permission rules.

    Their denials and questions apply even where the settings allow more.
    """
    has_denial = any(rule.action == "deny" for rule in rules)
    limits = (*session.limits, rules) if has_denial else session.limits
    metadata = {**(session.metadata or {}), OWN_RULES_KEY: True}
    return session.model_copy(update={"permission": rules, "limits": limits, "metadata": metadata})


def outside_rules(caller: Agent) -> Rules:
    """Return the caller's rules for folders outside the project, which its subagents get too."""
    return tuple(rule for rule in caller.rules if rule.permission == "external_directory")


def handed_limits(caller: Agent, agent: Agent, *, is_deepest: bool) -> tuple[Rules, ...]:
    """Return the rules that limit a subagent: its caller's, and denials; with ``is_deepest`` it may start no subagent."""
    denials = tuple(
        Rule(permission=name, action="deny")
        for name in NOT_INHERITED_PERMISSIONS
        if not agent.names_permission(name) or (is_deepest and name == "task")
    )
    rules_by_origin = (caller.rules, denials)
    return tuple(rules for rules in rules_by_origin if any(rule.action == "deny" for rule in rules))


def refuse_beyond(
    limits: Sequence[Rules], base_rules: Rules, permission: str, patterns: Sequence[str]
) -> None:
    """Raise PermissionDenied for a call that a session's limits deny, such as the rules of its parent's agent."""
    for rules in limits:
        verdict = decide_call(permission, patterns, (*base_rules, *rules))
        if isinstance(verdict, Denied):
            raise PermissionDenied(verdict.message, stops_turn=False, reason=verdict.description)


def tools_hidden_by_limits(
    limits: Sequence[Rules], base_rules: Rules, permissions: dict[str, str]
) -> frozenset[str]:
    """Return the tools, of a mapping of tool name to permission, that a session's limits deny altogether."""
    hidden_names = (hidden_tools(permissions, (*base_rules, *rules)) for rules in limits)
    return frozenset().union(*hidden_names)
