"""Read and change a session's mode, approvals and spending limit on behalf of the user.

Border: called from any thread by front ends; changes are granted outside the project, made on the
engine's loop and journaled in the session's own record, and apply from the next call or request on.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from palimpsest.processor.session_log import SessionLog
from palimpsest.session.controls.spending_limit import SpendingLimit
from palimpsest.session.permissions.asks import Asks
from palimpsest.session.permissions.effective_rules import Allowance, EffectiveRules
from palimpsest.session.permissions.recorded_claims import without_claims
from palimpsest.session.permissions.withheld_claims import (
    claimed_names,
    grant_claims,
    is_named_whole,
)
from palimpsest.tools.permission_rules.modes import MODE_APPROVALS, Mode, mode_of
from palimpsest.tools.permission_rules.permissions import Rules
from palimpsest.tools.registration.builtin_tools import DEFAULT_RULES, DENY_RULES_BY_MODE
from palimpsest.transcript.errors import ConfigError, NotFound, UnknownError
from palimpsest.transcript.session_record.events import SessionError, SessionUpdated
from palimpsest.transcript.session_record.sessions import Budget, Spent
from palimpsest.transcript.values import Rule

T = TypeVar("T")
MAX_LIMIT_AMOUNT = 1e15
"""Maximum of a limit, in dollars or tokens; a larger number counts as a mistake."""
CallOnLoop = Callable[..., Any]


@dataclass(eq=False, repr=False)
class SessionControls:
    """The user's controls of one session: read and change mode, approvals and spending limit."""

    _effective_rules: EffectiveRules
    _base_rules: Rules
    _log: SessionLog
    _asks: Asks
    _spending_limit: SpendingLimit
    _call_on_loop: CallOnLoop

    def __post_init__(self) -> None:
        self.named_whole = is_named_whole(self._log.state.session)
        """Whether the user was shown everything that was withheld from the session's log."""

    @property
    def mode(self) -> Mode:
        """The permission mode of the session."""
        return self._effective_rules.mode_of(self._log.state.session)

    def use_mode(self, mode_name: str) -> Mode:
        """Set the mode from the next call on; ``default`` returns to the settings.

        Raises ConfigError for an unknown mode, and when an administrator fixed it.
        """
        mode = None if mode_name.strip().lower() == "default" else mode_of(mode_name)
        if self._effective_rules.mode_fixed:
            raise ConfigError(
                f"The mode is {self._effective_rules.mode}, fixed by the {self._effective_rules.mode_fixed}."
            )
        session, grants = self._log.state.session, self._effective_rules.grants
        with self._reporting_unwritten():
            if session is not None and mode is not None:
                grants.put("mode", mode, session.id)
            elif session is not None:
                grants.drop_grants(session.id, "mode")
        update = {"mode": mode or self._effective_rules.mode, "mode_own": True if mode else None}
        self._call_on_loop(self._change_session, update, "mode")
        return self.mode

    @property
    def allowances(self) -> tuple[Allowance, ...]:
        """The rules that were always allowed, first of this session, then of this project."""
        session_allowances = [
            Allowance(0, rule, "session", 0, self._asks.session_id)
            for rule in self._asks.approved_rules
        ]
        allowances = [*session_allowances, *self._effective_rules.approvals.list()]
        return tuple(replace(allowance, number=n) for n, allowance in enumerate(allowances, 1))

    @property
    def problem(self) -> str:
        """Sentences about stored approvals that are unusable or no longer apply; empty when there are none."""
        approvals = self._effective_rules.approvals
        approvals.rules()
        return " ".join(filter(None, (approvals.problem, approvals.earlier_sentence)))

    @property
    def unwritten(self) -> str:
        """One sentence on why modes, limits and approvals end with this kernel; empty where they are stored."""
        return self._effective_rules.grants.unwritten

    @contextmanager
    def _reporting_unwritten(self) -> Iterator[None]:
        """Report in the session when a grant or revocation made in the block could not be stored."""
        problem_before = self.unwritten
        yield
        problem = self.unwritten
        if problem and problem != problem_before:
            error = SessionError(error=UnknownError(message=problem, explained=True))
            self._call_on_loop(self._log.append, error)

    @property
    def withheld(self) -> tuple[str, ...]:
        """Permissions that the session's log claims and that do not apply here, each as a short text."""
        session = self._log.state.session
        return tuple(claimed_names(session.claimed if session is not None else None))

    def trust(self) -> tuple[str, ...]:
        """Grant in this session what was withheld from its log; returns what was granted, as short texts."""
        claims_before = self.withheld
        with self._reporting_unwritten():
            self._call_on_loop(self._grant_withheld)
        return tuple(claim for claim in claims_before if claim not in self.withheld)

    def _grant_withheld(self) -> None:
        session = self._log.state.session
        if session is None or session.claimed is None:
            return
        granted_session = grant_claims(session, self._effective_rules)
        self._log.append(SessionUpdated(session=granted_session), sync=True)
        self._asks.approve(granted_session.permission)

    def all_rules(self) -> tuple[tuple[Rule, str], ...]:
        """Return the rules for every agent, lowest precedence first, each with where it comes from."""
        effective_rules = self._effective_rules
        base_rules = (
            effective_rules.rules if effective_rules.rules is not None else self._base_rules
        )
        built_in_count = (
            len(DEFAULT_RULES) if base_rules[: len(DEFAULT_RULES)] == DEFAULT_RULES else 0
        )
        return (
            *((rule, "built in") for rule in base_rules[:built_in_count]),
            *((rule, "settings") for rule in base_rules[built_in_count:]),
            *((rule, "fixed") for rule in effective_rules.fixed_rules),
            *((rule, f"mode {self.mode}") for rule in DENY_RULES_BY_MODE[self.mode]),
            *((rule, f"mode {self.mode}, for questions") for rule in MODE_APPROVALS[self.mode]),
        )

    def revoke(self, *numbers: int) -> tuple[Allowance, ...]:
        """Revoke approvals by their numbers in ``allowances``, or all of them; returns those revoked.

        Raises NotFound for a number that is not in the list, and StorageFailed.
        """
        allowances = self.allowances
        missing_numbers = [
            number for number in numbers if number not in range(1, len(allowances) + 1)
        ]
        if missing_numbers:
            raise NotFound(
                f"There is no number {missing_numbers[0]} in the list of what is always allowed; "
                f"it has {len(allowances)}."
            )
        revoked_allowances = tuple(a for a in allowances if not numbers or a.number in numbers)
        session_rules = tuple(a.rule for a in revoked_allowances if a.scope == "session")
        with self._reporting_unwritten():
            for allowance in revoked_allowances:
                if allowance.scope == "project":
                    self._effective_rules.approvals.remove(allowance.rule)
            if session_rules:
                self._call_on_loop(self._asks.revoke, session_rules)
        return revoked_allowances

    @property
    def budget(self) -> Budget:
        """The spending limit that applies."""
        return self._spending_limit.budget

    @property
    def spent(self) -> Spent:
        """Spending so far, including child sessions."""
        return self._spending_limit.spent

    def set_budget(self, *, usd: float | None = None, tokens: int | None = None) -> Budget:
        """Limit the total spending of the session from the next request on; without arguments, remove the limit.

        Raises ConfigError for an invalid limit, and when an administrator fixed it.
        """
        if self._effective_rules.budget_fixed:
            raise ConfigError(
                f"The spending limit is fixed by the {self._effective_rules.budget_fixed}."
            )
        if not _is_limit(usd, float) or not _is_limit(tokens, int):
            raise ConfigError(
                f"A spending limit is more than nothing and less than {MAX_LIMIT_AMOUNT:.0e}: 2usd, or 500000 tokens."
            )
        with self._reporting_unwritten():
            self._call_on_loop(
                self._spending_limit.set_limit, Budget(usd=usd, tokens=tokens, own=True)
            )
        return self.budget

    def _change_session(self, fields: dict[str, Any], *claims: str) -> None:
        session = self._log.state.session
        if session is not None:
            claimed = without_claims(session, *claims).claimed
            self._log.change_session(**fields, claimed=claimed, sync=True)


def _is_limit(amount: float | None, number_type: type) -> bool:
    """Return whether an amount is a valid limit: positive, and whole for tokens."""
    if amount is None:
        return True
    if not isinstance(amount, int | number_type) or isinstance(amount, bool):
        return False
    return 0 < amount < MAX_LIMIT_AMOUNT
