"""The names of the pruning rules, their numbers, and the sentences that explain their decisions.

Border: values and text. ``context/reduction/pruning.py`` makes the decisions, with a function for each
rule. Sentences are made when they are read, so that better wording reaches old sessions too; numbers of
a log are data, and where one is missing the sentence says less.
"""

from typing import Literal, TypeGuard, assert_never, get_args

from palimpsest.transcript.strings.number_words import (
    Numbers,
    duration,
    joined_sentences,
    kept_ends_text,
    number,
    number_of,
)
from palimpsest.transcript.values import Value

PRUNE_RULE = "prune/"
"""Prefix of the rule of every pruning decision; a restore with this prefix was not made by a person."""

PruneRule = Literal["none", "opencode", "cache-ttl", "batch"]


class PrunePolicy(Value):
    """When old tool outputs are cleared from later requests, and which."""

    rule: PruneRule = "batch"
    """``opencode``: after a turn, what lies behind the newest tokens, for good. ``cache-ttl``:
    for one request, when the provider's cache is cold. ``batch``: ours, sticky and in batches."""
    protect_turns: int = 2
    """The newest turns, whose outputs stay."""
    protect_tokens: int = 40_000
    """The newest tokens of tool output, which stay."""
    minimum_tokens: int = 20_000
    """Nothing is cleared unless this many tokens go at once."""
    full_window: int = 128_000
    """Under this window, ``batch`` scales both numbers of tokens down to shares of the window."""
    minimum_scaled: Literal["share", "square"] = "share"
    """``square``: there ``minimum_tokens`` is scaled by the square of that share, since a small window is summarised often, and
    a summary costs more than a batch."""
    protected_tools: tuple[str, ...] = ("skill",)
    """Tools whose outputs are never cleared."""
    start_share: float = 0.7
    """``batch`` prunes a warm cache only from this share of the budget on."""
    target_share: float = 0.5
    """Near the budget, ``batch`` clears until the request is down to this share of it."""
    ttl_seconds: float = 300.0
    """Age at which a provider's prompt cache is taken for cold."""
    keep_assistants: int = 3
    """``cache-ttl`` leaves alone what came since this many answers of the model."""
    soft_ratio: float = 0.3
    """``cache-ttl`` shortens old outputs from this share of the window on."""
    hard_ratio: float = 0.5
    """``cache-ttl`` clears old outputs from this share of the window on."""
    hard_clear: bool = True
    """``cache-ttl`` may clear outputs, and not only shorten them."""
    min_prunable_chars: int = 50_000
    """``cache-ttl`` clears only where at least this many characters could go."""
    soft_max_chars: int = 4_000
    """``cache-ttl`` shortens outputs longer than this."""
    soft_head_chars: int = 1_500
    """Characters kept of the head of a shortened output."""
    soft_tail_chars: int = 1_500
    """Characters kept of the tail of a shortened output."""
    placeholder: str = "[Old tool result content cleared]"
    """Stands where an output was cleared."""
    recall: bool = True
    """What ``batch`` puts in the place of an output says how to recall it; as in ``truncate``."""
    allow_tools: tuple[str, ...] = ()
    """``cache-ttl`` prunes these tools only, if any are named; ``*`` stands for anything."""
    deny_tools: tuple[str, ...] = ()
    """And never these."""
    sticky: bool = True
    """What ``cache-ttl`` decided holds in later requests; else for one request only."""
    media: Literal["spared", "removed"] = "removed"
    """``cache-ttl`` passes over results with images, or takes the images out."""
    wide_chars: bool = True
    """``cache-ttl`` counts a Chinese, Japanese or Korean character as four."""


def is_prune_rule(name: str) -> TypeGuard[PruneRule]:
    """Return whether a rule of pruning has this name."""
    return name in get_args(PruneRule)


def why_pruned(rule: PruneRule, numbers: Numbers) -> str:
    """Return why a rule cleared or shortened an output, as far as its recorded numbers show."""
    match rule:
        case "none":
            return ""
        case "opencode":
            return _opencode(numbers)
        case "cache-ttl":
            return _cache_ttl(numbers)
        case "batch":
            return joined_sentences(_which_outputs(numbers), _why_now(numbers), _at_once(numbers))
        case _:
            assert_never(rule)


def _opencode(numbers: Numbers) -> str:
    protect, reached = number(numbers, "protect_tokens"), number(numbers, "reached_tokens")
    if not protect:
        return ""
    position = f" (it stood at {reached})" if reached else ""
    return joined_sentences(
        f"Older than the newest {protect} tokens of tool output{position}.", _at_once(numbers)
    )


def _cache_ttl(numbers: Numbers) -> str:
    age = number_of(numbers, "cache_age_seconds")
    if age is None:
        return kept_ends_text(numbers)
    words = f"The provider's cache had not been used for {duration(age)}, so that a change cost nothing."
    return joined_sentences(words, kept_ends_text(numbers))


def _which_outputs(numbers: Numbers) -> str:
    match numbers.get("reason"):
        case "read-again":
            return "The same file was read again later."
        case "changed":
            return "The file was changed later."
        case _:
            protect = number(numbers, "protect_tokens")
            return f"Older than the newest {protect} tokens of tool output." if protect else ""


def _why_now(numbers: Numbers) -> str:
    if numbers.get("cold"):
        return "The provider's cache was cold, so that a change cost nothing."
    used, start = number(numbers, "used_tokens"), number(numbers, "start_tokens")
    if not used or not start:
        return ""
    return f"The request had grown to {used} tokens, and from {start} on old outputs are cleared."


def _at_once(numbers: Numbers) -> str:
    batch, least = number(numbers, "batch_tokens"), number(numbers, "minimum_tokens")
    if not batch:
        return ""
    worth = f" ({least} are the least that is worth a change)" if least else ""
    return f"{batch} tokens went at once{worth}."
