"""How each request of a recording is counted and cached, according to the reports of all other requests.

Border: pure. A request's own report is no input to its own ruler, so a replay that reads the same as the recording has
reproduced it. Two values are taken from the recording all the same, marked and counted separately: the read of the first
request, which earlier sessions had left, and cache losses whose size nothing else shows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise, product
from statistics import median
from typing import NamedTuple

from palimpsest.context_policies.prompt_cache.break_causes import MAX_REQUESTS_BEHIND
from palimpsest.context_policies.prompt_cache.cache_lifetime import lifetime_seconds
from palimpsest.context_policies.prompt_cache.cache_losses import (
    MIN_LOSS_SHARE,
    MIN_LOSS_TOKENS,
    CacheLoss,
    reads_after_rewriting,
    reporting_requests,
    unmeasured_losses,
)
from palimpsest.context_policies.prompt_cache.cache_walk import UnmeasuredRequest
from palimpsest.context_policies.prompt_cache.ruler import RequestRuler, Scale
from palimpsest.context_policies.prompt_cache.setting_changes import read_after_change
from palimpsest.transcript.provider_profile.cache_rules import CacheRules, cache_rules
from palimpsest.transcript.timeline import Timeline, TimelineRequest
from palimpsest.transcript.values import Usage

FIT_COUNT = 5
"""Number of groups of requests; each group is counted by a fit to the others. A fit per request would take quadratic time."""
MAX_HIDDEN_RATIO = 4
"""Reported tokens of answers per shown token above which the answers contain what the recording does not show."""
MIN_KNOWN_REQUESTS = 2
"""Minimum requests for concluding from all of them that nothing is read from the cache, or that no answer is reported."""
MAX_REPRODUCED_DIFFERENCE = 0.02
"""Share of the reported read; a replay that differs by no more has reproduced it."""
MAX_TAKEN_SHARE = 0.25
"""Share of the requests whose loss may be taken from the recording; above it the cache follows unknown rules."""


@dataclass(frozen=True, slots=True)
class Fit:
    """The numbers that describe the tokens of all requests, fitted to some of the reports."""

    unseen_tokens: float = 0.0
    factor: float = 1.0
    added_per_request: float = 0.0
    """Tokens that each request adds beside its items; 0 where the factor includes them."""
    contradicting_requests: frozenset[int] = frozenset()
    """Requests whose report contradicts those around it."""


def request_rulers(
    timeline: Timeline, replayed_requests: Sequence[UnmeasuredRequest], fits: Sequence[Fit]
) -> tuple[RequestRuler, ...]:
    """Return the ruler of each request; ``fits`` leave out every fifth request each."""
    habits = _Habits()
    others_by_fold = [
        _OtherRequests(timeline, replayed_requests, fold, len(fits), habits)
        for fold in range(len(fits))
    ]
    change_counts = [
        0,
        *accumulate(unmeasured.unchanged_tokens is not None for unmeasured in replayed_requests),
    ]
    rulers: list[RequestRuler] = []
    earlier = _EarlierRequests()
    for unmeasured in replayed_requests:
        fold = unmeasured.request.index % len(fits)
        if unmeasured.unchanged_tokens is not None:
            earlier.changed_at = unmeasured.request.index
        rulers.append(
            _ruler(
                timeline,
                replayed_requests,
                unmeasured,
                fits[fold],
                others_by_fold[fold],
                earlier,
                change_counts,
            )
        )
        if unmeasured.request.reported is not None:
            earlier.add(unmeasured.request)
    return _with_losses(timeline, replayed_requests, rulers)


class _EarlierRequests:
    """The earlier requests with reported usage, by their indexes."""

    def __init__(self) -> None:
        self.indexes: list[int] = []
        self._by_model: dict[str, list[int]] = {}
        self.changed_at = 0
        """The newest request that did not only append."""

    def add(self, request: TimelineRequest) -> None:
        """Add the next request with reported usage."""
        self.indexes.append(request.index)
        self._by_model.setdefault(request.model, []).append(request.index)

    def of_model(self, model: str) -> Sequence[int]:
        """Return the indexes of the requests that a model answered."""
        return self._by_model.get(model, ())

    def nearest_request(self, model: str, excluded_requests: frozenset[int]) -> int | None:
        """Return the index of a model's last request since the last change, else of the last of all, without the excluded ones; None without any."""

        def newest_of(indexes: Sequence[int]) -> int | None:
            return next(
                (index for index in reversed(indexes) if index not in excluded_requests), None
            )

        last_of_model = newest_of(self.of_model(model))
        if last_of_model is not None and last_of_model >= self.changed_at:
            return last_of_model
        return newest_of(self.indexes)


