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
    """Return the name and date of the list from which ``offline_price`` takes a model's price."""
    if _entry(model) is None:
        return RETIRED_SOURCE
    listed_name = offline_name(model)
    listed_under = f"the name {listed_name} of " if listed_name is not None else ""
    key = (listed_name or model).rpartition("/")[2]
    has_long_prompt_prices = bool(long_prompt_prices(key, "anthropic")) and bool(
        litellm_table.entry(key)
    )
    long_prompt_source = (
        f" (of long prompts from {LONG_PROMPT_SOURCE})" if has_long_prompt_prices else ""
    )
    return listed_under + litellm_table.list_name() + long_prompt_source


def offline_window(model: str) -> int:
    """Return the most tokens that a model accepts in a request; 0 where the list does not contain the model."""
    limit = (_entry(model) or {}).get("max_input_tokens")
    return limit if isinstance(limit, int) else 0


def offline_name(model: str) -> str | None:
    """Return the other name under which litellm's list has a model; None where it has the model's own name, or neither."""
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
