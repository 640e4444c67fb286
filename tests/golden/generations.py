"""Which recorded version each of our presets stands for."""

from tests.golden.openclaw import NEWEST, OLDEST

from palimpsest.context.policy_overrides import preset_policy
from palimpsest.transcript.context_values.policies import HygieneRule

GENERATIONS = [(OLDEST, "openclaw-2026.2"), (NEWEST, "openclaw-2026.9")]
BEFORE_NEWEST = "v2026.4.12"
"""The newest recording of functions that the newest release does not hold any more."""


def rule_of(preset: str) -> HygieneRule:
    """Return the hygiene that the preset's policy chooses."""
    return preset_policy(preset).hygiene.rule
