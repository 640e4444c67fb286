"""The difference of two requests: added, removed and changed items, the shared beginning, and the cost."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from palimpsest.context_policies.prompt_cache.ruler import PriceProfile, amount_with_unit
from palimpsest.context_policies.replay.simulation import Simulation
from palimpsest.render.reports.table import (
    ColumnSpec,
    ReportTable,
    ShownAsTable,
    TableColumn,
    table_of,
)
from palimpsest.review.request_contents.shown_items import ShownItem, shown_items
from palimpsest.transcript.growing_lists import common_beginning
from palimpsest.transcript.timeline import Timeline

ChangeKind = Literal["came", "went", "changed"]
CHANGE_ORDER: tuple[ChangeKind, ...] = ("came", "went", "changed")
AS_REPORTED = "As reported"
ESTIMATE_WORD = "Estimate"


@dataclass(frozen=True, slots=True)
class ReportedLoss:
    """A cache break between two requests, by the provider's reported usage."""

    tokens: int
    """Tokens that were not read from the cache, though the request before contained them."""
    cost: float
    """Cost of these tokens beyond reading them from the cache."""
    cause: str
    """The causes of the break, as a phrase with numbers."""


@dataclass(frozen=True, slots=True)
class ItemChange:
    """An item that differs between two requests."""

    item: int
    change: ChangeKind
    tokens_before: float
    """Estimated tokens in the first request; 0 where the item is not in it."""
    tokens_after: float
    """Estimated tokens in the second request; 0 where the item is not in it."""
    state: str
    """The item's state in the second request."""


@dataclass(frozen=True)
class RequestDifference(ShownAsTable):
    """A comparison of two requests of one session, both numbered from 0."""

    timeline: Timeline = field(repr=False)
    first: int
    second: int
    policy: str
    changes: tuple[ItemChange, ...] = field(repr=False)
    """The changes in the order of the second request, followed by the removed items."""
    prefix_items: int
    """Number of items that both requests begin with, cut to whole messages of the provider."""
    prefix_tokens: float
    """Estimated tokens of this common beginning, with the part of the prompt that the recording does not show."""
    first_differing: int | None
    """The first item that differs; None where the second request only adds to the first, or equals it."""
    written_anew: float
    """Estimated tokens that both requests contain after the first differing item, so that the cache does not have them."""
    written_anew_cost: float
    """Estimated cost of ``written_anew`` beyond reading them from the cache, in the profile's unit."""
    tokens: tuple[float, float]
    """Estimated tokens of the first and of the second request."""
    price: PriceProfile
    follows: bool
    """Whether the second request is a recorded one right after the first, so that its reported usage is about both."""
    loss: ReportedLoss | None = None
    """The cache break between the two requests, where one was reported."""

    def of(self, change: ChangeKind) -> tuple[ItemChange, ...]:
        """Return the items with one kind of change."""
        return tuple(item_change for item_change in self.changes if item_change.change == change)

    @property
    def cache_sentence(self) -> str:
        """A sentence on the second request's read from the cache: as reported, else an estimate."""
        return self._reported_sentence or self._estimated_sentence

    @property
    def _reported_sentence(self) -> str:
        usage = self.timeline.requests[self.second].usage
        if not self.follows or usage is None or not usage.prompt:
            return ""
        if self.loss is not None:
            money = self.price.amount_text(self.loss.cost)
            return f"The cache breaks here: {self.loss.tokens:,} tokens were written anew, {money}; {self.loss.cause}."
        if not usage.cache_read:
            return f"No cache was read: all {usage.prompt:,} tokens were paid in full."
        return f"The cache held: {usage.cache_read:,} of {usage.prompt:,} tokens were read from it."

    @property
    def _estimated_sentence(self) -> str:
        first_number, second_number = self.first + 1, self.second + 1
        if self.first_differing is None:
            added_tokens = max(self.tokens[1] - self.prefix_tokens, 0)
            return (
                f"Request {second_number} begins with all of request {first_number}: ~{self.prefix_tokens:,.0f} tokens stay "
                f"as they are, and ~{added_tokens:,.0f} come behind them."
            )
        cost = amount_with_unit(self.written_anew_cost, self.price.unit, "estimate")
        return (
            f"Request {second_number} differs from request {first_number} from item {self.first_differing + 1} on: "
            f"~{self.prefix_tokens:,.0f} tokens stay as they are, and ~{self.written_anew:,.0f} of the "
            f"others are written anew, {cost}."
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """Sentences on the differences, each marked as reported or as an estimate."""
        changes_by_kind = {change: self.of(change) for change in CHANGE_ORDER}
        counts_text = ", ".join(
            f"{len(group)} {change} (~{sum(change_of_item.tokens_after or change_of_item.tokens_before for change_of_item in group):,.0f} tokens)"
            for change, group in changes_by_kind.items()
        )
        reported_sentence = self._reported_sentence
        return (
            *((f"{AS_REPORTED}: {reported_sentence}",) if reported_sentence else ()),
            f"{ESTIMATE_WORD}: {counts_text}.",
            f"{ESTIMATE_WORD}: {self._estimated_sentence}",
        )

    @cached_property
    def table(self) -> ReportTable:
        """The differing items as a table, with the sentences about the cache below it."""
        items = self.timeline.items
        tokens_before = TableColumn("tokens_before", "tokens before", "count", "estimate")
        tokens_after = TableColumn("tokens_after", "after", "count", "estimate")
        columns: tuple[ColumnSpec, ...] = (
            TableColumn("change", "change"),
            (TableColumn("item", "item", "count"), lambda change: change.item + 1),
            (TableColumn("kind", "kind"), lambda change: items[change.item].kind),
            (TableColumn("tool", "tool"), lambda change: items[change.item].tool),
            (TableColumn("label", "label"), lambda change: items[change.item].label),
            (tokens_before, lambda change: round(change.tokens_before)),
            (tokens_after, lambda change: round(change.tokens_after)),
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
                "cache_read": self._usage_tokens("cache_read"),
                "prompt": self._usage_tokens("prompt"),
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
                "written_anew": self.written_anew,
                "written_anew_cost": self.written_anew_cost,
            },
            "unit": self.price.unit,
            "sentences": list(self.sentences),
        }

    def _usage_tokens(self, name: str) -> int | None:
        usage = self.timeline.requests[self.second].usage
        tokens: int | None = getattr(usage, name) if usage is not None and self.follows else None
        return tokens


