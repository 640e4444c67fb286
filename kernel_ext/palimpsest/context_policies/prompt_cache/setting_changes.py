"""Find requests before which a setting changed, and estimate the part of the cache that survives such a change.

No provider documents for all models how much of a cache is left when the reasoning effort or the agent's program
changes. For one request it is estimated from the reads of the other requests with the same change.
"""

from bisect import bisect_left
from itertools import pairwise
from statistics import median
from typing import Literal, NamedTuple

from palimpsest.context_policies.prompt_cache.cache_losses import reporting_requests
from palimpsest.transcript.timeline import Timeline, TimelineRequest

EFFORTS_WITHOUT_THINKING = frozenset({"off", "none", "disabled"})
"""Efforts at which a model does not think."""
MAX_LOST_READ_SHARE = 0.9
"""Share of what could be in the cache; a request with a changed setting that read less lost the cache."""
MAX_SIMILAR_CHANGES = 25
"""Maximum similar changes that are considered before a request, and after it."""

Setting = Literal["thinking", "effort", "client"]


class SettingChange(NamedTuple):
    """A request, by its index, before which a setting changed."""

    request: int
    request_before: int
    """The last request with reported usage before it."""
    read_tokens: int
    has_lost_cache: bool
    """Whether the request read less than ``MAX_LOST_READ_SHARE`` of what the previous request had left in the cache."""


def changed_settings(previous: TimelineRequest, request: TimelineRequest) -> tuple[Setting, ...]:
    """Return which settings differ between two requests: thinking on or off, its effort, the agent's program."""
    settings: list[Setting] = []
    if previous.effort != request.effort:
        both_report_effort = bool(previous.effort and request.effort)
        switches_thinking = both_report_effort and (
            previous.effort in EFFORTS_WITHOUT_THINKING
        ) != (request.effort in EFFORTS_WITHOUT_THINKING)
        settings.append("thinking" if switches_thinking else "effort")
    if previous.client and request.client and previous.client != request.client:
        settings.append("client")
    return tuple(settings)


def read_after_change(timeline: Timeline, request: TimelineRequest) -> float | None:
    """Estimate the tokens that a request with a changed setting reads from the cache, from others with the same change.

    None where most of these lost nothing, or where there are none. The request's own report is not used.
    """
    changes = setting_changes(timeline)
    reads_after_changes = [
        read
        for (setting, model), changes_of_kind in changes.items()
        if model == request.model
        for read in _median_read_around(changes_of_kind, request.index)
    ]
    return min(reads_after_changes) if reads_after_changes else None


def setting_changes(timeline: Timeline) -> dict[tuple[Setting, str], tuple[SettingChange, ...]]:
    """Return the changes of each setting between requests to one model, in their order."""
    return timeline.derived_value("setting changes", _find_changes)


def _median_read_around(changes_of_kind: tuple[SettingChange, ...], request: int) -> list[float]:
    """Return the median tokens read after similar changes around a request, if most lost the cache; else an empty list."""
    position = bisect_left(changes_of_kind, request, key=lambda change: change.request)
    if position == len(changes_of_kind) or changes_of_kind[position].request != request:
        return []
    neighbours = changes_of_kind[
        max(position - MAX_SIMILAR_CHANGES, 0) : position + MAX_SIMILAR_CHANGES + 1
    ]
    others = [
        change for change in neighbours if request not in (change.request, change.request_before)
    ]
    reads_after_loss = [other.read_tokens for other in others if other.has_lost_cache]
    return [median(reads_after_loss)] if 2 * len(reads_after_loss) > len(others) else []


def _find_changes(timeline: Timeline) -> dict[tuple[Setting, str], tuple[SettingChange, ...]]:
    changes_by_setting: dict[tuple[Setting, str], list[SettingChange]] = {}
    for previous, request in pairwise(reporting_requests(timeline)):
        if previous.model != request.model or previous.usage is None or request.usage is None:
            continue
        read_tokens, previous_usage = request.usage.cache_read, previous.usage
        cached_tokens = (
            previous_usage.cache_read + previous_usage.cache_write
            if previous_usage.cache_write
            else previous_usage.prompt
        )
        expected_tokens = min(cached_tokens, request.usage.prompt)
        change = SettingChange(
            request.index,
            previous.index,
            read_tokens,
            read_tokens < MAX_LOST_READ_SHARE * expected_tokens,
        )
        for setting in changed_settings(previous, request):
            changes_by_setting.setdefault((setting, request.model), []).append(change)
    return {key: tuple(changes_of_kind) for key, changes_of_kind in changes_by_setting.items()}
