"""Look models up in litellm's offline table, without importing litellm.

Where litellm is installed its own file is read, by which its requests are priced; elsewhere the shorter copy in this
package, which ``scripts/price_list.py`` makes of it in the same format. The table is up to three megabytes of JSON; an
entry is found in it as text and parsed alone, which takes a few milliseconds and caches only the requested entries.
"""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from json import JSONDecoder
from pathlib import Path
from typing import Any

from palimpsest.import_guard import package_folder
from palimpsest.model.catalog.unlisted_prices import long_prompt_prices
from palimpsest.model.providers import (
    FAMILIES,
    NUMBERED_PROVIDERS,
    PUBLISHER_PROVIDER,
    ROUTED,
    ROUTES,
)
from palimpsest.transcript.values import SERVICE_TIERS, ModelRef, Price, PriceTier, ServicePrice

TABLE_FILE = "model_prices_and_context_window_backup.json"
COPY = Path(__file__).with_name("litellm_prices.json")
"""Our copy of the table: the fields that this package uses, one model a line."""
COPY_ORIGIN = "made_from"
"""Key of the copy's entry with litellm's version and the day on which the copy was made."""
MAX_INDENT = 4
ENTRY_BYTES = 20_000
"""Bytes that are decoded of an entry at first; nearly all are shorter."""
ENTRY = re.compile(rf'^ {{0,{MAX_INDENT}}}"([^"]+)": \{{', re.MULTILINE)
"""The beginning of an entry; litellm 1.106 has an entry that is not indented."""
LONG_PROMPT_FIELD = re.compile(r"^input_cost_per_token_above_(\d+)k_tokens$")
MILLION = 1_000_000
CHAT_MODES = ("chat", "responses")
"""The modes of models that chat."""


def table_path() -> Path:
    """Return the file of the table: litellm's own, or our copy where litellm is not installed."""
    folder = package_folder("litellm")
    file = folder / TABLE_FILE if folder is not None else COPY
    return file if file.is_file() else COPY


@cache
def list_name() -> str:
    """Return the list's name: litellm's version, and the date of the copy or of litellm's file on this disk."""
    file = table_path()
    if file == COPY:
        origin = entry(COPY_ORIGIN) or {}
        return f"the list of prices of litellm {origin['litellm']}, copied on {origin['date']}"
    try:
        default_name = f"litellm {version('litellm')}'s list of prices"
        day = datetime.fromtimestamp(file.stat().st_mtime, UTC).date()
    except (PackageNotFoundError, OSError, ValueError, OverflowError):
        return "litellm's list of prices"
    return f"{default_name}, on this disk since {day.isoformat()}"


def _table_text() -> str:
    return table_path().read_text(encoding="utf-8")


@cache
def entry(key: str) -> dict[str, Any] | None:
    """Return the entry of exactly this key.

    It is found in the bytes of the table, most of which are neither decoded nor looked at otherwise.
    """
    content, name = table_path().read_bytes(), f'"{key}": {{'.encode("utf-8", "surrogatepass")
    name_index = content.rfind(name)
    while name_index >= 0:
        indent = content[content.rfind(b"\n", 0, name_index) + 1 : name_index]
        if len(indent) <= MAX_INDENT and not indent.strip(b" "):
            entry_start = name_index + len(name) - 1
            try:
                return _object_in(content[entry_start : entry_start + ENTRY_BYTES])
            except ValueError:  # it is longer
                return _object_in(content[entry_start:])
        name_index = content.rfind(name, 0, name_index + len(name) - 1)
    return None


def _object_in(content: bytes) -> dict[str, Any]:
    value: dict[str, Any] = JSONDecoder().raw_decode(content.decode("utf-8", "replace"))[0]
    return value


@cache
def _keys_by_name() -> dict[str, list[str]]:
    """Return the keys of all entries by their folded names, without providers."""
    keys_by_name: dict[str, list[str]] = {}
    keys = list(dict.fromkeys(match[1] for match in ENTRY.finditer(_table_text())))
    for key, folded in zip(keys, _folded_name("\n".join(keys)).split("\n"), strict=True):
        keys_by_name.setdefault(folded.rpartition("/")[2], []).append(key)
    return keys_by_name


