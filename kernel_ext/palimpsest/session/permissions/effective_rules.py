"""Compute the permission rules that apply in a session: configured, the agent's, the mode's, and approvals.

Border: combines what the configuration, the session and the user set; ``tools/permission_rules``
decides. Its inputs may change while a kernel runs (a mode, an approval, a project that becomes
trusted), so they are read at each call. A child session has its parent's mode and approvals; a
parent counts only if this kernel started the child for it. A claim in a session's record applies
where it tightens, and otherwise only where it was granted (``session/permissions/recorded_claims.py``).

Rules that the user always allows in a project are stored in the grants, outside the project. Up to version
0.x they were stored in the project, in ``permissions.json`` with a seal; a seal can be copied to another
project, so that file no longer has any effect and is only shown.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from palimpsest.render.content.phrases import first_names
from palimpsest.render.safety.escaping import one_line
from palimpsest.session.permissions.grants import Grant, Grants, ProjectMoveWatch
from palimpsest.session.permissions.recorded_claims import (
    applicable_budget,
    applicable_mode,
    applicable_rules,
    asking_rules_of,
    granted_rules,
    rule_as_dict,
)
from palimpsest.store.disk import open_regular
from palimpsest.tools.permission_rules.bound_approvals import description_change, stored_description
from palimpsest.tools.permission_rules.modes import MODE_APPROVALS, Mode
from palimpsest.tools.permission_rules.permissions import Rules
from palimpsest.tools.registration.builtin_tools import DENY_RULES_BY_MODE
from palimpsest.transcript.errors import ConfigError
from palimpsest.transcript.session_record.sessions import Budget, SessionInfo
from palimpsest.transcript.values import ModelRef, Rule

EARLIER_FILE_NAME = "permissions.json"
ALLOW_KEY = "allow"
DESCRIPTION_KEY = "described"
"""Key in the value of a grant: the description of what was approved."""
CHANGED_NOTE = "This is not what you always allowed; it has changed since:"
UNDESCRIBED_SENTENCE = (
    "You always allowed this name in an earlier version, which did not keep what it was described as, so it is "
    "asked about once again."
)
MAX_FILE_BYTES = 1_000_000
MAX_NAMED = 5
EARLIER_NOTE = (
    "{path} of an earlier version names {names}. It holds no more, because a file in the project allows "
    "nothing: answer always, and it is kept outside."
)


@dataclass(frozen=True, slots=True)
class Allowance:
    """A rule that the user always allows, as an entry of the list of approvals."""

    number: int
    """Its number in the list, by which it is revoked."""
    rule: Rule
    scope: Literal["session", "project"]
    allowed_at: int = 0
    """Milliseconds since 1970; 0 where it is unknown."""
    session_id: str = ""
    """The session in which it was approved."""

    @property
    def rule_text(self) -> str:
        """The rule as a short text."""
        return f"{self.rule.permission}: {self.rule.pattern}"


class Approvals:
    """The rules that the user approved for a project or for single sessions."""

    def __init__(self, grants: Grants | None = None, folder: Path | None = None) -> None:
        self.grants = grants or Grants()
        self._file = folder / EARLIER_FILE_NAME if folder is not None else None
        """The file in which an earlier version stored them."""

    @property
    def problem(self) -> str:
        """One sentence on a problem with the stored approvals; empty without one."""
        return self.grants.problem

    def rules(self) -> Rules:
        """Return the rules that are approved in every session of the project."""
        return self.rules_of_session(None)

    def rules_of_session(self, session_id: str | None) -> Rules:
        """Return the rules that are approved in one session; for None, those approved in every session."""
        grants = self.grants.list(session_id, ALLOW_KEY)
        return granted_rules(grant.value for grant in grants) if grants else ()

    def list(self) -> tuple[Allowance, ...]:
        """Return the rules that are always allowed in the project, in the order of their approval."""
        return tuple(
            Allowance(0, rule, "project", grant.granted_at_ms, _session_of_approval(grant))
            for grant in self.grants.list(None, ALLOW_KEY)
            for rule in granted_rules([grant.value])
        )

    def add(self, rules: Rules, session_id: str, bound_to: str | None = None) -> None:
        """Approve rules in every session of the project; ``bound_to`` describes what they allow."""
        new_rules = [rule for rule in rules if rule not in self.rules()]
        values = [_grant_value(rule, bound_to) | {"said_in": session_id} for rule in new_rules]
        self.grants.add(*(self.grants.new_grant(ALLOW_KEY, value, None) for value in values))

    def add_to_session(self, rules: Rules, session_id: str, bound_to: str | None = None) -> None:
        """Approve rules in one session; ``bound_to`` describes what they allow."""
        values = [_grant_value(rule, bound_to) for rule in rules]
        self.grants.add(*(self.grants.new_grant(ALLOW_KEY, v, session_id) for v in values))

    def change_of(self, permission: str, bound_to: str, session_ids: Iterable[str]) -> str | None:
        """Return how a description differs from the one that was last approved under a permission; None without one.

        The approvals of the project and of the given sessions are compared.
        """
        approving_grants = [
            grant
            for scope in (None, *session_ids)
            for grant in self.grants.list(scope, ALLOW_KEY)
            if isinstance(grant.value, dict) and grant.value.get("permission") == permission
        ]
        if not approving_grants:
            return None
        described_grants = [
            g for g in approving_grants if isinstance(g.value.get(DESCRIPTION_KEY), str)
        ]
        if not described_grants:
            return UNDESCRIBED_SENTENCE
        # Tools that share a permission differ in the first line, their name.
        name = _first_line(bound_to)
        grants_of_tool = [
            grant for grant in described_grants if _first_line(grant.value[DESCRIPTION_KEY]) == name
        ]
        newest_grant = max(
            grants_of_tool or described_grants, key=lambda grant: grant.granted_at_ms
        )
        return (
            f"{CHANGED_NOTE}\n{description_change(newest_grant.value[DESCRIPTION_KEY], bound_to)}"
        )

    def approve_for_kernel(self, rules: Rules, session_id: str) -> None:
        """Approve rules in one session until this kernel ends."""
        allowed = [rule for rule in rules if rule.action == "allow"]
        self.grants.add_for_kernel(
            *(Grant(ALLOW_KEY, rule_as_dict(rule), session_id) for rule in allowed)
        )

    def remove(self, rule: Rule, session_id: str | None = None) -> bool:
        """Remove an approved rule; returns False when there is none like it."""
        removed_grants = [
            self.grants.drop_grants(session_id, ALLOW_KEY, grant.value)
            for grant in self.grants.list(session_id, ALLOW_KEY)
            if rule in granted_rules([grant.value])
        ]
        return any(removed_grants)

    @property
    def earlier_sentence(self) -> str:
        """One sentence on the approvals that an earlier version stored in the project; empty without any."""
        names = _earlier_names(self._file) if self._file is not None else []
        if not names:
            return ""
        return EARLIER_NOTE.format(path=self._file, names=first_names(names, MAX_NAMED))


def _grant_value(rule: Rule, bound_to: str | None) -> dict[str, str]:
    description = {DESCRIPTION_KEY: stored_description(bound_to)} if bound_to is not None else {}
    return rule_as_dict(rule) | description


def _first_line(text: str) -> str:
    return text.split("\n", 1)[0]


def _session_of_approval(grant: Grant) -> str:
    return str(grant.value.get("said_in") or "") if isinstance(grant.value, dict) else ""


def _earlier_names(path: Path) -> list[str]:
    """Return the approvals in a file of an earlier version, as short texts."""
    with suppress(OSError, ValueError, RecursionError, AttributeError, TypeError):
        with open_regular(path) as file:
            entries = json.loads(file.read(MAX_FILE_BYTES)).get("always")
        return [
            one_line(f"{entry.get('permission')}: {entry.get('pattern')}", 80)
            for entry in entries
            if isinstance(entry, dict)
        ]
    return []


MAX_NESTING = 20
"""Maximum depth of parent sessions that are followed; a longer chain is a cycle in damaged data."""

FindSession = Callable[[], SessionInfo | None]


@dataclass(slots=True)
class EffectiveRules:
    """Combines the configured permissions and limits with those of the sessions open in this kernel."""

    rules: Rules | None = None
    """Configured rules with the defaults; None uses those that the caller passes."""
    fixed_rules: Rules = ()
    """Rules that an administrator fixed, placed after those of any agent: they only tighten."""
    mode: Mode = "ask"
    """The mode of sessions for which none was chosen."""
    mode_fixed: str = ""
    """The file that fixes the mode; empty where none does."""
    budget: Budget = field(default_factory=Budget)
    """The spending limit of sessions for which none was chosen."""
    budget_fixed: str = ""
    """The file that fixes the spending limit; empty where none does."""
    approvals: Approvals = field(default_factory=Approvals)
    """The rules that the user always allows in this project."""
    granted_rules: Callable[[], Rules] = tuple
    """Returns rules that hold in any session without a question: the folders of the user's own skills."""
    default_model: Callable[[], str] = str
    """Returns the default model, which any session may use."""
    default_agent: str = ""
    """Name of the default agent, which any session may use."""
    project_move: ProjectMoveWatch | None = None
    """Detects that the project was moved here; None where nothing is stored on disk."""
    parent_of_child: dict[str, str] = field(default_factory=dict)
    """Child session id to parent session id, for the task sessions that worked in this kernel."""
    open_sessions: dict[str, FindSession] = field(default_factory=dict)
    """The sessions that this kernel writes, by id."""

    @property
    def grants(self) -> Grants:
        """The permissions that the user granted in this project, stored outside it."""
        return self.approvals.grants

    def mode_of(self, session: SessionInfo | None) -> Mode:
        """Return the permission mode that applies in a session."""
        if not self.mode_fixed:
            for session_or_parent in self.with_parents(session):
                mode = self.own_mode(session_or_parent)
                if mode is not None:
                    return mode
        return self.mode

    def own_mode(self, session: SessionInfo) -> Mode | None:
        """Return the mode that was chosen for this very session, as far as it was granted; None for none."""
        if not session.mode_own:
            return None
        return applicable_mode(session, self.mode, self.grants.newest_value(session.id, "mode"))

    def own_budget(self, session: SessionInfo) -> Budget:
        """Return the spending limit of this very session, as far as it was granted."""
        return applicable_budget(
            session, self.budget, self.grants.newest_value(session.id, "budget")
        )

    def applicable_rules(self, session: SessionInfo) -> Rules:
        """Return the rules of this very session's record that apply."""
        return applicable_rules(session, self.approvals.rules_of_session(session.id))

    def may_use(self, model: ModelRef, session_id: str | None = None) -> bool:
        """Return whether a model named in a journal is the user's choice in this project, the default or rehearsal."""
        if model.provider == "rehearsal":
            return True
        if model.id in self.grants.granted_values("model", session_id):
            return True
        with suppress(ConfigError):
            return model.id == self.default_model()
        return False

    def may_answer(self, agent: str, session_id: str | None = None) -> bool:
        """Return whether an agent named in a journal is the user's choice in this project or the default."""
        return agent == self.default_agent or agent in self.grants.granted_values(
            "agent", session_id
        )

    def record_choice(self, agent: str | None, model: ModelRef) -> None:
        """Record that the user chose a model in this project, and an agent, so that sessions may continue with them."""
        new_grants = [] if self.may_use(model) else [self.grants.new_grant("model", model.id, None)]
        if agent is not None and not self.may_answer(agent):
            new_grants.append(self.grants.new_grant("agent", agent, None))
        if new_grants:
            self.grants.add(*new_grants)

    def rules_of(self, session: SessionInfo | None, rules: Rules, agent_rules: Rules) -> Rules:
        """Return all rules that apply to the tool calls of an agent."""
        base_rules = self.rules if self.rules is not None else rules
        session_rules = asking_rules_of(session) if session is not None and session.metadata else ()
        return (
            *base_rules,
            *agent_rules,
            *session_rules,
            *self.fixed_rules,
            *DENY_RULES_BY_MODE[self.mode_of(session)],
        )

    def answers_of(self, session: SessionInfo | None) -> Rules:
        """Return the approvals that answer questions beforehand: the mode's, the project's, the parents'."""
        parents = list(self.with_parents(session))[1:]
        parent_rules = [rule for parent in parents for rule in self.applicable_rules(parent)]
        mode_rules = MODE_APPROVALS[self.mode_of(session)]
        return (*mode_rules, *self.granted_rules(), *self.approvals.rules(), *parent_rules)

    def with_parents(self, session: SessionInfo | None) -> Iterator[SessionInfo]:
        """Yield a session, its parent, and so on up."""
        for _ in range(MAX_NESTING):
            if session is None:
                return
            yield session
            read_parent = self.open_sessions.get(self.parent_of_child.get(session.id, ""))
            session = read_parent() if read_parent is not None else None
