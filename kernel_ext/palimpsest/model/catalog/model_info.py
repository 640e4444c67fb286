"""Look up the limits, abilities and price of a model.

Facts come from the user's configuration, then from litellm's offline table, by the model's own name or else by that of
the model to which a gateway's name refers, then from defaults that are marked as assumed. An unknown price stays
unknown. Keys are only checked for presence, never stored.
"""

import difflib
import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any

from palimpsest.model.catalog import litellm_table
from palimpsest.model.catalog.gateway_names import EXCLUSIVE_MAKERS, meant_model
from palimpsest.model.providers import (
    BASE_VARIABLES,
    DEFAULT_MODELS,
    LOCAL_PROVIDERS,
    OLLAMA_PROVIDERS,
    is_loopback,
)
from palimpsest.transcript.errors import ConfigError
from palimpsest.transcript.provider_profile.profile import profile
from palimpsest.transcript.values import ModelInfo, ModelRef, Price, capacity

ASSUMED_WINDOW = 200_000
ASSUMED_OUTPUT = 32_000
ROUND_TOKENS = 10_000
"""Multiples of this number are round numbers of tokens."""
REHEARSAL = ModelRef(provider="rehearsal", name="rehearsal")
REHEARSAL_WINDOW = 200_000
REHEARSAL_OUTPUT = 8_192
LIMIT_FIELDS = {"window": "window", "input": "input_limit", "output": "output_limit"}
"""Fields of a model's limits by the names of their settings."""
FREE = Price(input=0.0, output=0.0, cache_read=0.0, cache_write=0.0)

Overrides = Mapping[str, Any]
"""Settings by model id: ``window``, ``input``, ``output``, ``price``, ``api_base``, ``tools``, ``vision``."""


def parse_model(model_id: str, variant: str | None = None) -> ModelRef:
    """Return the reference for ``provider/name``, or for a bare name that litellm's table has."""
    text = model_id.strip()
    if text == REHEARSAL.provider:
        return REHEARSAL
    provider, slash, name = text.partition("/")
    if slash and provider and name:
        return ModelRef(provider=provider, name=name, variant=variant)
    known_provider = litellm_table.provider_of(text) if text else None
    if known_provider is not None:
        return ModelRef(provider=known_provider, name=text, variant=variant)
    closest_names = difflib.get_close_matches(text, [*DEFAULT_MODELS.values(), "rehearsal"], n=1)
    hint = f" Did you mean {closest_names[0]!r}?" if closest_names else ""
    raise ConfigError(
        f"There is no model {model_id!r}. Write it as provider/name, such as "
        f"'anthropic/{DEFAULT_MODELS['anthropic']}'; %agent models lists what is available.{hint}"
    )


ADDRESS = re.compile(r"https?:|://|^//", re.IGNORECASE)
"""The part of a name that litellm would take as a server's address for its requests."""
NAMED_ADDRESS = (
    "The model {name!r} names the address of a server, and requests are sent there only if your own "
    'settings say so: give the model a plain name, and its address as models."provider/name".api_base.'
)


def holds_address(model_id: str) -> bool:
    """Return whether a model's name contains an address to which requests would be sent.

    >>> holds_address("oobabooga/http://127.0.0.1:5000"), holds_address("ollama/llama3:8b")
    (True, False)
    """
    return any(ADDRESS.search(text) for text in (model_id, model_id.partition("/")[2]))


def model_info(
    model_id: str,
    overrides: Overrides | None = None,
    *,
    variant: str | None = None,
    environment: Mapping[str, str],
    trusted_ids: Collection[str] = (),
) -> ModelInfo:
    """Return the limits, abilities and price of a model; raises ConfigError for an invalid name.

    A name with an address must be one of ``trusted_ids``, the models that the user's settings name.
    """
    ref = parse_model(model_id, variant)
    if holds_address(model_id) and model_id not in trusted_ids:
        raise ConfigError(NAMED_ADDRESS.format(name=model_id))
    settings = _settings(ref, model_id, overrides or {})
    base_url = settings.get("api_base") or base_of(ref.provider, environment)
    return _with_settings(_facts(ref, base_url, environment), settings)


def base_of(provider: str, environment: Mapping[str, str]) -> str | None:
    """Return the address of a provider's server that the environment sets."""
    if provider in OLLAMA_PROVIDERS:
        from palimpsest.model.catalog import local_servers as local

        return local.ollama_address(environment)
    variable = variable_of(provider, environment)
    return environment[variable].strip().rstrip("/") if variable is not None else None


def _facts(ref: ModelRef, base_url: str | None, environment: Mapping[str, str]) -> ModelInfo:
    if ref.provider == REHEARSAL.provider:
        return ModelInfo(
            ref=ref,
            window=REHEARSAL_WINDOW,
            output_limit=REHEARSAL_OUTPUT,
            price=FREE,
            vision=False,
            caching=True,
        )
    if ref.provider in OLLAMA_PROVIDERS:
        return _local_info(ref, base_url, environment)
    return _listed_info(ref, base_url)


