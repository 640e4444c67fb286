"""Look models up in litellm's offline table, without importing litellm.

The table is three megabytes of JSON; one entry is found in it as text and parsed alone, which
takes a few milliseconds and keeps nothing but the entries that were asked for.
"""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from json import JSONDecoder
from pathlib import Path
from typing import Any

from palimpsest.model.catalog.long_prompt_prices import long_prompt_prices
from palimpsest.model.providers import FAMILIES, NUMBERED, PUBLISHED, ROUTED, ROUTES
from palimpsest.transcript.values import SERVICE_TIERS, ModelRef, Price, PriceTier, ServicePrice

TABLE_FILE = "model_prices_and_context_window_backup.json"
ENTRY = re.compile(r'^ {0,4}"([^"]+)": \{$', re.MULTILINE)
"""The beginning of an entry; one is not indented in litellm 1.106."""
LONG_PROMPT = re.compile(r"^input_cost_per_token_above_(\d+)k_tokens$")
MILLION = 1_000_000
MODES = ("chat", "responses")
"""The modes of models that chat."""


def path() -> Path | None:
    """Return where litellm keeps its table."""
    spec = find_spec("litellm")
    if spec is None or not spec.submodule_search_locations:
        return None
    found = Path(next(iter(spec.submodule_search_locations)), TABLE_FILE)
    return found if found.is_file() else None


@cache
def list_words() -> str:
    """Return which list this is: litellm's version, and the day since which it is on this disk; empty without one."""
    found = path()
    if found is None:
        return ""
    try:
        known = f"litellm {version('litellm')}'s list of prices"
        day = datetime.fromtimestamp(found.stat().st_mtime, UTC).date()
    except (PackageNotFoundError, OSError, ValueError, OverflowError):
        return "litellm's list of prices"
    return f"{known}, on this disk since {day.isoformat()}"


def _text() -> str:
    found = path()
    return found.read_text(encoding="utf-8") if found is not None else ""


@cache
def _places() -> dict[str, int]:
    """Return where each entry's object begins."""
    return {match[1]: match.end() - 1 for match in ENTRY.finditer(_text())}


_entries: dict[str, dict[str, Any] | None] = {}


def entry(key: str) -> dict[str, Any] | None:
    """Return the entry of exactly this key."""
    if key not in _entries:
        place = _places().get(key)
        _entries[key] = None if place is None else JSONDecoder().raw_decode(_text(), place)[0]
    return _entries[key]


@cache
def _keys_by_name() -> dict[str, list[str]]:
    """Return the keys of all entries by their names, without providers and the difference of dots and dashes."""
    found: dict[str, list[str]] = {}
    keys = list(_places())
    for key, folded in zip(keys, _folded("\n".join(keys)).split("\n"), strict=True):
        found.setdefault(folded.rpartition("/")[2], []).append(key)
    return found


def _folded(name: str) -> str:
    return name.lower().replace(".", "-").replace("_", "-")


def of_name(name: str) -> dict[str, dict[str, Any]]:
    """Return the entries by key of all models that chat and have this name, whoever serves them."""
    keys = _keys_by_name().get(_folded(name), ())
    found = {key: one for key in keys if (one := entry(key)) is not None}
    return {key: one for key, one in found.items() if one.get("mode") in MODES}


def find_model(ref: ModelRef) -> dict[str, Any] | None:
    """Return the entry of a model, by the names under which litellm itself looks for it."""
    for key in _spellings(ref):
        found = entry(key)
        if found is not None and _is_of(found, ref.provider):
            return completed(key, found)
    return None


def completed(key: str, found: dict[str, Any]) -> dict[str, Any]:
    """Return an entry with what is known of the model beside it: by the list of its whole family, and of long prompts."""
    provider = str(found.get("litellm_provider"))
    return {**_general(key, provider), **long_prompt_prices(key, provider), **found}


RULES = "fallback_generalizations"
"""Key of the entry with defaults for whole families of models, where a model's own entry lacks a fact."""


