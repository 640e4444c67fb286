"""The window that the requests of a policy have to fit."""

from palimpsest.review.policies.pipeline import Pipeline
from palimpsest.review.policies.policy import ContextPolicy, SessionFacts
from palimpsest.review.policies.settings import Preset


def window_to_fit(policy: ContextPolicy | None, facts: SessionFacts) -> int:
    """Return the tokens that no request of a policy may exceed; 0 where each request has the window of its model.

    It is the window that a preset's threshold is made of, else the one that the caller assumes; the smallest of a
    pipeline's.
    """
    if isinstance(policy, Pipeline):
        return min((window_to_fit(one, facts) for one in policy.stages), default=0)
    if isinstance(policy, Preset) and policy.counted and hasattr(policy, "window"):
        return policy.own_window_of(facts)
    return facts.assumed
