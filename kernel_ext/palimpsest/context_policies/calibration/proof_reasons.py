"""Sentences on why a replay of the recorded session differs from the usage that the provider reported.

Each names evidence in the recording: a loss of the cache and what came before it, reads that no cache of the session
explains, tokens that were reported and that the recording does not show, or too few requests to decide.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from palimpsest.context_policies.calibration.fit import recorded_simulation
from palimpsest.context_policies.calibration.request_rulers import (
    MAX_HIDDEN_RATIO,
    has_too_many_losses,
)
from palimpsest.context_policies.prompt_cache.break_causes import BreakCause
from palimpsest.context_policies.prompt_cache.cache_losses import (
    CacheLoss,
    cache_losses,
    unmeasured_losses,
)
from palimpsest.context_policies.prompt_cache.cache_walk import RequestSize
from palimpsest.context_policies.prompt_cache.ruler import PriceProfile, Ruler
from palimpsest.render.content.phrases import counted_noun
from palimpsest.transcript.timeline import Timeline, TimelineRequest
from palimpsest.transcript.values import Usage

Outcome = Literal["first", "reproduced", "taken", "missed"]
MeasuredRequests = Sequence[tuple[TimelineRequest, RequestSize]]
"""The requests with reported usage, each with its replayed size."""

MAX_LISTED_REQUESTS = 5
"""Maximum requests that a reason lists."""
MAX_FEW_REQUESTS = 3
"""Number of reporting requests up to which each is predicted from only one or two others."""
MIN_HIDDEN_TOKENS = 1_000
"""Minimum tokens missing from the recording that are given as a reason."""
MIN_PART_DIFFERENCE = 0.01
"""Share of the money by which one kind of tokens must differ to be given as a reason."""
LOST_AFTER: Mapping[BreakCause, str] = {
    "model": "another model had answered",
    "tools": "the tool definitions had changed",
    "system prompt": "the system prompt had changed",
    "rewritten": "the agent's program had sent earlier messages otherwise",
    "client": "the agent's program had become another version",
    "effort": "the reasoning effort had changed",
    "late": "the provider's cache had fallen behind",
}
"""Phrases for the causes of cache losses; the recording shows the cause, not how much of the cache was left."""
NO_KNOWN_CAUSE = "without a known cause"


@dataclass(frozen=True, slots=True)
class ReplayedRead:
    """A request with reported usage, by its index, and whether its read from the cache was reproduced."""

    request: int
    outcome: Outcome
    reason: str = ""
    """Why the read was missed, or why the request lost the cache where the loss was taken; the end of a sentence."""


def why_missed(
    timeline: Timeline,
    ruler: Ruler,
    previous: TimelineRequest,
    request: TimelineRequest,
    size: RequestSize,
) -> str:
    """Return why a request's replayed read differs from the reported one, as far as its numbers show it."""
    usage, previous_usage = request.usage, previous.usage
    read_tokens = 0 if usage is None else usage.cache_read
    change_reason = _change_before(timeline, previous, request, size)
    if change_reason:
        return change_reason
    loss = _loss_of(timeline, request)
    if loss is not None and loss.causes[0].cause in LOST_AFTER:
        return f"lost the cache after {LOST_AFTER[loss.causes[0].cause]}"
    if (
        previous_usage is not None
        and read_tokens > previous_usage.prompt + previous_usage.output + previous_usage.reasoning
    ):
        return "read more than the request before had sent, which no cache of this session explains"
    if (
        previous_usage is not None
        and previous_usage.cache_write
        and read_tokens > previous_usage.cache_read + previous_usage.cache_write
    ):
        return "read more than the request before had read and written, which no cache of this session explains"
    if previous.model != request.model:
        return "read otherwise after another model had answered"
    pause_seconds = request.seconds_since(previous)
    if (
        pause_seconds is not None
        and pause_seconds > ruler.request_ruler(request.index).lifetime_seconds
    ):
        return "read something after a pause longer than the cache is known to be kept"
    if read_tokens < size.read:
        reporting_count = sum(reported is not None for reported in timeline.reported)
        if not read_tokens and reporting_count <= MAX_FEW_REQUESTS:
            return "read nothing, and so few requests do not tell whether prompts are cached"
        return "read less than the request before had left in the cache"
    return "read more than the request before was known to leave in the cache"


