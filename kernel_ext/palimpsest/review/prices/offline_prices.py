"""Prices and limits of models from lists on the disk: litellm's list, and this package's list of retired models.

It needs neither network nor key, and does not import litellm.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from palimpsest.model.catalog import litellm_table
from palimpsest.model.catalog.gateway_names import meant_model
from palimpsest.model.catalog.model_info import parse_model
from palimpsest.model.catalog.unlisted_prices import (
    LONG_PROMPT_SOURCE,
    RETIRED_SOURCE,
    long_prompt_prices,
    retired_price,
)
from palimpsest.transcript.errors import ConfigError
from palimpsest.transcript.timeline import Timeline
from palimpsest.transcript.values import Price


@dataclass(frozen=True, slots=True)
class ListedLimits:
    """The maximum tokens that models accept in a request, from a list."""

    by_model: Mapping[str, int] = field(default_factory=dict)
    source_sentence: str = ""
    """The source of these limits, in one sentence; empty where there are none."""


def offline_price(model: str) -> Price | None:
    """Return a model's price; None where no list knows the model."""
    entry = _listed_entry(model)
    return litellm_table.price(entry) if entry is not None else retired_price(model)


def offline_source(model: str) -> str:
    """Return the name and date of the list from which ``offline_price`` takes a model's price."""
    if _listed_entry(model) is None:
        return RETIRED_SOURCE
    listed_name = offline_name(model)
    listed_name_text = f"the name {listed_name} of " if listed_name is not None else ""
    key = (listed_name or model).rpartition("/")[2]
    long_prompt_source = ""
    if long_prompt_prices(key, "anthropic") and litellm_table.entry(key):
        long_prompt_source = f" (of long prompts from {LONG_PROMPT_SOURCE})"
    return listed_name_text + litellm_table.list_name() + long_prompt_source


def offline_window(model: str) -> int:
    """Return the maximum tokens that a model accepts in a request; 0 where the list does not contain the model."""
    limit = (_listed_entry(model) or {}).get("max_input_tokens")
    return limit if isinstance(limit, int) else 0


def offline_name(model: str) -> str | None:
    """Return the other name under which litellm's list has a model; None where it has the model's own name, or neither."""
    try:
        ref = parse_model(model)
    except ConfigError:
        return None
    return meant_model(ref).key if litellm_table.find_model(ref) is None else None


def _listed_entry(model: str) -> dict[str, Any] | None:
    try:
        ref = parse_model(model)
    except ConfigError:
        return None
    return litellm_table.find_model(ref) or meant_model(ref).facts or None


def listed_limits(timeline: Timeline) -> ListedLimits:
    """Return the limits of those models whose limit no request recorded.

    A model that received more tokens than its listed limit had another limit, so it is left out.
    """
    max_prompt_tokens: dict[str, int] = {}
    models_with_limit: set[str] = set()
    for request in timeline.requests:
        if request.window:
            models_with_limit.add(request.model)
        else:
            max_prompt = max(max_prompt_tokens.get(request.model, 0), request.reported or 0)
            max_prompt_tokens[request.model] = max_prompt
    windows = {
        model: offline_window(model)
        for model in max_prompt_tokens
        if model and model not in models_with_limit
    }
    limits = {
        model: limit
        for model, limit in windows.items()
        if limit >= max(max_prompt_tokens[model], 1)
    }
    return ListedLimits(limits, _limits_text(limits)) if limits else ListedLimits()


def _limits_text(limits: Mapping[str, int]) -> str:
    limits_text = ", ".join(
        f"{limit:,} tokens of {model}{_listed_name_remark(model)}"
        for model, limit in limits.items()
    )
    verb_phrase = "limit is" if len(limits) == 1 else "limits are"
    return f"The {verb_phrase} not in the recording, but from {litellm_table.list_name()}: {limits_text}."


def _listed_name_remark(model: str) -> str:
    name = offline_name(model)
    return f" (by the name {name})" if name is not None else ""
