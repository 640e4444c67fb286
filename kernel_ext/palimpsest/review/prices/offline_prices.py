"""Prices and limits of models from lists on the disk: litellm's list, and this package's list of retired models.

It needs neither network nor key, and does not import litellm.
"""

from typing import Any

from palimpsest.model.catalog import litellm_table
from palimpsest.model.catalog.gateway_names import meant_model
from palimpsest.model.catalog.long_prompt_prices import LONG_PROMPT_SOURCE, long_prompt_prices
from palimpsest.model.catalog.model_info import parse_model
from palimpsest.model.catalog.retired_prices import RETIRED_SOURCE, retired_price
from palimpsest.transcript.errors import ConfigError
from palimpsest.transcript.values import Price


def offline_price(model: str) -> Price | None:
    """Return a model's price; None where no list knows the model."""
    entry = _entry(model)
    return litellm_table.price(entry) if entry is not None else retired_price(model)


def offline_source(model: str) -> str:
    """Return the list from which a known price comes, with its day."""
    if _entry(model) is None:
        return RETIRED_SOURCE
    listed_name = offline_name(model)
    by_name = f"the name {listed_name} of " if listed_name is not None else ""
    key = (listed_name or model).rpartition("/")[2]
    is_long = bool(long_prompt_prices(key, "anthropic")) and bool(litellm_table.entry(key))
    long = f" (of long prompts from {LONG_PROMPT_SOURCE})" if is_long else ""
    return by_name + litellm_table.list_name() + long


def offline_window(model: str) -> int:
    """Return the most tokens that a model accepts in a request; 0 where the list does not contain the model."""
    limit = (_entry(model) or {}).get("max_input_tokens")
    return limit if isinstance(limit, int) else 0


def offline_name(model: str) -> str | None:
    """Return the name under which the list has a model that it does not have by its own name; else None."""
    try:
        ref = parse_model(model)
    except ConfigError:
        return None
    return meant_model(ref).key if litellm_table.find_model(ref) is None else None


def _entry(model: str) -> dict[str, Any] | None:
    try:
        ref = parse_model(model)
    except ConfigError:
        return None
    return litellm_table.find_model(ref) or meant_model(ref).facts or None
