"""Where a recorded session lost the provider's cache, why, as far as can be known, and at what price.

From the reported usage alone: a request was expected to read from the cache what it shares with the one
before; what it did not read is the loss. Causes are looked for in a fixed order (spec/review.md 5, 12), and
what none of them explains is called unexplained, with what else is true of it beside.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

from palimpsest.render.content.phrases import some
from palimpsest.render.reports.table import ReportTable, ShownAsTable, TableColumn
from palimpsest.review.comparison.links import link_to
from palimpsest.review.replay.ruler import PriceProfile
from palimpsest.transcript.timeline import Timeline, TimelineRequest

LEAST_LOSS = 1_024
"""Tokens; a smaller loss is no break."""
LEAST_SHARE = 0.05
"""Of what was expected; a smaller loss is no break."""
BreakCause = Literal[
    "idle",
    "model",
    "tools",
    "system prompt",
    "compacted",
    "pruned",
    "reverted",
    "effort",
    "unexplained",
]
_WORDS: dict[str, str] = {
    "idle": "{seconds:,.0f} s passed since the request before; the cache is kept for {lifetime:,.0f} s",
    "model": "the model changed from {before} to {now}",
    "tools": "the tool definitions changed",
    "system prompt": "the system prompt changed",
    "compacted": "a summary replaced earlier messages",
    "pruned": "{items} earlier items were shown otherwise",
    "reverted": "the user took messages back",
    "effort": "the reasoning effort changed from {before} to {now}",
    "effort again": "the reasoning effort was changed {times} and is {now} again",
    "unexplained": "nothing in the recording explains it",
}


@dataclass(frozen=True, slots=True)
class CacheBreak:
    """A request that did not read from the cache what it shares with the request before."""

    request: int
    turn: int
    cause: BreakCause
    words: str
    """The cause in words, with its numbers."""
    expected: int
    """Tokens that it should have read."""
    read: int
    loss: int
    """Tokens that were written, or paid in full, again."""
    cost: float
    """What the loss cost beyond reading it, in the profile's money."""
    first_of_turn: bool
    """It comes right after a prompt: a correlation, not a cause."""


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
        if not unexplained or not first:
            return ()
        found = f"{first} of {len(unexplained)} unexplained breaks come right after a prompt; "
        told = f"{found}{self.turn_starts_kept} of {self.turn_starts} such requests lost nothing."
        return (told,)

    @cached_property
    def table(self) -> ReportTable:
        """The breaks as a table for any renderer."""
        unit = "USD" if self.price.unit == "USD" else "units"
        told = ", ".join(f"{number} {cause}" for cause, number in self.causes.items())
        many = "break" if len(self) == 1 else "breaks"
        title = f"{len(self)} cache {many} in {some(self.followers, 'request')}: {self.cost:,.{2 if unit == 'USD' else 0}f} {unit}"
        return ReportTable(
            title=title,
            columns=(
                TableColumn("request", "request", "count"),
                TableColumn("turn", "turn", "count"),
                TableColumn("cause", "cause"),
                TableColumn("expected", "expected", "count", "fact"),
                TableColumn("read", "read", "count", "fact"),
                TableColumn("loss", "lost", "count", "fact"),
                TableColumn("cost", unit, "usd" if unit == "USD" else "count", "fact"),
                TableColumn("words", "why"),
            ),
            rows=tuple(
                (
                    one.request + 1,
                    one.turn,
                    one.cause,
                    one.expected,
                    one.read,
                    one.loss,
                    one.cost,
                    one.words,
                )
                for one in self.breaks
            ),
            notes=(*((told,) if told else ()), *self._unexplained(), *self.correlations),
            links=tuple(link_to(self.timeline.session, one.request) for one in self.breaks),
        )

    def _unexplained(self) -> tuple[str, ...]:
        share = self.unexplained_share
        return (f"{share:.0%} of the lost tokens are unexplained.",) if share else ()


def cache_breaks(timeline: Timeline, price: PriceProfile, lifetime: float = 300) -> CacheBreaks:
    """Return where a session lost the cache; none where no usage was reported.

    A break is a loss over 1,024 tokens and over 5 per cent of what was expected.
    """
    known = [one for one in timeline.requests if one.reported is not None]
    caches = any(one.usage is not None and one.usage.cache_read for one in known)
    found: list[CacheBreak] = []
    starts = kept = 0
    for before, request in pairwise(known) if caches else ():
        cause, words = _cause(timeline, before, request, lifetime)
        lost = _loss(before, request)
        first = request.items > 0 and timeline.items[request.items - 1].kind == "user"
        if first:
            starts += 1
            kept += lost is None
        if lost is None:
            continue
        expected, read = lost
        usage = request.usage
        write = price.write if usage is not None and usage.cache_write else price.input
        cost = (expected - read) * (write - price.read) / 1_000_000
        found.append(
            CacheBreak(
                request.index,
                request.turn,
                cause,
                words,
                expected,
                read,
                expected - read,
                cost,
                first,
            )
        )
    return CacheBreaks(timeline, price, tuple(found), max(len(known) - 1, 0), starts, kept)


def _loss(before: TimelineRequest, request: TimelineRequest) -> tuple[int, int] | None:
    """Return what was expected to be read and what was, where that is a break."""
    if before.reported is None or request.reported is None or request.usage is None:
        return None
    expected = min(before.reported, request.reported)
    loss = expected - request.usage.cache_read
    is_break = loss > max(LEAST_LOSS, LEAST_SHARE * expected)
    return (expected, request.usage.cache_read) if is_break else None


def _cause(
    timeline: Timeline, before: TimelineRequest, request: TimelineRequest, lifetime: float
) -> tuple[BreakCause, str]:
    """Return the first cause that holds between two requests, in words."""
    seconds = _seconds(before, request)
    between = range(before.index + 1, request.index + 1)
    kinds = {one.kind for one in timeline.events if one.request in between}
    changed = {
        one.item
        for one in timeline.transitions
        if one.request in between and timeline.items[one.item].entered <= before.index
    }
    cause: BreakCause = "unexplained"
    if seconds is not None and seconds > lifetime:
        cause = "idle"
    elif before.model != request.model:
        cause = "model"
    elif before.tools_hash != request.tools_hash:
        cause = "tools"
    elif before.system_hash != request.system_hash:
        cause = "system prompt"
    elif "compact" in kinds:
        cause = "compacted"
    elif "undo" in kinds:
        cause = "reverted"
    elif changed:
        cause = "pruned"
    elif before.effort != request.effort or request.effort_changes:
        cause = "effort"
    was, now = (
        (before.model, request.model) if cause == "model" else (before.effort, request.effort)
    )
    how = _WORDS["effort again" if cause == "effort" and was == now else cause]
    words = how.format(
        seconds=seconds or 0,
        lifetime=lifetime,
        before=was,
        now=now,
        items=len(changed),
        times="once" if request.effort_changes == 1 else f"{request.effort_changes} times",
    )
    return cause, words


def _seconds(before: TimelineRequest, request: TimelineRequest) -> float | None:
    start = before.ended or before.started
    if start is None or request.started is None:
        return None
    return (request.started - start) / 1000