class _OtherRequests:
    """Facts about each model's requests outside one fold; where there is one fold only, about all of them."""

    def __init__(
        self,
        timeline: Timeline,
        replayed_requests: Sequence[UnmeasuredRequest],
        fold: int,
        fold_count: int,
        habits: "_Habits",
    ) -> None:
        def is_other(request: TimelineRequest) -> bool:
            return fold_count == 1 or request.index % fold_count != fold

        self.lifetime_seconds_of = lifetime_seconds(timeline, is_other)
        self._caches: dict[str, _ModelCache] = {}
        self._answers: dict[str, _AnswerTotals] = {}
        requests_by_model: dict[str, list[TimelineRequest]] = {}
        for request in timeline.requests:
            if request.reported is not None and is_other(request):
                requests_by_model.setdefault(request.model, []).append(request)
        for model, model_requests in requests_by_model.items():
            usages = [request.usage for request in model_requests if request.usage is not None]
            self._caches[model] = _ModelCache.of(model, model_requests, habits)
            self._answers[model] = _AnswerTotals(
                len(usages),
                float(sum(usage.output + usage.reasoning for usage in usages)),
                sum(replayed_requests[request.index].answer_tokens for request in model_requests),
            )

    def cache(self, model: str) -> "_ModelCache":
        """Return how prompts of a model are cached, as far as these requests show it."""
        return self._caches.get(model) or _ModelCache.of(model, (), _Habits())

    def answers(self, model: str) -> "_AnswerTotals":
        """Return the totals of a model's answers."""
        return self._answers.get(model, _AnswerTotals(0, 0.0, 0.0))


class _AnswerTotals(NamedTuple):
    """The totals of a model's answers."""

    request_count: int
    """Number of requests that reported their usage."""
    reported_tokens: float
    estimated_tokens: float


@dataclass(frozen=True, slots=True)
class _ModelCache:
    """How prompts of a model are cached."""

    is_cached: bool
    unwritten_tokens: float | None
    """Tokens of a prompt that are not written to the cache; None: all that are not read."""
    min_read: int
    """Minimum tokens that were read; 0 where none were."""
    keeps_end: bool
    """Whether the end of a prompt is cached although it was reported as neither read nor written."""
    keeps_answer: bool
    """Whether an answer is cached after its prompt."""

    @classmethod
    def of(
        cls, model: str, requests: Sequence[TimelineRequest], habits: "_Habits"
    ) -> "_ModelCache":
        usages = [request.usage for request in requests if request.usage is not None]
        cache_reads = [usage.cache_read for usage in usages if usage.cache_read]
        written_inputs = [usage.input for usage in usages if usage.cache_write]
        rules = cache_rules(model)
        expected_habits = (not (written_inputs and rules.marks_end), rules.keeps_answers)
        same_reads = habits.same_reads(requests, rules.step)
        habits_tried = sorted(same_reads, key=lambda habit: habit != expected_habits)
        keeps_end, keeps_answer = max(habits_tried, key=same_reads.__getitem__)
        return cls(
            # A single other request may have been the first one, which reads nothing.
            bool(cache_reads)
            or (len(usages) < MIN_KNOWN_REQUESTS and not _left_uncached(usages, rules)),
            median(written_inputs) if written_inputs else None if usages else 0.0,
            min(cache_reads, default=0),
            keeps_end,
            keeps_answer,
        )

    def tokens_beyond(self, usage: Usage) -> int:
        """Return the tokens that are cached after a prompt; negative where its end is not cached."""
        answer_tokens = usage.output + usage.reasoning if self.keeps_answer else 0
        return answer_tokens - (0 if self.keeps_end else usage.input)


def _left_uncached(usages: Sequence[Usage], rules: CacheRules) -> bool:
    """Return whether long requests were not marked for the cache, where a cache keeps only what is marked."""
    return rules.marks_end and any(
        usage.prompt >= rules.minimum and not usage.cache_read and not usage.cache_write
        for usage in usages
    )


