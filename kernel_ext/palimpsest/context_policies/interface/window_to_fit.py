"""The context window, in tokens, that the requests of a policy must fit."""

from palimpsest.context_policies.interface.pipeline import Pipeline
from palimpsest.context_policies.interface.policy import ContextPolicy, SessionFacts
from palimpsest.context_policies.interface.settings import Preset


def window_to_fit(policy: ContextPolicy | None, facts: SessionFacts) -> int:
    """Return the context window, in tokens, that a policy's requests must fit; 0 for the model's own window.

    It is the window of the policy's threshold, else the one that the caller assumes; a pipeline has its smallest one.
    """
    if isinstance(policy, Pipeline):
        return min((window_to_fit(stage, facts) for stage in policy.stages), default=0)
    if isinstance(policy, Preset) and policy.token_source and hasattr(policy, "window"):
        return policy.own_window_of(facts)
    return facts.assumed_window
