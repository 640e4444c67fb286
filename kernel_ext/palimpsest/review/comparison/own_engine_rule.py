"""Check whether the recorded policy of a Palimpsest session acts where that session was compacted or cleared.

The log has the policy of each request, so nothing is assumed: the session is replayed from sizes under these policies,
and the result is compared with the live loop's decisions. Each request is compared with a replay under its own policy.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from palimpsest.context_policies.engine_presets.engine_policies import EnginePolicy
from palimpsest.context_policies.interface.policy import ContextPolicy, Probe
from palimpsest.context_policies.prompt_cache.ruler import Ruler
from palimpsest.context_policies.replay.simulation import Simulation, simulate
from palimpsest.model.tokenizer import rough_words
from palimpsest.review.comparison.own_rule import (
    OwnRule,
    compactions_of,
    first_of_runs,
    matched_compactions,
    neighbours,
    with_coming,
)
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.timeline import Timeline

PRUNE = "prune/"
"""Prefix of the rules of recorded decisions that clear or shorten an old result."""

CHANGED = "The policy changed during the session: {count} were recorded, and each request is compared with its own."


class _ReplayDecisions(NamedTuple):
    """The decisions of a policy in a replay, at the requests for which it was configured."""

    compactions: frozenset[int]
    reduced_items: frozenset[tuple[int, int]]
    """Items, each with the first request in which it is cleared or shortened."""
    probe: Probe | None


def own_engine_rule(
    timeline: Timeline,
    ruler: Ruler,
    policies: Mapping[str, Policy],
    replay: Callable[[ContextPolicy], Simulation] | None = None,
) -> OwnRule | None:
    """Return how the recorded policy fits a Palimpsest session; None without a recorded policy, or without a request.

    ``policies`` are those of the requests, by the ids of their answers' messages. ``replay`` may return stored replays of
    this timeline; without it each policy is replayed here.
    """
    if not timeline.requests:
        return None
    coming = with_coming(timeline)
    if replay is None or coming is not timeline:
        replay = partial(simulate, coming, ruler=ruler)
    policy_by_request = _policy_of_each(coming, policies)
    if not policy_by_request:
        return None
    different = tuple(dict.fromkeys(policy_by_request))
    decisions = [_decisions_of(replay, policy, policy_by_request) for policy in different]
    by_hand, recorded = compactions_of(timeline, failed=False)
    compacts = frozenset().union(*(decision.compactions for decision in decisions))
    matched = matched_compactions(recorded, compacts.difference({*by_hand}.difference(recorded)))
    reduced = frozenset().union(*(decision.reduced_items for decision in decisions))
    cleared = sorted(
        {
            (transition.request, transition.item)
            for transition in timeline.transitions
            if transition.rule.startswith(PRUNE)
        }
    )
    matched_clearings = {
        (request, item)
        for request, item in cleared
        if any((item, near) in reduced for near in neighbours(request))
    }
    unmatched = {request for request, item in cleared if (request, item) not in matched_clearings}
    probe = next(
        (decision.probe for decision in reversed(decisions) if decision.probe is not None), None
    )
    attempts = {request for side in compactions_of(timeline) for request in side}
    newest = policy_by_request[-1]
    return OwnRule(
        preset=EnginePolicy.of(newest).name,
        window=max(request.window for request in timeline.requests),
        threshold=probe.threshold if probe is not None else 0.0,
        unit=probe.unit if probe is not None else "tokens",
        measured=probe.signal if probe is not None else "",
        of=len(recorded),
        found_at=tuple(index for index in recorded if index in matched),
        missed=tuple(index for index in recorded if index not in matched),
        extra=first_of_runs(compacts.difference(*map(neighbours, attempts))),
        by_hand=by_hand,
        unclear=(),
        stated=(
            *((CHANGED.format(count=len(different)),) if len(different) > 1 else ()),
            *rough_words(policy.estimator for policy in different),
        ),
        cleared_at=tuple(sorted({request for request, _ in cleared} - unmatched)),
        uncleared_at=tuple(sorted(unmatched)),
    )


def _policy_of_each(timeline: Timeline, policies: Mapping[str, Policy]) -> list[Policy]:
    """Return the policy of each request: its own, or the previous request's; an empty list where none is recorded."""
    newest = next(
        (policies[request.id] for request in timeline.requests if request.id in policies), None
    )
    policy_by_request = []
    for request in timeline.requests:
        newest = policies.get(request.id, newest)
        if newest is not None:
            policy_by_request.append(newest)
    return policy_by_request


def _decisions_of(
    replay: Callable[[ContextPolicy], Simulation],
    policy: Policy,
    policy_by_request: Sequence[Policy],
) -> _ReplayDecisions:
    rule = EnginePolicy.of(policy)
    simulation = replay(rule)
    own_transitions = [
        transition
        for transition in simulation.timeline.transitions
        if transition.rule == rule.name
        and transition.request < len(policy_by_request)
        and policy_by_request[transition.request] == policy
    ]
    token_probes = (
        probe.probe for probe in reversed(simulation.probes) if probe.probe.unit == "tokens"
    )
    return _ReplayDecisions(
        frozenset(
            transition.request for transition in own_transitions if transition.state == "summarised"
        ),
        frozenset(
            (transition.item, transition.request)
            for transition in own_transitions
            if transition.state != "summarised"
        ),
        next((probe for probe in token_probes if probe.threshold), None),
    )