class _Habits:
    """Counts the requests that read what the one before left, for each possible habit of the cache."""

    def __init__(self) -> None:
        self._habits_by_request: dict[int, Sequence[tuple[bool, bool]]] = {}
        """The habits that explain what a request read, by the request's index."""
        self._caches = {
            habit: _ModelCache(
                is_cached=True,
                unwritten_tokens=0,
                min_read=0,
                keeps_end=habit[0],
                keeps_answer=habit[1],
            )
            for habit in product((True, False), (True, False))
        }

    def same_reads(
        self, requests: Sequence[TimelineRequest], read_step: int
    ) -> Mapping[tuple[bool, bool], int]:
        """Return how many requests each habit explains: whether a prompt's end and its answer are cached."""
        counts = dict.fromkeys(self._caches, 0)
        for before, after in pairwise(requests):
            if after.index != before.index + 1:
                continue
            matching = self._habits_by_request.get(after.index)
            if matching is None:
                matching = self._habits_by_request[after.index] = [
                    habit
                    for habit, cache in self._caches.items()
                    if _explains(cache, before.usage, after.usage, read_step)
                ]
            for habit in matching:
                counts[habit] += 1
        return counts


def _explains(
    cache: _ModelCache, usage_before: Usage | None, usage_after: Usage | None, read_step: int
) -> bool:
    """Return whether a request read what the one before left in a cache."""
    if usage_before is None or usage_after is None:
        return False
    cached_tokens = (
        (usage_before.prompt + cache.tokens_beyond(usage_before)) // read_step * read_step
    )
    return is_same_read(cached_tokens, usage_after.cache_read)


def is_same_read(replayed_tokens: float, reported_tokens: int) -> bool:
    """Return whether a replay reads what was reported: within 2 per cent of it."""
    return abs(replayed_tokens - reported_tokens) <= MAX_REPRODUCED_DIFFERENCE * reported_tokens


def _ruler(
    timeline: Timeline,
    replayed_requests: Sequence[UnmeasuredRequest],
    unmeasured: UnmeasuredRequest,
    fit: Fit,
    other_requests: _OtherRequests,
    earlier_requests: _EarlierRequests,
    change_counts: Sequence[int],
) -> RequestRuler:
    request = unmeasured.request
    rules, cache = cache_rules(request.model), other_requests.cache(request.model)
    reported_requests = earlier_requests.indexes
    nearest_request = earlier_requests.nearest_request(request.model, fit.contradicting_requests)
    unseen_tokens, factor = _scale(timeline, replayed_requests, nearest_request, fit)
    requests_since = 1 if nearest_request is None else request.index - nearest_request
    first_request = timeline.requests[reported_requests[0]] if reported_requests else None
    output_factor, output_added = _answer_scale(other_requests.answers(request.model), factor)
    model_requests = earlier_requests.of_model(request.model)
    is_first = not reported_requests and request.reported is not None
    shared_tokens = _shared_beginning(first_request, request)
    return RequestRuler(
        unseen_tokens=unseen_tokens,
        factor=factor,
        added_per_request=fit.added_per_request * requests_since
        if reported_requests and unmeasured.unchanged_tokens is None
        else 0.0,
        output_factor=output_factor,
        output_added=output_added,
        lifetime_seconds=other_requests.lifetime_seconds_of(request.model),
        # A read below the known minimum shows that another minimum applies, which is not known.
        min_cached=0 if 0 < cache.min_read < rules.minimum else rules.minimum,
        read_step=rules.step,
        is_cached=cache.is_cached,
        cached_beyond=_cached_beyond(timeline, change_counts, cache, model_requests),
        unwritten_tokens=cache.unwritten_tokens,
        shared_beginning=shared_tokens,
        starts_anew_by_thinking=rules.starts_anew_by_thinking,
        factor_limit=None if nearest_request is None else replayed_requests[nearest_request].tokens,
        growth_factor=fit.factor,
        is_fitted=True,
        taken_read=request.usage.cache_read if is_first and request.usage is not None else None,
        unchanged_beginning=_beginning_tokens(timeline, request, shared_tokens, fit),
        recorded_estimate=unmeasured.tokens,
    )


def _cached_beyond(
    timeline: Timeline,
    change_counts: Sequence[int],
    cache: _ModelCache,
    reported_requests: Sequence[int],
) -> int:
    """Return the tokens that are cached beyond a model's last reported prompt, by the newest prompts still cached.

    ``change_counts`` are the changes of the context before each request.
    """
    if not reported_requests:
        return 0
    last_usage = timeline.requests[reported_requests[-1]].usage
    if last_usage is None:
        return 0
    last_prompt = last_usage.prompt
    candidates = [cache.tokens_beyond(last_usage)]
    for after, index in pairwise(reversed(reported_requests)):
        only_grew = change_counts[index + 1] == change_counts[after + 1]
        if len(candidates) > MAX_REQUESTS_BEHIND or not only_grew:
            break
        usage = timeline.requests[index].usage
        if usage is not None:
            cached_tokens = usage.prompt + cache.tokens_beyond(usage)
            candidates.append(min(cached_tokens, last_prompt) - last_prompt)
    return max(candidates)


