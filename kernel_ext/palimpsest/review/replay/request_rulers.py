"""How each request of a recording is counted and cached, by what all other requests reported.

Border: pure. What a request itself reported is no input to its own ruler, so that a replay which reads the same as
the recording has reproduced it. Two things are taken from the recording all the same, marked and counted apart: what
the first request read, which sessions before it had left, and losses of the cache of which nothing else says how large they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from statistics import median
from typing import NamedTuple

from palimpsest.review.replay.break_causes import MOST_BEHIND
from palimpsest.review.replay.cache_lifetime import lifetime_seconds
from palimpsest.review.replay.cache_losses import (
    LEAST_LOSS,
    LEAST_SHARE,
    CacheLoss,
    known_requests,
    rewritten_reads,
    unmeasured_losses,
)
from palimpsest.review.replay.cache_walk import UnmeasuredRequest
from palimpsest.review.replay.ruler import RequestRuler, Scale
from palimpsest.review.replay.setting_changes import read_after_change
from palimpsest.transcript.provider_profile.cache_rules import CacheRules, cache_rules
from palimpsest.transcript.timeline import Timeline, TimelineRequest
from palimpsest.transcript.values import Usage

FOLDS = 5
"""Every fifth request is counted by a fit to the four others; a fit for each request would take its square of time."""
MOST_HIDDEN = 4
"""Tokens of answers for each one that is shown of them; above it they hold what the recording does not show."""
LEAST_KNOWN = 2
"""Requests from which on it says something that none of them read from the cache, or had an answer."""
SAME_SHARE = 0.02
"""Of the reported read; a replay that is no further away has reproduced it."""
MOST_TAKEN = 0.25
"""Share of the requests whose loss may be taken from the recording; above it the cache is by rules not known here."""


@dataclass(frozen=True, slots=True)
class Fit:
    """What some of the reports say of the tokens of all requests."""

    unseen: float = 0.0
    factor: float = 1.0
    added: float = 0.0
    """Tokens by which a request grows that are in no item; 0 where the factor holds them."""
    odd: frozenset[int] = frozenset()
    """Requests whose report contradicts those around it."""


def request_rulers(
    timeline: Timeline, replayed: Sequence[UnmeasuredRequest], fits: Sequence[Fit]
) -> tuple[RequestRuler, ...]:
    """Return the ruler of each request; ``fits`` are by the requests that were left out of them."""
    groups = [_Others(timeline, replayed, fold, len(fits)) for fold in range(len(fits))]
    rulers: list[RequestRuler] = []
    earlier = _Earlier()
    for one in replayed:
        fold = one.request.index % len(fits)
        if one.prefix is not None:
            earlier.changed_at = one.request.index
        rulers.append(_ruler(timeline, replayed, one, fits[fold], groups[fold], earlier))
        if one.request.reported is not None:
            earlier.add(one.request)
    return _with_losses(timeline, replayed, rulers)


class _Earlier:
    """The requests before one that reported their usage, by their numbers."""

    def __init__(self) -> None:
        self.all: list[int] = []
        self._of: dict[str, list[int]] = {}
        self.changed_at = 0
        """The newest request that did not only append."""

    def add(self, request: TimelineRequest) -> None:
        """Add the next one."""
        self.all.append(request.index)
        self._of.setdefault(request.model, []).append(request.index)

    def of(self, model: str) -> Sequence[int]:
        """Return those that a model answered."""
        return self._of.get(model, ())

    def nearest(self, model: str, odd: frozenset[int]) -> int | None:
        """Return the last of a model since something changed, else the last of any; None without one. Odd ones are left out."""
        own = next((at for at in reversed(self.of(model)) if at not in odd), None)
        if own is not None and own >= self.changed_at:
            return own
        return next((at for at in reversed(self.all) if at not in odd), None)


class _Others:
    """What is known of the requests of each model without every fifth of them; of a single request, by itself."""

    def __init__(
        self, timeline: Timeline, replayed: Sequence[UnmeasuredRequest], fold: int, folds: int
    ) -> None:
        def is_other(one: TimelineRequest) -> bool:
            return folds == 1 or one.index % folds != fold

        self.seconds = lifetime_seconds(timeline, is_other)
        self._caches: dict[str, _ModelCache] = {}
        self._answers: dict[str, _Answers] = {}
        known: dict[str, list[TimelineRequest]] = {}
        for one in timeline.requests:
            if one.reported is not None and is_other(one):
                known.setdefault(one.model, []).append(one)
        for model, those in known.items():
            usages = [one.usage for one in those if one.usage is not None]
            self._caches[model] = _ModelCache.of(model, those)
            self._answers[model] = _Answers(
                len(usages),
                float(sum(one.output + one.reasoning for one in usages)),
                sum(replayed[one.index].answer for one in those),
            )

    def cache(self, model: str) -> "_ModelCache":
        """Return how prompts of a model are cached, as far as these requests show it."""
        return self._caches.get(model) or _ModelCache.of(model, ())

    def answers(self, model: str) -> "_Answers":
        """Return what the answers of a model took."""
        return self._answers.get(model, _Answers(0, 0.0, 0.0))


class _Answers(NamedTuple):
    """What the answers of a model took together."""

    known: int
    """How many reported their usage."""
    told: float
    estimated: float


@dataclass(frozen=True, slots=True)
class _ModelCache:
    """How prompts of a model are cached."""

    is_cached: bool
    uncached: float | None
    """See ``RequestRuler``."""
    least: int
    """The fewest tokens that were read; 0 where none were."""
    keeps_end: bool
    """The end of a prompt that was reported as neither read nor written is in the cache all the same."""
    keeps_answer: bool

    @classmethod
    def of(cls, model: str, known: Sequence[TimelineRequest]) -> "_ModelCache":
        usages = [one.usage for one in known if one.usage is not None]
        reads = [one.cache_read for one in usages if one.cache_read]
        written = [one.input for one in usages if one.cache_write]
        rules = cache_rules(model)
        expected = (not (written and rules.marks_end), rules.keeps_answers)
        pairs = [(one, after) for one, after in pairwise(known) if after.index == one.index + 1]
        ways = sorted(product((True, False), (True, False)), key=lambda one: one != expected)
        keeps_end, keeps_answer = max(ways, key=lambda way: _same_reads(pairs, way, rules.step))
        return cls(
            # A single other request may have been the first one, which reads nothing.
            bool(reads) or (len(usages) < LEAST_KNOWN and not _asked_for_none(usages, rules)),
            median(written) if written else None if usages else 0.0,
            min(reads, default=0),
            keeps_end,
            keeps_answer,
        )

    def beyond(self, usage: Usage) -> int:
        """Return the tokens that are cached beside a prompt; less than 0 where its end is not."""
        kept = usage.output + usage.reasoning if self.keeps_answer else 0
        return kept - (0 if self.keeps_end else usage.input)


def _asked_for_none(usages: Sequence[Usage], rules: CacheRules) -> bool:
    """Return whether requests that were long enough set no mark, where a cache keeps only what is marked."""
    return rules.marks_end and any(
        one.prompt >= rules.minimum and not one.cache_read and not one.cache_write for one in usages
    )


def _same_reads(
    pairs: Sequence[tuple[TimelineRequest, TimelineRequest]], way: tuple[bool, bool], step: int
) -> int:
    """Return how many requests read what the one before left, if that kept its end, and its answer."""
    made = _ModelCache(is_cached=True, uncached=0, least=0, keeps_end=way[0], keeps_answer=way[1])
    found = 0
    for before, after in pairs:
        if before.usage is not None and after.usage is not None:
            left = (before.usage.prompt + made.beyond(before.usage)) // step * step
            found += is_same_read(left, after.usage.cache_read)
    return found


def is_same_read(replayed: float, reported: int) -> bool:
    """Return whether a replay reads what was reported: within 2 per cent of it."""
    return abs(replayed - reported) <= SAME_SHARE * reported


def _ruler(
    timeline: Timeline,
    replayed: Sequence[UnmeasuredRequest],
    one: UnmeasuredRequest,
    fit: Fit,
    others: _Others,
    earlier: _Earlier,
) -> RequestRuler:
    request = one.request
    rules, cache = cache_rules(request.model), others.cache(request.model)
    reported, near = earlier.all, earlier.nearest(request.model, fit.odd)
    unseen, factor = _scale(timeline, replayed, near, fit)
    since = 1 if near is None else request.index - near
    first = timeline.requests[reported[0]] if reported else None
    answers = _answer_scale(others.answers(request.model), factor)
    is_first = not reported and request.reported is not None
    shared = _shared(first, request)
    return RequestRuler(
        unseen=unseen,
        factor=factor,
        added=fit.added * since if reported and one.prefix is None else 0.0,
        output_factor=answers[0],
        output_added=answers[1],
        lifetime_seconds=others.seconds(request.model),
        # Where less was read than is said to be kept, another minimum holds, and none is known.
        minimum=0 if 0 < cache.least < rules.minimum else rules.minimum,
        step=rules.step,
        is_cached=cache.is_cached,
        beyond=_beyond(timeline, replayed, cache, earlier.of(request.model)),
        uncached=cache.uncached,
        shared=shared,
        starts_anew_by_thinking=rules.starts_anew_by_thinking,
        seen=None if near is None else replayed[near].tokens,
        growth=fit.factor,
        is_fitted=True,
        taken=request.usage.cache_read if is_first and request.usage is not None else None,
        beginning=_beginning(timeline, request, shared, fit),
        counted=one.tokens,
    )


def _beyond(
    timeline: Timeline,
    replayed: Sequence[UnmeasuredRequest],
    cache: _ModelCache,
    reported: Sequence[int],
) -> int:
    """Return the tokens that are cached beside a model's last reported prompt; those of the ones before it are there still."""
    if not reported:
        return 0
    last = timeline.requests[reported[-1]]
    found = [0] if last.usage is None else [cache.beyond(last.usage)]
    for at, after in zip(reported[-2::-1], reported[:0:-1], strict=False):
        earlier = timeline.requests[at]
        grew = all(one.prefix is None for one in replayed[at + 1 : after + 1])
        if len(found) > MOST_BEHIND or not grew:
            break
        if earlier.usage is not None and last.usage is not None:
            left = earlier.usage.prompt + cache.beyond(earlier.usage)
            found.append(min(left, last.usage.prompt) - last.usage.prompt)
    return max(found)


