"""Compare a session with what another policy would have sent, from the sizes of its items: in milliseconds.

It works for every session that has a timeline, so for recordings of other agents too. The engine's policies
decide by the functions of the live loop (``review/policies/engine_policies.py``); ``exact_whatif.py``, which writes
each request anew, is what they are held against.
"""

from dataclasses import replace

from palimpsest.review.comparison.session_review import SessionReview
from palimpsest.review.counterfactual.light_steps import LightSteps, WatchedPolicy
from palimpsest.review.counterfactual.placeholder_summary import SUMMARY_TOKENS
from palimpsest.review.counterfactual.steps import Replay
from palimpsest.review.counterfactual.whatif_result import WhatIf
from palimpsest.review.policies.engine_policies import EnginePolicy
from palimpsest.review.policies.engine_state import EngineState
from palimpsest.review.policies.policy import ContextPolicy
from palimpsest.review.policies.recorded_policy import RecordedPolicy
from palimpsest.review.replay.first_difference import different_requests
from palimpsest.review.replay.ruler import Ruler
from palimpsest.review.replay.simulation import RAW, simulate
from palimpsest.transcript.context_values.policies import Policy


def light_whatif(
    review: SessionReview,
    policy: str | Policy | ContextPolicy | None = None,
    *,
    summary_tokens: int = SUMMARY_TOKENS,
    window: int = 0,
) -> WhatIf:
    """Compare a session with what it would have been under a policy; None is the recorded one.

    A policy is a value of the engine, the name of one of ``palimpsest.policies``, or a policy itself. Raises
    UserError for an unknown one.
    """
    timeline, ruler = review.timeline, _ruler(review)
    chosen = _chosen(review, policy, summary_tokens)
    was = LightSteps(timeline, simulate(timeline, RecordedPolicy(), ruler), recorded=True)
    recorded = Replay(timeline.session, None, counterfactual=False, steps=was.steps())
    if isinstance(chosen, RecordedPolicy):
        other = Replay(timeline.session, None, counterfactual=True, steps=recorded.steps)
        return WhatIf(recorded, other, summary_tokens, proof=review.proof())
    states: dict[int, EngineState] = {}
    watched = WatchedPolicy(chosen, states) if isinstance(chosen, EnginePolicy) else chosen
    simulation = simulate(timeline, watched, ruler, window)
    differ = frozenset(different_requests(timeline, simulation.timeline.transitions))
    steps = LightSteps(timeline, simulation, differ, chosen, states).steps()
    shown = chosen.engine if isinstance(chosen, EnginePolicy) else chosen or RAW
    other = Replay(timeline.session, shown, counterfactual=True, steps=steps)
    return WhatIf(recorded, other, summary_tokens, proof=review.proof())


def _chosen(
    review: SessionReview, policy: str | Policy | ContextPolicy | None, summary_tokens: int
) -> ContextPolicy | None:
    if policy is None:
        return RecordedPolicy()
    if isinstance(policy, Policy):
        return EnginePolicy.of(policy, summary=summary_tokens)
    found = review.policy(policy)
    if isinstance(found, EnginePolicy) and isinstance(policy, str):
        found = found if "summary=" in policy else replace(found, summary=summary_tokens)
    return found


def _ruler(review: SessionReview) -> Ruler:
    """Return how both sides are counted: as the recording counted, or by the review's ruler."""
    requests = review.timeline.requests
    estimator = requests[0].estimator if requests else ""
    return Ruler(estimator=estimator) if estimator else review.ruler
