"""Propose the next request with its decisions and cost, without journaling anything.

The deciders of a real request run over the same view, but their decisions are only added to the view. A request
that the user releases is decided again, with the clock of that moment.
"""

import dataclasses
import functools
import itertools
from collections.abc import Iterator, Sequence

from palimpsest.context.budget.request_tokens import BudgetCheck, check_budget
from palimpsest.context.compaction.summary_grade import (
    set_aside_summary_report,
    unused_summary_report,
)
from palimpsest.context.policy_overrides import number_meanings, policy_numbers
from palimpsest.context.reduction.pruning import pruning_function
from palimpsest.context.request_assembly.fit import (
    DecisionBatch,
    FitAttempts,
    FitOutcome,
    FittedRequest,
    ResultsShortened,
    fit_request,
    newest_answer_needs_summary,
    resume_fit,
)
from palimpsest.context.request_assembly.fittable_request import Cause
from palimpsest.context.request_assembly.projection import Projection
from palimpsest.context.visible_messages import View
from palimpsest.loop.context_management.postponed_pruning import postponed_batches
from palimpsest.loop.model_requests.hook_decisions import hook_decisions
from palimpsest.loop.model_requests.own_policy import propose_own_policy
from palimpsest.loop.model_requests.request_builder import (
    assembly_of_view,
    facts_for,
    message_request,
)
from palimpsest.loop.run_inputs.request_chunks import Assembly
from palimpsest.loop.run_inputs.run_context import RequestServices, StepSetup
from palimpsest.model.wire.provider_messages import MARK_LIFETIME, request_hash
from palimpsest.processor.session_log import GuardedState, SessionLog
from palimpsest.request_items import request_items
from palimpsest.transcript.context_values.decisions import Decision, Facts, Purpose
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.context_values.proposed_request import (
    CacheForecast,
    ProposedNumber,
    ProposedRequest,
)
from palimpsest.transcript.context_values.request_items import RequestItem
from palimpsest.transcript.messages import parts_of
from palimpsest.transcript.parts import StepStartPart
from palimpsest.transcript.provider_profile.profile import profile
from palimpsest.transcript.values import ModelInfo, Usage

MIN_CACHED_TOKENS = 1_024
"""Minimum tokens of a cached prompt, by the documentation of 2025 of the providers that state one."""
MAX_LISTED_ITEMS = 150
"""Maximum items of a proposal, the newest ones; a page draws all at once."""
TAIL_NUMBER_NAME = "compact.tail_turns"
"""Name of a policy number that the user can always change, beside those of the pruning rule."""


@dataclasses.dataclass(frozen=True, slots=True)
class _DryRun:
    """The result of the deciders without journaling: a request, its decisions, and whether a summary comes first."""

    assembly: Assembly
    facts: Facts
    budget_check: BudgetCheck
    decisions: tuple[Decision, ...]
    view: View
    summary_first: bool = False


async def propose_step(
    services: RequestServices,
    postponed_message_id: str,
    setup: StepSetup,
    attempts: FitAttempts,
    cause: Cause,
    *,
    is_last_step: bool,
) -> ProposedRequest:
    """Return the request that a step would send now; ``cause`` says why the context must shrink first.

    ``postponed_message_id`` is the id of the newest message of a turn whose pruning waits for this
    request; empty for none. ``is_last_step`` is whether this is the last step of its turn.
    """
    view = services.log.view()
    new_id = functools.partial(next, _proposed_ids())
    decisions: list[Decision] = []
    for batch in postponed_batches(services.log, postponed_message_id, setup, view, new_id):
        decisions += batch.decisions
    if services.hooks.has_hook("decide"):
        decisions += (await hook_decisions(services, setup, new_id)).decisions
    own_policy = await propose_own_policy(services, setup, view.with_decisions(*decisions), new_id)
    decisions += own_policy.decisions
    dry_run = _fit_proposal(
        services.log, setup, view, decisions, dataclasses.replace(attempts), cause
    )
    proposal = _describe_proposal(services.log, setup, dry_run, "step")
    update = {
        "numbers": _adjustable_numbers(setup.policy),
        "hooked": services.hooks.has_hook("request"),
        "last": is_last_step,
        "policy_problem": services.log.clean(own_policy.problem),
        "again": cause != "size",
        "new_summary": unused_summary_report(view),
        "older_summary": set_aside_summary_report(view),
    }
    return proposal.model_copy(update=update)