def why_taken(timeline: Timeline, request: TimelineRequest) -> str:
    """Return the cause of a cache loss that was taken from the recording, as a phrase with "after"."""
    loss = _loss_of(timeline, request)
    phrase = None if loss is None else LOST_AFTER.get(loss.causes[0].cause)
    return NO_KNOWN_CAUSE if phrase is None else f"after {phrase}"


def losses_taken_text(reads: Sequence[ReplayedRead]) -> str:
    """Return how many losses were taken, with their known causes; empty where none was."""
    reasons = Counter(read.reason for read in reads if read.outcome == "taken")
    if not reasons:
        return ""
    text = f"{counted_noun(sum(reasons.values()), 'break')} taken from the recording"
    if set(reasons) == {NO_KNOWN_CAUSE}:
        return text
    counts = ", ".join(f"{number:,} {reason}" for reason, number in reasons.most_common())
    return f"{text} ({counts})"


def missed_reasons(timeline: Timeline, reads: Sequence[ReplayedRead]) -> list[str]:
    """Return, for each reason, the requests that were missed for it, and whether losses are frequent."""
    request_numbers_by_reason: dict[str, list[int]] = {}
    for read in reads:
        if read.outcome == "missed":
            request_numbers_by_reason.setdefault(read.reason, []).append(read.request + 1)
    reasons = [
        f"{counted_noun(len(requests), 'request')} {reason} ({_request_numbers(requests)})."
        for reason, requests in sorted(
            request_numbers_by_reason.items(), key=lambda entry: -len(entry[1])
        )
    ]
    missed_requests = {read.request for read in reads if read.outcome == "missed"}
    loss_count = sum(loss.request in missed_requests for loss in unmeasured_losses(timeline))
    if loss_count and has_too_many_losses(timeline):
        compared_count = sum(read.outcome != "first" for read in reads)
        reasons.append(
            f"{loss_count:,} of {counted_noun(compared_count, 'request')} lost the cache for no known cause, too many to be taken from the"
            " recording: its cache follows rules that are not known here."
        )
    return reasons


def money_reasons(
    timeline: Timeline, ruler: Ruler, price: PriceProfile, pairs: MeasuredRequests
) -> list[str]:
    """Return why the replayed money differs from the reported, as far as that is known."""
    cost = sum(size.cost(price) for _, size in pairs)
    reported_cost = sum(price.cost_of(request) for request, _ in pairs)
    if not reported_cost:
        return []
    side = "above" if cost > reported_cost else "below"
    differing_kinds = [*_differing_token_kinds(price, pairs, reported_cost)]
    kind_list = f": {', '.join(differing_kinds)}" if differing_kinds else ""
    distance = f"{100 * abs(cost / reported_cost - 1):.1f} %"
    requests = counted_noun(len(pairs), "request")
    sentence = f"The money of {requests} is {distance} {side} the reported{kind_list}."
    return [sentence, *_hidden_tokens(timeline, ruler, pairs)]


def _change_before(
    timeline: Timeline, previous: TimelineRequest, request: TimelineRequest, size: RequestSize
) -> str:
    """Return the reason that earlier items changed before a request; empty where none did."""
    between = range(previous.index + 1, request.index + 1)
    event_kinds = {event.kind for event in timeline.events if event.request in between}
    if "compact" in event_kinds:
        if (request.reported or 0) >= (previous.reported or 0):
            return "still reported the whole context after a compaction"
        return "read otherwise after a compaction"
    if "undo" in event_kinds:
        return "read otherwise after messages had been taken back"
    if size.first_changed is not None:
        return "read otherwise after earlier items had been shown otherwise"
    return ""


