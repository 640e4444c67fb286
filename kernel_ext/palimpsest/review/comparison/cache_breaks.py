"""Where a recorded session lost the provider's cache, why, as far as can be known, and at what price.

Where and why is found by ``replay/cache_losses.py``; what no cause explains has beside it what else is true of it.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from palimpsest.render.content.phrases import some
from palimpsest.render.reports.table import ReportTable, ShownAsTable, TableColumn, table_of
from palimpsest.review.comparison.links import link_to
from palimpsest.review.replay.break_causes import (
    BreakCause,
    FoundCause,
    reads_beginning_only,
)
from palimpsest.review.replay.cache_losses import CacheLoss, cache_losses, known_requests
from palimpsest.review.replay.ruler import PriceProfile
from palimpsest.transcript.growing_lists import GrownRows
from palimpsest.transcript.timeline import Timeline, TimelineRequest


@dataclass(frozen=True, slots=True)
class CacheBreak:
    """A request that did not read from the cache what the request before left there."""

    request: int
    before: int
    """The request that it is compared with: the one before, or the last before it that reported usage."""
    turn: int
    causes: tuple[FoundCause, ...]
    """Why, what is in the requests themselves first; all whose evidence the recording holds."""
    expected: int
    """Tokens that it should have read."""
    read: int
    loss: int
    """Tokens that were written, or paid in full, again."""
    cost: float
    """What the loss cost beyond reading it, in the profile's money."""
    first_of_turn: bool
    """It comes right after a prompt: a correlation, not a cause."""
    written: bool
    """The provider reported that it wrote to the cache; else what was lost was paid in full."""
    beginning_only: bool
    """Of what was sent only the beginning of the session was read, no message after it."""

    @property
    def cause(self) -> BreakCause:
        """The first of its causes."""
        return self.causes[0].cause

    @property
    def words(self) -> str:
        """Its causes in words, with their numbers."""
        return "; and ".join(one.words for one in self.causes)


@dataclass(frozen=True)
class CacheBreaks(ShownAsTable):
    """The breaks of a session, in the order of requests."""

    timeline: Timeline
    price: PriceProfile
    breaks: tuple[CacheBreak, ...]
    followers: int
    """Requests that could have read something: those with a reported one before them."""
    turn_starts: int
    """Of these the ones right after a prompt."""
    turn_starts_kept: int
    """Of those the ones that lost nothing."""

    def __iter__(self) -> Iterator[CacheBreak]:
        return iter(self.breaks)

    def __len__(self) -> int:
        return len(self.breaks)

    def __getitem__(self, place: int) -> CacheBreak:
        return self.breaks[place]

    @property
    def cost(self) -> float:
        """What all losses cost beyond reading them."""
        return sum(one.cost for one in self.breaks)

    @property
    def causes(self) -> dict[str, int]:
        """How many breaks each cause has."""
        return dict(Counter(one.cause for one in self.breaks).most_common())

    @property
    def unexplained_share(self) -> float:
        """Share of the lost tokens that nothing explains."""
        lost = sum(one.loss for one in self.breaks)
        return (
            sum(one.loss for one in self.breaks if one.cause == "unexplained") / lost
            if lost
            else 0.0
        )

    @cached_property
    def correlations(self) -> tuple[str, ...]:
        """What else is true of the unexplained breaks, a sentence each; none of it is a cause."""
        unexplained = [one for one in self.breaks if one.cause == "unexplained"]
        first = sum(one.first_of_turn for one in unexplained)
        told = []
        if first:
            found = f"{first} of {len(unexplained)} unexplained breaks come right after a prompt; "
            told.append(
                f"{found}{self.turn_starts_kept} of {self.turn_starts} such requests lost nothing."
            )
        beginning = sum(one.beginning_only for one in unexplained)
        if beginning:
            told.append(
                f"{beginning} of {len(unexplained)} unexplained breaks read the beginning of the session alone, as where "
                "the messages after it are sent otherwise than before."
            )
        return tuple(told)

    @cached_property
    def table(self) -> ReportTable:
        """The breaks as a table for any renderer."""
        unit = "USD" if self.price.unit == "USD" else "units"
        # The loss is a fact; what it cost is one only at prices that the recording holds.
        basis = self.price.basis
        told = ", ".join(f"{number} {cause}" for cause, number in self.causes.items())
        many = "break" if len(self) == 1 else "breaks"
        share = self.unexplained_share
        unexplained = (f"{share:.0%} of the lost tokens are unexplained.",) if share else ()
        priced = (self.price.sentence,) if self.breaks and basis == "estimate" else ()
        title = f"{len(self)} cache {many} in {some(self.followers, 'request')}: {self.price.words(self.cost)}"
        return table_of(
            title,
            (
                (TableColumn("request", "request", "count"), lambda one: one.request + 1),
                TableColumn("turn", "turn", "count"),
                TableColumn("cause", "cause"),
                TableColumn("expected", "expected", "count", "fact"),
                TableColumn("read", "read", "count", "fact"),
                TableColumn("loss", "lost", "count", "fact"),
                TableColumn("cost", unit, "usd" if unit == "USD" else "count", basis),
                TableColumn("words", "why"),
            ),
            self.breaks,
            (*((told,) if told else ()), *unexplained, *self.correlations, *priced),
            [link_to(self.timeline.session, one.request) for one in self.breaks],
        )


