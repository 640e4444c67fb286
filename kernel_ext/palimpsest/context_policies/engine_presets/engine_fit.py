"""Run the engine's ``fit`` over a timeline's items, as the live loop runs it over messages.

A summary that ``fit`` requests is the recorded one or a placeholder (``engine_compaction.py``). New outputs are
truncated before, as the engine does at the end of each tool call.
"""

from collections.abc import Callable
from dataclasses import replace

from palimpsest.context.reduction.truncation import (
    TRUNCATE_RULE,
    apply_truncation,
    max_output_tokens,
    output_caps,
    truncate,
)
from palimpsest.context.request_assembly import fit as live_fit
from palimpsest.context.request_assembly.fit import (
    FitOutcome,
    FittedRequest,
    SummaryNeeded,
    fit_request,
    resume_fit,
    usage_needs_summary,
)
from palimpsest.context.request_assembly.fittable_request import Cause
from palimpsest.context_policies.engine_presets.engine_compaction import compact
from palimpsest.context_policies.engine_presets.engine_step import EngineStep
from palimpsest.context_policies.engine_presets.item_request import ItemRequest

MAX_BYTES_PER_CHAR = 4
"""Maximum bytes of a character in UTF-8."""


def truncate_new_outputs(step: EngineStep) -> int:
    """Shorten the outputs that arrived since the previous request, and return the number of all outputs."""
    facts = step.facts()
    policy = step.policy.truncate
    max_lines, max_bytes = output_caps(policy, facts)
    max_tokens = max_output_tokens(policy, facts)
    # No text has more tokens than bytes, so one within this many bytes needs no count.
    max_uncounted_bytes = max_bytes if max_tokens is None else min(max_bytes, max_tokens)
    # Without a limit in tokens, the decision does not depend on a count, and its token numbers are not used here.
    count_tokens: Callable[[str], int] = (
        (lambda _text: 0) if max_tokens is None else step.sizes.count_tokens
    )
    outputs = step.outputs
    for output_index in outputs[step.state.considered_outputs :]:
        item = step.view.item(output_index)
        if item.chars < max_lines and item.chars * MAX_BYTES_PER_CHAR <= max_uncounted_bytes:
            continue
        if item.kind != "output" or step.shown_view.state(output_index) != "whole":
            continue
        text, part_id = step.view.read(output_index), step.sizes.part_ids[output_index]
        decision = truncate("", part_id, item.message, text, policy, facts, count_tokens)
        if decision is not None:
            numbers = decision.numbers | {"rule": TRUNCATE_RULE}
            step.reduce(
                output_index, "truncated", apply_truncation(text, decision.numbers), numbers
            )
    return len(outputs)


def make_it_fit(step: EngineStep) -> None:
    """Reduce the next request until it fits, or as far as the policy allows."""
    cause = cause_to_shrink(step)
    while True:
        outcome = _run_fit(step, cause)
        if outcome is None or not outcome.budget_check.fits or not _would_be_refused(step):
            return
        cause, step.budget_check = "refused", replace(step.budget_check, fits=False)


def cause_to_shrink(step: EngineStep) -> Cause:
    """Return why the context must shrink before the next request."""
    previous = step.previous_request
    if previous is None or step.state.summarised_at == step.request.index:
        return "size"
    recorded_tokens = step.recorded_sizes.request_tokens[previous.index]
    if previous.overflowed and step.state.tokens_as_recorded >= recorded_tokens:
        return "refused"
    usage = step.previous_usage()
    is_full = usage is not None and usage_needs_summary(usage, step.model, step.policy)
    return "full" if is_full else "size"


def compact_after_turn(step: EngineStep) -> None:
    """Request a summary if the last answer of a turn reported a full window; cut results where that failed."""
    if cause_to_shrink(step) == "full" and step.attempts.may_request_summary("full", step.policy):
        running_fit = fit_request(ItemRequest(step), step.attempts, "full")
        resume_fit(running_fit)
        if not compact(step):
            resume_fit(running_fit, FitOutcome(ItemRequest(step), summary_failed=True))


def prune_after_turn(step: EngineStep) -> None:
    """Prune if the policy's rule does so when a turn has ended."""
    for _ in live_fit.prune_after_turn(ItemRequest(step)):
        pass


def _run_fit(step: EngineStep, cause: Cause) -> FittedRequest[ItemRequest] | None:
    running_fit = fit_request(ItemRequest(step), step.attempts, cause)
    outcome = resume_fit(running_fit)
    while outcome is not None and not isinstance(outcome, FittedRequest):
        has_failed = isinstance(outcome, SummaryNeeded) and not compact(
            step, overflow=outcome.overflow
        )
        outcome = resume_fit(running_fit, FitOutcome(ItemRequest(step), summary_failed=has_failed))
    return outcome


def _would_be_refused(step: EngineStep) -> bool:
    """Return whether the provider would refuse the request because of its size, if it differs from the recorded one."""
    request, sizes = step.request, step.recorded_sizes
    if not request.estimator or step.tokens_as_recorded == sizes.request_tokens[request.index]:
        return False
    return round(step.tokens_as_recorded * request.calibration) > step.model.capacity
