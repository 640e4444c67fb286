"""The requests of a recorded session that lost the provider's cache: known causes, cost, and how to avoid it.

``context_policies/prompt_cache/cache_losses.py`` finds the losses and their causes; for unexplained losses, correlations are listed.
"""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from palimpsest.context_policies.prompt_cache.break_causes import (
    BreakCause,
    FoundCause,
    reads_beginning_only,
)
from palimpsest.context_policies.prompt_cache.cache_lifetime import cache_lifetime
from palimpsest.context_policies.prompt_cache.cache_losses import (
    CacheLoss,
    cache_losses,
    reporting_requests,
)
from palimpsest.context_policies.prompt_cache.recorded_clock import behind_the_clock
from palimpsest.context_policies.prompt_cache.ruler import PriceProfile, amount_with_unit
from palimpsest.render.content.phrases import counted_noun
from palimpsest.render.reports.table import ReportTable, ShownAsTable, TableColumn, table_of
from palimpsest.review.tables.links import link_to
from palimpsest.transcript.growing_lists import GrownRows
from palimpsest.transcript.timeline import Timeline, TimelineRequest

PRICED_TOKENS = 1_000_000
"""Number of tokens that a rate is for."""
MAX_WARMINGS = 12
"""Maximum requests that are suggested for keeping a cache warm: those of an hour, for a cache of five minutes."""
_REMEDY_BY_CAUSE = {
    "model": "the same model until the turn's end",
    "tools": "the same tools for the whole session",
    "system prompt": "what changes told at the end, not in the system prompt",
    "compacted": "a larger window, or fewer outputs in it",
    "pruned": "fewer, larger batches",
    "reverted": "",
    "rewritten": "the messages before sent as they were",
    "client": "the same version until the session's end",
    "effort": "the same effort",
    "late": "",
    "unexplained": "",
}


@dataclass(frozen=True, slots=True)
class CacheBreak:
    """A request that read less from the cache than the request before had left there."""

    request: int
    """Index of the request, from 0; tables and arguments count from 1."""
    compared_request: int
    """Index of the newest earlier request with reported usage, with which it is compared."""
    turn: int
    causes: tuple[FoundCause, ...]
    """All causes with evidence in the recording, differences between the requests first."""
    expected: int
    """Tokens that the request should have read from the cache."""
    read: int
    """Tokens that the request read from the cache."""
    loss: int
    """Tokens that the cache should have held and that were written anew."""
    cost: float
    """Cost of the lost tokens beyond reading them from the cache, in the profile's unit."""
    first_of_turn: bool
    """Whether the request comes right after a prompt: a correlation, not a cause."""
    reports_writes: bool
    """Whether the provider reported cache writes; else the lost tokens were paid in full."""
    beginning_only: bool
    """Whether only the beginning of the session was read from the cache, and no message after it."""

    @property
    def cause(self) -> BreakCause:
        """The first of the break's causes."""
        return self.causes[0].cause

    @property
    def words(self) -> str:
        """The causes in words, with their numbers."""
        return "; and ".join(cause.evidence for cause in self.causes)


