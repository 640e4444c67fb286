"""Whether our own rule, as a session of ours recorded it, acts where that session was compacted and its results were cleared.

The policy of each request is in the log, so that nothing is taken: the session is replayed from sizes under it, and what the
replay does is held against what the live loop did. A request of another policy than the one before is compared with its own.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from palimpsest.review.comparison.own_rule import (
    OwnRule,
    beginnings,
    beside,
    compactions_of,
    matched,
    with_coming,
)
from palimpsest.review.policies.engine_policies import EnginePolicy
from palimpsest.review.policies.policy import ContextPolicy, Probe
from palimpsest.review.replay.ruler import Ruler
from palimpsest.review.replay.simulation import Simulation, simulate
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.timeline import Timeline

PRUNE = "prune/"
"""How the rule begins by which the log tells that an old result was cleared or shortened."""

CHANGED = "The policy changed during the session: {count} were recorded, and each request is compared with its own."


class _Acts(NamedTuple):
    """What a policy does in a replay of the requests at which it held."""

    compactions: frozenset[int]
    reduced: frozenset[tuple[int, int]]
    """Items and the requests from which on they are shown cleared or shortened."""
    probe: Probe | None


def own_engine_rule(
    timeline: Timeline,
    ruler: Ruler,
    policies: Mapping[str, Policy],
    replay: Callable[[ContextPolicy], Simulation] | None = None,
) -> OwnRule | None:
    """Return how our own rule fits a session of ours; None where no policy was recorded with it, or no request was sent.

    ``policies`` are those of the requests, by the ids of their answers' messages. ``replay`` keeps what it replayed of this
    timeline; without it each policy is replayed here.
    """
    if not timeline.requests:
        return None
    coming = with_coming(timeline)
    if replay is None or coming is not timeline:
        replay = partial(simulate, coming, ruler=ruler)
    held = _policy_of_each(coming, policies)
    if not held:
        return None
    different = tuple(dict.fromkeys(held))
    acts = [_acts(replay, policy, held) for policy in different]
    by_hand, recorded = compactions_of(timeline, failed=False)
    compacts = frozenset().union(*(one.compactions for one in acts))
    found = matched(recorded, compacts.difference({*by_hand}.difference(recorded)))
    reduced = frozenset().union(*(one.reduced for one in acts))
    cleared = sorted(
        {(one.request, one.item) for one in timeline.transitions if one.rule.startswith(PRUNE)}
    )
    again = {
        (at, item) for at, item in cleared if any((item, near) in reduced for near in beside(at))
    }
    lost = {at for at, item in cleared if (at, item) not in again}
    probe = next((one.probe for one in reversed(acts) if one.probe is not None), None)
    attempts = {at for side in compactions_of(timeline) for at in side}
    newest = held[-1]
    return OwnRule(
        preset=EnginePolicy.of(newest).name,
        window=max(one.window for one in timeline.requests),
        threshold=probe.threshold if probe is not None else 0.0,
        unit=probe.unit if probe is not None else "tokens",
        measured=probe.signal if probe is not None else "",
        of=len(recorded),
        at=tuple(one for one in recorded if one in found),
        missed=tuple(one for one in recorded if one not in found),
        extra=beginnings(compacts.difference(*map(beside, attempts))),
        by_hand=by_hand,
        unclear=(),
        stated=(CHANGED.format(count=len(different)),) if len(different) > 1 else (),
        cleared=tuple(sorted({at for at, _ in cleared} - lost)),
        uncleared=tuple(sorted(lost)),
    )


def _policy_of_each(timeline: Timeline, policies: Mapping[str, Policy]) -> list[Policy]:
    """Return the policy of each request: its own, or that of the request before; empty where none is recorded at all."""
    newest = next((policies[one.id] for one in timeline.requests if one.id in policies), None)
    found = []
    for one in timeline.requests:
        newest = policies.get(one.id, newest)
        if newest is not None:
            found.append(newest)
    return found


def _acts(
    replay: Callable[[ContextPolicy], Simulation], policy: Policy, held: Sequence[Policy]
) -> _Acts:
    rule = EnginePolicy.of(policy)
    found = replay(rule)
    mine = [
        one
        for one in found.timeline.transitions
        if one.rule == rule.name and one.request < len(held) and held[one.request] == policy
    ]
    tokens = (one.probe for one in reversed(found.probes) if one.probe.unit == "tokens")
    return _Acts(
        frozenset(one.request for one in mine if one.state == "summarised"),
        frozenset((one.item, one.request) for one in mine if one.state != "summarised"),
        next((one for one in tokens if one.threshold), None),
    )
