"""Phrases on how a cache break could have been avoided, with the cost where it is known."""

import math

from palimpsest.context_policies.prompt_cache.cache_lifetime import cache_lifetime
from palimpsest.context_policies.prompt_cache.recorded_clock import behind_the_clock
from palimpsest.context_policies.prompt_cache.ruler import PriceProfile, amount_with_unit
from palimpsest.review.tables.cache_breaks import CacheBreak
from palimpsest.transcript.timeline import Timeline

MAX_WARMINGS = 12
"""Maximum requests that are suggested for keeping a cache warm: those of an hour, for a cache of five minutes."""
_REMEDIES = {
    "model": "the same model until the turn's end",
    "tools": "the same tools for the whole session",
    "system prompt": "what changes told at the end, not in the system prompt",
    "compacted": "a larger window, or fewer outputs in it",
    "pruned": "fewer, larger batches",
    "reverted": "",
    "rewritten": "the messages before sent as they were",
    "client": "the same version until the session's end",
    "effort": "the same effort",
    "late": "",
    "unexplained": "",
}


def avoided_by(timeline: Timeline, cache_break: CacheBreak, price: PriceProfile) -> str:
    """Return how a break could have been avoided; empty where no way is known, or where it would cost more."""
    if cache_break.cause != "idle":
        return _REMEDIES.get(cache_break.cause, "")
    before, request = (
        timeline.requests[cache_break.compared_request],
        timeline.requests[cache_break.request],
    )
    started_ms, previous_end = request.started, before.ended or before.started
    if started_ms is None or previous_end is None or before.index in behind_the_clock(timeline):
        return ""
    # A request just before the lifetime ends reads the prefix once and keeps it for another lifetime.
    lifetime = cache_lifetime(timeline).seconds
    request_count = math.ceil((started_ms - previous_end) / 1000 / lifetime) - 1
    cost = request_count * price.cost(0, cache_break.expected, 0, 0, terms=request.terms)
    if not 0 < request_count <= MAX_WARMINGS or cost >= cache_break.cost:
        return ""
    requests = "a request" if request_count == 1 else f"{request_count} requests"
    amount = amount_with_unit(cost, price.unit, "estimate")
    return f"{requests} to keep the cache warm ({amount})"
