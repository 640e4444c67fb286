"""Where a setting changed between two requests, and what each read from the cache then: evidence for the others like it.

How much of a cache is left when the reasoning effort or the agent's program changes is told by no provider for all
models. It is concluded for one request from the reads of the others at which the same changed.
"""

from bisect import bisect_left
from itertools import pairwise
from statistics import median
from typing import Literal, NamedTuple

from palimpsest.review.replay.cache_losses import known_requests
from palimpsest.transcript.timeline import Timeline, TimelineRequest

UNTHINKING = frozenset({"off", "none", "disabled"})
"""Efforts at which a model does not think."""
LOST_SHARE = 0.9
"""Of what the request before left; who read less lost the cache."""
MOST_ALIKE = 25
"""Changes on each side of a request that are looked at."""

Setting = Literal["thinking", "effort", "client"]


class SettingChange(NamedTuple):
    """A request before which a setting changed."""

    request: int
    before: int
    """The last one with reported usage before it."""
    read: int
    is_lost: bool
    """It read less than the one before had left."""


def changed_settings(before: TimelineRequest, request: TimelineRequest) -> tuple[Setting, ...]:
    """Return which settings differ between two requests: thinking as such, how much of it, the agent's program."""
    found: list[Setting] = []
    if before.effort != request.effort:
        told = bool(before.effort and request.effort)
        crosses = told and (before.effort in UNTHINKING) != (request.effort in UNTHINKING)
        found.append("thinking" if crosses else "effort")
    if before.client and request.client and before.client != request.client:
        found.append("client")
    return tuple(found)


def read_after_change(timeline: Timeline, request: TimelineRequest) -> float | None:
    """Return what a request with another setting than the one before reads, as others like it show.

    None where most of them lost nothing, or where there are none. What the request itself reported is not looked at.
    """
    changes = setting_changes(timeline)
    reads = [
        read
        for (setting, model), those in changes.items()
        if model == request.model
        for read in _reads_beside(those, request.index)
    ]
    return min(reads) if reads else None


def setting_changes(
    timeline: Timeline,
) -> dict[tuple[Setting, str], tuple[SettingChange, ...]]:
    """Return the changes of each setting between requests to one model, in their order."""
    return timeline.derived("setting changes", _found)


def _reads_beside(those: tuple[SettingChange, ...], request: int) -> list[float]:
    """Return the middle read of the changes around a request, if that is one of them and most of them lost the cache."""
    place = bisect_left(those, request, key=lambda one: one.request)
    if place == len(those) or those[place].request != request:
        return []
    around = those[max(place - MOST_ALIKE, 0) : place + MOST_ALIKE + 1]
    others = [one for one in around if request not in (one.request, one.before)]
    lost = [one.read for one in others if one.is_lost]
    return [median(lost)] if 2 * len(lost) > len(others) else []


def _found(timeline: Timeline) -> dict[tuple[Setting, str], tuple[SettingChange, ...]]:
    found: dict[tuple[Setting, str], list[SettingChange]] = {}
    for before, request in pairwise(known_requests(timeline)):
        if before.model != request.model or before.usage is None or request.usage is None:
            continue
        read, last = request.usage.cache_read, before.usage
        left = last.cache_read + last.cache_write if last.cache_write else last.prompt
        held = min(left, request.usage.prompt)
        change = SettingChange(request.index, before.index, read, read < LOST_SHARE * held)
        for one in changed_settings(before, request):
            found.setdefault((one, request.model), []).append(change)
    return {key: tuple(those) for key, those in found.items()}
