"""Compare a session of a store with the requests of another policy; no model is called and nothing is written.

The answer comes from the sizes of the session's items, in milliseconds; with ``exact`` each request is rebuilt.
"""

from collections.abc import Callable
from dataclasses import replace

from palimpsest.context.budget.request_tokens import Count
from palimpsest.context.presets import PRESETS as ENGINE_PRESETS
from palimpsest.context_policies.engine_presets.engine_policies import EnginePolicy
from palimpsest.context_policies.interface.policy import ContextPolicy
from palimpsest.context_policies.interface.recorded_policy import RECORDED
from palimpsest.context_policies.own_policies.custom import OWN_POLICIES
from palimpsest.context_policies.registry import get, presets
from palimpsest.context_policies.replay.simulation import RAW_NAME
from palimpsest.context_policies.summary_size import SUMMARY_TOKENS
from palimpsest.context_policies.whatif.exact_whatif import exact_whatif
from palimpsest.context_policies.whatif.light_whatif import light_whatif
from palimpsest.context_policies.whatif.whatif_result import WhatIf as WhatIf
from palimpsest.model.tokenizer import counter as tokenizer
from palimpsest.recordings.timeline.journal_timeline import timeline_of
from palimpsest.review.session_review import SessionReview
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
    """Return a session beside its simulation under a policy; None stands for the recorded policy.

    With ``exact`` each request of a session that was recorded here is rebuilt, which takes seconds; this works
    for the engine's own policies. Raises UserError with one sentence.
    """
    policy_to_rebuild = engine_policy(policy) if exact else None
    review = SessionReview(timeline_of(store, session_id, counter), get, lambda _model: None)
    if not exact:
        return light_whatif(review, policy, summary_tokens=summary_tokens)
    result = exact_whatif(
        store, session_id, policy_to_rebuild, counter=counter, summary_tokens=summary_tokens
    )
    return replace(result, proof=review.proof())


def engine_policy(policy: str | Policy | ContextPolicy | None) -> Policy | None:
    """Return the engine's policy that a name or value stands for, None for None; raises UserError for a policy of any other kind."""
    if policy is None or isinstance(policy, Policy):
        return policy
    preset = get(policy)
    if not isinstance(preset, EnginePolicy):
        raise UserError(
            f"The policy {preset.name!r} has no exact replay, which the engine's own have; leave out exact=True."
        )
    return preset.engine


def is_policy_of_review(policy: str | Policy | ContextPolicy) -> bool:
    """Return whether a policy is one of ``palimpsest.policies``, or the user's own, rather than an engine's policy.

    False for the bare name of an engine's preset: it means the same policy in both.
    """
    if not isinstance(policy, str):
        return not isinstance(policy, Policy)
    policy_words = policy.split()
    preset_name = policy_words[0].partition("@")[0].partition("|")[0] if policy_words else ""
    names = {preset.preset for preset in presets()} - (
        {*ENGINE_PRESETS} if len(policy_words) == 1 else set()
    )
    return policy in OWN_POLICIES or preset_name in (names | {*OWN_POLICIES, RAW_NAME, RECORDED})
