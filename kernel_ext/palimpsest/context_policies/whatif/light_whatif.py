"""Compare a session with the requests of another policy from the sizes of its items, in milliseconds.

It works for every session that has a timeline, so for recordings of other agents too. The engine's policies decide by
the functions of the live loop (``engine_presets/engine_policies.py``); tests compare it with ``exact_whatif.py``,
which writes each request again.
"""

from dataclasses import replace
from typing import Protocol

from palimpsest.context_policies.calibration.proof import Proof
from palimpsest.context_policies.engine_presets.engine_policies import EnginePolicy
from palimpsest.context_policies.engine_presets.engine_state import EngineState
from palimpsest.context_policies.interface.policy import ContextPolicy
from palimpsest.context_policies.interface.recorded_policy import RecordedPolicy
from palimpsest.context_policies.prompt_cache.ruler import Ruler
from palimpsest.context_policies.replay.first_difference import different_requests
from palimpsest.context_policies.replay.simulation import RAW_NAME, simulate
from palimpsest.context_policies.summary_size import SUMMARY_TOKENS
from palimpsest.context_policies.whatif.light_steps import LightSteps, StateRecordingPolicy
from palimpsest.context_policies.whatif.steps import Replay
from palimpsest.context_policies.whatif.whatif_result import WhatIf
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.timeline import Timeline


class ReplayableSession(Protocol):
    """A recorded session that can be replayed under another policy, such as a ``SessionReview``."""

    @property
    def timeline(self) -> Timeline:
        """The session's items, its requests, and the reductions in each."""

    @property
    def ruler(self) -> Ruler:
        """The ruler that counts its tokens."""

    def policy(self, policy: str | ContextPolicy) -> ContextPolicy | None:
        """Return a policy by its name, or None for ``raw``, which shows every item whole; raises UserError if unknown."""

    def proof(self) -> Proof:
        """Return how well a replay under the recorded policy reproduces the reported usage."""


def light_whatif(
    session: ReplayableSession,
    policy: str | Policy | ContextPolicy | None = None,
    *,
    summary_tokens: int = SUMMARY_TOKENS,
    window: int = 0,
) -> WhatIf:
    """Compare a session with its replay under a policy; None is the recorded policy.

    A policy is a value of the engine, the name of one of ``palimpsest.policies``, or a policy itself. Raises
    UserError for an unknown one.
    """
    timeline, ruler = session.timeline, _ruler(session)
    chosen_policy = _replay_policy(session, policy, summary_tokens)
    recorded_simulation = simulate(timeline, RecordedPolicy(), ruler)
    recorded_steps = LightSteps(timeline, recorded_simulation, is_recorded=True).steps()
    recorded_replay = Replay(timeline.session, None, counterfactual=False, steps=recorded_steps)
    if isinstance(chosen_policy, RecordedPolicy):
        other_replay = Replay(
            timeline.session, None, counterfactual=True, steps=recorded_replay.steps
        )
        return WhatIf(recorded_replay, other_replay, summary_tokens, proof=session.proof())
    states: dict[int, EngineState] = {}
    tracked_policy: ContextPolicy | None = chosen_policy
    shown_policy: Policy | ContextPolicy | str = chosen_policy or RAW_NAME
    if isinstance(chosen_policy, EnginePolicy):
        tracked_policy = StateRecordingPolicy(chosen_policy, states)
        shown_policy = chosen_policy.engine
    simulation = simulate(timeline, tracked_policy, ruler, window)
    differing_requests = frozenset(different_requests(timeline, simulation.timeline.transitions))
    steps = LightSteps(timeline, simulation, differing_requests, chosen_policy, states).steps()
    other_replay = Replay(timeline.session, shown_policy, counterfactual=True, steps=steps)
    return WhatIf(recorded_replay, other_replay, summary_tokens, proof=session.proof())


def _replay_policy(
    session: ReplayableSession, policy: str | Policy | ContextPolicy | None, summary_tokens: int
) -> ContextPolicy | None:
    if policy is None:
        return RecordedPolicy()
    if isinstance(policy, Policy):
        return EnginePolicy.of(policy, summary=summary_tokens)
    replayed_policy = session.policy(policy)
    has_default_summary = isinstance(policy, str) and "summary=" not in policy
    if isinstance(replayed_policy, EnginePolicy) and has_default_summary:
        return replace(replayed_policy, summary=summary_tokens)
    return replayed_policy


def _ruler(session: ReplayableSession) -> Ruler:
    """Return the ruler for both sides: the recording's estimator, or the session's ruler."""
    requests = session.timeline.requests
    estimator = requests[0].estimator if requests else ""
    return Ruler(estimator=estimator) if estimator else session.ruler