def _folded_name(name: str) -> str:
    return name.lower().replace(".", "-").replace("_", "-")


def entries_of_name(name: str) -> dict[str, dict[str, Any]]:
    """Return the entries, by key, of all chat models with this name, from any provider."""
    keys = _keys_by_name().get(_folded_name(name), ())
    entries = {key: facts for key in keys if (facts := entry(key)) is not None}
    return {key: facts for key, facts in entries.items() if facts.get("mode") in CHAT_MODES}


def find_model(ref: ModelRef) -> dict[str, Any] | None:
    """Return the entry of a model, by the names under which litellm itself looks it up."""
    for key in _spellings(ref):
        facts = entry(key)
        if facts is not None and _is_of_provider(facts, ref.provider):
            return completed_entry(key, facts)
    return None


def completed_entry(key: str, facts: dict[str, Any]) -> dict[str, Any]:
    """Return an entry completed by the defaults of the model's family and by its prices of long prompts."""
    provider = str(facts.get("litellm_provider"))
    return {**_family_defaults(key, provider), **long_prompt_prices(key, provider), **facts}


FAMILY_DEFAULTS = "fallback_generalizations"
"""Key of the entry with defaults for whole families of models, where a model's own entry lacks a fact."""


def _family_defaults(key: str, provider: str) -> dict[str, Any]:
    defaults: dict[str, Any] = {}
    for pattern, providers, facts in _family_rules():
        if provider in providers and pattern.search(key):
            defaults |= facts
    return defaults


@cache
def _family_rules() -> tuple[tuple[re.Pattern[str], frozenset[str], dict[str, Any]], ...]:
    rules = []
    for rule in (entry(FAMILY_DEFAULTS) or {}).get("rules", ()):
        providers = rule.get("fill_missing_for_providers")
        if providers and isinstance(rule.get("model_info"), dict):
            pattern = re.compile(rule["pattern"], re.IGNORECASE)
            rules.append((pattern, frozenset(providers), rule["model_info"]))
    return tuple(rules)


REGION = re.compile(
    r"^(?:us|us-gov|eu|apac|ap|au|ca|jp|global|amer|sa)\.|^[a-z]{2}(?:-[a-z]+)+-\d/"
)
"""The region before the name of a Bedrock model."""
DATE_SUFFIX = re.compile(r"-\d{4}-\d{2}-\d{2}$")
NUMBER_SUFFIX = re.compile(r"-\d+$")


def _spellings(ref: ModelRef) -> Iterator[str]:
    yield ref.id
    yield ref.name
    if ref.provider in ROUTED:
        name = ref.name
        for route in ROUTES:
            name = name.removeprefix(route)
        yield name
        while (base := REGION.sub("", name)) != name:
            yield base
            name = base
        yield name.rpartition(":")[0]
    elif ref.provider == PUBLISHER_PROVIDER:
        yield from (f"meta/{ref.name}", f"{ref.id}@latest", f"{ref.name}@latest")
    suffix = NUMBER_SUFFIX if ref.provider in NUMBERED_PROVIDERS else DATE_SUFFIX
    short_name = suffix.sub("", ref.name)
    yield from (f"{ref.provider}/{short_name}", short_name, f"{ref.provider}/{ref.id}")


def _is_of_provider(facts: dict[str, Any], provider: str) -> bool:
    """Return whether an entry is about a provider's model; some providers have several names."""
    stated_provider = facts.get("litellm_provider")
    if stated_provider is None or stated_provider == provider:
        return True
    family = next((prefix for prefix in FAMILIES if provider.startswith(prefix)), None)
    return family is not None and str(stated_provider).startswith(family)


def provider_of(name: str) -> str | None:
    """Return the provider of a model whose name lacks it."""
    facts = entry(name)
    provider = facts.get("litellm_provider") if facts else None
    return provider if isinstance(provider, str) else None


@cache
def _names_by_provider() -> dict[str, tuple[str, ...]]:
    """Return all names of each provider's models that chat."""
    names_by_provider: dict[str, list[str]] = {}
    for key, value in json.loads(_table_text()).items():
        stated_provider = str(value.get("litellm_provider") or "")
        families = (family for family in FAMILIES if stated_provider.startswith(family))
        provider = next(families, stated_provider)
        head, _, tail = key.partition("/")
        name = tail if tail and head in (provider, stated_provider) else key
        if value.get("mode") in CHAT_MODES and not (
            tail and name == key and head in names_by_provider
        ):
            names_by_provider.setdefault(provider, []).append(name)
            if value.get("supports_function_calling"):
                names_by_provider.setdefault(f"{provider} tools", []).append(name)
    return {provider: tuple(sorted(set(names))) for provider, names in names_by_provider.items()}