@lru_cache(maxsize=256)
def _listed_info(ref: ModelRef, base_url: str | None) -> ModelInfo:
    """Return the facts of litellm's table; cached, since every step of a turn needs them."""
    facts = litellm_table.find_model(ref)
    if facts is not None:
        return _from_table(ref, facts, base_url)
    match = meant_model(ref)
    if match.key is not None and (
        match.facts.get("litellm_provider") in EXCLUSIVE_MAKERS
        or not (ref.provider in LOCAL_PROVIDERS or is_loopback(base_url))
    ):
        return _from_table(ref, match.facts, base_url).model_copy(update={"listed_as": match.key})
    return ModelInfo(
        ref=ref,
        window=ASSUMED_WINDOW,
        window_assumed=True,
        output_limit=ASSUMED_OUTPUT,
        api_base=base_url,
    )


def _local_info(ref: ModelRef, base_url: str | None, environment: Mapping[str, str]) -> ModelInfo:
    from palimpsest.model.catalog import local_servers as local

    models = {model.name: model for model in local.ollama_models(environment).models}
    model = models.get(ref.name) or models.get(f"{ref.name}:latest")
    window = model.window if model else local.MAX_WINDOW
    return ModelInfo(
        ref=ref,
        window=window,
        window_assumed=model is None,
        output_limit=window // 4,
        price=FREE if is_loopback(base_url) else Price(),
        tools=model.calls_tools if model else True,
        api_base=base_url,
    )


def _from_table(ref: ModelRef, facts: dict[str, Any], base_url: str | None) -> ModelInfo:
    input_limit = _limit(facts, "max_input_tokens", "max_tokens")
    output_limit = _limit(facts, "max_output_tokens") or ASSUMED_OUTPUT
    window = input_limit or ASSUMED_WINDOW
    # OpenAI states an input limit that is a round window minus the output limit, such as 272,000 of 400,000.
    is_remainder = window % ROUND_TOKENS != 0 and (window + output_limit) % ROUND_TOKENS == 0
    has_separate_limits = profile(ref).input_limit_listed and is_remainder
    return ModelInfo(
        ref=ref,
        window=window + output_limit if has_separate_limits else window,
        window_assumed=input_limit is None,
        input_limit=window if has_separate_limits else None,
        output_limit=min(output_limit, window // 2),
        price=litellm_table.price(facts),
        tools=bool(facts.get("supports_function_calling", True)),
        vision=bool(facts.get("supports_vision")),
        reasoning=bool(facts.get("supports_reasoning")),
        caching=bool(facts.get("supports_prompt_caching")),
        api_base=base_url,
    )


def _limit(facts: Mapping[str, Any], *names: str) -> int | None:
    values = map(facts.get, names)
    return next((int(v) for v in values if isinstance(v, int | float) and v > 0), None)


def _settings(ref: ModelRef, model_id: str, overrides: Overrides) -> dict[str, Any]:
    override = overrides.get(ref.id, overrides.get(model_id))
    if override is None:
        return {}
    if hasattr(override, "model_dump"):
        override = override.model_dump(exclude_none=True)
    if not isinstance(override, Mapping):
        raise ConfigError(f"models.{ref.id} must be a table of settings, not {override!r}.")
    return {name: value for name, value in override.items() if value is not None}


def _with_settings(facts: ModelInfo, settings: dict[str, Any]) -> ModelInfo:
    changes: dict[str, Any] = {}
    for setting_name, field_name in LIMIT_FIELDS.items():
        if setting_name in settings:
            changes[field_name] = _checked_tokens(facts.ref, setting_name, settings[setting_name])
    if "window" in changes:
        changes["window_assumed"] = False
        window = capacity(changes["window"])
        changes.setdefault("output_limit", min(facts.output_limit, window // 2))
    if changes.get("window") == 0:
        changes.setdefault("input_limit", None)
    if "price" in settings:
        changes["price"] = _checked_price(facts, settings["price"])
        changes["listed_as"] = None
    for name in ("api_base", "tools", "vision", "reasoning", "caching"):
        if name in settings:
            changes[name] = settings[name]
    return facts.model_copy(update=changes)


def _checked_tokens(ref: ModelRef, name: str, value: Any) -> int:
    minimum = 0 if name == "window" else 1
    if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
        raise ConfigError(f"models.{ref.id}.{name} must be a number of tokens, not {value!r}.")
    return value


def _checked_price(facts: ModelInfo, value: Any) -> Price:
    names = ("input", "output", "cache_read", "cache_write")
    if not isinstance(value, Mapping) or not all(
        name in names and isinstance(rate, int | float) and rate >= 0
        for name, rate in value.items()
    ):
        raise ConfigError(
            f"models.{facts.ref.id}.price must give dollars per million tokens for "
            f"{', '.join(names)}, not {value!r}."
        )
    return facts.price.model_copy(update={**value, "tiers": ()})


def variable_of(provider: str, environment: Mapping[str, str]) -> str | None:
    """Return the environment variable with the address of a provider's server; None if none is set."""
    variables = BASE_VARIABLES.get(provider, ())
    return next((variable for variable in variables if environment.get(variable, "").strip()), None)
