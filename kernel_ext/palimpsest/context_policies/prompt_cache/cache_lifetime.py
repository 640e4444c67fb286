"""The time for which the provider kept a prefix after its last use, as recorded or concluded.

Border: pure, from reported usage and times alone. A recording may state for how long writes were kept; else the
lifetime is concluded from the pauses after which a prefix was still read, or was not.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from palimpsest.transcript.timeline import Timeline, TimelineRequest
from palimpsest.transcript.values import Usage

FIVE_MINUTES_SECONDS = 300.0
HOUR_SECONDS = 3_600.0
DAY_SECONDS = 86_400.0
POSSIBLE_LIFETIMES = (FIVE_MINUTES_SECONDS, HOUR_SECONDS, DAY_SECONDS)
"""Lifetimes in seconds that providers offer: five minutes and an hour (Anthropic), up to a day (OpenAI); 2026."""
MIN_PREFIX_TOKENS = 1_024
"""Minimum tokens of a prefix that is considered; some providers do not cache a shorter one."""
MIN_KEPT_READ_SHARE = 0.9
"""Minimum share of a stored prefix that a later request reads where the prefix was still cached."""
MAX_LOST_READ_SHARE = 0.5
"""Share of a stored prefix; a later request that reads less shows that the prefix was lost."""


@dataclass(frozen=True, slots=True)
class CacheLifetime:
    """A lifetime of the cache in seconds, and how it is known."""

    seconds: float
    sentence: str
    """How the lifetime is known, in a sentence; empty where there is no request."""


def cache_lifetime(timeline: Timeline) -> CacheLifetime:
    """Return the lifetime of a session's cache; five minutes without evidence for another one."""
    return timeline.derived_value("cache lifetime", _find_lifetime)


def lifetime_seconds(
    timeline: Timeline, is_known: Callable[[TimelineRequest], bool]
) -> Callable[[str], float]:
    """Return a function from a model to its cache's lifetime, by the requests for which ``is_known`` holds."""
    requests_by_model: dict[str, list[TimelineRequest]] = {}
    for request in filter(is_known, timeline.requests):
        requests_by_model.setdefault(request.model, []).append(request)
    stated_lifetimes = {
        model: HOUR_SECONDS if keeps_an_hour(requests) else FIVE_MINUTES_SECONDS
        for model, requests in requests_by_model.items()
        if any(usage.cache_write_hour is not None for usage in _usages(requests))
    }
    lifetime_from_pauses = _lifetime_from_pauses(*_pauses(timeline, is_known))
    return lambda model: stated_lifetimes.get(model, lifetime_from_pauses)


def keeps_an_hour(requests: Sequence[TimelineRequest]) -> bool:
    """Return whether most tokens that requests wrote to the cache are kept for an hour."""
    usages = _usages(requests)
    hourly_tokens = sum(usage.cache_write_hour or 0 for usage in usages)
    return hourly_tokens > 0 and 2 * hourly_tokens > sum(usage.cache_write for usage in usages)


def _usages(requests: Sequence[TimelineRequest]) -> list[Usage]:
    return [request.usage for request in requests if request.usage is not None]


def _find_lifetime(timeline: Timeline) -> CacheLifetime:
    if not timeline.requests:
        return CacheLifetime(FIVE_MINUTES_SECONDS, "")
    if keeps_an_hour(timeline.requests):
        return CacheLifetime(
            HOUR_SECONDS, "The cache keeps a prefix for an hour, as the recorded writes asked for."
        )
    pauses_survived, pauses_not_survived = _pauses(timeline)
    seconds = _lifetime_from_pauses(pauses_survived, pauses_not_survived)
    if seconds == FIVE_MINUTES_SECONDS:
        is_recorded = any(pause > FIVE_MINUTES_SECONDS for pause in pauses_not_survived)
        how_known = "as the pauses of the recording say" if is_recorded else "it is assumed"
        return CacheLifetime(
            FIVE_MINUTES_SECONDS, f"The cache keeps a prefix for 300 s ({how_known})."
        )
    longest = max(pause for pause in pauses_survived if pause <= seconds)
    return CacheLifetime(
        seconds,
        f"The cache keeps a prefix for {seconds:,.0f} s (after a pause of {longest:,.0f} s it was still read).",
    )


def _lifetime_from_pauses(
    pauses_survived: Sequence[float], pauses_not_survived: Sequence[float]
) -> float:
    """Return the lifetime that the fewest pauses contradict."""
    contradictions = {
        lifetime: sum(pause > lifetime for pause in pauses_survived)
        + sum(FIVE_MINUTES_SECONDS < pause <= lifetime for pause in pauses_not_survived)
        for lifetime in POSSIBLE_LIFETIMES
    }
    return min(POSSIBLE_LIFETIMES, key=lambda lifetime: (contradictions[lifetime], lifetime))


class _Pause(NamedTuple):
    """A pause between two requests with an unchanged context, of which it is known whether the prefix survived it."""

    request_before: TimelineRequest
    request_after: TimelineRequest
    seconds: float
    is_survived: bool


def _pauses(
    timeline: Timeline, is_known: Callable[[TimelineRequest], bool] = lambda _: True
) -> tuple[list[float], list[float]]:
    """Return the pauses in seconds between unchanged contexts: those that the prefix survived, and those it did not."""
    pauses_survived: list[float] = []
    pauses_not_survived: list[float] = []
    for pause in timeline.derived_value("pauses", _all_pauses):
        if is_known(pause.request_before) and is_known(pause.request_after):
            (pauses_survived if pause.is_survived else pauses_not_survived).append(pause.seconds)
    return pauses_survived, pauses_not_survived


def _all_pauses(timeline: Timeline) -> list[_Pause]:
    changed_requests = {transition.request for transition in timeline.transitions}
    changed_requests |= {event.request for event in timeline.events if event.kind != "idle"}
    pauses: list[_Pause] = []
    for before, after in pairwise(timeline.requests):
        if before.usage is None or after.usage is None or after.index in changed_requests:
            continue
        has_same_settings = before.model == after.model and not after.changed_sections(before)
        seconds = after.seconds_since(before)
        stored_tokens = before.usage.cache_read + before.usage.cache_write
        if not has_same_settings or seconds is None or stored_tokens < MIN_PREFIX_TOKENS:
            continue
        is_survived = after.usage.cache_read >= MIN_KEPT_READ_SHARE * stored_tokens
        if is_survived or after.usage.cache_read < MAX_LOST_READ_SHARE * stored_tokens:
            pauses.append(_Pause(before, after, seconds, is_survived))
    return pauses
