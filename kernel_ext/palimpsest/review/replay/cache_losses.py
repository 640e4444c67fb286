"""Where a recorded session did not read from the cache what was left there, and why, as far as can be known.

From the reported usage alone: a request was expected to read what the one before left: what that read and wrote, or
all of it where the provider reports no writes. Why is told by ``break_causes.py``. Where the recording alone says how
much was lost, the loss is taken from it into every replay; reports tell all of them, with what they cost.
"""

from bisect import bisect_left
from typing import NamedTuple

from palimpsest.review.replay.break_causes import BreakCause, FoundCause, causes_of
from palimpsest.review.replay.cache_lifetime import cache_lifetime
from palimpsest.transcript.growing_lists import GrownRows, common_beginning
from palimpsest.transcript.timeline import Timeline, TimelineRequest

LEAST_LOSS = 1_024
"""Tokens; a smaller loss is no break."""
LEAST_SHARE = 0.05
"""Of what was expected; a smaller loss is no break."""

UNMEASURED: frozenset[BreakCause] = frozenset({"unexplained", "late", "effort", "client"})
"""Causes of which the lost request alone says how much they left of the cache; the others a replay follows."""


class CacheLoss(NamedTuple):
    """A request that did not read from the cache what the last one with reported usage left there."""

    request: int
    before: int
    """The request that it is compared with."""
    expected: int
    """Tokens that it should have read."""
    read: int
    causes: tuple[FoundCause, ...]
    """Why, what is in the requests themselves first; all whose evidence the recording holds."""

    @property
    def is_unmeasured(self) -> bool:
        """None of its causes says how much of the cache was left."""
        return all(one.cause in UNMEASURED for one in self.causes)


def cache_losses(timeline: Timeline) -> tuple[CacheLoss | None, ...]:
    """Return for each request with reported usage whether it lost the cache; the first of them never did.

    All are None where no request read or wrote a cache.
    """
    return timeline.derived("cache losses", _losses)


def unmeasured_losses(timeline: Timeline) -> tuple[CacheLoss, ...]:
    """Return the losses that nothing explains, and those whose cause does not say how much was left."""
    return tuple(one for one in cache_losses(timeline) if one is not None and one.is_unmeasured)


def rewritten_reads(timeline: Timeline) -> dict[int, int]:
    """Return the requests before which the agent's program sent earlier messages otherwise, with what they read."""
    return timeline.derived(
        "rewritten reads",
        lambda one: {
            lost.request: lost.read
            for lost in cache_losses(one)
            if lost is not None and any(its.cause == "rewritten" for its in lost.causes)
        },
    )


def known_requests(timeline: Timeline) -> list[TimelineRequest]:
    """Return the requests with reported usage."""
    return [
        one
        for one, reported in zip(timeline.requests, timeline.reported, strict=True)
        if reported is not None
    ]


def _losses(timeline: Timeline) -> tuple[CacheLoss | None, ...]:
    lifetime = cache_lifetime(timeline).seconds
    known = known_requests(timeline)
    usages = [(one.model, one.usage) for one in known if one.usage is not None]
    writers = frozenset(model for model, usage in usages if usage.cache_write)
    caches = bool(writers) or any(usage.cache_read for _, usage in usages)
    alike = bisect_left(known, _changed_from(timeline), key=lambda one: one.index)
    # What was read late is seen in the request after it alone.
    following = (*known[1:], None)
    grown: GrownRows[CacheLoss | None] = timeline.earlier.setdefault("cache losses", GrownRows())

    def loss(at: int, _: object) -> CacheLoss | None:
        before, request = known[max(at - 1, 0)], known[at]
        lost = _lost(before, request, is_writer=before.model in writers) if at and caches else None
        if lost is None:
            return None
        causes = causes_of(timeline, before, request, following[at], lifetime)
        return CacheLoss(request.index, before.index, *lost, causes)

    about = (lifetime, writers, caches)
    return tuple(grown.of(loss, known, following, about=about, most=alike))


def _changed_from(timeline: Timeline) -> int:
    """Return the first request before which something happened otherwise than when this was asked before."""
    now = (timeline.transitions, timeline.events)
    before = timeline.earlier.get("happened before followers", ((), ()))
    timeline.earlier["happened before followers"] = now
    first = len(timeline.requests)
    for known, newest in zip(before, now, strict=True):
        same = common_beginning(known, newest)
        for one in (*known[same : same + 1], *newest[same : same + 1]):
            first = min(first, one.request)
    return first


def _lost(
    before: TimelineRequest, request: TimelineRequest, *, is_writer: bool
) -> tuple[int, int] | None:
    """Return what was expected to be read and what was, where that is a break.

    Where the provider reports writes, input after the last cache mark is in no cache, and nothing that can be lost.
    """
    if before.reported is None or before.usage is None:
        return None
    if request.reported is None or request.usage is None:
        return None
    held = before.usage.cache_read + before.usage.cache_write if is_writer else before.reported
    expected = min(held, request.reported)
    loss = expected - request.usage.cache_read
    is_break = loss > max(LEAST_LOSS, LEAST_SHARE * expected)
    return (expected, request.usage.cache_read) if is_break else None