def _general(key: str, provider: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for pattern, providers, facts in _rules():
        if provider in providers and pattern.search(key):
            found |= facts
    return found


@cache
def _rules() -> tuple[tuple[re.Pattern[str], frozenset[str], dict[str, Any]], ...]:
    made = []
    for rule in (entry(RULES) or {}).get("rules", ()):
        providers = rule.get("fill_missing_for_providers")
        if providers and isinstance(rule.get("model_info"), dict):
            pattern = re.compile(rule["pattern"], re.IGNORECASE)
            made.append((pattern, frozenset(providers), rule["model_info"]))
    return tuple(made)


REGION = re.compile(
    r"^(?:us|us-gov|eu|apac|ap|au|ca|jp|global|amer|sa)\.|^[a-z]{2}(?:-[a-z]+)+-\d/"
)
"""The region before the name of a Bedrock model."""
COPY = re.compile(r"-\d{4}-\d{2}-\d{2}$")
NUMBER = re.compile(r"-\d+$")


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
    elif ref.provider == PUBLISHED:
        yield from (f"meta/{ref.name}", f"{ref.id}@latest", f"{ref.name}@latest")
    copied = NUMBER if ref.provider in NUMBERED else COPY
    short = copied.sub("", ref.name)
    yield from (f"{ref.provider}/{short}", short, f"{ref.provider}/{ref.id}")


def _is_of(found: dict[str, Any], provider: str) -> bool:
    """Tell whether an entry is about a provider's model; some providers have several names."""
    said = found.get("litellm_provider")
    if said is None or said == provider:
        return True
    family = next((one for one in FAMILIES if provider.startswith(one)), None)
    return family is not None and str(said).startswith(family)


def provider_of(name: str) -> str | None:
    """Return the provider of a model that is named without one."""
    found = entry(name)
    provider = found.get("litellm_provider") if found else None
    return provider if isinstance(provider, str) else None


@cache
def _models() -> dict[str, tuple[str, ...]]:
    """Return all names of each provider's models that chat."""
    found: dict[str, list[str]] = {}
    for key, value in json.loads(_text() or "{}").items():
        said = str(value.get("litellm_provider") or "")
        provider = next((one for one in FAMILIES if said.startswith(one)), said)
        head, _, tail = key.partition("/")
        name = tail if tail and head in (provider, said) else key
        if value.get("mode") in MODES and not (tail and name == key and head in found):
            found.setdefault(provider, []).append(name)
            if value.get("supports_function_calling"):
                found.setdefault(f"{provider} tools", []).append(name)
    return {provider: tuple(sorted(set(names))) for provider, names in found.items()}


@cache
def chat_models() -> tuple[tuple[str, str], ...]:
    """Return the keys of all models that chat, with the provider that the list says for each."""
    return tuple(
        (key, str(value.get("litellm_provider") or ""))
        for key, value in json.loads(_text() or "{}").items()
        if value.get("mode") in MODES
    )


def every_name(provider: str) -> tuple[str, ...]:
    """Return all names of a provider's models that chat, dated copies too."""
    return _models().get(provider, ())


def model_names(provider: str) -> tuple[str, ...]:
    """Return the names of a provider's models that chat and call tools, dated copies left out."""
    return tuple(one for one in _models().get(f"{provider} tools", ()) if not ASIDE.search(one))


ASIDE = re.compile(
    r"\d{4}-?\d{2}-?\d{2}|-\d{4}$|-v\d+:|^ft:|audio|realtime|live|search|computer|tts|image|transcribe"
)
"""Names of dated copies and of models made for something else than a chat with tools."""


def price(found: dict[str, Any]) -> Price:
    """Return the prices of an entry, in dollars per million tokens."""
    services = tuple(
        ServicePrice(service_tier=tier, price=_tiered(found, suffix))
        for tier, suffix in zip(SERVICE_TIERS, ("_batches", "_flex", "_priority"), strict=True)
        if f"input_cost_per_token{suffix}" in found
    )
    return _tiered(found, "").model_copy(update={"services": services})


def _tiered(found: dict[str, Any], service: str) -> Price:
    tiers = []
    for name in found:
        match = LONG_PROMPT.match(name)
        if match:
            above = f"_above_{match[1]}k_tokens"
            tiers.append(PriceTier(above=int(match[1]) * 1000, price=_rates(found, above, service)))
    ordered = tuple(sorted(tiers, key=lambda tier: tier.above))
    return _rates(found, "", service).model_copy(update={"tiers": ordered})


INPUT = "input_cost_per_token"


def _rates(found: dict[str, Any], above: str, service: str) -> Price:
    return Price(
        input=_rate(found, INPUT, above, service),
        output=_rate(found, "output_cost_per_token", above, service),
        cache_read=_rate(found, "cache_read_input_token_cost", above, service),
        cache_write=_rate(found, "cache_creation_input_token_cost", above, service),
        cache_write_hour=_rate(found, "cache_creation_input_token_cost_above_1hr", above, service),
    )


def _rate(found: dict[str, Any], name: str, above: str, service: str) -> float | None:
    """Return a price of an entry in dollars per million tokens; None where it has none."""
    value = _value(found, name, above, service)
    return None if value is None else round(value * MILLION, 6)


def _value(found: dict[str, Any], name: str, above: str, service: str) -> float | None:
    """Return a price as it stands in an entry, else in the proportion that the entry has elsewhere.

    Of a long prompt in a batch the list mostly has the two apart, and of the cache often only the plain price: a
    provider charges reads and writes as multiples of the input.
    """
    exact = _number(found, f"{name}{above}{service}")
    if exact is not None or not (above or service):
        return exact
    if above and service:
        long, tier = _value(found, name, above, ""), _value(found, name, "", service)
        plain = _number(found, name)
        return long * tier / plain if long is not None and tier is not None and plain else tier
    plain, whole = _number(found, name), _number(found, INPUT)
    dearer = _number(found, f"{INPUT}{above}{service}")
    if plain is None or not whole or dearer is None or name.startswith("output"):
        return plain
    return plain * dearer / whole


def _number(found: dict[str, Any], name: str) -> float | None:
    value = found.get(name)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and value is not None else None
