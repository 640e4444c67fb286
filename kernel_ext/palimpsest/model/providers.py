"""The environment variables for each provider's key and address, and a default model of each.

Data and small functions, no network and no clock. Keys themselves are never stored. ``transcript/provider_profile``
describes which requests a provider accepts.
"""

from collections.abc import Mapping
from urllib.parse import urlsplit

from palimpsest.transcript.values import ModelRef

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
"""Environment variables of keys; the first key that is set determines the default model."""

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
"""A strong, generally available model with tools of each provider; the offline table has all but OpenRouter's."""

SMALL_MODELS: dict[str, str] = {
    "anthropic": "claude-haiku-4-5",
    "openai": "gpt-5-nano",
    "gemini": "gemini-2.5-flash-lite",
    "mistral": "mistral-small-latest",
}
"""A quick and cheap model of each provider, for the same key."""

BASE_VARIABLES: dict[str, tuple[str, ...]] = {
    "openai": ("OPENAI_BASE_URL", "OPENAI_API_BASE"),
    "anthropic": ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE"),
}

COMPATIBLE = "openai"
"""The prefix of models on an OpenAI-compatible server whose address is in the environment."""
SERVED_MODEL_VARIABLE = "OPENAI_MODEL"

HOW_TO_START = "for Ollama: `ollama serve`"
"""How to start a local model server that is not running, as part of an error message."""

ROUTED = frozenset({"bedrock", "bedrock_converse"})
"""Providers whose models may have a route and a region before their name in litellm's table."""
ROUTES = (
    "bedrock/", "chat_completions/", "converse/", "invoke/", "openai/", "mantle/", "nova-2/", "nova/",
)  # fmt: skip
"""The possible routes, each for one of the provider's interfaces."""
PUBLISHER_PROVIDER = "vertex_ai"
"""The provider whose third-party models have a publisher before their name, or a version after it."""
NUMBERED_PROVIDERS = frozenset({"vertex_ai", "gemini", "databricks"})
"""Providers whose models may have a number after their name."""
FAMILIES = ("bedrock_mantle", "bedrock", "vertex_ai", "fireworks_ai")
"""Providers that have several names in litellm's table, the longest prefix first."""

OLLAMA_PROVIDERS = frozenset({"ollama", "ollama_chat"})
"""The prefixes of Ollama's models; the second one is litellm's name for its chat format."""
LOCAL_PROVIDERS = OLLAMA_PROVIDERS | {"lm_studio", "llamafile", "hosted_vllm"}
LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0"})


def key_variable(provider: str) -> str:
    """Return the environment variable of the provider's key."""
    variables = KEY_VARIABLES.get(provider)
    return variables[0] if variables else f"{provider.upper().replace('-', '_')}_API_KEY"


CREDENTIALS: dict[str, str] = {
    "bedrock": (
        "AWS credentials that are missing or wrong. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (or AWS_PROFILE, "
        "or AWS_BEARER_TOKEN_BEDROCK) and AWS_REGION_NAME"
    ),
    "vertex_ai": (
        "Google credentials that are missing or wrong. Set GOOGLE_APPLICATION_CREDENTIALS to the file of a service "
        "account (or run `gcloud auth application-default login`), VERTEXAI_PROJECT and VERTEXAI_LOCATION"
    ),
    "azure": (
        "a key or an address that is missing or wrong. Set AZURE_API_KEY, AZURE_API_BASE (such as "
        "https://NAME.openai.azure.com) and AZURE_API_VERSION"
    ),
}
"""Error texts for providers that need more than a key: what is missing, and which variables to set."""

SAME_CREDENTIALS = {"bedrock_converse": "bedrock", "vertex_ai_beta": "vertex_ai"}


def wanted_credentials(provider: str) -> str:
    """Return the text after "wants" in an error: what is missing, and the environment variables to set."""
    key_text = f"a key that is missing or wrong. Set the environment variable {key_variable(provider)} to your key"
    return CREDENTIALS.get(SAME_CREDENTIALS.get(provider, provider), key_text)


def has_key(provider: str, environment: Mapping[str, str]) -> bool:
    """Return whether a key of the provider is in the environment."""
    return key_of(provider, environment) is not None


def key_of(provider: str, environment: Mapping[str, str]) -> str | None:
    """Return the provider's key; callers pass it on and never store it."""
    variables = KEY_VARIABLES.get(provider, (key_variable(provider),))
    keys = (environment.get(variable, "").strip() for variable in variables)
    return next((key for key in keys if key), None)


def is_loopback(url: str | None) -> bool:
    """Return whether a server is on this machine."""
    return url is not None and urlsplit(url).hostname in LOOPBACK_HOSTS


def small_model(ref: ModelRef) -> str | None:
    """Return a quick, cheap model of the same provider, for titles and the like; None without another one."""
    name = SMALL_MODELS.get(ref.provider)
    return f"{ref.provider}/{name}" if name is not None and name != ref.name else None
