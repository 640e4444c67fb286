"""Compare a recorded session, step by step, with the requests that another policy would have sent, to the byte.

The reference for the light what-if: every request is written anew by the functions of the live loop, which
takes seconds for a session of some hundred steps, and works on logs of our own alone. No model is called.
"""

from collections.abc import Callable

from palimpsest.context.budget.request_tokens import Count
from palimpsest.model.tokenizer import counter as tokenizer
from palimpsest.review.counterfactual.placeholder_summary import SUMMARY_TOKENS
from palimpsest.review.counterfactual.replay import CounterfactualReplay
from palimpsest.review.counterfactual.steps import Replay
from palimpsest.review.counterfactual.whatif_result import WhatIf
from palimpsest.store.interface import Store
from palimpsest.transcript.context_values.policies import Policy


def replay(
    store: Store,
    session_id: str,
    policy: Policy | None = None,
    *,
    counter: Callable[[str], Count] = tokenizer,
    summary_tokens: int = SUMMARY_TOKENS,
) -> Replay:
    """Return the steps of a session under a policy; None takes each step's own, as recorded."""
    return exact_whatif(
        store, session_id, policy, counter=counter, summary_tokens=summary_tokens
    ).other


def exact_whatif(
    store: Store,
    session_id: str,
    policy: Policy | None = None,
    *,
    counter: Callable[[str], Count] = tokenizer,
    summary_tokens: int = SUMMARY_TOKENS,
) -> WhatIf:
    """Compare a recorded session with what it would have been under a policy."""
    walk = CounterfactualReplay(store, session_id, policy, counter, summary_tokens)
    steps = tuple(walk.steps())
    was = Replay(
        session_id,
        None,
        counterfactual=False,
        steps=tuple(walk.recorded),
        after=tuple(walk.recorded_since.decisions),
        compactions_after=tuple(walk.recorded_since.compactions),
    )
    other = Replay(
        session_id,
        policy,
        counterfactual=True,
        steps=steps,
        after=walk.left_over(),
        compactions_after=tuple(walk.since.compactions),
    )
    return WhatIf(was, other, summary_tokens, exact=True)
