"""How long the provider kept a prefix after its last use, as a recording tells or lets one conclude.

Border: pure, from reported usage and times alone. A recording tells it where it says for how long writes were
kept; else it is concluded from the pauses after which a prefix was still read, or was not.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from palimpsest.transcript.timeline import Timeline, TimelineRequest

MINUTES = 300.0
HOUR = 3_600.0
DAY = 86_400.0
LIFETIMES = (MINUTES, HOUR, DAY)
"""Seconds for which providers keep a prefix: five minutes and an hour (Anthropic), up to a day (OpenAI); 2026."""
LEAST_TOKENS = 1_024
"""A shorter prefix is not cached by all providers."""
KEPT_SHARE = 0.9
"""Of what the request before left in the cache; so much was read where it was still there."""
LOST_SHARE = 0.5
"""Where less was read, it was gone."""


@dataclass(frozen=True, slots=True)
class CacheLifetime:
    """The seconds for which a prefix is kept, and how they are known."""

    seconds: float
    words: str
    """A sentence; empty where there is no request."""


def cache_lifetime(timeline: Timeline) -> CacheLifetime:
    """Return how long the cache kept a prefix in a session; five minutes where nothing says otherwise."""
    return timeline.derived("cache lifetime", _found)


def lifetime_seconds(
    timeline: Timeline, is_known: Callable[[TimelineRequest], bool]
) -> Callable[[str], float]:
    """Return the lifetime of a model's cache, as some of the requests tell it or let one conclude it."""
    known = [one for one in timeline.requests if is_known(one)]
    hourly = {
        model
        for model in {one.model for one in known}
        if keeps_an_hour([one for one in known if one.model == model])
    }
    told = {
        one.model
        for one in known
        if one.usage is not None and one.usage.cache_write_hour is not None
    }
    concluded = _concluded(*_pauses(timeline, is_known))

    def of(model: str) -> float:
        if model in hourly:
            return HOUR
        return MINUTES if model in told else concluded

    return of


def keeps_an_hour(requests: Sequence[TimelineRequest]) -> bool:
    """Return whether most of what requests wrote to the cache is kept for an hour."""
    usages = [one.usage for one in requests if one.usage is not None]
    return 2 * sum(one.cache_write_hour or 0 for one in usages) > sum(
        one.cache_write for one in usages
    )


def _found(timeline: Timeline) -> CacheLifetime:
    if not timeline.requests:
        return CacheLifetime(MINUTES, "")
    if keeps_an_hour(timeline.requests):
        return CacheLifetime(
            HOUR, "The cache keeps a prefix for an hour, as the recorded writes asked for."
        )
    kept, lost = _pauses(timeline)
    seconds = _concluded(kept, lost)
    if seconds == MINUTES:
        how = (
            "it is assumed"
            if not lost or max(lost) <= MINUTES
            else "as the pauses of the recording say"
        )
        return CacheLifetime(MINUTES, f"The cache keeps a prefix for 300 s ({how}).")
    longest = max(one for one in kept if one <= seconds)
    return CacheLifetime(
        seconds,
        f"The cache keeps a prefix for {seconds:,.0f} s (after a pause of {longest:,.0f} s it was still read).",
    )


def _concluded(kept: Sequence[float], lost: Sequence[float]) -> float:
    """Return the lifetime that the fewest pauses contradict."""
    against = {
        lifetime: sum(one > lifetime for one in kept)
        + sum(MINUTES < one <= lifetime for one in lost)
        for lifetime in LIFETIMES
    }
    return min(LIFETIMES, key=lambda one: (against[one], one))


def _pauses(
    timeline: Timeline, is_known: Callable[[TimelineRequest], bool] = lambda _: True
) -> tuple[list[float], list[float]]:
    """Return the seconds of pauses after which the prefix was still read, and of those after which it was gone.

    Requests before which something in the context changed say nothing of that.
    """
    changed = {one.request for one in timeline.transitions}
    changed |= {one.request for one in timeline.events if one.kind != "idle"}
    kept: list[float] = []
    lost: list[float] = []
    for before, after in pairwise(timeline.requests):
        if before.usage is None or after.usage is None or after.index in changed:
            continue
        if not (is_known(before) and is_known(after)):
            continue
        same = (
            before.model == after.model
            and before.system_hash == after.system_hash
            and before.tools_hash == after.tools_hash
        )
        seconds = after.seconds_since(before)
        held = before.usage.cache_read + before.usage.cache_write
        if not same or seconds is None or held < LEAST_TOKENS:
            continue
        if after.usage.cache_read >= KEPT_SHARE * held:
            kept.append(seconds)
        elif after.usage.cache_read < LOST_SHARE * held:
            lost.append(seconds)
    return kept, lost
