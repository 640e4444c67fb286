"""Change a request's ruler, which says what the provider's cache holds, to what a cache policy would give."""

from palimpsest.context_policies.presets.cache_keeping import CacheKeeping, ProviderCache
from palimpsest.context_policies.prompt_cache.ruler import RequestRuler


def with_cache_policy(policy: CacheKeeping, ruler: RequestRuler) -> RequestRuler:
    """Return a request's ruler under a cache policy."""
    if policy.lifetime is not None:
        # A recording that wrote prompts and never read them may have had pauses longer than the lifetime.
        is_cached = ruler.is_cached or ruler.unwritten_tokens is not None
        ruler = ruler._replace(lifetime_seconds=policy.lifetime, is_cached=is_cached)
    if not policy.keeps_as_recorded:
        ruler = ruler._replace(is_cached=True, unwritten_tokens=ruler.unwritten_tokens or 0.0)
    if isinstance(policy, ProviderCache):
        ruler = ruler._replace(
            min_cached=policy.minimum,
            read_step=policy.block,
            # An answer that the recorded cache did not hold is not added: with its thinking it may not be cached here either.
            cached_beyond=ruler.cached_beyond
            if policy.rules.keeps_answers
            else min(ruler.cached_beyond, 0),
            starts_anew_by_thinking=policy.rules.starts_anew_by_thinking,
        )
    return ruler
