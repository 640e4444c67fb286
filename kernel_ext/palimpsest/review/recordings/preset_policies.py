"""Policies as they are named where there is no kernel: on the command line and over many sessions."""

from palimpsest.review.policies.policy import ContextPolicy
from palimpsest.review.policies.recorded_policy import RECORDED
from palimpsest.review.policies.registry import get, presets
from palimpsest.review.replay.simulation import RAW


def preset_names() -> tuple[str, ...]:
    """Return the names of all presets, sorted."""
    return tuple(one.preset for one in presets())


def policy_from_words(words: str) -> str | ContextPolicy:
    """Return the policy that a name with numbers stands for: ``sweagent.last_n n=10``.

    ``raw`` and ``recorded`` stay names, since they depend on the session. Raises UserError.
    """
    name = words.strip()
    return name if name in (RAW, RECORDED) else get(name)
