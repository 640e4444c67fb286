"""Find the requests of a recorded session that read less than the cache should have held, with the known causes.

Only reported usage is used: a request is expected to read the tokens that the one before read and wrote, or all
of its prompt where the provider reports no writes. ``break_causes.py`` finds the causes. A loss whose size only the
recording shows is taken from it in every replay; reports list all losses, with their cost.
"""

from bisect import bisect_left
from operator import attrgetter
from typing import NamedTuple

from palimpsest.context_policies.prompt_cache.break_causes import BreakCause, FoundCause, causes_of
from palimpsest.context_policies.prompt_cache.cache_lifetime import cache_lifetime
from palimpsest.transcript.growing_lists import GrownRows, common_beginning
from palimpsest.transcript.timeline import Timeline, TimelineRequest

MIN_LOSS_TOKENS = 1_024
"""Minimum lost tokens of a break."""
MIN_LOSS_SHARE = 0.05
"""Minimum share of the expected read whose loss is a break."""
UNMEASURED_CAUSES: frozenset[BreakCause] = frozenset({"unexplained", "late", "effort", "client"})
"""Causes that do not show how much of the cache is left, so that a replay takes the loss from the recording."""


class CacheLoss(NamedTuple):
    """A request, by its index, that read less from the cache than the last request with reported usage left there."""

    request: int
    compared_request: int
    """The earlier request with which ``request`` is compared."""
    expected_read: int
    """Tokens that the request should have read from the cache."""
    actual_read: int
    causes: tuple[FoundCause, ...]
    """All causes with evidence in the recording, differences between the requests first."""

    @property
    def is_unmeasured(self) -> bool:
        """Whether none of its causes shows how much of the cache was left."""
        return all(cause.cause in UNMEASURED_CAUSES for cause in self.causes)


def cache_losses(timeline: Timeline) -> tuple[CacheLoss | None, ...]:
    """Return the cache loss, or None, of each request with reported usage; all None where no cache was used."""
    return timeline.derived_value("cache losses", _losses)


def unmeasured_losses(timeline: Timeline) -> tuple[CacheLoss, ...]:
    """Return the losses whose causes do not show how much of the cache was left."""
    return tuple(loss for loss in cache_losses(timeline) if loss is not None and loss.is_unmeasured)


def reads_after_rewriting(timeline: Timeline) -> dict[int, int]:
    """Return the requests before which the agent's program changed earlier messages, with their reads."""
    return timeline.derived_value(
        "rewritten reads",
        lambda timeline: {
            loss.request: loss.actual_read
            for loss in cache_losses(timeline)
            if loss is not None and any(cause.cause == "rewritten" for cause in loss.causes)
        },
    )


def reporting_requests(timeline: Timeline) -> list[TimelineRequest]:
    """Return the requests with reported usage."""
    return [
        request
        for request, reported in zip(timeline.requests, timeline.reported, strict=True)
        if reported is not None
    ]


def _losses(timeline: Timeline) -> tuple[CacheLoss | None, ...]:
    lifetime = cache_lifetime(timeline).seconds
    requests = reporting_requests(timeline)
    usages = [(request.model, request.usage) for request in requests if request.usage is not None]
    writers = frozenset(model for model, usage in usages if usage.cache_write)
    uses_cache = bool(writers) or any(usage.cache_read for _, usage in usages)
    unchanged_count = bisect_left(
        requests, _first_changed_request(timeline), key=attrgetter("index")
    )
    # A late read shows only in the request after it.
    followers = (*requests[1:], None)
    earlier_losses: GrownRows[CacheLoss | None] = timeline.earlier.setdefault(
        "cache losses", GrownRows()
    )

    def loss_at(position: int, _: object) -> CacheLoss | None:
        previous, request = requests[max(position - 1, 0)], requests[position]
        loss = None
        if position and uses_cache:
            loss = _loss_between(previous, request, is_writer=previous.model in writers)
        if loss is None:
            return None
        causes = causes_of(timeline, previous, request, followers[position], lifetime)
        return CacheLoss(request.index, previous.index, *loss, causes)

    key = (lifetime, writers, uses_cache)
    losses = earlier_losses.grown_rows(
        loss_at, requests, followers, subject=key, max_unchanged=unchanged_count
    )
    return tuple(losses)


def _first_changed_request(timeline: Timeline) -> int:
    """Return the index of the first request before which something changed since the losses were last computed."""
    changes = (timeline.transitions, timeline.events)
    previous = timeline.earlier.get("happened before followers", ((), ()))
    timeline.earlier["happened before followers"] = changes
    first_changed = len(timeline.requests)
    for before, now in zip(previous, changes, strict=True):
        same_count = common_beginning(before, now)
        for change in (*before[same_count : same_count + 1], *now[same_count : same_count + 1]):
            first_changed = min(first_changed, change.request)
    return first_changed


def _loss_between(
    previous: TimelineRequest, request: TimelineRequest, *, is_writer: bool
) -> tuple[int, int] | None:
    """Return the expected read and the actual read where they differ by a break; else None.

    Where the provider reports writes, input after the last cache mark is in no cache and cannot be lost.
    """
    if previous.reported is None or previous.usage is None:
        return None
    if request.reported is None or request.usage is None:
        return None
    stored_tokens = (
        previous.usage.cache_read + previous.usage.cache_write if is_writer else previous.reported
    )
    expected = min(stored_tokens, request.reported)
    loss = expected - request.usage.cache_read
    is_break = loss > max(MIN_LOSS_TOKENS, MIN_LOSS_SHARE * expected)
    return (expected, request.usage.cache_read) if is_break else None
