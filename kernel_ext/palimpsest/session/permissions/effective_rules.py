"""Which rules hold for a session: the configured ones, the agent's, the mode's, and what was approved.

Border: puts together what the configuration, the session and a person said; ``tools.permissions``
decides. What it reads may change while a kernel runs (a mode, an approval, a project that was
trusted), so it is read at each call. A child session is in its parent's mode and has its approvals;
a parent counts only if this kernel had the child work for it. What a session's record claims holds
where it tightens, and for the rest where it was granted (``effective_rights``).
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from palimpsest.session.permissions.approvals import Approvals
from palimpsest.session.permissions.grants import Grants
from palimpsest.session.permissions.project_move import ProjectMoveWatch
from palimpsest.session.permissions.recorded_claims import (
    asking_rules_of,
    held_budget,
    held_mode,
    held_rules,
)
from palimpsest.tools.permission_rules.modes import Mode, answered_by, denied_by
from palimpsest.tools.permission_rules.permissions import Rules
from palimpsest.transcript.errors import ConfigError
from palimpsest.transcript.session_record.budgets import Budget
from palimpsest.transcript.session_record.sessions import SessionInfo
from palimpsest.transcript.values import ModelRef

NESTED = 20
"""Sessions in sessions that are looked through; a longer chain is a circle in damaged data."""

Find = Callable[[], SessionInfo | None]


@dataclass(slots=True)
class EffectiveRules:
    """What the configuration says about permissions and spending, and who is open here."""

    rules: Rules | None = None
    """Configured rules with the defaults; None takes those the services were made with."""
    fixed: Rules = ()
    """Rules that an administrator holds fast, behind those of any agent: they only tighten."""
    mode: Mode = "ask"
    """Of sessions for which none was chosen."""
    mode_fixed: str = ""
    """The file that holds the mode fast."""
    budget: Budget = field(default_factory=Budget)
    """Of sessions for which none was chosen."""
    budget_fixed: str = ""
    """The file that holds the budget fast."""
    approvals: Approvals = field(default_factory=Approvals)
    """What is always allowed in this project."""
    granted: Callable[[], Rules] = tuple
    """What need not be asked in any session: the folders of a person's own skills."""
    default_model: Callable[[], str] = str
    """The model that answers where none is named, which any session may use."""
    default_agent: Callable[[], str] = str
    """The agent that answers where none is named."""
    project_move: ProjectMoveWatch | None = None
    """Whether the project was moved here; None where nothing is kept on a disk."""
    began: dict[str, str] = field(default_factory=dict)
    """Who began whom: the sessions of tasks that worked in this kernel, and their parents, by id."""
    open: dict[str, Find] = field(default_factory=dict)
    """The sessions that this kernel writes, by id."""

    @property
    def grants(self) -> Grants:
        """What a person allowed in this project, kept outside it."""
        return self.approvals.grants

    def mode_of(self, session: SessionInfo | None) -> Mode:
        """Return the mode that holds for a session."""
        if not self.mode_fixed:
            for one in self.line(session):
                mode = self.own_mode(one)
                if mode is not None:
                    return mode
        return self.mode

    def own_mode(self, session: SessionInfo) -> Mode | None:
        """Return the mode that was chosen for this very session, as far as it holds."""
        return held_mode(session, self.mode, self.grants.newest(session.id, "mode"))

    def own_budget(self, session: SessionInfo) -> Budget:
        """Return the spending limit of this very session, as far as it holds."""
        return held_budget(session, self.budget, self.grants.newest(session.id, "budget"))

    def held_rules(self, session: SessionInfo) -> Rules:
        """Return what was always allowed in this very session."""
        return held_rules(session, self.approvals.of(session.id))

    def may_use(self, model: ModelRef, session_id: str | None = None) -> bool:
        """Tell whether a model that a log names was named by a person here as well."""
        if model.provider == "rehearsal":
            return True
        used = [one.value for one in self.grants.list(None, "model")]
        used += [one.value for one in self.grants.list(session_id, "model")] if session_id else []
        if model.id in used:
            return True
        with suppress(ConfigError):
            return model.id == self.default_model()
        return False

    def may_answer(self, agent: str, session_id: str | None = None) -> bool:
        """Tell whether an agent that a log names was named by a person here as well."""
        used = [one.value for one in self.grants.list(None, "agent")]
        used += [one.value for one in self.grants.list(session_id, "agent")] if session_id else []
        return agent in used or agent == self.default_agent()

    def use(self, agent: str, model: ModelRef) -> None:
        """Note who answers a person's prompt, and by which model: a session may go on with both."""
        new = [] if self.may_use(model) else [self.grants.made("model", model.id, None)]
        new += [] if self.may_answer(agent) else [self.grants.made("agent", agent, None)]
        if new:
            self.grants.add(*new)

    def use_model(self, model: ModelRef) -> None:
        """Note that a person named a model here."""
        if not self.may_use(model):
            self.grants.add(self.grants.made("model", model.id, None))

    def rules_of(self, session: SessionInfo | None, rules: Rules, agent: Rules) -> Rules:
        """Return all rules that hold for the calls of an agent."""
        base = self.rules if self.rules is not None else rules
        own = asking_rules_of(session)
        return (*base, *agent, *own, *self.fixed, *denied_by(self.mode_of(session)))

    def answers_of(self, session: SessionInfo | None) -> Rules:
        """Return what need not be asked: by the mode, by the project, by who began this session."""
        above = [rule for one in list(self.line(session))[1:] for rule in self.held_rules(one)]
        mode = answered_by(self.mode_of(session))
        return (*mode, *self.granted(), *self.approvals.rules(), *above)

    def line(self, session: SessionInfo | None) -> Iterator[SessionInfo]:
        """Yield a session, the one that began it, and so on."""
        for _ in range(NESTED):
            if session is None:
                return
            yield session
            find = self.open.get(self.began.get(session.id, ""))
            session = find() if find is not None else None