def would_cut_results(
    log: SessionLog, setup: StepSetup, attempts: FitAttempts, cause: Cause
) -> bool:
    """Return whether long results would be cut now; False where a summary would be tried first, or nothing can be cut."""
    request = message_request(
        log, setup, lambda current_view: assembly_of_view(current_view, setup).projection
    )
    fit = fit_request(request, dataclasses.replace(attempts), cause)
    return isinstance(resume_fit(fit), DecisionBatch)


def propose_summary(
    log: SessionLog, setup: StepSetup, marker_id: str, decision: Decision
) -> ProposedRequest:
    """Return the request for a summary that would be sent now, with the decision about its contents."""
    view = log.view().with_decisions(decision)
    assembly = assembly_of_view(view, setup, marker_id)
    facts = facts_for(log, setup, assembly.projection.total)
    budget_check = check_budget(assembly.projection.total, facts)
    dry_run = _DryRun(assembly, facts, budget_check, (decision,), view)
    proposal = _describe_proposal(log, setup, dry_run, "compaction")
    return proposal.model_copy(update={"older_summary": set_aside_summary_report(view)})


def _fit_proposal(
    log: SessionLog,
    setup: StepSetup,
    view: View,
    earlier_decisions: Sequence[Decision],
    attempts: FitAttempts,
    cause: Cause,
) -> _DryRun:
    """Run the deciders over the view until the request fits, or a summary comes first."""
    decisions = list(earlier_decisions)
    view = view.with_decisions(*decisions)
    assemblies: list[Assembly] = []

    def project(current_view: View) -> Projection:
        assemblies.append(assembly_of_view(current_view, setup))
        return assemblies[-1].projection

    new_id = functools.partial(next, _proposed_ids(len(decisions)))
    request = message_request(log, setup, project, view, new_id)
    facts = request.facts
    if cause == "size" and newest_answer_needs_summary(view.messages, setup.info, setup.policy):
        cause = "full"
    fit = fit_request(request, attempts, cause)
    event = resume_fit(fit)
    while isinstance(event, DecisionBatch | ResultsShortened):
        if isinstance(event, DecisionBatch):
            decisions += event.decisions
            view = view.with_decisions(*event.decisions)
            event = resume_fit(fit)
        else:
            event = resume_fit(fit, FitOutcome(dataclasses.replace(request, view=view)))
    fit.close()
    if not assemblies:
        project(view)
    assembly = assemblies[-1]
    if isinstance(event, FittedRequest):
        return _DryRun(assembly, event.facts, event.budget_check, tuple(decisions), view)
    facts = facts.model_copy(update={"used_tokens": assembly.projection.total})
    budget_check = check_budget(assembly.projection.total, facts)
    return _DryRun(
        assembly, facts, budget_check, tuple(decisions), view, summary_first=event is not None
    )


def _proposed_ids(used_count: int = 0) -> Iterator[str]:
    return (f"dec_proposed{number}" for number in itertools.count(used_count + 1))