def _scale(
    timeline: Timeline,
    replayed_requests: Sequence[UnmeasuredRequest],
    nearest_request: int | None,
    fit: Fit,
) -> Scale:
    """Return the scale by which the last report before a request adds up."""
    scale = Scale(fit.unseen_tokens, fit.factor)
    if nearest_request is None:
        return scale
    reported = timeline.requests[nearest_request].reported or 0
    return scale.fitted_to(reported, replayed_requests[nearest_request].tokens)


def _answer_scale(answers: _AnswerTotals, factor: float) -> tuple[float, float]:
    """Return the reported tokens of an answer per estimated shown token, and its tokens that are not shown at all."""
    count, reported_tokens, estimated_tokens = answers
    if not count:
        return factor, 0.0
    if reported_tokens and estimated_tokens * MAX_HIDDEN_RATIO >= reported_tokens:
        return reported_tokens / estimated_tokens, 0.0
    if not reported_tokens and count < MIN_KNOWN_REQUESTS:
        return factor, 0.0
    # The shown text has at most the reported tokens, and 0 where no answer of the model reported any.
    shown_factor = min(factor, reported_tokens / estimated_tokens) if estimated_tokens else factor
    return shown_factor, max(reported_tokens - shown_factor * estimated_tokens, 0.0) / count


def _beginning_tokens(
    timeline: Timeline, request: TimelineRequest, shared_tokens: int, fit: Fit
) -> float | None:
    """Estimate the cached tokens of a prompt whose earlier messages or settings the agent's program changed.

    It is the median read of other such requests; without any, for changed messages, the read of the first request or the
    tokens outside the items.
    """
    rewriting_requests = reads_after_rewriting(timeline)
    if request.index not in rewriting_requests:
        return read_after_change(timeline, request)
    other_reads = [
        read
        for index, read in rewriting_requests.items()
        if index != request.index and timeline.requests[index].model == request.model
    ]
    return median(other_reads) if other_reads else float(shared_tokens) or fit.unseen_tokens


def _shared_beginning(first_request: TimelineRequest | None, request: TimelineRequest) -> int:
    if first_request is None or first_request.usage is None or first_request.model != request.model:
        return 0
    return first_request.usage.cache_read


def _with_losses(
    timeline: Timeline,
    replayed_requests: Sequence[UnmeasuredRequest],
    rulers: Sequence[RequestRuler],
) -> tuple[RequestRuler, ...]:
    """Return the rulers with the cache losses whose size nothing else in the recording shows."""
    if has_too_many_losses(timeline):
        return tuple(rulers)
    changed_rulers = [*rulers]
    for loss in unmeasured_losses(timeline):
        ruler = changed_rulers[loss.request]
        if ruler.unchanged_beginning is None:
            sent_share = _sent_share(timeline, replayed_requests, ruler, loss)
            changed_rulers[loss.request] = ruler._replace(
                taken_read=loss.actual_read, taken_share=sent_share
            )
    return tuple(changed_rulers)


def _sent_share(
    timeline: Timeline,
    replayed_requests: Sequence[UnmeasuredRequest],
    ruler: RequestRuler,
    loss: CacheLoss,
) -> float:
    """Return the sent share of a prompt with a cache loss: below 1 where the prompt shrank though no item changed."""
    request, previous = timeline.requests[loss.request], timeline.requests[loss.compared_request]
    reported_tokens, previous_tokens = request.reported or 0, previous.reported or 0
    only_grew = all(
        unmeasured.unchanged_tokens is None
        for unmeasured in replayed_requests[previous.index + 1 : request.index + 1]
    )
    has_shrunk = previous_tokens - reported_tokens > max(
        MIN_LOSS_TOKENS, MIN_LOSS_SHARE * previous_tokens
    )
    if not only_grew or not has_shrunk or request.model != previous.model:
        return 1.0
    scale, estimate = (
        Scale(ruler.unseen_tokens, ruler.factor),
        replayed_requests[request.index].tokens,
    )
    counted_tokens = ruler.request_tokens(estimate, scale) + ruler.added_per_request
    return min(reported_tokens / counted_tokens, 1.0) if counted_tokens else 1.0


def has_too_many_losses(timeline: Timeline) -> bool:
    """Return whether there are so many losses of unknown size that none is taken from the recording."""
    compared_count = len(reporting_requests(timeline)) - 1
    return len(unmeasured_losses(timeline)) > MAX_TAKEN_SHARE * compared_count
