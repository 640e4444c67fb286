"""Track what a session spends, and ask the user when its limit is reached.

A child session spends from the limit of its parent session, and the question is asked there. A refusal
holds for the turn, so that it stops everything that runs in it.

Border: the loop calls ``wait_for_budget`` before each request and ``add_spending`` with what the request cost.
"""

from collections.abc import Callable
from dataclasses import dataclass

from palimpsest.processor.session_log import SessionLog
from palimpsest.render.content.phrases import count, counted_noun, money
from palimpsest.session.permissions.asks import Asks
from palimpsest.session.permissions.effective_rules import EffectiveRules
from palimpsest.session.permissions.recorded_claims import without_claims
from palimpsest.tools.tool import Abort
from palimpsest.transcript.errors import Aborted, GuardStopped
from palimpsest.transcript.session_record.sessions import (
    Budget,
    Measure,
    SessionInfo,
    Spent,
    sane_spending,
)
from palimpsest.transcript.values import ModelInfo

REACHED_QUESTION = "The spending limit of {limit} is reached: {spent} so far. Go on by {more} more?"
NO_PRICE_QUESTION = "The price of {model} is not known, so the limit of {limit} cannot be kept with it. Go on all the same?"
STOPPED_SENTENCE = "The session was stopped at its spending limit of {limit} ({spent} so far)."
STOPPED_PRICE_SENTENCE = (
    "The session was stopped, because the price of {model} is not known and dollars are limited."
)
NOBODY_SENTENCE = " Nobody is here to say whether to go on."
RAISE_LIMIT_HINT = " %agent budget shows and changes the limit."
SET_PRICE_HINT = (
    ' Give it a price in the configuration (models."{model}".price), or take the limit off.'
)


