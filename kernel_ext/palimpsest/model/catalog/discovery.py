"""Find the available models, and choose a default when the user named none.

Servers are queried for their models; keys are only checked for presence. A configured server is never
skipped: where it does not list its models, the choice fails with one sentence that names it, instead of
falling back to another provider or the rehearsal model.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from palimpsest.model.catalog import litellm_table
from palimpsest.model.catalog import local_servers as local
from palimpsest.model.catalog.local_servers import LocalModel, LocalModels
from palimpsest.model.catalog.model_info import (
    REHEARSAL,
    Overrides,
    base_of,
    model_info,
    variable_of,
)
from palimpsest.model.errors.explanations import address_without_key
from palimpsest.model.providers import (
    BASE_VARIABLES,
    COMPATIBLE,
    DEFAULT_MODELS,
    KEY_VARIABLES,
    SERVED_MODEL_VARIABLE,
    has_key,
    key_variable,
)
from palimpsest.transcript.errors import ConfigError
from palimpsest.transcript.values import ModelInfo, ModelRef

MIN_WINDOW = 16_000
"""Tokens; a local model with a smaller window has no room for an agent's tools and their outputs."""

UNKNOWN_NAME = "unknown"
"""The name of a model whose server was not yet queried for it."""

OllamaQuery = Callable[[Mapping[str, str]], LocalModels]
"""Queries the user's Ollama for its models."""


@dataclass(frozen=True, slots=True)
class KnownModel:
    """An available model."""

    info: ModelInfo
    reason: str
    """Why the model is available, in a few words for the user."""


def choose_model(
    environment: Mapping[str, str],
    ollama: OllamaQuery = local.ollama_models,
    overrides: Overrides | None = None,
) -> ModelRef:
    """Choose the model that answers when the user named none.

    A server that ``OPENAI_BASE_URL`` names wins, then a provider's key, another server that the
    environment names, the first model of the settings with an address, and a local Ollama
    with a large enough window; without any of these, the rehearsal model, which needs nothing. Raises
    ConfigError where the server that would be chosen does not list its models.
    """
    served_model = _served_model(environment)
    if served_model is not None:
        return served_model
    configured_model = expected_model(environment, overrides)
    if configured_model is not None:
        return configured_model
    local_models = ollama(environment)
    usable_model = next((model for model in local_models.models if _can_run_agent(model)), None)
    if usable_model is not None:
        return ModelRef(provider=local.PROVIDER, name=usable_model.name)
    if local.address_variable(environment) is not None:
        raise ConfigError(_no_local_model(local_models, environment))
    return REHEARSAL


def expected_model(
    environment: Mapping[str, str], overrides: Overrides | None = None
) -> ModelRef | None:
    """Return the model that ``choose_model`` will probably choose, without querying a server.

    None where an Ollama or the rehearsal model will answer. The model of a server with unknown models is named
    ``UNKNOWN_NAME``.
    """
    if base_of(COMPATIBLE, environment) is not None:
        model_name = environment.get(SERVED_MODEL_VARIABLE, "").strip()
        return ModelRef(provider=COMPATIBLE, name=model_name or UNKNOWN_NAME)
    for provider, name in DEFAULT_MODELS.items():
        if has_key(provider, environment):
            return ModelRef(provider=provider, name=name)
    return next(_models_by_address(environment, overrides), None)


def unresponsive_servers(
    environment: Mapping[str, str], ollama: OllamaQuery = local.ollama_models
) -> Iterator[str]:
    """Yield a sentence for each server of the environment that does not list a usable model."""
    try:
        _served_model(environment)
    except ConfigError as problem:
        yield str(problem)
    if local.address_variable(environment) is not None:
        local_models = ollama(environment)
        if not any(_can_run_agent(model) for model in local_models.models):
            yield _no_local_model(local_models, environment)


