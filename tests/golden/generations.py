"""The recorded version of another agent that each preset policy follows."""

from tests.golden.openclaw import NEWEST, OLDEST

from palimpsest.context.policy_overrides import preset_policy
from palimpsest.transcript.context_values.policies import HygieneRule

GENERATIONS = [(OLDEST, "openclaw-2026.2"), (NEWEST, "openclaw-2026.9")]
BEFORE_NEWEST = "v2026.4.12"
"""The newest recording of functions that the newest release does not have any more."""


def rule_of(preset: str) -> HygieneRule:
    """Return the message repair rule of the preset's policy."""
    return preset_policy(preset).hygiene.rule