@dataclass(eq=False, repr=False)
class SpendingLimit:
    """Adds up a session's spending, children included; asks the user when its limit, in dollars or tokens, is reached."""

    _effective_rules: EffectiveRules
    _log: SessionLog
    _asks: Asks
    _parent: Callable[[], "SpendingLimit | None"]
    """Returns the spending limit of the parent session, if there is one."""
    _refusal: str = ""
    """The error for further requests of this turn, after the user refused; else empty."""

    @property
    def budget(self) -> Budget:
        """The limit that applies."""
        session = self._log.state.session
        claimed_budget = session.budget if session is not None else None
        is_fixed = self._effective_rules.budget_fixed != ""
        if session is None or claimed_budget is None or (is_fixed and claimed_budget.own):
            return self._effective_rules.budget
        return self._effective_rules.own_budget(session)

    @property
    def spent(self) -> Spent:
        """Spending so far by this session and its children."""
        session = self._log.state.session
        return spent_by(session) if session is not None else Spent()

    def begin_turn(self) -> None:
        """Forget the refusal of the turn before, and write the mode and limit that apply now into the record."""
        self._refusal = ""
        session, budget = self._log.state.session, self.budget
        if session is None:
            return
        mode = self._effective_rules.mode_of(session)
        if mode != (session.mode or "ask"):
            self._log.change_session(mode=mode)
        if budget != (session.budget or Budget()):
            self._log.change_session(budget=budget, sync=True)

    def set_limit(self, budget: Budget) -> None:
        """Set another limit, from the next request on."""
        session = self._log.state.session
        if session is not None:
            self._refusal = ""
            self._grant_limit(session, budget)

    async def wait_for_budget(self, info: ModelInfo, abort: Abort) -> None:
        """Return when the next request may be sent; raises GuardStopped or Aborted."""
        parent = self._parent()
        if parent is not None:
            await parent.wait_for_budget(info, abort)
            return
        measure = self._reached_measure(info)
        while measure is not None:
            if self._refusal:
                raise GuardStopped(self._refusal, "budget")
            await self._ask_for_more(measure, info, abort)
            measure = self._reached_measure(info)

    def is_affordable(self, info: ModelInfo) -> bool:
        """Return whether a request may be sent without asking the user."""
        return self._reached_measure(info) is None

    def add_from_child(self, spent: Spent) -> None:
        """Add what a child session has spent."""
        session = self._log.state.session
        if session is not None:
            self._log.change_session(below=(session.below or Spent()).plus(spent))
        self.add_spending(spent)

    def add_spending(self, spent: Spent) -> None:
        """Add what this session has spent to its parent session."""
        parent = self._parent()
        if parent is not None:
            parent.add_from_child(spent)

    def _reached_measure(self, info: ModelInfo) -> Measure | None:
        budget = self.budget
        reached_measure = budget.reached_limit(self.spent)
        if reached_measure is None and budget.usd is not None and not is_priced(info):
            return None if info.ref.id in budget.unpriced else "price"
        return reached_measure

    async def _ask_for_more(self, measure: Measure, info: ModelInfo, abort: Abort) -> None:
        budget = self.budget
        tokens_text = f"{count(budget.tokens or 0)} tokens"
        values = {
            "limit": reached_limit_text(budget, measure),
            "spent": spent_text(self.spent, measure),
            "more": tokens_text if measure == "tokens" else money(budget.usd),
            "model": info.ref.id,
        }
        title = (NO_PRICE_QUESTION if measure == "price" else REACHED_QUESTION).format(**values)
        reply = await self._asks.ask_user("budget", (values["limit"],), title=title, abort=abort)
        if reply.by == "cancel":
            raise Aborted(abort.reason or "Stopped.")
        session = self._log.state.session
        if reply.answer != "reject" and session is not None:
            self._grant_limit(session, _raised_limit(self.budget, measure, self.spent, info))
            return
        self._refusal = (STOPPED_PRICE_SENTENCE if measure == "price" else STOPPED_SENTENCE).format(
            **values
        )
        self._refusal += NOBODY_SENTENCE if reply.by == "headless" else ""
        self._refusal += SET_PRICE_HINT.format(**values) if measure == "price" else RAISE_LIMIT_HINT
        raise GuardStopped(self._refusal, "budget")

    def _grant_limit(self, session: SessionInfo, budget: Budget) -> None:
        """Grant a limit that the user chose, and write it into the record, which alone would not be trusted."""
        value = budget.model_dump(exclude_none=True)
        self._effective_rules.grants.put("budget", value, session.id)
        claimed = without_claims(session, "budget").claimed
        self._log.change_session(budget=budget, claimed=claimed, sync=True)


def spent_by(session: SessionInfo) -> Spent:
    """Return what a session and its children have spent."""
    own_spending = sane_spending(
        Spent(cost=session.cost, tokens=session.tokens, unpriced=session.unpriced or 0)
    )
    return (
        own_spending.plus(sane_spending(session.below))
        if session.below is not None
        else own_spending
    )


def is_priced(info: ModelInfo) -> bool:
    """Return whether the cost of a model's requests can be computed."""
    return info.price.input is not None and info.price.output is not None


def _raised_limit(budget: Budget, measure: Measure, spent: Spent, info: ModelInfo) -> Budget:
    if measure == "price":
        return budget.model_copy(update={"unpriced": (*budget.unpriced, info.ref.id)})
    return budget.with_raised_limit(measure, spent)


def reached_limit_text(budget: Budget, measure: Measure) -> str:
    """Return the limit that applies now, as text."""
    if measure == "tokens":
        return f"{count(budget.tokens_until or budget.tokens or 0)} tokens"
    return money(budget.usd_until or budget.usd)


def spent_text(spent: Spent, measure: Measure) -> str:
    """Return what was spent, as text; requests of unknown price are mentioned."""
    if measure == "tokens":
        return f"{count(spent.all_tokens)} tokens"
    if not spent.unpriced:
        return money(spent.cost or 0.0)
    amount = money(spent.cost) if spent.cost is not None else "an unknown sum"
    return f"{amount}, with {counted_noun(spent.unpriced, 'request')} of unknown price"
