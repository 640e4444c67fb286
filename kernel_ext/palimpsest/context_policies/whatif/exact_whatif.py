"""Compare a recorded session, step by step and to the byte, with the requests that another policy would have sent.

This is the reference for the light what-if. It writes every request again by the functions of the live loop, which takes
seconds for a session of some hundred steps and works on our own logs only. No model is called.
"""

from collections.abc import Callable

from palimpsest.context.budget.request_tokens import Count
from palimpsest.context_policies.summary_size import SUMMARY_TOKENS
from palimpsest.context_policies.whatif.replay import CounterfactualReplay
from palimpsest.context_policies.whatif.steps import Replay
from palimpsest.context_policies.whatif.whatif_result import WhatIf
from palimpsest.model.tokenizer import counter as tokenizer
from palimpsest.store.interface import Store
from palimpsest.transcript.context_values.policies import Policy


def exact_whatif(
    store: Store,
    session_id: str,
    policy: Policy | None = None,
    *,
    counter: Callable[[str], Count] = tokenizer,
    summary_tokens: int = SUMMARY_TOKENS,
) -> WhatIf:
    """Compare a recorded session with its simulation under a policy; None uses each step's recorded policy."""
    counterfactual = CounterfactualReplay(store, session_id, policy, counter, summary_tokens)
    steps = tuple(counterfactual.steps())
    recorded_replay = Replay(
        session_id,
        None,
        counterfactual=False,
        steps=tuple(counterfactual.recorded_steps),
        decisions_after=tuple(counterfactual.recorded_since_step.decisions),
        compactions_after=tuple(counterfactual.recorded_since_step.compactions),
    )
    other_replay = Replay(
        session_id,
        policy,
        counterfactual=True,
        steps=steps,
        decisions_after=counterfactual.decisions_after_last_step(),
        compactions_after=tuple(counterfactual.since_step.compactions),
    )
    return WhatIf(recorded_replay, other_replay, summary_tokens, exact=True)