def _loss_of(timeline: Timeline, request: TimelineRequest) -> CacheLoss | None:
    losses = filter(None, cache_losses(timeline))
    return next((loss for loss in losses if loss.request == request.index), None)


def _differing_token_kinds(
    price: PriceProfile, pairs: MeasuredRequests, reported_money: float
) -> list[str]:
    """Return the kinds of tokens that differ much in number or money, the largest difference in money first."""
    parts: tuple[tuple[str, str, Callable[[Usage], int], float], ...] = (
        ("prompts", "total", lambda usage: usage.prompt, 0.0),
        ("uncached input", "uncached", lambda usage: usage.input, price.input),
        ("reads from the cache", "read", lambda usage: usage.cache_read, price.read),
        ("writes to the cache", "written", lambda usage: usage.cache_write, price.write),
        ("answers", "output", lambda usage: usage.output + usage.reasoning, price.output),
    )
    usages = [request.usage for request, _ in pairs if request.usage is not None]
    differences = []
    for name, size_field, usage_tokens, rate in parts:
        replayed_sum = sum(getattr(size, size_field) for _, size in pairs)
        reported_sum = sum(map(usage_tokens, usages))
        distance = abs(replayed_sum - reported_sum)
        money = distance * rate / 1e6
        if (
            distance > 3 * MIN_PART_DIFFERENCE * reported_sum
            or money > MIN_PART_DIFFERENCE * reported_money
        ):
            differences.append(f"{name} {replayed_sum:,.0f} for {reported_sum:,.0f} tokens")
    return differences


def _hidden_tokens(timeline: Timeline, ruler: Ruler, pairs: MeasuredRequests) -> list[str]:
    """Return sentences about reported tokens that the recording does not show, and about too few requests."""
    plain_sizes = recorded_simulation(timeline, ruler.estimator_only).sizes
    grown_tokens = shown_tokens = 0.0
    for (before, _), (request, size) in pairwise(pairs):
        growth = (request.reported or 0) - (before.reported or 0)
        if size.first_changed is None and before.model == request.model and growth > 0:
            grown_tokens += growth
            shown_tokens += plain_sizes[request.index].total - plain_sizes[before.index].total
    reasons = []
    if grown_tokens >= MIN_HIDDEN_TOKENS and grown_tokens > MAX_HIDDEN_RATIO * shown_tokens:
        reasons.append(
            f"The prompts grew by {grown_tokens:,.0f} tokens, of which the recording shows about {max(shown_tokens, 0):,.0f}: each is"
            " taken to have grown by the same."
        )
    usages = (request.usage for request, _ in pairs if request.usage is not None)
    answer_tokens = sum(usage.output + usage.reasoning for usage in usages)
    shown_answer_tokens = sum(plain_sizes[request.index].output for request, _ in pairs)
    if (
        answer_tokens >= MIN_HIDDEN_TOKENS
        and answer_tokens > MAX_HIDDEN_RATIO * shown_answer_tokens
    ):
        reasons.append(
            f"The answers had {answer_tokens:,} tokens, of which the recording shows about {shown_answer_tokens:,.0f}."
        )
    if 1 < len(pairs) <= MAX_FEW_REQUESTS:
        reasons.append(
            f"Only {counted_noun(len(pairs), 'request')} reported usage, and each is counted by the others."
        )
    return reasons


def _request_numbers(requests: Sequence[int]) -> str:
    numbers = ", ".join(f"{request:,}" for request in requests[:MAX_LISTED_REQUESTS])
    unlisted_count = len(requests) - MAX_LISTED_REQUESTS
    return f"{numbers} and {unlisted_count:,} more" if unlisted_count > 0 else numbers
