"""Name a session by its key, and keep as many turns of it as the configuration allows such sessions.

A key says whose conversation it is (DESIGN.md 4): a person's, a group's when several people asked in
it, and with a thread behind it for a task of another session. Limits are looked up by that key.
"""

from collections.abc import Mapping, Set
from typing import Any

from palimpsest.context.request_assembly.turn_limit import history_limit
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.messages import Messages, UserMessage
from palimpsest.transcript.session_record.sessions import SessionInfo

PROVIDER = "jupyter"
"""Where the conversation is held: the second field of a key, under which limits are looked up."""


def session_key(agent: str, session: SessionInfo, users: Set[str]) -> str:
    """Return the key of a session in which these users ask."""
    if len(users) == 1:
        owner = f"direct:{_field(next(iter(users)))}"
    else:
        owner = f"group:{_field(session.project_id)}"
    thread = f":thread:{session.time.created}" if session.parent_id else ""
    return f"agent:{_field(agent)}:{PROVIDER}:{owner}{thread}"


def users_of(messages: Messages, user: str) -> frozenset[str]:
    """Return who asked in a session, with the one who asks now."""
    origins = [one.info.origin for one in messages if isinstance(one.info, UserMessage)]
    return frozenset([user, *(one.user for one in origins if one is not None and one.user)])


def with_history_limit(
    policy: Policy,
    limits: Mapping[str, Any],
    *,
    agent: str,
    session: SessionInfo | None,
    messages: Messages,
    user: str,
) -> Policy:
    """Return the policy with the history limit of the session's key, when there is one."""
    if not limits or session is None:
        return policy
    key = session_key(agent, session, users_of(messages, user))
    turns = history_limit(key, {PROVIDER: limits}, policy.limit)
    return policy if turns is None else policy.model_copy(update={"history_limit": turns})


def _field(text: str) -> str:
    """Return text that can stand between two colons."""
    return text.strip().replace(":", "_") or "_"
