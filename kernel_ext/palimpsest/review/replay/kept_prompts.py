"""How a request is read and written where a policy of the cache keeps prompts otherwise than the recording."""

from palimpsest.review.policies.cache_keeping import CacheKeeping
from palimpsest.review.replay.ruler import RequestRuler


def kept_otherwise(policy: CacheKeeping, ruler: RequestRuler) -> RequestRuler:
    """Return how a request is cached by a policy of the cache."""
    if policy.lifetime is not None:
        # Where prompts are written and were never read, pauses may be why.
        is_cached = ruler.is_cached or ruler.uncached is not None
        ruler = ruler._replace(lifetime_seconds=policy.lifetime, is_cached=is_cached)
    if not policy.keeps_as_recorded:
        ruler = ruler._replace(is_cached=True, uncached=ruler.uncached or 0.0)
    return ruler
