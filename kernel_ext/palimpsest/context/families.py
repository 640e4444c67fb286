"""Whose rules of turns and tool ids a request has to follow.

The dialect in which ``model/wire`` writes is a finer matter; here it is only asked what a
provider refuses. Everybody unknown counts as ``compatible``: a server with OpenAI's interface and
perhaps a chat template of its own that is stricter than OpenAI.
"""

import re
from typing import Literal

from palimpsest.transcript.values import ModelRef

ProviderFamily = Literal["openai", "anthropic", "google", "mistral", "compatible"]

OPENAI_PROVIDERS = frozenset({"openai", "azure"})
ANTHROPIC_PROVIDERS = frozenset({"anthropic"})
GOOGLE_PROVIDERS = frozenset({"gemini", "google", "vertex_ai"})
ANTHROPIC_NAMES = ("claude",)
GOOGLE_NAMES = ("gemini",)
MISTRAL_NAMES = ("mistral", "mixtral", "codestral", "pixtral", "devstral", "ministral")

COPILOT_PROVIDERS = frozenset({"github_copilot"})
OLD_CLAUDE = re.compile(r"claude-(instant|v?[123])(?!\d)")
"""Before the fourth generation."""


def provider_family(ref: ModelRef) -> ProviderFamily:
    """Return whose rules hold for a model, by its name first and then by its provider."""
    provider, name = ref.provider.lower(), ref.name.lower()
    families: tuple[tuple[ProviderFamily, bool], ...] = (
        ("anthropic", provider in ANTHROPIC_PROVIDERS or _named(name, ANTHROPIC_NAMES)),
        ("google", provider in GOOGLE_PROVIDERS or _named(name, GOOGLE_NAMES)),
        ("mistral", provider == "mistral" or _named(name, MISTRAL_NAMES)),
        ("openai", provider in OPENAI_PROVIDERS),
    )
    return next((family for family, holds in families if holds), "compatible")


def is_copilots_claude(ref: ModelRef) -> bool:
    """Tell whether Copilot serves a Claude, which takes no thoughts back there."""
    return ref.provider.lower() in COPILOT_PROVIDERS and _named(ref.name.lower(), ANTHROPIC_NAMES)


def is_old_claude(ref: ModelRef) -> bool:
    """Tell whether a model is a Claude older than the fourth generation."""
    return OLD_CLAUDE.search(ref.name.lower()) is not None


def _named(name: str, pieces: tuple[str, ...]) -> bool:
    return any(piece in name for piece in pieces)
