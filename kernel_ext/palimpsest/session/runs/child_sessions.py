"""Create the records of child sessions: what they inherit, how deep they nest, what they may not do.

Border: defines a child session; ``subagent_runner`` runs one, ``Workspace`` opens and stores it. A
child that this kernel runs is in its parent's mode, has its approvals and spends from its limit
(``effective_rules``, ``spending_limit``); here it gets the limits that its parent's rules set.
"""

from collections.abc import Sequence

from palimpsest import __version__
from palimpsest.session.definitions.agents import Agent
from palimpsest.session.permissions.recorded_claims import RULED
from palimpsest.tools.permission_rules.permissions import Denied, Rules, decide, disabled
from palimpsest.transcript.errors import PermissionDenied, UserError
from palimpsest.transcript.messages import Origin
from palimpsest.transcript.session_record.sessions import SessionInfo, SessionTime
from palimpsest.transcript.values import ModelRef, Rule

NOT_HANDED_ON = ("task", "todowrite")
"""Permissions that a subagent has only if one of its rules is about exactly these."""

READ_ONLY = (
    "This is the session of a task, and the agent that began it talks to it. Ask in session {parent}, or fork "
    "this one to go on from here."
)


def is_child(session: SessionInfo | None) -> bool:
    """Return whether another session created this one, as a task call does."""
    return session is not None and session.parent_id is not None


def depth_of(session: SessionInfo) -> int:
    """Return the number of parent sessions above this one."""
    least = 1 if session.parent_id is not None else 0
    depth = (session.metadata or {}).get("depth")
    return max(depth, least) if isinstance(depth, int) else least


def child_of(
    parent: SessionInfo,
    *,
    id: str,  # noqa: A002  a field's name
    now: int,
    description: str,
    caller: Agent,
    agent: Agent,
    model: ModelRef,
    depth: int,
) -> SessionInfo:
    """Return the record of a session that works on a task for another one."""
    below = depth_of(parent) + 1
    return SessionInfo(
        id=id,
        project_id=parent.project_id,
        directory=parent.directory,
        notebook=parent.notebook,
        parent_id=parent.id,
        title=f"{description} (@{agent.name} subagent)",
        version=__version__,
        time=SessionTime(created=now, updated=now),
        agent=agent.name,
        model=model,
        policy=parent.policy,
        policy_choice=parent.policy_choice,
        permission=outside_rules(caller),
        limits=(*(parent.limits or ()), *_limits(caller, agent, last=below >= depth)),
        metadata={"depth": below},
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


def _limits(caller: Agent, agent: Agent, *, last: bool) -> tuple[Rules, ...]:
    own = tuple(
        Rule(permission=name, action="deny")
        for name in NOT_HANDED_ON
        if not agent.declares(name) or (last and name == "task")
    )
    return tuple(rules for rules in (caller.rules, own) if any(r.action == "deny" for r in rules))


def refuse_beyond(
    session: SessionInfo | None, base: Rules, permission: str, patterns: Sequence[str]
) -> None:
    """Raise PermissionDenied for what the session's limits deny, such as what its parent's agent may not do."""
    for rules in (session.limits or ()) if session is not None else ():
        verdict = decide(permission, patterns, (*base, *rules))
        if isinstance(verdict, Denied):
            raise PermissionDenied(verdict.message, stops=False)


def tools_hidden_by_limits(
    session: SessionInfo | None, base: Rules, permissions: dict[str, str]
) -> frozenset[str]:
    """Return the tools, of a mapping of tool name to permission, that the session's limits deny altogether."""
    found: frozenset[str] = frozenset()
    for rules in (session.limits or ()) if session is not None else ():
        found |= disabled(permissions, (*base, *rules))
    return found


def refuse_prompt_in_child(session: SessionInfo | None, origin: Origin) -> None:
    """Raise UserError where the user sends a prompt to the session of a task."""
    asks = origin.kind in ("cell", "panel")
    if asks and session is not None and session.parent_id is not None:
        raise UserError(READ_ONLY.format(parent=session.parent_id))
