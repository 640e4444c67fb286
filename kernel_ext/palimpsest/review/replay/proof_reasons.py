"""Why a replay of the recording itself is not what the provider reported, in sentences.

Each names what can be seen in the recording: a loss of the cache and what came before it, reads that no cache of the session
explains, tokens that were reported and that the recording does not show, or how few requests there are to tell from.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from palimpsest.render.content.phrases import some
from palimpsest.review.replay.break_causes import BreakCause
from palimpsest.review.replay.cache_losses import CacheLoss, cache_losses, unmeasured_losses
from palimpsest.review.replay.cache_walk import RequestSize
from palimpsest.review.replay.fit import recorded
from palimpsest.review.replay.request_rulers import MOST_HIDDEN, has_too_many_losses
from palimpsest.review.replay.ruler import PriceProfile, Ruler
from palimpsest.transcript.timeline import Timeline, TimelineRequest
from palimpsest.transcript.values import Usage

Outcome = Literal["first", "reproduced", "taken", "missed"]
Pairs = Sequence[tuple[TimelineRequest, RequestSize]]
"""The requests with reported usage, each with what the replay makes of it."""

MOST_NAMED = 5
"""Requests that a reason names."""
FEW = 3
"""Requests of which each is known from one or two others."""
LEAST_HIDDEN = 1_000
"""Tokens that a recording must not show for a reason to name them."""
PART_APART = 0.01
"""Share of the money by which one kind of tokens must be away for a reason to name it."""
LOST_AFTER: Mapping[BreakCause, str] = {
    "model": "another model had answered",
    "tools": "the tool definitions had changed",
    "system prompt": "the system prompt had changed",
    "rewritten": "the agent's program had sent earlier messages otherwise",
    "client": "the agent's program had become another version",
    "effort": "the reasoning effort had changed",
    "late": "the provider's cache had fallen behind",
}
"""Causes of lost caches that a recording tells of, without how much of the cache they leave."""
UNEXPLAINED = "without a known cause"


@dataclass(frozen=True, slots=True)
class ReplayedRead:
    """One request with reported usage: what the replay says that it read, and what was reported."""

    request: int
    replayed: float
    """Tokens, without what was taken from the recording."""
    reported: int
    outcome: Outcome
    reason: str = ""
    """Why it was missed, the end of a sentence that begins with how many requests; of one that was taken, why it lost the cache."""


def why_missed(
    timeline: Timeline,
    ruler: Ruler,
    before: TimelineRequest,
    request: TimelineRequest,
    size: RequestSize,
) -> str:
    """Return why a request read something else than the replay, as far as its numbers say it."""
    usage, last = request.usage, before.usage
    told = 0 if usage is None else usage.cache_read
    changed = _changed(timeline, before, request, size)
    if changed:
        return changed
    lost = _loss_of(timeline, request)
    if lost is not None and lost.causes[0].cause in LOST_AFTER:
        return f"lost the cache after {LOST_AFTER[lost.causes[0].cause]}"
    if last is not None and told > last.prompt + last.output + last.reasoning:
        return "read more than the request before had sent, which no cache of this session explains"
    if last is not None and last.cache_write and told > last.cache_read + last.cache_write:
        return "read more than the request before had read and written, which no cache of this session explains"
    if before.model != request.model:
        return "read otherwise after another model had answered"
    gap = request.seconds_since(before)
    if gap is not None and gap > ruler.of(request.index).lifetime_seconds:
        return "read something after a pause longer than the cache is known to be kept"
    if told < size.read:
        known = sum(one is not None for one in timeline.reported)
        if not told and known <= FEW:
            return "read nothing, and so few requests do not tell whether prompts are cached"
        return "read less than the request before had left in the cache"
    return "read more than the request before was known to leave in the cache"


def why_taken(timeline: Timeline, request: TimelineRequest) -> str:
    """Return after what a request lost the cache whose loss was taken from the recording."""
    lost = _loss_of(timeline, request)
    after = None if lost is None else LOST_AFTER.get(lost.causes[0].cause)
    return UNEXPLAINED if after is None else f"after {after}"


def taken_words(reads: Sequence[ReplayedRead]) -> str:
    """Return how many losses were taken, and for which causes where there are known ones; empty where none was."""
    found = Counter(one.reason for one in reads if one.outcome == "taken")
    if not found:
        return ""
    told = f"{some(sum(found.values()), 'break')} taken from the recording"
    if set(found) == {UNEXPLAINED}:
        return told
    return f"{told} ({', '.join(f'{number:,} {reason}' for reason, number in found.most_common())})"


def missed_reasons(timeline: Timeline, reads: Sequence[ReplayedRead]) -> list[str]:
    """Return for each reason the requests that were missed for it, and whether losses are the rule."""
    by_reason: dict[str, list[int]] = {}
    for one in reads:
        if one.outcome == "missed":
            by_reason.setdefault(one.reason, []).append(one.request + 1)
    told = [
        f"{some(len(those), 'request')} {reason} ({_named(those)})."
        for reason, those in sorted(by_reason.items(), key=lambda one: -len(one[1]))
    ]
    missed = {one.request for one in reads if one.outcome == "missed"}
    lost = sum(one.request in missed for one in unmeasured_losses(timeline))
    if lost and has_too_many_losses(timeline):
        followers = sum(one.outcome != "first" for one in reads)
        told.append(
            f"{lost:,} of {some(followers, 'request')} lost the cache for no known cause, too many to be taken from the"
            " recording: its cache follows rules that are not known here."
        )
    return told


def money_reasons(timeline: Timeline, ruler: Ruler, price: PriceProfile, pairs: Pairs) -> list[str]:
    """Return what makes the replayed money differ from the reported, and why it is not known better."""
    cost = sum(size.cost(price) for _, size in pairs)
    told = sum(price.cost_of(request) for request, _ in pairs)
    if not told:
        return []
    side = "above" if cost > told else "below"
    apart = [*_parts_apart(price, pairs, told)]
    named = f": {', '.join(apart)}" if apart else ""
    away = f"{100 * abs(cost / told - 1):.1f} %"
    found = [f"The money of {some(len(pairs), 'request')} is {away} {side} the reported{named}."]
    return [*found, *_hidden(timeline, ruler, pairs)]


def _changed(
    timeline: Timeline, before: TimelineRequest, request: TimelineRequest, size: RequestSize
) -> str:
    """Return that a request read otherwise after a change of what was sent before; empty where there was none."""
    between = range(before.index + 1, request.index + 1)
    kinds = {one.kind for one in timeline.events if one.request in between}
    if "compact" in kinds:
        if (request.reported or 0) >= (before.reported or 0):
            return "still reported the whole context after a compaction"
        return "read otherwise after a compaction"
    if "undo" in kinds:
        return "read otherwise after messages had been taken back"
    if size.first_changed is not None:
        return "read otherwise after earlier items had been shown otherwise"
    return ""


def _loss_of(timeline: Timeline, request: TimelineRequest) -> CacheLoss | None:
    losses = cache_losses(timeline)
    return next((one for one in losses if one is not None and one.request == request.index), None)


def _parts_apart(price: PriceProfile, pairs: Pairs, told: float) -> list[str]:
    """Return the kinds of tokens that are away by much, or that the money is away by, the dearest difference first."""
    parts: tuple[tuple[str, str, Callable[[Usage], int], float], ...] = (
        ("prompts", "total", lambda one: one.prompt, 0.0),
        ("uncached input", "uncached", lambda one: one.input, price.input),
        ("reads from the cache", "read", lambda one: one.cache_read, price.read),
        ("writes to the cache", "written", lambda one: one.cache_write, price.write),
        ("answers", "output", lambda one: one.output + one.reasoning, price.output),
    )
    found = []
    for name, of_size, of_usage, rate in parts:
        replayed = sum(getattr(size, of_size) for _, size in pairs)
        reported = sum(of_usage(one.usage) for one, _ in pairs if one.usage is not None)
        away = abs(replayed - reported)
        if away > 3 * PART_APART * reported or away * rate / 1e6 > PART_APART * told:
            found.append(f"{name} {replayed:,.0f} for {reported:,.0f} tokens")
    return found


def _hidden(timeline: Timeline, ruler: Ruler, pairs: Pairs) -> list[str]:
    """Return which tokens were reported that the recording does not show, and that requests are few."""
    plain = recorded(timeline, ruler.plain).sizes
    grown = shown = 0.0
    for (before, _), (request, size) in pairwise(pairs):
        more = (request.reported or 0) - (before.reported or 0)
        if size.first_changed is None and before.model == request.model and more > 0:
            grown += more
            shown += plain[request.index].total - plain[before.index].total
    told = []
    if grown >= LEAST_HIDDEN and grown > MOST_HIDDEN * shown:
        told.append(
            f"The prompts grew by {grown:,.0f} tokens, of which the recording shows about {max(shown, 0):,.0f}: each is"
            " taken to have grown by the same."
        )
    answered = sum(
        one.usage.output + one.usage.reasoning for one, _ in pairs if one.usage is not None
    )
    seen = sum(plain[one.index].output for one, _ in pairs)
    if answered >= LEAST_HIDDEN and answered > MOST_HIDDEN * seen:
        told.append(
            f"The answers had {answered:,} tokens, of which the recording shows about {seen:,.0f}."
        )
    if len(pairs) <= FEW:
        told.append(
            f"Only {some(len(pairs), 'request')} reported usage, and each is counted by the others."
        )
    return told


def _named(requests: Sequence[int]) -> str:
    named = ", ".join(f"{one:,}" for one in requests[:MOST_NAMED])
    more = len(requests) - MOST_NAMED
    return f"{named} and {more:,} more" if more > 0 else named
