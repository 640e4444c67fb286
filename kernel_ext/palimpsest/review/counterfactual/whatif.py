"""Compare a session of a store with what another policy would have sent; no model is called and nothing is written.

The answer comes from the sizes of the session's items, in milliseconds; on request each request is written anew.
"""

from collections.abc import Callable
from dataclasses import replace

from palimpsest.context.budget.request_tokens import Count
from palimpsest.context.presets import PRESETS as ENGINE
from palimpsest.model.tokenizer import counter as tokenizer
from palimpsest.review.comparison.session_review import SessionReview
from palimpsest.review.counterfactual.exact_whatif import exact_whatif
from palimpsest.review.counterfactual.light_whatif import light_whatif
from palimpsest.review.counterfactual.placeholder_summary import SUMMARY_TOKENS
from palimpsest.review.counterfactual.whatif_result import WhatIf as WhatIf
from palimpsest.review.policies.engine_policies import EnginePolicy
from palimpsest.review.policies.policy import ContextPolicy
from palimpsest.review.policies.recorded_policy import RECORDED
from palimpsest.review.policies.registry import get, presets
from palimpsest.review.replay.simulation import RAW
from palimpsest.review.timeline.journal_timeline import timeline_of
from palimpsest.store.interface import Store
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.errors import UserError


def whatif(
    store: Store,
    session_id: str,
    policy: str | Policy | ContextPolicy | None = None,
    *,
    counter: Callable[[str], Count] = tokenizer,
    summary_tokens: int = SUMMARY_TOKENS,
    exact: bool = False,
) -> WhatIf:
    """Compare a session with what it would have been under a policy; None is the recorded one.

    With ``exact`` each request of a session that was recorded here is written anew, which takes seconds; that is
    done for the engine's own policies. Raises UserError with one sentence.
    """
    engine = engine_policy(policy) if exact else None
    review = SessionReview(timeline_of(store, session_id, counter), get, lambda _model: None)
    if not exact:
        return light_whatif(review, policy, summary_tokens=summary_tokens)
    found = exact_whatif(store, session_id, engine, counter=counter, summary_tokens=summary_tokens)
    return replace(found, proof=review.proof())


def engine_policy(policy: str | Policy | ContextPolicy | None) -> Policy | None:
    """Return the engine's policy that a name or value stands for; raises UserError where it is none."""
    if policy is None or isinstance(policy, Policy):
        return policy
    found = get(policy)
    if not isinstance(found, EnginePolicy):
        raise UserError(
            f"The policy {found.name!r} has no exact replay, which the engine's own have; leave out exact=True."
        )
    return found.engine


def is_policy_of_review(policy: str | Policy | ContextPolicy) -> bool:
    """Return whether a policy is one of ``palimpsest.policies``, or a person's own, rather than words for the engine's.

    The name of an engine's preset alone means the preset in both.
    """
    if not isinstance(policy, str):
        return not isinstance(policy, Policy)
    words = policy.split()
    name = words[0].partition("@")[0].partition("|")[0] if words else ""
    known = {one.preset for one in presets()} - ({*ENGINE} if len(words) == 1 else set())
    return name in known or name in (RAW, RECORDED)