def cache_breaks(timeline: Timeline, price: PriceProfile) -> CacheBreaks:
    """Return where a session lost the cache; none where no usage was reported.

    A break is a loss over 1,024 tokens and over 5 per cent of what was expected.
    """
    known, losses = known_requests(timeline), cache_losses(timeline)
    grown: GrownRows[_FollowingRequest] = timeline.earlier.setdefault("followers", GrownRows())
    rows = grown.of(
        lambda at, _: _follower(timeline, known[at], losses[at], price),
        known,
        losses,
        about=price,
    )
    caches = any(
        one.usage is not None and (one.usage.cache_read or one.usage.cache_write) for one in known
    )
    followers = rows[1:] if caches else ()
    starts = [one for one in followers if one.first_of_turn]
    return CacheBreaks(
        timeline,
        price,
        tuple(one.broken for one in followers if one.broken is not None),
        max(len(known) - 1, 0),
        len(starts),
        sum(one.broken is None for one in starts),
    )


class _FollowingRequest(NamedTuple):
    """A request with reported usage behind another one."""

    first_of_turn: bool
    broken: CacheBreak | None


def _follower(
    timeline: Timeline, request: TimelineRequest, lost: CacheLoss | None, price: PriceProfile
) -> _FollowingRequest:
    """Return whether a request lost the cache, and at what price."""
    first = _follows_prompt(timeline, request)
    if lost is None:
        return _FollowingRequest(first, None)
    usage = request.usage
    its = price.at(request.terms, request.reported or 0)
    write = its.write if usage is not None and usage.cache_write else its.input
    loss = lost.expected - lost.read
    broken = CacheBreak(
        request=request.index,
        before=lost.before,
        turn=request.turn,
        causes=lost.causes,
        expected=lost.expected,
        read=lost.read,
        loss=loss,
        cost=loss * (write - its.read) / 1_000_000,
        first_of_turn=first,
        written=usage is not None and usage.cache_write > 0,
        beginning_only=reads_beginning_only(timeline, request),
    )
    return _FollowingRequest(first, broken)


def _follows_prompt(timeline: Timeline, request: TimelineRequest) -> bool:
    """Return whether a prompt is the last that a request shows; what the program wrote in its place is none."""
    turn = timeline.requests[request.index - 1].turn if request.index else 0
    last = timeline.items[request.items - 1] if request.items else None
    return last is not None and last.kind == "user" and request.turn > turn