def _describe_proposal(
    log: SessionLog, setup: StepSetup, dry_run: _DryRun, purpose: Purpose
) -> ProposedRequest:
    """Return a proposal in numbers and words; step mode sets its id and version."""
    state, facts, assembly = log.state, dry_run.facts, dry_run.assembly
    session, previous_request = state.session, state.request
    tokens_before = None
    if previous_request is not None and previous_request.model.ref == setup.info.ref:
        tokens_before = _calibrated_tokens(previous_request.tokens, facts)
    cache = _cache_forecast(state, setup, dry_run)
    tokens = _calibrated_tokens(assembly.projection.total, facts)
    items = tuple(_request_items(log, setup, dry_run))
    step_count = sum(isinstance(part, StepStartPart) for part in parts_of(state.messages()))
    return ProposedRequest(
        id="",
        session_id=log.session_id,
        number=step_count + 1,
        purpose=purpose,
        agent=setup.agent,
        subagent=session is not None and session.parent_id is not None,
        model=setup.info.ref.id,
        policy=setup.policy.name,
        now=facts.now,
        sha256=request_hash(assembly.hashes),
        tokens=tokens,
        tokens_before=tokens_before,
        window=facts.window,
        budget=dry_run.budget_check.budget,
        fits=dry_run.budget_check.fits,
        summary_first=dry_run.summary_first,
        kinds=assembly.tokens_by_kind,
        items=items[-MAX_LISTED_ITEMS:],
        items_left_out=max(0, len(items) - MAX_LISTED_ITEMS),
        new_tokens=round(sum(item.tokens for item in items if item.new)),
        decisions=dry_run.decisions,
        cache=cache,
        cost=_cost(setup.info, tokens, cache.tokens),
        cost_cold=_cost(setup.info, tokens, 0),
        prunes_after=pruning_function(setup.policy.prune.rule).when == "turn end",
    )


def _calibrated_tokens(tokens: int, facts: Facts) -> int:
    return round(tokens * facts.calibration)


def _cache_forecast(state: GuardedState, setup: StepSetup, dry_run: _DryRun) -> CacheForecast:
    """Return the cached part of the request: its common beginning with the previous request, while that is cached."""
    facts = dry_run.facts
    previous_request = state.request
    if previous_request is None or facts.cache_age_seconds is None:
        return CacheForecast()
    shared_tokens = 0
    for old, new in zip(state.items, dry_run.assembly.items, strict=False):
        if old.sha256 != new.sha256:
            break
        shared_tokens += new.tokens
    if shared_tokens:
        shared_tokens += min(
            dry_run.assembly.projection.tools_tokens, previous_request.kinds.get("tools", 0)
        )
    tokens = _calibrated_tokens(min(shared_tokens, previous_request.tokens), facts)
    if tokens < MIN_CACHED_TOKENS:
        return CacheForecast()
    lifetime = profile(setup.info.ref).cache_lifetime(MARK_LIFETIME)
    if lifetime is None:
        return CacheForecast(tokens=tokens)
    min_seconds, max_seconds = lifetime
    sent_at = previous_request.facts.now
    return CacheForecast(
        tokens=0 if facts.cache_age_seconds > max_seconds else tokens,
        cools_at=sent_at + round(min_seconds * 1000),
        cold_at=sent_at + round(max_seconds * 1000),
    )


def _cost(info: ModelInfo, tokens: int, cached_tokens: int) -> float | None:
    uncached_tokens = max(0, tokens - cached_tokens)
    if info.caching and info.price.cache_write is not None:
        usage = Usage(cache_read=cached_tokens, cache_write=uncached_tokens)
    else:
        usage = Usage(cache_read=cached_tokens, input=uncached_tokens)
    return usage.cost(info.price)


def _adjustable_numbers(policy: Policy) -> tuple[ProposedNumber, ...]:
    values, meanings = policy_numbers(policy), number_meanings()
    pruning_names = (f"prune.{name}" for name in pruning_function(policy.prune.rule).numbers)
    return tuple(
        ProposedNumber(name=name, value=values[name], meaning=meanings.get(name, ""))
        for name in (*pruning_names, TAIL_NUMBER_NAME)
        if isinstance(values.get(name), int | float)
    )


def _request_items(log: SessionLog, setup: StepSetup, dry_run: _DryRun) -> Iterator[RequestItem]:
    """Yield the items of a proposal in order, each marked as new or not."""
    projection, state = dry_run.assembly.projection, log.state
    previous_request = state.request
    sent_part_ids = {part_id for item in state.items for part_id in item.part_ids}
    sent_part_ids -= {decision.part_id or "" for decision in dry_run.decisions}
    has_other_tools = (
        previous_request is None or previous_request.kinds.get("tools") != projection.tools_tokens
    )
    for item in request_items(projection, dry_run.view, setup.specs, setup.count, log.clean):
        if item.kind == "tools":
            is_new = has_other_tools
        else:
            is_new = item.part_id not in sent_part_ids if item.part_id else previous_request is None
        yield item.model_copy(update={"new": is_new})
