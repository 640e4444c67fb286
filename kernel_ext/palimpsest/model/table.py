"""Look models up in litellm's offline table, without importing litellm.

The table is three megabytes of JSON; one entry is found in it as text and parsed alone, which
takes a few milliseconds and keeps nothing but the entries that were asked for.
"""

import json
import re
from functools import cache
from importlib.util import find_spec
from json import JSONDecoder
from pathlib import Path
from typing import Any

from palimpsest.transcript.values import ModelRef, Price, PriceTier

TABLE_FILE = "model_prices_and_context_window_backup.json"
ENTRY = re.compile(r'^    "([^"]+)": \{', re.MULTILINE)
LONG_PROMPT = re.compile(r"^input_cost_per_token_above_(\d+)k_tokens$")
MILLION = 1_000_000


def path() -> Path | None:
    """Return where litellm keeps its table."""
    spec = find_spec("litellm")
    if spec is None or not spec.submodule_search_locations:
        return None
    found = Path(next(iter(spec.submodule_search_locations)), TABLE_FILE)
    return found if found.is_file() else None


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


def find(ref: ModelRef) -> dict[str, Any] | None:
    """Return the entry of a model: by full id, or by bare name when the provider agrees."""
    found = entry(ref.id)
    if found is not None:
        return found
    bare = entry(ref.name)
    return bare if bare is not None and bare.get("litellm_provider") == ref.provider else None


def provider_of(name: str) -> str | None:
    """Return the provider of a model that is named without one."""
    found = entry(name)
    provider = found.get("litellm_provider") if found else None
    return provider if isinstance(provider, str) else None


def names(provider: str) -> tuple[str, ...]:
    """Return the names of a provider's models that chat and call tools, dated copies left out."""
    whole: dict[str, Any] = json.loads(_text() or "{}")
    found = []
    for key, value in whole.items():
        head, _, tail = key.partition("/")
        name = tail if head == provider else key
        if (head == provider or not tail) and _serves(value, provider) and not ASIDE.search(name):
            _entries[key] = value
            found.append(name)
    return tuple(sorted(set(found)))


ASIDE = re.compile(
    r"\d{4}-?\d{2}-?\d{2}|-\d{4}$|-v\d+:|^ft:|audio|realtime|live|search|computer|tts|image|transcribe"
)
"""Names of dated copies and of models made for something else than a chat with tools."""


def _serves(found: dict[str, Any], provider: str) -> bool:
    return (
        found.get("litellm_provider") == provider
        and found.get("mode") in {"chat", "responses"}
        and bool(found.get("supports_function_calling"))
    )


def price(found: dict[str, Any]) -> Price:
    """Return the prices of an entry, in dollars per million tokens."""
    tiers = []
    for name in found:
        match = LONG_PROMPT.match(name)
        if match:
            above = f"_above_{match[1]}k_tokens"
            tiers.append(PriceTier(above=int(match[1]) * 1000, price=_rates(found, above)))
    ordered = tuple(sorted(tiers, key=lambda tier: tier.above))
    return _rates(found, "").model_copy(update={"tiers": ordered})


def _rates(found: dict[str, Any], suffix: str) -> Price:
    def rate(name: str) -> float | None:
        value = found.get(name + suffix, found.get(name))
        return round(float(value) * MILLION, 6) if isinstance(value, int | float) else None

    return Price(
        input=rate("input_cost_per_token"),
        output=rate("output_cost_per_token"),
        cache_read=rate("cache_read_input_token_cost"),
        cache_write=rate("cache_creation_input_token_cost"),
    )
