"""The names of the pruning rules, their numbers, and the sentences that explain their decisions.

Border: values and text. ``context/reduction/pruning.py`` makes the decisions, with a function for each
rule. Sentences are made when they are displayed, so that better wording reaches old sessions too; the numbers in
a log are untrusted, and a missing one is left out of the sentence.
"""

from typing import Literal, TypeGuard, assert_never, get_args

from palimpsest.transcript.strings.number_words import (
    Numbers,
    duration,
    joined_sentences,
    kept_ends_text,
    number_of,
    number_text,
)
from palimpsest.transcript.values import Value

PRUNE_RULE = "prune/"
"""Prefix of the rule of every pruning decision; a restore with this prefix was not made by the user."""

PruneRule = Literal["none", "opencode", "cache-ttl", "batch"]


class PrunePolicy(Value):
    """Which old tool outputs are cleared from later requests, and when."""

    rule: PruneRule = "batch"
    """``opencode``: after a turn, outputs older than the newest tokens are cleared permanently. ``cache-ttl``: before
    a request, when the provider's cache is cold. ``batch``: the default; permanently, many outputs at once."""
    protect_turns: int = 2
    """Number of newest turns whose outputs stay."""
    protect_tokens: int = 40_000
    """Number of newest tokens of tool output that stay."""
    minimum_tokens: int = 20_000
    """Minimum tokens that are cleared at once; below that nothing is cleared."""
    full_window: int = 128_000
    """Window below which ``batch`` reduces ``protect_tokens`` and ``minimum_tokens`` in proportion to the window."""
    minimum_scaled: Literal["share", "square"] = "share"
    """``share``: ``minimum_tokens`` is reduced in proportion below ``full_window``. ``square``: by the square of that
    share, since a small window is summarised often, and a summary costs more than a batch."""
    protected_tools: tuple[str, ...] = ("skill",)
    """Tools whose outputs are never cleared."""
    start_share: float = 0.7
    """Share of the budget below which ``batch`` clears nothing while the provider's cache is warm."""
    target_share: float = 0.5
    """Share of the budget to which ``batch`` reduces a request that comes near the budget."""
    ttl_seconds: float = 300.0
    """Seconds without use after which a provider's prompt cache counts as cold."""
    keep_assistants: int = 3
    """Number of the model's newest answers since which ``cache-ttl`` changes no output."""
    soft_ratio: float = 0.3
    """Share of the window from which on ``cache-ttl`` shortens old outputs."""
    hard_ratio: float = 0.5
    """Share of the window from which on ``cache-ttl`` clears old outputs."""
    hard_clear: bool = True
    """Whether ``cache-ttl`` may clear outputs; else it only shortens them."""
    min_prunable_chars: int = 50_000
    """Minimum characters of all clearable outputs together for ``cache-ttl`` to clear any."""
    soft_max_chars: int = 4_000
    """Characters above which ``cache-ttl`` shortens an output."""
    soft_head_chars: int = 1_500
    """Characters kept of the head of a shortened output."""
    soft_tail_chars: int = 1_500
    """Characters kept of the tail of a shortened output."""
    placeholder: str = "[Old tool result content cleared]"
    """Text in place of a cleared output."""
    recall: bool = True
    """Whether the placeholder of ``batch`` explains how to recall the output; as in ``truncate``."""
    allow_tools: tuple[str, ...] = ()
    """Tools to whose outputs ``cache-ttl`` is limited; empty means all, and ``*`` matches any text."""
    deny_tools: tuple[str, ...] = ()
    """Tools whose outputs ``cache-ttl`` never changes."""
    sticky: bool = True
    """Whether a decision of ``cache-ttl`` applies to later requests too; else to one request only."""
    media: Literal["spared", "removed"] = "removed"
    """Whether ``cache-ttl`` skips results with images, or removes the images."""
    wide_chars: bool = True
    """Whether ``cache-ttl`` counts a Chinese, Japanese or Korean character as four."""


def is_prune_rule(name: str) -> TypeGuard[PruneRule]:
    """Return whether this is the name of a pruning rule."""
    return name in get_args(PruneRule)


def why_pruned(rule: PruneRule, numbers: Numbers) -> str:
    """Return sentences on why a rule cleared or shortened an output, with the numbers that were recorded."""
    match rule:
        case "none":
            return ""
        case "opencode":
            return _opencode_sentences(numbers)
        case "cache-ttl":
            return _cache_ttl_sentences(numbers)
        case "batch":
            return joined_sentences(
                _outputs_sentence(numbers), _time_sentence(numbers), _batch_sentence(numbers)
            )
        case _:
            assert_never(rule)


def _opencode_sentences(numbers: Numbers) -> str:
    tokens = number_text(numbers, "protect_tokens")
    reached_tokens = number_text(numbers, "reached_tokens")
    if not tokens:
        return ""
    position = f" (it stood at {reached_tokens})" if reached_tokens else ""
    return joined_sentences(
        f"Older than the newest {tokens} tokens of tool output{position}.",
        _batch_sentence(numbers),
    )


def _cache_ttl_sentences(numbers: Numbers) -> str:
    age = number_of(numbers, "cache_age_seconds")
    if age is None:
        return kept_ends_text(numbers)
    sentence = f"The provider's cache had not been used for {duration(age)}, so that a change cost nothing."
    return joined_sentences(sentence, kept_ends_text(numbers))


def _outputs_sentence(numbers: Numbers) -> str:
    match numbers.get("reason"):
        case "read-again":
            return "The same file was read again later."
        case "changed":
            return "The file was changed later."
        case _:
            tokens = number_text(numbers, "protect_tokens")
            return f"Older than the newest {tokens} tokens of tool output." if tokens else ""


def _time_sentence(numbers: Numbers) -> str:
    if numbers.get("cold"):
        return "The provider's cache was cold, so that a change cost nothing."
    used_tokens = number_text(numbers, "used_tokens")
    start_tokens = number_text(numbers, "start_tokens")
    if not used_tokens or not start_tokens:
        return ""
    return f"The request had grown to {used_tokens} tokens, and from {start_tokens} on old outputs are cleared."


def _batch_sentence(numbers: Numbers) -> str:
    batch_tokens = number_text(numbers, "batch_tokens")
    minimum_tokens = number_text(numbers, "minimum_tokens")
    if not batch_tokens:
        return ""
    minimum = f" ({minimum_tokens} are the least that is worth a change)" if minimum_tokens else ""
    return f"{batch_tokens} tokens went at once{minimum}."
