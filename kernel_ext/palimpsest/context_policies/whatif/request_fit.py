"""Run ``context/request_assembly/fit.py`` for a simulated session's requests, and apply the yielded decisions.

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
    fit_request,
    prune_after_turn,
    resume_fit,
)
from palimpsest.context.request_assembly.fittable_request import Cause
from palimpsest.context_policies.whatif.simulated_session import SimulatedSession, StepInputs

Fitted = FittedRequest[MessageRequest]
"""The final request of a simulated session, and whether it fits."""


class ReplayedFit:
    """Reduces the requests of one replay until they fit; stores the generator that waits for a summary's outcome."""

    def __init__(self, simulated: SimulatedSession) -> None:
        self._simulated = simulated
        self._attempts = FitAttempts()
        self._suspended_fit: Fit[MessageRequest] | None = None
        self._has_failed = False

    @property
    def has_failed(self) -> bool:
        """Whether a summary was requested and failed, and the generator has not resumed yet."""
        return self._suspended_fit is not None and self._has_failed

    @property
    def is_suspended(self) -> bool:
        """Whether a generator waits for a summary or for shortened results, to be resumed with the next request."""
        return self._suspended_fit is not None

    def may_summarise(self, inputs: StepInputs, cause: Cause) -> bool:
        """Return whether a summary would be requested."""
        effective_inputs = self._simulated.with_undo(inputs)
        messages = self._simulated.messages(inputs.answer_left_out)
        return self._attempts.may_summarise(cause, messages, effective_inputs.policy)

    def next_outcome(
        self, inputs: StepInputs, cause: Cause = "size"
    ) -> Fitted | SummaryNeeded | ResultsShortened | None:
        """Resume the suspended generator, or start one; returns the next action of the live loop."""
        request = self._simulated.request(inputs)
        generator = self._suspended_fit
        outcome: FitOutcome[MessageRequest] | None = None
        if generator is None:
            generator = fit_request(request, self._attempts, cause)
        else:
            outcome = FitOutcome(request, summary_failed=self._has_failed)
        self._suspended_fit, self._has_failed = None, False
        step_outcome = resume_fit(generator, outcome)
        while isinstance(step_outcome, DecisionBatch):
            self._simulated.add_decisions(step_outcome.decisions)
            step_outcome = resume_fit(generator)
        if isinstance(step_outcome, SummaryNeeded | ResultsShortened):
            self._suspended_fit = generator
        return step_outcome

    def set_summary_outcome(self, *, failed: bool, was_stopped: bool) -> None:
        """Store the outcome of a summary; after a stopped summary nothing is resumed."""
        self._has_failed = failed
        if was_stopped:
            self._suspended_fit = None

    def end_turn(self, inputs: StepInputs | None) -> None:
        """Prune if the policy does so after turns, and begin a new turn; ``inputs`` is None if the turn sent no request."""
        self._attempts, self._suspended_fit, self._has_failed = FitAttempts(), None, False
        if inputs is None:
            return
        for step_outcome in prune_after_turn(self._simulated.request(inputs)):
            self._simulated.add_decisions(step_outcome.decisions)
