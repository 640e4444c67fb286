"""Policies by name. A policy is data; presets of other systems come with the whole pipeline."""

from palimpsest.context.presets import PRESETS
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.errors import ConfigError
from palimpsest.transcript.values import ModelInfo

POLICIES: dict[str, Policy] = PRESETS


def policy(name: str) -> Policy:
    """Return the policy of that name; raises ConfigError."""
    if name not in POLICIES:
        known = ", ".join(sorted(POLICIES))
        raise ConfigError(f"There is no context policy {name!r}. Known policies: {known}.")
    return POLICIES[name]


def without_recall(policy: Policy) -> Policy:
    """Return the policy for a step to which the tool ``recall`` is not offered: no note names it."""
    return policy.model_copy(
        update={
            "truncate": policy.truncate.model_copy(update={"recall": False}),
            "prune": policy.prune.model_copy(update={"recall": False}),
            "recovery": policy.recovery.model_copy(update={"recall": False}),
        }
    )


def without_task(policy: Policy) -> Policy:
    """Return the policy for a step to which the tool ``task`` is not offered: no note names it."""
    truncate = policy.truncate.model_copy(update={"task": False})
    return policy.model_copy(update={"truncate": truncate})


def reserve(policy: Policy, model: ModelInfo) -> int:
    """Return the tokens kept free for the answer: the policy's, the model's limit, at most half the window.

    Nothing is kept of a window without a limit.
    """
    return min(policy.reserved, model.output_limit, model.window // 2)