def known_models(
    environment: Mapping[str, str],
    overrides: Overrides | None = None,
    ollama: OllamaQuery = local.ollama_models,
) -> tuple[KnownModel, ...]:
    """Return the available models: configured, with a key, local, and rehearsal."""
    models: dict[str, KnownModel] = {}

    def add(model_id: str, reason: str) -> None:
        if model_id not in models:
            info = model_info(model_id, overrides, environment=environment)
            models[model_id] = KnownModel(info, reason)

    for model_id in overrides or {}:
        if "/" in model_id:
            add(model_id, "configured")
    base_url = base_of(COMPATIBLE, environment)
    for name in local.served_models(base_url, environment).names if base_url is not None else ():
        add(f"{COMPATIBLE}/{name}", f"listed by {address_without_key(base_url)}")
    for provider in KEY_VARIABLES:
        if has_key(provider, environment) and base_of(provider, environment) is None:
            default_names = filter(None, [DEFAULT_MODELS.get(provider)])
            for name in (*default_names, *litellm_table.model_names(provider)):
                add(f"{provider}/{name}", f"{key_variable(provider)} is set")
    for model in ollama(environment).models:
        add(f"{local.PROVIDER}/{model.name}", "Ollama runs here")
    add(REHEARSAL.id, "always here, no key, no network")
    return tuple(models.values())


def _can_run_agent(model: LocalModel) -> bool:
    return model.calls_tools and model.window > MIN_WINDOW


def _served_model(environment: Mapping[str, str]) -> ModelRef | None:
    """Return a model of the OpenAI-compatible server that ``OPENAI_BASE_URL`` names.

    The server is queried for its models, with its key, unless ``OPENAI_MODEL`` names one.
    Raises ConfigError where it lists none: otherwise another provider would answer in its place.
    """
    base_url = base_of(COMPATIBLE, environment)
    if base_url is None:
        return None
    model_name = environment.get(SERVED_MODEL_VARIABLE, "").strip()
    if model_name:
        return ModelRef(provider=COMPATIBLE, name=model_name)
    local_models = local.served_models(base_url, environment)
    if local_models.names:
        return ModelRef(provider=COMPATIBLE, name=local_models.names[0])
    key_advice = f"Set {key_variable(COMPATIBLE)} to its key"
    problem, advice = _missing_text(local_models.missing_reason, "Start it", key_advice)
    raise ConfigError(
        f"The server at {address_without_key(base_url)}, which {variable_of(COMPATIBLE, environment)} names, {problem}. {advice}, set "
        f"{SERVED_MODEL_VARIABLE} to the name of a model, or choose another model with --model."
    )


def _models_by_address(
    environment: Mapping[str, str], overrides: Overrides | None
) -> Iterator[ModelRef]:
    """Yield models of servers that were configured by their addresses, which need not be queried."""
    for provider in BASE_VARIABLES:
        if provider != COMPATIBLE and base_of(provider, environment) is not None:
            yield ModelRef(provider=provider, name=DEFAULT_MODELS[provider])
    for model_id, settings in (overrides or {}).items():
        if "/" not in model_id:
            continue
        values = settings if isinstance(settings, Mapping) else vars(settings)
        if values.get("api_base"):
            trusted_ids = (model_id,)
            info = model_info(model_id, overrides, environment=environment, trusted_ids=trusted_ids)
            yield info.ref


def _no_local_model(local_models: LocalModels, environment: Mapping[str, str]) -> str:
    """Return why the Ollama that the environment names has no model for an agent, with advice."""
    variable = local.address_variable(environment)
    problem, advice = _missing_text(
        local_models.missing_reason, f"Start it, unset {variable}", "Set the key it wants"
    )
    if not local_models.missing_reason:
        problem = f"has no model that calls tools and reads more than {MIN_WINDOW:,} tokens"
        advice = "Pull one, such as with `ollama pull qwen3`"
    return (
        f"The Ollama server at {address_without_key(local.ollama_address(environment))}, which {variable} names, {problem}. "
        f"{advice}, or choose another model with --model."
    )


def _missing_text(
    missing_reason: local.MissingReason, start_advice: str, key_advice: str
) -> tuple[str, str]:
    """Return why a server's models are not known, and the first advice, as parts of a sentence."""
    match missing_reason:
        case "silent":
            return "does not answer", start_advice
        case "refused":
            return "wants a key, or another one", key_advice
        case "other":
            return "does not list its models", "Check the address"
        case "":
            return "lists no model that can chat", start_advice
