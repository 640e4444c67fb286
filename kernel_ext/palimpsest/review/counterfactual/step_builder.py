"""Build the steps of both sides of a what-if: as they were recorded, and as they would have been.

Both are counted with the recorded estimator, and each is compared with its own previous step for what
a provider's cache may hold.
"""

from collections.abc import Sequence
from dataclasses import replace

from palimpsest.context.budget.window_guard import window_refusal
from palimpsest.model.wire.provider_messages import Body
from palimpsest.review.counterfactual.request_fit import Fitted
from palimpsest.review.counterfactual.request_writer import (
    Prefix,
    ReplayedRequest,
    RequestWriter,
    prefix_of,
)
from palimpsest.review.counterfactual.steps import Compaction, Step
from palimpsest.transcript.context_values.decisions import ContextItem, Decision, StepRequest


class StepBuilder:
    """Builds the steps of one replay, in order."""

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self.writer = RequestWriter()
        """Writes the requests in their provider's format."""
        self._was = Prefix()
        self._other = Prefix()
        self._number = 0

    def hooked(
        self,
        written: ReplayedRequest,
        request: StepRequest,
        items: Sequence[ContextItem],
        sent: Sequence[Body],
    ) -> ReplayedRequest:
        """Return the request as the recorded hook wrote it, which was called with the same messages."""
        return replace(
            written,
            sent=tuple(sent),
            sha256=request.sha256,
            prefix=tuple((one.sha256, self.writer.weight(one.sha256, one.tokens)) for one in items),
            tools_tokens=request.kinds.get("tools", 0),
            tokens=request.tokens,
            kinds=dict(request.kinds),
            marked=False,
        )

    def was(
        self,
        seq: int,
        request: StepRequest,
        items: Sequence[ContextItem],
        decisions: Sequence[Decision],
        compactions: Sequence[Compaction],
    ) -> Step:
        """Return a step as it was recorded; ``items`` are all of its request."""
        # The tokens of an item from an earlier request may have been counted by another policy's estimator.
        weights = [(item.sha256, self.writer.weight(item.sha256, item.tokens)) for item in items]
        now = prefix_of(request, weights, request.kinds.get("tools", 0))
        cached, self._was = now.shared(self._was), now
        self._number += 1
        return Step(
            number=self._number,
            seq=seq,
            request_id=request.id,
            model=request.model.ref.id,
            tokens=request.tokens,
            estimate=round(request.tokens * request.facts.calibration),
            budget=max(request.facts.window - request.facts.reserve, 0),
            fits=True,
            cached=cached,
            sha256=request.sha256,
            kinds=dict(request.kinds),
            decisions=tuple(decisions),
            compactions=tuple(compactions),
        )

    def other(
        self, was: Step, request: StepRequest, fitted: Fitted, written: ReplayedRequest
    ) -> Step:
        """Return a step as it would have been."""
        now = prefix_of(request, written.prefix, written.tools_tokens)
        cached, self._other = now.shared(self._other), now
        return replace(
            was,
            tokens=written.tokens,
            estimate=fitted.route.tokens,
            budget=fitted.route.budget,
            fits=fitted.route.fits,
            cached=cached,
            sha256=written.sha256,
            kinds=written.kinds,
            refused=window_refusal(request.model, written.asking.policy.guard) or "",
            request=written.request(request, fitted, self._session_id),
        )
