"""The context window, in tokens, that the requests of a policy must fit."""

from palimpsest.context_policies.interface.pipeline import Pipeline
from palimpsest.context_policies.interface.policy import ContextPolicy, SessionFacts
from palimpsest.context_policies.interface.settings import Preset


def window_to_fit(policy: ContextPolicy | None, facts: SessionFacts) -> int:
    """Return the window in tokens that a policy's requests must fit: its own, else the assumed one; 0 for the model's."""
    if isinstance(policy, Pipeline):
        return min((window_to_fit(stage, facts) for stage in policy.stages), default=0)
    if isinstance(policy, Preset) and policy.token_source and hasattr(policy, "window"):
        return policy.own_window_of(facts)
    return facts.assumed_window
