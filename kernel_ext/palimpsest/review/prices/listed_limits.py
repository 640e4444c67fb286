"""Context limits that a recording does not state, from litellm's list of models on the disk."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from palimpsest.model.catalog import litellm_table
from palimpsest.review.prices.offline_prices import offline_name, offline_window
from palimpsest.transcript.timeline import Timeline


@dataclass(frozen=True, slots=True)
class ListedLimits:
    """The most tokens that models accept in a request, from a list."""

    by_model: Mapping[str, int] = field(default_factory=dict)
    source_sentence: str = ""
    """The source of these limits, in one sentence; empty where there are none."""


def listed_limits(timeline: Timeline) -> ListedLimits:
    """Return the limits of those models whose limit no request recorded.

    A model that received more tokens than its listed limit had another limit, so it is left out.
    """
    max_prompts: dict[str, int] = {}
    models_with_limit: set[str] = set()
    for request in timeline.requests:
        if request.window:
            models_with_limit.add(request.model)
        else:
            max_prompts[request.model] = max(
                max_prompts.get(request.model, 0), request.reported or 0
            )
    windows = {
        model: offline_window(model)
        for model in max_prompts
        if model and model not in models_with_limit
    }
    limits = {
        model: limit for model, limit in windows.items() if limit >= max(max_prompts[model], 1)
    }
    return ListedLimits(limits, _limits_text(limits)) if limits else ListedLimits()


def _limits_text(limits: Mapping[str, int]) -> str:
    named = ", ".join(
        f"{size:,} tokens of {model}{_by_name(model)}" for model, size in limits.items()
    )
    word = "limit is" if len(limits) == 1 else "limits are"
    return f"The {word} not in the recording, but from {litellm_table.list_name()}: {named}."


def _by_name(model: str) -> str:
    name = offline_name(model)
    return f" (by the name {name})" if name is not None else ""
