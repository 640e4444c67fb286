"""The limits of models that a recording does not tell, from litellm's list of models on the disk."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from palimpsest.model.catalog import litellm_table
from palimpsest.review.comparison.offline_prices import offline_name, offline_window
from palimpsest.transcript.timeline import Timeline


@dataclass(frozen=True, slots=True)
class ListedLimits:
    """The most tokens that models take in a request, by a list."""

    by_model: Mapping[str, int] = field(default_factory=dict)
    words: str = ""
    """From where they are, in one sentence; empty without one."""


def listed_limits(timeline: Timeline) -> ListedLimits:
    """Return the limits of those models whose limit no request recorded.

    A model that read more than the list says was called with another limit, so it is left out.
    """
    most: dict[str, int] = {}
    recorded: set[str] = set()
    for one in timeline.requests:
        if one.window:
            recorded.add(one.model)
        else:
            most[one.model] = max(most.get(one.model, 0), one.reported or 0)
    found = {model: offline_window(model) for model in most if model and model not in recorded}
    limits = {model: limit for model, limit in found.items() if limit >= max(most[model], 1)}
    return ListedLimits(limits, _words(limits)) if limits else ListedLimits()


def _words(limits: Mapping[str, int]) -> str:
    named = ", ".join(
        f"{limit:,} tokens of {model}{_by_name(model)}" for model, limit in limits.items()
    )
    word = "limit is" if len(limits) == 1 else "limits are"
    return f"The {word} not in the recording, but from {litellm_table.list_words()}: {named}."


def _by_name(model: str) -> str:
    name = offline_name(model)
    return f" (by the name {name})" if name is not None else ""
