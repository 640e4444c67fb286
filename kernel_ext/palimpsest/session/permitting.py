"""Which rules hold for a session: the configured ones, the agent's, the mode's, and what was approved.

Border: puts together what the configuration, the session and a person said; ``tools.permissions``
decides. What it reads may change while a kernel runs (a mode, an approval, a project that was
trusted), so it is read at each call. A child session is in its parent's mode and has its approvals.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from palimpsest.session.approvals import Approvals
from palimpsest.tools.modes import MODES, Mode, answered_by, denied_by
from palimpsest.tools.permissions import Rules
from palimpsest.transcript.budgets import Budget
from palimpsest.transcript.sessions import Session

NESTED = 20
"""Sessions in sessions that are looked through; a longer chain is a circle in damaged data."""

Find = Callable[[], Session | None]


@dataclass(slots=True)
class Permitting:
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
    open: dict[str, Find] = field(default_factory=dict)
    """The sessions that this kernel writes, by id."""

    def mode_of(self, session: Session | None) -> Mode:
        """Return the mode that holds for a session."""
        if not self.mode_fixed:
            for one in self.line(session):
                for mode in MODES:
                    if one.mode_own and one.mode == mode:
                        return mode
        return self.mode

    def rules_of(self, session: Session | None, rules: Rules, agent: Rules) -> Rules:
        """Return all rules that hold for the calls of an agent."""
        base = self.rules if self.rules is not None else rules
        return (*base, *agent, *self.fixed, *denied_by(self.mode_of(session)))

    def answers_of(self, session: Session | None) -> Rules:
        """Return what need not be asked: by the mode, by the project, by who began this session."""
        above = [rule for one in list(self.line(session))[1:] for rule in one.permission]
        mode = answered_by(self.mode_of(session))
        return (*mode, *self.granted(), *self.approvals.rules(), *above)

    def line(self, session: Session | None) -> Iterator[Session]:
        """Yield a session, the one that began it, and so on."""
        for _ in range(NESTED):
            if session is None:
                return
            yield session
            find = self.open.get(session.parent_id or "")
            session = find() if find is not None else None


def origin_of(locked: Mapping[str, str], key: str) -> str:
    """Return who holds a setting fast; empty when nobody does."""
    names = [name for name in locked if key == name or key.startswith(f"{name}.")]
    return locked[names[0]] if names else ""