def _scale(
    timeline: Timeline, replayed: Sequence[UnmeasuredRequest], near: int | None, fit: Fit
) -> Scale:
    """Return the scale that the last report before a request makes true."""
    if near is None:
        return Scale(fit.unseen, fit.factor)
    told, tokens = timeline.requests[near].reported or 0, replayed[near].tokens
    return Scale(fit.unseen, fit.factor).at(told, tokens)


def _answer_scale(answers: _Answers, factor: float) -> tuple[float, float]:
    """Return the tokens of an answer for each one estimated of what is shown of it, and those of which nothing is shown."""
    known, told, estimated = answers
    if not known:
        return factor, 0.0
    if told and estimated * MOST_HIDDEN >= told:
        return told / estimated, 0.0
    if not told and known < LEAST_KNOWN:
        return factor, 0.0
    # Shown words are at most what was reported, and nothing where no answer of the model ever was.
    shown = min(factor, told / estimated) if estimated else factor
    return shown, max(told - shown * estimated, 0.0) / known


def _beginning(timeline: Timeline, request: TimelineRequest, shared: int, fit: Fit) -> float | None:
    """Return what of a prompt is still in the cache, where the agent's program sent the rest otherwise, or had other settings.

    It is what other such requests read. Of what was sent otherwise also what the first request read; else what no item
    shows.
    """
    rewritten = rewritten_reads(timeline)
    if request.index not in rewritten:
        return read_after_change(timeline, request)
    others = [
        read
        for at, read in rewritten.items()
        if at != request.index and timeline.requests[at].model == request.model
    ]
    return median(others) if others else float(shared) or fit.unseen


