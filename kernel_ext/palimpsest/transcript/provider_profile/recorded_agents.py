"""The rules by which OpenCode and OpenClaw, the recorded agents, distinguish providers; for their presets.

Border: pure. A preset must decide as its agent did, also where the profile is more accurate; golden data
covers every table here. Only the presets use them.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

ProviderFamily = Literal["openai", "anthropic", "google", "mistral", "compatible"]
"""OpenClaw's families of providers, by which it orders turns; an unknown one is ``compatible``."""

OPENCLAW_NAMES: tuple[tuple[str, ProviderFamily], ...] = (
    ("claude", "anthropic"),
    ("gemini", "google"),
    *(
        (name, "mistral")
        for name in ("mistral", "mixtral", "codestral", "pixtral", "devstral", "ministral")
    ),
)  # fmt: skip
OPENCLAW_PROVIDERS: dict[str, ProviderFamily] = {
    "anthropic": "anthropic",
    "gemini": "google",
    "google": "google",
    "vertex_ai": "google",
    "mistral": "mistral",
    "openai": "openai",
    "azure": "openai",
}
OLD_CLAUDE = re.compile(r"claude-(instant|v?[123])(?!\d)")
"""Claude before its fourth generation."""

OPENCLAW_ALIASES = {
    "z.ai": "zai",
    "z-ai": "zai",
    "bedrock": "amazon-bedrock",
    "aws-bedrock": "amazon-bedrock",
    "modelstudio": "qwen",
    "qwencloud": "qwen",
    "opencode-zen": "opencode",
    "kimi-code": "kimi",
    "kimi-coding": "kimi",
    "bytedance": "volcengine",
    "doubao": "volcengine",
}
"""Providers that have several names in OpenClaw's configuration."""

OPENCODE_BEDROCK_PICTURES = ("anthropic.", "nova", "llama4")
"""Parts of the names of models on Bedrock that accept images in results."""
OPENCODE_SIGNED_BY = "anthropic"
"""Key in the metadata of thinking under which OpenCode keeps a signature."""


@dataclass(frozen=True, slots=True)
class OpenclawTarget:
    """OpenClaw's rules for one family of providers."""

    ids: Literal["strict", "strict9"] | None = None
    merges_answers: bool = False
    merges_questions: bool = False
    user_first: bool = False
    keep_native: bool = False
    """Whether ids in Anthropic's own form, and answers that it signed, stay unchanged."""


OPENCLAW_2026_2: dict[ProviderFamily, OpenclawTarget] = {
    "google": OpenclawTarget(ids="strict", merges_answers=True, user_first=True),
    "anthropic": OpenclawTarget(ids="strict", merges_questions=True),
    "mistral": OpenclawTarget(ids="strict9"),
    "openai": OpenclawTarget(),
    "compatible": OpenclawTarget(merges_questions=True),
}
OPENCLAW_2026_9: dict[ProviderFamily, OpenclawTarget] = {
    "google": OpenclawTarget(ids="strict", merges_answers=True, user_first=True),
    "anthropic": OpenclawTarget(ids="strict", merges_questions=True, keep_native=True),
    "mistral": OpenclawTarget(ids="strict9"),
    "openai": OpenclawTarget(ids="strict"),
    "compatible": OpenclawTarget(
        ids="strict", merges_answers=True, merges_questions=True, user_first=True
    ),
}


@dataclass(frozen=True, slots=True)
class RecordedRules:
    """The recorded agents' rules for one model."""

    openclaw_2026_2: OpenclawTarget
    openclaw_2026_9: OpenclawTarget
    openclaw_drops_thinking: Literal["never", "newest", "always"]
    """Whether the model's thinking is removed: never, by the newest rules only, or by all."""
    opencode_refuses_empty: bool
    """Whether empty texts and unsigned empty thinking are left out."""
    opencode_ids: Literal["any", "words", "nine"]
    opencode_answers_results: bool
    opencode_media_in_results: Literal["none", "images", "all"]


@lru_cache(maxsize=1_024)
def recorded_rules(provider: str, name: str) -> RecordedRules:
    """Return the rules of the recorded agents for a model."""
    provider_name, model_name = provider.lower(), name.lower()
    is_claude = "claude" in model_name
    is_mistral = "mistral" in f"{provider_name}/{model_name}"
    model_family = openclaw_family(provider_name, model_name)
    return RecordedRules(
        openclaw_2026_2=OPENCLAW_2026_2[model_family],
        openclaw_2026_9=OPENCLAW_2026_9[model_family],
        openclaw_drops_thinking=_drops_thinking(provider_name, model_name),
        opencode_refuses_empty=provider_name in {"anthropic", "bedrock"}
        or (provider_name == "vertex_ai" and is_claude),
        opencode_ids="nine" if is_mistral else "words" if is_claude else "any",
        opencode_answers_results=is_mistral,
        opencode_media_in_results=_media_in_results(provider_name, model_name),
    )


def openclaw_family(provider: str, name: str) -> ProviderFamily:
    """Return OpenClaw's family of a provider and model: the first, in a fixed order, that either name shows."""
    provider_family = OPENCLAW_PROVIDERS.get(provider, "compatible")
    name_families = {
        model_family for name_part, model_family in OPENCLAW_NAMES if name_part in name
    }
    order: tuple[ProviderFamily, ...] = ("anthropic", "google", "mistral", "openai")
    families = (family for family in order if family in {provider_family, *name_families})
    return next(families, "compatible")


def openclaw_provider(name: str) -> str:
    """Return the one name of a provider that has several."""
    lower_name = name.strip().lower()
    return OPENCLAW_ALIASES.get(lower_name, lower_name)


def _drops_thinking(provider: str, name: str) -> Literal["never", "newest", "always"]:
    if provider == "github_copilot" and "claude" in name:
        return "always"
    return "newest" if OLD_CLAUDE.search(name) else "never"


def _media_in_results(provider: str, name: str) -> Literal["none", "images", "all"]:
    match provider:
        case "anthropic" | "openai":
            return "all"
        case "vertex_ai":
            return "all" if "claude" in name else "none"
        case "bedrock":
            has_images = any(part in name for part in OPENCODE_BEDROCK_PICTURES)
            return "images" if has_images else "none"
        case "xai":
            return "images"
        case "gemini":
            return "all" if "gemini-3" in name and "gemini-2" not in name else "none"
        case _:
            return "none"
