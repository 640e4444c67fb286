"""Know the providers: where their keys are, a sensible model of each, and which dialect they speak.

Data and small functions, no network and no clock. Keys themselves are never held here.
"""

from collections.abc import Mapping
from typing import Literal
from urllib.parse import urlsplit

from palimpsest.transcript.values import ModelRef

Family = Literal["openai", "anthropic", "gemini", "mistral", "deepseek"]

KEY_VARIABLES: dict[str, tuple[str, ...]] = {
    "anthropic": ("ANTHROPIC_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "mistral": ("MISTRAL_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "xai": ("XAI_API_KEY",),
    "groq": ("GROQ_API_KEY",),
    "moonshot": ("MOONSHOT_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
    "together_ai": ("TOGETHERAI_API_KEY", "TOGETHER_API_KEY"),
    "fireworks_ai": ("FIREWORKS_API_KEY", "FIREWORKS_AI_API_KEY"),
    "cerebras": ("CEREBRAS_API_KEY",),
    "cohere": ("COHERE_API_KEY", "CO_API_KEY"),
    "azure": ("AZURE_API_KEY",),
}
"""In the order in which a key that is there chooses the model."""

DEFAULT_MODELS: dict[str, str] = {
    "anthropic": "claude-sonnet-5",
    "openai": "gpt-5.1",
    "gemini": "gemini-3.5-flash",
    "mistral": "mistral-large-latest",
    "deepseek": "deepseek-chat",
    "xai": "grok-4.3",
    "groq": "openai/gpt-oss-120b",
    "moonshot": "kimi-k2.5",
    "openrouter": "anthropic/claude-sonnet-4.5",
    "together_ai": "zai-org/GLM-5",
    "fireworks_ai": "accounts/fireworks/models/deepseek-v3p2",
    "cerebras": "gpt-oss-120b",
}
"""A strong, generally available model with tools; the offline table knows all but OpenRouter's."""

SMALL_MODELS: dict[str, str] = {
    "anthropic": "claude-haiku-4-5",
    "openai": "gpt-5-nano",
    "gemini": "gemini-2.5-flash-lite",
    "mistral": "mistral-small-latest",
}
"""A quick and cheap model that answers with the same key."""

LOCAL_PROVIDERS = frozenset({"ollama", "ollama_chat", "lm_studio", "llamafile", "hosted_vllm"})
LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0"})


def key_variable(provider: str) -> str:
    """Return the environment variable that holds the provider's key."""
    known = KEY_VARIABLES.get(provider)
    return known[0] if known else f"{provider.upper().replace('-', '_')}_API_KEY"


def has_key(provider: str, environment: Mapping[str, str]) -> bool:
    """Say whether a key of the provider is in the environment."""
    variables = KEY_VARIABLES.get(provider, (key_variable(provider),))
    return any(environment.get(variable, "").strip() for variable in variables)


def is_loopback(url: str | None) -> bool:
    """Say whether a server is on this machine."""
    return url is not None and urlsplit(url).hostname in LOOPBACK_HOSTS


def family(ref: ModelRef) -> Family:
    """Return the dialect in which a model wants its messages."""
    name = ref.name.lower()
    if ref.provider == "anthropic" or "claude" in name:
        return "anthropic"
    if ref.provider == "gemini" or (ref.provider == "vertex_ai" and "gemini" in name):
        return "gemini"
    if ref.provider == "mistral":
        return "mistral"
    if ref.provider in {"deepseek", "moonshot"}:
        return "deepseek"
    return "openai"


def small_model(ref: ModelRef) -> str | None:
    """Return a quick, cheap model of the same provider, for titles and the like; None knows of none."""
    name = SMALL_MODELS.get(ref.provider)
    return f"{ref.provider}/{name}" if name is not None and name != ref.name else None