def request_difference(
    simulation: Simulation,
    first: int,
    second: int,
    price: PriceProfile,
    loss: ReportedLoss | None = None,
) -> RequestDifference:
    """Return the difference of two requests of a replay, from 0; raises UserError for an unknown request.

    ``loss`` is the reported break between them, where the second follows the first as recorded.
    """
    items_before, items_after = shown_items(simulation, first), shown_items(simulation, second)
    shared_count, first_differing = _shared_beginning(simulation, items_before, items_after)
    sizes = simulation.sizes[first].total, simulation.sizes[second].total
    # A request that only grew begins with the whole other request.
    differing_tokens = sum(shown_item.tokens for shown_item in items_after[shared_count:])
    prefix = sizes[0] if first_differing is None else sizes[1] - differing_tokens
    written_anew = max(min(sizes) - prefix, 0.0) if first_differing is not None else 0.0
    facts_until = simulation.facts_until
    prices = price.rates_at(simulation.timeline.requests[second].terms, sizes[1])
    return RequestDifference(
        timeline=simulation.timeline,
        first=first,
        second=second,
        policy=simulation.policy_name,
        changes=tuple(_item_changes(simulation, items_before, items_after, second)),
        prefix_items=shared_count,
        prefix_tokens=prefix,
        first_differing=first_differing,
        written_anew=written_anew,
        written_anew_cost=written_anew * (prices.write - prices.read) / 1_000_000,
        tokens=sizes,
        price=price,
        follows=second == first + 1 and (facts_until is None or second < facts_until),
        loss=loss,
    )


def _shared_beginning(
    simulation: Simulation, items_before: Sequence[ShownItem], items_after: Sequence[ShownItem]
) -> tuple[int, int | None]:
    """Return the number of items in the whole messages that both begin with, and the first item that differs."""
    shared_count = common_beginning(
        [shown_item.key for shown_item in items_before],
        [shown_item.key for shown_item in items_after],
    )
    if shared_count == len(items_before):
        return shared_count, None
    candidates = [
        side[shared_count].item for side in (items_before, items_after) if shared_count < len(side)
    ]
    ranks = simulation.timeline.ranks
    first_differing = min(candidates, key=lambda item: ranks[item.index])
    if simulation.ruler.prefix == "message":
        while shared_count and items_before[shared_count - 1].item.block == first_differing.block:
            shared_count -= 1
    return shared_count, first_differing.index


def _item_changes(
    simulation: Simulation,
    items_before: Sequence[ShownItem],
    items_after: Sequence[ShownItem],
    second: int,
) -> Iterator[ItemChange]:
    before_by_index = {shown_item.item.index: shown_item for shown_item in items_before}
    for shown_item in items_after:
        index = shown_item.item.index
        item_before = before_by_index.pop(index, None)
        if item_before is None:
            yield ItemChange(index, "came", 0, shown_item.tokens, shown_item.state)
        elif item_before.key != shown_item.key:
            tokens = item_before.tokens, shown_item.tokens
            yield ItemChange(index, "changed", *tokens, shown_item.state)
    for index, item_before in before_by_index.items():
        state = simulation.timeline.state(index, second) or "not yet there"
        yield ItemChange(index, "went", item_before.tokens, 0, state)
