"""The provider profiles of older versions, so that their requests can be rebuilt identically.

Until projection 2 two tables distinguished providers: one for the order of turns, one for how messages
are written. They disagreed about gateways, and new requests are not written by them any more.
"""

from dataclasses import replace

from palimpsest.transcript.provider_profile.profile import ProviderProfile, profile
from palimpsest.transcript.provider_profile.provider_table import TurnOrder
from palimpsest.transcript.provider_profile.recorded_agents import ProviderFamily, openclaw_family
from palimpsest.transcript.values import ModelRef

ONE_TABLE_PROJECTION = 3
"""The first projection whose requests are written by one table of providers."""

TURN_ORDER_OF_FAMILY: dict[ProviderFamily, TurnOrder] = {
    "openai": "any",
    "compatible": "user_first",
    "anthropic": "user_last",
    "mistral": "user_last",
    "google": "alternating",
}


def profile_at(ref: ModelRef, projection: int) -> ProviderProfile:
    """Return the profile of a model in a request of this projection."""
    if projection >= ONE_TABLE_PROJECTION:
        return profile(ref)
    turn_order = TURN_ORDER_OF_FAMILY[openclaw_family(ref.provider.lower(), ref.name.lower())]
    current_profile = profile(_model_of_same_form(ref))
    return replace(current_profile, turn_order=turn_order, name=(ref.provider, ref.name))


def _model_of_same_form(ref: ModelRef) -> ModelRef:
    """Return a model whose requests have today the form that this model's requests had then."""
    name = ref.name.lower()
    if ref.provider == "anthropic" or "claude" in name:
        return ModelRef(provider="anthropic", name="claude")
    if ref.provider == "gemini" or (ref.provider == "vertex_ai" and "gemini" in name):
        # Whether it has call ids depends on the version in its name.
        return ModelRef(provider="gemini", name=ref.name)
    if ref.provider == "mistral":
        return ModelRef(provider="mistral", name="mistral")
    if ref.provider in {"deepseek", "moonshot"}:
        return ModelRef(provider="deepseek", name="deepseek")
    return ModelRef(provider="openai", name="gpt")
