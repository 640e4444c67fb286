"""Apply a cache policy to the reads and writes of a request."""

from palimpsest.context_policies.presets.cache_keeping import CacheKeeping
from palimpsest.context_policies.prompt_cache.ruler import RequestRuler


def with_cache_policy(policy: CacheKeeping, ruler: RequestRuler) -> RequestRuler:
    """Return a request's ruler under a cache policy."""
    if policy.lifetime is not None:
        # A recording that wrote prompts and never read them may have had pauses longer than the lifetime.
        is_cached = ruler.is_cached or ruler.uncached is not None
        ruler = ruler._replace(lifetime_seconds=policy.lifetime, is_cached=is_cached)
    if not policy.keeps_as_recorded:
        ruler = ruler._replace(is_cached=True, uncached=ruler.uncached or 0.0)
    return ruler
