"""What child sessions inherit, how deep they nest, and what they may not do.

A child is a session like any other, with its own log. One that this kernel runs is in its parent's mode, has its
approvals and spends from its limit (``effective_rules``, ``spending_limit``); here it gets the limits that its
parent's rules set.
"""

from collections.abc import Sequence
from typing import Any

from palimpsest import __version__
from palimpsest.session.definitions.agents import Agent
from palimpsest.session.permissions.recorded_claims import RULED
from palimpsest.tools.permission_rules.permissions import Denied, Rules, decide, disabled
from palimpsest.transcript.errors import PermissionDenied
from palimpsest.transcript.session_record.sessions import SessionInfo, SessionTime
from palimpsest.transcript.values import Rule

NOT_HANDED_ON = ("task", "todowrite")
"""Permissions that a subagent has only if one of its rules is about exactly these."""


def depth_of(session: SessionInfo) -> int:
    """Return the number of parent sessions above this one."""
    depth = (session.metadata or {}).get("depth")
    return max(depth if isinstance(depth, int) else 0, int(session.is_child))


def child_of(
    parent: SessionInfo, identifier: str, now: int, title: str, **more: Any
) -> SessionInfo:
    """Return the record of a session below another one, whose place and policy it has; ``more`` are fields of its own."""
    return SessionInfo(
        id=identifier,
        project_id=parent.project_id,
        directory=parent.directory,
        notebook=parent.notebook,
        parent_id=parent.id,
        title=title,
        version=__version__,
        time=SessionTime(created=now, updated=now),
        policy=parent.policy,
        policy_choice=parent.policy_choice,
        metadata={"depth": depth_of(parent) + 1},
        **more,
    )


def with_own_rules(session: SessionInfo, rules: Rules) -> SessionInfo:
    """Return the record of a session that is created with its own permission rules.

    What they deny is denied, and what they ask for is asked, whatever the settings allow.
    """
    limits = (
        (*session.limits, rules) if any(one.action == "deny" for one in rules) else session.limits
    )
    metadata = {**(session.metadata or {}), RULED: True}
    return session.model_copy(update={"permission": rules, "limits": limits, "metadata": metadata})


def outside_rules(caller: Agent) -> Rules:
    """Return the caller's rules for folders outside the project, which its subagents get too."""
    return tuple(rule for rule in caller.rules if rule.permission == "external_directory")


def handed_limits(caller: Agent, agent: Agent, *, last: bool) -> tuple[Rules, ...]:
    """Return the rule sets that a subagent gets: its caller's, and what is not handed on; ``last`` may hand nothing on."""
    own = tuple(
        Rule(permission=name, action="deny")
        for name in NOT_HANDED_ON
        if not agent.declares(name) or (last and name == "task")
    )
    return tuple(rules for rules in (caller.rules, own) if any(r.action == "deny" for r in rules))


def refuse_beyond(
    limits: Sequence[Rules], base: Rules, permission: str, patterns: Sequence[str]
) -> None:
    """Raise PermissionDenied for what a session's limits deny, such as what its parent's agent may not do."""
    for rules in limits:
        verdict = decide(permission, patterns, (*base, *rules))
        if isinstance(verdict, Denied):
            raise PermissionDenied(verdict.message, stops=False, why=verdict.why)


def tools_hidden_by_limits(
    limits: Sequence[Rules], base: Rules, permissions: dict[str, str]
) -> frozenset[str]:
    """Return the tools, of a mapping of tool name to permission, that a session's limits deny altogether."""
    return frozenset().union(*(disabled(permissions, (*base, *rules)) for rules in limits))
