"""Normalise the token usage that a provider reported, or estimate it.

Providers report the prompt with or without cached tokens, the answer with or without the thinking, or nothing at all;
here it becomes one ``Usage`` that counts every token once. A report with an impossible number is ignored in favour of
our own tokenizer, since it could otherwise lift a spending limit. An unknown price makes the cost unknown, never zero.
"""

from collections.abc import Callable
from typing import Any

from palimpsest.transcript.values import MAX_TOKENS, Usage, priced_tier


def nested_field(value: Any, *path: str) -> Any:
    """Read a nested field from objects or dicts; None where something is missing."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else getattr(value, name, None)
        if value is None:
            return None
    return value


def dicts_of(value: Any) -> list[dict[str, Any]]:
    """Return the dicts of a list; empty for any other value."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


HOUR_CACHE_PATH = (
    "prompt_tokens_details",
    "cache_creation_token_details",
    "ephemeral_1h_input_tokens",
)
"""Path of the tokens that were written to the cache for an hour."""
CACHE_READ_PATHS = (
    ("cache_read_input_tokens",),
    ("prompt_tokens_details", "cached_tokens"),
    ("prompt_cache_hit_tokens",),
)
CACHE_WRITE_PATHS = (
    ("cache_creation_input_tokens",),
    ("prompt_tokens_details", "cache_creation_tokens"),
    ("prompt_tokens_details", "cache_write_tokens"),
)
REASONING_PATH = ("completion_tokens_details", "reasoning_tokens")
TOKEN_COUNT_PATHS = (
    *(("prompt_tokens",), ("completion_tokens",), ("total_tokens",)),
    *CACHE_READ_PATHS,
    *CACHE_WRITE_PATHS,
    HOUR_CACHE_PATH,
    REASONING_PATH,
)
"""Paths of the token counts in a report."""


def is_possible(value: Any) -> bool:
    """Return whether a value is a possible number of tokens: finite, not negative, below a billion."""
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and 0 <= value <= MAX_TOKENS  # false for NaN
    )


def _token_count(value: Any) -> int:
    return int(value) if value is not None else 0


def _first_number(report: Any, *paths: tuple[str, ...]) -> int:
    return next(filter(None, (_token_count(nested_field(report, *path)) for path in paths)), 0)


def normalise_usage(report: Any) -> Usage | None:
    """Convert litellm's report, whose prompt includes cached tokens, to a ``Usage``.

    None when nothing was reported, or only zeros, as some local servers do, or a number is impossible.
    """
    counts = [nested_field(report, *path) for path in TOKEN_COUNT_PATHS]
    if not all(is_possible(value) for value in counts if value is not None):
        return None
    prompt = _token_count(nested_field(report, "prompt_tokens"))
    completion = _token_count(nested_field(report, "completion_tokens"))
    if not prompt and not completion:
        return None
    cache_read = _first_number(report, *CACHE_READ_PATHS)
    cache_write = _first_number(report, *CACHE_WRITE_PATHS)
    hour_cache_tokens = nested_field(report, *HOUR_CACHE_PATH)
    reasoning = _token_count(nested_field(report, *REASONING_PATH))
    total_tokens = _token_count(nested_field(report, "total_tokens"))
    is_sum = total_tokens == prompt + completion + reasoning
    is_reasoning_separate = reasoning and (reasoning > completion or is_sum)
    return Usage(
        input=max(0, prompt - cache_read - cache_write),
        output=completion if is_reasoning_separate else completion - reasoning,
        reasoning=reasoning,
        cache_read=cache_read,
        cache_write=cache_write,
        cache_write_hour=min(cache_write, _token_count(hour_cache_tokens))
        if hour_cache_tokens is not None
        else None,
        service_tier=priced_tier(nested_field(report, "service_tier")),
        total=total_tokens or None,
    )


def openai_report(usage: Usage) -> dict[str, Any]:
    """Return usage in OpenAI's format: prompt tokens include cached ones, completion tokens reasoning."""
    completion = usage.output + usage.reasoning
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": completion,
        "total_tokens": usage.prompt + completion,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }


def with_estimates(
    prompt: str,
    text: str,
    reasoning: str,
    count_tokens: Callable[[str], int],
    reported_usage: Usage | None = None,
) -> Usage:
    """Add our own token counts for the prompt, the answer, or both, where the provider reported none."""
    usage = reported_usage if reported_usage is not None else Usage()
    update: dict[str, int | bool | None] = {"estimated": True}
    if not usage.prompt:
        update |= {"input": count_tokens(prompt), "total": None}
    if not usage.output + usage.reasoning:
        update |= {"output": count_tokens(text), "reasoning": count_tokens(reasoning)}
    return usage.model_copy(update=update)


def usage_as_openai(usage: dict[str, Any]) -> dict[str, Any]:
    """Return Anthropic's usage report in OpenAI's form, whose prompt includes cached tokens."""
    reports = [report for report in usage.get("iterations") or () if isinstance(report, dict)] or [
        usage
    ]
    cache_read = _sum("cache_read_input_tokens", reports)
    cache_write = _sum("cache_creation_input_tokens", reports)
    prompt = _sum_of(_sum("input_tokens", reports), cache_read, cache_write)
    completion = _sum("output_tokens", reports)
    hour_path = ("cache_creation", "ephemeral_1h_input_tokens")
    hour_counts = [
        count for report in reports if (count := nested_field(report, *hour_path)) is not None
    ]
    hour_tokens = _sum_of(*hour_counts) if hour_counts else nested_field(usage, *hour_path)
    write_details = {"ephemeral_1h_input_tokens": hour_tokens}
    reasoning_path = ("output_tokens_details", "thinking_tokens")
    reasoning_counts = [nested_field(report, *reasoning_path) for report in reports]
    reasoning_tokens = None if None in reasoning_counts else _sum_of(*reasoning_counts)
    if isinstance(reasoning_tokens, int) and isinstance(completion, int):
        reasoning_tokens = min(max(0, reasoning_tokens), completion)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": _sum_of(prompt, completion),
        "cache_read_input_tokens": cache_read,
        "cache_creation_input_tokens": cache_write,
        "prompt_tokens_details": {"cache_creation_token_details": write_details},
        "completion_tokens_details": {"reasoning_tokens": reasoning_tokens},
        "service_tier": usage.get("service_tier"),
    }


def _sum(name: str, reports: list[dict[str, Any]]) -> Any:
    return _sum_of(*(report.get(name) or 0 for report in reports))


def _sum_of(*values: Any) -> Any:
    """Return a sum; with any value that is no number, an impossible value that invalidates the whole report."""
    if any(isinstance(value, bool) or not isinstance(value, int | float) for value in values):
        return "no number"
    return sum(values)
