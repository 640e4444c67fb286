"""Build the recorded and the simulated steps of a what-if.

Both are counted with the recorded estimator, and each is compared with the step before it on the same side to find the
prefix that a provider's cache may hold.
"""

from collections.abc import Sequence
from dataclasses import replace

from palimpsest.context.budget.window_guard import window_refusal
from palimpsest.context_policies.whatif.request_fit import Fitted
from palimpsest.context_policies.whatif.request_writer import (
    Prefix,
    ReplayedRequest,
    RequestWriter,
    prefix_of,
)
from palimpsest.context_policies.whatif.steps import Compaction, Step
from palimpsest.model.wire.provider_messages import Body
from palimpsest.transcript.context_values.decisions import ContextItem, Decision, StepRequest


class StepBuilder:
    """Builds the steps of one replay, in order."""

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self.writer = RequestWriter()
        """Writes the requests in their provider's format."""
        self._recorded_prefix = Prefix()
        self._simulated_prefix = Prefix()
        self._number = 0

    def written_by_hook(
        self,
        written_request: ReplayedRequest,
        request: StepRequest,
        items: Sequence[ContextItem],
        hook_messages: Sequence[Body],
    ) -> ReplayedRequest:
        """Return the request that the recorded hook wrote when it was called with the same messages."""
        return replace(
            written_request,
            messages=tuple(hook_messages),
            sha256=request.sha256,
            prefix=self._item_tokens(items),
            tools_tokens=request.kinds.get("tools", 0),
            tokens=request.tokens,
            tokens_by_kind=dict(request.kinds),
            adds_cache_marks=False,
        )

    def _item_tokens(self, items: Sequence[ContextItem]) -> tuple[tuple[str, int], ...]:
        """Return the hash and tokens of each item of a recorded request."""
        # The tokens of an item from an earlier request may have been counted by another policy's estimator.
        return tuple((item.sha256, self.writer.weight(item.sha256, item.tokens)) for item in items)

    def recorded_step(
        self,
        seq: int,
        request: StepRequest,
        items: Sequence[ContextItem],
        decisions: Sequence[Decision],
        compactions: Sequence[Compaction],
    ) -> Step:
        """Return a recorded step; ``items`` are all items of its request."""
        prefix = prefix_of(request, self._item_tokens(items), request.kinds.get("tools", 0))
        cached, self._recorded_prefix = prefix.shared_tokens(self._recorded_prefix), prefix
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
            tokens_by_kind=dict(request.kinds),
            decisions=tuple(decisions),
            compactions=tuple(compactions),
        )

    def simulated_step(
        self, recorded: Step, request: StepRequest, fitted: Fitted, written_request: ReplayedRequest
    ) -> Step:
        """Return the simulated step of a recorded request."""
        prefix = prefix_of(request, written_request.prefix, written_request.tools_tokens)
        cached, self._simulated_prefix = prefix.shared_tokens(self._simulated_prefix), prefix
        return replace(
            recorded,
            tokens=written_request.tokens,
            estimate=fitted.budget_check.tokens,
            budget=fitted.budget_check.budget,
            fits=fitted.budget_check.fits,
            cached=cached,
            sha256=written_request.sha256,
            tokens_by_kind=written_request.tokens_by_kind,
            refused=window_refusal(request.model, written_request.inputs.policy.guard) or "",
            request=written_request.request(request, fitted, self._session_id),
        )
