"""Compute the tokens that each request of a replay reads from the provider's cache, writes to it, or sends without it.

The same rule reproduces a recording and replays every policy. A model's cache holds the last prompt that was sent to
it, up to the first change since; each model has a cache of its own.
"""

from dataclasses import dataclass, replace

from palimpsest.context_policies.prompt_cache.break_causes import BEGINNING_CHANGES
from palimpsest.context_policies.prompt_cache.ruler import (
    PriceProfile,
    RequestRuler,
    Scale,
    with_writes_kept,
)
from palimpsest.context_policies.prompt_cache.setting_changes import changed_settings
from palimpsest.direct_init import with_direct_init
from palimpsest.transcript.timeline import STANDARD, Terms, TimelineRequest


@with_direct_init
@dataclass(frozen=True, slots=True)
class RequestSize:
    """One request of a replay, in tokens by the ruler."""

    total: float
    prefix: float
    """Tokens of the beginning that the request shares with the previous request."""
    read: float
    """The tokens of ``prefix`` that the provider's cache held; the rest was written, or sent without the cache."""
    output: float
    summary_input: float = 0
    """Tokens that the calls for summaries before this request read; they share its prefix."""
    summary_output: float = 0
    """Tokens that those calls wrote."""
    first_changed: int | None = None
    """The first item of the request before that changed; None where the request only grew."""
    terms: Terms = STANDARD
    """The terms on which the request's price depends."""
    uncached: float = 0
    """Tokens that were neither read from the cache nor written to it."""
    is_taken: bool = False
    """Whether ``read`` was taken from the recorded request, which lost the cache for no measurable cause."""
    is_hourly: bool | None = None
    """Whether the request's writes are kept for an hour; None: as recorded."""
    is_billed: bool = True
    """Whether the request counts in sums; False for a stopped or refused request without usage, in a session that
    reports usage."""

    @property
    def written(self) -> float:
        """Tokens that were written to the cache."""
        return self.total - self.read - self.uncached

    def cost(self, price: PriceProfile) -> float:
        """Return the request's cost, without the calls for summaries before it."""
        if not self.is_billed:
            return 0.0
        prices = price if self.is_hourly is None else with_writes_kept(price, hourly=self.is_hourly)
        return prices.cost(self.uncached, self.read, self.written, self.output, terms=self.terms)

    def summaries_cost(self, price: PriceProfile) -> float:
        """Return the cost of the calls for summaries before the request, which share its prefix."""
        if not self.summary_output:
            return 0.0
        return price.cost(0, self.summary_input, 0, self.summary_output, terms=self.terms)


@with_direct_init
@dataclass(frozen=True, slots=True)
class UnmeasuredRequest:
    """A request of a replay before it is measured: tokens by the estimator."""

    request: TimelineRequest
    tokens: float
    answer_tokens: float
    unchanged_tokens: float | None = None
    """Tokens before the first change since the previous request; None where the request only grew."""
    first_changed: int | None = None
    summary_input: float = 0
    summary_output: float = 0
    cacheable_tokens: float | None = None
    """Tokens at the request's beginning that may be cached; None where all may."""
    is_hourly: bool | None = None
    """Whether writes cost the price for an hour; None: as recorded."""


@with_direct_init
@dataclass(frozen=True, slots=True)
class _CachedPrompt:
    """The part of the last prompt sent to a model with which the newest request still begins."""

    request: TimelineRequest
    tokens: float
    is_whole: bool = True
    """Whether the newest request begins with the whole prompt."""


