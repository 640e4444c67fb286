"""Normalise the token usage that a provider reported, or estimate it.

Providers report the prompt with or without cached tokens, the answer with or without the
thinking, or nothing at all; here it becomes one ``Usage`` that counts every token once. An unknown
price makes the cost unknown, never zero.
"""

from collections.abc import Callable
from typing import Any

from palimpsest.transcript.values import Usage


def field(value: Any, *path: str) -> Any:
    """Read a nested field from objects or dicts; None where something is missing."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else getattr(value, name, None)
        if value is None:
            return None
    return value


def _count(value: Any) -> int:
    return int(value) if isinstance(value, int | float) and value == value and value > 0 else 0


def _first(report: Any, *paths: tuple[str, ...]) -> int:
    for path in paths:
        found = _count(field(report, *path))
        if found:
            return found
    return 0


def normalise(report: Any) -> Usage | None:
    """Convert litellm's report, whose prompt includes cached tokens, to a ``Usage``.

    None when nothing was reported, or only zeros, as some local servers do.
    """
    prompt = _count(field(report, "prompt_tokens"))
    completion = _count(field(report, "completion_tokens"))
    if not prompt and not completion:
        return None
    read = _first(
        report,
        ("cache_read_input_tokens",),
        ("prompt_tokens_details", "cached_tokens"),
        ("prompt_cache_hit_tokens",),
    )
    write = _first(
        report,
        ("cache_creation_input_tokens",),
        ("prompt_tokens_details", "cache_creation_tokens"),
        ("prompt_tokens_details", "cache_write_tokens"),
    )
    reasoning = _count(field(report, "completion_tokens_details", "reasoning_tokens"))
    total = _count(field(report, "total_tokens"))
    apart = reasoning and (reasoning > completion or total == prompt + completion + reasoning)
    return Usage(
        input=max(0, prompt - read - write),
        output=completion if apart else completion - reasoning,
        reasoning=reasoning,
        cache_read=read,
        cache_write=write,
        total=total or None,
    )


def estimate(
    prompt: str,
    text: str,
    reasoning: str,
    count: Callable[[str], int],
    reported: Usage | None = None,
) -> Usage:
    """Count with our own tokenizer what a provider did not report."""
    if reported is not None and reported.prompt:
        return reported.model_copy(
            update={"output": count(text), "reasoning": count(reasoning), "estimated": True}
        )
    return Usage(
        input=count(prompt), output=count(text), reasoning=count(reasoning), estimated=True
    )