@dataclass(frozen=True)
class CacheBreaks(ShownAsTable):
    """The breaks of a session, in the order of requests."""

    timeline: Timeline
    price: PriceProfile
    breaks: tuple[CacheBreak, ...]
    followers: int
    """Number of requests that could have read from the cache: those after a request with reported usage."""
    turn_starts: int
    """Number of ``followers`` that come right after a prompt."""
    turn_starts_kept: int
    """Number of the requests in ``turn_starts`` that lost nothing."""

    def __iter__(self) -> Iterator[CacheBreak]:
        return iter(self.breaks)

    def __len__(self) -> int:
        return len(self.breaks)

    def __getitem__(self, index: int) -> CacheBreak:
        return self.breaks[index]

    @property
    def cost(self) -> float:
        """Cost of all lost tokens beyond reading them from the cache."""
        return sum(cache_break.cost for cache_break in self.breaks)

    @property
    def causes(self) -> dict[str, int]:
        """Number of breaks of each cause."""
        return dict(Counter(cache_break.cause for cache_break in self.breaks).most_common())

    @property
    def unexplained_share(self) -> float:
        """Share of the lost tokens without a known cause."""
        lost_tokens = sum(cache_break.loss for cache_break in self.breaks)
        unexplained_tokens = sum(cache_break.loss for cache_break in self._unexplained_breaks)
        return unexplained_tokens / lost_tokens if lost_tokens else 0.0

    @cached_property
    def _unexplained_breaks(self) -> list[CacheBreak]:
        return [cache_break for cache_break in self.breaks if cache_break.cause == "unexplained"]

    @cached_property
    def correlations(self) -> tuple[str, ...]:
        """Sentences on other properties of the unexplained breaks; these are correlations, not causes."""
        unexplained_breaks = self._unexplained_breaks
        after_prompt_count = sum(cache_break.first_of_turn for cache_break in unexplained_breaks)
        sentences = []
        if after_prompt_count:
            prompts_text = f"{after_prompt_count} of {len(unexplained_breaks)} unexplained breaks come right after a prompt; "
            sentences.append(
                f"{prompts_text}{self.turn_starts_kept} of {self.turn_starts} such requests lost nothing."
            )
        beginning_count = sum(cache_break.beginning_only for cache_break in unexplained_breaks)
        if beginning_count:
            sentences.append(
                f"{beginning_count} of {len(unexplained_breaks)} unexplained breaks read the beginning of the session alone, as where "
                "the messages after it are sent otherwise than before."
            )
        return tuple(sentences)

    @cached_property
    def table(self) -> ReportTable:
        """The breaks as a table."""
        unit = "USD" if self.price.unit == "USD" else "units"
        # The loss is a fact; its cost is a fact only at recorded prices.
        basis = self.price.basis
        causes_text = ", ".join(f"{count} {cause}" for cause, count in self.causes.items())
        noun = "break" if len(self) == 1 else "breaks"
        share = self.unexplained_share
        unexplained_notes = (f"{share:.0%} of the lost tokens are unexplained.",) if share else ()
        price_notes = (self.price.sentence,) if self.breaks and basis == "estimate" else ()
        title = f"{len(self)} cache {noun} in {counted_noun(self.followers, 'request')}: {self.price.amount_text(self.cost)}"
        return table_of(
            title,
            (
                (TableColumn("request", "request", "count"), lambda row: row.request + 1),
                TableColumn("turn", "turn", "count"),
                TableColumn("cause", "cause"),
                TableColumn("expected", "expected", "count", "fact"),
                TableColumn("read", "read", "count", "fact"),
                TableColumn("loss", "lost", "count", "fact"),
                TableColumn("cost", unit, "usd" if unit == "USD" else "count", basis),
                TableColumn("words", "why"),
            ),
            self.breaks,
            (
                *((causes_text,) if causes_text else ()),
                *unexplained_notes,
                *self.correlations,
                *price_notes,
            ),
            [link_to(self.timeline.session, cache_break.request) for cache_break in self.breaks],
        )


def cache_breaks(timeline: Timeline, price: PriceProfile) -> CacheBreaks:
    """Return the requests at which a session lost the cache; none where no usage was reported.

    A break is a loss over 1,024 tokens and over 5 per cent of the expected read.
    """
    reported_requests, losses = reporting_requests(timeline), cache_losses(timeline)
    row_cache: GrownRows[_FollowingRequest] = timeline.earlier.setdefault("followers", GrownRows())
    rows = row_cache.grown_rows(
        lambda index, _: _following_request(
            timeline, reported_requests[index], losses[index], price
        ),
        reported_requests,
        losses,
        subject=price,
    )
    uses_cache = any(
        request.usage is not None and (request.usage.cache_read or request.usage.cache_write)
        for request in reported_requests
    )
    followers = rows[1:] if uses_cache else ()
    turn_starts = [follower for follower in followers if follower.follows_prompt]
    return CacheBreaks(
        timeline,
        price,
        tuple(follower.cache_break for follower in followers if follower.cache_break is not None),
        max(len(reported_requests) - 1, 0),
        len(turn_starts),
        sum(start.cache_break is None for start in turn_starts),
    )