class CacheWalk:
    """Measures the requests of a replay, one after the other."""

    def __init__(self, scale: Scale) -> None:
        self._scale = scale
        self._cached_prompts: dict[str, _CachedPrompt] = {}
        self._previous_estimate: float | None = None
        """Tokens of the request before, by the estimator."""
        self._previous_total = 0.0
        """Tokens of the request before, by the ruler."""

    def copy(self) -> "CacheWalk":
        """Return a copy that continues independently."""
        walk = CacheWalk(self._scale)
        walk._cached_prompts = {**self._cached_prompts}
        walk._previous_estimate = self._previous_estimate
        walk._previous_total = self._previous_total
        return walk

    def measured_size(self, unmeasured: UnmeasuredRequest, ruler: RequestRuler) -> RequestSize:
        """Return the size of the next request, and continue the walk after it."""
        request, previous_estimate = unmeasured.request, self._previous_estimate
        whole_tokens = ruler.request_tokens(unmeasured.tokens, self._scale)
        total = (whole_tokens + ruler.added_per_request) * ruler.taken_share
        # A request that only grew begins with the whole previous request.
        prefix, unchanged_tokens = self._previous_total, unmeasured.unchanged_tokens
        if unchanged_tokens is not None:
            self._shorten_prompts(unchanged_tokens)
            scale = self._scale.fitted_to(total, unmeasured.tokens)
            prefix = scale.request_tokens(unchanged_tokens)
        self._previous_total = total
        cacheable_total, cached_tokens = total, unmeasured.tokens
        if unmeasured.cacheable_tokens is not None:
            cached_tokens = min(unmeasured.cacheable_tokens, cached_tokens)
            cacheable_total = min(
                ruler.request_tokens(unmeasured.cacheable_tokens, self._scale), total
            )
        read = min(self._tokens_in_cache(request, ruler), cacheable_total)
        if ruler.unchanged_beginning is not None:
            read = min(read, ruler.unchanged_beginning)
        is_taken = False
        if ruler.taken_read is not None and (previous_estimate is None or ruler.taken_read < read):
            read, is_taken = min(float(ruler.taken_read), cacheable_total), True
        unread = total - read
        uncached = unread if ruler.unwritten_tokens is None else min(ruler.unwritten_tokens, unread)
        uncached = max(uncached, total - cacheable_total)
        was_answered = request.status == "ok" or request.usage is not None
        if was_answered:
            # In recordings no request reads what a stopped or refused request would have left in the cache.
            is_whole = unmeasured.cacheable_tokens is None
            self._cached_prompts[request.model] = _CachedPrompt(request, cached_tokens, is_whole)
        self._previous_estimate = unmeasured.tokens
        return RequestSize(
            total=total,
            prefix=prefix,
            read=read,
            output=unmeasured.answer_tokens * ruler.output_factor + ruler.output_added,
            summary_input=unmeasured.summary_input,
            summary_output=unmeasured.summary_output,
            first_changed=unmeasured.first_changed,
            terms=request.terms,
            uncached=uncached,
            is_taken=is_taken,
            is_hourly=unmeasured.is_hourly,
            is_billed=not ruler.is_fitted or was_answered,
        )

    def _shorten_prompts(self, unchanged_tokens: float) -> None:
        """Shorten the cached prompts to what comes before a change."""
        for model, cached_prompt in self._cached_prompts.items():
            if cached_prompt.tokens > unchanged_tokens:
                self._cached_prompts[model] = replace(
                    cached_prompt, tokens=unchanged_tokens, is_whole=False
                )

    def _tokens_in_cache(self, request: TimelineRequest, ruler: RequestRuler) -> float:
        """Return the tokens that the model's cache holds of a request."""
        cached_prompt = self._cached_prompts.get(request.model)
        if not ruler.is_cached or self._previous_estimate is None:
            return 0.0
        if cached_prompt is None or _is_expired(cached_prompt.request, request, ruler):
            return float(ruler.shared_beginning)
        if _has_changed_beginning(cached_prompt, request, ruler):
            return 0.0
        beginning = ruler.request_tokens(cached_prompt.tokens, self._scale)
        if cached_prompt.is_whole:
            beginning += ruler.cached_beyond
        if beginning < max(ruler.min_cached, ruler.read_step):
            return 0.0
        return beginning if ruler.read_step == 1 else beginning // ruler.read_step * ruler.read_step


def _is_expired(previous: TimelineRequest, request: TimelineRequest, ruler: RequestRuler) -> bool:
    pause_seconds = request.seconds_since(previous)
    return pause_seconds is not None and pause_seconds > ruler.lifetime_seconds


def _has_changed_beginning(
    cached_prompt: _CachedPrompt, request: TimelineRequest, ruler: RequestRuler
) -> bool:
    """Return whether tools, system prompt or thinking changed since the cached prompt, so that none of it is read."""
    previous = cached_prompt.request
    if cached_prompt.is_whole and request.changed_sections(previous):
        return True
    if cached_prompt.is_whole and request.cache_miss in BEGINNING_CHANGES:
        return True
    return ruler.starts_anew_by_thinking and "thinking" in changed_settings(previous, request)
