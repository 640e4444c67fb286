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
from palimpsest.model.tokenizer import rough_count_sentences
from palimpsest.review.comparison.own_rule import (
    OwnRule,
    compactions_of,
    first_of_runs,
    matched_compactions,
    neighbours,
    with_coming_request,
)
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.context_values.prune_policy import PRUNE_RULE
from palimpsest.transcript.timeline import Timeline

CHANGED_SENTENCE = "The policy changed during the session: {count} were recorded, and each request is compared with its own."


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
    extended_timeline = with_coming_request(timeline)
    if replay is None or extended_timeline is not timeline:
        replay = partial(simulate, extended_timeline, ruler=ruler)
    policy_by_request = _policy_by_request(extended_timeline, policies)
    if not policy_by_request:
        return None
    different_policies = tuple(dict.fromkeys(policy_by_request))
    decisions = [_decisions_of(replay, policy, policy_by_request) for policy in different_policies]
    by_hand, recorded_requests = compactions_of(timeline, with_failed=False)
    compacting_requests = frozenset().union(*(decision.compactions for decision in decisions))
    by_hand_alone = {*by_hand}.difference(recorded_requests)
    matched_requests = matched_compactions(recorded_requests, compacting_requests - by_hand_alone)
    reduced_items = frozenset().union(*(decision.reduced_items for decision in decisions))
    # Old results that were cleared or shortened.
    clearings = {
        (transition.request, transition.item)
        for transition in timeline.transitions
        if transition.rule.startswith(PRUNE_RULE)
    }
    unmatched_requests = {
        request
        for request, item in clearings
        if not any((item, near) in reduced_items for near in neighbours(request))
    }
    probe = next(filter(None, (decision.probe for decision in reversed(decisions))), None)
    attempted_requests = {request for side in compactions_of(timeline) for request in side}
    assumptions = [*rough_count_sentences(policy.estimator for policy in different_policies)]
    if len(different_policies) > 1:
        assumptions.insert(0, CHANGED_SENTENCE.format(count=len(different_policies)))
    return OwnRule(
        preset=EnginePolicy.of(policy_by_request[-1]).name,
        window=max(request.window for request in timeline.requests),
        threshold=probe.threshold if probe is not None else 0.0,
        unit=probe.unit if probe is not None else "tokens",
        measured_value=probe.signal if probe is not None else "",
        recorded_count=len(recorded_requests),
        found_at=tuple(index for index in recorded_requests if index in matched_requests),
        missed=tuple(index for index in recorded_requests if index not in matched_requests),
        unmatched_requests=first_of_runs(
            compacting_requests.difference(*map(neighbours, attempted_requests))
        ),
        by_hand=by_hand,
        unclear=(),
        assumptions=tuple(assumptions),
        cleared_at=tuple(sorted({request for request, _ in clearings} - unmatched_requests)),
        uncleared_at=tuple(sorted(unmatched_requests)),
    )


def _policy_by_request(timeline: Timeline, policies: Mapping[str, Policy]) -> list[Policy]:
    """Return the policy of each request: its own, else the previous request's, or the first recorded; empty where none is."""
    recorded_policies = (policies.get(request.id) for request in timeline.requests)
    policy = next(filter(None, recorded_policies), None)
    policy_by_request = []
    for request in timeline.requests:
        policy = policies.get(request.id, policy)
        if policy is not None:
            policy_by_request.append(policy)
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
    newest_probes = (entry.probe for entry in reversed(simulation.probes))
    token_probes = (probe for probe in newest_probes if probe.unit == "tokens")
    compactions, reduced_items = set(), set()
    for transition in own_transitions:
        if transition.state == "summarised":
            compactions.add(transition.request)
        else:
            reduced_items.add((transition.item, transition.request))
    return _ReplayDecisions(
        frozenset(compactions),
        frozenset(reduced_items),
        next((probe for probe in token_probes if probe.threshold), None),
    )
