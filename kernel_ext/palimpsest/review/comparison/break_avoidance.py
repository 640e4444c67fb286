"""What would have avoided a break of the cache, in words, with its price where one can be told."""

import math

from palimpsest.review.comparison.cache_breaks import CacheBreak
from palimpsest.review.replay.cache_lifetime import cache_lifetime
from palimpsest.review.replay.recorded_clock import behind_the_clock
from palimpsest.review.replay.ruler import PriceProfile, money_words
from palimpsest.transcript.timeline import Timeline

MOST_WARMINGS = 12
"""An hour of keeping a cache of five minutes warm; nobody waits longer for a saving."""
_WORDS = {
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


def avoided_by(timeline: Timeline, broken: CacheBreak, price: PriceProfile) -> str:
    """Return what would have avoided a break; empty where nothing is known to, or it would cost more."""
    if broken.cause != "idle":
        return _WORDS.get(broken.cause, "")
    before, request = timeline.requests[broken.before], timeline.requests[broken.request]
    started, ended = request.started, before.ended or before.started
    if started is None or ended is None or before.index in behind_the_clock(timeline):
        return ""
    # A request just before the lifetime ends reads the prefix once and keeps it as long again.
    lifetime = cache_lifetime(timeline).seconds
    times = math.ceil((started - ended) / 1000 / lifetime) - 1
    cost = times * price.cost(0, broken.expected, 0, 0, terms=request.terms)
    if not 0 < times <= MOST_WARMINGS or cost >= broken.cost:
        return ""
    requests = "a request" if times == 1 else f"{times} requests"
    amount = money_words(cost, price.unit, "estimate")
    return f"{requests} to keep the cache warm ({amount})"