def _shared(first: TimelineRequest | None, request: TimelineRequest) -> int:
    if first is None or first.usage is None or first.model != request.model:
        return 0
    return first.usage.cache_read


def _with_losses(
    timeline: Timeline, replayed: Sequence[UnmeasuredRequest], rulers: Sequence[RequestRuler]
) -> tuple[RequestRuler, ...]:
    """Return the rulers with the losses of the cache of which nothing else in the recording says how large they are."""
    if has_too_many_losses(timeline):
        return tuple(rulers)
    found = [*rulers]
    for lost in unmeasured_losses(timeline):
        ruler = found[lost.request]
        if ruler.beginning is None:
            share = _sent_share(timeline, replayed, ruler, lost)
            found[lost.request] = ruler._replace(taken=lost.read, taken_share=share)
    return tuple(found)


def _sent_share(
    timeline: Timeline,
    replayed: Sequence[UnmeasuredRequest],
    ruler: RequestRuler,
    lost: CacheLoss,
) -> float:
    """Return which share of its prompt a request that lost the cache sent: less than 1 where it is another conversation's.

    So it is where the prompt fell though it holds all that the request before held, as the recording has it.
    """
    request, before = timeline.requests[lost.request], timeline.requests[lost.before]
    told, last = request.reported or 0, before.reported or 0
    grew = all(one.prefix is None for one in replayed[before.index + 1 : request.index + 1])
    scale = Scale(ruler.unseen, ruler.factor)
    counted = ruler.of(replayed[request.index].tokens, scale) + ruler.added
    fell = last - told > max(LEAST_LOSS, LEAST_SHARE * last)
    if not grew or not fell or request.model != before.model:
        return 1.0
    return min(told / counted, 1.0) if counted else 1.0


def has_too_many_losses(timeline: Timeline) -> bool:
    """Return whether so many losses tell of no size that none is taken from the recording."""
    followers = len(known_requests(timeline)) - 1
    return len(unmeasured_losses(timeline)) > MOST_TAKEN * followers
