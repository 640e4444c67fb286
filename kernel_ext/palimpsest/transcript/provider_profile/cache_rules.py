"""Rules of providers' prompt caches: minimum of tokens, block size, lifetime, and whether answers are cached.

Border: pure, no I/O. What a recording shows takes precedence over these rules.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from palimpsest.transcript.provider_profile.profile import profile
from palimpsest.transcript.values import ModelRef


@dataclass(frozen=True, slots=True)
class CacheRules:
    """The rules of one prompt cache, in tokens."""

    minimum: int = 0
    """Minimum tokens of a prompt that is cached."""
    step: int = 1
    """Block size: the number of cached tokens is a multiple of this."""
    lifetime_seconds: int = 300
    """Seconds for which a prefix is kept after its last use, without a choice; where a provider names a range, the least."""
    keeps_answers: bool = False
    """Whether an answer is already in the cache when the next request sends it back; else that request writes it."""
    marks_end: bool = False
    """Whether only the request up to a cache mark is written to the cache."""
    starts_anew_by_thinking: bool = False
    """Whether the cache is lost when thinking is switched on or off between two requests."""
    source: str = ""
    """The page that documents the rules, or how they were measured, with month and year."""


_OPENAI = CacheRules(
    1_024,
    128,
    keeps_answers=True,
    source="docs.aihubmix.com/en/practices/prompt-caching, 11/2026: from 1,024 tokens on; steps and answers are measured on a"
    " recording of Codex, whose reads are the prompt before with its answer, cut to 128, to the token; lifetime of"
    " developers.openai.com/docs/guides/prompt-caching, 11/2026: 5 to 10 minutes without use, at most an hour",
)
_DEEPSEEK = CacheRules(
    64,
    64,
    lifetime_seconds=7_200,
    source="chuizi.ai/docs/guides/prompt-caching, 11/2026: aligned to 64 tokens; lifetime of"
    " api-docs.deepseek.com/guides/kv_cache: a few hours to a few days, of which two hours are taken",
)
_CLAUDE = (
    "docs.orq.ai/docs/proxy/prompt-caching, 11/2026: the minimum of each model; lifetime of"
    " platform.claude.com/docs/en/build-with-claude/prompt-caching: five minutes, or an hour where it is asked for"
)
_GEMINI = (
    "docs.jiekou.ai/en/docs/feature/prompt-caching, 11/2026: 1,024 for Flash, 4,096 for Pro; no lifetime is documented, and"
    " simonwillison.net/2025/May/9/gemini-implicit-caching quotes its maker: a few minutes"
)
_CLAUDE_MINIMUMS = (
    (re.compile(r"(opus-4-[56]|haiku-4-5)"), 4_096),
    (re.compile(r"(haiku|sonnet-4-6)"), 2_048),
)
"""Tokens by the model's name."""
_USUAL_CLAUDE_MINIMUM = 1_024
"""Tokens for all other names."""


def cache_rules(model: str) -> CacheRules:
    """Return the rules for a model, given as ``provider/name``; the default rules where none are known."""
    return _cache_rules(*model.partition("/")[::2])


@lru_cache(maxsize=256)
def _cache_rules(provider: str, name: str) -> CacheRules:
    provider_profile = profile(ModelRef(provider=provider, name=name))
    if provider_profile.wire == "deepseek" or "deepseek" in name:
        return _DEEPSEEK
    if provider_profile.family == "anthropic":
        dashed_name = name.replace(".", "-")
        minimums = (tokens for model, tokens in _CLAUDE_MINIMUMS if model.search(dashed_name))
        minimum = next(minimums, _USUAL_CLAUDE_MINIMUM)
        return CacheRules(minimum, marks_end=True, starts_anew_by_thinking=True, source=_CLAUDE)
    if provider_profile.family == "openai":
        return _OPENAI
    if provider_profile.family == "gemini":
        return CacheRules(1_024 if "flash" in name else 4_096, source=_GEMINI)
    return CacheRules()
