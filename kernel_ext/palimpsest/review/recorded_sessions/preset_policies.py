"""Policies by their names, for use outside a kernel: on the command line and over many sessions."""

from palimpsest.context_policies.interface.policy import ContextPolicy
from palimpsest.context_policies.interface.recorded_policy import RECORDED
from palimpsest.context_policies.registry import get, presets
from palimpsest.context_policies.replay.simulation import RAW


def preset_names() -> tuple[str, ...]:
    """Return the names of all presets, sorted."""
    return tuple(preset.preset for preset in presets())


def policy_from_words(words: str) -> str | ContextPolicy:
    """Return the policy for a name with numbers, such as ``sweagent.last_n n=10``.

    ``raw`` and ``recorded`` are returned as names, since they depend on the session. Raises UserError.
    """
    name = words.strip()
    return name if name in (RAW, RECORDED) else get(name)
