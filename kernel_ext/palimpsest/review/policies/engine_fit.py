"""Make the requests of a replay fit: drive the engine's ``fit`` over a timeline's items, as the live loop does over messages.

A summary that it asks for is the recorded one or a placeholder (``engine_compaction.py``).
"""

from dataclasses import replace

from palimpsest.context.request_assembly import fit as engine
from palimpsest.context.request_assembly.fit import (
    FitOutcome,
    FittedRequest,
    SummaryNeeded,
    fit,
    reported_full,
    resumed,
)
from palimpsest.context.request_assembly.fittable_request import Cause
from palimpsest.review.policies.engine_compaction import compact
from palimpsest.review.policies.engine_step import EngineStep
from palimpsest.review.policies.item_request import ItemRequest


def make_it_fit(step: EngineStep) -> None:
    """Reduce the next request until it fits, or as far as the policy allows."""
    cause = cause_to_shrink(step)
    while True:
        made = _driven(step, cause)
        if made is None or not made.route.fits or not _is_refused(step):
            return
        cause, step.checked = "refused", replace(step.checked, fits=False)


def cause_to_shrink(step: EngineStep) -> Cause:
    """Return why the context must shrink before the next request."""
    before = step.before
    if before is None or step.state.summarised_at == step.request.index:
        return "size"
    if before.overflowed and step.state.compared >= step.recorded_sizes.requests[before.index]:
        return "refused"
    usage = step.usage_before()
    full = usage is not None and reported_full(usage, step.model, step.policy)
    return "full" if full else "size"


def compact_after_turn(step: EngineStep) -> None:
    """Ask for a summary where the last answer of a turn reported a full window; cut results where that failed."""
    if cause_to_shrink(step) == "full" and step.tries.may_ask("full", step.policy):
        running = fit(ItemRequest(step), step.tries, "full")
        resumed(running)
        if not compact(step):
            resumed(running, FitOutcome(ItemRequest(step), failed=True))


def prune_after_turn(step: EngineStep) -> None:
    """Prune where the policy's rule does that when a turn has ended."""
    for _ in engine.prune_after_turn(ItemRequest(step)):
        pass


def _driven(step: EngineStep, cause: Cause) -> FittedRequest[ItemRequest] | None:
    running = fit(ItemRequest(step), step.tries, cause)
    told = resumed(running)
    while told is not None and not isinstance(told, FittedRequest):
        failed = isinstance(told, SummaryNeeded) and not compact(step, overflow=told.overflow)
        told = resumed(running, FitOutcome(ItemRequest(step), failed=failed))
    return told


def _is_refused(step: EngineStep) -> bool:
    """Return whether the provider would refuse a request that is not the recorded one, by its usage for others."""
    request, sizes = step.request, step.recorded_sizes
    if not request.estimator or step.compared == sizes.requests[request.index]:
        return False
    return round(step.compared * request.calibration) > step.model.capacity
