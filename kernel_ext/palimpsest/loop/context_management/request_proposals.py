"""Propose a request: what would be decided and sent now, and at what cost; nothing is journaled.

The same deciders run over the same view as before a request that is sent, but their decisions are only added to
the view. What a person then lets go is decided anew, with the clock of that moment.
"""

import dataclasses
import functools
import itertools
from collections.abc import Iterator, Sequence

from palimpsest.context.budget.request_tokens import BudgetCheck
from palimpsest.context.budget.request_tokens import check_budget as checked
from palimpsest.context.compaction.summary_grade import summary_put_aside, unused_summary
from palimpsest.context.policy_overrides import meanings, policy_numbers
from palimpsest.context.reduction.pruning import pruner
from palimpsest.context.request_assembly.fit import (
    DecisionBatch,
    FitAttempts,
    FitOutcome,
    FittedRequest,
    ResultsShortened,
    fit,
    resumed,
    stored_full,
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
from palimpsest.loop.run_inputs.request_items import request_items
from palimpsest.loop.run_inputs.run_context import RequestServices, StepSetup
from palimpsest.model.wire.provider_messages import MARKED_FOR, request_hash
from palimpsest.processor.session_log import GuardedState, SessionLog
from palimpsest.transcript.context_values.decisions import (
    Decision,
    Facts,
    Purpose,
)
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.context_values.proposed_request import (
    CacheForecast,
    ProposedNumber,
    ProposedRequest,
)
from palimpsest.transcript.context_values.request_items import RequestItem
from palimpsest.transcript.parts import StepStartPart
from palimpsest.transcript.provider_profile.profile import profile
from palimpsest.transcript.values import ModelInfo, Usage

CACHE_MINIMUM_TOKENS = 1_024
"""Shorter prompts are not cached, by the documentation of 2025 of the providers that state a minimum."""
MOST_ITEMS = 150
"""Items that are listed, the newest; a page draws them all at once."""
TAIL = "compact.tail_turns"
"""Always offered for a change, beside the numbers of the rule of pruning."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Proposed:
    """What a dry run of the deciders came to."""

    assembly: Assembly
    facts: Facts
    route: BudgetCheck
    decisions: tuple[Decision, ...]
    view: View
    summary_first: bool = False


async def propose_step(
    requests: RequestServices,
    postponed: str,
    setup: StepSetup,
    tries: FitAttempts,
    cause: Cause = "size",
    *,
    last: bool = False,
) -> ProposedRequest:
    """Return the request that a step would send now; ``cause`` says why the context must shrink first.

    ``postponed`` is where a turn ended whose pruning waits for this request; empty where none does.
    """
    view = requests.log.view()
    new_id = functools.partial(next, _ids())
    made: list[Decision] = []
    for batch in postponed_batches(requests.log, postponed, setup, view, new_id):
        made += batch.decisions
    if requests.hooks.any("decide"):
        made += (await hook_decisions(requests, setup, new_id)).decisions
    own = await propose_own_policy(requests, setup, view.decided(*made), new_id)
    made += own.decisions
    found = _fitted(requests.log, setup, view, made, dataclasses.replace(tries), cause)
    proposed = _described(requests.log, setup, found, "step")
    summary = unused_summary(view)
    update = {
        "numbers": _numbers(setup.policy),
        "hooked": requests.hooks.any("request"),
        "last": last,
        "policy_problem": requests.log.clean(own.problem),
        "again": cause != "size",
        "new_summary": summary,
        "older_summary": summary_put_aside(view),
    }
    return proposed.model_copy(update=update)


def would_cut(log: SessionLog, setup: StepSetup, tries: FitAttempts, cause: Cause) -> bool:
    """Return whether results would be cut now for a cause; false where a summary is tried, or nothing is left."""
    request = message_request(log, setup, lambda seen: assembly_of_view(seen, setup).projection)
    running = fit(request, dataclasses.replace(tries), cause)
    return isinstance(resumed(running), DecisionBatch)


def propose_summary(
    log: SessionLog, setup: StepSetup, marker_id: str, decision: Decision
) -> ProposedRequest:
    """Return the request for a summary that would be sent now, with the decision about what it contains."""
    view = log.view().decided(decision)
    assembly = assembly_of_view(view, setup, marker_id)
    facts = facts_for(log, setup, assembly.projection.total)
    route = checked(assembly.projection.total, facts)
    found = _Proposed(assembly, facts, route, (decision,), view)
    proposed = _described(log, setup, found, "compaction")
    return proposed.model_copy(update={"older_summary": summary_put_aside(view)})


def _fitted(
    log: SessionLog,
    setup: StepSetup,
    view: View,
    made: Sequence[Decision],
    tries: FitAttempts,
    cause: Cause,
) -> _Proposed:
    """Run the deciders over the view until the request fits, or a summary comes first."""
    decisions = list(made)
    view = view.decided(*decisions)
    assemblies: list[Assembly] = []

    def project(seen: View) -> Projection:
        assemblies.append(assembly_of_view(seen, setup))
        return assemblies[-1].projection

    new_id = functools.partial(next, _ids(len(decisions)))
    request = message_request(log, setup, project, view, new_id)
    facts = request.facts
    if cause == "size" and stored_full(view.messages, setup.info, setup.policy):
        cause = "full"
    running = fit(request, tries, cause)
    event = resumed(running)
    while isinstance(event, DecisionBatch | ResultsShortened):
        if isinstance(event, DecisionBatch):
            decisions += event.decisions
            view = view.decided(*event.decisions)
            event = resumed(running)
        else:
            event = resumed(running, FitOutcome(dataclasses.replace(request, view=view)))
    running.close()
    if not assemblies:
        project(view)
    assembly = assemblies[-1]
    if isinstance(event, FittedRequest):
        return _Proposed(assembly, event.facts, event.route, tuple(decisions), view)
    facts = facts.model_copy(update={"used_tokens": assembly.projection.total})
    route = checked(assembly.projection.total, facts)
    return _Proposed(
        assembly, facts, route, tuple(decisions), view, summary_first=event is not None
    )


def _ids(first: int = 0) -> Iterator[str]:
    """Yield ids of decisions that are only proposed."""
    return (f"dec_proposed{number}" for number in itertools.count(first + 1))


def _described(
    log: SessionLog, setup: StepSetup, found: _Proposed, purpose: Purpose
) -> ProposedRequest:
    """Return a proposal in numbers and words; ids and version are given by what holds it."""
    state, facts, assembly = log.state, found.facts, found.assembly
    session, before = state.session, state.request
    alike = before is not None and before.model.ref == setup.info.ref
    cache = _cache(state, setup, found)
    tokens = _scaled(assembly.projection.total, facts)
    items = tuple(_items(log, setup, found))
    return ProposedRequest(
        id="",
        session_id=log.session_id,
        number=_number(state),
        purpose=purpose,
        agent=setup.agent,
        subagent=session is not None and session.parent_id is not None,
        model=setup.info.ref.id,
        policy=setup.policy.name,
        now=facts.now,
        sha256=request_hash(assembly.hashes),
        tokens=tokens,
        tokens_before=_scaled(before.tokens, facts) if alike and before is not None else None,
        window=facts.window,
        budget=found.route.budget,
        fits=found.route.fits,
        summary_first=found.summary_first,
        kinds=assembly.kinds,
        items=items[-MOST_ITEMS:],
        items_left_out=max(0, len(items) - MOST_ITEMS),
        new_tokens=round(sum(item.tokens for item in items if item.new)),
        decisions=found.decisions,
        cache=cache,
        cost=_cost(setup.info, tokens, cache.tokens),
        cost_cold=_cost(setup.info, tokens, 0),
        prunes_after=pruner(setup.policy.prune.rule).when == "turn end",
    )


def _number(state: GuardedState) -> int:
    """Return the place of the next request among those of the session's messages."""
    messages = state.messages()
    sent = sum(isinstance(part, StepStartPart) for one in messages for part in one.parts)
    return sent + 1


def _scaled(tokens: int, facts: Facts) -> int:
    return round(tokens * facts.calibration)


def _cache(state: GuardedState, setup: StepSetup, found: _Proposed) -> CacheForecast:
    """Return what equals the beginning of the request before, as long as that may be cached."""
    facts = found.facts
    before = state.request
    if before is None or facts.cache_age_seconds is None:
        return CacheForecast()
    same = 0
    for old, new in zip(state.items, found.assembly.items, strict=False):
        if old.sha256 != new.sha256:
            break
        same += new.tokens
    if same:
        same += min(found.assembly.projection.tools_tokens, before.kinds.get("tools", 0))
    tokens = _scaled(min(same, before.tokens), facts)
    if tokens < CACHE_MINIMUM_TOKENS:
        return CacheForecast()
    lifetime = profile(setup.info.ref).cache_lifetime(MARKED_FOR)
    if lifetime is None:
        return CacheForecast(tokens=tokens)
    least, most = lifetime
    sent = before.facts.now
    return CacheForecast(
        tokens=0 if facts.cache_age_seconds > most else tokens,
        cools_at=sent + round(least * 1000),
        cold_at=sent + round(most * 1000),
    )


def _cost(info: ModelInfo, tokens: int, cached: int) -> float | None:
    rest = max(0, tokens - cached)
    usage = (
        Usage(cache_read=cached, cache_write=rest)
        if info.caching and info.price.cache_write is not None
        else Usage(cache_read=cached, input=rest)
    )
    return usage.cost(info.price)


def _numbers(policy: Policy) -> tuple[ProposedNumber, ...]:
    known, words = policy_numbers(policy), meanings()
    pruning = (f"prune.{name}" for name in pruner(policy.prune.rule).numbers)
    return tuple(
        ProposedNumber(name=name, value=known[name], meaning=words.get(name, ""))
        for name in (*pruning, TAIL)
        if isinstance(known.get(name), int | float)
    )


def _items(log: SessionLog, setup: StepSetup, found: _Proposed) -> Iterator[RequestItem]:
    """Yield what it holds, in order, and of each piece whether it is new."""
    projection, state = found.assembly.projection, log.state
    before = state.request
    known = {part for item in state.items for part in item.part_ids}
    known -= {one.part_id for one in found.decisions if one.part_id is not None}
    other_tools = before is None or before.kinds.get("tools") != projection.tools_tokens
    for item in request_items(projection, found.view, setup.specs, setup.count, log.clean):
        if item.kind == "tools":
            is_new = other_tools
        else:
            is_new = item.part_id not in known if item.part_id else before is None
        yield item.model_copy(update={"new": is_new})
