"""Make a simulated session's requests fit: drive ``context/request_assembly/fit.py``, apply what it yields.

The live loop drives the same generator (``loop/context_management/fit_driver.py``). Here nothing is journaled
and no model is called: decisions are added to ``SimulatedSession``, and the caller reports how a summary
would have ended.
"""

from palimpsest.context.request_assembly.fit import (
    DecisionBatch,
    Fit,
    FitAttempts,
    FitOutcome,
    FittedRequest,
    MessageRequest,
    ResultsShortened,
    SummaryNeeded,
    fit,
    prune_after_turn,
    resumed,
)
from palimpsest.context.request_assembly.fittable_request import Cause
from palimpsest.review.counterfactual.simulated_session import SimulatedSession, StepInputs

Fitted = FittedRequest[MessageRequest]
"""A request that fits, or not, and is made of messages."""


class ReplayedFit:
    """Makes the requests of one replay fit the window.

    Responsibilities: hold the generator that requested a summary until its outcome is known; count tries
    by turns.
    """

    def __init__(self, other: SimulatedSession) -> None:
        self._other = other
        self._tries = FitAttempts()
        self._waiting: Fit[MessageRequest] | None = None
        self._failed = False

    @property
    def failed(self) -> bool:
        """A summary was requested and failed, and the generator was not resumed yet."""
        return self._waiting is not None and self._failed

    @property
    def waits(self) -> bool:
        """A generator has requested something, and is resumed with the next request."""
        return self._waiting is not None

    def may_summarise(self, asking: StepInputs, cause: Cause) -> bool:
        """Return whether a summary would be requested."""
        held = self._other.held(asking)
        messages = self._other.messages(asking.without)
        return self._tries.may_summarise(cause, messages, held.policy)

    def make(
        self, asking: StepInputs, cause: Cause = "size"
    ) -> Fitted | SummaryNeeded | ResultsShortened | None:
        """Resume the waiting generator, or start one; returns what the live loop would do next."""
        request = self._other.request(asking)
        running = self._waiting
        outcome: FitOutcome[MessageRequest] | None = None
        if running is None:
            running = fit(request, self._tries, cause)
        else:
            outcome = FitOutcome(request, failed=self._failed)
        self._waiting, self._failed = None, False
        told = resumed(running, outcome)
        while isinstance(told, DecisionBatch):
            self._other.decide(told.decisions)
            told = resumed(running)
        if isinstance(told, SummaryNeeded | ResultsShortened):
            self._waiting = running
        return told

    def summarised(self, *, failed: bool, stopped: bool) -> None:
        """Record how a summary ended; after one that was stopped nothing is resumed."""
        self._failed = failed
        if stopped:
            self._waiting = None

    def turn_ended(self, asking: StepInputs | None) -> None:
        """Prune if the policy does so after turns, and begin a new one; None where nothing was sent in it."""
        self._tries, self._waiting, self._failed = FitAttempts(), None, False
        if asking is None:
            return
        for told in prune_after_turn(self._other.request(asking)):
            self._other.decide(told.decisions)
