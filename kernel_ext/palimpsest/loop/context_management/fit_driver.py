"""Make the requests of one turn fit: drive ``context/request_assembly/fit.py``, and journal its decisions.

Each decision is journaled when it is made, with its facts, and the request is built from the journal. A
summary takes rounds of the loop to write; meanwhile the generator that requested it waits here.
"""

import dataclasses
from typing import Any

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
    newest_answer_needs_summary,
    resume_fit,
)
from palimpsest.context.request_assembly.fit import prune_after_turn as turn_end_batches
from palimpsest.context.request_assembly.fittable_request import Cause
from palimpsest.context.request_assembly.projection import Projection
from palimpsest.context.visible_messages import View
from palimpsest.loop.context_management.compaction import write_marker
from palimpsest.loop.model_requests.engine_messages import write_engine_message
from palimpsest.loop.model_requests.request_builder import (
    ReadyRequest,
    assembly_of,
    message_request,
    record_request,
    write_decisions,
)
from palimpsest.loop.run_inputs.request_chunks import Assembly
from palimpsest.loop.run_inputs.run_context import RequestServices, StepSetup
from palimpsest.paused_collection import collection_paused
from palimpsest.transcript.messages import Messages, UserMessage
from palimpsest.transcript.provider_profile.request_limits import RequestLimits

FitEvent = FittedRequest[MessageRequest] | SummaryNeeded | ResultsShortened
"""The event that ends a round of fitting: a request to send, or the reason why the loop must do something else first."""

SHORTENED_NOTICE = (
    "Long tool outputs were shortened, because the conversation no longer fits the context window. Go on "
    "with what was asked; where something left out matters, read a narrower piece of it again."
)


class FitDriver:
    """Makes the requests of one turn fit the window.

    Responsibilities: journal each decision before the next is made; start the summaries that are
    requested, and hold the generator that requested one until its outcome is known.
    """

    def __init__(self, services: RequestServices) -> None:
        self.attempts = FitAttempts()
        self._services = services
        self._suspended_fit: Fit[MessageRequest] | None = None
        """The generator that requested a summary, or cut results; the next request resumes it."""
        self._assembly: Assembly | None = None
        """The newest request that was assembled to check whether it fits."""

    def build_request(
        self, setup: StepSetup, user: UserMessage, message_id: str, parameters: dict[str, Any]
    ) -> ReadyRequest | None:
        """Build the request of a step, which may still not fit; None where a summary was requested first."""
        is_resumed = self._suspended_fit is not None
        fitted = (
            self._resume_fit(setup, user) if is_resumed else self._start_fit(setup, user, "size")
        )
        if not isinstance(fitted, FittedRequest) or self._assembly is None:
            return None
        assembly, self._assembly = self._assembly, None
        facts, budget_check = fitted.facts, fitted.budget_check
        return record_request(
            self._services, setup, assembly, facts, budget_check, message_id, parameters
        )

    def rebuild_within(
        self, setup: StepSetup, refused_request: ReadyRequest, learned_limits: RequestLimits
    ) -> ReadyRequest | None:
        """Rebuild a refused request within limits that its provider named; None where nothing exceeds them."""
        request = dataclasses.replace(
            self._message_request(setup),
            learned_limits=learned_limits,
            project=lambda _view: refused_request.projection,
        )
        decisions, _ = request.with_limits()
        if not decisions:
            return None
        write_decisions(self._services.log, DecisionBatch(decisions, refused_request.record.facts))
        return self.rebuild(setup, refused_request)

    def rebuild(self, setup: StepSetup, refused_request: ReadyRequest) -> ReadyRequest:
        """Rebuild a refused request from the session and the setup as they are now."""
        assembly = assembly_of(self._services, setup)
        record, budget_check = refused_request.record, refused_request.budget_check
        facts = record.facts.model_copy(update={"used_tokens": assembly.projection.total})
        message_id, parameters = record.message_id or "", record.parameters
        return record_request(
            self._services, setup, assembly, facts, budget_check, message_id, parameters
        )

    def summarise_if_full(self, setup: StepSetup, user: UserMessage, messages: Messages) -> bool:
        """Request a summary where the newest answer reported a full window; False where none is requested."""
        is_full = newest_answer_needs_summary(messages, setup.info, setup.policy)
        return is_full and self.request_summary(setup, user)

    def request_summary(self, setup: StepSetup, user: UserMessage) -> bool:
        """Request a summary whatever the next request's size; False where none may be requested."""
        messages = self._services.log.state.messages()
        if not self.attempts.may_summarise("full", messages, setup.policy):
            return False
        return self._start_fit(setup, user, "full") is not None

    def reduce_after_refusal(
        self, setup: StepSetup, user: UserMessage, *, summaries_help: bool
    ) -> bool:
        """Reduce the context after a provider refused a request; False where nothing is left to try."""
        cause: Cause = "refused" if summaries_help else "failed"
        return self._start_fit(setup, user, cause) is not None

    def cut_after_failure(self, setup: StepSetup, user: UserMessage) -> bool:
        """Cut results after a failed summary; False where there is nothing to cut."""
        if self._suspended_fit is None:
            # An earlier kernel requested the summary.
            return self._start_fit(setup, user, "failed") is not None
        return self._resume_fit(setup, user, has_failed=True) is not None

    def _start_fit(self, setup: StepSetup, user: UserMessage, cause: Cause) -> FitEvent | None:
        fit = fit_request(self._message_request(setup), self.attempts, cause)
        return self._run_fit(fit, None, user)

    def _resume_fit(
        self, setup: StepSetup, user: UserMessage, *, has_failed: bool = False
    ) -> FitEvent | None:
        fit, self._suspended_fit = self._suspended_fit, None
        assert fit is not None
        outcome = FitOutcome(self._message_request(setup), summary_failed=has_failed)
        return self._run_fit(fit, outcome, user)

    @collection_paused()
    def _run_fit(
        self,
        fit: Fit[MessageRequest],
        outcome: FitOutcome[MessageRequest] | None,
        user: UserMessage,
    ) -> FitEvent | None:
        """Journal the yielded decisions, up to an event that needs another round of the loop, or the end."""
        event = resume_fit(fit, outcome)
        while isinstance(event, DecisionBatch):
            write_decisions(self._services.log, event)
            event = resume_fit(fit)
        self._suspended_fit = fit if isinstance(event, SummaryNeeded | ResultsShortened) else None
        match event:
            case SummaryNeeded(overflow=overflow):
                write_marker(self._services.log, user, auto=True, overflow=overflow)
            case ResultsShortened():
                write_engine_message(self._services.log, user, SHORTENED_NOTICE)
            case FittedRequest() | None:
                pass
        return event

    def _message_request(self, setup: StepSetup) -> MessageRequest:
        def project(_view: View) -> Projection:
            # The view equals the journal by now, and the session caches its newest request.
            self._assembly = assembly_of(self._services, setup)
            return self._assembly.projection

        return message_request(self._services.log, setup, project)


def prune_after_turn(services: RequestServices, setup: StepSetup) -> None:
    """Prune where the policy prunes at the end of a turn."""
    request = message_request(
        services.log, setup, lambda _view: assembly_of(services, setup).projection
    )
    for batch in turn_end_batches(request):
        write_decisions(services.log, batch)