def breaks_at_price(timeline: Timeline, price: PriceProfile) -> CacheBreaks:
    """Return the cache breaks of a timeline, which are computed once for each price."""
    return timeline.derived_value(f"breaks {price}", lambda timeline: cache_breaks(timeline, price))


class _FollowingRequest(NamedTuple):
    """A request with reported usage that follows another such request."""

    follows_prompt: bool
    cache_break: CacheBreak | None


def _following_request(
    timeline: Timeline, request: TimelineRequest, cache_loss: CacheLoss | None, price: PriceProfile
) -> _FollowingRequest:
    """Return a request with usage that follows another one, with its cache break and the cost of that, if it has one."""
    follows_prompt = _follows_prompt(timeline, request)
    if cache_loss is None:
        return _FollowingRequest(follows_prompt, None)
    lost_tokens = cache_loss.expected_read - cache_loss.actual_read
    cache_break = CacheBreak(
        request=request.index,
        compared_request=cache_loss.compared_request,
        turn=request.turn,
        causes=cache_loss.causes,
        expected=cache_loss.expected_read,
        read=cache_loss.actual_read,
        loss=lost_tokens,
        cost=cost_beyond_reading(request, lost_tokens, price),
        first_of_turn=follows_prompt,
        reports_writes=request.usage is not None and request.usage.cache_write > 0,
        beginning_only=reads_beginning_only(timeline, request),
    )
    return _FollowingRequest(follows_prompt, cache_break)


def cost_beyond_reading(request: TimelineRequest, tokens: int, price: PriceProfile) -> float:
    """Return the cost of tokens that a request wrote to the cache, or paid in full, beyond that of reading them from it."""
    prices, usage = price.rates_at(request.terms, request.reported or 0), request.usage
    write_rate = prices.write if usage is not None and usage.cache_write else prices.input
    return tokens * (write_rate - prices.read) / PRICED_TOKENS


def remedy_text(timeline: Timeline, cache_break: CacheBreak, price: PriceProfile) -> str:
    """Return how a break could have been avoided; empty where no way is known, or where it would cost more."""
    if cache_break.cause != "idle":
        return _REMEDY_BY_CAUSE.get(cache_break.cause, "")
    previous_request = timeline.requests[cache_break.compared_request]
    request = timeline.requests[cache_break.request]
    started_ms, previous_end_ms = (
        request.started,
        previous_request.ended or previous_request.started,
    )
    if (
        started_ms is None
        or previous_end_ms is None
        or previous_request.index in behind_the_clock(timeline)
    ):
        return ""
    # A request just before the lifetime ends reads the prefix once and keeps it for another lifetime.
    lifetime = cache_lifetime(timeline).seconds
    request_count = math.ceil((started_ms - previous_end_ms) / 1000 / lifetime) - 1
    cost = request_count * price.cost(0, cache_break.expected, 0, 0, terms=request.terms)
    if not 0 < request_count <= MAX_WARMINGS or cost >= cache_break.cost:
        return ""
    requests_text = "a request" if request_count == 1 else f"{request_count} requests"
    amount_text = amount_with_unit(cost, price.unit, "estimate")
    return f"{requests_text} to keep the cache warm ({amount_text})"


def _follows_prompt(timeline: Timeline, request: TimelineRequest) -> bool:
    """Return whether the last item of a request is a prompt, not counting messages written by the program."""
    previous_turn = timeline.requests[request.index - 1].turn if request.index else 0
    last_item = timeline.items[request.items - 1] if request.items else None
    return last_item is not None and last_item.kind == "user" and request.turn > previous_turn