@cache
def chat_models() -> tuple[tuple[str, str], ...]:
    """Return the keys of all chat models, each with the provider in its entry."""
    return tuple(
        (key, str(value.get("litellm_provider") or ""))
        for key, value in json.loads(_table_text()).items()
        if value.get("mode") in CHAT_MODES
    )


def all_model_names(provider: str) -> tuple[str, ...]:
    """Return all names of a provider's models that chat, dated copies too."""
    return _names_by_provider().get(provider, ())


def model_names(provider: str) -> tuple[str, ...]:
    """Return the names of a provider's models that chat and call tools, dated copies left out."""
    names = _names_by_provider().get(f"{provider} tools", ())
    return tuple(name for name in names if not NOT_OFFERED.search(name))


NOT_OFFERED = re.compile(
    r"\d{4}-?\d{2}-?\d{2}|-\d{4}$|-v\d+:|^ft:|audio|realtime|live|search|computer|tts|image|transcribe"
)
"""Names of dated copies, and of models that are not made for a chat with tools."""


def price(facts: dict[str, Any]) -> Price:
    """Return the prices of an entry, in dollars per million tokens."""
    services = tuple(
        ServicePrice(service_tier=tier, price=_tier_price(facts, suffix))
        for tier, suffix in zip(SERVICE_TIERS, ("_batches", "_flex", "_priority"), strict=True)
        if f"input_cost_per_token{suffix}" in facts
    )
    return _tier_price(facts, "").model_copy(update={"services": services})


def _tier_price(facts: dict[str, Any], service: str) -> Price:
    thousands = sorted(int(match[1]) for match in map(LONG_PROMPT_FIELD.match, facts) if match)
    tiers = tuple(
        PriceTier(above=count * 1000, price=_rates(facts, f"_above_{count}k_tokens", service))
        for count in thousands
    )
    return _rates(facts, "", service).model_copy(update={"tiers": tiers})


INPUT = "input_cost_per_token"


def _rates(facts: dict[str, Any], suffix: str, service: str) -> Price:
    return Price(
        input=_rate(facts, INPUT, suffix, service),
        output=_rate(facts, "output_cost_per_token", suffix, service),
        cache_read=_rate(facts, "cache_read_input_token_cost", suffix, service),
        cache_write=_rate(facts, "cache_creation_input_token_cost", suffix, service),
        cache_write_hour=_rate(facts, "cache_creation_input_token_cost_above_1hr", suffix, service),
    )


def _rate(facts: dict[str, Any], name: str, suffix: str, service: str) -> float | None:
    """Return a price of an entry in dollars per million tokens; None where it has none."""
    value = _price_value(facts, name, suffix, service)
    return None if value is None else round(value * MILLION, 6)


def _price_value(facts: dict[str, Any], name: str, suffix: str, service: str) -> float | None:
    """Return a price in an entry; where it is missing, computed in proportion to other prices there.

    For a long prompt in a batch the list mostly has one price for each, and for the cache often only the plain price:
    providers charge reads and writes as multiples of the input.
    """
    exact = _number(facts, f"{name}{suffix}{service}")
    if exact is not None or not (suffix or service):
        return exact
    if suffix and service:
        long_price = _price_value(facts, name, suffix, "")
        service_price = _price_value(facts, name, "", service)
        base_price = _number(facts, name)
        if long_price is not None and service_price is not None and base_price:
            return long_price * service_price / base_price
        return service_price
    base_price, plain_input = _number(facts, name), _number(facts, INPUT)
    dearer_input = _number(facts, f"{INPUT}{suffix}{service}")
    if base_price is None or not plain_input or dearer_input is None or name.startswith("output"):
        return base_price
    return base_price * dearer_input / plain_input


def _number(facts: dict[str, Any], name: str) -> float | None:
    value = facts.get(name)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and value is not None else None
