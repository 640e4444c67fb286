"""Make room for the requests of a session as it would have been: drive ``context/request_assembly/fit.py``, and apply what it yields.

The live loop drives the same generator (``loop/context_management/fit_driver.py``). Here nothing is journaled and no model is
asked: decisions are taken into ``SimulatedSession``, and whoever calls says how a summary would have ended.
"""

from palimpsest.context.request_assembly.fit import (
    Cause,
    DecisionBatch,
    Fit,
    FitAttempts,
    FitOutcome,
    FittedRequest,
    ResultsShortened,
    SummaryNeeded,
    fit,
    prune_after_turn,
)
from palimpsest.review.counterfactual.simulated_session import SimulatedSession, StepInputs


class ReplayedFit:
    """Makes room along one log.

    Responsibilities: hold what asked for a summary until it is known how that ended; count tries by turns.
    """

    def __init__(self, other: SimulatedSession) -> None:
        self._other = other
        self._tries = FitAttempts()
        self._waiting: Fit | None = None
        self._failed = False

    @property
    def failed(self) -> bool:
        """A summary was asked for and failed, and nothing was done about it yet."""
        return self._waiting is not None and self._failed

    @property
    def waits(self) -> bool:
        """Something was asked for, and whoever asked goes on with the next request."""
        return self._waiting is not None

    def may_summarise(self, asking: StepInputs, cause: Cause) -> bool:
        """Tell whether a summary would be asked for."""
        held = self._other.held(asking)
        messages = self._other.messages(asking.without)
        return self._tries.may_summarise(cause, messages, held.policy)

    def make(
        self, asking: StepInputs, cause: Cause = "size"
    ) -> FittedRequest | SummaryNeeded | ResultsShortened | None:
        """Go on with what waits, or else begin; returns what the live loop would do next."""
        view, inputs = self._other.inputs(asking)
        running, outcome = self._waiting, None
        if running is None:
            running = fit(view, inputs, self._tries, cause)
        else:
            outcome = FitOutcome(view, inputs, failed=self._failed)
        self._waiting, self._failed = None, False
        while True:
            try:
                told = running.send(outcome)
            except StopIteration as ended:
                made: FittedRequest | None = ended.value
                return made
            outcome = None
            if not isinstance(told, DecisionBatch):
                self._waiting = running
                return told
            self._other.decide(told.decisions)

    def summarised(self, *, failed: bool, stopped: bool) -> None:
        """Take in how a summary ended; after one that was stopped nothing goes on."""
        self._failed = failed
        if stopped:
            self._waiting = None

    def turn_ended(self, asking: StepInputs | None) -> None:
        """Prune where the policy does that then, and begin a new turn; None where nothing was sent in it."""
        self._tries, self._waiting, self._failed = FitAttempts(), None, False
        if asking is None:
            return
        for told in prune_after_turn(*self._other.inputs(asking)):
            if isinstance(told, DecisionBatch):
                self._other.decide(told.decisions)
