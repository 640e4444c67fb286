"""The difference of two requests: what came, went and was rewritten, what they share, and what was paid anew."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from palimpsest.render.reports.table import ReportTable, ShownAsTable, TableColumn, Told, table_of
from palimpsest.review.replay.ruler import PriceProfile
from palimpsest.review.replay.simulation import Simulation
from palimpsest.review.request_contents.shown_items import ShownItem, shown_items
from palimpsest.transcript.timeline import Timeline

Changed = Literal["came", "went", "rewritten"]
CHANGES: tuple[Changed, ...] = ("came", "went", "rewritten")
AS_REPORTED = "As reported"
ESTIMATED = "Estimate"


@dataclass(frozen=True, slots=True)
class ReportedLoss:
    """A break of the cache, as the provider's usage tells it."""

    tokens: int
    """Read anew, though the request before held them."""
    cost: float
    """What that cost beyond reading them from the cache."""
    cause: str
    """In words."""


@dataclass(frozen=True, slots=True)
class ItemChange:
    """An item that two requests do not show alike."""

    item: int
    change: Changed
    tokens_before: float
    """In the first of the requests, an estimate; 0 where it was not there."""
    tokens_after: float
    state: str
    """How the second shows it, or how it is gone from it."""


@dataclass(frozen=True)
class RequestDifference(ShownAsTable):
    """Two requests of one session compared, both from 0."""

    timeline: Timeline = field(repr=False)
    first: int
    second: int
    policy: str
    changes: tuple[ItemChange, ...] = field(repr=False)
    """In the order of the second request; what went comes last."""
    prefix_items: int
    """How many items both begin with, shown alike, cut to whole messages of the provider."""
    prefix_tokens: float
    """Tokens of these, with what is not seen; an estimate."""
    first_differing: int | None
    """The first item from which on they differ; None where the second only adds to the first, or is the same."""
    rewritten_tokens: float
    """Tokens of the first request that the second holds behind that place, so that no cache has them; an estimate."""
    rewritten_cost: float
    """What reading these anew costs beyond the cache, in the profile's money; an estimate."""
    tokens: tuple[float, float]
    """The sizes of both; an estimate."""
    price: PriceProfile
    follows: bool
    """The second is the request right after the first, as recorded: what was reported of it is a fact here."""
    loss: ReportedLoss | None = None
    """The break of the cache between them, where one was reported."""

    def of(self, change: Changed) -> tuple[ItemChange, ...]:
        """Return the items that ``came``, ``went`` or were ``rewritten``."""
        return tuple(one for one in self.changes if one.change == change)

    @property
    def cache_sentence(self) -> str:
        """What became of the cache, in a sentence: as reported where it was, else an estimate."""
        return self._facts or self._estimate

    @property
    def _facts(self) -> str:
        usage = self.timeline.requests[self.second].usage
        if not self.follows or usage is None or not usage.prompt:
            return ""
        if self.loss is not None:
            money = self.price.words(self.loss.cost)
            return f"The cache breaks here: {self.loss.tokens:,} tokens were read anew, {money}; {self.loss.cause}."
        if not usage.cache_read:
            return f"No cache was read: all {usage.prompt:,} tokens were read anew."
        return f"The cache held: {usage.cache_read:,} of {usage.prompt:,} tokens were read from it."

    @property
    def _estimate(self) -> str:
        first, second = self.first + 1, self.second + 1
        if self.first_differing is None:
            more = max(self.tokens[1] - self.prefix_tokens, 0)
            return (
                f"Request {second} begins with all of request {first}: ~{self.prefix_tokens:,.0f} tokens stay "
                f"as they are, and ~{more:,.0f} come behind them."
            )
        return (
            f"Request {second} differs from request {first} from item {self.first_differing + 1} on: "
            f"~{self.prefix_tokens:,.0f} tokens stay as they are, and ~{self.rewritten_tokens:,.0f} of the "
            f"others are read anew, ~{self.price.words(self.rewritten_cost)}."
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """What differs, each sentence marked as reported or as an estimate."""
        numbers = {change: self.of(change) for change in CHANGES}
        told = ", ".join(
            f"{len(those)} {change} (~{sum(one.tokens_after or one.tokens_before for one in those):,.0f} tokens)"
            for change, those in numbers.items()
        )
        found = [f"{ESTIMATED}: {told}.", f"{ESTIMATED}: {self._estimate}"]
        return (*((f"{AS_REPORTED}: {self._facts}",) if self._facts else ()), *found)

    @cached_property
    def table(self) -> ReportTable:
        """The items that differ as a table; what is told of the cache stands below it."""
        items = self.timeline.items
        columns: tuple[Told, ...] = (
            TableColumn("change", "change"),
            (TableColumn("item", "item", "count"), lambda one: one.item + 1),
            (TableColumn("kind", "kind"), lambda one: items[one.item].kind),
            (TableColumn("tool", "tool"), lambda one: items[one.item].tool),
            (TableColumn("label", "label"), lambda one: items[one.item].label),
            (
                TableColumn("tokens_before", "tokens before", "count", "estimate"),
                lambda one: round(one.tokens_before),
            ),
            (
                TableColumn("tokens_after", "after", "count", "estimate"),
                lambda one: round(one.tokens_after),
            ),
            TableColumn("state", "state"),
        )
        title = f"From request {self.first + 1} to request {self.second + 1} under {self.policy}"
        return table_of(title, columns, self.changes, self.sentences)

    def json(self) -> dict[str, Any]:
        """Return the difference as plain values; numbers count from 1."""
        return {
            "session": self.timeline.session,
            "policy": self.policy,
            "first": self.first + 1,
            "second": self.second + 1,
            "changes": self.table.records(),
            "facts": {
                "cache_read": self._usage("cache_read"),
                "prompt": self._usage("prompt"),
                "lost": None if self.loss is None else self.loss.tokens,
                "cost": None if self.loss is None else self.loss.cost,
                "cause": None if self.loss is None else self.loss.cause,
            },
            "estimates": {
                "tokens": list(self.tokens),
                "prefix_items": self.prefix_items,
                "prefix_tokens": self.prefix_tokens,
                "first_differing": None
                if self.first_differing is None
                else self.first_differing + 1,
                "rewritten_tokens": self.rewritten_tokens,
                "rewritten_cost": self.rewritten_cost,
            },
            "unit": self.price.unit,
            "sentences": list(self.sentences),
        }

    def _usage(self, name: str) -> int | None:
        usage = self.timeline.requests[self.second].usage
        found: int | None = getattr(usage, name) if usage is not None and self.follows else None
        return found


def request_difference(
    simulation: Simulation,
    first: int,
    second: int,
    price: PriceProfile,
    loss: ReportedLoss | None = None,
) -> RequestDifference:
    """Return the difference of two requests of a replay, from 0; raises UserError where there is none.

    ``loss`` is the reported break between them, where the second follows the first as recorded.
    """
    before, after = shown_items(simulation, first), shown_items(simulation, second)
    shared, differing = _prefix(simulation, before, after)
    sizes = simulation.sizes[first].total, simulation.sizes[second].total
    # A request that only grew begins with the whole of the other one.
    rest = sum(one.tokens for one in after[shared:])
    prefix = sizes[0] if differing is None else sizes[1] - rest
    rewritten = max(min(sizes) - prefix, 0.0) if differing is not None else 0.0
    until = simulation.facts_until
    its = price.at(simulation.timeline.requests[second].terms, sizes[1])
    return RequestDifference(
        timeline=simulation.timeline,
        first=first,
        second=second,
        policy=simulation.policy,
        changes=tuple(_changes(simulation, before, after, second)),
        prefix_items=shared,
        prefix_tokens=prefix,
        first_differing=differing,
        rewritten_tokens=rewritten,
        rewritten_cost=rewritten * (its.write - its.read) / 1_000_000,
        tokens=sizes,
        price=price,
        follows=second == first + 1 and (until is None or second < until),
        loss=loss,
    )


def _prefix(
    simulation: Simulation, before: Sequence[ShownItem], after: Sequence[ShownItem]
) -> tuple[int, int | None]:
    """Return how many items both begin with, and the item from which on they differ.

    The cache is kept by whole messages, so what stands in the message of that item is not counted.
    """
    shared = 0
    while shared < min(len(before), len(after)) and before[shared].key == after[shared].key:
        shared += 1
    if shared == len(before):
        return shared, None
    there = [side[shared].item for side in (before, after) if shared < len(side)]
    ranks = simulation.timeline.ranks
    differing = min(there, key=lambda one: ranks[one.index])
    if simulation.ruler.prefix == "message":
        while shared and before[shared - 1].item.block == differing.block:
            shared -= 1
    return shared, differing.index


def _changes(
    simulation: Simulation, before: Sequence[ShownItem], after: Sequence[ShownItem], second: int
) -> Iterator[ItemChange]:
    known = {one.item.index: one for one in before}
    for one in after:
        index = one.item.index
        was = known.pop(index, None)
        if was is None:
            yield ItemChange(index, "came", 0, one.tokens, one.state)
        elif was.key != one.key:
            yield ItemChange(index, "rewritten", was.tokens, one.tokens, one.state)
    for index, was in known.items():
        state = simulation.timeline.state(index, second) or "not yet there"
        yield ItemChange(index, "went", was.tokens, 0, state)
